//! A snapshot of an open database: pages at one LSN, recovered. A check reads such a one and lets it go;
//! CREATE DATABASE ... AS SNAPSHOT OF makes one that stays ([`crate::snapshots`]).
//!
//! # Invariants
//! 1. *The list of active transactions is exact at the split.* A list is taken at an earlier LSN, and the log
//!    between that LSN and the split is read ([`furrow_recovery::active_at`]). The log is held until the
//!    rollback is done.
//! 2. *Recovery changes the snapshot alone.* It works through a database of its own in the buffer pool, whose
//!    files are [`SnapshotFile`]s and whose log is in memory. That database has no name and is in no list.
//! 3. *No file becomes shorter while the snapshot is made*: the lock of file changes is held.

use crate::database::Database;
use crate::shared::Shared;
use furrow_datafile::{PageSource, SourceError, SourceFile};
use furrow_format::{DatabaseId, FileId, Lsn, PageBuf, PageNo};
use furrow_io::sync::atomic::{AtomicU16, Ordering};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_log::{Log, LogConfig, OwnedRecord};
use furrow_observe::files::FileStats;
use furrow_pool::{
    CheckpointOptions, PoolError, PoolFile, SnapshotFile, SnapshotFiles, SnapshotGuard,
    SnapshotOptions,
};
use furrow_recovery::{Loser, active_at, mark_split, undo_from};
use furrow_space::{FilegroupSpec, Space, SpaceConfig, SpaceOptions};
use furrow_tables::{Catalog, EngineError};
use furrow_txn::lock::LockError;
use furrow_txn::{ActiveTxn, Store, TxnError, Undo};
use std::path::Path;
use std::sync::Arc;

/// Images of a snapshot in memory, before they go to spill files: at most.
const MEMORY_BYTES: u64 = 64 << 20;
/// The log of a snapshot's recovery. Its records are let go as they come.
const UNDO_LOG_BYTES: u64 = 8 << 20;
/// Numbers of the databases that recover snapshots: no database that is created gets as far.
const FIRST_HIDDEN: u16 = 30_000;
const HIDDEN: u16 = 2_000;

static NEXT_HIDDEN: AtomicU16 = AtomicU16::new(0);

/// What is known of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Changes before this LSN belong to it.
    pub split: Lsn,
    /// The oldest record that its recovery needed.
    pub first: Lsn,
    /// Pages that were copied.
    pub images: u64,
    /// Whether it was recovered. Where damage prevents that, transactions that were active at the split may
    /// show as inconsistencies.
    pub recovered: bool,
}

/// A snapshot that a check reads.
#[derive(Debug)]
pub(super) struct InternalSnapshot {
    guard: SnapshotGuard,
    files: Vec<SourceFile>,
    first: Lsn,
    recovered: bool,
}

/// A snapshot whose own recovery is done.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) guard: SnapshotGuard,
    /// The oldest record that its recovery needed.
    pub(crate) first: Lsn,
    /// How the recovery ended.
    pub(crate) recovered: Result<(), EngineError>,
}

/// A number for a database in the buffer pool that is in no list.
pub(crate) fn hidden_number() -> u16 {
    FIRST_HIDDEN + next_number()
}

/// A number for the database that recovers a snapshot.
fn next_number() -> u16 {
    NEXT_HIDDEN.fetch_add(1, Ordering::Relaxed) % HIDDEN
}

/// Takes a snapshot of the database, with images in these files, and recovers it. The caller holds the turn
/// of file changes.
pub(crate) fn split(
    database: &Database,
    files: SnapshotFiles,
    memory_bytes: u64,
) -> Result<Split, EngineError> {
    let store = &database.store;
    let (log, pool) = (store.log(), store.pool());
    let options = SnapshotOptions {
        memory_bytes: memory_bytes.min(MEMORY_BYTES),
        files,
    };
    if database.is_read_only() {
        // Nothing is active in it, and its log is not written.
        let guard = pool.snapshot(store.db(), options)?;
        let first = guard.snapshot().split();
        let recovered = Ok(());
        return Ok(Split {
            guard,
            first,
            recovered,
        });
    }
    // All of it: which record is the first needed is not known yet.
    let all = store.holds.hold(|| Lsn(1));
    let from = log.tail();
    let listed = store.active.list(from);
    let oldest = listed.iter().map(|txn| txn.first).min();
    let hold = store.holds.hold(|| oldest.unwrap_or(from).min(from));
    drop(all);
    let guard = pool.snapshot(store.db(), options)?;
    EngineError::check_cancelled()?;
    let split = guard.snapshot().split();
    let mark = mark_split(log)?;
    let losers = active_at(log, &listed, (from, split), mark)?;
    let first = losers.iter().map(|loser| loser.first).min();
    let recovered = recover(database, &guard, &losers, next_number());
    EngineError::check_cancelled()?;
    if let Err(error) = &recovered {
        tracing::warn!(database = database.name, %error, "a snapshot cannot be recovered");
    }
    drop(hold);
    Ok(Split {
        first: first.unwrap_or(split).min(split),
        guard,
        recovered,
    })
}

impl InternalSnapshot {
    /// Takes a snapshot of the database and recovers it; images that exceed the memory go to spill files.
    pub(super) fn take(
        database: &Database,
        memory_bytes: u64,
    ) -> Result<InternalSnapshot, EngineError> {
        let entries = database.files.files();
        let paths = entries.iter().map(|file| (file.id, file.path.as_path()));
        let spill = super::spill::Spill::new(&database.shared.volume, next_number(), paths);
        let files_turn = database.files.turn.lock();
        let files = SnapshotFiles::Spill(Box::new(spill));
        let taken = split(database, files, memory_bytes)?;
        drop(files_turn);
        let guard = taken.guard;
        let path = |id| guard.snapshot().path(id).map(Path::to_path_buf);
        let files = guard.snapshot().files().into_iter().map(|(id, pages)| {
            let name = path(id).map_or_else(String::new, |path| path.display().to_string());
            SourceFile { id, name, pages }
        });
        Ok(InternalSnapshot {
            files: files.collect(),
            first: taken.first,
            recovered: taken.recovered.is_ok(),
            guard,
        })
    }

    /// An error when the snapshot has failed.
    pub(super) fn still_sound(&self) -> Result<(), EngineError> {
        match self.guard.snapshot().failure() {
            None => Ok(()),
            Some(error) => Err(EngineError::Io(error.clone())),
        }
    }

    pub(super) fn info(&self) -> SnapshotInfo {
        SnapshotInfo {
            split: self.guard.snapshot().split(),
            first: self.first,
            images: self.guard.snapshot().images(),
            recovered: self.recovered,
        }
    }
}

impl PageSource for InternalSnapshot {
    fn files(&self) -> Vec<SourceFile> {
        self.files.clone()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let known = self.files.iter().find(|known| known.id == file);
        let end = u64::from(first.0) + into.len() as u64;
        if known.is_none_or(|known| end > u64::from(known.pages)) {
            return Err(SourceError::PastEnd { file, page: first });
        }
        self.guard.spill();
        Ok(self.guard.snapshot().read(file, first, into)?)
    }
}

/// The database in the pool that recovers a snapshot. Dropped, the pool forgets it.
struct Hidden<'a> {
    shared: &'a Shared,
    id: DatabaseId,
    log: Arc<Log>,
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        self.log.shut_down();
        // Of one that was never registered there is nothing to forget.
        let _ = self.shared.pool.drop_database(self.id);
    }
}

/// Rolls back on the snapshot's pages what was active at its split, and ends drops that were under way.
fn recover(
    database: &Database,
    guard: &SnapshotGuard,
    losers: &[Loser],
    number: u16,
) -> Result<(), EngineError> {
    let shared = &database.shared;
    let source = database.store.log();
    let volume = MemoryVolume::new();
    let file = volume.open(Path::new("undo.ldf"), Open::Create, Access::Log)?;
    let config = LogConfig {
        temporary: true,
        background: false,
        ..shared.config.log
    };
    let split = guard.snapshot().split();
    let log = Log::create_from(
        file,
        UNDO_LOG_BYTES,
        source.binding(),
        config,
        split.vlf() + 1,
    )?;
    let hidden = Hidden {
        shared,
        id: DatabaseId(FIRST_HIDDEN + number),
        log: Arc::clone(&log),
    };
    let tail = log.tail();
    let next_txn = database.store.active.peek_next_id();
    let store = Store::new(hidden.id, Arc::clone(&shared.pool), log, tail, next_txn)?;
    let space = hidden.space(database, guard, &store)?;
    let catalog = Catalog::open(&store, &space)?;
    undo_from(source, &store, losers, &Cancellable(&catalog))?;
    catalog.after_undo()?;
    shared
        .pool
        .checkpoint_pages(hidden.id, CheckpointOptions::default())?;
    Ok(())
}

/// Rollback that a cancelled statement ends.
struct Cancellable<'a>(&'a Catalog);

impl Undo for Cancellable<'_> {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        match furrow_observe::task::is_cancelled() {
            true => Err(TxnError::Lock(LockError::Cancelled)),
            false => self.0.undo(txn, next, record),
        }
    }
}

impl Hidden<'_> {
    fn space(
        &self,
        database: &Database,
        guard: &SnapshotGuard,
        store: &Arc<Store>,
    ) -> Result<Arc<Space>, EngineError> {
        let mut files = Vec::new();
        for entry in database.files.files() {
            let Some(file) = SnapshotFile::new(guard.snapshot(), entry.id) else {
                continue;
            };
            let file = Arc::new(file);
            let path = entry.path.to_string_lossy();
            let pool_file = PoolFile {
                file: Arc::clone(&file) as _,
                stats: Arc::new(FileStats::new(self.id.0, entry.id.0, &path)),
                double_write: None,
            };
            let added: Result<(), PoolError> =
                self.shared.pool.add_file(self.id, entry.id, pool_file);
            added?;
            let mut data = entry.for_space(0);
            data.file = file;
            files.push(data);
        }
        let mut groups: Vec<u16> = files.iter().map(|file| file.filegroup).collect();
        let absent = database.files.absent().into_iter();
        let absent: Vec<u16> = absent.map(|f| f.plan.filegroup).collect();
        groups.extend(&absent);
        groups.sort_unstable();
        groups.dedup();
        let group = |id: u16| FilegroupSpec {
            id,
            name: format!("filegroup {id}"),
            autogrow_all: false,
            is_default: id == 1,
        };
        let config = SpaceConfig {
            database: database.name.clone(),
            filegroups: groups.into_iter().map(group).collect(),
            files,
            options: SpaceOptions::default(),
            catalog: None,
            trace: None,
        };
        let space = Space::open(Arc::clone(store), config)?;
        absent
            .into_iter()
            .for_each(|group| space.set_offline(group, true));
        Ok(space)
    }
}
