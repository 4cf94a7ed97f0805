//! A session of a database: the session of its tables, and the database held open.

use super::Database;
use furrow_observe::task::Task;
use furrow_tables::EngineError;
use furrow_tables::{LockHints, LockWaiter};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A session.
///
/// One thread at a time works with it. Transactions, statements and rows are methods of
/// [`furrow_tables::Session`], which it dereferences to.
#[derive(Debug)]
pub struct Session {
    /// Dropped first: an open transaction is rolled back while the database is open.
    session: furrow_tables::Session,
    database: Arc<Database>,
}

impl Session {
    /// A session of this database; the database cannot be closed or dropped while it lasts.
    pub fn new(db: &Arc<Database>) -> Result<Session, EngineError> {
        Session::numbered(db, db.shared.next_session_id())
    }

    /// The same with a number of [`Instance::next_session_id`](crate::Instance::next_session_id): a
    /// connection that works in several databases has a session in each, all with its number.
    pub fn numbered(db: &Arc<Database>, id: i32) -> Result<Session, EngineError> {
        Session::of_task(db, &Task::new(&db.instruments, id, "session"))
    }

    /// The same with a task that other sessions may share. The session has the task's number; waits and
    /// trace flags are shared by all sessions of a connection.
    pub fn of_task(db: &Arc<Database>, task: &Arc<Task>) -> Result<Session, EngineError> {
        Ok(Session {
            session: furrow_tables::Session::of_task(&db.core, task)?,
            database: Arc::clone(db),
        })
    }

    /// A session that reads a part of a scan for this one: [`furrow_tables::Session::reader`].
    pub fn reader(
        &self,
        task: &Arc<Task>,
        waiter: Arc<dyn LockWaiter>,
    ) -> Result<Session, EngineError> {
        Ok(Session {
            session: self.session.reader(task, waiter)?,
            database: Arc::clone(&self.database),
        })
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Runs `body` under table hints: they hold for each call in it that names a table.
    pub fn hinted<T>(&mut self, hints: LockHints, body: impl FnOnce(&mut Session) -> T) -> T {
        let before = self.swap_hints(hints);
        let result = body(self);
        self.unswap_hints(before);
        result
    }

    /// Runs several calls as one statement: all undone when it fails, and their locks counted together for
    /// escalation.
    pub fn one_statement<T>(
        &mut self,
        body: impl FnOnce(&mut Session) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let statement = self.begin_statement()?;
        match body(self) {
            Ok(value) => self.finish_statement(statement).map(|()| value),
            Err(error) => {
                self.undo_statement(statement)?;
                Err(error)
            }
        }
    }
}

impl Deref for Session {
    type Target = furrow_tables::Session;

    fn deref(&self) -> &furrow_tables::Session {
        &self.session
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut furrow_tables::Session {
        &mut self.session
    }
}
