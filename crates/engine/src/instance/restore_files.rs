//! Files of a database restored by themselves, and the state in which that can be done.
//!
//! 1. BACKUP LOG ... WITH NORECOVERY takes the tail of the log, and leaves the database RESTORING as it is:
//!    [`Instance::become_restoring`]. Its files hold nothing that the log has not.
//! 2. [`Instance::begin_file_restore`] makes new files for those of a backup. The others stay. Redo must
//!    begin where the backup needs it: the log in place stays where it reaches back so far; else the log of
//!    the backup takes its place, and log backups follow up to the tail. A recovery that was interrupted has
//!    logged in the log in place: it does not go while a file stays that the recovery may have changed.
//! 3. The header of a file is written last. It names the end of the log that the file needs, as the headers
//!    of the others do: a log that ends before is not recovered from (4318).
//!
//! Redo of what the other files have already changes nothing: their pages are newer.

use super::Instance;
use super::restore::{
    RestoreSpec, RestoredPages, Restoring, Settled, is_no_log, log_error, plan_of,
};
use super::restored_files::{DataFiles, Places, make_files, places_of};
use crate::database::Database;
use crate::files::{FilePlan, open_error, read_boot, remove_any, remove_own};
use crate::shared::{Absent, DatabaseList, Link, Listed, Phase};
use furrow_format::{FileHeader, Lsn, PAGE_SIZE};
use furrow_io::sync::Mutex;
use furrow_io::{Access, AlignedBuf, File, Open};
use furrow_log::{LogError, LogImage};
use furrow_pool::CheckpointOptions;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Database {
    /// Begins the backup of the tail of the log: 3101 while the database is used, 5094 with snapshots. What
    /// the log has is in the files then, and nothing is written any more.
    pub fn begin_tail(&self) -> Result<(), EngineError> {
        self.check()?;
        if self.is_temporary() {
            return Err(EngineError::refused(3147, &[]));
        }
        {
            let list = self.shared.list.lock();
            Instance::without_snapshots(&list, self.id.0)?;
            let own = list.databases.iter().find(|d| d.id == self.id.0);
            own.map_or(Ok(()), |d| d.absent.refuse("BACKUP LOG WITH NORECOVERY"))?;
        }
        self.refuse_entry(0)
            .map_err(|_| EngineError::refused(3101, &[]))?;
        self.stop_background();
        let _entered = self.shared.enter();
        match self.is_read_only() {
            true => Ok(()),
            false => {
                self.checkpoint_now(CheckpointOptions::default())?;
                Ok(self.store.pool().forget_images(self.id)?)
            }
        }
    }

    /// The tail could not be backed up: the database goes on.
    pub fn give_up_tail(self: &Arc<Database>) -> Result<(), EngineError> {
        self.allow_entry();
        self.start_background()
    }
}

impl Instance {
    /// The tail of a database's log is backed up: the database is closed as it is, and RESTORING.
    pub fn become_restoring(&self, database: &Arc<Database>) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let name = database.name();
        let listed = self.listed(&list, name, || EngineError::refused(911, &[name.into()]))?;
        if listed.phase != Phase::Whole {
            return Err(EngineError::refused(3906, &[name.into()]));
        }
        Self::without_snapshots(&list, listed.id)?;
        listed.absent.refuse("BACKUP LOG WITH NORECOVERY")?;
        let mut layout: Vec<FilePlan> = Vec::new();
        for file in database.file_list()? {
            layout.push(FilePlan {
                id: file.id.0,
                filegroup: file.filegroup,
                name: file.name,
                path: file.path,
                size_pages: u32::try_from(file.size_pages).unwrap_or(u32::MAX),
                max_pages: None,
                growth: furrow_format::FileGrowth::None,
            });
        }
        layout.sort_by_key(|plan| plan.id);
        let restoring = Listed {
            phase: Phase::Restoring,
            paths: layout.iter().map(|plan| plan.path.clone()).collect(),
            layout,
            link: Link {
                forks: database.boot_page()?.forks,
                ..Link::default()
            },
            absent: Absent::default(),
            offline: false,
            ..listed
        };
        list.change(|all| {
            all.retain(|d| d.id != restoring.id);
            all.push(restoring.clone());
        })?;
        database.abandon();
        self.enter_restoring(&restoring);
        Ok(())
    }

    /// The family of a database that is RESTORING, as its primary file says; 4320 where the restore of that
    /// file did not come as far as the boot page.
    pub fn restoring_family(&self, name: &str) -> Result<Guid, EngineError> {
        let listed = self.shared.list.lock().named(name).cloned();
        let listed = listed.ok_or_else(|| EngineError::refused(3118, &[name.into()]))?;
        let path = listed.paths.first().cloned().unwrap_or_default();
        let file = self.shared.volume.open(&path, Open::ReadOnly, Access::Data);
        let file = file.map_err(|e| open_error(&path, &e))?;
        let boot = read_boot(&*file, &path).map(|(boot, _)| boot);
        let begun = |plan: &&FilePlan| boot.is_err() && plan.id == 1;
        if let Some(plan) = listed.layout.iter().find(begun)
            && header_in(&*file)?.is_none()
        {
            return Err(EngineError::refused(4320, &[plan.name.as_str().into()]));
        }
        Ok(boot?.family)
    }

    /// Begins to restore the files `chosen` of a backup into a database that is RESTORING. 3116 of a backup
    /// of other files than those that are in place, or were backed up: their log may have gone another way.
    /// 1834, 5133 and 5170 for a place that is not free.
    pub fn begin_file_restore(
        &self,
        spec: &RestoreSpec,
        chosen: &[u16],
    ) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        let (listed, hold) = self.hold_listed(&spec.name)?;
        if listed.phase != Phase::Restoring {
            return Err(EngineError::refused(3117, &[]));
        }
        let mut listed = self.without_undo(listed)?;
        let mut list = self.shared.list.lock();
        let reach = self.same_way(&listed, (spec, chosen))?;
        if spec.last_lsn >= reach {
            listed.link.forks = spec.forks.clone();
        }
        let in_place = self.log_in_place(&listed, (spec, chosen))?;
        if let Some(there) = &in_place {
            self.leave_interrupted(&mut listed, there);
        }
        let other = |p: &FilePlan| p.filegroup != 0 && !chosen.contains(&p.id);
        let logged = listed.absent.point != Lsn::ZERO && listed.layout.iter().any(other);
        if logged && in_place.is_none() {
            return Err(EngineError::refused(3116, &[]));
        }
        let strays = strays_of(&listed);
        let old = self.take_free_places(&list, &mut listed, (spec, chosen))?;
        let both = in_all_places(&listed, &old, &strays);
        list.change(|all| {
            all.retain(|d| d.id != both.id);
            all.push(both.clone());
        })?;
        let new = listed.layout.iter().filter(|p| chosen.contains(&p.id));
        let new: Vec<FilePlan> = new.cloned().collect();
        self.clear_places((&list, &both), (&old, &strays), &new, spec.replace)?;
        let no_log = (listed.binding, spec.log_sector_bytes, &[][..]);
        let (files, _) = make_files(&*self.shared.volume, &new, no_log, &|_| false)?;
        list.change(|all| {
            all.retain(|d| d.id != listed.id);
            all.push(listed.clone());
        })?;
        drop(list);
        self.enter_restoring(&listed);
        let log_stays = in_place.is_some();
        let (log, applied) = match in_place {
            Some(in_place) => in_place,
            None => (self.empty_log(spec, &listed)?, Lsn::ZERO),
        };
        self.forget_point(&mut listed, log_stays)?;
        Ok(Restoring {
            checkpoint: match log_stays {
                true => log.checkpoint(),
                false => spec.checkpoint,
            },
            listed,
            files,
            log,
            applied,
            last_commit: None,
            pages: RestoredPages::Files { log_stays },
            needs: spec.last_lsn,
            family: None,
            limit: Lsn::MAX,
            turn: None,
            hold: Some(hold),
            held: Mutex::default(),
        })
    }

    /// The files take their places in the list, if these are free; the places that they had, but for those
    /// that another database has taken since. What is noted here is removed by the next restore.
    fn take_free_places(
        &self,
        list: &DatabaseList,
        listed: &mut Listed,
        (spec, chosen): (&RestoreSpec, &[u16]),
    ) -> Result<Vec<FilePlan>, EngineError> {
        let strays = strays_of(listed);
        let old = take_places(listed, spec, chosen);
        let new = listed.layout.iter().filter(|p| chosen.contains(&p.id));
        let places = Places {
            new: places_of(new),
            own: old
                .iter()
                .map(|plan| &plan.path)
                .chain(&strays)
                .cloned()
                .collect(),
            binding: Some(Guid(listed.binding)),
            database: Some(listed.id),
            replace: spec.replace,
            ..Places::default()
        };
        self.places_are_free(list, &places)?;
        let mut own: Vec<FilePlan> = Vec::new();
        for plan in old {
            match self.is_of_another(list, &plan.path, listed) {
                Ok(true) => {}
                // Also where the device does not say: it may be why the file is moved.
                _ => own.push(plan),
            }
        }
        Ok(own)
    }

    /// Removes files that others replace, and what an interrupted restore has left; with REPLACE whatever
    /// lies at the places of these files: a damaged one may not show which database it belongs to.
    fn clear_places(
        &self,
        (list, both): (&DatabaseList, &Listed),
        (old, strays): (&[FilePlan], &[PathBuf]),
        new: &[FilePlan],
        replace: bool,
    ) -> Result<(), EngineError> {
        let (volume, binding) = (&*self.shared.volume, Guid(both.binding));
        let is_in = |plans: &[FilePlan], path: &Path| plans.iter().any(|plan| plan.path == path);
        let at_new = new.iter().filter(|_| replace);
        let mut paths: Vec<PathBuf> = old.iter().chain(at_new).map(|p| p.path.clone()).collect();
        paths.extend(strays.iter().cloned());
        paths.sort();
        paths.dedup();
        let remove = |path: &Path| match replace && (is_in(old, path) || is_in(new, path)) {
            true => remove_any(volume, path),
            false => remove_own(volume, path, binding).map(drop),
        };
        self.remove_or_leave((list, both), &paths, &|path| is_in(new, path), &remove)
    }

    /// Where the log is replaced, what an interrupted recovery has logged is gone.
    fn forget_point(&self, listed: &mut Listed, log_stays: bool) -> Result<(), EngineError> {
        if log_stays || listed.absent.point == Lsn::ZERO {
            return Ok(());
        }
        listed.absent.point = Lsn::ZERO;
        self.note_restoring(listed)
    }

    /// Files of a log restore that was interrupted leave the layout: the log that they need does not come.
    fn leave_interrupted(&self, listed: &mut Listed, (log, end): &(LogImage, Lsn)) {
        if log.is_interrupted() {
            let unlogged = self.unlogged(listed, &DataFiles::new(), *end);
            listed.layout.retain(|plan| !unlogged.contains(&plan.id));
        }
    }

    /// Files of a layout that a log backup has added behind `end`, where the log ends. One that cannot be
    /// read is refused later, unless it is restored.
    pub(super) fn unlogged(&self, listed: &Listed, files: &DataFiles, end: Lsn) -> Vec<u16> {
        let goes = |plan: &&FilePlan| {
            let file = self.data_file(files, plan);
            file.is_ok_and(|file| is_unlogged(&*file, end).unwrap_or(false))
        };
        let data = listed.layout.iter().filter(|plan| plan.filegroup != 0);
        data.filter(goes).map(|plan| plan.id).collect()
    }

    /// A data file that is in place. Those of `files` are open.
    fn data_file(&self, files: &DataFiles, plan: &FilePlan) -> Result<Arc<dyn File>, EngineError> {
        if let Some(file) = files.get(&plan.id) {
            return Ok(Arc::clone(file));
        }
        let volume = &self.shared.volume;
        let opened = volume.open(&plan.path, Open::Existing, Access::Data);
        opened.map_err(|e| open_error(&plan.path, &e))
    }

    /// The log in place and its end, if it reaches back as far as a backup needs. 9004 of a log that is
    /// damaged where recovery begins: it goes only where the database is not recovered before log has come
    /// again.
    fn log_in_place(
        &self,
        listed: &Listed,
        (spec, chosen): (&RestoreSpec, &[u16]),
    ) -> Result<Option<(LogImage, Lsn)>, EngineError> {
        let (_, file) = self.open_log(listed)?;
        match LogImage::reopen(file, listed.binding) {
            Ok(there) => Ok(Some(there).filter(|(log, _)| log.checkpoint() <= spec.checkpoint)),
            Err(e) if is_no_log(&e) => Ok(None),
            Err(LogError::Missing(_)) if self.need_more(listed, (spec, chosen))? => Ok(None),
            Err(e) => Err(log_error(&listed.name, e)),
        }
    }

    /// Whether files that stay need more log than a backup has (4318). Those that would be given up do not.
    fn need_more(
        &self,
        listed: &Listed,
        (spec, chosen): (&RestoreSpec, &[u16]),
    ) -> Result<bool, EngineError> {
        let stays = |plan: &&FilePlan| plan.filegroup != 0 && !chosen.contains(&plan.id);
        for plan in listed.layout.iter().filter(stays) {
            // One that cannot be read is to be restored, too.
            let Ok(file) = self.data_file(&DataFiles::new(), plan) else {
                continue;
            };
            let needs = needs_of(&*file)?.unwrap_or(Lsn::ZERO);
            if needs > spec.last_lsn && !is_unlogged(&*file, spec.last_lsn)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn open_log<'l>(
        &self,
        listed: &'l Listed,
    ) -> Result<(&'l FilePlan, Arc<dyn File>), EngineError> {
        let plan = listed.layout.iter().find(|plan| plan.filegroup == 0);
        let plan = plan.ok_or_else(|| EngineError::Damaged("a database without a log".into()))?;
        let volume = &self.shared.volume;
        let opened = volume.open(&plan.path, Open::Existing, Access::Log);
        Ok((plan, opened.map_err(|e| open_error(&plan.path, &e))?))
    }

    /// An empty log for that of a backup, in the place of the one that is there.
    fn empty_log(&self, spec: &RestoreSpec, listed: &Listed) -> Result<LogImage, EngineError> {
        self.forget_log(listed)?;
        let (plan, file) = self.open_log(listed)?;
        let bytes = u64::from(plan.size_pages) * PAGE_SIZE as u64;
        let sector = spec.log_sector_bytes;
        let image = LogImage::create(file, listed.binding, sector, &spec.vlfs, bytes);
        image.map_err(|e| EngineError::from(e).of_expansion())
    }

    /// Refuses files that are not on the way that what is in place has gone (3116). The end of the log that
    /// what stays needs, the log itself included.
    fn same_way(
        &self,
        listed: &Listed,
        (spec, chosen): (&RestoreSpec, &[u16]),
    ) -> Result<Lsn, EngineError> {
        let mut reach = Lsn::ZERO;
        for plan in listed.layout.iter().filter(|p| !chosen.contains(&p.id)) {
            let access = match plan.filegroup {
                0 => Access::Log,
                _ => Access::Data,
            };
            // A file that cannot be read does no harm: it is to be restored, too.
            let Ok(file) = self.shared.volume.open(&plan.path, Open::Existing, access) else {
                continue;
            };
            let needs = match plan.filegroup {
                0 => match LogImage::reopen(file, listed.binding) {
                    Ok((_, end)) => end,
                    Err(LogError::Io(e)) => return Err(e.into()),
                    Err(_) => Lsn::ZERO,
                },
                _ => needs_of(&*file)?.unwrap_or(Lsn::ZERO),
            };
            reach = reach.max(needs);
        }
        let forks = &listed.link.forks;
        let same = forks.is_empty() || forks.agree(&spec.forks, reach.min(spec.last_lsn));
        match same && listed.is_of(spec.source) {
            true => Ok(reach),
            false => Err(EngineError::refused(3116, &[])),
        }
    }

    /// Why a database that is RESTORING cannot be recovered yet: 9004 where its log has lost records, 4318
    /// where it ends before what one of its files needs, 4320 where a file has no header. Of one that can be
    /// recovered, files that a log backup has added behind the end of the log are given up: the restore of it
    /// was interrupted, or the log has been replaced since.
    pub(super) fn reaches(&self, settled: &mut Settled) -> Result<(), EngineError> {
        if settled.is_lost {
            let name = settled.listed.name.as_str().into();
            return Err(EngineError::refused(9004, &[name]));
        }
        let shown = |lsn: Lsn| lsn.to_numeric().to_string().into();
        let mut unlogged: Vec<u16> = Vec::new();
        let data = settled.listed.layout.iter().filter(|p| p.filegroup != 0);
        for plan in data {
            let file = self.data_file(&settled.files, plan)?;
            if settled.is_certain && is_unlogged(&*file, settled.end)? {
                unlogged.push(plan.id);
                continue;
            }
            let name = plan.name.as_str().into();
            match needs_of(&*file)? {
                None => return Err(EngineError::refused(4320, &[name])),
                Some(needs) if needs > settled.end => {
                    let args = [name, shown(needs), shown(settled.end)];
                    return Err(EngineError::refused(4318, &args));
                }
                Some(_) => {}
            }
        }
        self.give_up_files((&mut settled.listed, &mut settled.files), &unlogged)
    }
}

/// The end of the log that a data file needs, as its header says; `None` of one without a header.
pub(super) fn needs_of(file: &dyn File) -> Result<Option<Lsn>, EngineError> {
    Ok(header_in(file)?.map(|header| header.max_lsn))
}

/// The header of a data file; `None` where there is none.
pub(super) fn header_in(file: &dyn File) -> Result<Option<FileHeader>, EngineError> {
    let mut page = AlignedBuf::new(PAGE_SIZE);
    file.read_at(0, &mut page)?;
    let page = page.first_chunk::<PAGE_SIZE>();
    Ok(page.and_then(|page| FileHeader::decode(page).ok()))
}

/// Whether a file was made by RESTORE LOG for the log behind `end`. One that was restored from a backup of it
/// needs more of the log than its first record.
fn is_unlogged(file: &dyn File, end: Lsn) -> Result<bool, EngineError> {
    let is_new = |header: FileHeader| header.first_lsn > end && header.max_lsn == header.first_lsn;
    Ok(header_in(file)?.is_some_and(is_new))
}

/// The database with the old places of its files and the new ones. All belong to it until the old files are
/// gone.
fn in_all_places(listed: &Listed, old: &[FilePlan], strays: &[PathBuf]) -> Listed {
    let old = old.iter().map(|plan| &plan.path).chain(strays);
    Listed {
        paths: listed.paths.iter().chain(old).cloned().collect(),
        ..listed.clone()
    }
}

/// Places where a file may lie that an interrupted restore has moved from there.
pub(super) fn strays_of(listed: &Listed) -> Vec<PathBuf> {
    let is_in_layout = |path: &&PathBuf| listed.layout.iter().any(|plan| plan.path == **path);
    let strays = listed.paths.iter().filter(|path| !is_in_layout(path));
    strays.cloned().collect()
}

/// The files `chosen` of a backup take their places in the list: where they are, unless they are moved. The
/// places that they had.
fn take_places(listed: &mut Listed, spec: &RestoreSpec, chosen: &[u16]) -> Vec<FilePlan> {
    let mut old: Vec<FilePlan> = Vec::new();
    for file in spec.files.iter().filter(|f| chosen.contains(&f.id.0)) {
        let mut plan = plan_of(file);
        let left_out = listed.absent.files.iter().position(|p| p.id == plan.id);
        if let Some(left_out) = left_out.map(|at| listed.absent.files.remove(at))
            && !file.moved
        {
            plan.path.clone_from(&left_out.path);
        }
        let there = listed.layout.iter().position(|p| p.id == plan.id);
        if let Some(there) = there.map(|at| listed.layout.remove(at)) {
            if !file.moved {
                plan.path.clone_from(&there.path);
            }
            old.push(there);
        }
        listed.layout.push(plan);
    }
    listed.layout.sort_by_key(|plan| plan.id);
    listed.paths = listed.layout.iter().map(|p| p.path.clone()).collect();
    old
}

impl Restoring {
    /// Holds the header of a file back: it is written when all of the file is durable.
    pub(super) fn hold_header(&self, file: u16, page: &[u8]) {
        self.held.lock().insert(file, AlignedBuf::copy_of(page));
    }

    /// Holds the headers of files back that stay, and removes them durably: a file without one is not
    /// recovered.
    pub(super) fn hold_headers(&self, stays: impl Fn(u16) -> bool) -> Result<(), EngineError> {
        let empty = AlignedBuf::new(PAGE_SIZE);
        for (id, file) in self.files.iter().filter(|(id, _)| stays(**id)) {
            let mut page = AlignedBuf::new(PAGE_SIZE);
            file.read_at(0, &mut page)?;
            self.hold_header(*id, &page);
            file.write_at(0, &empty)?;
            file.sync()?;
        }
        Ok(())
    }

    /// Writes the headers that were held back. Of a backup of pages every file has one.
    pub(super) fn write_headers(&self) -> Result<(), EngineError> {
        let held = self.held.lock();
        let all = self.pages != RestoredPages::Logged;
        for (id, file) in &self.files {
            match held.get(id) {
                Some(page) => {
                    file.write_at(0, page)?;
                    file.sync()?;
                }
                None if all => {
                    let text = format!("the backup has no header of file {id}");
                    return Err(EngineError::Damaged(text));
                }
                None => {}
            }
        }
        Ok(())
    }
}
