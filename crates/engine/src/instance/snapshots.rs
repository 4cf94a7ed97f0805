//! Snapshots come and go with their source: see [`crate::snapshots`] for the invariants.

use super::Instance;
use crate::database::Database;
use crate::files::{FilePlan, check_free, file_path};
use crate::shared::{Absent, DatabaseList, Link, Listed, Phase};
use crate::snapshots::{self, Failure, NotResumed, Resumed};
use furrow_format::{DatabaseId, FileGrowth, FileId};
use furrow_io::random;
use furrow_io::sync::MutexGuard;
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError, refuse};
use furrow_types::Guid;
use std::path::PathBuf;
use std::sync::Arc;

/// State of 5170 in CREATE DATABASE.
const TAKEN_STATE: u8 = 4;

/// A snapshot as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSpec {
    /// Its name.
    pub name: String,
    /// The database that it is of.
    pub source: String,
    /// For each data file of the source its logical name, and the path of its sparse file.
    pub files: Vec<(String, PathBuf)>,
}

/// The message without arguments of this number.
pub(super) fn of(number: u32) -> EngineError {
    EngineError::of(Message::new(number, &[]))
}

impl Instance {
    /// CREATE DATABASE ... AS SNAPSHOT OF. On an error nothing of it is left.
    pub fn create_snapshot(&self, spec: &SnapshotSpec) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        self.free_name(&list, &spec.name)?;
        furrow_tables::check_name(&spec.name)?;
        let source = self.snapshot_source(&list, &spec.source)?;
        let plans = plans(spec, &source)?;
        for plan in &plans {
            let free = check_free(&*self.shared.volume, &plan.path, TAKEN_STATE);
            free.map_err(|e| e.followed_by(Message::new(1802, &[])))?;
        }
        let binding = Guid(random::guid_v4());
        let mut listed = Listed {
            id: list.free_id(),
            phase: Phase::Creating,
            binding: binding.0,
            name: spec.name.clone(),
            paths: plans.iter().map(|plan| plan.path.clone()).collect(),
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
        };
        list.change(|all| all.push(listed.clone()))?;
        let failure = Failure::new(&spec.name, &self.shared.error_log);
        let paths: Vec<(FileId, PathBuf)> = plans
            .iter()
            .map(|plan| (FileId(plan.id), plan.path.clone()))
            .collect();
        // The source stays open meanwhile: who closes it waits for the list.
        let guard = match snapshots::create(&source, binding, &paths, &failure) {
            Ok(guard) => Arc::new(guard),
            Err(error) => {
                let _ = list.change(|all| all.retain(|d| d.id != listed.id));
                return Err(error.of_expansion());
            }
        };
        let creating = listed.clone();
        listed.phase = Phase::Snapshot;
        listed.layout = plans;
        listed.link.database = source.id.0;
        source.kept.add(DatabaseId(listed.id), &spec.name, &guard);
        let whole = list.change(|all| {
            all.retain(|d| d.id != listed.id);
            all.push(listed.clone());
        });
        let opened = whole
            .map_err(EngineError::from)
            .and_then(|()| snapshots::open(&self.shared, (&listed, &source), guard, &failure));
        match opened {
            Ok(snapshot) => {
                let kept = Some(Arc::clone(&snapshot));
                self.enter(&listed, &paths_first(&listed), kept, DatabaseState::Online);
                let (name, of) = (&spec.name, &source.name);
                self.log_line(&format!(
                    "Database snapshot '{name}' of '{of}' was created."
                ));
                Ok(snapshot)
            }
            Err(error) => {
                source.kept.remove(DatabaseId(listed.id));
                let _ = self.clear(&mut list, &creating);
                Err(error.followed_by(Message::new(1823, &[])))
            }
        }
    }

    fn snapshot_source(
        &self,
        list: &MutexGuard<'_, DatabaseList>,
        name: &str,
    ) -> Result<Arc<Database>, EngineError> {
        let missing = || EngineError::refused(911, &[name.into()]);
        let listed = self.listed(list, name, missing)?;
        match listed.phase {
            Phase::Snapshot | Phase::StaleSnapshot => return Err(of(1821)),
            Phase::Temporary => return Err(EngineError::refused(1816, &[name.into()])),
            Phase::ReadOnly => {
                let text = format!(
                    "Database '{name}' was attached READ_ONLY: a snapshot of it is not supported, and its \
                     files never change."
                );
                return Err(refuse(40514, 16, 1, &text));
            }
            _ => {}
        }
        listed.absent.refuse("CREATE DATABASE AS SNAPSHOT")?;
        listed.refuse_standby("CREATE DATABASE AS SNAPSHOT")?;
        let database = self.database(name).map_err(|_| of(1822))?;
        match database.state() {
            DatabaseState::Emergency => Err(of(1822)),
            _ => Ok(database),
        }
    }

    /// The snapshots of a database, stale ones included.
    pub(super) fn snapshots_of(list: &DatabaseList, source: u16) -> Vec<Listed> {
        let all = list.databases.iter();
        let ours = all.filter(|d| d.phase.is_snapshot() && d.link.database == source);
        ours.cloned().collect()
    }

    /// 5094 of a database with snapshots: they read the pages of its files, which are about to change.
    pub(super) fn without_snapshots(list: &DatabaseList, source: u16) -> Result<(), EngineError> {
        match Self::snapshots_of(list, source).is_empty() {
            true => Ok(()),
            false => Err(of(5094)),
        }
    }

    /// 3709 for each snapshot of a database.
    pub(super) fn refuse_with_snapshots(
        list: &DatabaseList,
        source: u16,
        what: &str,
    ) -> Result<(), EngineError> {
        let refused = |listed: Listed| Message::new(3709, &[what.into(), listed.name.into()]);
        let messages: Vec<Message> = Self::snapshots_of(list, source)
            .into_iter()
            .map(refused)
            .collect();
        match messages.is_empty() {
            true => Ok(()),
            false => Err(EngineError::Refused(messages)),
        }
    }

    /// 3702 for a snapshot while its source is being reverted to it.
    pub(super) fn refuse_reverted_to(
        list: &DatabaseList,
        snapshot: &Listed,
    ) -> Result<(), EngineError> {
        let mut all = list.databases.iter();
        let names = |d: &Listed| d.phase == Phase::Reverting && d.link.database == snapshot.id;
        match snapshot.phase.is_snapshot() && all.any(names) {
            true => {
                let args = ["database".into(), snapshot.name.as_str().into()];
                Err(EngineError::refused(3702, &args))
            }
            false => Ok(()),
        }
    }

    /// Registers the snapshots of a database that is about to be opened. One that cannot be is stale from
    /// now on.
    pub(super) fn resume_snapshots(
        &self,
        list: &mut DatabaseList,
        source: u16,
    ) -> Result<Vec<Resumed>, EngineError> {
        let mut resumed = Vec::new();
        for listed in Self::snapshots_of(list, source) {
            if listed.phase == Phase::StaleSnapshot {
                self.enter(&listed, &paths_first(&listed), None, DatabaseState::Suspect);
                continue;
            }
            match snapshots::resume(&self.shared, &listed) {
                Ok(snapshot) => resumed.push(snapshot),
                Err(NotResumed::Busy(error)) => return Err(error),
                Err(NotResumed::Lost(error)) => {
                    self.say_not_opened(&listed, &error);
                    list.change(|all| {
                        let stale = all.iter_mut().filter(|d| d.id == listed.id);
                        stale.for_each(|d| d.phase = Phase::StaleSnapshot);
                    })?;
                    self.enter(&listed, &paths_first(&listed), None, DatabaseState::Suspect);
                }
            }
        }
        Ok(resumed)
    }

    /// Opens the snapshots of a database that was opened, or could not be.
    pub(super) fn open_snapshots(&self, source: Option<&Arc<Database>>, resumed: Vec<Resumed>) {
        for Resumed {
            listed,
            guard,
            failure,
        } in resumed
        {
            let primary = paths_first(&listed);
            let Some(source) = source else {
                self.enter(&listed, &primary, None, DatabaseState::RecoveryPending);
                continue;
            };
            source.kept.add(DatabaseId(listed.id), &listed.name, &guard);
            match snapshots::open(&self.shared, (&listed, source), guard, &failure) {
                Ok(snapshot) => {
                    self.enter(&listed, &primary, Some(snapshot), DatabaseState::Online);
                }
                Err(error) => {
                    self.say_not_opened(&listed, &error);
                    self.enter(&listed, &primary, None, DatabaseState::Suspect);
                }
            }
        }
    }

    /// Enters the snapshots of a database that is not opened.
    pub(super) fn enter_offline_snapshots(&self, list: &DatabaseList, source: u16) {
        for listed in Self::snapshots_of(list, source) {
            let state = match listed.phase {
                Phase::StaleSnapshot => DatabaseState::Suspect,
                _ => DatabaseState::Offline,
            };
            self.enter(&listed, &paths_first(&listed), None, state);
        }
    }

    /// Enters the snapshots whose source was not opened: they can be dropped.
    pub(super) fn enter_other_snapshots(&self, list: &DatabaseList) {
        let snapshots = list.databases.iter().filter(|d| d.phase.is_snapshot());
        for listed in snapshots {
            let known = self.databases.read();
            let entered = known.contains_key(&listed.name.to_lowercase());
            drop(known);
            if !entered {
                let state = DatabaseState::RecoveryPending;
                self.enter(listed, &paths_first(listed), None, state);
            }
        }
    }

    /// Closes the snapshots of a database that is about to be opened again.
    pub(super) fn close_snapshots(
        &self,
        list: &DatabaseList,
        source: u16,
    ) -> Result<(), EngineError> {
        for listed in Self::snapshots_of(list, source) {
            self.close_entry(&listed.name)?;
            self.forget(&listed.name);
        }
        Ok(())
    }
}

/// The snapshots of a database that goes are stale, and belong to no database: its number may be given to
/// another one.
pub(super) fn orphan(all: &mut [Listed], source: u16) {
    let ours = all.iter_mut();
    for listed in ours.filter(|d| d.phase.is_snapshot() && d.link.database == source) {
        listed.phase = Phase::StaleSnapshot;
        listed.link.database = 0;
    }
}

pub(super) fn paths_first(listed: &Listed) -> PathBuf {
    listed.paths.first().cloned().unwrap_or_default()
}

/// The sparse files, one for each data file of the source.
fn plans(spec: &SnapshotSpec, source: &Database) -> Result<Vec<FilePlan>, EngineError> {
    let files = source.files.files();
    let mut plans: Vec<FilePlan> = Vec::new();
    for (name, path) in &spec.files {
        let lower = name.to_lowercase();
        let file = files.iter().find(|file| file.name.to_lowercase() == lower);
        let Some(file) = file else {
            let args = [
                "file".into(),
                name.as_str().into(),
                source.name.as_str().into(),
            ];
            return Err(EngineError::refused(5014, &args));
        };
        if plans.iter().any(|plan| plan.id == file.id.0) {
            return Err(EngineError::refused(1828, &[name.as_str().into()]));
        }
        let path = file_path(path)?;
        if plans.iter().any(|plan| plan.path == path) {
            let shown = path.display().to_string();
            return Err(EngineError::refused(5170, &[shown.into()]));
        }
        plans.push(FilePlan {
            id: file.id.0,
            filegroup: file.filegroup,
            name: file.name.clone(),
            path,
            size_pages: 0,
            max_pages: None,
            growth: FileGrowth::None,
        });
    }
    let missing = files
        .iter()
        .filter(|file| !plans.iter().any(|plan| plan.id == file.id.0));
    let missing = missing.map(|file| Message::new(5127, &[file.name.as_str().into()]));
    let messages: Vec<Message> = missing.collect();
    if !messages.is_empty() {
        return Err(EngineError::Refused(messages));
    }
    plans.sort_by_key(|plan| plan.id);
    Ok(plans)
}
