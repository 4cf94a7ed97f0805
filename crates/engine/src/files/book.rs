//! What is known of a database's files and filegroups besides their pages.

use super::spec::FilePlan;
use crate::EngineError;
use furrow_format::{FileGrowth, FileId, Lsn};
use furrow_io::File;
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_io::sync::{Mutex, MutexGuard, RwLock};
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A data file.
#[derive(Debug, Clone)]
pub(crate) struct FileEntry {
    pub(crate) id: FileId,
    pub(crate) filegroup: u16,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) max_pages: Option<u32>,
    pub(crate) growth: FileGrowth,
    pub(crate) guid: Guid,
    /// The file itself.
    pub(crate) file: Arc<dyn File>,
    /// Where it is to be looked for when the database is next opened, if that is elsewhere.
    pub(crate) next_path: Option<PathBuf>,
}

/// The log file.
#[derive(Debug, Clone)]
pub(crate) struct LogEntry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) max_pages: Option<u32>,
    pub(crate) growth: FileGrowth,
    pub(crate) guid: Guid,
    /// Its size as the catalog has it, of a log that is not open.
    pub(crate) recorded_pages: Option<u32>,
    /// Where it is to be looked for when the database is next opened, if that is elsewhere.
    pub(crate) next_path: Option<PathBuf>,
}

/// A data file that the database is open without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AbsentEntry {
    /// What the catalog says of it, and where it is to be.
    pub(crate) plan: FilePlan,
    pub(crate) guid: Guid,
    /// Where the log was when it was made.
    pub(crate) created: Lsn,
    /// Whether it is being restored.
    pub(crate) restoring: bool,
}

/// A filegroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupEntry {
    pub(crate) name: String,
    pub(crate) is_default: bool,
    pub(crate) autogrow_all: bool,
    pub(crate) read_only: bool,
}

/// The files and filegroups of a database.
#[derive(Debug)]
pub(crate) struct FileBook {
    pub(crate) binding: Guid,
    files: RwLock<BTreeMap<u16, FileEntry>>,
    groups: RwLock<BTreeMap<u16, GroupEntry>>,
    /// Files that the database is open without.
    absent: RwLock<BTreeMap<u16, AbsentEntry>>,
    /// Held while a row of `sysprufiles` is read, changed and written.
    pub(crate) rows: Mutex<()>,
    /// Held while files or filegroups change: one such statement at a time.
    pub(crate) turn: Mutex<()>,
    /// Held while a data file is made smaller.
    pub(crate) shrinking: Mutex<()>,
    /// Whether a backup is under way: files stay as they are.
    backup: Arc<AtomicBool>,
    /// Whether a backup of the log is under way.
    log_backup: Arc<AtomicBool>,
}

/// The turn of a backup: none other is under way, and files stay as they are, until it is dropped.
#[derive(Debug)]
pub(crate) struct BackupTurn(Arc<AtomicBool>);

impl Drop for BackupTurn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl FileBook {
    pub(crate) fn new(
        binding: Guid,
        files: Vec<FileEntry>,
        groups: BTreeMap<u16, GroupEntry>,
    ) -> FileBook {
        FileBook {
            binding,
            files: RwLock::new(files.into_iter().map(|f| (f.id.0, f)).collect()),
            groups: RwLock::new(groups),
            absent: RwLock::default(),
            rows: Mutex::new(()),
            turn: Mutex::new(()),
            shrinking: Mutex::new(()),
            backup: Arc::default(),
            log_backup: Arc::default(),
        }
    }

    /// The turn of a backup; 3023 while there is another one, or files are being changed.
    pub(crate) fn begin_backup(&self) -> Result<BackupTurn, EngineError> {
        let (turn, shrinking) = (self.turn.try_lock(), self.shrinking.try_lock());
        let free = turn.is_some() && shrinking.is_some();
        if !free || self.backup.swap(true, Ordering::AcqRel) {
            return Err(EngineError::refused(3023, &[]));
        }
        Ok(BackupTurn(Arc::clone(&self.backup)))
    }

    /// The flag of [`FileBook::is_backed_up`].
    pub(crate) fn backup_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.backup)
    }

    /// The turn of a log backup; 3023 while there is another one.
    pub(crate) fn begin_log_backup(&self) -> Result<BackupTurn, EngineError> {
        match self.log_backup.swap(true, Ordering::AcqRel) {
            true => Err(EngineError::refused(3023, &[])),
            false => Ok(BackupTurn(Arc::clone(&self.log_backup))),
        }
    }

    /// Whether a backup is under way.
    pub(crate) fn is_backed_up(&self) -> bool {
        self.backup.load(Ordering::Acquire)
    }

    /// The turn to add, remove or shrink a file; 3023 while a backup is under way.
    pub(crate) fn turn_to_change(&self) -> Result<MutexGuard<'_, ()>, EngineError> {
        let turn = self.turn.lock();
        self.not_backed_up()?;
        Ok(turn)
    }

    /// 3023 while a backup is under way.
    pub(crate) fn not_backed_up(&self) -> Result<(), EngineError> {
        match self.is_backed_up() {
            true => Err(EngineError::refused(3023, &[])),
            false => Ok(()),
        }
    }

    pub(crate) fn files(&self) -> Vec<FileEntry> {
        self.files.read().values().cloned().collect()
    }

    /// A data file by its logical name, in any case of letters.
    pub(crate) fn named(&self, name: &str) -> Option<FileEntry> {
        let name = name.to_lowercase();
        self.files
            .read()
            .values()
            .find(|f| f.name.to_lowercase() == name)
            .cloned()
    }

    pub(crate) fn put(&self, file: FileEntry) {
        self.files.write().insert(file.id.0, file);
    }

    pub(crate) fn remove(&self, id: FileId) {
        self.files.write().remove(&id.0);
    }

    /// The absent files.
    pub(crate) fn absent(&self) -> Vec<AbsentEntry> {
        self.absent.read().values().cloned().collect()
    }

    pub(crate) fn put_absent(&self, entry: AbsentEntry) {
        debug_assert!(
            !self.files.read().contains_key(&entry.plan.id),
            "a file is absent or there"
        );
        self.absent.write().insert(entry.plan.id, entry);
    }

    /// Whether files of a filegroup are absent.
    pub(crate) fn is_absent(&self, filegroup: u16) -> bool {
        let absent = self.absent.read();
        absent.values().any(|f| f.plan.filegroup == filegroup)
    }

    /// The absent files `ids` are there again.
    pub(crate) fn forget_absent(&self, ids: &[u16]) {
        self.absent.write().retain(|id, _| !ids.contains(id));
    }

    /// 5056 for a filegroup that is not online.
    pub(crate) fn refuse_absent(&self, filegroup: u16) -> Result<(), EngineError> {
        if !self.is_absent(filegroup) {
            return Ok(());
        }
        let name = self.groups.read().get(&filegroup).map(|g| g.name.clone());
        Err(EngineError::refused(
            5056,
            &[name.unwrap_or_default().into()],
        ))
    }

    /// 5056 for the name of an absent file.
    pub(crate) fn refuse_absent_file(&self, name: &str) -> Result<(), EngineError> {
        let name = name.to_lowercase();
        let absent = self.absent();
        let mut named = absent.iter().filter(|f| f.plan.name.to_lowercase() == name);
        named.try_for_each(|f| self.refuse_absent(f.plan.filegroup))
    }

    pub(crate) fn groups(&self) -> BTreeMap<u16, GroupEntry> {
        self.groups.read().clone()
    }

    pub(crate) fn change_groups<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<u16, GroupEntry>) -> T,
    ) -> T {
        change(&mut self.groups.write())
    }

    /// Number and entry of a filegroup by its name, in any case of letters.
    pub(crate) fn group_named(&self, name: &str) -> Option<(u16, GroupEntry)> {
        let name = name.to_lowercase();
        let groups = self.groups.read();
        groups
            .iter()
            .find(|g| g.1.name.to_lowercase() == name)
            .map(|g| (*g.0, g.1.clone()))
    }

    /// The filegroup where objects go that name none.
    pub(crate) fn default_group(&self) -> u16 {
        let groups = self.groups.read();
        groups.iter().find(|g| g.1.is_default).map_or(1, |g| *g.0)
    }

    /// Where the data files are; the primary file first.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.read().values().map(|f| f.path.clone()).collect()
    }

    /// The lowest free file number from 3 up that is larger than `removed`.
    pub(crate) fn free_id(&self, removed: u16) -> Option<u16> {
        let (files, absent) = (self.files.read(), self.absent.read());
        let free = |id: &u16| !files.contains_key(id) && !absent.contains_key(id);
        (removed.saturating_add(1).max(3)..=32_767).find(free)
    }
}
