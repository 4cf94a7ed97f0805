//! Where the files of a database are, when not where its catalog says.

use super::Shared;
use super::listed::AbsentFile;
use crate::files::{UndoFile, is_known_page};
use furrow_format::{Forks, Lsn, PageId};
use furrow_io::File;
use furrow_io::sync::Mutex;
use furrow_log::LogError;
use furrow_recovery::Aside;
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where files are now that the catalog knows by other paths: matched by file name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moved {
    pub(crate) paths: Vec<PathBuf>,
    /// Files of a restore, by number: the others count for nothing then.
    pub(crate) by_id: BTreeMap<u16, PathBuf>,
    /// Of a restore: its recovery forks, the one that begins with this recovery first.
    pub(crate) forks: Forks,
    /// Where files are, by number: of a database that is reverted.
    pub(crate) at: BTreeMap<u16, PathBuf>,
    /// The primary file's directory: files that are not at their place are looked for there.
    pub(crate) home: PathBuf,
    /// Files that the database is opened without.
    pub(crate) absent: BTreeMap<u16, AbsentFile>,
    /// Of a database that comes to standby: what its files held goes there before they are written.
    pub(crate) undo: Option<Arc<UndoFile>>,
    /// FOR ATTACH: a new log is created in place of a lost one, where that is allowed. A file is looked for
    /// beside the primary one, too, if the file at the recorded path is not the right one.
    pub(crate) attaching: bool,
    /// Of a repair: what redo sets aside. A page that cannot be read is left to the repair.
    pub(crate) repair: Option<Arc<Mutex<SetAside>>>,
    /// Of a repair: where the log has ended before. It must not end earlier now.
    pub(crate) log_end: Lsn,
}

/// Openings of one repair that end because a page can be read again.
const MOST_REPEATS: u32 = 2;

/// The pages that end an opening of a repair, because redo could not change them.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// Pages that can be read, and do not have what the log says.
    pub(crate) stale: Vec<PageId>,
    /// Whether a page could not be read, and can be now: redo with it has to begin again.
    pub(crate) is_readable_again: bool,
    /// Openings that have ended so.
    repeats: u32,
}

impl Moved {
    /// The file of this number and filegroup as an absent one: all files of a filegroup are, or none is.
    pub(crate) fn absent_file(&self, (id, filegroup): (u16, u16)) -> Option<Option<&AbsentFile>> {
        let mut all = self.absent.values();
        let same_group = |file: &AbsentFile| file.plan.filegroup == filegroup;
        (filegroup != 0 && all.any(same_group)).then(|| self.absent.get(&id))
    }

    /// Takes the pages that redo has set aside, and returns those that are left to a repair; an error unless
    /// all are. Those by which files are known may not: they were sound, or computed, before redo. Nor may
    /// one that `reads_again`, unless that has ended openings before.
    pub(crate) fn leave(
        &self,
        aside: Vec<Aside>,
        reads_again: &dyn Fn(PageId) -> Result<bool, EngineError>,
    ) -> Result<Vec<PageId>, EngineError> {
        let Some(repair) = &self.repair else {
            let first = aside.into_iter().next();
            return first.map_or(Ok(Vec::new()), |first| Err(first.error.into()));
        };
        let mut repair = repair.lock();
        let may_repeat = repair.repeats < MOST_REPEATS;
        let (mut first, mut left, mut again) = (None, Vec::new(), false);
        for Aside {
            page,
            error,
            is_stale,
        } in aside
        {
            if is_stale {
                repair.stale.push(page);
            } else if may_repeat && reads_again(page)? {
                again = true;
            } else if !is_known_page(page) {
                left.push(page);
                continue;
            }
            first = first.or(Some(error));
        }
        repair.is_readable_again |= again;
        repair.repeats += u32::from(again);
        first.map_or(Ok(left), |first| Err(first.into()))
    }

    /// Whether it is a restore that ends.
    pub(crate) fn is_restore(&self) -> bool {
        !self.by_id.is_empty()
    }

    /// Of a restore, its recovery forks.
    pub(crate) fn restored(&self) -> Option<&Forks> {
        Some(&self.forks).filter(|_| self.is_restore())
    }

    /// Proves that the fork that begins with the end of a restore begins behind the log that is there, and
    /// that a repair reads as much of the log as before.
    pub(crate) fn prove_end(&self, end: Lsn) -> Result<(), EngineError> {
        if end < self.log_end {
            return Err(LogError::Missing(self.log_end).into());
        }
        let begins = self.forks.all().first();
        match !self.is_restore() || begins.is_some_and(|fork| fork.first.0 == end.0 + 1) {
            true => Ok(()),
            false => {
                let text = format!("the log of a restore ends with record {end}");
                Err(EngineError::Damaged(text))
            }
        }
    }

    /// A file as a database in standby opens it; any other as it is.
    pub(crate) fn guarded(
        &self,
        file: Arc<dyn File>,
        id: u16,
    ) -> Result<Arc<dyn File>, EngineError> {
        match &self.undo {
            Some(undo) => Ok(undo.guard(file, id)?),
            None => Ok(file),
        }
    }

    pub(crate) fn find(
        &self,
        shared: &Shared,
        (id, recorded): (u16, &Path),
    ) -> Result<PathBuf, EngineError> {
        if let Some(restored) = self.by_id.get(&id).or_else(|| self.at.get(&id)) {
            return Ok(restored.clone());
        }
        let name = recorded.file_name();
        if let Some(reported) = self.paths.iter().find(|p| p.file_name() == name) {
            return Ok(reported.clone());
        }
        let beside = name.map(|name| self.home.join(name));
        match beside {
            Some(beside)
                if !shared.volume.exists(recorded)? && shared.volume.exists(&beside)? =>
            {
                Ok(beside)
            }
            _ => Ok(recorded.to_path_buf()),
        }
    }

    /// Where else a data file may be that was not found at `tried`: the primary file may be of a copy, whose
    /// original still lies in the recorded place.
    pub(crate) fn elsewhere(
        &self,
        shared: &Shared,
        tried: &Path,
    ) -> Result<Option<PathBuf>, EngineError> {
        let beside = tried.file_name().map(|name| self.home.join(name));
        let other = |beside: &PathBuf| beside != tried && !self.paths.iter().any(|p| p == tried);
        match beside.filter(other).filter(|_| self.attaching) {
            Some(beside) if shared.volume.exists(&beside)? => Ok(Some(beside)),
            _ => Ok(None),
        }
    }
}
