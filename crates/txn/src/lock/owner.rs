//! Owners of locks: one for a transaction, or one for a session and all its transactions.

use furrow_io::sync::atomic::Ordering;
use std::sync::Arc;

use furrow_format::TxnId;
use furrow_io::sync::Mutex;

use super::core::OwnerCore;
use super::held::HeldTable;
use super::isolation::Isolation;
use super::mode::LockMode;
use super::resource::Resource;
use super::table::Table;

/// Stops an owner's waits from elsewhere: KILL, or the client's attention.
#[derive(Debug, Clone)]
pub struct Canceller {
    core: Arc<OwnerCore>,
}

impl Canceller {
    /// Ends the present wait, and each later one, with [`super::LockError::Cancelled`], until
    /// [`LockOwner::rearm`], [`LockOwner::begin`] or [`LockOwner::start_rollback`].
    pub fn cancel(&self) {
        self.core.cancel();
    }
}

/// A holder of locks. Dropping it releases what it still holds.
///
/// One thread at a time works for an owner: a second one that calls meanwhile waits for the first.
#[derive(Debug)]
pub struct LockOwner {
    pub(super) core: Arc<OwnerCore>,
    pub(super) table: Arc<Table>,
    pub(super) locks: Mutex<HeldTable>,
}

impl LockOwner {
    /// The session it works for.
    pub fn session_id(&self) -> i32 {
        self.core.session_id
    }

    /// The transaction it works for; 0 before the first.
    pub fn txn(&self) -> TxnId {
        self.core.txn()
    }

    /// Starts the next transaction of the same session: no log used, not cancelled, youngest of all.
    pub fn begin(&self, txn: TxnId, isolation: Isolation) {
        let core = &self.core;
        debug_assert!(core.place().is_none(), "an owner that waits begins nothing");
        core.txn.store(txn.0, Ordering::Relaxed);
        core.begun.store(self.table.next_begin(), Ordering::Relaxed);
        core.log_used.store(0, Ordering::Relaxed);
        core.started_us.store(0, Ordering::Relaxed);
        core.isolation.store(isolation as u8, Ordering::Relaxed);
        core.rolling_back.store(false, Ordering::Relaxed);
        self.rearm();
    }

    /// Records that the transaction begins now, for reports. Without this call they show when it waited
    /// first: reading the clock is expensive for a transaction of one row.
    pub fn note_started(&self) {
        self.core.note_started();
    }

    /// Changes the isolation level that reports show.
    pub fn set_isolation(&self, isolation: Isolation) {
        self.core
            .isolation
            .store(isolation as u8, Ordering::Relaxed);
    }

    /// SET DEADLOCK_PRIORITY: -10 to 10, LOW is -5, HIGH is 5.
    pub fn set_deadlock_priority(&self, priority: i32) {
        self.core
            .priority
            .store(priority.clamp(-10, 10), Ordering::Relaxed);
    }

    /// Adds to the log that undoing this transaction would have to read.
    pub fn add_log_used(&self, bytes: u64) {
        self.core.log_used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A statement begins: escalation counts the fine locks taken from now on.
    pub fn begin_statement(&self) {
        self.locks.lock().begin_statement();
    }

    /// A handle to stop this owner's waits from elsewhere.
    pub fn canceller(&self) -> Canceller {
        Canceller {
            core: Arc::clone(&self.core),
        }
    }

    /// Forgets a cancellation.
    pub fn rearm(&self) {
        self.core.cancelled.store(false, Ordering::Release);
    }

    /// From now on its waits can't be cancelled, and others are chosen as deadlock victims before it.
    pub fn start_rollback(&self) {
        self.core.rolling_back.store(true, Ordering::Relaxed);
    }

    /// The mode in which it holds `resource`.
    pub fn held(&self, resource: &Resource) -> Option<LockMode> {
        let locks = self.locks.lock();
        let at = locks.find(resource.hash(), resource)?;
        Some(locks.entries()[at].mode)
    }

    /// Whether it holds a lock on a resource of these.
    pub fn holds_any(&self, of: impl Fn(&Resource) -> bool) -> bool {
        let locks = self.locks.lock();
        locks.entries().iter().any(|held| of(&held.resource))
    }

    /// Number of locks it holds.
    #[cfg(test)]
    pub(crate) fn lock_count(&self) -> usize {
        self.locks.lock().entries().len()
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.table.release_everything(self);
        debug_assert_eq!(
            self.core.notes.lock().noted().count(),
            0,
            "notes go with their locks"
        );
        self.table.forget_owner(self.core.id);
    }
}
