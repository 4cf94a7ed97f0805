//! The machine of a run: an instance, the database, and a copy of it that comes and goes.

use super::media::{Taken, Wanted};
use super::plan::{Plan, Still};
use crate::engine::{Engine, EngineStore, failure};
use crate::model::State;
use crate::subject::{Failure, Layout, Store as _};
use furrow_backup::media::SetInfo;
use furrow_backup::{
    BackupError, BackupRequest, FilePages, Listener, MediaSet, Parts, RestoreRequest,
    backup_database, backup_log, recover_only, restore_database, restore_log, verify,
};
use furrow_engine::{Database, DatabaseState, FileGrowth, FileSpec, Instance, StopPoint};
use furrow_format::RecoveryModel;
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the database, and of the copy.
pub(super) const NAME: &str = "soak";
pub(super) const COPY: &str = "copy";
/// The filegroup that a piecemeal restore leaves out at first.
pub(super) const OTHER: &str = "OTHER";
/// The undo file of the copy.
const UNDO: &str = "home/v0/copy.undo";

/// What a restore leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// All files.
    Wholly,
    /// The primary filegroup.
    Partly,
    /// A database that can be read.
    Standby,
}

/// Entries of the error log that a finding shows.
const LAST_WORDS: usize = 6;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) volume: SimVolume,
    /// `None` between two lives.
    instance: Option<Arc<Instance>>,
    layout: Layout,
}

pub(super) struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _: u64, _: u64) {}
    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

/// What an error means to the run.
pub(super) fn of_backup(error: BackupError) -> Failure {
    match error {
        BackupError::Engine(error) => failure(error),
        other => {
            let texts: Vec<String> = other.messages().iter().map(ToString::to_string).collect();
            Failure::Wrong(texts.join("; "))
        }
    }
}

/// What the error log says last: why a database did not open.
fn last_words(instance: &Instance) -> String {
    let entries = instance.error_log().tail(LAST_WORDS);
    let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
    texts.join("; ")
}

pub(super) fn has(error: &BackupError, numbers: &[u32]) -> bool {
    let messages = error.messages();
    messages.iter().any(|m| numbers.contains(&m.number))
}

impl Machine {
    pub(super) fn create(layout: &Layout, model: RecoveryModel) -> Result<Machine, Failure> {
        let volume = SimVolume::new(SimOptions::default());
        let engine = Engine::default();
        let shared: Arc<dyn Volume> = Arc::new(volume.clone());
        let instance = engine.lasting_instance(Arc::clone(&shared), layout)?;
        let store = engine.create_in(Arc::clone(&instance), shared, layout)?;
        let db = store.database();
        let mut options = db.options();
        options.recovery_model = model;
        db.set_options(options).map_err(failure)?;
        db.add_filegroup(OTHER).map_err(failure)?;
        let path = engine.home.join("v1").join("other.ndf");
        let other = FileSpec::new("other", path).size_kb(layout.file_kb);
        let other = other.growth(FileGrowth::Pages(32));
        db.add_file(&other, Some(OTHER)).map_err(failure)?;
        Ok(Machine {
            volume,
            instance: Some(instance),
            layout: *layout,
        })
    }

    fn start(volume: SimVolume, layout: &Layout) -> Result<Machine, Failure> {
        let engine = Engine::default();
        let instance = engine.lasting_instance(Arc::new(volume.clone()), layout)?;
        Ok(Machine {
            volume,
            instance: Some(instance),
            layout: *layout,
        })
    }

    pub(super) fn instance(&self) -> Result<&Arc<Instance>, Failure> {
        let ended = || Failure::Wrong("the instance has ended".to_owned());
        self.instance.as_ref().ok_or_else(ended)
    }

    pub(super) fn database(&self) -> Result<Arc<Database>, Failure> {
        let instance = self.instance()?;
        instance
            .database(NAME)
            .map_err(|error| match failure(error) {
                Failure::Gone(what) => Failure::Gone(format!("{what}; {}", last_words(instance))),
                other => other,
            })
    }

    /// The database as a store.
    pub(super) fn store(&self) -> Result<EngineStore, Failure> {
        self.store_of(self.database()?)
    }

    fn store_of(&self, db: Arc<Database>) -> Result<EngineStore, Failure> {
        let volume: Arc<dyn Volume> = Arc::new(self.volume.clone());
        let instance = Arc::clone(self.instance()?);
        Ok(Engine::default().store(instance, db, volume, &self.layout))
    }

    /// Ends in order and starts again.
    pub(super) fn restart(&mut self) -> Result<(), Failure> {
        if let Some(instance) = self.instance.take() {
            instance.shut_down().map_err(failure)?;
        }
        *self = Machine::start(self.volume.clone(), &self.layout)?;
        Ok(())
    }

    /// The machine after a power loss, started.
    pub(super) fn after(&self, crash: &Crash) -> Result<Machine, Failure> {
        if let Some(instance) = &self.instance {
            instance.abandon();
        }
        Machine::start(self.volume.crash(crash), &self.layout)
    }

    /// Takes a backup; `None` where there may be none of this kind now.
    pub(super) fn back_up(
        &self,
        wanted: Wanted,
        request: &BackupRequest,
    ) -> Result<Option<SetInfo>, Failure> {
        let db = self.database()?;
        let done = match wanted {
            Wanted::Log => backup_log(&db, request, &mut Silent),
            _ => backup_database(&db, request, &mut Silent),
        };
        match done {
            Ok(report) => Ok(Some(report.info)),
            Err(e) if has(&e, &[3004, 3035, 4208, 4214]) => Ok(None),
            Err(e) => Err(of_backup(e)),
        }
    }

    /// What a set says of itself, if it is whole.
    pub(super) fn whole(&self, paths: &[PathBuf]) -> Option<SetInfo> {
        let media = MediaSet::open(&self.volume, paths).ok()?;
        verify(&media, None, None, &mut Silent).ok()?;
        media.info(1).ok()
    }

    fn media(&self, taken: &Taken) -> Result<MediaSet, Failure> {
        MediaSet::open(&self.volume, &taken.paths).map_err(of_backup)
    }

    /// RESTORE WITH NORECOVERY.
    pub(super) fn restore_one(
        &self,
        instance: &Arc<Instance>,
        (taken, stop, how): (&Taken, Option<&Still>, How),
    ) -> Result<(), BackupError> {
        let media = MediaSet::open(&self.volume, &taken.paths)?;
        let info = media.info(1)?;
        let to = |name: &str| PathBuf::from(format!("home/v0/copy_{name}"));
        let moves = info.files.iter().map(|f| (f.name.clone(), to(&f.name)));
        let request = RestoreRequest {
            name: COPY.to_owned(),
            moves: moves.collect(),
            replace: true,
            stop: stop.map(|still| StopPoint::Time(still.at)),
            partial: (how == How::Partly).then(Parts::default),
            standby: (how == How::Standby).then(|| PathBuf::from(UNDO)),
            ..RestoreRequest::default()
        };
        let done = match taken.wanted {
            Wanted::Log => restore_log(instance, &media, &request, &mut Silent),
            _ => restore_database(instance, &media, &request, &mut Silent),
        };
        done.map(drop)
    }

    /// Restores a chain, recovers the copy and reads it.
    pub(super) fn restore_chain(&self, plan: &Plan) -> Result<State, Failure> {
        if plan.piecemeal {
            return self.restore_piecemeal(plan);
        }
        let mut file = plan.file.as_ref();
        let how = match plan.standby {
            true => How::Standby,
            false => How::Wholly,
        };
        for (at, taken) in plan.chain.iter().enumerate() {
            let is_last = at + 1 == plan.chain.len();
            if taken.wanted == Wanted::Log
                && let Some(from) = file.take()
            {
                self.restore_file(self.instance()?, from)
                    .map_err(of_backup)?;
            }
            let stop = plan.stop.as_ref().filter(|_| is_last);
            match self.restore_one(self.instance()?, (taken, stop, how)) {
                Ok(()) => {}
                // All of it is there already.
                Err(e) if taken.wanted == Wanted::Log && has(&e, &[4326]) => {}
                Err(e) => return Err(of_backup(e)),
            }
        }
        if let Some(from) = file {
            self.restore_file(self.instance()?, from)
                .map_err(of_backup)?;
        }
        let copy = recover_only(self.instance()?, COPY).map_err(of_backup)?;
        self.read_copy(copy)
    }

    pub(super) fn read_copy(&self, copy: Arc<Database>) -> Result<State, Failure> {
        let store = self.store_of(copy)?;
        let state = store.read_all()?;
        store.audit()?;
        Ok(state)
    }

    /// The copy after a power loss, if it recovers; else it must be RESTORING, or not there at all.
    pub(super) fn recovered_copy(&self, chain: &[Taken]) -> Result<Option<State>, Failure> {
        let Some(target) = self.instance()?.restore_target(COPY) else {
            return Ok(None);
        };
        let standing = target.database.as_ref().is_some_and(|d| d.is_in_standby());
        if let Some(open) = target.database.filter(|_| !standing) {
            return self.read_whole(open, chain).map(Some);
        }
        if target.state != DatabaseState::Restoring && !standing {
            let text = format!("the copy is {:?} after a power loss", target.state);
            return Err(Failure::Wrong(text));
        }
        match recover_only(self.instance()?, COPY) {
            Ok(copy) => self.read_whole(copy, chain).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Restores the log backups of a chain to a copy in whose restore, perhaps in whose recovery, the power
    /// went. It may refuse them: it must not take what does not go on where it is.
    pub(super) fn go_on(&self, chain: &[Taken]) -> Result<(), Failure> {
        let instance = self.instance()?;
        let restoring = |t: &furrow_engine::RestoreTarget| {
            let standing = t.database.as_ref().is_some_and(|d| d.is_in_standby());
            standing || t.state == DatabaseState::Restoring
        };
        if !instance.restore_target(COPY).is_some_and(|t| restoring(&t)) {
            return Ok(());
        }
        for taken in chain.iter().filter(|t| t.wanted == Wanted::Log) {
            // 5120: the power went before the files were made.
            let refusals = [3117, 4305, 4320, 4326, 4330, 5120];
            match self.restore_one(instance, (taken, None, How::Wholly)) {
                Ok(()) => {}
                Err(e) if has(&e, &refusals) => {}
                Err(e) => return Err(of_backup(e)),
            }
        }
        Ok(())
    }

    /// Removes the copy, whatever its state.
    pub(super) fn drop_copy(&self) -> Result<(), Failure> {
        match self.instance()?.restore_target(COPY) {
            None => Ok(()),
            Some(target) => {
                drop(target);
                self.instance()?.drop_database(COPY).map_err(failure)
            }
        }
    }

    /// A differential backup over a full one that is not its base is refused.
    pub(super) fn refuses_other_base(&self, full: &Taken, other: &Taken) -> Result<(), Failure> {
        let instance = self.instance()?;
        self.restore_one(instance, (full, None, How::Wholly))
            .map_err(of_backup)?;
        match self.restore_one(instance, (other, None, How::Wholly)) {
            Ok(()) => {
                let text = "a differential backup was restored over another base than its own";
                Err(Failure::Wrong(text.to_owned()))
            }
            Err(e) if has(&e, &[3136]) => Ok(()),
            Err(e) => Err(of_backup(e)),
        }
    }

    /// RESTORE VERIFYONLY: whether the backup is accepted.
    pub(super) fn verify(&self, taken: &Taken) -> Result<bool, Failure> {
        let Ok(media) = self.media(taken) else {
            return Ok(false);
        };
        Ok(verify(&media, None, None, &mut Silent).is_ok())
    }

    /// Flips a bit of a file.
    pub(super) fn flip(&self, path: &Path, (at, bit): (u64, u32)) -> Result<(), Failure> {
        let flipped = || {
            let file = self.volume.open(path, Open::Existing, Access::Data)?;
            let at = at % file.len_bytes()?.max(1);
            let mut byte = [0];
            file.read_at(at, &mut byte)?;
            file.write_durable_at(at, &[byte[0] ^ 1 << bit])
        };
        flipped().map_err(|e| failure(e.into()))
    }
}
