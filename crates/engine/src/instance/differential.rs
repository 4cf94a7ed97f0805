//! A differential backup goes over a database that is RESTORING.
//!
//! Its files become those of the backup: files that the backup does not have go, and new ones are made. The
//! log that is in place and the headers of its files are removed before the first page is written. If the
//! restore does not come to its end, the database is restored from its full backup again.
//!
//! # Invariants
//! 1. Which files stay is decided by their GUIDs: a file that was removed, and another one of the same
//!    number, are two files. A file that was renamed is the same one. Proof:
//!    `a_differential_backup_goes_over_a_file_that_was_renamed`.
//! 2. What can be refused is refused before the log goes ([`Instance::may_take_differential`]). Proof:
//!    `a_new_file_of_a_differential_backup_takes_no_place_of_another_file`.
//! 3. The list names a file until it is removed: a full restore and DROP DATABASE remove it after a crash.
//!    Proof: `a_power_loss_in_a_differential_restore_leaves_no_file_that_nothing_removes`.

use super::Instance;
use super::restore::{RestoreSpec, RestoredPages, Restoring, plan_of};
use super::restore_files::strays_of;
use super::restored_files::{Places, make_files, places_of, with_log};
use super::roll_forward::left_out_too;
use crate::files::{FilePlan, remove_any, remove_own};
use crate::shared::{DatabaseList, Listed};
use furrow_format::Lsn;
use furrow_io::sync::Mutex;
use furrow_log::LogImage;
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};

/// What a differential backup makes of the files of a database that is RESTORING.
struct Turnover {
    /// The files after it.
    layout: Vec<FilePlan>,
    /// Files in place that stay.
    stay: Vec<FilePlan>,
    /// Files in place that the backup does not have.
    gone: Vec<FilePlan>,
}

impl Turnover {
    fn stays(&self, plan: &FilePlan) -> bool {
        self.stay.iter().any(|there| there.id == plan.id)
    }

    fn new_plans(&self) -> impl Iterator<Item = &FilePlan> {
        self.layout.iter().filter(|plan| !self.stays(plan))
    }

    /// Where files lie that go: also those that an interrupted restore has left.
    fn paths_that_go(&self, listed: &Listed) -> Vec<PathBuf> {
        let gone = self.gone.iter().map(|plan| plan.path.clone());
        gone.chain(strays_of(listed)).collect()
    }

    /// A new file takes no place of another file, but for that of one that goes.
    fn places(&self, listed: &Listed, replace: bool) -> Places<'_> {
        Places {
            new: places_of(self.new_plans()),
            own: self.paths_that_go(listed),
            binding: Some(Guid(listed.binding)),
            database: Some(listed.id),
            held: true,
            replace,
            ..Places::default()
        }
    }
}

impl Restoring {
    /// What a differential backup makes of the files that are in place. A file that is there stays where it
    /// is, also under another name.
    fn turnover(&self, listed: &Listed, spec: &RestoreSpec) -> Result<Turnover, EngineError> {
        let (mut layout, mut stay): (Vec<FilePlan>, Vec<FilePlan>) = (Vec::new(), Vec::new());
        for file in spec.files.iter().filter(|f| !listed.absent.has(f.id.0)) {
            let mut plan = plan_of(file);
            let mut all = listed.layout.iter();
            let same = |p: &&FilePlan| p.id == plan.id && p.filegroup == plan.filegroup;
            if let Some(there) = all.find(same)
                && !self.is_another(file)?
            {
                plan.path.clone_from(&there.path);
                stay.push(there.clone());
            }
            layout.push(plan);
        }
        layout.sort_by_key(|plan| plan.id);
        let goes = |plan: &&FilePlan| !stay.iter().any(|there| there.id == plan.id);
        let gone = listed.layout.iter().filter(goes).cloned().collect();
        Ok(Turnover { layout, stay, gone })
    }
}

impl Instance {
    /// Refuses a differential backup whose new files have no place, before it changes anything: 1834, 5133,
    /// 5170.
    pub fn may_take_differential(
        &self,
        restoring: &Restoring,
        spec: &RestoreSpec,
    ) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let list = self.shared.list.lock();
        self.free_turnover(&list, restoring, spec).map(drop)
    }

    /// What a differential backup makes of the files, if its new files have a place.
    fn free_turnover(
        &self,
        list: &DatabaseList,
        restoring: &Restoring,
        spec: &RestoreSpec,
    ) -> Result<Turnover, EngineError> {
        let mut listed = restoring.listed.clone();
        listed.absent.files.extend(left_out_too(&listed, spec));
        let turnover = restoring.turnover(&listed, spec)?;
        let places = turnover.places(&listed, spec.replace);
        self.places_are_free(list, &places)?;
        LogImage::check(spec.log_sector_bytes, &spec.vlfs)?;
        Ok(turnover)
    }

    /// Begins to put a differential backup over a database that is RESTORING: its files become those of the
    /// backup, and its log goes.
    pub fn begin_differential(
        &self,
        restoring: Restoring,
        spec: &RestoreSpec,
    ) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        let mut restoring = restoring;
        self.leave_out(&mut restoring, spec)?;
        // No other database takes a place meanwhile.
        let mut list = self.shared.list.lock();
        let turnover = self.free_turnover(&list, &restoring, spec)?;
        let mut listed = restoring.listed.clone();
        // It has the files to itself.
        let hold = restoring.hold.take();
        drop(restoring);
        self.forget_log(&listed)?;
        let gone = turnover.paths_that_go(&listed);
        listed.layout.clone_from(&turnover.layout);
        listed.paths = listed.layout.iter().map(|plan| plan.path.clone()).collect();
        listed.link.source = spec.source.0;
        listed.link.forks = spec.forks.clone();
        // The log that an interrupted recovery has written goes.
        listed.absent.point = Lsn::ZERO;
        // The files that go belong to the database until they are removed.
        let mut with_gone = listed.clone();
        with_gone.paths.extend(gone.iter().cloned());
        list.change(|all| with_gone.note_in(all))?;
        self.enter_restoring(&listed);
        let volume = &*self.shared.volume;
        let is_new = |path: &Path| listed.paths.iter().any(|new| new == path);
        let remove = |path: &Path| remove_own(volume, path, Guid(listed.binding)).map(drop);
        self.remove_or_leave((&list, &listed), &gone, &is_new, &remove)?;
        for plan in turnover.new_plans().filter(|_| spec.replace) {
            remove_any(volume, &plan.path)?;
        }
        let log = (listed.binding, spec.log_sector_bytes, &*spec.vlfs);
        let made = make_files(volume, &listed.layout, log, &|plan| turnover.stays(plan));
        let (files, log) = with_log(made?)?;
        if !gone.is_empty() {
            list.change(|all| listed.clone().note_in(all))?;
        }
        drop(list);
        let restoring = Restoring {
            listed,
            checkpoint: spec.checkpoint,
            needs: spec.last_lsn,
            files,
            log,
            applied: Lsn::ZERO,
            last_commit: None,
            pages: RestoredPages::AsBackedUp,
            family: None,
            limit: Lsn::MAX,
            turn: None,
            hold,
            held: Mutex::default(),
        };
        restoring.hold_headers(|id| turnover.stay.iter().any(|plan| plan.id == id))?;
        restoring.enlarge(&spec.files)?;
        Ok(restoring)
    }
}
