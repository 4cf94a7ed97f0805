//! Databases come and go: start, create, attach, detach, drop, close.

use super::Entry;
use super::Instance;
use super::snapshots::{orphan, paths_first};
use crate::database::Database;
use crate::files::file_path;
use crate::files::{DatabaseSpec, remove_any, remove_own};
use crate::opening;
use crate::opening::RestingPrimary;
use crate::shared::{Absent, DatabaseList, Link, Listed, Moved, Phase};
use furrow_format::DatabaseId;
use furrow_io::random;
use furrow_io::sync::MutexGuard;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a database is attached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachOptions {
    /// Under another name than it was detached with.
    pub name: Option<String>,
    /// Where files are now that were moved; the others are looked for where the catalog says, then beside the
    /// primary file.
    pub files: Vec<PathBuf>,
    /// READ_ONLY: files are opened for reading only, and no log is needed. So a real file of SQL Server is
    /// attached, of versions 611 to 957, or a database of our own that was shut down cleanly.
    pub read_only: bool,
    /// With `read_only`: files beside the primary one go before those that lie where the catalog says.
    pub beside_first: bool,
}

impl Instance {
    pub(super) fn start_databases(&self) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        for listed in list.databases.clone() {
            match listed.phase {
                Phase::Whole | Phase::ReadOnly | Phase::Standby => {
                    self.start_one(&mut list, &listed);
                }
                // With its source.
                Phase::Snapshot | Phase::StaleSnapshot => {}
                Phase::Reverting => self.start_reverting(&mut list, &listed),
                // A piece has no entry of its own.
                Phase::Restoring | Phase::Piece => self.enter_restoring(&listed),
                Phase::Temporary => self.start_temporary(&mut list, &listed)?,
                Phase::Creating | Phase::Dropping => self.clear_at_start(&mut list, &listed),
            }
        }
        self.enter_other_snapshots(&list);
        Ok(())
    }

    /// Opens a database of the list; one that cannot be is entered with the state it is in.
    fn start_one(&self, list: &mut DatabaseList, listed: &Listed) {
        let Some(primary) = listed.paths.first() else {
            return;
        };
        if listed.offline || !self.shared.config.open_databases {
            self.enter(listed, primary, None, DatabaseState::Offline);
            self.enter_offline_snapshots(list, listed.id);
            return;
        }
        // What it says is in the error log.
        let _opened = self.open_with_snapshots(list, listed, primary);
    }

    /// Opens a database of the list, and its snapshots. One that cannot be opened is entered with the state
    /// it is in.
    fn open_with_snapshots(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
        primary: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        let mut resumed = Vec::new();
        let opened = self
            .resume_snapshots(list, listed.id)
            .and_then(|snapshots| {
                resumed = snapshots;
                self.open_listed(listed, primary)
            });
        match &opened {
            Ok(database) => {
                let kept = Some(Arc::clone(database));
                self.enter(listed, primary, kept, DatabaseState::Online);
            }
            Err(error) => {
                let state = self.say_not_opened(listed, error);
                self.enter(listed, primary, None, state);
            }
        }
        self.open_snapshots(opened.as_ref().ok(), resumed);
        opened
    }

    pub(super) fn say_not_opened(&self, listed: &Listed, error: &EngineError) -> DatabaseState {
        let (log, source) = (&self.shared.error_log, Source::SystemSpid(9));
        error
            .messages()
            .iter()
            .for_each(|m| log.write_message(source, m));
        let state = opening::state_after(error);
        if state == DatabaseState::Suspect {
            let args = [listed.name.as_str().into(), listed.id.into()];
            log.write_message(source, &Message::new(3414, &args));
        }
        state
    }

    /// Opens a database of the list in the way that it was attached in.
    pub(super) fn open_listed(
        &self,
        listed: &Listed,
        primary: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        let id = DatabaseId(listed.id);
        if listed.phase == Phase::Standby {
            return self.open_standby(listed);
        }
        if listed.phase == Phase::ReadOnly {
            let opened = opening::open_resting(&self.shared, primary)?;
            return self.open_resting(listed, opened);
        }
        let moved = Moved {
            home: primary.parent().unwrap_or(Path::new("")).to_path_buf(),
            absent: listed.absent.at_open(),
            ..Moved::default()
        };
        let database = opening::open(&self.shared, id, &listed.name, primary, &moved)?;
        database.start_background()?;
        Ok(database)
    }

    fn open_resting(
        &self,
        listed: &Listed,
        opened: RestingPrimary,
    ) -> Result<Arc<Database>, EngineError> {
        let id = DatabaseId(listed.id);
        opening::attach_resting(&self.shared, id, &listed.name, (opened, &listed.paths))
    }

    pub(super) fn open_database(
        &self,
        id: DatabaseId,
        name: &str,
        primary: &Path,
        (moved, attaching): (&[PathBuf], bool),
    ) -> Result<Arc<Database>, EngineError> {
        let home = primary.parent().unwrap_or(Path::new("")).to_path_buf();
        let moved = Moved {
            paths: moved.to_vec(),
            home,
            attaching,
            ..Moved::default()
        };
        let database = opening::open(&self.shared, id, name, primary, &moved)?;
        database.start_background()?;
        Ok(database)
    }

    pub(super) fn enter(
        &self,
        listed: &Listed,
        primary: &Path,
        database: Option<Arc<Database>>,
        state: DatabaseState,
    ) {
        let entry = Entry {
            id: DatabaseId(listed.id),
            name: listed.name.clone(),
            primary: primary.to_path_buf(),
            source: (listed.phase.is_snapshot() && listed.link.database != 0)
                .then_some(DatabaseId(listed.link.database)),
            database,
            state,
        };
        self.databases
            .write()
            .insert(listed.name.to_lowercase(), entry);
    }

    /// Removes what there is of a database that was being created or dropped, then its place in the list.
    /// Clears what an interrupted creation or drop has left. Where that fails, the database stays in the
    /// list, to be dropped again, and the others open.
    fn clear_at_start(&self, list: &mut DatabaseList, listed: &Listed) {
        if let Err(error) = self.clear(list, listed) {
            self.log_line(&format!(
                "Files of database '{}', whose creation or removal did not come to its end, were not \
                 removed: {error}. Repeat DROP DATABASE.",
                listed.name
            ));
        }
    }

    pub(super) fn clear(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
    ) -> Result<(), EngineError> {
        for path in &listed.paths {
            if !remove_own(&*self.shared.volume, path, Guid(listed.binding))? {
                self.log_line(&format!(
                    "File '{}' of database '{}' was not removed: it is not of that database any more.",
                    path.display(),
                    listed.name
                ));
            }
        }
        list.change(|all| all.retain(|d| d.id != listed.id))?;
        Ok(())
    }

    pub(super) fn free_name(&self, list: &DatabaseList, name: &str) -> Result<(), EngineError> {
        let lower = name.to_lowercase();
        if list
            .databases
            .iter()
            .any(|d| d.name.to_lowercase() == lower)
        {
            return Err(EngineError::refused(1801, &[name.into()]));
        }
        Ok(())
    }

    /// CREATE DATABASE. On an error nothing of it is left; after a crash the next start removes what there
    /// was.
    pub fn create_database(&self, spec: &DatabaseSpec) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        self.free_name(&list, &spec.name)?;
        let plan = spec.plan()?;
        opening::check_paths(&*self.shared.volume, &plan)?;
        let binding = Guid(random::guid_v4());
        let listed = Listed {
            id: list.id_for(spec.id),
            phase: match spec.temporary {
                true => Phase::Temporary,
                false => Phase::Creating,
            },
            binding: binding.0,
            name: spec.name.clone(),
            paths: plan.files.iter().map(|f| f.path.clone()).collect(),
            layout: match spec.temporary {
                true => plan.files.clone(),
                false => Vec::new(),
            },
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
        };
        list.change(|all| all.push(listed.clone()))?;
        let created = opening::create(&self.shared, DatabaseId(listed.id), binding, spec, &plan);
        let database = match created {
            Ok(database) => database,
            Err(error) => {
                // What the attempt made it has removed; the next start looks again if this fails.
                let _ = list.change(|all| all.retain(|d| d.id != listed.id));
                return Err(error);
            }
        };
        if !spec.temporary {
            self.list_whole(&mut list, &listed)?;
        }
        self.enter_started(&listed, &database)?;
        database.space.recalculate();
        self.log_line(&format!("Database '{}' was created.", spec.name));
        Ok(database)
    }

    pub(super) fn list_whole(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
    ) -> Result<(), EngineError> {
        let whole = Listed {
            phase: Phase::Whole,
            paths: listed.paths.iter().take(1).cloned().collect(),
            layout: Vec::new(),
            // Of a database with all its files nothing is to be noted.
            absent: match listed.absent.is_empty() {
                true => Absent::default(),
                false => listed.absent.clone(),
            },
            ..listed.clone()
        };
        list.change(|all| {
            all.retain(|d| d.id != whole.id);
            all.push(whole);
        })?;
        Ok(())
    }

    pub(super) fn enter_started(
        &self,
        listed: &Listed,
        database: &Arc<Database>,
    ) -> Result<(), EngineError> {
        let primary = listed.paths.first().cloned().unwrap_or_default();
        self.enter(
            listed,
            &primary,
            Some(Arc::clone(database)),
            DatabaseState::Online,
        );
        database.start_background()
    }

    /// CREATE DATABASE ... FOR ATTACH READ_ONLY: opens a real SQL Server database, or one of ours that was
    /// shut down cleanly, from files that are not changed: the primary one first, further ones where they do
    /// not lie beside it. The name is the file's own where none is given.
    pub fn attach_read_only(
        &self,
        name: Option<&str>,
        files: &[PathBuf],
    ) -> Result<Arc<Database>, EngineError> {
        self.attach_resting(name, files, false)
    }

    fn attach_resting(
        &self,
        name: Option<&str>,
        files: &[PathBuf],
        beside_first: bool,
    ) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let Some(primary) = files.first() else {
            return Err(EngineError::refused(5171, &["".into()]));
        };
        self.unused_path(&list, primary)?;
        let mut opened = opening::open_resting(&self.shared, primary)?;
        if beside_first {
            opened.look_beside_first();
        }
        let sniffed = opened.sniffed();
        let name = name.map_or(sniffed.name, str::to_owned);
        self.free_name(&list, &name)?;
        let listed = Listed {
            id: list.free_id(),
            phase: Phase::ReadOnly,
            binding: sniffed.binding.0,
            name,
            paths: files.to_vec(),
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
        };
        let database = self.open_resting(&listed, opened)?;
        list.change(|all| all.push(listed.clone()))?;
        let kept = Some(Arc::clone(&database));
        self.enter(&listed, primary, kept, DatabaseState::Online);
        Ok(database)
    }

    fn unused_path(&self, list: &DatabaseList, primary: &Path) -> Result<(), EngineError> {
        let mut all = list.databases.iter();
        if all.any(|d| d.paths.first().is_some_and(|p| p == primary)) {
            let path = primary.display().to_string();
            return Err(EngineError::refused(12106, &[path.into()]));
        }
        Ok(())
    }

    /// CREATE DATABASE ... FOR ATTACH: opens a database of ours that is not in this instance's list. If the
    /// log is lost and the database was shut down cleanly, a new log is created. With `read_only`, as
    /// [`Instance::attach_read_only`] does.
    pub fn attach_database(
        &self,
        primary: &Path,
        options: &AttachOptions,
    ) -> Result<Arc<Database>, EngineError> {
        let primary = &*file_path(primary)?;
        let moved: Result<Vec<PathBuf>, _> = options.files.iter().map(|f| file_path(f)).collect();
        let moved = moved?;
        if options.read_only {
            let mut files = vec![primary.to_path_buf()];
            files.extend(moved.into_iter().filter(|f| f != primary));
            return self.attach_resting(options.name.as_deref(), &files, options.beside_first);
        }
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        self.unused_path(&list, primary)?;
        let sniffed = opening::sniff(&self.shared, primary)?;
        let name = options.name.clone().unwrap_or(sniffed.name);
        self.free_name(&list, &name)?;
        let listed = Listed {
            id: list.free_id(),
            phase: Phase::Whole,
            binding: sniffed.binding.0,
            name,
            paths: vec![primary.to_path_buf()],
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
        };
        let id = DatabaseId(listed.id);
        let database = self.open_database(id, &listed.name, primary, (&moved, true))?;
        database.note_places()?;
        self.list_whole(&mut list, &listed)?;
        self.enter(
            &listed,
            primary,
            Some(Arc::clone(&database)),
            DatabaseState::Online,
        );
        Ok(database)
    }

    /// The listed database of this name; 911 where there is none.
    pub(super) fn listed(
        &self,
        list: &MutexGuard<'_, DatabaseList>,
        name: &str,
        missing: impl FnOnce() -> EngineError,
    ) -> Result<Listed, EngineError> {
        let found = list.named(name).cloned().ok_or_else(missing)?;
        list.refuse_held(&found)?;
        Ok(found)
    }

    /// Shuts the database down if it is open; 3702 if a session uses it.
    pub(super) fn close_entry(&self, name: &str) -> Result<(), EngineError> {
        let open = self
            .databases
            .read()
            .get(&name.to_lowercase())
            .and_then(|e| e.database.clone());
        let Some(database) = open else { return Ok(()) };
        database.refuse_entry_unless_used()?;
        if database.state() == DatabaseState::Suspect {
            database.abandon();
            return Ok(());
        }
        database.shut_down()
    }

    pub(super) fn forget(&self, name: &str) {
        self.databases.write().remove(&name.to_lowercase());
    }

    /// ALTER DATABASE MODIFY FILE (FILENAME = ...): the path where a file is looked for when the database
    /// is next opened. Nothing is moved.
    pub fn relocate_file(&self, name: &str, file: &str, path: &Path) -> Result<(), EngineError> {
        let database = self.database(name)?;
        let path = &*file_path(path)?;
        let _entered = self.shared.enter();
        if database.is_temporary() {
            let id = database.relocate(file, path)?;
            return database.change_layout(|files| {
                for plan in files.iter_mut().filter(|plan| plan.id == id.0) {
                    plan.path = path.to_path_buf();
                }
            });
        }
        let mut list = self.shared.list.lock();
        if database.relocate(file, path)? == furrow_format::FileId(1) {
            let id = database.id().0;
            list.change(|all| {
                for listed in all.iter_mut().filter(|d| d.id == id) {
                    listed.paths = vec![path.to_path_buf()];
                }
            })?;
        }
        Ok(())
    }

    /// sp_detach_db: a clean shutdown; the files stay and can be attached again, here or elsewhere.
    pub fn detach_database(&self, name: &str) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let no = || EngineError::refused(911, &[name.into()]);
        let listed = self.listed(&list, name, no)?;
        if listed.phase.is_snapshot() {
            return Err(EngineError::refused(5093, &[]));
        }
        Self::refuse_with_snapshots(&list, listed.id, "detach")?;
        listed.absent.refuse("sp_detach_db")?;
        listed.refuse_standby("sp_detach_db")?;
        self.close_entry(name)?;
        list.change(|all| all.retain(|d| d.id != listed.id))?;
        self.forget(name);
        Ok(())
    }

    /// DROP DATABASE: its files are deleted, as far as they are provably its own.
    pub fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let no = || EngineError::refused(3701, &["drop".into(), "database".into(), name.into()]);
        let mut listed = self.listed(&list, name, no)?;
        // A database whose revert was interrupted is incomplete. It may be dropped; its snapshot is stale
        // then.
        if listed.phase != Phase::Reverting {
            Self::refuse_with_snapshots(&list, listed.id, "drop")?;
        }
        Self::refuse_reverted_to(&list, &listed)?;
        let open = self.open_entry(name);
        if listed.phase == Phase::ReadOnly {
            // Files that are attached READ_ONLY must not be changed: they stay.
            self.close_entry(name)?;
            list.change(|all| all.retain(|d| d.id != listed.id))?;
            self.forget(name);
            self.shared.instruments.suspects.note_dropped(listed.id);
            self.log_line(&format!(
                "Database '{name}', attached READ_ONLY, was dropped; its files were left as they are."
            ));
            return Ok(());
        }
        if let Some(database) = &open {
            database.refuse_entry_unless_used()?;
            if !database.is_snapshot() {
                listed.paths = database.all_paths();
            }
        }
        listed.paths.extend(listed.absent.piece_paths());
        self.remove_listed_undo(&listed)?;
        if !listed.link.undo.as_os_str().is_empty() {
            listed.paths.push(listed.link.undo.clone());
        }
        if listed.phase == Phase::Reverting {
            listed.paths = listed.layout.iter().map(|p| p.path.clone()).collect();
        }
        let source = listed.link.database;
        listed.phase = Phase::Dropping;
        let dropping = listed.clone();
        let orphans = Self::snapshots_of(&list, listed.id);
        let noted = list.change(|all| {
            all.retain(|d| d.id != dropping.id);
            orphan(all, dropping.id);
            all.push(dropping);
        });
        if let (Err(_), Some(database)) = (&noted, &open) {
            database.allow_entry();
        }
        noted?;
        if let Some(database) = open {
            // Nothing of it is wanted any more: no checkpoint.
            database.abandon();
        }
        self.forget(name);
        for mut orphaned in orphans {
            orphaned.link.database = 0;
            self.enter(
                &orphaned,
                &paths_first(&orphaned),
                None,
                DatabaseState::Suspect,
            );
        }
        if let Some(source) = self.database_by_id(DatabaseId(source)) {
            source.kept.remove(DatabaseId(listed.id));
        }
        self.shared.instruments.suspects.note_dropped(listed.id);
        self.clear(&mut list, &listed)
    }

    /// DROP DATABASE of one whose content is not needed, such as a `tempdb` of an older version. If it cannot
    /// be opened because its files are damaged, cut short or missing, `files` are deleted as they are: the
    /// caller guarantees that no other database uses these names.
    pub fn discard_database(&self, name: &str, files: &[PathBuf]) -> Result<(), EngineError> {
        if self.database(name).is_ok() {
            return self.drop_database(name);
        }
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let no = || EngineError::refused(3701, &["drop".into(), "database".into(), name.into()]);
        let listed = self.listed(&list, name, no)?;
        // Its handles, if it has any: it may have been opened and found to be suspect.
        let entry = self.databases.write().remove(&name.to_lowercase());
        if let Some(database) = entry.and_then(|entry| entry.database) {
            database.abandon();
        }
        for path in files {
            remove_any(&*self.shared.volume, path)?;
        }
        list.change(|all| all.retain(|d| d.id != listed.id))?;
        Ok(())
    }

    /// ALTER DATABASE ... SET OFFLINE: a clean shutdown; it stays in the list, and closed until
    /// [`Instance::reopen_database`], also when the instance is started again.
    pub fn close_database(&self, name: &str) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let listed = self.listed(&list, name, || EngineError::refused(911, &[name.into()]))?;
        if listed.phase == Phase::Restoring {
            return Err(EngineError::refused(927, &[name.into()]));
        }
        self.close_listed(&list, name)?;
        self.note_offline(&mut list, &listed, true)?;
        if !listed.offline {
            self.say_set(&listed, "OFFLINE");
        }
        Ok(())
    }

    pub(super) fn say_set(&self, listed: &Listed, option: &str) {
        let name = &listed.name;
        self.log_line(&format!(
            "Setting database option {option} to ON for database '{name}'."
        ));
    }

    /// Notes durably whether the database stays closed when the instance is started.
    pub(super) fn note_offline(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
        offline: bool,
    ) -> Result<(), EngineError> {
        if listed.offline == offline {
            return Ok(());
        }
        list.change(|all| {
            let ours = all.iter_mut().filter(|d| d.id == listed.id);
            ours.for_each(|d| d.offline = offline);
        })?;
        Ok(())
    }

    pub(super) fn close_listed(
        &self,
        list: &MutexGuard<'_, DatabaseList>,
        name: &str,
    ) -> Result<Listed, EngineError> {
        let listed = self.listed(list, name, || EngineError::refused(911, &[name.into()]))?;
        if listed.phase.is_snapshot() {
            return Err(EngineError::refused(5093, &[]));
        }
        if !Self::snapshots_of(list, listed.id).is_empty() {
            return Err(EngineError::refused(5094, &[]));
        }
        self.close_entry(name)?;
        if let Some(entry) = self.databases.write().get_mut(&name.to_lowercase()) {
            entry.database = None;
            entry.state = DatabaseState::Offline;
        }
        Ok(listed)
    }

    /// ALTER DATABASE ... SET ONLINE: opens and recovers a database that is offline, pending or suspect.
    pub fn reopen_database(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let no = || EngineError::refused(911, &[name.into()]);
        let mut listed = self.listed(&list, name, no)?;
        let open = self
            .databases
            .read()
            .get(&name.to_lowercase())
            .and_then(|e| e.database.clone());
        if let Some(database) = open {
            if database.state() == DatabaseState::Online {
                return Ok(database);
            }
            database.refuse_of_snapshot()?;
            if database.state() == DatabaseState::Emergency {
                // It can be read: its readers leave first.
                database.refuse_entry_unless_used()?;
            }
            self.close_snapshots(&list, listed.id)?;
            database.abandon();
        }
        match listed.phase {
            Phase::Snapshot | Phase::StaleSnapshot => {
                return Err(EngineError::refused(3420, &[name.into()]));
            }
            Phase::Reverting => return Err(EngineError::refused(927, &[name.into()])),
            _ => {}
        }
        self.note_offline(&mut list, &listed, false)?;
        if std::mem::take(&mut listed.offline) {
            self.say_set(&listed, "ONLINE");
        }
        let primary = listed.paths.first().cloned().unwrap_or_default();
        // The old handles must be gone before the files can be locked again.
        self.forget(name);
        if listed.phase == Phase::Restoring {
            self.enter_restoring(&listed);
            return Err(EngineError::refused(927, &[name.into()]));
        }
        if listed.phase == Phase::Temporary {
            return self.renew(&mut list, &listed);
        }
        self.open_with_snapshots(&mut list, &listed, &primary)
    }

    /// Shuts all databases down cleanly. The first error is returned; the others are shut down nevertheless.
    pub fn shut_down(&self) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let _list = self.shared.list.lock();
        let names: Vec<String> = self.databases.read().keys().cloned().collect();
        let mut first = Ok(());
        for name in names {
            let closed = self.close_entry(&name);
            if closed.is_ok() {
                self.forget(&name);
            }
            first = first.and(closed);
        }
        first
    }

    /// Lets go of everything at once, as if the process had died: nothing is written any more.
    pub fn abandon(&self) {
        let databases = std::mem::take(&mut *self.databases.write());
        databases
            .into_values()
            .filter_map(|e| e.database)
            .for_each(|d| d.abandon());
    }
}

impl Drop for Instance {
    /// An instance that was not shut down leaves its databases to recovery, as a crash would.
    fn drop(&mut self) {
        self.abandon();
    }
}
