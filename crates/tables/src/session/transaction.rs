//! Statements and transactions: begin, commit, rollback, savepoints.

use super::{Session, SessionSavepoint};
use crate::error::EngineError;
use crate::schema::LockEscalation;
use crate::table::Table;
use furrow_access::AccessError;
use furrow_format::catalog::AllocUnit;
use furrow_format::{DelayedDurability, Lsn, TxnId};
use furrow_io::mutation::{Mutation, linger, mutated};
use furrow_observe::traceflags::TraceFlag;
use furrow_txn::lock::{Escalation, LockError};
use furrow_txn::{Transaction, TxnError, TxnMark};

/// A statement of several calls: [`Session::begin_statement`].
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct OpenStatement {
    mark: Option<SessionSavepoint>,
    /// Whether it is part of another one.
    outer: bool,
}

/// Whether an error costs the whole transaction.
fn is_fatal(error: &EngineError) -> bool {
    let txn = match error {
        EngineError::Txn(e) | EngineError::Access(AccessError::Txn(e)) => e,
        _ => return false,
    };
    matches!(txn, TxnError::Lock(LockError::Deadlock { .. }))
}

impl Session {
    /// BEGIN TRANSACTION. Transactions do not nest: the second begin is refused with 3988's text of the
    /// client library.
    pub fn begin(&mut self) -> Result<(), EngineError> {
        self.db.check()?;
        if self.explicit {
            let text = "New transaction is not allowed because there are other threads running in \
            the session.";
            return Err(crate::error::refuse(3988, 16, 1, text));
        }
        self.start();
        self.owner.note_started();
        self.explicit = true;
        Ok(())
    }

    /// The open transaction commits with this mark.
    pub fn set_mark(&mut self, mark: &TxnMark) -> Result<(), EngineError> {
        match &mut self.txn {
            Some(txn) => Ok(txn.set_mark(mark.clone())?),
            None => Ok(()),
        }
    }

    fn start(&mut self) {
        let txn = Transaction::begin(&self.db.store);
        self.owner.begin(txn.id(), self.isolation());
        self.txn = Some(txn);
    }

    /// COMMIT: returns when the commit is durable.
    pub fn commit(&mut self) -> Result<(), EngineError> {
        if !self.explicit {
            return Err(EngineError::refused(3902, &[]));
        }
        let _task = self.enter();
        self.commit_now()
    }

    /// COMMIT WITH (DELAYED_DURABILITY = ON): may return before the commit is durable, where the database
    /// allows it.
    pub fn commit_delayed(&mut self) -> Result<(), EngineError> {
        self.delayed = true;
        let done = self.commit();
        self.delayed = false;
        done
    }

    /// ROLLBACK.
    pub fn rollback(&mut self) -> Result<(), EngineError> {
        if !self.explicit {
            return Err(EngineError::refused(3903, &[]));
        }
        let _task = self.enter();
        self.roll_back_all()
    }

    /// SAVE TRANSACTION.
    pub fn savepoint(&mut self) -> Result<SessionSavepoint, EngineError> {
        match (&self.txn, self.explicit) {
            (Some(txn), true) => Ok(self.mark(txn)),
            _ => {
                let text = "Cannot issue SAVE TRANSACTION when there is no active transaction.";
                Err(crate::error::refuse(628, 16, 0, text))
            }
        }
    }

    fn mark(&self, txn: &Transaction) -> SessionSavepoint {
        SessionSavepoint {
            savepoint: txn.savepoint(&self.db.locks, &self.owner),
            ddl: self.ddl.mark(),
            txn: txn.id(),
        }
    }

    /// ROLLBACK to a savepoint of the present transaction.
    pub fn rollback_to(&mut self, to: SessionSavepoint) -> Result<(), EngineError> {
        if !self.explicit || self.txn.as_ref().map(Transaction::id) != Some(to.txn) {
            let text = "Cannot roll back. No transaction or savepoint of that name was found.";
            return Err(crate::error::refuse(6401, 16, 1, text));
        }
        let _task = self.enter();
        self.roll_back_to(to)
    }

    fn roll_back_to(&mut self, to: SessionSavepoint) -> Result<(), EngineError> {
        self.settle()?;
        let Some(txn) = &mut self.txn else {
            return Ok(());
        };
        txn.rollback_to(to.savepoint, &self.db.catalog, &self.db.locks, &self.owner)?;
        let made = self.ddl.roll_back(to.ddl);
        self.free_units(&made)
    }

    /// Frees what a transaction that has ended dropped, or what one that was undone had made.
    fn free_units(&self, units: &[AllocUnit]) -> Result<(), EngineError> {
        for unit in units {
            self.db.catalog.free_unit(unit)?;
        }
        self.db.purge_after_drop(units.len() as u64);
        Ok(())
    }

    /// A place within a statement to go back to.
    pub(crate) fn inner_mark(&self) -> Option<SessionSavepoint> {
        self.txn.as_ref().map(|txn| self.mark(txn))
    }

    pub(crate) fn back_to_mark(
        &mut self,
        mark: Option<SessionSavepoint>,
    ) -> Result<(), EngineError> {
        match mark {
            Some(mark) => self.roll_back_to(mark),
            None => Ok(()),
        }
    }

    pub(super) fn commit_now(&mut self) -> Result<(), EngineError> {
        self.explicit = false;
        let Some(txn) = self.txn.take() else {
            return Ok(());
        };
        if mutated(Mutation::EarlyRelease) {
            self.db.locks.release_all(&self.owner);
            linger(true);
        }
        if mutated(Mutation::FreeBeforeCommit) {
            for unit in &self.ddl.dropped() {
                self.db.catalog.free_unit(unit)?;
            }
            linger(!self.ddl.is_empty());
        }
        // Changes of definitions are always made durable: pages that they give up are used again. So is what
        // follows a commit: the client may not know of it before that commit is durable.
        let followed = self.owner.followed();
        let delayed = self.ddl.is_empty()
            && followed.is_none()
            && match self.db.durability.get() {
                DelayedDurability::Disabled => false,
                DelayedDurability::Allowed => self.delayed,
                DelayedDurability::Forced => true,
            };
        let committed = match delayed {
            true => txn.commit_delayed(),
            false if self.ddl.is_empty() => txn.commit_leaving(&self.db.locks, &self.owner),
            false => txn.commit(),
        };
        // Its own record lies behind what it follows, and behind all commits that it has read. Without one it
        // has only read.
        let committed = match committed {
            Ok(None) => self.settle().and_then(|()| self.db.check()),
            Ok(Some(_)) => Ok(()),
            Err(e) => Err(e.into()),
        };
        if let Err(error) = &committed {
            self.give_up(error, followed);
        }
        if committed.is_ok() && !self.ddl.is_empty() {
            self.db.catalog.publish(&self.ddl);
        }
        let dropped = if self.ddl.is_empty() {
            Vec::new()
        } else {
            self.ddl.dropped()
        };
        self.ddl.clear();
        self.let_go();
        committed?;
        self.free_units(&dropped)
    }

    pub(super) fn roll_back_all(&mut self) -> Result<(), EngineError> {
        self.explicit = false;
        let Some(txn) = self.txn.take() else {
            return Ok(());
        };
        let followed = self.owner.followed();
        let settled = self.settle();
        if let Err(error) = &settled {
            self.give_up(error, followed);
        }
        self.owner.start_rollback();
        let undone = txn.rollback(&self.db.catalog).map_err(EngineError::from);
        let undone = settled.and(undone);
        if let Err(error) = &undone {
            self.give_up(error, None);
        }
        let made = self.ddl.roll_back(super::DdlMark::default());
        self.ddl.clear();
        self.let_go();
        undone?;
        self.free_units(&made)
    }

    /// The transaction cannot be ended in the log: no session may give away what it has changed, and its own
    /// client gets nothing that depends on the commit that it followed.
    #[cold]
    fn give_up(&self, error: &EngineError, followed: Option<Lsn>) {
        self.db.fail(error);
        if let Some(client) = self.followed.as_ref().filter(|_| followed.is_some()) {
            client.fail(error);
        }
    }

    /// Gives up locks and announcements.
    fn let_go(&mut self) {
        for table in self.ranges.drain(..) {
            table.common.withdraw();
        }
        self.db.locks.release_all(&self.owner);
        self.held_definitions.clear();
        for common in self.paged.drain(..) {
            common.withdraw_pages();
        }
        self.locks_taken = 0;
        self.whole_tables = false;
    }

    /// Runs several calls as one statement.
    pub(crate) fn one_statement<T>(
        &mut self,
        body: impl FnOnce(&mut Session) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.run_statement(|session| {
            let outer = std::mem::replace(&mut session.in_statement, true);
            let result = body(session);
            session.in_statement = outer;
            result
        })
    }

    /// Begins a statement of several calls: all undone when it fails, and their locks counted together for
    /// escalation. Outside of a transaction the statement is one of its own; inside, it begins with a
    /// savepoint.
    pub fn begin_statement(&mut self) -> Result<OpenStatement, EngineError> {
        self.db.check()?;
        let _task = self.enter();
        self.begin_counting();
        let mark = match &self.txn {
            Some(txn) => Some(self.mark(txn)),
            None => {
                self.start();
                None
            }
        };
        let outer = std::mem::replace(&mut self.in_statement, true);
        Ok(OpenStatement { mark, outer })
    }

    /// Ends a statement that succeeded: outside of a transaction it is committed, and durable on return.
    pub fn finish_statement(&mut self, statement: OpenStatement) -> Result<(), EngineError> {
        let OpenStatement { mark, outer } = statement;
        self.in_statement = outer;
        if mark.is_some() {
            self.release_definitions();
            return Ok(());
        }
        let _task = self.enter();
        self.commit_now().map_err(|e| self.db.with_names(e))
    }

    /// Undoes a statement that failed. The victim of a deadlock has lost its transaction before.
    pub fn undo_statement(&mut self, statement: OpenStatement) -> Result<(), EngineError> {
        let OpenStatement { mark, outer } = statement;
        self.in_statement = outer;
        let _task = self.enter();
        let undone = match mark {
            Some(mark) if self.txn.as_ref().map(Transaction::id) == Some(mark.txn) => {
                self.roll_back_to(mark)
            }
            Some(_) => Ok(()),
            None => self.roll_back_all(),
        };
        self.release_definitions();
        undone.map_err(|e| self.db.with_names(e))
    }

    /// Runs a statement that changes something; 3906 where nothing may be.
    #[inline]
    pub(crate) fn statement<T>(
        &mut self,
        body: impl FnOnce(&mut Session) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.db.check_changes()?;
        self.run_statement(body)
    }

    fn run_statement<T>(
        &mut self,
        body: impl FnOnce(&mut Session) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.db.check()?;
        let _task = self.enter();
        self.begin_counting();
        let Some(txn) = &self.txn else {
            self.start();
            return match body(self) {
                Ok(value) => self.commit_now().map(|()| value),
                Err(e) => Err(self.fail(e, None)),
            };
        };
        let mark = self.mark(txn);
        let result = body(self).map_err(|e| self.fail(e, Some(mark)));
        self.give(result)
    }

    /// Undoes a statement that failed, or the whole transaction.
    fn fail(&mut self, error: EngineError, mark: Option<SessionSavepoint>) -> EngineError {
        let undone = match mark {
            Some(mark) if !is_fatal(&error) => self.roll_back_to(mark),
            _ => self.roll_back_all(),
        };
        if let Err(worse) = undone {
            tracing::error!(session = self.id(), %error, "a statement that failed cannot be undone");
            return self.db.with_names(worse);
        }
        self.db.with_names(error)
    }

    /// Runs a statement that only reads.
    pub(crate) fn reading<T>(
        &mut self,
        body: impl FnOnce(&mut Session) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.begin_reading()?;
        let _task = self.enter();
        let result = body(self);
        self.end_reading(result)
    }

    pub(crate) fn begin_reading(&mut self) -> Result<(), EngineError> {
        self.db.check()?;
        if self.txn.is_none() {
            self.owner.begin(TxnId(0), self.isolation());
        } else {
            self.begin_counting();
        }
        Ok(())
    }

    pub(crate) fn end_reading<T>(
        &mut self,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let result = self.give(result);
        if self.txn.is_none() {
            self.let_go();
        }
        result.map_err(|e| if is_fatal(&e) { self.fail(e, None) } else { e })
    }

    /// A statement begins: locks are counted from here for escalation.
    fn begin_counting(&mut self) {
        if !self.in_statement && self.locks_taken > 0 {
            self.locks_taken = 0;
            self.owner.begin_statement();
        }
    }

    /// Trades many row locks for one of the table, when it is due and possible.
    pub(crate) fn maybe_escalate(&mut self, table: &Table) -> Result<(), EngineError> {
        let task = self.task();
        let policy = match table.lock_escalation() {
            LockEscalation::Disable => Escalation::Never,
            LockEscalation::Table | LockEscalation::Auto => Escalation::from_flags(
                task.trace_flag_on(TraceFlag::NO_ESCALATION),
                task.trace_flag_on(TraceFlag::NO_ESCALATION_BY_COUNT),
            ),
        };
        // Scans take their locks a leaf at a time, past the count.
        self.locks_taken = self.locks_taken.max(1);
        let locks = &self.db.locks;
        if locks.escalation_due(&self.owner, table.id, policy) {
            self.whole_tables |= locks.escalate(&self.owner, self.db.id, table.id)?;
        }
        Ok(())
    }
}
