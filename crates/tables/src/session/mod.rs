//! Sessions: one user's transactions, one statement at a time.
//!
//! # A statement
//! 1. The state of the database is checked; the session's task becomes the task of the thread.
//! 2. Outside of a transaction a statement is one of its own: committed when it succeeds, rolled back
//!    when it does not. Inside, a failed statement is undone alone, back to a savepoint before it.
//! 3. The victim of a deadlock (1205) loses its whole transaction.
//!
//! # The end of a transaction
//! The end is in the log (a commit: durable) before anything else. Then changes of definitions become
//! visible to all sessions, then locks are released, then the pages of what was dropped are freed. While a
//! commit waits for the log, writers may pass its locks of rows: see `following`.

mod following;
mod hints;
mod lock_hints;
mod reader;
mod scan_spec;
mod transaction;

pub use following::Followed;
pub(crate) use hints::{Briefly, covers_rows};
pub use lock_hints::{Granularity, LockHints, ReadLock};
pub use reader::{LockWait, LockWaiter};
pub use scan_spec::ScanSpec;
pub use transaction::OpenStatement;

use crate::catalog::{DdlChanges, DdlMark};
use crate::database::{DatabaseCore, DatabaseRef};
use crate::error::EngineError;
use crate::table::{Common, RowBuffer, Table};
use furrow_format::{ObjectId, TxnId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_observe::task::{self, Task};
use furrow_txn::lock::{Canceller, Granted, Isolation, LockMode, LockOwner, Resource, Timeout};
use furrow_txn::{Savepoint, Transaction};
use std::sync::Arc;

/// A place in a session's transaction to roll back to.
#[derive(Debug, Clone, Copy)]
pub struct SessionSavepoint {
    savepoint: Savepoint,
    ddl: DdlMark,
    /// The transaction it belongs to.
    txn: TxnId,
}

/// A session.
///
/// One thread at a time works with it.
#[derive(Debug)]
pub struct Session {
    pub(crate) db: Arc<DatabaseCore>,
    /// Keeps the database open.
    _database_ref: DatabaseRef,
    id: i32,
    task: Arc<Task>,
    pub(crate) owner: LockOwner,
    isolation: Isolation,
    /// Of the present call.
    hints: LockHints,
    pub(crate) timeout: Timeout,
    pub(crate) txn: Option<Transaction>,
    explicit: bool,
    /// Whether the commit under way may return before it is durable.
    delayed: bool,
    pub(crate) ddl: DdlChanges,
    /// Tables that this transaction has announced range locks on.
    ranges: Vec<Arc<Table>>,
    /// The shared parts of tables whose pages this transaction has announced to lock as a whole.
    paged: Vec<Arc<Common>>,
    /// Objects whose definitions the statement under way holds, in a transaction that had not locked them.
    held_definitions: Vec<Resource>,
    locks_taken: u32,
    /// Whether a table may be locked S or X as a whole.
    whole_tables: bool,
    /// Whether calls are parts of one statement.
    in_statement: bool,
    /// Where something else than its calls gives results to the client.
    followed: Option<Arc<Followed>>,
    /// Of a session that reads a part of a scan: what waits for locks in its place.
    pub(crate) waiter: Option<Arc<dyn LockWaiter>>,
    /// The table that takes identity values by hand.
    pub(crate) identity_insert: Option<ObjectId>,
    pub(crate) row: RowBuffer,
    pub(crate) encoded: Vec<u8>,
    pub(crate) read: Vec<u8>,
}

/// How many row locks are taken between two looks at escalation.
const ESCALATION_LOOK: u32 = 64;

impl Session {
    /// A session of this database; the database cannot be closed or dropped while it lasts. The session has
    /// the number of the task. Sessions may share a task, its waits and its trace flags.
    pub fn of_task(db: &Arc<DatabaseCore>, task: &Arc<Task>) -> Result<Session, EngineError> {
        Ok(Session::within(db, task, db.enter()?))
    }

    /// A session in a database that is kept open by this reference.
    pub(crate) fn within(
        db: &Arc<DatabaseCore>,
        task: &Arc<Task>,
        database_ref: DatabaseRef,
    ) -> Session {
        let id = task.session_id();
        Session {
            db: Arc::clone(db),
            _database_ref: database_ref,
            id,
            task: Arc::clone(task),
            owner: db.locks.owner(id),
            isolation: Isolation::ReadCommitted,
            hints: LockHints::default(),
            timeout: Timeout::Forever,
            txn: None,
            explicit: false,
            delayed: false,
            ddl: DdlChanges::default(),
            ranges: Vec::new(),
            paged: Vec::new(),
            held_definitions: Vec::new(),
            locks_taken: 0,
            whole_tables: false,
            in_statement: false,
            followed: None,
            waiter: None,
            identity_insert: None,
            row: RowBuffer::default(),
            encoded: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Its number.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Its task: its waits and trace flags.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// SET TRANSACTION ISOLATION LEVEL. SNAPSHOT is not there yet and counts as SERIALIZABLE.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = match isolation {
            Isolation::Snapshot => Isolation::Serializable,
            other => other,
        };
        self.owner.set_isolation(self.isolation);
    }

    /// SET LOCK_TIMEOUT.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.timeout = timeout;
    }

    /// SET DEADLOCK_PRIORITY.
    pub fn set_deadlock_priority(&mut self, priority: i32) {
        self.owner.set_deadlock_priority(priority);
    }

    /// Ends this session's lock waits from elsewhere.
    pub fn canceller(&self) -> Canceller {
        self.owner.canceller()
    }

    /// Forgets a cancellation, for a transaction that continues after it.
    pub fn rearm(&mut self) {
        self.owner.rearm();
    }

    /// Whether a transaction is open that was begun by [`Session::begin`].
    pub fn in_transaction(&self) -> bool {
        self.explicit
    }

    /// Whether its transaction has changed definitions: then it may resolve a name to another object than
    /// other sessions do.
    pub fn defines(&self) -> bool {
        !self.ddl.is_empty()
    }

    /// The table of this name in schema `dbo`, as this session sees it (208).
    pub fn table(&self, name: &str) -> Result<Arc<Table>, EngineError> {
        self.table_in("dbo", name)
    }

    /// The table of this name, as this session sees it (208).
    pub fn table_in(&self, schema: &str, name: &str) -> Result<Arc<Table>, EngineError> {
        let seen = match self.ddl.is_empty() {
            true => self.db.catalog.table(schema, name),
            false => self
                .ddl
                .named(schema, name)
                .unwrap_or_else(|| self.db.catalog.table(schema, name)),
        };
        seen.ok_or_else(|| EngineError::refused(208, &[name.into()]))
    }

    /// The table of this number, as this session sees it.
    pub fn table_by_id(&self, id: ObjectId) -> Option<Arc<Table>> {
        match self.ddl.by_id(id) {
            Some(changed) => changed.cloned(),
            None => self.db.catalog.table_by_id(id),
        }
    }

    /// Makes its task the thread's own.
    #[inline]
    pub(crate) fn enter(&self) -> task::TaskGuard {
        task::enter(&self.task)
    }

    #[inline]
    pub(crate) fn object(&self, table: &Table) -> Resource {
        Resource::Object(self.db.id, table.id)
    }

    /// Whether the table's definition has changed since it was looked up, as this session sees it.
    #[inline]
    fn is_stale(&self, table: &Table) -> bool {
        if self.ddl.is_empty() {
            return table.is_superseded();
        }
        match self.ddl.by_id(table.id) {
            Some(Some(mine)) => !std::ptr::eq(&**mine, table),
            Some(None) => true,
            None => table.is_superseded(),
        }
    }

    /// Locks an object, and checks that the table's definition is still current.
    #[inline]
    pub(crate) fn lock_table(&mut self, table: &Table, mode: LockMode) -> Result<(), EngineError> {
        self.db
            .locks
            .lock(&self.owner, self.object(table), mode, self.timeout)?;
        if self.is_stale(table) {
            let text = format!(
                "The definition of object '{}' has changed since it was compiled.",
                table.name
            );
            return Err(crate::error::refuse(2801, 16, 1, &text));
        }
        Ok(())
    }

    /// Keeps the definition of a table as it is until the statement under way ends: Sch-S on it. `false`
    /// where the definition has changed since the table was looked up: look it up again, and it stays.
    pub fn hold_definition(&mut self, table: &Table) -> Result<bool, EngineError> {
        let resource = self.object(table);
        let locks = &self.db.locks;
        if self.explicit && self.in_statement && self.owner.held(&resource).is_none() {
            self.held_definitions.push(resource);
        }
        locks.lock(&self.owner, resource, LockMode::SchS, self.timeout)?;
        Ok(!self.is_stale(table))
    }

    /// A statement of a transaction ends: definitions that it only held may change again.
    pub(super) fn release_definitions(&mut self) {
        for resource in self.held_definitions.drain(..) {
            if self.owner.held(&resource) == Some(LockMode::SchS) {
                self.db.locks.unlock(&self.owner, &resource);
            }
        }
    }

    /// Locks a table as it is now, whatever it was when it was looked up (208 where it is gone).
    pub(crate) fn lock_current(
        &mut self,
        table: &Arc<Table>,
        mode: LockMode,
    ) -> Result<Arc<Table>, EngineError> {
        let object = self.object(table);
        self.db
            .locks
            .lock(&self.owner, object, mode, self.timeout)?;
        let now = self.table_by_id(table.id);
        now.ok_or_else(|| EngineError::refused(208, &[table.name.as_str().into()]))
    }

    /// Locks a row of a table, unless the lock of the table does; escalates when there are many.
    #[inline]
    pub(crate) fn lock_row(
        &mut self,
        table: &Table,
        resource: Resource,
        mode: LockMode,
    ) -> Result<Granted, EngineError> {
        if self.covers_rows(table, mode) {
            return Ok(Granted::Held);
        }
        if mode == LockMode::X && mutated(Mutation::SkipRowLock) {
            return Ok(Granted::Held);
        }
        let locks = &self.db.locks;
        let granted = locks.lock_within(&self.owner, table.id, resource, mode, self.timeout)?;
        self.count_row_lock(table)?;
        Ok(granted)
    }

    /// Notes that a row of a table was locked; escalates when there are many.
    #[inline]
    pub(crate) fn count_row_lock(&mut self, table: &Table) -> Result<(), EngineError> {
        self.locks_taken += 1;
        if self.locks_taken.is_multiple_of(ESCALATION_LOOK) {
            self.maybe_escalate(table)?;
        }
        Ok(())
    }

    /// Announces that this transaction is going to lock ranges of a table.
    pub(crate) fn announce_range(&mut self, table: &Arc<Table>) {
        if self
            .ranges
            .iter()
            .any(|t| Arc::ptr_eq(&t.common, &table.common))
        {
            return;
        }
        table.common.announce();
        self.ranges.push(Arc::clone(table));
    }
}

impl Session {
    /// Announces that this transaction is going to lock pages of a table as a whole.
    pub(crate) fn announce_pages(&mut self, table: &Table) {
        if self.paged.iter().any(|c| Arc::ptr_eq(c, &table.common)) {
            return;
        }
        table.common.announce_pages();
        self.paged.push(Arc::clone(&table.common));
    }
}

impl Drop for Session {
    /// An open transaction is rolled back.
    fn drop(&mut self) {
        let _task = self.enter();
        if let Err(error) = self.roll_back_all() {
            tracing::warn!(session = self.id, %error, "the rollback of a session that ends failed");
        }
        self.forget_followed();
    }
}
