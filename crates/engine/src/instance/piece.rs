//! Absent files of an open database that come back: the later steps of a piecemeal restore.
//!
//! 1. [`Instance::begin_piece`] makes the files, and beside the first one a log for them alone. Both are
//!    noted in the database's entry of the list before they are made.
//! 2. Log backups extend that log ([`Instance::resume_piece`]), up to the record with which the database was
//!    recovered. The open database is not touched, and goes on.
//! 3. Recovery redoes the log on these files through a database of its own in the buffer pool, writes them
//!    durably, and lets them join the open database.
//!
//! # Invariants
//! 1. A file joins only with the log up to the point at which the database was recovered (4318 before).
//!    Nothing has to be undone then: a recovery without these files refuses transactions that have changed
//!    them. Proof: `a_transaction_in_a_file_that_is_left_out_is_not_forgotten`.
//! 2. Until the list no longer has a file among the absent ones it is none of the database: a crash before
//!    that leaves the piece, and its recovery is repeated. Proof: the power losses of `soak::backups`.
//! 3. All files of a filegroup come back together.
//! 4. No file joins that the database does not have at its point: its number may be that of another file.
//!    Proof: `a_file_that_the_database_does_not_have_does_not_join_it`.

use super::Instance;
use super::join::{Ready, count_as_changed, rebind};
use super::restore::{RestoreSpec, RestoredPages, Restoring, Settled, held_for_restore, plan_of};
use super::restore_files::needs_of;
use super::restored_files::{Leftovers, Places, make_files, places_of, with_log};
use crate::checking::hidden_number;
use crate::database::{Database, Registration};
use crate::files::{Candidate, FileBook, FilePlan, open_error, remove_any, remove_own};
use crate::shared::{Listed, Phase};
use furrow_format::{DatabaseId, FileGrowth, FileId, Lsn, PAGE_SIZE};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{Access, Open};
use furrow_log::LogConfig;
use furrow_messages::Message;
use furrow_pool::CheckpointOptions;
use furrow_recovery::{analyse, redo};
use furrow_tables::EngineError;
use furrow_txn::Store;
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is behind the path of the first file of a piece in that of its log.
const LOG_SUFFIX: &str = "_MSSQL_RESTORE";

fn unsupported(what: &str) -> EngineError {
    let text = format!("'{what}' is not supported.");
    EngineError::of(Message::custom(40_514, 16, 1, &text))
}

impl Instance {
    /// The entry of an open database that lacks files; 3159 of one that has all of them.
    fn listed_without(&self, name: &str) -> Result<Listed, EngineError> {
        let listed = self.shared.list.lock().named(name).cloned();
        let listed = listed.ok_or_else(|| EngineError::refused(3118, &[name.into()]))?;
        match listed.phase == Phase::Whole && !listed.absent.is_empty() {
            true => Ok(listed),
            false => Err(EngineError::refused(3159, &[name.into()])),
        }
    }

    /// Whether all of these files are absent from an open database.
    pub fn lacks(&self, name: &str, files: &[u16]) -> bool {
        let listed = self.listed_without(name);
        listed.is_ok_and(|listed| files.iter().all(|id| listed.absent.has(*id)))
    }

    /// Whether files of an open database are being restored.
    pub fn restores_piece(&self, name: &str) -> bool {
        let listed = self.listed_without(name);
        listed.is_ok_and(|listed| listed.absent.piece.is_some())
    }

    /// Begins to restore the absent files `chosen` of an open database. 3116 of a backup that is not of what
    /// the database was restored from, or is newer.
    pub fn begin_piece(
        &self,
        database: &Arc<Database>,
        spec: &RestoreSpec,
        chosen: &[u16],
    ) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        if database.restores_pages() {
            return Err(unsupported("RESTORE of files while pages are restored"));
        }
        // Its catalog changes when they come back.
        database.check_changes()?;
        let turn = database.files.begin_backup()?;
        let family = database.family()?;
        let listed = self.listed_without(&spec.name)?;
        let hold = held_for_restore(&self.shared.list.lock(), listed.id)?;
        belongs(&listed, spec)?;
        let layout = piece_layout(&listed, spec, chosen)?;
        self.may_replace_piece(&listed, &layout, family)?;
        let mut piece = Listed {
            phase: Phase::Piece,
            layout,
            ..listed.clone()
        };
        piece.link.source = spec.source.0;
        piece.link.forks = spec.forks.clone();
        self.take_piece_places(&listed, &piece, spec.replace)?;
        database.files.set_restoring(chosen);
        let log = (piece.binding, spec.log_sector_bytes, &*spec.vlfs);
        let made = make_files(&*self.shared.volume, &piece.layout, log, &|_| false);
        if made.is_err() {
            // Nothing of it is there.
            let without = |all: &mut Vec<Listed>| {
                let whole = all.iter_mut().filter(|d| d.id == piece.id);
                whole.for_each(|whole| whole.absent.piece = None);
            };
            let _ = self.shared.list.lock().change(without);
            database.files.set_restoring(&[]);
        }
        let (files, log) = with_log(made?)?;
        Ok(Restoring {
            listed: piece,
            checkpoint: spec.checkpoint,
            needs: spec.last_lsn,
            files,
            log,
            applied: Lsn::ZERO,
            last_commit: None,
            pages: RestoredPages::Files { log_stays: false },
            family: Some(family),
            limit: listed.absent.point,
            held: Default::default(),
            turn: Some(turn),
            hold: Some(hold),
        })
    }

    /// One filegroup after the other: 40514 while another one is being restored. A restore that did not come
    /// to its end has nothing that is needed, nor has one whose log is damaged where recovery begins.
    fn may_replace_piece(
        &self,
        listed: &Listed,
        layout: &[FilePlan],
        family: Guid,
    ) -> Result<(), EngineError> {
        let stays = |plan: &FilePlan| layout.iter().any(|new| new.filegroup == plan.filegroup);
        let Some(piece) = listed.piece().filter(|p| !p.layout.iter().all(stays)) else {
            return Ok(());
        };
        let mut missing = false;
        for plan in &piece.layout {
            missing |= !self.shared.volume.exists(&plan.path)?;
        }
        match self.resume(piece, (Some(family), None)) {
            Err(e) if missing || e.has(3117) || e.has(9004) => Ok(()),
            _ => Err(unsupported(
                "RESTORE of a second filegroup before RECOVERY of the first",
            )),
        }
    }

    /// Notes a piece in the list, and removes what an earlier attempt has left, and with REPLACE whatever
    /// lies there. Before that 1834 where a file of a database lies there, one of its own included, and 5133
    /// and 5170.
    fn take_piece_places(
        &self,
        listed: &Listed,
        piece: &Listed,
        replace: bool,
    ) -> Result<(), EngineError> {
        let mut list = self.shared.list.lock();
        let own = Guid(listed.binding);
        let places = Places {
            new: places_of(&piece.layout),
            binding: Some(own),
            database: Some(listed.id),
            pieces_go: true,
            leftovers: Leftovers::Unwritten,
            replace,
            ..Places::default()
        };
        self.places_are_free(&list, &places)?;
        list.change(|all| piece.clone().note_in(all))?;
        let volume = &*self.shared.volume;
        // A place that was noted and not taken may have become that of another file of the database.
        let mut earlier = listed.absent.piece_paths();
        earlier.retain(|path| !self.is_open_file(path));
        let is_new = |path: &Path| piece.layout.iter().any(|plan| plan.path == path);
        let remove = |path: &Path| remove_own(volume, path, own).map(drop);
        self.remove_or_leave((&list, listed), &earlier, &is_new, &remove)?;
        for plan in &piece.layout {
            match replace {
                true => remove_any(volume, &plan.path)?,
                false => drop(remove_own(volume, &plan.path, own)?),
            }
        }
        Ok(())
    }

    /// Goes on with files that are being restored into an open database; 3117 where there are none.
    pub fn resume_piece(&self, name: &str) -> Result<Restoring, EngineError> {
        let _entered = self.shared.enter();
        let database = self.database(name)?;
        let turn = database.files.begin_backup()?;
        let listed = self.listed_without(name);
        let listed = listed.map_err(|_| EngineError::refused(3117, &[]))?;
        let piece = listed.piece();
        let piece = piece.ok_or_else(|| EngineError::refused(3117, &[]))?;
        let hold = held_for_restore(&self.shared.list.lock(), listed.id)?;
        let mut restoring = self.resume(piece, (Some(database.family()?), Some(hold)))?;
        self.give_up_interrupted(&mut restoring)?;
        restoring.limit = listed.absent.point;
        restoring.turn = Some(turn);
        Ok(restoring)
    }

    /// The files of a piece come back: see the invariants above.
    pub(super) fn complete_piece(
        &self,
        restoring: Restoring,
    ) -> Result<Arc<Database>, EngineError> {
        let database = self.database(&restoring.listed.name)?;
        let in_use = database.enter()?;
        let mut restoring = restoring;
        let turn = restoring.turn.take();
        let mut settled = self.settle(restoring)?;
        let listed = self.listed_without(&settled.listed.name)?;
        is_complete(&listed, &settled)?;
        // It may have been set READ_ONLY since. It stays as it is while it is in use.
        database.check_changes()?;
        // A log backup has added them behind the point, or they were removed before it.
        let data = settled.listed.layout.iter().filter(|p| p.filegroup != 0);
        let others = data.filter(|plan| !listed.absent.has(plan.id));
        let others: Vec<u16> = others.map(|plan| plan.id).collect();
        self.give_up_files((&mut settled.listed, &mut settled.files), &others)?;
        let Settled {
            listed: piece,
            files,
            hold,
            ..
        } = settled;
        // They are opened again.
        drop(files);
        let ready = self.redo_piece(&piece, listed.absent.point)?;
        self.join(&database, (&piece, ready))?;
        drop((turn, in_use, hold));
        Ok(database)
    }

    /// Redoes the log of a piece on its files, durably.
    fn redo_piece(&self, piece: &Listed, point: Lsn) -> Result<Ready, EngineError> {
        let volume = &self.shared.volume;
        let log = piece.layout.iter().find(|plan| plan.filegroup == 0);
        let log = log.ok_or_else(|| EngineError::Damaged("a piece without a log".into()))?;
        let log_file = volume.open(&log.path, Open::Existing, Access::Log);
        let log_file = log_file.map_err(|e| open_error(&log.path, &e))?;
        let config = LogConfig {
            background: false,
            ..self.shared.config.log
        };
        let analysis = analyse(Arc::clone(&log_file), piece.binding, (config, Lsn::MAX))?;
        if analysis.span.end != point && !mutated(Mutation::JoinEarly) {
            let text = format!(
                "the log of a piece ends with {}, not {point}",
                analysis.span.end
            );
            return Err(EngineError::Damaged(text));
        }
        let id = DatabaseId(hidden_number());
        let registration = Registration::new(&self.shared, id, &analysis.log);
        let (pool, from) = (&self.shared.pool, analysis.span.redo_point);
        let store = Store::new(id, Arc::clone(pool), analysis.log, from, analysis.next_txn)?;
        let mut ready: Ready = Vec::new();
        for plan in piece.layout.iter().filter(|plan| plan.filegroup != 0) {
            let mut file = Candidate::open(&**volume, &plan.path, FileId(plan.id))?;
            file.believe_up_to(point);
            if file.header()?.binding != Guid(piece.binding) {
                return Err(EngineError::refused(5173, &[]));
            }
            let (data, _) = file.accept(&**volume)?;
            registration.add_file(FileId(plan.id), &data)?;
            ready.push((plan.clone(), data));
        }
        let ours = |file: FileId| ready.iter().any(|(plan, _)| plan.id == file.0);
        if !analysis.clean {
            redo(&store, log_file, (from, analysis.span.end), &ours, &|_| {
                false
            })?;
        }
        for (plan, _) in &ready {
            rebind(&store, FileId(plan.id), Guid(piece.binding))?;
        }
        for (plan, data) in &ready {
            let pages = data.file.len_bytes()? / PAGE_SIZE as u64;
            count_as_changed(&store, FileId(plan.id), pages)?;
        }
        pool.checkpoint_pages(id, CheckpointOptions::default())?;
        pool.forget_images(id)?;
        registration.end();
        Ok(ready)
    }

    /// Files whose pages are as they were when the database was recovered become its own again.
    fn join(
        &self,
        database: &Arc<Database>,
        (piece, ready): (&Listed, Ready),
    ) -> Result<(), EngineError> {
        let ids: Vec<u16> = ready.iter().map(|(plan, _)| plan.id).collect();
        let absent = database.files.absent();
        debug_assert!(
            ids.iter()
                .all(|id| absent.iter().any(|known| known.plan.id == *id)),
            "files that join are absent ones"
        );
        database.register(&ready)?;
        // Durable log behind what the headers name: a restart finds no file ahead of its log.
        if let Err(error) = database.note_places_of(&ready) {
            database.unregister(&ids);
            return Err(error);
        }
        let without = |all: &mut Vec<Listed>| {
            for whole in all.iter_mut().filter(|d| d.id == piece.id) {
                whole.absent.files.retain(|plan| !ids.contains(&plan.id));
                whole.absent.piece = None;
            }
        };
        if let Err(error) = self.shared.list.lock().change(without) {
            database.unregister(&ids);
            return Err(error.into());
        }
        // From here on a restart opens them with the database.
        database.take_back(&ready)?;
        for plan in piece.layout.iter().filter(|plan| plan.filegroup == 0) {
            remove_any(&*self.shared.volume, &plan.path)?;
        }
        Ok(())
    }
}

/// 3116 of a backup that is not of what an open database was restored from up to its end.
fn belongs(listed: &Listed, spec: &RestoreSpec) -> Result<(), EngineError> {
    let absent = &listed.absent;
    let origin = Listed {
        link: absent.origin.clone(),
        ..listed.clone()
    };
    let same = absent.origin.forks.agree(&spec.forks, spec.last_lsn);
    match origin.is_of(spec.source) && same && spec.last_lsn <= absent.point {
        true => Ok(()),
        false => Err(EngineError::refused(3116, &[])),
    }
}

/// The files of a piece and its log, where they are to be.
fn piece_layout(
    listed: &Listed,
    spec: &RestoreSpec,
    chosen: &[u16],
) -> Result<Vec<FilePlan>, EngineError> {
    let absent = &listed.absent;
    let is_chosen = |id: u16| chosen.contains(&id);
    let groups: Vec<u16> = spec
        .files
        .iter()
        .filter(|f| is_chosen(f.id.0))
        .map(|f| f.filegroup)
        .collect();
    let whole = |f: &super::RestoreFile| !groups.contains(&f.filegroup) || is_chosen(f.id.0);
    let of_absent = |f: &&super::RestoreFile| absent.has(f.id.0);
    if !spec.files.iter().filter(of_absent).all(whole) {
        return Err(unsupported(
            "RESTORE of some files of a filegroup that is not online",
        ));
    }
    let mut layout: Vec<FilePlan> = Vec::new();
    for file in spec.files.iter().filter(|f| is_chosen(f.id.0)) {
        let mut plan = plan_of(file);
        let known = absent.files.iter().find(|known| known.id == plan.id);
        if let Some(known) = known.filter(|_| !file.moved) {
            plan.path.clone_from(&known.path);
        }
        layout.push(plan);
    }
    let first = layout
        .first()
        .map(|plan| plan.path.clone())
        .unwrap_or_default();
    let mut path = first.into_os_string();
    path.push(LOG_SUFFIX);
    let log = spec.files.iter().find(|f| f.filegroup == 0);
    layout.push(FilePlan {
        id: 2,
        filegroup: 0,
        name: "log".to_owned(),
        path: PathBuf::from(path),
        size_pages: log.map_or(0, |log| log.size_pages),
        max_pages: None,
        growth: FileGrowth::None,
    });
    Ok(layout)
}

/// 9004 where the log of a piece has lost records; 4318 where it does not reach the point at which the
/// database was recovered, or a file of its filegroups is missing; 4320 where a file has no header; 3116
/// where it has gone another way.
fn is_complete(listed: &Listed, settled: &Settled) -> Result<(), EngineError> {
    let (absent, piece) = (&listed.absent, &settled.listed);
    if settled.is_lost {
        let name = listed.name.as_str().into();
        return Err(EngineError::refused(9004, &[name]));
    }
    let shown = |lsn: Lsn| lsn.to_numeric().to_string().into();
    let groups: Vec<u16> = piece.layout.iter().map(|plan| plan.filegroup).collect();
    for plan in absent
        .files
        .iter()
        .filter(|plan| groups.contains(&plan.filegroup))
    {
        let name = plan.name.as_str();
        let file = settled.files.get(&plan.id);
        let early = settled.end != absent.point && !mutated(Mutation::JoinEarly);
        if early || file.is_none() {
            let args = [name.into(), shown(absent.point), shown(settled.end)];
            return Err(EngineError::refused(4318, &args));
        }
        if let Some(file) = file
            && needs_of(&**file)?.is_none()
        {
            return Err(EngineError::refused(4320, &[name.into()]));
        }
    }
    match absent.origin.forks.agree(&piece.link.forks, absent.point) {
        true => Ok(()),
        false => Err(EngineError::refused(3116, &[])),
    }
}

impl FileBook {
    /// These absent files are being restored, and no others.
    fn set_restoring(&self, files: &[u16]) {
        for mut entry in self.absent() {
            entry.restoring = files.contains(&entry.plan.id);
            self.put_absent(entry);
        }
    }
}
