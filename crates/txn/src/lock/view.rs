//! Views of the lock manager: the rows of `sys.dm_tran_locks`, and counters.

use furrow_format::TxnId;
use furrow_io::sync::atomic::Ordering;

use super::core::OwnerCore;
use super::manager::LockManager;
use super::mode::LockMode;
use super::resource::Resource;
use super::shard::SeenKind;

/// `request_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockStatus {
    /// Held.
    Grant,
    /// Held in a weaker mode, waiting for this one.
    Convert,
    /// Waiting.
    Wait,
}

impl LockStatus {
    /// The text in the view.
    pub const fn text(self) -> &'static str {
        match self {
            LockStatus::Grant => "GRANT",
            LockStatus::Convert => "CONVERT",
            LockStatus::Wait => "WAIT",
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRow {
    /// What is locked.
    pub resource: Resource,
    /// The mode held or waited for.
    pub mode: LockMode,
    /// Whether it is held, converting or waiting.
    pub status: LockStatus,
    /// Number of the lock owner.
    pub owner_id: u32,
    /// Its session.
    pub session_id: i32,
    /// Its transaction.
    pub txn: TxnId,
}

/// Counters since start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Requests that had to wait.
    pub waits: u64,
    /// Requests that ended with error 1222.
    pub timeouts: u64,
    /// Deadlocks resolved.
    pub deadlocks: u64,
    /// Locks granted at present.
    pub locks: u64,
    /// Resources locked or waited for at present.
    pub resources: u64,
}

impl LockRow {
    fn new(owner: &OwnerCore, resource: Resource, mode: LockMode, status: LockStatus) -> LockRow {
        LockRow {
            resource,
            mode,
            status,
            owner_id: owner.id,
            session_id: owner.session_id,
            txn: owner.txn(),
        }
    }
}

impl LockManager {
    /// All requests, granted and waiting. They are read shard by shard: the requests for one resource are
    /// consistent with each other, those for different resources need not be. A lock that is held during the
    /// whole call is in the result, and no request is in it twice. A converting request has two rows.
    pub fn snapshot(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        let mut noted = self.table.noted().into_iter().peekable();
        for number in 0..self.table.shard_count() {
            let shard = self.table.shard(number);
            shard.for_each_head(|head| {
                let resource = shard.resource(head);
                for seen in shard.seen(head) {
                    let status = match seen.kind {
                        SeenKind::Granted => LockStatus::Grant,
                        SeenKind::Converting => LockStatus::Convert,
                        SeenKind::Arriving => LockStatus::Wait,
                    };
                    let Some(owner) = self.table.owner(seen.owner) else {
                        continue;
                    };
                    rows.push(LockRow::new(&owner, resource, seen.mode, status));
                }
            });
            while let Some(seen) = noted.next_if(|seen| seen.shard == number) {
                let row = |mode| LockRow::new(&seen.owner, seen.resource, mode, LockStatus::Grant);
                rows.extend(seen.mode().map(row));
            }
        }
        rows
    }

    /// Locks and conversions requested since the instance was started. Requests for locks that the owner
    /// already had are not counted.
    pub fn requests(&self) -> u64 {
        let shards = 0..self.table.shard_count();
        let there: u64 = shards.map(|n| self.table.shard(n).asked).sum();
        there + self.table.noted_ever()
    }

    /// Counters since the start, and present sizes.
    pub fn stats(&self) -> LockStats {
        // All shards are locked at once: otherwise a lock that moves from its owner's notes to a shard would
        // be missed or counted twice.
        let shards = self.table.all_shards();
        let (noted, only_noted) = self.table.count_notes(&shards);
        let granted: usize = shards.iter().map(|shard| shard.live_requests()).sum();
        let heads: usize = shards.iter().map(|shard| shard.live_heads()).sum();
        LockStats {
            waits: self.table.waits.load(Ordering::Relaxed),
            timeouts: self.table.timeouts.load(Ordering::Relaxed),
            deadlocks: self.table.deadlocks.load(Ordering::Relaxed),
            locks: granted as u64 + noted,
            resources: heads as u64 + only_noted,
        }
    }
}
