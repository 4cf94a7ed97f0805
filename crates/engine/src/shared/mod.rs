//! What the databases of an instance share.

mod holds;
mod list;
mod list_format;
mod listed;
mod moved;
mod reserved;

pub(crate) use holds::RestoreHold;
pub(crate) use list::{DatabaseList, in_transition};
pub(crate) use listed::{Absent, Link, Listed, Phase};
pub(crate) use moved::{Moved, SetAside};
pub(crate) use reserved::{Reserved, Reverting};

use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use furrow_io::time::WallTime;
use furrow_io::{Fill, Volume};
use furrow_log::LogConfig;
use furrow_observe::Instruments;
use furrow_observe::errorlog::ErrorLog;
use furrow_observe::task::{self, Task, TaskGuard};
use furrow_observe::traceflags::TraceFlag;
use furrow_pool::Pool;
use furrow_txn::lock::{LockConfig, LockManager};
use furrow_types::{Date, DateTime};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Sessions of users count from here; smaller numbers are the system's.
const FIRST_USER_SESSION: i32 = 51;
/// Session number of what the instance does by itself.
const SYSTEM_SESSION: i32 = 1;
/// How an instance is set up.
#[derive(Debug, Clone)]
pub struct InstanceConfig {
    /// Where the error log and the list of databases are; none for an instance that leaves no trace of
    /// itself.
    pub directory: Option<PathBuf>,
    /// Pages in the buffer pool. Their addresses are taken at start, their memory as pages are used first.
    pub pool_pages: usize,
    /// Whether the system is to give the pool's memory at start: a start that takes 0.1 to 2 ms a megabyte,
    /// and no pause at a page's first use.
    pub prefault_pool: bool,
    /// Threads that read ahead.
    pub readers: usize,
    /// Pages that each half of a double-write file may grow to. The file beside each data file begins small.
    pub double_write_pages: u32,
    /// How logs are made and run.
    pub log: LogConfig,
    /// 64 extents of a file in a turn (`-E`).
    pub many_extents_a_turn: bool,
    /// Trace flags that are on from the start (`-T`), those included that can be set at start only.
    pub trace_flags: Vec<TraceFlag>,
    /// The lock manager.
    pub locks: LockConfig,
    /// Seconds between two looks of the ghost cleanup.
    pub ghost_cleanup_s: u32,
    /// Whether databases of the list are opened at start.
    pub open_databases: bool,
    /// Whether there are threads besides the sessions': those of databases for checkpoints and ghosts, of the
    /// pool for reading ahead and writing back, of logs. Without them sessions do this work when it is
    /// needed, checkpoints are taken when the log needs space or a caller requests one, and a run on one
    /// thread is deterministic.
    pub background: bool,
}

impl Default for InstanceConfig {
    fn default() -> InstanceConfig {
        InstanceConfig {
            directory: None,
            pool_pages: 8192,
            prefault_pool: false,
            readers: 4,
            double_write_pages: 1024,
            log: LogConfig::default(),
            many_extents_a_turn: false,
            trace_flags: Vec::new(),
            locks: LockConfig::default(),
            ghost_cleanup_s: 5,
            open_databases: true,
            background: true,
        }
    }
}

/// What the databases of an instance share.
pub(crate) struct Shared {
    pub(crate) volume: Arc<dyn Volume>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) locks: LockManager,
    pub(crate) instruments: Arc<Instruments>,
    pub(crate) error_log: Arc<ErrorLog>,
    pub(crate) config: InstanceConfig,
    /// Locked while databases come and go: one such change at a time. Locked after no other lock of a
    /// database.
    pub(crate) list: Mutex<DatabaseList>,
    /// On whose account work goes that is done by a thread without a task of its own.
    system: Arc<Task>,
    next_session: AtomicI32,
    /// Minutes that a database may take to be recovered which names no time of its own; 0 for the engine's.
    recovery_interval_min: AtomicU32,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The parts that the start of an instance provides.
pub(crate) struct SharedParts {
    pub(crate) volume: Arc<dyn Volume>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) locks: LockManager,
    pub(crate) instruments: Arc<Instruments>,
    pub(crate) error_log: Arc<ErrorLog>,
    pub(crate) config: InstanceConfig,
    pub(crate) list: DatabaseList,
}

impl Shared {
    pub(crate) fn new(parts: SharedParts) -> Shared {
        Shared {
            system: Task::new(&parts.instruments, SYSTEM_SESSION, "engine"),
            volume: parts.volume,
            pool: parts.pool,
            locks: parts.locks,
            instruments: parts.instruments,
            error_log: parts.error_log,
            config: parts.config,
            list: Mutex::new(parts.list),
            next_session: AtomicI32::new(FIRST_USER_SESSION),
            recovery_interval_min: AtomicU32::new(0),
        }
    }

    /// The same on another volume, without threads of its own: for a database that no session enters.
    pub(crate) fn on(&self, volume: Arc<dyn Volume>) -> Arc<Shared> {
        let mut config = self.config.clone();
        config.background = false;
        config.log.background = false;
        Arc::new(Shared {
            volume,
            pool: Arc::clone(&self.pool),
            locks: LockManager::new(config.locks, |_| {}),
            instruments: Arc::clone(&self.instruments),
            error_log: Arc::clone(&self.error_log),
            config,
            list: Mutex::new(DatabaseList::unkept()),
            system: Arc::clone(&self.system),
            next_session: AtomicI32::new(FIRST_USER_SESSION),
            recovery_interval_min: AtomicU32::new(0),
        })
    }

    /// Changes the minutes that recovery of a database may take which names no time of its own.
    pub(crate) fn set_recovery_interval_min(&self, minutes: u32) {
        self.recovery_interval_min.store(minutes, Ordering::Relaxed);
    }

    /// Makes the instance's own task current where the thread has none, so that waits and trace flags are the
    /// instance's.
    #[must_use]
    pub(crate) fn enter(&self) -> Option<TaskGuard> {
        let nameless = task::current().session_id() == 0;
        nameless.then(|| task::enter(&self.system))
    }

    /// How new bytes of data files come to be: allocated, or zeroed under trace flag 1806.
    pub(crate) fn file_fill(&self) -> Fill {
        let flags = &self.instruments.trace_flags;
        match flags.is_on_globally(TraceFlag::ZERO_DATA_FILES) {
            true => Fill::Zero,
            false => Fill::Allocate,
        }
    }

    /// Minutes that recovery of a database may take which names no time of its own; 0 for the engine's.
    pub(crate) fn recovery_interval_min(&self) -> u32 {
        self.recovery_interval_min.load(Ordering::Relaxed)
    }

    /// A session number for a user.
    pub(crate) fn next_session_id(&self) -> i32 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }
}

/// The present time as the catalog keeps it.
pub(crate) fn now() -> DateTime {
    let at = WallTime::now().civil();
    let date = u32::try_from(at.year)
        .ok()
        .and_then(|y| Date::from_ymd(y, at.month, at.day));
    let seconds = u64::from(at.hour * 3600 + at.minute * 60 + at.second);
    let ticks = seconds * 300 + u64::from(at.microsecond) * 300 / 1_000_000;
    let time = date.and_then(|date| DateTime::new(date.days_since_1900(), ticks as u32));
    time.unwrap_or(DateTime::EPOCH)
}
