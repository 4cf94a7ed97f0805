//! A connection's engine sessions: one in each database that it uses, all with the same number.
//!
//! The connection has one transaction. A session joins it when the connection first uses its database, and
//! all sessions end it together. A transaction may change only one database besides `tempdb`, because there
//! is no two-phase commit that would make several commit together.
//!
//! Table variables are not part of the transaction: their rows are in a session of `tempdb` that never joins
//! it. Each statement that changes them is a statement of its own there.

use crate::activity::Activity;
use crate::error::{Result, SqlError, refuse};
use crate::server::ServerState;
use crate::system_databases::TEMPDB;
use crate::table_reads::Reads;
use furrow_engine::{
    Database, EngineError, Followed, Isolation, LockWaiter, OpenStatement, Session,
    SessionSavepoint, Table, Timeout, TxnMark,
};
use furrow_format::{DatabaseId, ObjectId};
use furrow_observe::task::Task;
use std::collections::HashSet;
use std::sync::Arc;

/// A session and the statement that is open in it.
#[derive(Debug)]
struct Seat {
    session: Session,
    statement: Option<OpenStatement>,
    /// Savepoints of the open transaction, by name, latest last.
    savepoints: Vec<(String, SessionSavepoint)>,
}

impl Seat {
    fn new(session: Session) -> Seat {
        Seat {
            session,
            statement: None,
            savepoints: Vec::new(),
        }
    }
}

/// The sessions of a connection.
#[derive(Debug)]
pub struct Sessions {
    server: Arc<ServerState>,
    id: i32,
    /// The connection's task: waits and trace flags belong to it, whatever the database.
    task: Arc<Task>,
    seats: Vec<Seat>,
    /// The session of table variables, in `tempdb`: never part of the transaction.
    aside: Option<Seat>,
    /// The names of the table variables in `tempdb`.
    variables: HashSet<String>,
    /// Position of the current database's session.
    current: usize,
    /// @@TRANCOUNT.
    count: u32,
    /// The name in the outermost BEGIN TRANSACTION.
    name: Option<String>,
    /// The mark of the open transaction.
    mark: Option<TxnMark>,
    in_statement: bool,
    /// Whether the transaction can only be rolled back.
    doomed: bool,
    isolation: Isolation,
    timeout: Timeout,
    priority: i32,
    /// The table that has SET IDENTITY_INSERT, and its database.
    identity_insert: Option<(DatabaseId, ObjectId)>,
    activity: Arc<Activity>,
    /// The commits that must be durable before anything is given to the client.
    followed: Arc<Followed>,
    /// Pages that the statement under way reads, under SET STATISTICS IO ON.
    pub reads: Option<Box<Reads>>,
}

impl Sessions {
    /// The sessions of a new connection, which begins in this database.
    pub fn new(server: &Arc<ServerState>, database: &str) -> Result<Sessions> {
        let id = server.instance().next_session_id();
        let db = server.instance().database(database)?;
        let task = Task::new(server.instance().instruments(), id, "session");
        let mut session = Session::of_task(&db, &task)?;
        let followed = Arc::default();
        session.defer_to(&followed);
        let activity = Arc::new(Activity::new(id, db.name(), &task));
        server.enlist(id, &activity);
        let mut sessions = Sessions::at_rest(server, &task, session, &activity);
        sessions.followed = followed;
        sessions.publish();
        Ok(sessions)
    }

    /// The sessions of a thread that reads parts of a scan of this table for the connection: one of its
    /// database, which `waiter` waits for locks for.
    pub(crate) fn helper(
        &mut self,
        (id, table): (DatabaseId, &Table),
        number: u16,
        waiter: Arc<dyn LockWaiter>,
    ) -> Result<Sessions> {
        let task = self.task.child(number);
        let session = self.by_table(id, table)?.reader(&task, waiter)?;
        let mut helper = Sessions::at_rest(&self.server, &task, session, &self.activity);
        helper.in_statement = true;
        helper.isolation = self.isolation;
        helper.timeout = self.timeout;
        helper.priority = self.priority;
        Ok(helper)
    }

    /// One session, outside of a transaction.
    fn at_rest(
        server: &Arc<ServerState>,
        task: &Arc<Task>,
        session: Session,
        activity: &Arc<Activity>,
    ) -> Sessions {
        Sessions {
            server: Arc::clone(server),
            id: task.session_id(),
            task: Arc::clone(task),
            seats: vec![Seat::new(session)],
            aside: None,
            variables: HashSet::new(),
            current: 0,
            count: 0,
            name: None,
            mark: None,
            in_statement: false,
            doomed: false,
            isolation: Isolation::ReadCommitted,
            timeout: Timeout::Forever,
            priority: 0,
            identity_insert: None,
            activity: Arc::clone(activity),
            followed: Arc::default(),
            reads: None,
        }
    }

    /// The record of the connection's activity for other threads.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// The commits that must be durable before anything is given to the client.
    pub fn followed(&self) -> &Arc<Followed> {
        &self.followed
    }

    /// Called before several databases commit, one after the other: what one of them commits may depend on a
    /// commit that another one's session follows. tempdb shows it at once.
    fn settle_across(&self) -> Result<()> {
        if self.seats.len() > 1 && self.followed.is_any() {
            self.followed.settle()?;
        }
        Ok(())
    }

    /// Whether definitions were changed in the open transaction.
    pub fn defines(&self) -> bool {
        self.seats.iter().any(|s| s.session.defines())
    }

    /// Publishes the list of sessions for other threads.
    fn publish(&self) {
        let seats = self.seats.iter().chain(&self.aside);
        let cancellers = seats.map(|s| s.session.canceller());
        let database = self.database().name();
        self.activity.now_in(database, cancellers.collect());
    }

    /// Called when a batch begins: resets the cancellation of the one before.
    pub fn rearm(&mut self) {
        for seat in self.seats.iter_mut().chain(&mut self.aside) {
            seat.session.rearm();
        }
    }

    /// Whether the transaction can only be rolled back.
    pub fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// From now on, the open transaction can only be rolled back.
    pub fn doom(&mut self) {
        self.doomed = self.count > 0;
    }

    /// Refuses a write in a transaction that can only be rolled back (3930).
    pub fn writable(&self) -> Result<()> {
        match self.doomed {
            true => refuse(3930, &[]),
            false => Ok(()),
        }
    }

    /// @@SPID.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The task of all sessions.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// @@TRANCOUNT.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The current database.
    pub fn database(&self) -> &Arc<Database> {
        self.seat().session.database()
    }

    /// Whether the connection has a session in this database.
    pub fn is_in(&self, id: DatabaseId) -> bool {
        self.seats.iter().any(|s| s.session.database().id() == id)
    }

    fn seat(&self) -> &Seat {
        // `current` is always a valid position: only sessions behind it are removed.
        &self.seats[self.current]
    }

    /// The current database's session.
    pub fn session(&mut self) -> &mut Session {
        let current = self.current;
        &mut self.seats[current].session
    }

    /// The session in a database. A new one joins the open transaction and statement.
    pub fn of(&mut self, db: &Arc<Database>) -> Result<&mut Session> {
        let place = self.place(db)?;
        Ok(&mut self.seats[place].session)
    }

    /// SET IDENTITY_INSERT: one table of the connection has it, of whichever database.
    pub fn set_identity_insert(
        &mut self,
        db: &Arc<Database>,
        table: &Table,
        on: bool,
    ) -> Result<()> {
        let this = (db.id(), table.id());
        let other = self.identity_insert.filter(|(of, _)| *of != db.id());
        if let Some((of, _)) = other.filter(|_| on)
            && let Ok(session) = self.by_id(of)
        {
            session.refuse_identity_insert_elsewhere(table)?;
        }
        self.of(db)?.set_identity_insert(table, on)?;
        self.identity_insert = match on {
            true => Some(this),
            false => self.identity_insert.filter(|numbered| *numbered != this),
        };
        Ok(())
    }

    /// Records that a table of `tempdb` is a table variable of this connection.
    pub(crate) fn add_table_variable(&mut self, inner: &str) {
        self.variables.insert(inner.to_owned());
    }

    /// Records that a table variable has been dropped.
    pub(crate) fn remove_table_variable(&mut self, inner: &str) {
        self.variables.remove(inner);
    }

    /// Whether a table of `tempdb`, by its name there, is a table variable of this connection.
    #[inline]
    pub fn is_table_variable(&self, inner: &str) -> bool {
        !self.variables.is_empty() && self.variables.contains(inner)
    }

    /// The session for the table with this name, existing or new.
    pub fn of_table(&mut self, db: &Arc<Database>, table: &str) -> Result<&mut Session> {
        match self.is_table_variable(table) {
            true => self.aside(),
            false => self.of(db),
        }
    }

    /// As `of_table`, in a database that the connection has used.
    #[inline]
    pub fn by_table(&mut self, id: DatabaseId, table: &Table) -> Result<&mut Session> {
        if let Some(reads) = &mut self.reads {
            reads.turn_to(table.name());
        }
        match self.is_table_variable(table.name()) {
            true => self.aside(),
            false => self.by_id(id),
        }
    }

    /// The session of table variables, after it has joined the open statement.
    fn aside(&mut self) -> Result<&mut Session> {
        if self.aside.is_none() {
            let db = self.server.instance().database(TEMPDB)?;
            let mut session = Session::of_task(&db, &self.task)?;
            session.set_lock_timeout(self.timeout);
            self.aside = Some(Seat::new(session));
            self.publish();
        }
        let in_statement = self.in_statement;
        let Some(seat) = &mut self.aside else {
            return refuse(911, &[TEMPDB.into()]);
        };
        if in_statement && seat.statement.is_none() {
            seat.statement = Some(seat.session.begin_statement()?);
        }
        Ok(&mut seat.session)
    }

    /// The database with this number, if the connection has a session in it.
    pub(crate) fn seated(&self, id: DatabaseId) -> Option<&Arc<Database>> {
        let seats = self.seats.iter().chain(&self.aside);
        let mut databases = seats.map(|seat| seat.session.database());
        databases.find(|database| database.id() == id)
    }

    /// The session in a database that the connection has used.
    pub(crate) fn by_id(&mut self, id: DatabaseId) -> Result<&mut Session> {
        let found = self
            .seats
            .iter()
            .position(|s| s.session.database().id() == id);
        match found {
            Some(place) => Ok(&mut self.seats[place].session),
            None => {
                let db = self.server.instance().database_by_id(id);
                let db = db.ok_or_else(|| EngineError::refused(911, &["".into()]))?;
                self.of(&db)
            }
        }
    }

    fn place(&mut self, db: &Arc<Database>) -> Result<usize> {
        let known = |s: &Seat| s.session.database().id() == db.id();
        if let Some(place) = self.seats.iter().position(known) {
            return Ok(place);
        }
        let mut session = Session::of_task(db, &self.task)?;
        session.defer_to(&self.followed);
        session.set_isolation(self.isolation);
        session.set_lock_timeout(self.timeout);
        session.set_deadlock_priority(self.priority);
        let numbered = self.identity_insert.filter(|(of, _)| *of == db.id());
        session.replace_identity_insert(numbered.map(|(_, table)| table));
        let mut seat = Seat::new(session);
        if self.count > 0 {
            seat.session.begin()?;
            if let Some(mark) = &self.mark {
                seat.session.set_mark(mark)?;
            }
            // All existing savepoints were set before its first change.
            let names = self.seats.first().map(|s| s.savepoints.iter());
            for (name, _) in names.into_iter().flatten() {
                let here = seat.session.savepoint()?;
                seat.savepoints.push((name.clone(), here));
            }
        }
        if self.in_statement {
            seat.statement = Some(seat.session.begin_statement()?);
        }
        self.seats.push(seat);
        self.publish();
        Ok(self.seats.len() - 1)
    }

    /// USE.
    pub fn change_database(&mut self, name: &str) -> Result<()> {
        let db = self.server.instance().database(name)?;
        self.current = self.place(&db)?;
        self.rest();
        self.publish();
        Ok(())
    }

    /// Closes sessions in other databases, in which nothing is open, so that these databases can be dropped,
    /// closed or detached.
    pub fn rest(&mut self) {
        if self.count > 0 || self.in_statement {
            return;
        }
        if self.seats.len() == 1 {
            return;
        }
        let keep = self.database().id();
        self.seats.retain(|s| s.session.database().id() == keep);
        self.current = 0;
        self.publish();
    }

    /// Begins a statement in all sessions.
    pub(crate) fn begin_statement(&mut self) -> Result<()> {
        debug_assert!(!self.in_statement);
        self.in_statement = true;
        for at in 0..self.seats.len() {
            let begun = self.seats[at].session.begin_statement();
            match begun {
                Ok(statement) => self.seats[at].statement = Some(statement),
                Err(e) => {
                    self.undo_statement()?;
                    return Err(e.into());
                }
            }
        }
        Ok(())
    }

    /// Whether a statement is open.
    pub(crate) fn in_statement(&self) -> bool {
        self.in_statement
    }

    /// Ends the statement: outside of a transaction it is committed.
    pub(crate) fn finish_statement(&mut self) -> Result<()> {
        self.in_statement = false;
        let commits = self.count == 0;
        let mut failed = commits.then(|| self.settle_across().err()).flatten();
        for seat in self.seats.iter_mut().chain(&mut self.aside) {
            if let Some(statement) = seat.statement.take() {
                let done = match failed {
                    None => seat.session.finish_statement(statement),
                    Some(_) => seat.session.undo_statement(statement),
                };
                if let Err(e) = done {
                    failed.get_or_insert(e.into());
                }
            }
        }
        self.rest();
        failed.map_or(Ok(()), Err)
    }

    /// Undoes the statement. If a session has lost its transaction (the victim of a deadlock), the whole
    /// transaction is rolled back, but @@TRANCOUNT stays until ROLLBACK.
    pub(crate) fn undo_statement(&mut self) -> Result<()> {
        self.in_statement = false;
        let mut failed = None;
        for seat in self.seats.iter_mut().chain(&mut self.aside) {
            if let Some(statement) = seat.statement.take()
                && let Err(e) = seat.session.undo_statement(statement)
            {
                failed.get_or_insert(e);
            }
        }
        if self.count > 0 && self.seats.iter().any(|s| !s.session.in_transaction()) {
            let count = self.count;
            self.roll_back_all()?;
            self.count = count;
            self.doomed = true;
        }
        self.rest();
        failed.map_or(Ok(()), |e| Err(e.into()))
    }

    /// BEGIN TRANSACTION. Only the name of the outermost one counts.
    pub fn begin(&mut self, name: Option<String>) -> Result<()> {
        self.writable()?;
        if self.count == 0 {
            (self.name, self.mark) = (name, None);
            for seat in &mut self.seats {
                seat.session.begin()?;
            }
            self.activity.transaction_begins();
        }
        self.count += 1;
        Ok(())
    }

    /// WITH MARK of the last BEGIN TRANSACTION: the mark is logged when the outermost transaction commits.
    /// `false` if the transaction already has a mark.
    pub fn set_mark(&mut self, mark: TxnMark) -> Result<bool> {
        if self.mark.is_some() {
            return Ok(false);
        }
        for seat in &mut self.seats {
            seat.session.set_mark(&mark)?;
        }
        self.mark = Some(mark);
        Ok(true)
    }

    /// COMMIT: the outermost makes the changes durable. 3902 without a transaction.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_with(false)
    }

    /// COMMIT. `delayed`: it need not be durable on return if the database allows that. A transaction that
    /// changed several databases is durable in any case.
    pub fn commit_with(&mut self, delayed: bool) -> Result<()> {
        self.writable()?;
        match self.count {
            0 => return refuse(3902, &[]),
            1 => {}
            _ => {
                self.count -= 1;
                return Ok(());
            }
        }
        self.count = 0;
        let mut failed = self.settle_across().err();
        let alone = self.seats.len() == 1;
        for seat in &mut self.seats {
            seat.savepoints.clear();
            let done = match failed {
                None if delayed && alone => seat.session.commit_delayed(),
                None => seat.session.commit(),
                Some(_) => seat.session.rollback(),
            };
            if let Err(e) = done {
                failed.get_or_insert(e.into());
            }
        }
        self.rest();
        failed.map_or(Ok(()), Err)
    }

    /// ROLLBACK of everything: 3903 without a transaction.
    pub fn rollback(&mut self) -> Result<()> {
        if self.count == 0 {
            return refuse(3903, &[]);
        }
        self.roll_back_all()
    }

    /// Rolls back the transaction, if one is open.
    pub fn roll_back_all(&mut self) -> Result<()> {
        self.count = 0;
        self.doomed = false;
        let mut failed: Option<Box<SqlError>> = None;
        for seat in &mut self.seats {
            seat.savepoints.clear();
            if seat.session.in_transaction()
                && let Err(e) = seat.session.rollback()
            {
                failed.get_or_insert(e.into());
            }
        }
        self.rest();
        failed.map_or(Ok(()), Err)
    }

    /// SAVE TRANSACTION.
    pub fn save(&mut self, name: &str) -> Result<()> {
        if self.count == 0 {
            return refuse(628, &[]);
        }
        self.writable()?;
        for seat in &mut self.seats {
            let savepoint = seat.session.savepoint()?;
            seat.savepoints.push((name.to_owned(), savepoint));
        }
        Ok(())
    }

    /// ROLLBACK to the last savepoint of this name, or of the transaction of this name; 6401 if there is
    /// neither. Names are case-sensitive.
    pub fn rollback_named(&mut self, name: &str) -> Result<()> {
        if self.count == 0 {
            return refuse(3903, &[]);
        }
        let known = |seat: &Seat| seat.savepoints.iter().any(|(n, _)| n == name);
        if !self.seats.iter().any(known) {
            return match self.name.as_deref() == Some(name) {
                true => self.roll_back_all(),
                false => refuse(6401, &[name.into()]),
            };
        }
        if self.doomed {
            return refuse(3931, &[]);
        }
        for seat in &mut self.seats {
            let place = seat.savepoints.iter().rposition(|(n, _)| n == name);
            if let Some(at) = place {
                seat.savepoints.truncate(at + 1);
                if let Some((_, savepoint)) = seat.savepoints.last() {
                    seat.session.rollback_to(*savepoint)?;
                }
            }
        }
        Ok(())
    }

    /// SET TRANSACTION ISOLATION LEVEL.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
        for seat in &mut self.seats {
            seat.session.set_isolation(isolation);
        }
    }

    /// @@LOCK_TIMEOUT.
    pub fn lock_timeout(&self) -> Timeout {
        self.timeout
    }

    /// The isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Whether the isolation level is SNAPSHOT, which no database allows yet.
    pub fn asks_snapshot(&self) -> bool {
        self.isolation == Isolation::Snapshot
    }

    /// The value of the last SET DEADLOCK_PRIORITY.
    pub fn deadlock_priority(&self) -> i32 {
        self.priority
    }

    /// SET DEADLOCK_PRIORITY.
    pub fn set_deadlock_priority(&mut self, priority: i32) {
        self.priority = priority;
        for seat in &mut self.seats {
            seat.session.set_deadlock_priority(priority);
        }
    }

    /// SET LOCK_TIMEOUT.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.timeout = timeout;
        for seat in self.seats.iter_mut().chain(&mut self.aside) {
            seat.session.set_lock_timeout(timeout);
        }
    }
}
