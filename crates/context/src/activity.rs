//! What each connection is doing, for other threads: views, KILL, cancellation.
//!
//! The connection records the text when a batch begins, the kind and cost of each statement, and its settings
//! when they change. Fields that change with each statement are atomic. The others are behind a lock that a
//! thread holds for the access only.

use crate::clock::{CpuMark, CpuSpan, Reading, SHORT_NS};
use furrow_engine::{Canceller, Isolation, Timeout};
use furrow_io::random;
use furrow_io::time::{Moment, WallTime};
use furrow_observe::task::{PageWork, Task, page_work};
use furrow_scalar::Settings;
use furrow_types::Guid;
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};

/// The state of a connection that can be released when the connection has been killed.
pub trait Retire: fmt::Debug {
    /// Rolls back the connection's open transaction, and releases its locks and other resources.
    fn retire(&mut self);
}

/// What a connection is doing.
#[derive(Debug)]
pub struct Activity {
    id: i32,
    login_time: WallTime,
    connection: Guid,
    task: Arc<Task>,
    /// Whether KILL has ended the connection.
    killed: AtomicBool,
    /// Whether its transaction has been rolled back and its resources have been released.
    retired: AtomicBool,
    rolling_back: AtomicBool,
    /// Position of the statement's kind in [`COMMANDS`].
    command: AtomicU8,
    nest_level: AtomicU32,
    /// Threads of the statement's last parallel scan.
    helpers: AtomicU32,
    open_transactions: AtomicU32,
    /// When the open transaction began, in microseconds since 1970.
    transaction_us: AtomicI64,
    rows: AtomicU64,
    error: AtomicU32,
    spent: Spent,
    /// The connection itself, once there is one.
    context: OnceLock<Weak<Mutex<dyn Retire + Send>>>,
    state: Mutex<State>,
}

/// The cost of the session so far.
#[derive(Debug, Default)]
struct Spent {
    cpu_us: AtomicU64,
    logical_reads: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
}

#[derive(Debug)]
struct State {
    running: bool,
    database: String,
    text: String,
    last_start: WallTime,
    last_end: WallTime,
    settings: SessionSettings,
    /// The cost of the session when the batch began.
    before: SessionCost,
    /// One for each engine session of the connection.
    cancellers: Vec<Canceller>,
}

/// The cost of a session or of one of its batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCost {
    /// Processor time, added when a batch ends.
    pub cpu_us: u64,
    /// Pages, added at each statement.
    pub pages: PageWork,
}

/// The settings of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// SET TRANSACTION ISOLATION LEVEL.
    pub isolation: Isolation,
    /// SET LOCK_TIMEOUT.
    pub lock_timeout: Timeout,
    /// SET DEADLOCK_PRIORITY.
    pub deadlock_priority: i32,
    /// SET DATEFIRST, DATEFORMAT, ANSI_WARNINGS and the like.
    pub scalar: Settings,
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        SessionSettings {
            isolation: Isolation::ReadCommitted,
            lock_timeout: Timeout::Forever,
            deadlock_priority: 0,
            scalar: Settings::US_ENGLISH,
        }
    }
}

/// A connection as a view shows it.
#[derive(Debug, Clone)]
pub struct ActivityView {
    /// Its number: `session_id`.
    pub id: i32,
    /// Identifies the connection among all connections.
    pub connection: Guid,
    /// When the connection was made.
    pub login_time: WallTime,
    /// Whether a batch is under way.
    pub running: bool,
    /// Whether KILL has ended it and its transaction is being rolled back.
    pub rolling_back: bool,
    /// The database that it works in.
    pub database: String,
    /// The batch under way, or the last one.
    pub text: String,
    /// The kind of statement under way, or of the last one.
    pub command: &'static str,
    /// Nesting level of procedures and texts that are running.
    pub nest_level: u32,
    /// Threads of the last parallel scan of the statement; 0 without one.
    pub helpers: u32,
    /// Transactions that are open: @@TRANCOUNT.
    pub open_transactions: u32,
    /// When the open transaction began; without one, when the last batch began.
    pub transaction_since: WallTime,
    /// Rows that the last statement gave or changed: @@ROWCOUNT.
    pub row_count: u64,
    /// The error of the last statement: @@ERROR.
    pub last_error: u32,
    /// When the last batch began.
    pub last_start: WallTime,
    /// When the last batch ended.
    pub last_end: WallTime,
    /// Its settings.
    pub settings: SessionSettings,
    /// The cost of all its batches.
    pub session: SessionCost,
    /// The cost of the batch under way, or of the last one.
    pub request: SessionCost,
    /// Its task, with its waits.
    pub task: Arc<Task>,
}

/// Defines the kinds of statements with their names.
macro_rules! commands {
    ($( $kind:ident $name:literal ; )+) => {
        /// A kind of statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum CommandKind { $( #[doc = $name] $kind, )+ }

        /// Their names in `sys.dm_exec_requests.command`, in the order of the kinds.
        const COMMANDS: &[&str] = &[ $( $name, )+ ];
    };
}

commands! {
    Other "UNKNOWN TOKEN";
    Select "SELECT";
    SelectInto "SELECT INTO";
    Insert "INSERT";
    Update "UPDATE";
    Delete "DELETE";
    Merge "MERGE";
    Set "SET";
    Print "PRINT";
    Use "USE DATABASE";
    Begin "BEGIN TRANSACTION";
    Commit "COMMIT TRANSACTION";
    Rollback "ROLLBACK TRANSACTION";
    Save "SAVE TRANSACTION";
    Dbcc "DBCC";
    Checkpoint "CHECKPOINT";
    Waitfor "WAITFOR";
    Kill "KILL";
    CreateTable "CREATE TABLE";
    AlterTable "ALTER TABLE";
    TruncateTable "TRUNCATE TABLE";
    CreateIndex "CREATE INDEX";
    AlterIndex "ALTER INDEX";
    DropIndex "DROP INDEX";
    CreateProcedure "CREATE PROCEDURE";
    CreateView "CREATE VIEW";
    CreateSchema "CREATE SCHEMA";
    CreateDatabase "CREATE DATABASE";
    AlterDatabase "ALTER DATABASE";
    Drop "DROP OBJECT";
    Reconfigure "RECONFIGURE";
    BackupDatabase "BACKUP DATABASE";
    BackupLog "BACKUP LOG";
    RestoreDatabase "RESTORE DATABASE";
    RestoreLog "RESTORE LOG";
    RestoreHeader "RESTORE HEADERONLY";
    RestoreVerify "RESTORE VERIFYONLY";
}

/// The counters of the thread and the session when a batch began.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    thread: PageWork,
    session: PageWork,
    cpu: CpuMark,
    span: CpuSpan,
    began: Reading,
}

impl Meter {
    /// Before the first batch.
    pub(crate) fn idle() -> Meter {
        Meter {
            thread: PageWork::default(),
            session: PageWork::default(),
            cpu: CpuMark::default(),
            span: CpuSpan::default(),
            began: Reading::now(),
        }
    }

    /// When the batch began.
    pub fn began_at(&self) -> Moment {
        self.began.at
    }

    /// The processor time of the thread when the batch began.
    pub fn cpu(&self) -> CpuMark {
        self.cpu
    }

    /// When the batch began.
    pub(crate) fn began(&self) -> Reading {
        self.began
    }

    /// The processor time of the batch so far.
    fn spent_us(&self, now: Moment) -> u64 {
        let elapsed_ns = now.since_ns(self.began.at);
        let spent_ns = match elapsed_ns < SHORT_NS {
            true => self.span.busy_ns(now),
            false => self.span.spent_ns(self.cpu, CpuMark::at(now).ns, now),
        };
        spent_ns / 1000
    }
}

impl Activity {
    /// A session of this number, idle.
    pub fn new(id: i32, database: &str, task: &Arc<Task>) -> Activity {
        let now = WallTime::now();
        Activity {
            id,
            login_time: now,
            connection: Guid(random::guid_v4()),
            task: Arc::clone(task),
            killed: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            rolling_back: AtomicBool::new(false),
            command: AtomicU8::new(0),
            nest_level: AtomicU32::new(0),
            helpers: AtomicU32::new(0),
            open_transactions: AtomicU32::new(0),
            transaction_us: AtomicI64::new(now.unix_us()),
            rows: AtomicU64::new(0),
            error: AtomicU32::new(0),
            spent: Spent::default(),
            context: OnceLock::new(),
            state: Mutex::new(State {
                running: false,
                database: database.to_owned(),
                text: String::new(),
                last_start: now,
                last_end: now,
                settings: SessionSettings::default(),
                before: SessionCost::default(),
                cancellers: Vec::new(),
            }),
        }
    }

    /// Sets the connection that this describes.
    pub fn belongs_to(&self, context: Weak<Mutex<dyn Retire + Send>>) {
        let _ = self.context.set(context);
    }

    fn cost(&self) -> SessionCost {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SessionCost {
            cpu_us: load(&self.spent.cpu_us),
            pages: PageWork {
                logical_reads: load(&self.spent.logical_reads),
                reads: load(&self.spent.reads),
                writes: load(&self.spent.writes),
            },
        }
    }

    /// What it is doing now.
    pub fn view(&self) -> ActivityView {
        let state = self.state.lock();
        let session = self.cost();
        let open = self.open_transactions.load(Ordering::Relaxed);
        let command = COMMANDS.get(usize::from(self.command.load(Ordering::Relaxed)));
        ActivityView {
            id: self.id,
            connection: self.connection,
            login_time: self.login_time,
            running: state.running,
            rolling_back: self.rolling_back.load(Ordering::Relaxed),
            database: state.database.clone(),
            text: state.text.clone(),
            command: command.copied().unwrap_or(""),
            nest_level: self.nest_level.load(Ordering::Relaxed),
            helpers: self.helpers(),
            open_transactions: open,
            transaction_since: match open {
                0 => state.last_start,
                _ => WallTime::from_unix_us(self.transaction_us.load(Ordering::Relaxed)),
            },
            row_count: self.rows.load(Ordering::Relaxed),
            last_error: self.error.load(Ordering::Relaxed),
            last_start: state.last_start,
            last_end: state.last_end,
            settings: state.settings,
            session,
            request: SessionCost {
                cpu_us: session.cpu_us.saturating_sub(state.before.cpu_us),
                pages: session.pages.since(state.before.pages),
            },
            task: Arc::clone(&self.task),
        }
    }

    /// Sets the engine sessions and the current database.
    pub(crate) fn now_in(&self, database: &str, cancellers: Vec<Canceller>) {
        let mut state = self.state.lock();
        if state.database != database {
            database.clone_into(&mut state.database);
        }
        state.cancellers = cancellers;
    }

    /// Records the settings.
    pub(crate) fn now_set(&self, settings: SessionSettings) {
        self.state.lock().settings = settings;
    }

    /// A batch begins; `rearm` resets the cancellation of the connection's engine sessions.
    ///
    /// [`Activity::cancel`] marks the task and the sessions under the lock that this function holds: a
    /// cancellation ends either nothing of this batch, or all of it. A cancellation by KILL may be one of
    /// those that this function resets, so the caller looks at [`Activity::is_killed`] after it.
    pub fn begin(&self, text: &str, rearm: impl FnOnce()) -> Meter {
        let began = Reading::now();
        let mut state = self.state.lock();
        self.task.rearm();
        rearm();
        state.running = true;
        state.last_start = began.wall;
        state.text.clear();
        state.text.push_str(text);
        state.before = self.cost();
        Meter {
            thread: page_work(),
            session: state.before.pages,
            cpu: CpuMark::at(began.at),
            span: CpuSpan::begin(began.at),
            began,
        }
    }

    /// A transaction begins.
    pub(crate) fn transaction_begins(&self) {
        let now = WallTime::now().unix_us();
        self.transaction_us.store(now, Ordering::Relaxed);
    }

    /// A statement of the batch begins.
    pub fn statement(&self, command: CommandKind, nest_level: usize) {
        self.command.store(command as u8, Ordering::Relaxed);
        let nest_level = u32::try_from(nest_level).unwrap_or(u32::MAX);
        self.nest_level.store(nest_level, Ordering::Relaxed);
        self.helpers.store(0, Ordering::Relaxed);
    }

    /// The statement scans with so many threads.
    pub fn now_parallel(&self, helpers: usize) {
        let helpers = u32::try_from(helpers).unwrap_or(u32::MAX);
        self.helpers.store(helpers, Ordering::Relaxed);
    }

    /// Threads of the statement's last parallel scan; 0 without one.
    pub fn helpers(&self) -> u32 {
        self.helpers.load(Ordering::Relaxed)
    }

    /// Records the progress of the batch.
    pub fn note(&self, meter: &Meter, (rows, error, open): (u64, u32, u32)) {
        self.rows.store(rows, Ordering::Relaxed);
        self.error.store(error, Ordering::Relaxed);
        self.open_transactions.store(open, Ordering::Relaxed);
        let now = meter.session.and(page_work().since(meter.thread));
        let spent = &self.spent;
        spent
            .logical_reads
            .store(now.logical_reads, Ordering::Relaxed);
        spent.reads.store(now.reads, Ordering::Relaxed);
        spent.writes.store(now.writes, Ordering::Relaxed);
    }

    /// Records the processor time of the batch so far; only its own thread can measure it.
    pub fn note_cpu(&self, meter: &Meter) {
        let now = Moment::now();
        let cpu_us = self.state.lock().before.cpu_us + meter.spent_us(now);
        self.spent.cpu_us.store(cpu_us, Ordering::Relaxed);
    }

    /// The batch has ended.
    pub fn end(&self, meter: &Meter) {
        let now = Moment::now();
        let spent_us = meter.spent_us(now);
        let mut state = self.state.lock();
        let cpu_us = state.before.cpu_us + spent_us;
        self.spent.cpu_us.store(cpu_us, Ordering::Relaxed);
        state.running = false;
        state.last_end = meter.began.wall_at(now);
    }

    /// Whether the work under way has to end.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.task.is_cancelled()
    }

    /// Ends the batch under way at its next row or wait. It does not end the rollback of a killed connection.
    pub fn cancel(&self) {
        let state = self.state.lock();
        if !self.retired.load(Ordering::SeqCst) {
            self.task.cancel();
            state.cancellers.iter().for_each(Canceller::cancel);
        }
    }

    /// KILL: a batch under way ends at its next row or wait, and the connection rolls back. If no batch is
    /// running, the calling thread rolls back.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        // An idle connection is not cancelled: the cancellation would end its rollback.
        self.retire();
        if !self.retired.load(Ordering::SeqCst) {
            self.cancel();
            self.retire();
        }
    }

    /// Releases everything that a killed connection has, unless one of its batches is still running. Either
    /// the killing thread does it, or the connection when its batch ends, whichever comes last.
    pub fn retire(&self) {
        // Either the lock is free here, or the thread that holds it sees the mark after it has released the
        // lock.
        fence(Ordering::SeqCst);
        let context = self.context.get().and_then(Weak::upgrade);
        let Some(mut context) = context.as_ref().and_then(|c| c.try_lock()) else {
            return;
        };
        let state = self.state.lock();
        if self.retired.swap(true, Ordering::SeqCst) {
            return;
        }
        self.task.rearm();
        // No cancellation marks the task from now on.
        drop(state);
        self.rolling_back.store(true, Ordering::Relaxed);
        context.retire();
        self.rolling_back.store(false, Ordering::Relaxed);
        self.open_transactions.store(0, Ordering::Relaxed);
    }

    /// Whether KILL has ended the connection.
    pub fn is_killed(&self) -> bool {
        fence(Ordering::SeqCst);
        self.killed.load(Ordering::Relaxed)
    }
}
