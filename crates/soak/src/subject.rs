//! The subject of the tests: a transactional store of rows, as the driver sees it.
//!
//! The driver does not depend on the engine. It opens a [`Store`] on a volume, lets [`Session`]s change rows,
//! takes the power away, opens it again and reads its contents. The engine implements these traits, and so
//! does a toy with planted bugs, which proves that the driver would notice them.

use crate::model::State;
use furrow_io::Volume;
use std::fmt;
use std::sync::Arc;

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Another session holds a lock: the statement did nothing, the transaction lives.
    Locked,
    /// The key, or another that must be unique, is taken: the statement did nothing, the transaction lives.
    Duplicate,
    /// There is no such row or table: nothing was done, the transaction lives.
    Missing,
    /// No space on the disk, in the files or in the log: the statement did nothing, the transaction lives.
    Full(String),
    /// The whole transaction was rolled back, as the victim of a deadlock.
    Victim,
    /// A device failed or the power went: nothing is sure until the store is opened again.
    Gone(String),
    /// What must never be: a damaged page, a wrong answer, an error without a reason.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Locked => f.write_str("locked"),
            Failure::Duplicate => f.write_str("duplicate"),
            Failure::Missing => f.write_str("missing"),
            Failure::Victim => f.write_str("victim of a deadlock"),
            Failure::Full(why) => write!(f, "full: {why}"),
            Failure::Gone(why) => write!(f, "gone: {why}"),
            Failure::Wrong(why) => write!(f, "WRONG: {why}"),
        }
    }
}

/// Whether full backups are taken of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullBackups {
    /// None: every page that holds something has changed.
    Never,
    /// Now and then.
    Sometimes,
}

/// How a store is laid out and run: drawn for every run, small on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Data files at the start, on two volumes in turn.
    pub files: u16,
    /// Pages in the pool.
    pub pool_pages: usize,
    /// Size of the log in KB.
    pub log_kb: u64,
    /// Whether the log may grow.
    pub log_grows: bool,
    /// Size of each data file in KB, besides the primary.
    pub file_kb: u64,
    /// Steps in which data files grow, in KB.
    pub growth_kb: u64,
    /// Whether all files grow together.
    pub grow_all: bool,
    /// Whether the first pages of tables and indexes come from mixed extents.
    pub mixed_pages: bool,
    /// Pages in each half of a double-write file.
    pub double_write_pages: u32,
    /// Whether a statement waits for a lock, or fails with [`Failure::Locked`] at once.
    pub waits_for_locks: bool,
    /// Whether full backups are taken of it.
    pub full_backups: FullBackups,
    /// Whether the store's own threads run: checkpoints, clean-ups. Without them a run is decided by its
    /// seed.
    pub background: bool,
}

/// Opens stores.
pub trait Subject: Send + Sync {
    /// What it opens.
    type Store: Store;

    /// A new store without tables.
    fn create(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<Self::Store, Failure>;

    /// The store that is on the volume, recovered.
    fn open(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<Self::Store, Failure>;
}

/// An open store.
pub trait Store: Send + Sync {
    /// A session that works in it.
    type Session: Session;

    /// A new session.
    fn session(&self) -> Result<Self::Session, Failure>;
    /// A checkpoint, now.
    fn checkpoint(&self) -> Result<(), Failure>;
    /// Removes what deleted rows left behind, unless a transaction still needs it.
    fn clean(&self) -> Result<(), Failure>;
    /// Adds a data file, durably when it returns.
    fn add_file(&self, number: u16) -> Result<(), Failure>;
    /// Everything it holds, each row checked against what its version must look like, through each of its
    /// indexes.
    fn read_all(&self) -> Result<State, Failure>;
    /// Checks its own structures while no session works: trees, heaps, maps, every page.
    fn audit(&self) -> Result<(), Failure>;
    /// Ends it without another write.
    fn abandon(self);
    /// Ends it in order.
    fn close(self) -> Result<(), Failure>;
}

/// One client's transactions, one after the other. Rows are derived from key and version by [`crate::rows`].
pub trait Session: Send {
    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), Failure>;
    /// Inserts a row.
    fn insert(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure>;
    /// Loads rows, keys with their versions, as one statement.
    fn load(&mut self, table: u16, rows: &[(i64, u64)]) -> Result<(), Failure>;
    /// Puts another version in the place of a row.
    fn update(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure>;
    /// Deletes a row.
    fn delete(&mut self, table: u16, key: i64) -> Result<(), Failure>;
    /// The version of a row that this session sees.
    fn get(&mut self, table: u16, key: i64) -> Result<Option<u64>, Failure>;
    /// Creates the table of a slot, in the transaction.
    fn create_table(&mut self, table: u16, version: u64) -> Result<(), Failure>;
    /// Drops it, in the transaction.
    fn drop_table(&mut self, table: u16) -> Result<(), Failure>;
    /// Sets a savepoint of this number.
    fn save(&mut self, number: usize) -> Result<(), Failure>;
    /// Rolls back to it; it stays.
    fn rollback_to(&mut self, number: usize) -> Result<(), Failure>;
    /// Commits, durably when it returns.
    fn commit(&mut self) -> Result<(), Failure>;
    /// Rolls back.
    fn rollback(&mut self) -> Result<(), Failure>;
}
