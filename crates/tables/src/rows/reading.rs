//! Which locks a reader tests or takes, by isolation level and hints.

use crate::session::{ReadLock, Session};
use furrow_io::mutation::{Mutation, mutated};
use furrow_txn::lock::{Isolation, LockMode};

/// What a reader does about locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Nothing.
    Dirty,
    /// Tests them.
    Committed,
    /// Takes S, U or X on rows and holds it.
    Kept(LockMode),
    /// Takes range locks and holds them.
    Range(LockMode),
}

/// The mode of the key itself in a range lock; other modes are returned as they are.
pub(super) fn mode_of_row(range: LockMode) -> LockMode {
    match range {
        LockMode::RangeSU => LockMode::U,
        LockMode::RangeXX => LockMode::X,
        LockMode::RangeSS => LockMode::S,
        plain => plain,
    }
}

impl Session {
    /// How this session reads.
    pub(super) fn reading_mode(&self, lock: ReadLock) -> Reading {
        if self.db.is_read_only() {
            // No session changes a read-only database, so that no lock is needed.
            return Reading::Dirty;
        }
        let serializable = self.level() == Isolation::Serializable;
        match (lock, self.level()) {
            (ReadLock::Candidate | ReadLock::Update, _) if serializable => {
                Reading::Range(LockMode::RangeSU)
            }
            (ReadLock::Candidate | ReadLock::Update, _) => Reading::Kept(LockMode::U),
            (ReadLock::Exclusive, _) if serializable => Reading::Range(LockMode::RangeXX),
            (ReadLock::Exclusive, _) => Reading::Kept(LockMode::X),
            (ReadLock::Shared, Isolation::ReadUncommitted) => Reading::Dirty,
            (ReadLock::Shared, Isolation::ReadCommitted) if mutated(Mutation::SkipReadLock) => {
                Reading::Dirty
            }
            (ReadLock::Shared, Isolation::ReadCommitted) => Reading::Committed,
            (ReadLock::Shared, Isolation::RepeatableRead) if mutated(Mutation::ReleaseReadLock) => {
                Reading::Committed
            }
            (ReadLock::Shared, Isolation::RepeatableRead) => Reading::Kept(LockMode::S),
            (ReadLock::Shared, _) => Reading::Range(LockMode::RangeSS),
        }
    }

    /// The lock on the object that goes with it.
    pub(super) fn reading_intent(reading: Reading) -> LockMode {
        match reading {
            Reading::Dirty => LockMode::SchS,
            Reading::Kept(LockMode::U) | Reading::Range(LockMode::RangeSU) => LockMode::IU,
            Reading::Kept(LockMode::X) | Reading::Range(LockMode::RangeXX) => LockMode::IX,
            _ => LockMode::IS,
        }
    }
}
