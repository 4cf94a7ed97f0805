//! Locks are passed on before the commit is durable.
//!
//! A commit waits for the disk. A row that many transactions change one after the other would be locked by
//! each of them for that time, so that the row could change once in each write of the log. But an
//! owner whose commit record has its place in the log changes nothing any more, and what others log later
//! is durable only after that record. So other *writers* need not wait. (Early lock release in Aether, VLDB
//! 2010; controlled lock violation, SIGMOD 2013.)
//!
//! # Terms
//! - An owner *leaves* from [`LockManager::leave`], after its commit record was appended, until it has
//!   released its locks, after the record is durable.
//! - A mode *passes* on a row or a key: U and X ([`passes`]). Such locks of an owner that leaves do not stop
//!   such requests of other owners. They stop all others: S, ranges, and each test of a lock.
//! - An owner that was granted a lock past one of an owner that leaves *follows* that commit.
//!
//! # Rules
//! 1. *No reader sees a commit that is not durable.* Readers request S or a range, or test a lock, and for
//!    these a lock counts until it is released. The intent locks of the table stay as well, by which scans
//!    find that no row of it can be locked (`is_unwritten`).
//! 2. *What follows a commit is lost with it.* A follower logs what it does after it was granted the lock,
//!    later than the commit record that it follows.
//! 3. *What a follower gives to its client is durable.* Before that, and before it undoes changes, the log is
//!    flushed up to [`LockOwner::followed`]. Its own durable commit includes that.
//! 4. *Readers do not starve.* At most `MOST_PASSED` requests pass a lock while
//!    a request that does not pass waits at the same resource. After that, requests wait in their order until
//!    the readers are gone.
//!
//! # Protocol
//! An owner that leaves publishes the LSN of its commit record and visits no shard if no request waits for
//! its locks. A request that is refused latches the shard anyway. For each lock in its way of a mode that
//! passes, it records that the owner is awaited in this shard, and then reads whether it leaves. If so, it
//! marks the lock in the shard, where it no longer counts against requests that pass. An owner that leaves
//! publishes first and then reads where it is awaited. All four are sequentially consistent. So either the
//! request sees that the owner leaves, or the owner sees that it is awaited: then it visits its locks in
//! these shards, marks those that have a queue and grants what it can. A request that is queued and becomes
//! blocked by another owner, because that one was granted the lock before it or holds it in a weaker mode
//! now, is noted at that time: under the same latch, before the owner can leave.
//!
//! A marked lock is released like any other. The search for deadlocks ends at an owner that leaves: it waits
//! for nothing.

use std::sync::Arc;

use furrow_format::Lsn;
use furrow_io::sync::atomic::AtomicBool;

use super::core::OwnerCore;
use super::held::Grant;
use super::leave::bit_of;
use super::manager::LockManager;
use super::mode::LockMode;
use super::owner::LockOwner;
use super::passing::passes;
use super::shard::{Shard, Wakes, wake};
use super::table::Table;

impl Table {
    /// For a request of `owner` for `mode` that was refused: marks the locks in its way whose owners leave.
    /// Returns whether there was any: then the request is to be tried once more, in the same hold of the
    /// shard's latch. The other owners will come to the shard when they leave.
    #[cold]
    pub(super) fn mark_leaving(
        &self,
        shard: &mut Shard,
        head: u32,
        owner: u32,
        mode: LockMode,
    ) -> bool {
        if !passes(&shard.resource(head), mode) {
            return false;
        }
        let owners = self.owners.read();
        let number = shard.number();
        shard.mark_leaving(head, owner, |id| {
            let core = owners.slots.get(id as usize)?.as_ref()?;
            core.leave.wait_for_leave(number)
        })
    }

    /// Records what a lock means that a shard has just granted: whether its owner follows a commit, and
    /// whether requests wait that it may block.
    #[inline]
    pub(super) fn note_grant(&self, core: &OwnerCore, shard: &Shard, request: u32) {
        if !shard.is_alone(request) {
            shard.note_grant(request, core);
        }
    }
}

impl LockManager {
    /// The transaction of this owner has its commit record at `lsn` in the log, and will release its locks as
    /// soon as the record is durable. Until then other owners may change the rows that it has locked, and
    /// nothing else. It requests no lock any more.
    pub(crate) fn leave(&self, owner: &LockOwner, lsn: Lsn) {
        let awaited = owner.core.leave.leave(lsn);
        if awaited == 0 {
            return;
        }
        let mut wakes = Wakes::new();
        for held in owner.locks.lock().entries() {
            let Grant::Request(request) = held.grant else {
                continue;
            };
            let number = self.table.shard_of(held.hash);
            let is_awaited = awaited & bit_of(number) != 0;
            if is_awaited && !held.session && passes(&held.resource, held.mode) {
                self.table.shard(number).leave(request, lsn, &mut wakes);
            }
        }
        wake(wakes);
    }
}

impl LockOwner {
    /// The last commit record that this owner's transaction follows, if the log has not been flushed up to
    /// there since ([`LockOwner::settle`]).
    #[inline]
    pub fn followed(&self) -> Option<Lsn> {
        self.core.leave.followed()
    }

    /// The log is durable up to and with [`LockOwner::followed`].
    pub fn settle(&self) {
        self.core.leave.settle();
    }

    /// What the owner follows, for another part of the same thread's work.
    pub fn follower(&self) -> Follower {
        Follower {
            core: Arc::clone(&self.core),
        }
    }

    /// Sets this flag from now on whenever the owner begins to follow a commit.
    pub fn report_following(&self, flag: &Arc<AtomicBool>) {
        self.core.leave.set_flag(flag);
    }
}

/// What a [`LockOwner`] follows.
#[derive(Debug, Clone)]
pub struct Follower {
    core: Arc<OwnerCore>,
}

impl Follower {
    /// As [`LockOwner::followed`].
    pub fn followed(&self) -> Option<Lsn> {
        self.core.leave.followed()
    }

    /// As [`LockOwner::settle`].
    pub fn settle(&self) {
        self.core.leave.settle();
    }

    /// Whether it is a handle of this owner.
    pub fn is_of(&self, owner: &LockOwner) -> bool {
        Arc::ptr_eq(&self.core, &owner.core)
    }
}
