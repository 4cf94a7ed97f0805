//! The instance: what all databases of a process share, and the list of them.
//!
//! An instance without a directory lives in the process alone: its error log is in memory and its list is
//! kept nowhere, which is what a library and most tests want. With a directory it has an error log file and a
//! list that survives; the directory's list file is locked, so that one process owns it.

mod closed_log;
mod deadlocks;
mod differential;
mod emergency;
mod emergency_repair;
mod join;
mod kept_log;
mod lifecycle;
mod look;
mod physical;
mod piece;
mod places;
mod recover;
mod rename;
mod repair;
mod restore;
mod restore_files;
mod restore_space;
mod restored_files;
mod revert;
mod roll_forward;
mod snapshots;
mod standby;
mod start_options;
mod state;
mod temporary;
mod views;

use state::Entry;
pub use state::Instance;

pub use lifecycle::AttachOptions;
pub use places::StandbyPlan;
pub use repair::is_repair_written;
pub use snapshots::SnapshotSpec;

pub use physical::{Closely, Content, LevelStats};
pub use views::{
    DatabaseView, DatabaseWork, FileView, FileViewState, FilegroupView, LogView, VlfView,
};

pub use restore::{RestoreFile, RestoreSpec, RestoreTarget, Restoring};

use crate::database::Database;
use crate::shared::{DatabaseList, InstanceConfig, Shared, SharedParts};
use furrow_format::DatabaseId;
use furrow_io::sync::RwLock;
use furrow_io::{MemoryVolume, Volume};
use furrow_observe::Instruments;
use furrow_observe::errorlog::{self, ErrorLog, Source};
use furrow_observe::traceflags::TraceFlag;
use furrow_pool::{Pool, PoolConfig};
use furrow_tables::EngineError;
use furrow_txn::lock::LockManager;
use std::sync::Arc;

/// Session number of the error log's writer.
const ERROR_LOG_SESSION: i32 = 3;

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
        config.log.background &= config.background;
        let shared = Arc::new(Shared::new(SharedParts {
            volume,
            pool,
            locks,
            instruments,
            error_log,
            config,
            list,
        }));
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
