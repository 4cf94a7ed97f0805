//! The files of a restore: whether their places are free, and how they are made.
//!
//! # Invariants
//! 1. [`Instance::places_are_free`] decides before the list of databases names a new place, and before
//!    anything is removed. What it refuses leaves the database and all files as they were. Proof:
//!    `a_restore_that_is_refused_leaves_the_database_that_it_would_replace`.
//! 2. Where files of the database go, it has also created and removed a file at each free place, or beside
//!    the file that lies there. Proof:
//!    `a_restore_into_a_directory_that_cannot_be_written_leaves_the_database`.

use super::Instance;
use super::places::{Exempt, TAKEN_STATE, is_regular, taken};
use crate::files::{
    FilePlan, Made, bears, check_directory, check_free, double_write_path, file_path, head_of,
    is_own, open_error, repair_path,
};
use crate::shared::DatabaseList;
use furrow_format::{DatabaseId, PAGE_SIZE};
use furrow_io::{Access, File, Fill, IoErrorKind, Open, Volume};
use furrow_log::LogImage;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Data files by number.
pub(super) type DataFiles = BTreeMap<u16, Arc<dyn File>>;

/// What a restore removes at places where no file of the database is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Leftovers {
    /// Nothing.
    #[default]
    Stay,
    /// Files with the binding of the database.
    Bound,
    /// These, and files whose beginning was never written.
    Unwritten,
}

/// Where a restore is to make files.
#[derive(Debug, Default)]
pub(super) struct Places<'p> {
    /// The files.
    pub(super) new: Vec<(&'p PathBuf, Access)>,
    /// Files of the database itself that go before.
    pub(super) own: Vec<PathBuf>,
    /// The binding by which they are recognised; `None` where they do not go unless they are replaced.
    pub(super) binding: Option<Guid>,
    /// The database that is restored, if there is one.
    pub(super) database: Option<u16>,
    /// Whether its pieces and its undo file do not count as used.
    pub(super) pieces_go: bool,
    /// What goes that lies at the other places: an earlier attempt may have left it.
    pub(super) leftovers: Leftovers,
    /// Whether the restore itself has its files open.
    pub(super) held: bool,
    /// Whether whatever lies there goes.
    pub(super) replace: bool,
}

impl Places<'_> {
    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| own == path)
    }

    /// Which files do not count as used at a place.
    fn exempt(&self, path: &Path) -> Exempt {
        match self.database {
            Some(id) if self.is_own(path) => Exempt::All(id),
            Some(id) if self.pieces_go => Exempt::Pieces(id),
            _ => Exempt::Nothing,
        }
    }

    /// Whether the restore may remove files.
    fn removes(&self) -> bool {
        self.database.is_some() || self.replace
    }

    /// Whether what lies at a place is removed before a file is made there. What is no file stays.
    fn goes(&self, volume: &dyn Volume, path: &Path) -> Result<bool, EngineError> {
        match self.binding {
            _ if !is_regular(volume, path) => Ok(false),
            _ if self.replace => Ok(true),
            // An earlier check of the places has left it.
            Some(_) if is_empty(volume, path)? => Ok(true),
            Some(binding) if self.is_own(path) => Ok(is_own(volume, path, binding)?),
            Some(binding) => match self.leftovers {
                Leftovers::Stay => Ok(false),
                Leftovers::Bound => Ok(bears(&head_of(volume, path)?, binding)),
                Leftovers::Unwritten => Ok(is_own(volume, path, binding)?),
            },
            None => Ok(false),
        }
    }
}

impl Places<'_> {
    /// 5170 for a place beside another one, where the double-write file or the journal of that one goes.
    fn apart(&self, path: &Path) -> Result<(), EngineError> {
        let beside = [double_write_path(path), repair_path(path)];
        let mut met = self.new.iter().filter(|(other, _)| beside.contains(other));
        met.next().map_or(Ok(()), |(other, _)| Err(taken(other)))
    }

    /// 5170 for a file that lies where the double-write file of a data file goes.
    fn guard_is_free(
        &self,
        volume: &dyn Volume,
        (path, access): (&Path, Access),
    ) -> Result<(), EngineError> {
        let guard = double_write_path(path);
        // That of an own file goes with it.
        let stays = access == Access::Data && !self.replace && !self.is_own(path);
        if !stays || !volume.exists(&guard)? {
            return Ok(());
        }
        let goes = is_regular(volume, &guard)
            && match self.binding {
                Some(binding) => is_own(volume, &guard, binding)?,
                None => is_empty(volume, &guard)?,
            };
        match goes {
            true => Ok(()),
            false => Err(taken(&guard)),
        }
    }
}

impl Instance {
    /// Whether a restore may make its files: 1834 for a place that a database uses, 5133 where there is no
    /// directory, 5170 for a file that lies there and does not go, 5105 and 5123 for a file that cannot be
    /// made.
    pub(super) fn places_are_free(
        &self,
        list: &DatabaseList,
        places: &Places<'_>,
    ) -> Result<(), EngineError> {
        for (path, _) in &places.new {
            let exempt = places.exempt(path);
            self.refuse_used(list, path, exempt)?;
            self.refuse_bound(list, path, (places.database, exempt))?;
        }
        let volume = &*self.shared.volume;
        let mut free: Vec<(&PathBuf, Access)> = Vec::new();
        let mut there: Vec<Arc<dyn File>> = Vec::new();
        // The database's own places are locked first: another name of one of them shows.
        let (own, others): (Vec<_>, Vec<_>) = places.new.iter().partition(|p| places.is_own(p.0));
        for (path, access) in own.into_iter().chain(others) {
            file_path(path)?;
            places.apart(path)?;
            match check_free(volume, path, TAKEN_STATE) {
                Err(taken) if taken.has(5170) && places.goes(volume, path)? => {
                    there.extend(self.locked(places, path)?);
                    check_directory(volume, path, TAKEN_STATE)?;
                }
                Ok(()) => free.push((path, access)),
                checked => checked?,
            }
            for beside in [double_write_path(path), repair_path(path)] {
                if places.replace && volume.exists(&beside)? && !is_regular(volume, &beside) {
                    return Err(taken(&beside));
                }
            }
        }
        // All at once: two names of one place show.
        let mut made = Made::new(volume);
        for (path, access) in free {
            places.guard_is_free(volume, (path, access))?;
            if places.removes() {
                made.probe(path, access, TAKEN_STATE)?;
            }
        }
        Ok(())
    }

    /// A file that goes, locked for the moment; `None` of one of the database itself that is in use, and of
    /// one that cannot be opened. 5170 where another process has it, or it was locked under another name.
    fn locked(
        &self,
        places: &Places<'_>,
        path: &Path,
    ) -> Result<Option<Arc<dyn File>>, EngineError> {
        let is_open = || {
            let id = places.database.map(DatabaseId);
            id.is_some_and(|id| self.database_by_id(id).is_some())
        };
        match self.shared.volume.open(path, Open::Existing, Access::Data) {
            Ok(file) => Ok(Some(file)),
            Err(e) if e.kind == IoErrorKind::InUse => {
                let own = match (places.database, places.binding) {
                    // The restore has it, or the database that it replaces, whatever its first page says.
                    _ if places.is_own(path) => places.held || is_open(),
                    (Some(_), Some(binding)) if is_open() => {
                        is_own(&*self.shared.volume, path, binding)?
                    }
                    _ => false,
                };
                match own {
                    true => Ok(None),
                    false => Err(taken(path)),
                }
            }
            Err(_) => Ok(None),
        }
    }
}

/// Whether a file has no bytes.
fn is_empty(volume: &dyn Volume, path: &Path) -> Result<bool, EngineError> {
    let file = volume.open(path, Open::ReadOnly, Access::Data)?;
    Ok(file.len_bytes()? == 0)
}

/// The places of a layout, for [`Places::new`].
pub(super) fn places_of<'p>(
    plans: impl IntoIterator<Item = &'p FilePlan>,
) -> Vec<(&'p PathBuf, Access)> {
    let plans = plans.into_iter();
    plans.map(|plan| (&plan.path, access_of(plan))).collect()
}

/// How the file of a plan is opened.
pub(super) fn access_of(plan: &FilePlan) -> Access {
    match plan.filegroup {
        0 => Access::Log,
        _ => Access::Data,
    }
}

/// Makes the files of a layout, with a log for the virtual log files of a backup. Those that are `there` are
/// opened as they are, and the log loses what it has. On an error the files that were made are removed.
pub(super) fn make_files(
    volume: &dyn Volume,
    layout: &[FilePlan],
    (binding, sector, vlfs): ([u8; 16], u32, &[(u32, u64)]),
    there: &dyn Fn(&FilePlan) -> bool,
) -> Result<(DataFiles, Option<LogImage>), EngineError> {
    let mut made = Made::new(volume);
    let (mut files, mut log): (DataFiles, _) = (BTreeMap::new(), None);
    for plan in layout {
        let bytes = u64::from(plan.size_pages) * PAGE_SIZE as u64;
        let access = access_of(plan);
        let is_there = there(plan);
        let file = if is_there {
            let opened = volume.open(&plan.path, Open::Existing, access);
            opened.map_err(|e| open_error(&plan.path, &e))?
        } else {
            remove_empty(volume, &plan.path)?;
            made.create(&plan.path, access, TAKEN_STATE)?
        };
        if plan.filegroup == 0 {
            let image = LogImage::create(file, binding, sector, vlfs, bytes);
            log = Some(image.map_err(|e| EngineError::from(e).of_expansion())?);
            continue;
        }
        if !is_there {
            file.resize(bytes, Fill::Allocate)
                .map_err(|e| EngineError::from(e).of_expansion())?;
        }
        files.insert(plan.id, file);
    }
    made.keep();
    Ok((files, log))
}

/// Removes a file that a check of the places has left.
fn remove_empty(volume: &dyn Volume, path: &Path) -> Result<(), EngineError> {
    if volume.exists(path)? && is_regular(volume, path) && is_empty(volume, path)? {
        volume.remove(path)?;
    }
    Ok(())
}

/// The log of a restore that makes one.
pub(super) fn with_log(
    (files, log): (DataFiles, Option<LogImage>),
) -> Result<(DataFiles, LogImage), EngineError> {
    let log = log.ok_or_else(|| EngineError::Damaged("a backup without a log".into()))?;
    Ok((files, log))
}
