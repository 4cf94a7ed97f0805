//! Lock escalation: many row and page locks of one object become one lock of the object.
//!
//! 1. Row, key and page locks taken with [`LockManager::lock_within`] are counted by object, from the
//!    beginning of a statement ([`LockOwner::begin_statement`]) on.
//! 2. At 5,000 of them, and again after each further 1,250 while it can't be done,
//!    [`LockManager::escalation_due`] returns `true`.
//! 3. [`LockManager::escalate`] converts the intent lock on the object into S or X without waiting. If that
//!    works the fine locks are released, otherwise the transaction continues with them.
//!
//! Trace flag 1211 forbids escalation. Trace flag 1224 forbids it by number of locks; it still happens when
//! the whole lock table is 40% full.

use furrow_format::{DatabaseId, ObjectId};
use furrow_observe::counters::Counter;

use super::error::LockError;
use super::manager::LockManager;
use super::mode::LockMode;
use super::owner::LockOwner;
use super::resource::Resource;
use super::timeout::Timeout;
use super::wait::count;

/// Further locks before it is tried again.
const RETRY: u32 = 1_250;
/// Part of the lock table in percent from which it counts as short.
const PRESSURE_PERCENT: u64 = 40;

/// What may cause escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escalation {
    /// The number of locks, and a short lock table.
    #[default]
    ByCount,
    /// A short lock table only (trace flag 1224).
    UnderPressure,
    /// Nothing (trace flag 1211, or the table's LOCK_ESCALATION = DISABLE).
    Never,
}

impl Escalation {
    /// From the two trace flags; 1211 is the stronger one.
    pub const fn from_flags(tf1211: bool, tf1224: bool) -> Escalation {
        match (tf1211, tf1224) {
            (true, _) => Escalation::Never,
            (false, true) => Escalation::UnderPressure,
            (false, false) => Escalation::ByCount,
        }
    }
}

impl LockManager {
    /// Fine locks that `owner` holds on `object`.
    #[cfg(test)]
    pub(crate) fn fine_locks(&self, owner: &LockOwner, object: ObjectId) -> u32 {
        owner.locks.lock().tally(object).count
    }

    /// Whether escalation should be tried now. Once enough locks are counted, a call sets the next attempt
    /// 1,250 locks on, whatever it returns.
    pub fn escalation_due(&self, owner: &LockOwner, object: ObjectId, policy: Escalation) -> bool {
        {
            let mut locks = owner.locks.lock();
            let tally = locks.tally(object);
            if tally.count < tally.attempt_at {
                return false;
            }
            tally.attempt_at = tally.count + RETRY;
        }
        match policy {
            Escalation::ByCount => true,
            Escalation::Never => false,
            Escalation::UnderPressure => {
                let limit = self.table.config.max_locks as u64;
                self.stats().locks.saturating_mul(100) >= limit.saturating_mul(PRESSURE_PERCENT)
            }
        }
    }

    /// Tries to lock the whole object instead of its parts: X if anything of it was locked for change (or may
    /// be: IX and the like on the object), else S. Never waits. `Ok(false)`: a lock of another session is in
    /// the way.
    pub fn escalate(
        &self,
        owner: &LockOwner,
        db: DatabaseId,
        object: ObjectId,
    ) -> Result<bool, LockError> {
        let whole = Resource::Object(db, object);
        let reads_only = LockMode::S;
        let mode = match owner.held(&whole) {
            Some(held) if !held.covers(LockMode::IU) && !self.changes(owner, object) => reads_only,
            None if !self.changes(owner, object) => reads_only,
            _ => LockMode::X,
        };
        match self.lock(owner, whole, mode, Timeout::NoWait) {
            Ok(_) => {
                count(Counter::TableLockEscalations, 1);
                self.table
                    .release_where(owner, |held| held.object == object && !held.session);
                debug_assert!(
                    owner.held(&whole).is_some_and(|held| held.covers(mode)),
                    "the lock of the object covers those of its parts"
                );
                Ok(true)
            }
            Err(LockError::Timeout { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Whether a fine lock of the object is more than a shared one.
    fn changes(&self, owner: &LockOwner, object: ObjectId) -> bool {
        let reads = |mode: LockMode| {
            matches!(
                mode,
                LockMode::S | LockMode::IS | LockMode::RangeSS | LockMode::SchS
            )
        };
        let locks = owner.locks.lock();
        locks
            .entries()
            .iter()
            .any(|held| held.object == object && !reads(held.mode))
    }
}
