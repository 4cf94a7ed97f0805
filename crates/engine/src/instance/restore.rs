//! Putting a database back from a backup: its files, its log, then recovery.
//!
//! 1. [`Instance::begin_restore`] notes in the instance's list that the database is being restored, with the
//!    paths of its files, before it makes or removes any. From here on its state is RESTORING, also after a
//!    crash; the restore can be started again, and DROP DATABASE removes what there is. What can be refused
//!    is refused before that: the places of the files (module `restored_files`), the shape of the log.
//! 2. The files are new ones: they have a binding of their own, and so has the log. Pages and blocks of the
//!    log are written in any order, by several threads. Page 0 of a file is written last, with the new
//!    binding and the LSN of the last record of the backup: a log that ends before it is not recovered from
//!    (4318), nor is a file without it, whose restore did not come to its end (4320).
//! 3. [`Restoring::recover`] makes all of it durable and opens the database as after a crash. Its catalog
//!    names the paths of the files that were backed up: the paths are corrected before the list calls the
//!    database whole.

use super::Instance;
use super::restored_files::{DataFiles, Leftovers, Places, make_files, places_of, with_log};
use crate::database::Database;
use crate::files::{BackupTurn, FilePlan, remove_any, remove_own};
use crate::shared::{Absent, DatabaseList, Link, Listed, Phase, RestoreHold, in_transition};
use furrow_format::boot::field;
use furrow_format::{
    BOOT_PAGE, FileGrowth, FileHeader, FileId, Forks, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, Lsn,
    PAGE_SIZE, PageBuf, PageId, PageNo, dcm_page_of, set_map_word, stamp_checksum,
};
use furrow_io::sync::Mutex;
use furrow_io::time::WallTime;
use furrow_io::{AlignedBuf, random};
use furrow_log::{LogError, LogImage};
use furrow_tables::DatabaseState;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Place of the changed-extent map in its interval.
const DCM_PAGE: u32 = dcm_page_of(PageNo(0)).0;

/// A file to restore.
#[derive(Debug, Clone)]
pub struct RestoreFile {
    /// Its number; 2 is the log.
    pub id: FileId,
    /// Its filegroup; 0 of the log.
    pub filegroup: u16,
    /// Its logical name.
    pub name: String,
    /// Where it goes.
    pub path: PathBuf,
    /// Its size.
    pub size_pages: u32,
    /// The file's own id.
    pub guid: Guid,
    /// Where the log was when it was made.
    pub created: Lsn,
    /// The size it was made with.
    pub first_pages: u32,
    /// Whether MOVE says where it goes.
    pub moved: bool,
}

/// A database to restore.
#[derive(Debug, Clone)]
pub struct RestoreSpec {
    /// Its name.
    pub name: String,
    /// Its data files and its log.
    pub files: Vec<RestoreFile>,
    /// Files that lie at these paths are written over.
    pub replace: bool,
    /// Where recovery reads the log from.
    pub checkpoint: Lsn,
    /// The last record of the backup's log: no page of the backup is newer.
    pub last_lsn: Lsn,
    /// The virtual log files of the backup: number and size in bytes.
    pub vlfs: Vec<(u32, u64)>,
    /// Blocks of the log are padded to this many bytes.
    pub log_sector_bytes: u32,
    /// The base of differential backups that the pages are of; zeros of a COPY_ONLY backup.
    pub base: Guid,
    /// The binding of the files that were backed up.
    pub source: Guid,
    /// The recovery forks of the backup.
    pub forks: Forks,
    /// Data files that are left out: the database is opened without them.
    pub absent: Vec<u16>,
}

/// What there is of a database that is to be restored.
#[derive(Debug, Clone)]
pub struct RestoreTarget {
    /// Its state.
    pub state: DatabaseState,
    /// The open database.
    pub database: Option<Arc<Database>>,
}

/// A database that is being restored. Dropped, it stays RESTORING.
#[derive(Debug)]
pub struct Restoring {
    pub(super) listed: Listed,
    pub(super) checkpoint: Lsn,
    /// The end of the log that the pages need: the headers of the files name it.
    pub(super) needs: Lsn,
    pub(super) files: DataFiles,
    pub(super) log: LogImage,
    pub(super) applied: Lsn,
    pub(super) last_commit: Option<WallTime>,
    pub(super) pages: RestoredPages,
    /// The family of the database, of files that are restored while it is open.
    pub(super) family: Option<Guid>,
    /// The last record that is put in place.
    pub(super) limit: Lsn,
    /// Of files that are restored while the database is open: no backup is taken meanwhile.
    pub(super) turn: Option<BackupTurn>,
    /// Keeps other statements off the database.
    pub(super) hold: Option<RestoreHold>,
    /// Headers of files that are written last.
    pub(super) held: Mutex<BTreeMap<u16, AlignedBuf>>,
}

/// What is restored from a set that has pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestoredPages {
    /// A full backup, the base of this number: nothing has changed since.
    Full(Guid),
    /// Of a differential backup: the base and what has changed since stay as they are on the pages.
    AsBackedUp,
    /// Of a log backup: as of a differential one, and files whose header the backup has not.
    Logged,
    /// Some files of a full backup, or of one of files.
    Files {
        /// Whether the log in place stays.
        log_stays: bool,
    },
}

/// A restore that is durable: nothing was recovered yet.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) listed: Listed,
    pub(super) files: DataFiles,
    /// The last record of the log.
    pub(super) end: Lsn,
    /// Whether log behind it was restored and cannot be read any more.
    pub(super) is_lost: bool,
    /// Whether it is certain that no log behind it was restored.
    pub(super) is_certain: bool,
    /// Keeps other statements off the database.
    pub(super) hold: Option<RestoreHold>,
}

/// Holds a database for a restore. 3101 while another restore holds it, 952 while it is repaired.
pub(super) fn held_for_restore(list: &DatabaseList, id: u16) -> Result<RestoreHold, EngineError> {
    let in_use = || EngineError::refused(3101, &[]);
    let hold = RestoreHold::new(&list.restoring, id).ok_or_else(in_use)?;
    let mut all = list.databases.iter();
    match all.find(|d| d.id == id && list.repairing.contains(&id)) {
        Some(repaired) => Err(in_transition(&repaired.name)),
        None => Ok(hold),
    }
}

impl Instance {
    /// The database of this name, if there is one.
    pub fn restore_target(&self, name: &str) -> Option<RestoreTarget> {
        let databases = self.databases.read();
        let entry = databases.get(&name.to_lowercase())?;
        Some(RestoreTarget {
            state: entry.database.as_ref().map_or(entry.state, |d| d.state()),
            database: entry.database.clone(),
        })
    }

    /// A database of the list that is being restored: it is not opened.
    pub(super) fn enter_restoring(&self, listed: &Listed) {
        let primary = listed.paths.first().cloned().unwrap_or_default();
        self.enter(listed, &primary, None, DatabaseState::Restoring);
    }

    /// Notes that a database is being restored, removes the one that it replaces, and makes its files.
    pub fn begin_restore(&self, spec: &RestoreSpec) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let old = list.named(&spec.name).cloned();
        let id = old.as_ref().map_or_else(|| list.free_id(), |old| old.id);
        let hold = held_for_restore(&list, id)?;
        if let Some(old) = &old {
            if old.phase.is_snapshot() {
                return Err(EngineError::refused(3002, &[]));
            }
            Self::without_snapshots(&list, old.id)?;
        }
        let listed = newly_listed(spec, id);
        // What can be refused is refused before the database that is replaced goes.
        LogImage::check(spec.log_sector_bytes, &spec.vlfs)?;
        if listed.layout.iter().all(|plan| plan.filegroup != 0) {
            return Err(EngineError::Damaged("a backup without a log".into()));
        }
        let going = old.as_ref().map(|old| self.paths_that_go(old));
        let places = Places {
            new: places_of(&listed.layout),
            own: going.unwrap_or_default(),
            // Files that are attached READ_ONLY stay.
            binding: match &old {
                Some(old) if old.phase != Phase::ReadOnly => Some(Guid(old.binding)),
                _ => None,
            },
            database: old.as_ref().map(|old| old.id),
            pieces_go: true,
            leftovers: Leftovers::Stay,
            held: false,
            replace: spec.replace,
        };
        self.places_are_free(&list, &places)?;
        self.space_suffices(old.as_ref(), spec)?;
        if let Some(old) = &old {
            self.let_go(&mut list, (old, &listed))?;
        }
        for path in listed.paths.iter().filter(|_| spec.replace) {
            remove_any(&*self.shared.volume, path)?;
        }
        list.change(|all| {
            all.retain(|d| d.id != listed.id);
            all.push(listed.clone());
        })?;
        self.enter_restoring(&listed);
        let log = (listed.binding, spec.log_sector_bytes, &*spec.vlfs);
        let made = make_files(&*self.shared.volume, &listed.layout, log, &|_| false);
        if made.is_err() && old.is_none() {
            // Nothing of it is there.
            let _ = list.change(|all| all.retain(|d| d.id != listed.id));
            self.forget(&spec.name);
        }
        let (files, log) = with_log(made?)?;
        Ok(Restoring {
            listed,
            checkpoint: spec.checkpoint,
            needs: spec.last_lsn,
            files,
            log,
            applied: Lsn::ZERO,
            last_commit: None,
            pages: RestoredPages::Full(spec.base),
            hold: Some(hold),
            family: None,
            limit: Lsn::MAX,
            turn: None,
            held: Mutex::default(),
        })
    }

    pub(super) fn open_of(&self, old: &Listed) -> Option<Arc<Database>> {
        let databases = self.databases.read();
        let entry = databases.get(&old.name.to_lowercase())?;
        entry.database.clone()
    }

    /// The files of a database that is replaced.
    fn paths_that_go(&self, old: &Listed) -> Vec<PathBuf> {
        let open = self.open_of(old);
        let mut paths = open.map_or_else(|| old.paths.clone(), |open| open.all_paths());
        let others = old.layout.iter().map(|plan| &plan.path);
        let others = others.filter(|path| !old.paths.contains(path));
        paths.extend(others.cloned());
        paths.extend(old.absent.piece_paths());
        if !old.link.undo.as_os_str().is_empty() {
            paths.push(old.link.undo.clone());
        }
        paths
    }

    /// Closes the database that is replaced (3101 while it is used) and removes its files. Until the new one
    /// is noted, what is left of the old one can only be dropped or restored again. A file that cannot be
    /// removed is left behind where the new one has no file: its device may be why the database moves.
    fn let_go(
        &self,
        list: &mut DatabaseList,
        (old, new): (&Listed, &Listed),
    ) -> Result<(), EngineError> {
        if let Err(error) = self.remove_listed_undo(old) {
            self.say_left(&old.link.undo, &old.name, &error);
        }
        let is_new = |path: &Path| new.paths.iter().any(|new| new == path);
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in self.paths_that_go(old) {
            match self.is_of_another(list, &path, old) {
                Ok(true) => {}
                Err(error) if is_new(&path) => return Err(error),
                _ => paths.push(path),
            }
        }
        if let Some(open) = self.open_of(old) {
            open.refuse_entry_unless_used()
                .map_err(|_| EngineError::refused(3101, &[]))?;
            open.abandon();
        }
        let mut going = Listed {
            phase: Phase::Restoring,
            paths,
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
            ..old.clone()
        };
        if old.phase == Phase::ReadOnly {
            // They stay, also when the database is dropped or restored again.
            going.paths.clear();
        }
        list.change(|all| {
            all.retain(|d| d.id != going.id);
            all.push(going.clone());
        })?;
        self.enter_restoring(&going);
        let remove =
            |path: &Path| remove_own(&*self.shared.volume, path, Guid(going.binding)).map(drop);
        self.remove_or_leave((list, &going), &going.paths, &is_new, &remove)
    }

    pub(super) fn say_left(&self, path: &Path, name: &str, error: &dyn std::error::Error) {
        self.log_line(&format!(
            "File '{}' of database '{name}', which is restored, was not removed: {error}.",
            path.display()
        ));
    }
}

/// A database that is restored, with a binding of its own.
fn newly_listed(spec: &RestoreSpec, id: u16) -> Listed {
    let mut files = spec.files.clone();
    files.sort_by_key(|f| f.id);
    let left_out = |f: &RestoreFile| spec.absent.contains(&f.id.0);
    let (absent, files): (Vec<_>, Vec<_>) = files.into_iter().partition(left_out);
    Listed {
        id,
        phase: Phase::Restoring,
        binding: random::guid_v4(),
        name: spec.name.clone(),
        paths: files.iter().map(|f| f.path.clone()).collect(),
        layout: files.iter().map(plan_of).collect(),
        link: Link {
            source: spec.source.0,
            forks: spec.forks.clone(),
            ..Link::default()
        },
        absent: Absent {
            files: absent.iter().map(plan_of).collect(),
            ..Absent::default()
        },
        offline: false,
    }
}

/// 9004 for log that was restored and is lost.
pub(super) fn log_error(name: &str, e: LogError) -> EngineError {
    match e {
        LogError::Damaged(_) | LogError::Missing(_) => EngineError::refused(9004, &[name.into()]),
        other => other.into(),
    }
}

/// Whether there is no log: a restore did not come to its end. What cannot be read may be one.
pub(super) fn is_no_log(e: &LogError) -> bool {
    matches!(
        e,
        LogError::NotALog(_) | LogError::Truncated { .. } | LogError::WrongDatabase(_)
    )
}

pub(super) fn plan_of(file: &RestoreFile) -> FilePlan {
    FilePlan {
        id: file.id.0,
        filegroup: file.filegroup,
        name: file.name.clone(),
        path: file.path.clone(),
        size_pages: file.size_pages,
        max_pages: None,
        growth: FileGrowth::None,
    }
}

impl Restoring {
    /// Writes pages of a data file. Several threads may do this side by side.
    pub fn write_pages(&self, first: PageId, bytes: &[u8]) -> Result<(), EngineError> {
        let strange = || EngineError::Damaged(format!("the backup has no file {}", first.file));
        let by_themselves = matches!(self.pages, RestoredPages::Files { .. });
        let left_out = by_themselves || self.listed.absent.has(first.file.0);
        let file = match self.files.get(&first.file.0) {
            None if left_out => return Ok(()),
            file => file.ok_or_else(strange)?,
        };
        let offset = u64::from(first.page.0) * PAGE_SIZE as u64;
        if offset + bytes.len() as u64 > file.len_bytes()? {
            let text = format!("page {first} lies behind the end of its file");
            return Err(EngineError::Damaged(text));
        }
        match (first.page.0, bytes.get(PAGE_SIZE..)) {
            // The header comes last ([`Restoring::hold_header`]), and never with the binding of the files
            // that were backed up.
            (0, Some([]) | None) => {}
            (0, Some(behind)) => file.write_at(PAGE_SIZE as u64, behind)?,
            _ => file.write_at(offset, bytes)?,
        }
        for (at, page) in (first.page.0..).zip(bytes.as_chunks::<PAGE_SIZE>().0) {
            let id = PageId {
                page: PageNo(at),
                ..first
            };
            if let Some(page) = self.as_restored(id, page)? {
                if at == 0 {
                    self.hold_header(id.file.0, &page[..]);
                    continue;
                }
                let bytes = AlignedBuf::copy_of(&page[..]);
                file.write_at(u64::from(at) * PAGE_SIZE as u64, &bytes)?;
            }
        }
        Ok(())
    }

    /// A page as the restored database has it; `None`: as it was backed up.
    fn as_restored(&self, id: PageId, page: &PageBuf) -> Result<Option<Box<PageBuf>>, EngineError> {
        let mut changed: Box<PageBuf> = match id.page.0 {
            0 => Box::new(*page),
            _ if id == BOOT_PAGE => Box::new(*page),
            at if at % GAM_INTERVAL == DCM_PAGE => Box::new(*page),
            _ => return Ok(None),
        };
        let page = &mut *changed;
        match (id.page.0, self.pages) {
            (0, _) => {
                let bad = |e: furrow_format::FileHeaderError| EngineError::Damaged(e.to_string());
                FileHeader::set_binding(page, Guid(self.listed.binding)).map_err(bad)?;
                FileHeader::set_max_lsn(page, self.needs).map_err(bad)?;
            }
            (
                _,
                RestoredPages::AsBackedUp | RestoredPages::Logged | RestoredPages::Files { .. },
            ) => return Ok(None),
            (_, RestoredPages::Full(base)) if id == BOOT_PAGE => {
                field::DIFFERENTIAL_BASE.set(page, base.0);
                field::FULL_BACKUP_LSN.set(page, self.checkpoint.to_bytes());
            }
            (_, RestoredPages::Full(_)) => {
                // Redo sets the bits of what has changed since.
                let words = GAM_INTERVAL_EXTENTS.div_ceil(64) as usize;
                if !(0..words).all(|index| set_map_word(page, index, 0)) {
                    return Ok(None);
                }
            }
        }
        stamp_checksum(page);
        Ok(Some(changed))
    }

    /// The log that is put in place ends before this record.
    pub fn stop_at(&mut self, stop: Lsn) {
        debug_assert!(stop > self.applied, "what is in place is not taken back");
        self.log.stop_at(stop);
    }

    /// Writes a block of the log. Several threads may do this side by side.
    pub fn write_log(&self, block: &[u8]) -> Result<(), EngineError> {
        if matches!(
            self.pages,
            RestoredPages::Files {
                log_stays: true,
                ..
            }
        ) {
            return Ok(());
        }
        self.log.write(block)?;
        Ok(())
    }

    /// Makes all of it durable.
    pub(super) fn settle(self) -> Result<Settled, EngineError> {
        for file in self.files.values() {
            file.sync()?;
        }
        self.log.cut()?;
        self.write_headers()?;
        let (end, is_lost) = (self.log.last_lsn(), self.log.is_lost());
        let is_certain = !is_lost && self.log.has_known_end();
        let finished = self.log.finish(self.checkpoint);
        finished.map_err(|e| log_error(&self.listed.name, e))?;
        Ok(Settled {
            listed: self.listed,
            files: self.files,
            end,
            is_lost,
            is_certain,
            hold: self.hold,
        })
    }
}
