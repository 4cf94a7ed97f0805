//! The rows of `sys.dm_tran_locks`.

use furrow_format::TxnId;

use super::manager::LockManager;
use super::mode::LockMode;
use super::resource::Resource;
use super::shard::SeenKind;

/// `request_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Which of the two.
    pub status: LockStatus,
    /// Number of the lock owner.
    pub owner_id: u32,
    /// Its session.
    pub session_id: i32,
    /// Its transaction.
    pub txn: TxnId,
}

impl LockManager {
    /// All requests, granted and waiting. Taken shard by shard: each resource is shown as it was at one
    /// moment,
    /// the whole is not. A converting request has two rows.
    pub fn snapshot(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
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
                    rows.push(LockRow {
                        resource,
                        mode: seen.mode,
                        status,
                        owner_id: owner.id,
                        session_id: owner.session_id,
                        txn: owner.txn(),
                    });
                }
            });
        }
        rows
    }
}
