//! The instance: what all databases of a process share, and the list of them.
//!
//! An instance without a directory lives in the process alone: its error log is in memory and its list is
//! kept nowhere, which is what a library and most tests want. With a directory it has an error log file and a
//! list that survives; the directory's list file is locked, so that one process owns it.

mod deadlocks;
mod lifecycle;
mod list;
mod look;
mod physical;
mod rename;
mod start_options;
mod temporary;
mod views;

pub use lifecycle::AttachOptions;
pub use physical::{Closely, Content, LevelStats};
pub use views::{DatabaseView, DatabaseWork, FileView, FilegroupView, LogView, VlfView};

pub(crate) use list::{DatabaseList, Listed, Phase};

use crate::EngineError;
use crate::database::{Database, DatabaseState};
use furrow_format::DatabaseId;
use furrow_io::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use furrow_io::{Fill, MemoryVolume, Volume};
use furrow_log::LogConfig;
use furrow_observe::Instruments;
use furrow_observe::errorlog::{self, ErrorLog, Source};
use furrow_observe::task::{self, Task, TaskGuard};
use furrow_observe::traceflags::TraceFlag;
use furrow_pool::{Pool, PoolConfig};
use furrow_txn::lock::{LockConfig, LockManager};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Sessions of users count from here; smaller numbers are the system's.
const FIRST_USER_SESSION: i32 = 51;
/// Session number of what the instance does by itself.
const SYSTEM_SESSION: i32 = 1;
/// Session number of the error log's writer.
const ERROR_LOG_SESSION: i32 = 3;

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
    /// Whether there are threads behind the sessions': those of databases for checkpoints and ghosts, of the
    /// pool for reading ahead and writing back, of logs. Without them sessions do what is needed when it is
    /// needed, checkpoints are taken when the log needs room or somebody asks, and a run on one thread is the
    /// same every time.
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

impl Shared {
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

/// A database as the instance knows it.
#[derive(Debug)]
struct Entry {
    id: DatabaseId,
    name: String,
    primary: PathBuf,
    database: Option<Arc<Database>>,
    /// Of a database that is not open.
    state: DatabaseState,
}

/// An instance of the engine.
pub struct Instance {
    shared: Arc<Shared>,
    /// By name in lower case.
    databases: RwLock<BTreeMap<String, Entry>>,
    /// Brings the error log to its file; ends, and writes what is left, with the instance.
    _log_writer: Option<errorlog::Writer>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.databases().into_iter().map(|d| d.name).collect();
        f.debug_struct("Instance")
            .field("databases", &names)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// Starts an instance: opens the error log and the list, clears away what interrupted creations left, and
    /// opens the databases. One that cannot be opened is listed as suspect or pending, with its messages in
    /// the error log.
    pub fn start(
        volume: Arc<dyn Volume>,
        mut config: InstanceConfig,
    ) -> Result<Arc<Instance>, EngineError> {
        let instruments = Instruments::new();
        let options = errorlog::Options::default();
        let (error_log, list) = match &config.directory {
            Some(dir) => {
                let list = DatabaseList::open(&*volume, dir)?;
                list.refuse_copy(&*volume, dir)?;
                (ErrorLog::open(Arc::clone(&volume), dir, options)?, list)
            }
            None => (ErrorLog::in_memory(options), DatabaseList::unkept()),
        };
        let error_log = Arc::new(error_log);
        let writer = config.directory.as_ref().map(|_| {
            errorlog::Writer::start(&error_log, &instruments, ERROR_LOG_SESSION)
                .map_err(EngineError::Thread)
        });
        start_options::set(&config, &instruments, &error_log);
        let lock_memory = instruments
            .trace_flags
            .is_on_globally(TraceFlag::LOCK_PAGES_STANDARD);
        let pool = Pool::new(PoolConfig {
            lock_memory,
            pages: config.pool_pages,
            prefault: config.prefault_pool,
            readers: config.readers,
            background: config.background,
            double_write_pages: config.double_write_pages,
            batch_pages: (config.double_write_pages - 1).clamp(1, 256),
            instruments: Arc::clone(&instruments),
            ..PoolConfig::default()
        })?;
        start_options::log_locked(pool.locked(), &error_log);
        let home = deadlocks::Home::default();
        let locks = deadlocks::lock_manager(config.locks, &instruments, &error_log, &home);
        let system = Task::new(&instruments, SYSTEM_SESSION, "engine");
        config.log.background &= config.background;
        let shared = Arc::new(Shared {
            system,
            volume,
            pool,
            locks,
            instruments,
            error_log,
            config,
            list: Mutex::new(list),
            next_session: AtomicI32::new(FIRST_USER_SESSION),
            recovery_interval_min: AtomicU32::new(0),
        });
        let instance = Arc::new(Instance {
            shared,
            databases: RwLock::default(),
            _log_writer: writer.transpose()?,
        });
        let _first = home.set(Arc::downgrade(&instance));
        let entered = instance.shared.enter();
        instance.start_databases()?;
        drop(entered);
        Ok(instance)
    }

    /// An instance in memory, with nothing on any disk.
    pub fn in_memory(config: InstanceConfig) -> Result<Arc<Instance>, EngineError> {
        Instance::start(Arc::new(MemoryVolume::new()), config)
    }

    /// An open database, by its name in any case of letters. 911 where there is none, 926 and the like where
    /// it is not usable.
    pub fn database(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let databases = self.databases.read();
        let missing = || EngineError::refused(911, &[name.into()]);
        let entry = databases.get(&name.to_lowercase()).ok_or_else(missing)?;
        match &entry.database {
            Some(database) => {
                database.check()?;
                Ok(Arc::clone(database))
            }
            None => match entry.state.refusal(&entry.name) {
                Some(message) => Err(EngineError::of(message)),
                None => Err(missing()),
            },
        }
    }

    /// An open database, by its number.
    pub fn database_by_id(&self, id: DatabaseId) -> Option<Arc<Database>> {
        let databases = self.databases.read();
        databases
            .values()
            .find(|e| e.id == id)
            .and_then(|e| e.database.clone())
    }

    /// The volume that paths are looked up on.
    pub fn volume(&self) -> &Arc<dyn Volume> {
        &self.shared.volume
    }

    /// Its instruments: waits, latches, spinlocks, file statistics, counters, trace flags, tasks.
    pub fn instruments(&self) -> &Arc<Instruments> {
        &self.shared.instruments
    }

    /// Its error log.
    pub fn error_log(&self) -> &Arc<ErrorLog> {
        &self.shared.error_log
    }

    /// Its lock manager.
    pub fn locks(&self) -> &LockManager {
        &self.shared.locks
    }

    /// Its buffer pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    /// How it was set up.
    pub fn config(&self) -> &InstanceConfig {
        &self.shared.config
    }

    /// A session number that no other session of this instance has.
    pub fn next_session_id(&self) -> i32 {
        self.shared.next_session_id()
    }

    fn log_line(&self, text: &str) {
        self.shared.error_log.write(Source::Server, text);
    }
}
