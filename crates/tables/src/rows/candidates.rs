//! Rows that an UPDATE or DELETE may change, and then does not.
//!
//! UPDATE and DELETE lock each row that they look at U, and then decide whether it qualifies. So no other
//! transaction is changing the row meanwhile, and of two statements that find the same row the second one
//! looks at it again. Up to READ COMMITTED the lock of a row that does not qualify is given back at once:
//! it protects nothing and would block others until the transaction ends. From REPEATABLE READ on it is
//! held, because what was read must stay as it is (SQL Server's documentation, "Transaction Locking and
//! Row Versioning Guide": an update that scans takes U row by row, and X on the rows it changes).
//!
//! # Which locks may go
//! Only locks that the scan has taken for this look: the transaction keeps what it held before, in
//! whatever mode. Locks are numbered in the order in which they are taken, and a batch is locked in one
//! go. So a lock belongs to the batch if its number lies between those of the beginning and the end of its
//! step, or if it is that of the row that the scan has waited for in between.
//!
//! # Looking first
//! A lock for each row is expensive where few rows qualify. While no other transaction changes the table,
//! all rows on a page are committed (readers skip their lock tests for the same reason), and rows that do
//! not qualify need no lock. So a scan that has passed over nearly all rows looks at a page without locks,
//! and claims the rows that qualify ([`Session::claim`]): each is locked U, read again, and tested again.

use super::OpenScan;
use super::reading::Reading;
use crate::error::EngineError;
use crate::session::{ReadLock, Session};
use crate::table::{Index, IndexKind};
use furrow_txn::lock::{Isolation, LockMode, Resource};
use std::ops::Range;
use std::sync::Arc;

/// Rows that a scan locks before it may look at rows without locks.
const FEW_ROWS: u64 = 64;
/// How many rows must be passed over for each row that has to be read again.
const WORTH: u64 = 16;

/// Locks of a scan whose rows are given back unless they qualify.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Numbers of the locks that the present batch took.
    batch: Range<u64>,
    /// The row whose lock was taken by itself: waited for before the present batch, or claimed.
    first: Option<Resource>,
    /// Whether the present batch was looked at without locks.
    unlocked: bool,
    /// Rows passed over, and rows claimed.
    passed: u64,
    claimed: u64,
    /// The row whose lock was waited for and that the scan has not reached yet.
    waited: Option<Resource>,
}

/// The result of [`Session::claim`] for a row that qualifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It is locked as it was shown.
    Held,
    /// It is locked, and was read again: the caller has to test again whether it qualifies.
    Again,
    /// It is gone.
    Gone,
}

impl Candidates {
    /// Whether looking at rows before they are locked saves time.
    pub(super) fn looks_first(&self) -> bool {
        self.passed > FEW_ROWS + WORTH * self.claimed
    }

    /// The row that the step to come is expected to begin with.
    pub(super) fn waited_for(&self) -> Option<Resource> {
        self.waited
    }

    /// A lock was waited for, and is held now.
    pub(super) fn waited(&mut self, row: Resource) {
        self.waited = Some(row);
    }

    /// A step that began at this lock number is done. `missed`: the row that was waited for was not
    /// reached, because (`true`) there is something else to wait for, or because it no longer exists.
    pub(super) fn stepped(
        &mut self,
        session: &Session,
        (from, unlocked): (u64, bool),
        missed: Option<bool>,
    ) {
        self.batch = from..session.lock_mark();
        self.first = None;
        self.unlocked = unlocked;
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
            true => 0..u64::MAX,
            false => self.batch.clone(),
        };
        locks.unlock_taken(owner, row, LockMode::U, taken);
    }
}

impl Session {
    /// For a scan that begins with these locks: `Some` if the locks of rows that do not qualify are given
    /// back.
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

    /// Gives back the lock of the row that a scan for candidates has reached last, which does not qualify,
    /// unless the transaction had the lock before. Other scans give nothing back.
    pub fn pass_over(&mut self, scan: &mut OpenScan) {
        let Some(candidates) = &mut scan.candidates else {
            return;
        };
        candidates.passed += 1;
        if candidates.batch.is_empty() && candidates.first.is_none() {
            return;
        }
        if let Some(key) = scan.current_key() {
            let row = scan.table().row_resource(self.db.id, &key);
            scan.candidates.iter().for_each(|c| c.give_back(self, &row));
        }
    }

    /// The row that a scan has gone to last qualifies: it is locked from now on, if the scan locks rows.
    /// After [`Claim::Again`] it is claimed no second time.
    pub fn claim(&mut self, scan: &mut OpenScan) -> Result<Claim, EngineError> {
        let Some(candidates) = &mut scan.candidates else {
            return Ok(Claim::Held);
        };
        candidates.claimed += 1;
        if !candidates.unlocked {
            return Ok(Claim::Held);
        }
        let _task = self.enter();
        let before = self.swap_hints(scan.hints);
        let claimed = self.claim_unlocked(scan);
        self.unswap_hints(before);
        let claimed = self.end_failed(claimed);
        self.give(claimed)
    }

    fn claim_unlocked(&mut self, scan: &mut OpenScan) -> Result<Claim, EngineError> {
        let Some(key) = scan.current_key() else {
            return Ok(Claim::Held);
        };
        let table = Arc::clone(scan.table());
        let row = table.row_resource(self.db.id, &key);
        let before = self.owner.held(&row);
        let mut bytes = std::mem::take(&mut scan.row);
        let found = self.read_row(&table, &key, Reading::Kept(LockMode::U), &mut bytes);
        scan.row = bytes;
        if !found? {
            return Ok(Claim::Gone);
        }
        scan.reread = true;
        if let (Some(candidates), None) = (&mut scan.candidates, before) {
            candidates.first = Some(row);
        }
        Ok(Claim::Again)
    }

    /// Whether a scan may look at rows before it locks them.
    pub(super) fn may_look_first(&self, scan: &OpenScan) -> bool {
        if !scan
            .candidates
            .as_ref()
            .is_some_and(Candidates::looks_first)
        {
            return false;
        }
        let base = |index: &&Index| index.kind() != IndexKind::Nonclustered;
        let index = scan.index().ok().filter(base);
        !scan.hints.read_past && index.is_some_and(|index| !self.works_on_pages(index))
    }
}
