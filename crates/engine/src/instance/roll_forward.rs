//! A database that is RESTORING goes on: differential backups and backups of the log.
//!
//! 1. [`Instance::resume_restore`] opens the files that are in place, and reads where their log ends. A
//!    restore that did not come to its end has no log, and is refused (3117).
//! 2. A log backup appends: [`Instance::extend_restore`] makes place for its virtual log files, and makes the
//!    files that were added since. [`Instance::may_extend`] refuses a log backup before that.
//! 3. A differential backup replaces: see the module `differential`.

use super::Instance;
use super::places::TAKEN_STATE;
use super::restore::{
    RestoreFile, RestoreSpec, RestoredPages, Restoring, Settled, held_for_restore, is_no_log,
    log_error, plan_of,
};
use super::restore_files::{header_in, needs_of, strays_of};
use super::restored_files::{DataFiles, Leftovers, Places};
use crate::files::{FilePlan, Made, open_error, read_boot, remove_any, remove_own};
use crate::opening::header_of;
use crate::shared::{DatabaseList, Listed, Phase, RestoreHold};
use furrow_format::{Boot, FileId, Forks, Lsn, PAGE_SIZE};
use furrow_io::sync::Mutex;
use furrow_io::time::WallTime;
use furrow_io::{Access, File, Fill, Open};
use furrow_log::{LogError, LogImage, RecordKind};
use furrow_messages::Message;
use furrow_space::new_file_pages;
use furrow_tables::EngineError;
use furrow_txn::CommitBody;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn unsupported(what: &str, advice: &str) -> EngineError {
    let text = format!("'{what}' is not supported. {advice}");
    EngineError::of(Message::custom(40_514, 16, 1, &text))
}

impl Restoring {
    /// The last log record that is in place, of a restore that goes on.
    pub fn applied(&self) -> Lsn {
        self.applied
    }

    /// When the latest commit of the log that is in place was, of a restore that goes on.
    pub fn last_commit(&self) -> Option<WallTime> {
        self.last_commit
    }

    /// Whether a file of a backup is one of those that are being restored, or will be.
    pub fn looks_at(&self, file: u16, filegroup: u16) -> bool {
        match self.listed.phase {
            Phase::Piece => {
                let own = self.listed.layout.iter().any(|p| p.filegroup == filegroup);
                filegroup != 0 && own && !self.files.contains_key(&file)
            }
            _ => !self.listed.absent.has(file),
        }
    }

    /// The family of the database, as its primary file says.
    pub fn family(&self) -> Result<Guid, EngineError> {
        match self.family {
            Some(family) => Ok(family),
            None => Ok(self.boot()?.family),
        }
    }

    /// The base of differential backups that is in place; zeros where there is none.
    pub fn base(&self) -> Result<Guid, EngineError> {
        Ok(self.boot()?.differential_base)
    }

    /// Whether some data file is older than the base with this checkpoint: it was restored by itself.
    pub fn is_older_than(&self, base: Lsn) -> Result<bool, EngineError> {
        Ok(self.needs_of_files()?.iter().any(|needs| *needs < base))
    }

    /// Whether some data file needs log behind this record: it holds changes from there.
    pub fn is_newer_than(&self, last: Lsn) -> Result<bool, EngineError> {
        Ok(self.needs_of_files()?.iter().any(|needs| *needs > last))
    }

    /// Whether a backup whose last record is `last` has gone the way that what is in place has gone.
    pub fn is_on_path(&self, forks: &Forks, last: Lsn) -> Result<bool, EngineError> {
        let known = &self.listed.link.forks;
        Ok(known.is_empty() || known.agree(forks, self.reach()?.min(last)))
    }

    /// The last record that the log has, or a page may have.
    fn reach(&self) -> Result<Lsn, EngineError> {
        let needs = self.needs_of_files()?.into_iter().max();
        Ok(self.applied.max(needs.unwrap_or(Lsn::ZERO)))
    }

    /// Nothing more is restored.
    pub(super) fn into_settled(self) -> Settled {
        Settled {
            listed: self.listed,
            files: self.files,
            end: self.applied,
            is_lost: self.log.is_lost(),
            is_certain: !self.log.is_lost() && self.log.has_known_end(),
            hold: self.hold,
        }
    }

    /// The end of the log that each data file needs, as its header says; zero of one without a header.
    fn needs_of_files(&self) -> Result<Vec<Lsn>, EngineError> {
        let needs = self.files.values().map(|file| needs_of(&**file));
        needs.map(|n| Ok(n?.unwrap_or(Lsn::ZERO))).collect()
    }

    fn boot(&self) -> Result<Boot, EngineError> {
        let primary = self.files.get(&1);
        let primary = primary.ok_or_else(|| EngineError::Damaged("no primary file".into()))?;
        Ok(read_boot(&**primary, primary.path())?.0)
    }

    /// The files of a backup that are not in place: they were added since. Of a piece those of its own
    /// filegroups count alone.
    fn added(&self, spec: &RestoreSpec) -> Vec<RestoreFile> {
        let listed = &self.listed;
        let own = |group| listed.layout.iter().any(|plan| plan.filegroup == group);
        let missing = |file: &&RestoreFile| {
            // A file that was added to a filegroup that is left out is left out, too.
            let absent = &listed.absent;
            let left_out = absent.has(file.id.0) || absent.has_group(file.filegroup);
            let there = self.files.contains_key(&file.id.0) || left_out;
            let of_it = listed.phase != Phase::Piece || own(file.filegroup);
            file.filegroup != 0 && !there && of_it
        };
        spec.files.iter().filter(missing).cloned().collect()
    }

    /// Files that have become larger.
    pub(super) fn enlarge(&self, files: &[RestoreFile]) -> Result<(), EngineError> {
        let left_out = |id: FileId| match self.listed.phase {
            Phase::Piece => !self.files.contains_key(&id.0),
            _ => self.listed.absent.has(id.0),
        };
        let data = files.iter().filter(|file| file.filegroup != 0);
        for plan in data.filter(|file| !left_out(file.id)) {
            let strange = || EngineError::Damaged(format!("file {} is not in place", plan.id));
            let file = self.files.get(&plan.id.0).ok_or_else(strange)?;
            let bytes = u64::from(plan.size_pages) * PAGE_SIZE as u64;
            if file.len_bytes()? < bytes {
                file.resize(bytes, Fill::Allocate)
                    .map_err(|e| EngineError::from(e).of_expansion())?;
            }
        }
        Ok(())
    }
}

impl Restoring {
    /// The GUID of the file of this number that is in place; `None` where there is none, or no header.
    fn guid_in_place(&self, id: u16) -> Result<Option<Guid>, EngineError> {
        let Some(file) = self.files.get(&id) else {
            return Ok(None);
        };
        let guid = header_in(&**file)?.map(|header| header.file_guid);
        Ok(guid.filter(|guid| *guid != Guid([0; 16])))
    }

    /// Whether a file of a backup is another one than the file of the same number that is in place.
    pub(super) fn is_another(&self, file: &RestoreFile) -> Result<bool, EngineError> {
        let known = file.guid != Guid([0; 16]);
        let there = self.guid_in_place(file.id.0)?.filter(|_| known);
        Ok(there.is_some_and(|there| there != file.guid))
    }

    /// 40514 where the number of a file in place is that of another file in a log backup: it was removed, and
    /// its number was used again. The log would change the one as if it were the other.
    fn has_the_files_of(&self, spec: &RestoreSpec) -> Result<(), EngineError> {
        for file in spec.files.iter().filter(|file| file.filegroup != 0) {
            if self.is_another(file)? {
                let what = format!(
                    "RESTORE LOG in which the file '{}' has the number {} of a file that was removed",
                    file.name, file.id
                );
                let advice = "Restore a full or differential backup that was taken after the file was \
                              added.";
                return Err(unsupported(&what, advice));
            }
        }
        Ok(())
    }
}

/// Files of a backup that were added to a filegroup that is left out.
pub(super) fn left_out_too(listed: &Listed, spec: &RestoreSpec) -> Vec<FilePlan> {
    let there = |id| listed.layout.iter().any(|plan| plan.id == id);
    let absent = &listed.absent;
    let more =
        |f: &&RestoreFile| absent.has_group(f.filegroup) && !absent.has(f.id.0) && !there(f.id.0);
    spec.files.iter().filter(more).map(plan_of).collect()
}

impl Instance {
    /// Goes on with a database that was left RESTORING; 3117 of any other.
    pub fn resume_restore(&self, name: &str) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        let (listed, hold) = self.hold_listed(name)?;
        let listed = match listed.phase {
            Phase::Standby => self.end_standby(&listed)?,
            Phase::Restoring => self.without_undo(listed)?,
            _ => return Err(EngineError::refused(3117, &[])),
        };
        let mut restoring = self.resume(listed, (None, Some(hold)))?;
        self.give_up_interrupted(&mut restoring)?;
        Ok(restoring)
    }

    /// Files of a log restore that was interrupted are given up: the log backup may be restored again, or
    /// another one that does not have them.
    pub(super) fn give_up_interrupted(&self, restoring: &mut Restoring) -> Result<(), EngineError> {
        match restoring.log.is_interrupted() {
            true => {
                let end = restoring.applied;
                self.give_up_unlogged((&mut restoring.listed, &mut restoring.files), end)
            }
            false => Ok(()),
        }
    }

    /// Files that a log backup has added behind `end`, where the log ends, are not of the database.
    pub(super) fn give_up_unlogged(
        &self,
        (listed, files): (&mut Listed, &mut DataFiles),
        end: Lsn,
    ) -> Result<(), EngineError> {
        let unlogged = self.unlogged(listed, files, end);
        self.give_up_files((listed, files), &unlogged)
    }

    /// Files of these numbers are not of the database: their places are strays from here on. The entry of a
    /// piece has no strays: its files are removed.
    pub(super) fn give_up_files(
        &self,
        (listed, files): (&mut Listed, &mut DataFiles),
        numbers: &[u16],
    ) -> Result<(), EngineError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let goes = |plan: &FilePlan| numbers.contains(&plan.id);
        debug_assert!(
            !listed
                .layout
                .iter()
                .any(|plan| plan.filegroup == 0 && goes(plan)),
            "the log stays"
        );
        let gone = listed.layout.extract_if(.., |plan| goes(plan));
        let gone: Vec<PathBuf> = gone.map(|plan| plan.path).collect();
        files.retain(|id, _| !numbers.contains(id));
        if listed.phase != Phase::Piece {
            return self.note_restoring(listed);
        }
        listed.paths.retain(|path| !gone.contains(path));
        self.note_restoring(listed)?;
        let remove =
            |path: &Path| remove_own(&*self.shared.volume, path, Guid(listed.binding)).map(drop);
        let list = self.shared.list.lock();
        self.remove_or_leave((&list, &*listed), &gone, &|_| false, &remove)
    }

    /// A database that is to be restored, which no other statement restores or removes meanwhile.
    pub(super) fn hold_listed(&self, name: &str) -> Result<(Listed, RestoreHold), EngineError> {
        let list = self.shared.list.lock();
        let missing = || EngineError::refused(3118, &[name.into()]);
        let listed = list.named(name).cloned().ok_or_else(missing)?;
        let hold = held_for_restore(&list, listed.id)?;
        if listed.phase == Phase::Restoring {
            Self::without_snapshots(&list, listed.id)?;
        }
        Ok((listed, hold))
    }

    /// Goes on with what is in place of a database, or of a piece of one of this family.
    pub(super) fn resume(
        &self,
        listed: Listed,
        (family, hold): (Option<Guid>, Option<RestoreHold>),
    ) -> Result<Restoring, EngineError> {
        let open = |path: &Path, access| {
            let opened = self.shared.volume.open(path, Open::Existing, access);
            opened.map_err(|e| open_error(path, &e))
        };
        let (mut files, mut log): (DataFiles, _) = (BTreeMap::new(), None);
        for plan in &listed.layout {
            match plan.filegroup {
                0 => log = Some(open(&plan.path, Access::Log)?),
                _ => drop(files.insert(plan.id, open(&plan.path, Access::Data)?)),
            }
        }
        // What was not restored to its end has no log yet.
        let log = log.ok_or_else(|| EngineError::refused(3117, &[]))?;
        let mut last_commit = None;
        let reopened = LogImage::reopen_and(log, listed.binding, |record| {
            let view = record.get();
            if view.kind == RecordKind::Commit {
                let at = CommitBody::decode(view.redo).and_then(|body| body.at);
                last_commit = last_commit.max(at);
            }
        });
        let (log, applied) = reopened.map_err(|e| match is_no_log(&e) {
            true => EngineError::refused(3117, &[]),
            false => log_error(&listed.name, e),
        })?;
        let mut restoring = Restoring {
            checkpoint: log.checkpoint(),
            needs: applied,
            listed,
            files,
            log,
            applied,
            last_commit,
            pages: RestoredPages::Logged,
            family,
            limit: Lsn::MAX,
            turn: None,
            hold,
            held: Mutex::default(),
        };
        if restoring.listed.link.forks.is_empty() {
            // An earlier version left it so. It had one fork alone.
            let boot = restoring.boot();
            restoring.listed.link.forks = boot.map_or_else(|_| Forks::default(), |b| b.forks);
        }
        Ok(restoring)
    }

    /// Refuses a log backup whose files or log have no place, before it changes anything: 1834, 5133, 5170,
    /// 40514.
    pub fn may_extend(&self, restoring: &Restoring, spec: &RestoreSpec) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        if restoring.listed.absent.point > restoring.applied {
            // Log that an interrupted recovery has read is lost, and pages may be newer than what is left.
            return Err(EngineError::refused(3117, &[]));
        }
        restoring.has_the_files_of(spec)?;
        self.free_for_added(&self.shared.list.lock(), restoring, spec)?;
        restoring.log.may_extend(&spec.vlfs).map_err(|e| match e {
            LogError::TooManyVlfs => unsupported(
                "RESTORE LOG of a log whose virtual log files have more than 336 sizes in a row",
                "Restore a full or differential backup that was taken later.",
            ),
            other => other.into(),
        })
    }

    /// The files of a log backup that were added since, if their places are free.
    fn free_for_added(
        &self,
        list: &DatabaseList,
        restoring: &Restoring,
        spec: &RestoreSpec,
    ) -> Result<Vec<RestoreFile>, EngineError> {
        let added = restoring.added(spec);
        let places = Places {
            new: added
                .iter()
                .map(|file| (&file.path, Access::Data))
                .collect(),
            binding: Some(Guid(restoring.listed.binding)),
            database: Some(restoring.listed.id),
            // An interrupted restore has made it.
            own: strays_of(&restoring.listed),
            leftovers: match restoring.listed.phase {
                // Its entry does not name what it has made.
                Phase::Piece => Leftovers::Unwritten,
                _ => Leftovers::Bound,
            },
            replace: spec.replace,
            ..Places::default()
        };
        self.places_are_free(list, &places)?;
        Ok(added)
    }

    /// Removes files that an interrupted restore has left at places that the database does not have, but for
    /// those that `stays` names. One that cannot be removed is left behind.
    pub(super) fn remove_strays(
        &self,
        list: &DatabaseList,
        listed: &Listed,
        stays: &dyn Fn(&Path) -> bool,
    ) {
        let volume = &*self.shared.volume;
        let remove = |path: &Path| remove_own(volume, path, Guid(listed.binding)).map(drop);
        let mut strays = strays_of(listed);
        strays.retain(|path| !stays(path));
        let removed = self.remove_or_leave((list, listed), &strays, &|_| false, &remove);
        debug_assert!(removed.is_ok(), "nothing new takes a place of these");
    }

    /// Makes the files of a log backup that were added since. No other database takes their places meanwhile.
    fn make_all_added(
        &self,
        restoring: &mut Restoring,
        spec: &RestoreSpec,
    ) -> Result<(), EngineError> {
        let mut list = self.shared.list.lock();
        let added = self.free_for_added(&list, restoring, spec)?;
        if added.is_empty() {
            return Ok(());
        }
        let mut listed = restoring.listed.clone();
        listed.layout.extend(added.iter().map(plan_of));
        listed.layout.sort_by_key(|plan| plan.id);
        listed.paths = listed.layout.iter().map(|plan| plan.path.clone()).collect();
        // Their paths are in the list before they are made: DROP DATABASE removes them after a crash. The
        // entry of a piece has no place for that.
        let strays = strays_of(&restoring.listed);
        let mut announced = restoring.listed.clone();
        announced.paths.clone_from(&listed.paths);
        announced.paths.extend(strays.iter().cloned());
        list.change(|all| announced.note_in(all))?;
        // Before files are made, which may lie there under another name.
        let is_new = |path: &Path| listed.paths.iter().any(|new| new == path);
        self.remove_strays(&list, &restoring.listed, &is_new);
        let mut made = Made::new(&*self.shared.volume);
        let mut files: DataFiles = BTreeMap::new();
        for file in &added {
            let data = self.make_added(restoring, &mut made, (file, spec.replace))?;
            files.insert(file.id.0, data);
        }
        // From here on the files belong to the database: a restart finds them made.
        list.change(|all| listed.clone().note_in(all))?;
        made.keep();
        drop(list);
        if listed.phase != Phase::Piece {
            self.enter_restoring(&listed);
        }
        restoring.files.append(&mut files);
        restoring.listed = listed;
        Ok(())
    }

    /// Makes place for the virtual log files of a log backup, and for files that have become larger. A file
    /// that was added since is made as ALTER DATABASE made it: redo does the rest.
    pub fn extend_restore(
        &self,
        restoring: &mut Restoring,
        spec: &RestoreSpec,
    ) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        self.may_extend(restoring, spec)?;
        self.leave_out(restoring, spec)?;
        // First of all: from here on the log says that this restore has begun.
        restoring.log.extend(&spec.vlfs)?;
        self.make_all_added(restoring, spec)?;
        let before = (restoring.listed.link.clone(), restoring.listed.absent.point);
        // Nothing was logged by a recovery: it will begin behind this log.
        restoring.listed.absent.point = Lsn::ZERO;
        if !restoring.listed.is_of(spec.source) {
            // The log of a copy goes on from here: so does the history.
            restoring.listed.link.source = spec.source.0;
        }
        if spec.last_lsn >= restoring.reach()? {
            restoring.listed.link.forks = spec.forks.clone();
        }
        if (&restoring.listed.link, restoring.listed.absent.point) != (&before.0, before.1) {
            self.note_restoring(&restoring.listed)?;
        }
        restoring.enlarge(&spec.files)?;
        if spec.last_lsn > restoring.limit {
            restoring.stop_at(restoring.limit.next());
        }
        Ok(())
    }

    /// Notes what is in place of a database that is being restored, or of a piece of one.
    pub(super) fn note_restoring(&self, listed: &Listed) -> Result<(), EngineError> {
        let mut list = self.shared.list.lock();
        list.change(|all| listed.clone().note_in(all))?;
        if listed.phase != Phase::Piece {
            self.enter_restoring(listed);
        }
        Ok(())
    }

    /// Files that were added to a filegroup that is left out are left out, too.
    pub(super) fn leave_out(
        &self,
        restoring: &mut Restoring,
        spec: &RestoreSpec,
    ) -> Result<(), EngineError> {
        let more = left_out_too(&restoring.listed, spec);
        if more.is_empty() {
            return Ok(());
        }
        let mut listed = restoring.listed.clone();
        listed.absent.files.extend(more);
        self.note_restoring(&listed)?;
        restoring.listed = listed;
        Ok(())
    }

    fn make_added(
        &self,
        restoring: &Restoring,
        made: &mut Made<'_>,
        (file, replace): (&RestoreFile, bool),
    ) -> Result<Arc<dyn File>, EngineError> {
        let binding = Guid(restoring.listed.binding);
        match replace {
            true => remove_any(&*self.shared.volume, &file.path)?,
            // One that an interrupted restore has made.
            false => drop(remove_own(&*self.shared.volume, &file.path, binding)?),
        }
        let plan = FilePlan {
            size_pages: file.first_pages.max(1),
            ..plan_of(file)
        };
        let mut header = header_of(&plan, binding, file.guid, file.created);
        header.max_lsn = restoring.checkpoint.max(file.created);
        let data = made.create(&file.path, Access::Data, TAKEN_STATE)?;
        new_file_pages(&*data, &header, &[], Fill::Allocate)?;
        Ok(data)
    }

    /// Makes the log that is in place no log, durably: its pages are about to change.
    pub(super) fn forget_log(&self, listed: &Listed) -> Result<(), EngineError> {
        let mut plans = listed.layout.iter();
        let plan = plans.find(|plan| plan.filegroup == 0);
        let plan = plan.ok_or_else(|| EngineError::refused(3117, &[]))?;
        let file = self
            .shared
            .volume
            .open(&plan.path, Open::Existing, Access::Log);
        let file = file.map_err(|e| open_error(&plan.path, &e))?;
        file.resize(0, Fill::Allocate)?;
        Ok(file.sync()?)
    }
}
