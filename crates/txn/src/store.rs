//! What all row operations of a database share: pool, log, active transactions.

use crate::TxnError;
use crate::active::ActiveTxns;
use crate::changed::ChangedExtents;
use crate::counts::Counts;
use crate::holds::LogHolds;
use crate::room::KeptRoom;
use furrow_format::{DatabaseId, Lsn, PageId};
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_log::{Log, LogError};
use furrow_pool::{
    Ex, LatchRank, LogFailure, PageKey, PageRead, PageUpdate, PageWrite, Pool, Sh, Up, WriteAhead,
    padding_share,
};
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock};

/// Bytes that undoing a record takes besides its undo part: headers, changes of maps and links, and the
/// padding of a block that ends early.
const UNDO_OVERHEAD_BYTES: u64 = 256;

/// Frees space in a full log: by a checkpoint, by growth. Called with no latch held.
pub trait LogRelief: Send + Sync + Debug {
    /// Returns when the caller should try again; an error (9002) when no space can be freed.
    fn relieve(&self, wanted_bytes: u64) -> Result<(), LogError>;
}

/// The log as the pool sees it.
#[derive(Debug)]
struct Ahead {
    log: Arc<Log>,
    redo_point: AtomicU64,
}

impl WriteAhead for Ahead {
    fn make_durable(&self, lsn: Lsn) -> Result<(), LogFailure> {
        self.log
            .flush_to(lsn)
            .map_err(|e| Arc::new(e) as LogFailure)
    }

    fn durable(&self) -> Lsn {
        match self.log.is_temporary() {
            true => Lsn::MAX,
            false => self.log.durable(),
        }
    }

    fn is_short(&self) -> bool {
        self.log.is_short()
    }

    fn tail(&self) -> Lsn {
        self.log.tail()
    }

    fn redo_point(&self) -> Lsn {
        Lsn(self.redo_point.load(Ordering::Acquire))
    }
}

/// Pool, log and active transactions of one database.
pub struct Store {
    db: DatabaseId,
    pool: Arc<Pool>,
    log: Arc<Log>,
    ahead: Arc<Ahead>,
    /// Transactions that have written to the log and have not ended.
    pub active: ActiveTxns,
    /// Committed rows of each rowset.
    pub counts: Counts,
    /// Extents changed since the database was opened.
    pub changed: ChangedExtents,
    /// What holds the log back besides recovery.
    pub holds: Arc<LogHolds>,
    /// The log space that flushes take when frames run short, as a share for each record of a rollback.
    padding_share: u64,
    relief: OnceLock<Arc<dyn LogRelief>>,
    poisoned: AtomicBool,
    poison: OnceLock<String>,
}

/// One line: the pool, the log and the transactions are not printed.
impl Debug for Store {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("db", &self.db.0)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Registers the database with the pool. `redo_point` is where redo would start now.
    pub fn new(
        db: DatabaseId,
        pool: Arc<Pool>,
        log: Arc<Log>,
        redo_point: Lsn,
        next_txn: u64,
    ) -> Result<Arc<Store>, TxnError> {
        let redo_point = AtomicU64::new(redo_point.0);
        let ahead = Arc::new(Ahead {
            log: Arc::clone(&log),
            redo_point,
        });
        pool.register_database(db, Arc::clone(&ahead) as Arc<dyn WriteAhead>)?;
        let padding_share = padding_share(log.sector_bytes(), pool.stats().frames);
        Ok(Arc::new(Store {
            db,
            pool,
            log,
            ahead,
            active: ActiveTxns::new(next_txn),
            counts: Counts::default(),
            changed: ChangedExtents::new(),
            holds: Arc::default(),
            padding_share,
            relief: OnceLock::new(),
            poisoned: AtomicBool::new(false),
            poison: OnceLock::new(),
        }))
    }

    /// The database.
    pub fn db(&self) -> DatabaseId {
        self.db
    }

    /// The buffer pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Space on pages that rollbacks may need back.
    #[inline]
    pub fn room(&self) -> &KeptRoom {
        &self.active.room
    }

    /// Where redo would start if the system stopped now.
    pub fn redo_point(&self) -> Lsn {
        self.ahead.redo_point()
    }

    /// Moves the redo point, once a checkpoint with it is durable.
    pub fn set_redo_point(&self, lsn: Lsn) {
        debug_assert!(
            lsn <= self.log.tail(),
            "redo starts at a record that is there"
        );
        self.ahead.redo_point.fetch_max(lsn.0, Ordering::AcqRel);
    }

    /// Sets what frees space in a full log; only the first call counts.
    pub fn set_relief(&self, relief: Arc<dyn LogRelief>) {
        let _ = self.relief.set(relief);
    }

    /// The pool's name for a page of this database.
    #[inline]
    pub fn key(&self, page: PageId) -> PageKey {
        PageKey { db: self.db, page }
    }

    /// Latches a page SH.
    #[inline]
    pub fn read(&self, page: PageId, rank: LatchRank) -> Result<PageRead<'_>, TxnError> {
        Ok(self.pool.fetch(self.key(page), Sh, rank)?)
    }

    /// Latches a page UP.
    #[inline]
    pub fn update(&self, page: PageId, rank: LatchRank) -> Result<PageUpdate<'_>, TxnError> {
        Ok(self.pool.fetch(self.key(page), Up, rank)?)
    }

    /// Latches a page EX.
    #[inline]
    pub fn write(&self, page: PageId, rank: LatchRank) -> Result<PageWrite<'_>, TxnError> {
        Ok(self.pool.fetch(self.key(page), Ex, rank)?)
    }

    /// A page about to be formatted, latched EX; nothing is read.
    pub fn create(&self, page: PageId, rank: LatchRank) -> Result<PageWrite<'_>, TxnError> {
        Ok(self.pool.create(self.key(page), rank)?)
    }

    /// Promises log space, and frees some if needed. Called with no latch held: it may wait for a checkpoint
    /// or a growth.
    pub fn promise(&self, bytes: u64) -> Result<(), TxnError> {
        self.pool.spill_snapshots(self.db);
        furrow_pool::assert_no_latches();
        loop {
            match self.log.promise(bytes) {
                Ok(()) => return self.check(),
                Err(LogError::Full(reason)) => match self.relief.get() {
                    Some(relief) => relief.relieve(bytes)?,
                    None => return Err(LogError::Full(reason).into()),
                },
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Log space for undoing a record whose undo part has this length.
    pub(crate) fn undo_bytes(&self, undo: usize) -> u64 {
        undo as u64 + UNDO_OVERHEAD_BYTES + self.padding_share
    }

    /// An error when the database takes no changes any more.
    #[inline]
    pub fn check(&self) -> Result<(), TxnError> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(TxnError::NoChanges(
                self.poison.get().cloned().unwrap_or_default(),
            ));
        }
        Ok(())
    }

    /// From now on the database takes no changes: memory and log may disagree until recovery.
    pub fn poison(&self, reason: String) {
        tracing::error!(
            database = self.db.0,
            reason,
            "the database takes no more changes"
        );
        let _ = self.poison.set(reason);
        self.poisoned.store(true, Ordering::Release);
        debug_assert!(
            self.check().is_err(),
            "a poisoned database takes no changes"
        );
    }
}
