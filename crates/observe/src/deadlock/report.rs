//! A deadlock as it is reported.

use furrow_io::time::WallTime;

/// A deadlock: the processes of the cycle and the resources that they hold and wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockReport {
    /// [`Process::id`] of the victims.
    pub victims: Vec<u64>,
    /// The processes.
    pub processes: Vec<Process>,
    /// The resources that they hold and wait for.
    pub resources: Vec<DeadlockResource>,
}

/// A process of a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Distinguishes the processes of a report.
    pub id: u64,
    /// The session.
    pub spid: i32,
    /// Which thread of the session.
    pub ecid: u16,
    /// Its DEADLOCK_PRIORITY.
    pub priority: i32,
    /// Bytes of log its transaction wrote: what a rollback would cost.
    pub log_used_bytes: u64,
    /// What it waits for, as the lock manager names it: `RID: 6:1:20789:0`.
    pub wait_resource: String,
    /// For how long.
    pub wait_time_ms: u64,
    /// The mode that it requests: `U`.
    pub lock_mode: String,
    /// Its transaction.
    pub transaction_id: u64,
    /// That transaction's name: `user_transaction`, `INSERT`.
    pub transaction_name: String,
    /// When that began.
    pub transaction_started: WallTime,
    /// Transactions nested in the session.
    pub transaction_count: u32,
    /// When its batch began.
    pub batch_started: WallTime,
    /// When the batch before it ended.
    pub batch_completed: WallTime,
    /// The client's program.
    pub client_app: String,
    /// The client's machine.
    pub host_name: String,
    /// The client's process.
    pub host_pid: u32,
    /// The login.
    pub login_name: String,
    /// `read committed (2)`.
    pub isolation_level: String,
    /// Its current database.
    pub current_db: u16,
    /// LOCK_TIMEOUT; `None` waits for ever.
    pub lock_timeout_ms: Option<u32>,
    /// The kind of its statement: `UPDATE`.
    pub statement_type: String,
    /// What it executes, innermost first.
    pub stack: Vec<Frame>,
    /// The batch as it was sent.
    pub input_buffer: String,
}

/// A level of an execution stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The procedure, or `adhoc`.
    pub procedure: String,
    /// The line of the statement.
    pub line: u32,
    /// The byte of the batch at which the statement starts.
    pub statement_start: u32,
    /// The statement.
    pub statement: String,
}

/// What a deadlock is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockResource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its text in the form of a lock resource: `RID: 6:1:20789:0`.
    pub text: String,
    /// Its database.
    pub db: u16,
    /// The object: `Db.dbo.T2`; empty where there is none.
    pub object_name: String,
    /// A number for the lock.
    pub lock_id: u64,
    /// The strongest mode granted.
    pub mode: String,
    /// The heap or B-tree, or the object, that it belongs to.
    pub associated_object_id: u64,
    /// The processes that hold it.
    pub owners: Vec<Holder>,
    /// The processes that wait for it.
    pub waiters: Vec<Holder>,
}

/// What can be locked, with what names it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum ResourceKind {
    Rid { file: u16, page: u32 },
    Page { file: u16, page: u32 },
    Key { hobt_id: u64, index_name: String },
    Object { object_id: i32 },
    Database,
    Metadata,
    Application,
}

/// A process that holds a resource or waits for it, and the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// [`Process::id`].
    pub process: u64,
    /// The mode.
    pub mode: String,
    /// For a waiter: whether it holds the resource already and waits for a stronger mode.
    pub converts: bool,
}
