//! A database put together from its parts, and taken apart again.

use super::Database;
use super::hooks::Hooks;
use super::snapshots::{Kept, SnapshotOf};
use crate::files::{FileBook, FilePlan, Guarded};
use crate::keeper::Keeper;
use crate::shared::Shared;
use furrow_format::{DatabaseId, FileId};
use furrow_io::File;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_log::Log;
use furrow_pool::PoolFile;
use furrow_space::Space;
use furrow_tables::{Catalog, CoreParts, DatabaseCore};
use furrow_tables::{DatabaseOptions, EngineError, StateCell, Updateability};
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
    /// Of a snapshot: what it is of.
    pub(crate) snapshot: Option<SnapshotOf>,
}

impl Database {
    /// Puts a database together; its threads are not started yet.
    pub(crate) fn assemble(parts: Parts) -> Result<Arc<Database>, EngineError> {
        let shared = Arc::clone(&parts.keeper.shared);
        let core = DatabaseCore::new(CoreParts {
            name: parts.name,
            options: parts.options,
            store: parts.store,
            space: parts.space,
            catalog: parts.catalog,
            state: parts.state,
            access: parts.access,
            locks: shared.locks.clone(),
            instruments: Arc::clone(&shared.instruments),
            error_log: Arc::clone(&shared.error_log),
            backed_up: parts.book.backup_flag(),
        });
        let database = Arc::new(Database {
            core,
            shared,
            files: parts.book,
            keeper: parts.keeper,
            hooks: parts.hooks,
            registration: parts.registration,
            background: Mutex::new(None),
            layout: parts.layout.map(Mutex::new),
            shrink_bytes: AtomicU64::new(0),
            snapshot: parts.snapshot,
            kept: Kept::default(),
            messages: Mutex::default(),
            stage: Mutex::default(),
            standby: AtomicBool::new(false),
        });
        database.hooks.bind(&database);
        database.apply_options()?;
        Ok(database)
    }
}
