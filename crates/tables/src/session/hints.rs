//! Table hints: which locks a statement takes, against the usual.

use super::Session;
use super::lock_hints::{Granularity, LockHints, ReadLock};
use crate::error::{EngineError, refuse};
use crate::table::Table;
use furrow_txn::lock::{Isolation, LockMode, Resource, Timeout};

impl LockHints {
    /// TABLOCK.
    pub fn table() -> LockHints {
        LockHints {
            granularity: Granularity::Table,
            ..LockHints::default()
        }
    }

    /// TABLOCKX.
    pub fn table_exclusive() -> LockHints {
        LockHints {
            lock: ReadLock::Exclusive,
            ..LockHints::table()
        }
    }

    /// PAGLOCK.
    pub fn page() -> LockHints {
        LockHints {
            granularity: Granularity::Page,
            ..LockHints::default()
        }
    }

    /// UPDLOCK.
    pub fn update() -> LockHints {
        LockHints {
            lock: ReadLock::Update,
            ..LockHints::default()
        }
    }

    /// HOLDLOCK.
    pub fn hold() -> LockHints {
        LockHints {
            isolation: Some(Isolation::Serializable),
            ..LockHints::default()
        }
    }
}

/// A lock on a table that the end of a statement gives back: what was held before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Briefly {
    resource: Resource,
    before: Option<LockMode>,
}

impl Session {
    /// The hints of a scan: its own, or those of the present call.
    pub(crate) fn hints_of(&self, own: LockHints) -> LockHints {
        if own == LockHints::default() {
            self.hints
        } else {
            own
        }
    }

    /// Sets the hints of the calls that follow, and the lock time-out that goes with them. Returns both as
    /// they were.
    pub fn swap_hints(&mut self, hints: LockHints) -> (LockHints, Timeout) {
        let before = (self.hints, self.timeout);
        self.hints = hints;
        if hints.no_wait {
            self.timeout = Timeout::NoWait;
        }
        before
    }

    /// Sets hints and lock time-out back to what [`Session::swap_hints`] returned.
    pub fn unswap_hints(&mut self, before: (LockHints, Timeout)) {
        (self.hints, self.timeout) = before;
    }

    /// The lock of the present call.
    pub(crate) fn hinted_lock(&self) -> ReadLock {
        self.hints.lock
    }

    /// The isolation level of the present call.
    #[inline]
    pub(crate) fn level(&self) -> Isolation {
        self.hints.isolation.unwrap_or(self.isolation)
    }

    /// 650 where READPAST is not allowed.
    pub(crate) fn check_read_past(&self) -> Result<(), EngineError> {
        let allowed = [Isolation::ReadCommitted, Isolation::RepeatableRead];
        if self.hints.read_past && !allowed.contains(&self.level()) {
            let text = "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE \
                READ isolation levels.";
            return Err(refuse(650, 16, 1, text));
        }
        Ok(())
    }

    /// What the present call locks of a table.
    #[inline]
    pub(crate) fn granularity(&self) -> Granularity {
        self.hints.granularity
    }

    /// Whether the present call locks a table as a whole. Otherwise it has announced itself if it locks
    /// pages.
    #[inline]
    fn locks_whole(&mut self, table: &Table, ranges: bool) -> Result<bool, EngineError> {
        if self.hints.granularity == Granularity::Row && !table.has_lock_options() {
            return Ok(false);
        }
        self.choose_granularity(table, ranges)
    }

    #[cold]
    fn choose_granularity(&mut self, table: &Table, ranges: bool) -> Result<bool, EngineError> {
        let by_pages = table.is_locked_by_pages();
        if self.granularity() == Granularity::Table
            || table.is_locked_whole()
            || (by_pages && ranges)
        {
            return Ok(true);
        }
        self.check_granularity(table)?;
        if by_pages || self.granularity() == Granularity::Page {
            self.announce_pages(table);
        }
        Ok(false)
    }

    /// Locks a table for rows of it to be changed.
    #[inline]
    pub(crate) fn lock_for_change(&mut self, table: &Table) -> Result<(), EngineError> {
        self.db.check_filegroups(table)?;
        let ranges = self.level() == Isolation::Serializable;
        if !self.locks_whole(table, ranges)? {
            return self.lock_table(table, LockMode::IX);
        }
        self.lock_table(table, LockMode::X)?;
        self.whole_tables = true;
        Ok(())
    }

    /// Locks a table for rows of it to be read, with `intent` or as a whole. Gives what the end of the
    /// statement is to give back.
    pub(crate) fn lock_for_reading(
        &mut self,
        table: &Table,
        intent: LockMode,
    ) -> Result<Option<Briefly>, EngineError> {
        let ranges = self.level() == Isolation::Serializable;
        if intent == LockMode::SchS || !self.locks_whole(table, ranges)? {
            return self.lock_table(table, intent).map(|()| None);
        }
        let whole = match intent {
            LockMode::IS => LockMode::S,
            _ => LockMode::X,
        };
        let resource = self.object(table);
        let before = self.owner.held(&resource);
        self.lock_table(table, whole)?;
        self.whole_tables = true;
        let brief = whole == LockMode::S && self.level() == Isolation::ReadCommitted;
        Ok(brief.then_some(Briefly { resource, before }))
    }

    /// Gives back a lock on a table that was for one statement: what has been taken of the table since then
    /// stays, and so does the intent to read, which another scan of it may go by.
    pub(crate) fn give_back(&self, lock: Option<Briefly>) {
        let Some(Briefly { resource, before }) = lock else {
            return;
        };
        let intent = match self.owner.held(&resource) {
            Some(LockMode::S) => LockMode::IS,
            Some(LockMode::SIU) => LockMode::IU,
            Some(LockMode::SIX) => LockMode::IX,
            // The lock is in another mode now, which something else in this transaction needs.
            _ => return,
        };
        let stays = before.map_or(intent, |before| before.supremum(intent));
        self.db.locks.downgrade(&self.owner, &resource, stays);
    }

    /// Whether what this session holds on a table makes a lock in `mode` on a row of it needless.
    #[inline]
    pub(crate) fn covers_rows(&self, table: &Table, mode: LockMode) -> bool {
        self.whole_tables
            && self
                .owner
                .held(&self.object(table))
                .is_some_and(|held| covers_rows(held, mode))
    }
}

/// Whether `held` on a table makes `mode` on a row of it needless.
pub(crate) fn covers_rows(held: LockMode, mode: LockMode) -> bool {
    match mode {
        LockMode::S | LockMode::RangeSS => held.covers(LockMode::S),
        _ => held.covers(LockMode::X),
    }
}
