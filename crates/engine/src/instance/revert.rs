//! RESTORE DATABASE ... FROM DATABASE_SNAPSHOT: see [`crate::snapshots`] for the steps.

use super::Instance;
use super::snapshots::{of, paths_first};
use crate::database::Database;
use crate::files::FilePlan;
use crate::opening::open;
use crate::shared::{DatabaseList, Link, Listed, Moved, Phase, Reverting};
use crate::snapshots;
use furrow_format::{DatabaseId, FileGrowth, FileId, Lsn};
use furrow_io::sync::MutexGuard;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::Path;
use std::sync::Arc;

/// An open database and its snapshot, which are ready to be reverted: no session is in them.
struct Ready {
    database: Arc<Database>,
    reader: Arc<Database>,
}

impl Ready {
    /// Keeps sessions out; 3101 where there are some.
    fn refuse_entry(&self) -> Result<(), EngineError> {
        let refused = self.database.refuse_entry_unless_used();
        refused.map_err(|_| of(3101))?;
        if self.reader.refuse_entry_unless_used().is_err() {
            self.database.allow_entry();
            return Err(of(3101));
        }
        Ok(())
    }

    fn allow_entry(&self) {
        self.database.allow_entry();
        self.reader.allow_entry();
    }
}

fn of_3137() -> EngineError {
    of(3137)
}

impl Instance {
    /// RESTORE DATABASE ... FROM DATABASE_SNAPSHOT: 3137 unless it is the only snapshot of the database,
    /// 3101 if a session uses either.
    pub fn revert_to_snapshot(
        &self,
        name: &str,
        snapshot: &str,
    ) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let (_reverting, half_done) = {
            let mut list = self.shared.list.lock();
            let (source, snapshot) = self.pair_of(&list, name, snapshot)?;
            // Its handles of the files would be in the way of the other's.
            let mark = Reverting::new(&self.shared, &mut list, source.id);
            let half_done = source.phase == Phase::Reverting;
            debug_assert_eq!(snapshot.phase, Phase::Snapshot, "that of the pair");
            (mark.ok_or_else(|| of(3101))?, half_done)
        };
        // All pages are read, which takes long: others use the list of databases meanwhile.
        let ready = match half_done {
            true => None,
            false => Some(self.make_ready(name, snapshot)?),
        };
        let mut list = self.shared.list.lock();
        let begun = self.pair_of(&list, name, snapshot);
        let begun = begun.and_then(|(source, kept)| match &ready {
            Some(ready) => Ok((self.begin_revert(&mut list, (source, ready), &kept)?, kept)),
            None if source.phase == Phase::Reverting => Ok((source, kept)),
            // Another session has completed it.
            None => Err(of_3137()),
        });
        match begun {
            Ok((source, snapshot)) => {
                // The old handles must be gone before the files can be locked again.
                drop(ready);
                self.finish_revert(&mut list, &source, &snapshot)
            }
            Err(error) => {
                if let Some(ready) = ready {
                    ready.allow_entry();
                }
                Err(error)
            }
        }
    }

    /// The database and its snapshot, as the list has them: 3137 unless it is the only one.
    fn pair_of(
        &self,
        list: &MutexGuard<'_, DatabaseList>,
        name: &str,
        snapshot: &str,
    ) -> Result<(Listed, Listed), EngineError> {
        let source = self.listed(list, name, of_3137)?;
        let snapshot = self.listed(list, snapshot, of_3137)?;
        let others = Self::snapshots_of(list, source.id);
        let is_only = others.len() == 1 && others.first().is_some_and(|o| o.id == snapshot.id);
        match is_only && snapshot.phase == Phase::Snapshot {
            true => Ok((source, snapshot)),
            false => Err(of_3137()),
        }
    }

    /// Keeps sessions from both databases, and does what can fail before anything is written. A cancel
    /// ends it.
    fn make_ready(&self, name: &str, snapshot: &str) -> Result<Ready, EngineError> {
        let database = self.database(name).map_err(|_| of_3137())?;
        let reader = self.database(snapshot).map_err(|_| of_3137())?;
        let ready = Ready { database, reader };
        ready.refuse_entry()?;
        match make_ready(&ready.reader) {
            Ok(()) => Ok(ready),
            Err(error) => {
                ready.allow_entry();
                Err(error)
            }
        }
    }

    /// Notes in the list that the revert has begun. What was made ready is looked at once more: while the
    /// list was free, files can have changed, and another session can have let others in.
    fn begin_revert(
        &self,
        list: &mut MutexGuard<'_, DatabaseList>,
        (source, ready): (Listed, &Ready),
        snapshot: &Listed,
    ) -> Result<Listed, EngineError> {
        let Ready { database, reader } = ready;
        let same = |name: &str, known: &Arc<Database>| {
            let now = self.database(name);
            now.is_ok_and(|now| Arc::ptr_eq(&now, known))
        };
        if !same(&source.name, database) || !same(&snapshot.name, reader) {
            return Err(of_3137());
        }
        ready.refuse_entry()?;
        if let Some(kept) = &reader.snapshot {
            snapshots::prepare(kept.guard.snapshot())?;
        }
        let layout = layout_of(database);
        let reverting = Listed {
            phase: Phase::Reverting,
            paths: database.all_paths(),
            layout,
            link: Link {
                database: snapshot.id,
                lsn: snapshots::last_lsn(database),
                ..Link::default()
            },
            ..source
        };
        let noted = list.change(|all| {
            let ours = all.iter_mut().filter(|d| d.id == reverting.id);
            ours.for_each(|d| d.clone_from(&reverting));
        });
        match noted {
            Ok(()) => {
                // Nothing of it is wanted any more: no checkpoint.
                database.abandon();
                reader.abandon();
                database.kept.remove(reader.id);
                Ok(reverting)
            }
            Err(error) => {
                // The caller lets sessions in again.
                Err(error.into())
            }
        }
    }

    /// The rest of a revert; a start of the instance begins here.
    pub(super) fn finish_revert(
        &self,
        list: &mut DatabaseList,
        source: &Listed,
        snapshot: &Listed,
    ) -> Result<Arc<Database>, EngineError> {
        let primary = paths_first(source);
        // The old handles must be gone before the files can be locked again.
        self.forget(&source.name);
        self.forget(&snapshot.name);
        self.enter(source, &primary, None, DatabaseState::Restoring);
        let pending = DatabaseState::RecoveryPending;
        self.enter(snapshot, &paths_first(snapshot), None, pending);
        let read_only = snapshots::write_back(&self.shared, source, snapshot)?;
        let log = source.layout.iter().filter(|plan| plan.filegroup == 0);
        let moved = Moved {
            home: primary.parent().unwrap_or(Path::new("")).to_path_buf(),
            attaching: true,
            // The new log goes where the old one was.
            paths: log.map(|plan| plan.path.clone()).collect(),
            at: source
                .layout
                .iter()
                .map(|f| (f.id, f.path.clone()))
                .collect(),
            ..Moved::default()
        };
        let resumed = self.resume_snapshots(list, source.id)?;
        let id = DatabaseId(source.id);
        let opened = open(&self.shared, id, &source.name, &primary, &moved);
        let database = match opened {
            Ok(database) => database,
            Err(error) => {
                self.open_snapshots(None, resumed);
                return Err(error);
            }
        };
        for file in database.file_list()? {
            // A file that was moved since lies where it lay before the revert.
            let plan = source.layout.iter().find(|plan| plan.id == file.id.0);
            if let Some(plan) = plan.filter(|plan| plan.path != file.path) {
                database.note_path(file.id, &plan.path)?;
            }
        }
        let binding = Guid(source.binding);
        let added = source.layout.iter().filter(|plan| plan.filegroup != 0);
        for plan in added.filter(|plan| !snapshot.layout.iter().any(|of| of.id == plan.id)) {
            crate::files::remove_own(&*self.shared.volume, &plan.path, binding)?;
        }
        let whole = Listed {
            link: Link {
                lsn: Lsn::ZERO,
                ..Link::default()
            },
            ..source.clone()
        };
        self.list_whole(list, &whole)?;
        self.enter_started(&whole, &database)?;
        self.open_snapshots(Some(&database), resumed);
        if read_only {
            database.set_read_only(true)?;
        }
        self.log_line(&format!(
            "Database '{}' was reverted to database snapshot '{}'.",
            source.name, snapshot.name
        ));
        Ok(database)
    }

    /// Goes on with a revert that was cut short. Where it cannot be done, the database stays RESTORING, and
    /// the statement can be given again.
    pub(super) fn start_reverting(&self, list: &mut DatabaseList, source: &Listed) {
        let snapshot = list.databases.iter().find(|d| d.id == source.link.database);
        let reverted = match snapshot.cloned() {
            Some(snapshot) if self.shared.config.open_databases => {
                self.finish_revert(list, source, &snapshot).map(drop)
            }
            _ => Err(of(3137)),
        };
        if let Err(error) = reverted {
            self.say_not_opened(source, &error);
            self.enter(source, &paths_first(source), None, DatabaseState::Restoring);
        }
    }
}

/// Proves that the images of a snapshot and the data files of its source are the database of the split, and
/// takes what space the revert needs.
fn make_ready(reader: &Database) -> Result<(), EngineError> {
    let of = reader.snapshot.as_ref().ok_or_else(|| of(3137))?;
    let snapshot = of.guard.snapshot();
    snapshots::prove(snapshot, &reader.name)?;
    snapshots::prepare(snapshot)?;
    match snapshot.failure() {
        Some(_) => Err(EngineError::refused(3420, &[reader.name.as_str().into()])),
        None => Ok(()),
    }
}

/// The data files and the log of an open database, where they are.
fn layout_of(database: &Database) -> Vec<FilePlan> {
    let plan = |id: FileId, filegroup, name, path| FilePlan {
        id: id.0,
        filegroup,
        name,
        path,
        size_pages: 0,
        max_pages: None,
        growth: FileGrowth::None,
    };
    let data = database.files.files().into_iter();
    let mut layout: Vec<FilePlan> = data
        .map(|file| plan(file.id, file.filegroup, file.name, file.path))
        .collect();
    let log = database.keeper.log_entry();
    layout.push(plan(FileId(2), 0, log.name, log.path));
    layout
}
