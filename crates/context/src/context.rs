//! The state of a connection that statements use: sessions, variables, settings, results of the last
//! statement.

use crate::activity::{Meter, Retire, SessionSettings};
use crate::clock::StatementTime;
use crate::cursors::Cursors;
use crate::error::{Result, SqlError};
use crate::memory::{Memory, check_heap};
use crate::plans::{PlanKey, bound_under};
use crate::query_stats::Clock;
use crate::scope::{Scope, is_long};
use crate::server::ServerState;
use crate::sessions::Sessions;
use crate::subqueries::SubqueryResults;
use crate::system::SystemObjects;
use crate::system_databases::MASTER;
use crate::temp::Temp;
use crate::texts::Texts;
use crate::usage::{IndexName, Use};
use furrow_engine::{Division, LockWaiter, Table};
use furrow_format::DatabaseId;
use furrow_io::random;
use furrow_messages::Message;
use furrow_scalar::{Env, RandState, Settings, Switches};
use furrow_types::Value;
use std::sync::Arc;

/// SET options: switches and numbers.
#[derive(Debug, Clone)]
pub struct SetOptions {
    /// SET STATISTICS IO.
    pub statistics_io: bool,
    /// SET STATISTICS TIME.
    pub statistics_time: bool,
    /// SET NOEXEC.
    pub no_exec: bool,
    /// SET ROWCOUNT; 0 for all rows.
    pub row_count: i64,
    /// The settings that expressions depend on.
    pub settings: Settings,
}

impl SetOptions {
    /// Whether all of these are ON.
    #[inline]
    pub fn has(&self, these: Switches) -> bool {
        self.settings.switches.has(these)
    }

    /// Whether an error that would otherwise end only its statement ends the batch and its transaction: any
    /// such error under SET XACT_ABORT ON, and an arithmetic error under ARITHABORT ON and ANSI_WARNINGS OFF.
    pub fn aborts(&self, error: &SqlError) -> bool {
        let arithmetic = self.has(Switches::ARITHABORT) && !self.has(Switches::ANSI_WARNINGS);
        self.has(Switches::XACT_ABORT) || (arithmetic && instead_of(error.number()).is_some())
    }
}

/// The message that is sent when arithmetic returns NULL in place of this error.
fn instead_of(number: u32) -> Option<u32> {
    match number {
        220 | 232 | 8115 => Some(3606),
        8134 => Some(3607),
        3623 => Some(3622),
        _ => None,
    }
}

impl Default for SetOptions {
    fn default() -> SetOptions {
        SetOptions {
            statistics_io: false,
            statistics_time: false,
            no_exec: false,
            row_count: 0,
            settings: Settings::US_ENGLISH,
        }
    }
}

/// Results of the statement before: @@ROWCOUNT and others.
#[derive(Debug, Clone, Default)]
pub struct Last {
    /// @@ROWCOUNT, in the range of ROWCOUNT_BIG().
    pub rows: u64,
    /// @@ERROR.
    pub error: u32,
    /// @@IDENTITY.
    pub identity: Option<i64>,
    /// SCOPE_IDENTITY().
    pub scope_identity: Option<i64>,
}

/// The error that a CATCH block handles.
#[derive(Debug, Clone)]
pub struct Caught {
    /// What ERROR_NUMBER() and the other error functions return.
    pub message: Message,
    /// The procedure that raised it; `None` for a batch.
    pub procedure: Option<String>,
}

/// The state of a connection that statements use.
#[derive(Debug)]
pub struct Context {
    /// The server.
    pub server: Arc<ServerState>,
    /// System views and metadata functions.
    pub system_objects: &'static dyn SystemObjects,
    /// The engine sessions of the connection.
    pub sessions: Sessions,
    /// Variables of the batch or procedure.
    pub scope: Scope,
    /// Values of outer rows for the subqueries that refer to them.
    pub frame: Vec<Value>,
    /// The current rows of recursive common table expressions, by slot.
    pub work: Vec<Vec<Value>>,
    /// Results of uncorrelated subqueries in this statement.
    pub subqueries: SubqueryResults,
    /// SET options.
    pub set: SetOptions,
    /// Results of the previous statement.
    pub last: Last,
    /// Errors of the CATCH blocks that are running, innermost last.
    pub caught: Vec<Caught>,
    /// The procedures and texts that are running, innermost last; a text has no name.
    pub procedures: Vec<String>,
    /// The number of the running procedure; 0 for a text.
    pub module: i32,
    /// The schema of the running procedure; `None` for a batch and a text.
    pub module_schema: Option<String>,
    /// The line of the running statement.
    pub line: u32,
    /// Number of transactions that were open when a running INSERT ... EXEC began.
    pub capturing: Option<u32>,
    /// Temporary tables and table variables.
    pub temp: Temp,
    /// Cursors.
    pub cursors: Cursors,
    /// When the statement began: the current time for the whole statement.
    pub began: StatementTime,
    pub(crate) rand: RandState,
    /// Texts that were parsed earlier.
    pub texts: Texts,
    /// Accounting of the memory that statements use.
    pub memory: Arc<Memory>,
    /// Counters at the beginning of the batch.
    pub meter: Meter,
    /// Whether an aggregate of the statement has ignored a NULL; the client gets a message at its end.
    pub null_eliminated: bool,
    /// Messages about expressions of the statement that returned NULL; the client gets them at its end.
    pub(crate) made_null: Vec<u32>,
    /// Processor time at the end of the last statement that was measured.
    pub clock: Clock,
    /// Access paths that the statement has counted, by their position in the plan.
    pub counted: Vec<usize>,
    /// Of a thread of a parallel scan: the scan that it does parts of.
    pub division: Option<Arc<Division>>,
}

impl Context {
    /// The context of a new connection.
    pub fn new(
        server: &Arc<ServerState>,
        sessions: Sessions,
        system_objects: &'static dyn SystemObjects,
    ) -> Context {
        let seed = random::random_seed().to_le_bytes();
        let [a, b, c, d, ..] = seed;
        let meter = Meter::idle();
        Context {
            server: Arc::clone(server),
            system_objects,
            sessions,
            scope: Scope::default(),
            frame: Vec::new(),
            work: Vec::new(),
            subqueries: SubqueryResults::default(),
            set: SetOptions::default(),
            last: Last::default(),
            caught: Vec::new(),
            procedures: Vec::new(),
            module: 0,
            module_schema: None,
            line: 0,
            capturing: None,
            temp: Temp::default(),
            cursors: Cursors::default(),
            began: StatementTime::of(meter.began()),
            rand: RandState::seeded(i32::from_le_bytes([a, b, c, d])),
            texts: Texts::default(),
            memory: Arc::default(),
            meter,
            null_eliminated: false,
            made_null: Vec::new(),
            clock: None,
            counted: Vec::new(),
            division: None,
        }
    }

    /// The context of a thread that does parts of a scan of this table for the statement: it sees the same
    /// variables, settings, time and values of outer rows, and counts memory as the connection's.
    pub fn helper(
        &mut self,
        table: (DatabaseId, &Table),
        number: u16,
        (division, waiter): (&Arc<Division>, Arc<dyn LockWaiter>),
    ) -> Result<Context> {
        let sessions = self.sessions.helper(table, number, waiter)?;
        let mut helper = Context::new(&self.server, sessions, self.system_objects);
        helper.scope = self.scope.clone();
        helper.frame = self.frame.clone();
        helper.set = self.set.clone();
        helper.last = self.last.clone();
        helper.line = self.line;
        helper.began = self.began;
        helper.memory = Arc::clone(&self.memory);
        helper.division = Some(Arc::clone(division));
        Ok(helper)
    }

    /// Whether variables or values of outer rows are long, so that a copy for each helper would cost much.
    pub fn has_long_values(&self) -> bool {
        self.scope.has_long_values() || self.frame.iter().any(is_long)
    }

    /// Takes over what a helper has noted for the end of the statement.
    pub fn take_notes(&mut self, null_eliminated: bool, made_null: &[u32]) {
        self.null_eliminated |= null_eliminated;
        for number in made_null {
            if !self.made_null.contains(number) {
                self.made_null.push(*number);
            }
        }
    }

    /// The numbers of the messages about expressions that returned NULL.
    pub fn notes(&self) -> (bool, &[u32]) {
        (self.null_eliminated, &self.made_null)
    }

    /// Begins a statement: fixes the time for GETDATE(), and discards the results of subqueries.
    pub fn tick(&mut self) {
        self.subqueries.clear();
        self.null_eliminated = false;
        self.made_null.clear();
        self.counted.clear();
        self.began.begin(self.meter.began());
    }

    /// Calls a function that needs the clock and random numbers.
    pub fn with_env<T>(&mut self, call: impl FnOnce(&mut Env<'_>) -> T) -> T {
        let mut random = random::guid_v4;
        let mut env = Env {
            settings: self.set.settings,
            now: self.began.shown(),
            random: &mut random,
            rand: self.rand,
        };
        let result = call(&mut env);
        self.rand = env.rand;
        result
    }

    /// Changes the current database. Cached plans hold tables of the old database, and are discarded.
    pub fn change_database(&mut self, name: &str) -> Result<()> {
        let before = self.sessions.database().id();
        let changed = self.sessions.change_database(name);
        if self.sessions.database().id() != before {
            self.texts.forget_plans();
        }
        changed
    }

    /// Publishes the progress of the batch for other threads.
    pub fn note(&self) {
        let left = (self.last.rows, self.last.error, self.sessions.count());
        self.sessions.activity().note(&self.meter, left);
    }

    /// Publishes the session's settings for other threads.
    pub fn report_settings(&self) {
        self.sessions.activity().now_set(SessionSettings {
            isolation: self.sessions.isolation(),
            lock_timeout: self.sessions.lock_timeout(),
            deadlock_priority: self.sessions.deadlock_priority(),
            scalar: self.set.settings,
        });
    }

    /// Counts that the statement uses an index of a database.
    pub fn count_use(&self, db: DatabaseId, index: IndexName, what: Use) {
        let (usage, began) = (self.server.usage(), self.began.wall());
        // A table variable has no seat in its database, and gets none for this.
        match self.sessions.seated(db) {
            Some(database) => usage.count(database, index, what, began),
            None => {
                if let Some(database) = self.server.instance().database_by_id(db) {
                    usage.count(&database, index, what, began);
                }
            }
        }
    }

    /// The key of a plan that is bound now, besides the names in it.
    pub fn plan_key(&self) -> PlanKey {
        PlanKey {
            database: self.sessions.database().id(),
            temp: self.temp.version(),
            depth: self.procedures.len(),
            scope: self.scope.shape(),
            settings: bound_under(self.settings()),
            row_count: self.set.row_count,
            snapshot: self.sessions.asks_snapshot(),
        }
    }

    /// The settings that expressions depend on.
    #[inline]
    pub fn settings(&self) -> Settings {
        self.set.settings
    }

    /// The value of an expression, or NULL if arithmetic fails and the session's settings allow that.
    #[inline]
    pub fn or_null(&mut self, result: std::result::Result<Value, Message>) -> Result<Value> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => self.made_null(error),
        }
    }

    #[cold]
    fn made_null(&mut self, error: Message) -> Result<Value> {
        let reported = instead_of(error.number).filter(|_| self.set.settings.fails_to_null());
        let Some(reported) = reported else {
            return Err(error.into());
        };
        if !self.made_null.contains(&reported) && !self.set.has(Switches::ARITHIGNORE) {
            self.made_null.push(reported);
        }
        Ok(Value::Null)
    }

    /// Sets the variable at a position.
    pub fn set_variable(&mut self, place: usize, value: Value) -> Result<()> {
        self.scope.set(place, value, &self.memory)
    }

    /// Fails if the batch was cancelled, if a helper has to end, or if the process has used up its memory.
    #[inline]
    pub fn check_cancel(&self) -> Result<()> {
        let is_over = (self.division.as_ref()).is_some_and(|division| division.has_ended());
        match is_over || self.sessions.activity().is_cancelled() {
            true => Err(SqlError::cancelled()),
            false => check_heap(),
        }
    }

    /// Runs `body` as one statement. Outside of a transaction it is committed if it succeeds and rolled back
    /// if it fails; in a transaction a failure undoes this statement only. Within a statement it is part of
    /// it.
    pub fn statement<T>(&mut self, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
        if self.sessions.in_statement() {
            return body(self);
        }
        self.sessions.begin_statement()?;
        match body(self) {
            Ok(value) => {
                self.frame.clear();
                self.sessions.finish_statement()?;
                Ok(value)
            }
            Err(error) => {
                self.frame.clear();
                self.sessions.undo_statement()?;
                Err(self.with_own_names(error))
            }
        }
    }
}

impl Retire for Context {
    /// Called for a killed connection: rolls back, releases everything, and removes the connection from the
    /// server.
    fn retire(&mut self) {
        let task = Arc::clone(self.sessions.task());
        let _entered = furrow_observe::task::enter(&task);
        self.end_temp();
        // A use of `master` blocks no other session. If it fails, the connection still leaves its database.
        let _ = self.change_database(MASTER);
        self.texts.forget_plans();
        self.server.delist(self.sessions.id());
    }
}
