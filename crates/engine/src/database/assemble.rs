//! A database put together from its parts, and taken apart again.

use super::{Database, DatabaseOptions, EngineError, FilePlan, StateCell, Updateability};
use crate::background::Keeper;
use crate::catalog::Catalog;
use crate::files::{FileBook, Guarded, Hooks};
use crate::instance::Shared;
use furrow_format::{DatabaseId, FileId};
use furrow_io::File;
use furrow_io::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use furrow_log::Log;
use furrow_pool::PoolFile;
use furrow_space::Space;
use furrow_txn::Store;
use std::sync::Arc;

/// What is known of a database outside of it: in the pool and among the file statistics, and its log's
/// writer. Dropped, all that is forgotten; pages that were not written are lost.
#[derive(Debug)]
pub(crate) struct Registration {
    shared: Arc<Shared>,
    id: DatabaseId,
    log: Arc<Log>,
    ended: AtomicBool,
}

impl Registration {
    pub(crate) fn new(shared: &Arc<Shared>, id: DatabaseId, log: &Arc<Log>) -> Registration {
        let (shared, log) = (Arc::clone(shared), Arc::clone(log));
        Registration {
            shared,
            id,
            log,
            ended: AtomicBool::new(false),
        }
    }

    /// Makes a data file known to the pool.
    pub(crate) fn add_file(&self, file: FileId, data: &Guarded) -> Result<(), EngineError> {
        let path = data.file.path().to_string_lossy().into_owned();
        let stats = self.shared.instruments.files.open(self.id.0, file.0, &path);
        stats.set_size_bytes(data.file.len_bytes()?);
        let pool_file = PoolFile {
            file: Arc::clone(&data.file),
            stats,
            double_write: data.double_write.clone(),
        };
        Ok(self.shared.pool.add_file(self.id, file, pool_file)?)
    }

    /// Makes a data file known to the pool that is read only.
    pub(crate) fn add_resting_file(
        &self,
        file: FileId,
        data: &Arc<dyn File>,
    ) -> Result<(), EngineError> {
        let path = data.path().to_string_lossy().into_owned();
        let stats = self.shared.instruments.files.open(self.id.0, file.0, &path);
        stats.set_size_bytes(data.len_bytes()?);
        let pool_file = PoolFile {
            file: Arc::clone(data),
            stats,
            double_write: None,
        };
        Ok(self.shared.pool.add_file(self.id, file, pool_file)?)
    }

    /// Makes the pool forget a data file.
    pub(crate) fn remove_file(&self, file: FileId) -> Result<(), EngineError> {
        self.shared.pool.remove_file(self.id, file)?;
        self.shared.instruments.files.close(self.id.0, file.0);
        Ok(())
    }

    /// Forgets the database; a second call does nothing.
    pub(crate) fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.log.shut_down();
        // Of a database that never got as far as the pool there is nothing to forget.
        let _ = self.shared.pool.drop_database(self.id);
        self.shared.instruments.files.close_database(self.id.0);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.end();
    }
}

/// The parts of a database.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) options: DatabaseOptions,
    pub(crate) store: Arc<Store>,
    pub(crate) space: Arc<Space>,
    pub(crate) catalog: Catalog,
    pub(crate) state: Arc<StateCell>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) book: FileBook,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) registration: Registration,
    pub(crate) access: Updateability,
    /// Of a temporary database: its files as they are to be made.
    pub(crate) layout: Option<Vec<FilePlan>>,
}

impl Database {
    /// Puts a database together; its threads are not started yet.
    pub(crate) fn assemble(parts: Parts) -> Result<Arc<Database>, EngineError> {
        let shared = Arc::clone(&parts.keeper.shared);
        let database = Arc::new(Database {
            id: parts.store.db(),
            name: parts.name,
            locks: shared.locks.clone(),
            instruments: Arc::clone(&shared.instruments),
            error_log: Arc::clone(&shared.error_log),
            shared,
            store: parts.store,
            space: parts.space,
            catalog: parts.catalog,
            options: RwLock::new(parts.options),
            state: parts.state,
            files: parts.book,
            keeper: parts.keeper,
            hooks: parts.hooks,
            registration: parts.registration,
            background: Mutex::new(None),
            access: parts.access,
            layout: parts.layout.map(Mutex::new),
            durability: super::options::Durability::new(parts.options.delayed_durability),
            users: AtomicU32::new(0),
            bulk_rows: AtomicU64::new(0),
            shrink_bytes: AtomicU64::new(0),
            told: Mutex::default(),
        });
        database.hooks.bind(&database);
        database.apply_options()?;
        Ok(database)
    }
}
