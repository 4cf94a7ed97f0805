//! Views of an instance and its databases, as plain structs.

use super::Instance;
use crate::database::Database;
use crate::files::FileGrowth;
use crate::keeper::holder;
use furrow_format::{DatabaseId, FileId, Lsn, PAGE_SIZE, RecoveryModel};
use furrow_io::sync::atomic::Ordering::Relaxed;
use furrow_io::time::Duration;
use furrow_log::{LogUsage, ReuseWait};
use furrow_recovery::Checkpoint;
use furrow_tables::{DatabaseOptions, DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::PathBuf;

/// A database of the instance (`sys.databases`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseView {
    /// Number.
    pub id: DatabaseId,
    /// Name.
    pub name: String,
    /// State.
    pub state: DatabaseState,
    /// Why it is suspect, where it is.
    pub reason: Option<String>,
    /// Recovery model, of an open one.
    pub recovery_model: Option<RecoveryModel>,
    /// Whether it takes no changes; of one that is not open, `false`.
    pub read_only: bool,
    /// Options, of an open one.
    pub options: Option<DatabaseOptions>,
    /// Primary file.
    pub primary: PathBuf,
    /// Of a snapshot: the number of its source.
    pub source: Option<DatabaseId>,
    /// Whether it is in standby.
    pub standby: bool,
}

/// A file of a database (`sys.database_files`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileView {
    /// Number.
    pub id: FileId,
    /// Filegroup; 0 of the log.
    pub filegroup: u16,
    /// Logical name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Size.
    pub size_pages: u64,
    /// Largest size.
    pub max_pages: Option<u32>,
    /// How it grows.
    pub growth: FileGrowth,
    /// Free extents; 0 of the log.
    pub free_extents: u64,
    /// The file's own id.
    pub guid: Guid,
    /// Whether its filegroup is read-only.
    pub read_only: bool,
    /// Whether it is the sparse file of a snapshot.
    pub sparse: bool,
    /// Its state.
    pub state: FileViewState,
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileViewState {
    /// It is in use.
    Online,
    /// It is being restored while the database is open.
    Restoring,
    /// A piecemeal restore has left it out.
    RecoveryPending,
}

/// A filegroup (`sys.filegroups`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilegroupView {
    /// Number.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Whether objects go there that name none.
    pub is_default: bool,
    /// Whether all its files grow when one has to.
    pub autogrow_all: bool,
    /// Whether nothing in it may change.
    pub read_only: bool,
}

/// The log (`DBCC SQLPERF(LOGSPACE)` and `log_reuse_wait_desc`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogView {
    /// Sizes and use.
    pub usage: LogUsage,
    /// What keeps its oldest part from being reused.
    pub reuse_wait: ReuseWait,
    /// Recovery would begin here.
    pub redo_point: Lsn,
    /// All records before this are durable.
    pub durable: Lsn,
    /// Writes that made blocks durable.
    pub flushes: u64,
    /// Bytes they wrote.
    pub bytes_flushed: u64,
    /// How often a thread waited for such a write.
    pub flush_waits: u64,
    /// Microseconds of these waits.
    pub flush_wait_us: u64,
    /// Microseconds that the writes took.
    pub write_us: u64,
    /// Times it grew.
    pub growths: u64,
    /// Times it became smaller.
    pub shrinks: u64,
    /// Times a part of it became free.
    pub truncations: u64,
}

/// What a database has done since it was opened: figures of performance counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseWork {
    /// Transactions begun.
    pub transactions: u64,
    /// Of these, such as changed something and committed.
    pub write_transactions: u64,
    /// Rows loaded in bulk.
    pub bulk_rows: u64,
    /// Bytes moved to make files smaller.
    pub shrink_bytes: u64,
}

/// A virtual log file (`DBCC LOGINFO`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlfView {
    /// Sequence number; 0 when it was never used.
    pub sequence: u32,
    /// Where it starts in the file.
    pub start_bytes: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Whether it holds part of the active log.
    pub active: bool,
}

impl Instance {
    /// The option `recovery interval (min)`.
    pub fn recovery_interval_min(&self) -> u32 {
        self.shared.recovery_interval_min()
    }

    /// Sets `recovery interval (min)`: how long recovery may take of databases whose TARGET_RECOVERY_TIME is
    /// 0; 0 for a minute.
    pub fn set_recovery_interval_min(&self, minutes: u32) {
        self.shared.set_recovery_interval_min(minutes);
    }

    /// The databases, by number.
    pub fn databases(&self) -> Vec<DatabaseView> {
        let databases = self.databases.read();
        let mut views: Vec<DatabaseView> = databases
            .values()
            .map(|entry| {
                let open = entry.database.as_ref();
                DatabaseView {
                    id: entry.id,
                    name: entry.name.clone(),
                    state: open.map_or(entry.state, |d| d.state()),
                    reason: open.and_then(|d| d.state.reason()),
                    recovery_model: open.map(|d| d.options.read().recovery_model),
                    options: open.map(|d| d.options()),
                    read_only: open.is_some_and(|d| d.is_read_only()),
                    primary: entry.primary.clone(),
                    source: entry.source,
                    standby: open.is_some_and(|d| d.is_in_standby()),
                }
            })
            .collect();
        views.sort_by_key(|view| view.id);
        views
    }
}

impl Database {
    /// The data files by number, and the log as file 2.
    pub fn file_list(&self) -> Result<Vec<FileView>, EngineError> {
        self.check()?;
        let usage = self.space.usage()?;
        let mut views: Vec<FileView> = self
            .files
            .files()
            .into_iter()
            .map(|file| {
                let used = usage.iter().find(|u| u.file == file.id);
                FileView {
                    id: file.id,
                    filegroup: file.filegroup,
                    name: file.name,
                    path: file.next_path.unwrap_or(file.path),
                    size_pages: used.map_or(0, |u| u64::from(u.size_pages)),
                    max_pages: file.max_pages,
                    growth: file.growth,
                    free_extents: used.map_or(0, |u| u.free_extents),
                    guid: file.guid,
                    read_only: self.space.is_read_only(file.filegroup),
                    sparse: self.is_snapshot(),
                    state: FileViewState::Online,
                }
            })
            .collect();
        if self.is_snapshot() {
            // It has no log.
            return Ok(views);
        }
        let log = self.keeper.log_entry();
        views.push(FileView {
            id: FileId(2),
            filegroup: 0,
            name: log.name,
            path: log.next_path.unwrap_or(log.path),
            size_pages: match log.recorded_pages {
                Some(pages) => u64::from(pages),
                None => self.store.log().file().len_bytes()? / PAGE_SIZE as u64,
            },
            max_pages: log.max_pages,
            growth: log.growth,
            free_extents: 0,
            guid: log.guid,
            read_only: false,
            sparse: false,
            state: FileViewState::Online,
        });
        views.sort_by_key(|view| view.id);
        Ok(views)
    }

    /// The files that the database is open without.
    pub fn absent_files(&self) -> Vec<FileView> {
        let absent = self.files.absent().into_iter();
        let views = absent.map(|file| FileView {
            id: FileId(file.plan.id),
            filegroup: file.plan.filegroup,
            name: file.plan.name,
            path: file.plan.path,
            size_pages: u64::from(file.plan.size_pages),
            max_pages: file.plan.max_pages,
            growth: file.plan.growth,
            free_extents: 0,
            guid: file.guid,
            read_only: self.space.is_read_only(file.plan.filegroup),
            sparse: false,
            state: match file.restoring {
                true => FileViewState::Restoring,
                false => FileViewState::RecoveryPending,
            },
        });
        views.collect()
    }

    /// All its files, by number: those that it is open without, too.
    pub fn all_files(&self) -> Result<Vec<FileView>, EngineError> {
        let mut views = self.file_list()?;
        views.extend(self.absent_files());
        views.sort_by_key(|view| view.id);
        Ok(views)
    }

    /// Free extents of each data file.
    pub fn free_extents(&self) -> Vec<(FileId, u64)> {
        self.space.free_extents()
    }

    /// The filegroups, by number.
    pub fn filegroups(&self) -> Vec<FilegroupView> {
        let groups = self.files.groups().into_iter();
        groups
            .map(|(id, group)| FilegroupView {
                id,
                name: group.name,
                is_default: group.is_default,
                autogrow_all: group.autogrow_all,
                read_only: group.read_only,
            })
            .collect()
    }

    /// The log.
    pub fn log_view(&self) -> LogView {
        let log = self.store.log();
        let counters = &log.counters;
        LogView {
            usage: log.usage(),
            reuse_wait: holder(&self.store),
            redo_point: self.store.redo_point(),
            durable: log.durable(),
            flushes: counters.flushes.load(Relaxed),
            bytes_flushed: counters.bytes_flushed.load(Relaxed),
            flush_waits: counters.flush_waits.load(Relaxed),
            flush_wait_us: counters.flush_wait_us.load(Relaxed),
            write_us: counters.write_us.load(Relaxed),
            growths: counters.growths.load(Relaxed),
            shrinks: counters.shrinks.load(Relaxed),
            truncations: counters.truncations.load(Relaxed),
        }
    }

    /// What it has done since it was opened.
    pub fn work(&self) -> DatabaseWork {
        DatabaseWork {
            transactions: self.store.active.begun(),
            write_transactions: self.store.active.committed(),
            bulk_rows: self.bulk_rows.load(Relaxed),
            shrink_bytes: self.shrink_bytes.load(Relaxed),
        }
    }

    /// The virtual log files, in file order.
    pub fn vlfs(&self) -> Vec<VlfView> {
        let vlfs = self.store.log().vlfs().into_iter();
        vlfs.map(|(vlf, active)| VlfView {
            sequence: vlf.seq,
            start_bytes: vlf.start,
            size_bytes: vlf.size,
            active,
        })
        .collect()
    }

    /// Checkpoints taken since the database was opened, automatic ones among them.
    pub fn checkpoints(&self) -> u64 {
        self.keeper.checkpoints()
    }

    /// The last checkpoint since the database was opened, and how long ago it ended.
    pub fn last_checkpoint(&self) -> Option<(Duration, Checkpoint)> {
        self.keeper.last()
    }

    /// Pages changed in memory and not yet written.
    pub fn dirty_pages(&self) -> u64 {
        self.shared.pool.dirty_count(self.id)
    }

    /// Where all its files are, double-write files left out; the primary file first.
    pub(crate) fn all_paths(&self) -> Vec<PathBuf> {
        let mut paths = self.files.paths();
        paths.push(self.keeper.log_entry().path);
        paths
    }
}
