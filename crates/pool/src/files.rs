//! The databases and files that the pool serves.

use crate::double_write::{DoubleWrite, Protected};
use crate::error::{LogFailure, PoolError};
use crate::fence::Fence;
use crate::key::PageKey;
use furrow_format::{DatabaseId, FileId, Lsn, PageVerify};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use furrow_io::{File, IoError};
use furrow_observe::files::{FileStats, IoKind};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// What the pool requires of a database's log.
pub trait WriteAhead: Send + Sync + Debug {
    /// Returns when every record up to and with `lsn` is durable; an `lsn` beyond the end (a page of a file
    /// that another log wrote) means all there is. Must not need the pool.
    fn make_durable(&self, lsn: Lsn) -> Result<(), LogFailure>;
    /// Every record below is durable.
    fn durable(&self) -> Lsn;
    /// Whether the log is so short of space that a flush which no thread waits for should be put off: each
    /// flush uses up the rest of a sector.
    fn is_short(&self) -> bool;
    /// A lower bound of every LSN that will be assigned from now on. Appending publishes with release order,
    /// so this is read with acquire order: a thread that sees a record counted also sees its page dirty.
    fn tail(&self) -> Lsn;
    /// Where redo would start if the system stopped now; grows only after a checkpoint is durable.
    fn redo_point(&self) -> Lsn;
}

/// A data file as the pool needs it.
#[derive(Debug, Clone)]
pub struct PoolFile {
    /// The file.
    pub file: Arc<dyn File>,
    /// Where its reads and writes are counted.
    pub stats: Arc<FileStats>,
    /// The file that protects its pages against torn writes; without it a torn page is found, not repaired.
    pub double_write: Option<Arc<dyn File>>,
}

/// A registered database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) id: DatabaseId,
    pub(crate) log: Arc<dyn WriteAhead>,
    /// Pages dirty now.
    pub(crate) dirty: AtomicI64,
    /// How its pages are protected when they are written: a [`PageVerify`].
    verify: AtomicU8,
}

impl Database {
    pub(crate) fn verify(&self) -> PageVerify {
        PageVerify::from_byte(self.verify.load(Ordering::Relaxed))
    }

    /// Whether a page last changed at `lsn` should stay in memory, because the log would have to be made
    /// durable for it and is short of space.
    pub(crate) fn holds_back(&self, lsn: Lsn) -> bool {
        lsn >= self.log.durable() && self.log.is_short()
    }

    pub(crate) fn set_verify(&self, how: PageVerify) {
        self.verify.store(how.to_byte(), Ordering::Relaxed);
    }
}

/// What was written to a file and is not yet known to be durable.
#[derive(Debug)]
struct Unsynced {
    /// Whether anything was written since the last sync began.
    written: bool,
    /// The smallest `rec_lsn` among it.
    oldest: Lsn,
    /// The same of what the sync under way covers.
    syncing: Lsn,
}

/// A file at work.
#[derive(Debug)]
pub(crate) struct FileState {
    pub(crate) db: Arc<Database>,
    pub(crate) id: FileId,
    pub(crate) file: Arc<dyn File>,
    pub(crate) stats: Arc<FileStats>,
    pub(crate) double_write: Option<DoubleWrite>,
    /// Keeps reads past the frames and writes of the same pages apart.
    pub(crate) fence: Fence,
    failed: AtomicBool,
    failure: Mutex<Option<PoolError>>,
    unsynced: Mutex<Unsynced>,
    sync_turn: Mutex<()>,
}

impl Protected for FileState {
    fn check(&self) -> Result<(), PoolError> {
        FileState::check(self)
    }

    fn sync(&self) -> Result<(), PoolError> {
        FileState::sync(self).map(drop)
    }

    fn has_unsynced(&self) -> bool {
        self.unsynced.lock().written
    }

    fn fail(&self, source: IoError) -> PoolError {
        FileState::fail(self, source)
    }
}

impl FileState {
    pub(crate) fn new(
        db: Arc<Database>,
        id: FileId,
        file: PoolFile,
        most_pages: u32,
    ) -> Result<FileState, PoolError> {
        let io = |source| PoolError::Io {
            db: db.id,
            file: id,
            source,
        };
        let double_write = match file.double_write {
            Some(area) => Some(DoubleWrite::open(area, id, most_pages).map_err(io)?),
            None => None,
        };
        // Writes of an earlier process may still be in the system's cache, which outlived it. Redo reads them
        // as if they were on the disk, so the first checkpoint must make them durable.
        let unsynced = Unsynced {
            written: true,
            oldest: Lsn::MAX,
            syncing: Lsn::MAX,
        };
        Ok(FileState {
            db,
            id,
            file: file.file,
            stats: file.stats,
            double_write,
            fence: Fence::default(),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            unsynced: Mutex::new(unsynced),
            sync_turn: Mutex::new(()),
        })
    }

    pub(crate) fn io_error(&self, source: IoError) -> PoolError {
        PoolError::Io {
            db: self.db.id,
            file: self.id,
            source,
        }
    }

    /// The first failed write or sync; nothing is written to the file after it.
    pub(crate) fn check(&self) -> Result<(), PoolError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    /// Stores the error for all later callers.
    pub(crate) fn fail(&self, source: IoError) -> PoolError {
        let error = self.io_error(source);
        tracing::error!(file = %self.file.path().display(), %error, "no more writes to this file");
        let first = self.failure.lock().get_or_insert_with(|| error).clone();
        self.failed.store(true, Ordering::Release);
        debug_assert!(self.check().is_err(), "nothing more is written to the file");
        first
    }

    /// Records a finished write. Redo would need its pages from `oldest` on if it were lost.
    pub(crate) fn note_written(&self, oldest: Lsn) {
        let mut unsynced = self.unsynced.lock();
        unsynced.written = true;
        unsynced.oldest = unsynced.oldest.min(oldest);
        debug_assert!(
            unsynced.oldest <= oldest,
            "a page that is not synced holds the redo point back"
        );
    }

    /// Makes what was written durable; `false` when there was nothing.
    pub(crate) fn sync(&self) -> Result<bool, PoolError> {
        let _turn = self.sync_turn.lock();
        self.check()?;
        {
            let mut unsynced = self.unsynced.lock();
            if !unsynced.written {
                return Ok(false);
            }
            unsynced.written = false;
            debug_assert!(
                unsynced.syncing == Lsn::MAX,
                "one sync at a time, and none after a failed one"
            );
            unsynced.syncing = unsynced.oldest;
            unsynced.oldest = Lsn::MAX;
        }
        let timer = self.stats.begin(IoKind::Sync, 0);
        match self.sync_file() {
            Ok(()) => {
                timer.finish(0);
                self.unsynced.lock().syncing = Lsn::MAX;
                Ok(true)
            }
            // `syncing` stays: the redo point must not pass what may be lost.
            Err(source) => Err(self.fail(source)),
        }
    }

    fn sync_file(&self) -> Result<(), IoError> {
        if mutated(Mutation::SkipDataSync) {
            return Ok(());
        }
        let synced = self.file.sync();
        if mutated(Mutation::IgnoreSyncFailure) {
            return Ok(());
        }
        synced
    }

    /// The LSN from which redo needs what was written but not synced.
    pub(crate) fn oldest_unsynced(&self) -> Lsn {
        let unsynced = self.unsynced.lock();
        unsynced.oldest.min(unsynced.syncing)
    }
}

/// All databases and files, found by their ids.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    databases: HashMap<DatabaseId, Arc<Database>>,
    files: HashMap<(DatabaseId, FileId), Arc<FileState>>,
}

impl Registry {
    pub(crate) fn add_database(
        &mut self,
        id: DatabaseId,
        log: Arc<dyn WriteAhead>,
    ) -> Result<(), PoolError> {
        if self.databases.contains_key(&id) {
            return Err(PoolError::AlreadyRegistered { db: id, file: None });
        }
        debug_assert!(
            !self.files.keys().any(|place| place.0 == id),
            "files go with their database"
        );
        let database = Database {
            id,
            log,
            dirty: AtomicI64::new(0),
            verify: AtomicU8::new(PageVerify::Checksum.to_byte()),
        };
        self.databases.insert(id, Arc::new(database));
        Ok(())
    }

    pub(crate) fn database(&self, id: DatabaseId) -> Result<Arc<Database>, PoolError> {
        self.databases
            .get(&id)
            .cloned()
            .ok_or(PoolError::UnknownDatabase { db: id })
    }

    pub(crate) fn add_file(&mut self, file: Arc<FileState>) -> Result<(), PoolError> {
        let place = (file.db.id, file.id);
        if self.files.contains_key(&place) {
            return Err(PoolError::AlreadyRegistered {
                db: place.0,
                file: Some(place.1),
            });
        }
        self.files.insert(place, file);
        Ok(())
    }

    pub(crate) fn file_of(&self, key: PageKey) -> Result<Arc<FileState>, PoolError> {
        let (db, file) = (key.db, key.page.file);
        self.files
            .get(&(db, file))
            .cloned()
            .ok_or(PoolError::UnknownFile { db, file })
    }

    pub(crate) fn databases(&self) -> Vec<Arc<Database>> {
        self.databases.values().cloned().collect()
    }

    pub(crate) fn files_of(&self, db: DatabaseId) -> Vec<Arc<FileState>> {
        let mut files: Vec<_> = self
            .files
            .values()
            .filter(|f| f.db.id == db)
            .cloned()
            .collect();
        files.sort_by_key(|f| f.id);
        debug_assert!(
            files.is_sorted_by(|a, b| a.id < b.id),
            "a file is registered once"
        );
        files
    }

    pub(crate) fn remove_file(&mut self, db: DatabaseId, file: FileId) -> Option<Arc<FileState>> {
        self.files.remove(&(db, file))
    }

    pub(crate) fn remove_database(&mut self, db: DatabaseId) -> Option<Arc<Database>> {
        self.files.retain(|place, _| place.0 != db);
        self.databases.remove(&db)
    }
}
