//! Whose file lies at a path: what a restore may remove or write over, and what it may not.
//!
//! # Invariants
//! 1. A restore removes no file of another database: not of one that is open, not one that the list of
//!    databases names, and not one with the binding of a database of the list. The list names the primary
//!    file of most databases alone, and a path can be written in several ways. This holds also at a place of
//!    the database itself: its file may be lost, and another database may have taken the place. Proofs:
//!    `a_restore_removes_no_file_of_another_database_at_an_old_place_of_its_own`,
//!    `a_file_restore_removes_no_file_of_another_database_at_the_old_place`,
//!    `a_file_of_an_open_database_is_recognised_under_another_path`,
//!    `a_restore_takes_no_file_of_an_attached_copy_of_the_database`,
//!    `a_restore_elsewhere_leaves_the_file_that_an_attached_copy_has_at_an_old_place`,
//!    `files_that_come_back_take_no_place_of_a_database_that_is_open`,
//!    `a_restore_with_replace_takes_no_file_of_a_database_that_is_not_open`.

use super::Instance;
use crate::files::{
    Made, bears, double_write_path, head_of, repair_path, undo_file_is_blank, undo_file_is_of,
    undo_file_is_short,
};
use crate::shared::{DatabaseList, Listed, Phase};
use furrow_io::{Access, IoError, IoErrorKind, Open, Volume};
use furrow_messages::Message;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};

/// State of 5170 in RESTORE.
pub(super) const TAKEN_STATE: u8 = 4;

/// A file and the ones that lie beside it.
fn with_neighbours(path: &Path) -> [PathBuf; 3] {
    [
        path.to_path_buf(),
        double_write_path(path),
        repair_path(path),
    ]
}

/// The files that a restore removes with the one at this path, and the one that it may lie beside.
fn removed_with(path: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = with_neighbours(path).into();
    let name = path.to_string_lossy();
    let suffixes = with_neighbours(Path::new(""));
    let suffixes = suffixes.iter().map(|suffix| suffix.to_string_lossy());
    let main = suffixes.filter(|suffix| !suffix.is_empty());
    all.extend(main.filter_map(|suffix| Some(PathBuf::from(name.strip_suffix(&*suffix)?))));
    all
}

/// Whether a file lies at a path where something lies.
pub(super) fn is_regular(volume: &dyn Volume, path: &Path) -> bool {
    match volume.open(path, Open::ReadOnly, Access::Data) {
        Err(e) => !matches!(e.kind, IoErrorKind::NotFound | IoErrorKind::NotRegular(_)),
        Ok(_) => true,
    }
}

/// What of a database does not count as used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exempt {
    /// Everything counts.
    Nothing,
    /// The pieces and the undo file of this database.
    Pieces(u16),
    /// All files of this database.
    All(u16),
}

/// 1834: a database uses this file.
fn in_use(path: &Path, user: &str) -> EngineError {
    EngineError::refused(1834, &[path.display().to_string().into(), user.into()])
}

/// 5170: a file lies there already.
pub(super) fn taken(path: &Path) -> EngineError {
    let args = [path.display().to_string().into()];
    EngineError::of(Message::new(5170, &args).with_state(TAKEN_STATE))
}

/// Where the undo file of a database in standby is to be.
#[derive(Debug)]
pub struct StandbyPlan<'a> {
    /// The name of the database.
    pub name: &'a str,
    /// The undo file.
    pub undo: &'a Path,
    /// Where the files of the backup go.
    pub files: &'a [PathBuf],
    /// Whether the backup replaces the database.
    pub replaces: bool,
    /// Files that the backup brings.
    pub brings: &'a [u16],
}

impl Instance {
    /// The database that uses a file, or one that lies beside it: it is open, or in the list.
    fn user_of(&self, list: &DatabaseList, path: &Path, exempt: Exempt) -> Option<String> {
        let wanted = with_neighbours(path);
        let meets = |used: &PathBuf| with_neighbours(used).iter().any(|p| wanted.contains(p));
        let databases = self.databases.read();
        let open = databases.values().find(|entry| {
            let open = entry.database.as_ref();
            exempt != Exempt::All(entry.id.0)
                && open.is_some_and(|d| d.all_paths().iter().any(meets))
        });
        if let Some(open) = open {
            return Some(open.name.clone());
        }
        let mut all = list.databases.iter();
        let listed = all.find(|listed| {
            if exempt == Exempt::All(listed.id) {
                return false;
            }
            let others = exempt != Exempt::Pieces(listed.id);
            let undo = &listed.link.undo;
            let has_undo = others && !undo.as_os_str().is_empty();
            let pieces = listed.absent.piece_paths();
            listed.paths.iter().any(meets)
                || listed.layout.iter().any(|plan| meets(&plan.path))
                || has_undo && meets(undo)
                || others && pieces.iter().any(meets)
        });
        listed.map(|listed| listed.name.clone())
    }

    /// Refuses a path for a backup or for results, if it is that of a file of a database: open, offline or
    /// being restored, and whether a file lies there or not (1834).
    pub fn may_write_over(&self, path: &Path) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let list = self.shared.list.lock();
        self.refuse_used(&list, path, Exempt::Nothing)
    }

    /// 1834 for a path that a database uses.
    pub(super) fn refuse_used(
        &self,
        list: &DatabaseList,
        path: &Path,
        exempt: Exempt,
    ) -> Result<(), EngineError> {
        let user = self.user_of(list, path, exempt);
        user.map_or(Ok(()), |user| Err(in_use(path, &user)))
    }

    /// 1834 for a path at which a file with the binding of a database of the list lies that is not `own`.
    pub(super) fn refuse_bound(
        &self,
        list: &DatabaseList,
        path: &Path,
        (own, exempt): (Option<u16>, Exempt),
    ) -> Result<(), EngineError> {
        let volume = &*self.shared.volume;
        for file in removed_with(path) {
            if !volume.exists(&file)? || !is_regular(volume, &file) {
                continue;
            }
            let head = head_of(volume, &file)?;
            let mut others = Self::others(list, own, exempt);
            let user = others.find(|d| bears(&head, Guid(d.binding)));
            if let Some(user) = user {
                return Err(in_use(path, &user.name));
            }
        }
        Ok(())
    }

    /// Whether a file of another database than this one lies at a path.
    pub(super) fn is_of_another(
        &self,
        list: &DatabaseList,
        path: &Path,
        own: &Listed,
    ) -> Result<bool, EngineError> {
        let exempt = Exempt::All(own.id);
        let used = self.refuse_used(list, path, exempt);
        let used = used.and_then(|()| self.refuse_bound(list, path, (Some(own.id), exempt)));
        match used {
            Err(e) if e.has(1834) => Ok(true),
            other => other.map(|()| false),
        }
    }

    /// Removes files of a database that is restored, but for those of other databases. One that cannot be
    /// removed is left behind, unless a new file takes its place: its device may be why the database moves.
    pub(super) fn remove_or_leave(
        &self,
        (list, own): (&DatabaseList, &Listed),
        paths: &[PathBuf],
        is_new: &dyn Fn(&Path) -> bool,
        remove: &dyn Fn(&Path) -> Result<(), IoError>,
    ) -> Result<(), EngineError> {
        for path in paths {
            let removed = match self.is_of_another(list, path, own) {
                Ok(true) => Ok(()),
                Ok(false) => remove(path).map_err(EngineError::from),
                Err(error) => Err(error),
            };
            match removed {
                Err(error) if is_new(path) => return Err(error),
                Err(error) => self.say_left(path, &own.name, &error),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// The databases of the list, but for the one that is restored. Another one may be an attached copy of it
    /// and have the same binding: what has that binding at a place of the restored database is its own.
    fn others(
        list: &DatabaseList,
        own: Option<u16>,
        exempt: Exempt,
    ) -> impl Iterator<Item = &Listed> {
        let restored = list.databases.iter().find(|d| own == Some(d.id));
        let binding = restored.map(|d| d.binding);
        let at_own_place = matches!(exempt, Exempt::All(_));
        let others = list.databases.iter().filter(move |d| own != Some(d.id));
        others.filter(move |d| !(at_own_place && binding == Some(d.binding)))
    }

    /// Whether an open database has this file.
    pub(super) fn is_open_file(&self, path: &Path) -> bool {
        let databases = self.databases.read();
        let open = databases.values().filter_map(|e| e.database.as_ref());
        open.flat_map(|d| d.all_paths()).any(|used| used == path)
    }

    /// Refuses a restore WITH STANDBY before it has changed anything: the undo file cannot be made, or is
    /// another file, or the database will lack files.
    pub fn may_stand_by(&self, plan: &StandbyPlan<'_>) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let list = self.shared.list.lock();
        let lower = plan.name.to_lowercase();
        let mut all = list.databases.iter();
        let known = all.find(|d| d.name.to_lowercase() == lower);
        let wanted = with_neighbours(plan.undo);
        let is_file = |file: &PathBuf| with_neighbours(file).iter().any(|p| wanted.contains(p));
        if plan.files.iter().any(is_file) {
            return Err(in_use(plan.undo, plan.name));
        }
        if let Some(known) =
            known.filter(|known| plan.replaces && known.paths.iter().any(|p| p == plan.undo))
            && (!self.shared.volume.exists(plan.undo)?
                || self.is_left_undo(plan.undo, Some(Guid(known.binding)))?)
        {
            // It goes with the files that are replaced.
            return Ok(());
        }
        let exempt = known.map_or(Exempt::Nothing, |k| Exempt::Pieces(k.id));
        if let Some(user) = self.user_of(&list, plan.undo, exempt) {
            return Err(in_use(plan.undo, &user));
        }
        if let Some(known) = known.filter(|_| !plan.replaces) {
            if known.phase == Phase::Whole && !known.absent.is_empty() {
                let text = "'RESTORE WITH STANDBY of files of a database that is online' is not \
                            supported.";
                return Err(EngineError::of(Message::custom(40_514, 16, 1, text)));
            }
            let mut after = known.absent.clone();
            after.files.retain(|file| !plan.brings.contains(&file.id));
            after.refuse("RESTORE WITH STANDBY")?;
        }
        // The one that it has goes when its standby ends.
        let has_it = |k: &&Listed| k.link.undo == plan.undo;
        if let Some(known) = known.filter(has_it)
            && (known.phase == Phase::Standby || self.undo_goes(known)?)
        {
            return Ok(());
        }
        let own = known.filter(|_| !plan.replaces).map(|k| Guid(k.binding));
        match self.is_left_undo(plan.undo, own)? {
            true => Ok(()),
            false => self.can_be_made(plan.undo),
        }
    }

    /// Whether an undo file lies at a path that can go: of the database with this binding, or one that a
    /// crash has left while it was made.
    fn is_left_undo(&self, path: &Path, own: Option<Guid>) -> Result<bool, EngineError> {
        let volume = &*self.shared.volume;
        if !volume.exists(path)? || !is_regular(volume, path) {
            return Ok(false);
        }
        let of_it = |own| undo_file_is_of(volume, path, own);
        Ok(undo_file_is_blank(volume, path)? || own.map_or(Ok(false), of_it)?)
    }

    /// Whether a regular file at a path is no longer than an undo file that was being made.
    fn is_torn_undo(&self, path: &Path) -> Result<bool, EngineError> {
        let volume = &*self.shared.volume;
        let there = volume.exists(path)? && is_regular(volume, path);
        Ok(there && undo_file_is_short(volume, path)?)
    }

    /// Makes a file, and removes it again.
    fn can_be_made(&self, path: &Path) -> Result<(), EngineError> {
        let mut made = Made::new(&*self.shared.volume);
        made.create(path, Access::Data, TAKEN_STATE).map(drop)
    }

    /// Removes the undo file that the list names of a database that is RESTORING. A power loss may have torn
    /// it; a longer file that has taken its place stays.
    pub(super) fn remove_listed_undo(&self, listed: &Listed) -> Result<(), EngineError> {
        let (volume, undo) = (&*self.shared.volume, &listed.link.undo);
        if listed.phase != Phase::Restoring || undo.as_os_str().is_empty() {
            return Ok(());
        }
        match self.undo_goes(listed)? {
            true => Ok(volume.remove(undo)?),
            false => Ok(()),
        }
    }

    /// Whether what lies where the list says is the undo file of a database that is RESTORING, perhaps torn.
    fn undo_goes(&self, listed: &Listed) -> Result<bool, EngineError> {
        let (undo, own) = (&listed.link.undo, Guid(listed.binding));
        Ok(self.is_torn_undo(undo)? || self.is_left_undo(undo, Some(own))?)
    }

    /// Removes an undo file that an earlier standby of the database with this binding has left; 5170 for
    /// anything else that lies there.
    pub(super) fn remove_undo(&self, undo: &Path, binding: Guid) -> Result<(), EngineError> {
        let volume = &*self.shared.volume;
        if !volume.exists(undo)? {
            return Ok(());
        }
        if !self.is_left_undo(undo, Some(binding))? {
            return Err(taken(undo));
        }
        Ok(volume.remove(undo)?)
    }
}
