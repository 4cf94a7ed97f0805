//! Rows that may be going to be changed, and turn out not to be.
//!
//! UPDATE and DELETE lock each row that they look at U, and decide then whether it qualifies: so the decision
//! is about a row that nobody else is changing, and of two statements that find the same row the second one
//! looks at it again. Up to READ COMMITTED nothing is gained by keeping the lock of a row that does not
//! qualify, and it would stand in the way of others until the transaction ends; from REPEATABLE READ on what
//! was read is to stay as it is (the product's documentation, "Transaction Locking and Row Versioning Guide":
//! an update that scans takes U row by row, and X on the rows it changes).
//!
//! # Which locks may go
//! Only such as the scan has taken for this very look: what the transaction held before, in whatever mode, it
//! keeps. Locks are numbered in the order in which they are taken, and a batch is locked in one go. So a
//! lock belongs to the batch if its number lies between those of the beginning and the end of its step; or
//! it is that of the row that the scan has waited for in between.

use super::{OpenScan, ReadLock};
use crate::session::Session;
use furrow_txn::lock::{Isolation, LockMode, Resource};
use std::ops::Range;

/// Locks of a scan whose rows are given back unless they qualify.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Numbers of the locks that the present batch took.
    batch: Range<u64>,
    /// The row of the present batch whose lock was waited for before it.
    first: Option<Resource>,
    /// The row whose lock has been waited for and that has not been met yet.
    waited: Option<Resource>,
}

impl Candidates {
    /// The row that the step to come is expected to begin with.
    pub(super) fn waited_for(&self) -> Option<Resource> {
        self.waited
    }

    /// A lock was waited for, and is held now.
    pub(super) fn waited(&mut self, row: Resource) {
        self.waited = Some(row);
    }

    /// A step is done that began at this number. `missed`: the row that was waited for was not met, because
    /// (`true`) there is something else to wait for, or it is there no more.
    pub(super) fn stepped(&mut self, session: &Session, from: u64, missed: Option<bool>) {
        self.batch = from..session.lock_mark();
        self.first = None;
        match missed {
            None => self.first = self.waited.take(),
            Some(true) => {}
            Some(false) => {
                if let Some(gone) = self.waited.take() {
                    session.db.locks.unlock(&session.owner, &gone);
                }
            }
        }
    }

    fn give_back(&self, session: &Session, row: &Resource) {
        let (locks, owner) = (&session.db.locks, &session.owner);
        let taken = match self.first.as_ref() == Some(row) {
            true => 0..self.batch.end,
            false => self.batch.clone(),
        };
        locks.unlock_taken(owner, row, LockMode::U, taken);
    }
}

impl Session {
    /// For a scan that begins, with these locks asked for: whether its rows are given back.
    pub(super) fn candidates(&self, lock: ReadLock) -> Option<Candidates> {
        let kept = !matches!(
            self.level(),
            Isolation::ReadUncommitted | Isolation::ReadCommitted
        );
        let brief = lock == ReadLock::Candidate && !kept && !self.db.is_read_only();
        brief.then(Candidates::default)
    }

    /// The number of the lock that is taken next.
    pub(super) fn lock_mark(&self) -> u64 {
        self.db.locks.mark(&self.owner)
    }

    /// The row that a scan for candidates has gone to last does not qualify: its lock is given back, unless
    /// the transaction had it before. Of other scans nothing is given back.
    pub fn pass_over(&mut self, scan: &OpenScan) {
        let Some(candidates) = scan.candidate_locks() else {
            return;
        };
        if let Some(key) = scan.current_key() {
            let row = scan.table().row_resource(self.db.id, &key);
            candidates.give_back(self, &row);
        }
    }
}
