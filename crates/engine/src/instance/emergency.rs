//! ALTER DATABASE ... SET EMERGENCY, and the repair of a database whose log is lost.
//!
//! # EMERGENCY
//! The database is open for reading only, from its data files as they are. Its log is not read. It stays so
//! until SET ONLINE or a repair; a restart of the instance tries to recover it as any other database.
//!
//! # Repair
//! 1. The database is opened as any other, with its log. If that works, nothing of it is lost, and the repair
//!    is an ordinary one.
//!    If it fails for a reason that another log would not remove (an old copy of a file, a file in use, a
//!    full disk), that is the error of the repair ([`would_a_new_log_help`]).
//! 2. Else a copy of the log is kept, and the images of double-write files are put back.
//! 3. New contents of pages are computed from the data files alone (`furrow_check::repair`).
//! 4. They are written by a journal that says that the log is lost (`crate::checking`). Opening the database
//!    writes the pages, makes a new log, and removes the journal.
//! 5. The database is ONLINE. If the repair fails or is not agreed to, it is in EMERGENCY again.

use super::Instance;
use super::repair::{Order, identity_of};
use crate::checking::{LogAfter, Paths};
use crate::database::Database;
use crate::files::{FileEntry, open_error, repair_path};
use crate::opening;
use crate::shared::{DatabaseList, Listed, Phase};
use furrow_check::{Identity, Repaired};
use furrow_format::{DatabaseId, FileId, UserAccess};
use furrow_io::sync::MutexGuard;
use furrow_io::{Access, IoError, IoErrorKind, Open, Volume, copy_file};
use furrow_log::LogError;
use furrow_messages::Message;
use furrow_recovery::RecoveryError;
use furrow_tables::{DatabaseState, EngineError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The device could not read or write.
const EIO: i32 = 5;

impl Instance {
    /// ALTER DATABASE ... SET EMERGENCY. Sessions must have left (3702).
    pub fn set_emergency(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let list = self.shared.list.lock();
        let listed = self.listed(&list, name, || EngineError::refused(911, &[name.into()]))?;
        match listed.phase {
            Phase::Whole => {}
            Phase::Restoring | Phase::Standby | Phase::Reverting | Phase::Piece => {
                return Err(EngineError::refused(927, &[name.into()]));
            }
            Phase::Snapshot | Phase::StaleSnapshot => return Err(EngineError::refused(5093, &[])),
            Phase::Temporary | Phase::ReadOnly | Phase::Creating | Phase::Dropping => {
                let text = "'EMERGENCY of a database that is attached READ_ONLY, or temporary' is not \
                    supported in this version of Furrow.";
                return Err(EngineError::of(Message::custom(40514, 16, 1, text)));
            }
        }
        listed.absent.refuse("SET EMERGENCY")?;
        let open = self.open_entry(&listed.name);
        if let Some(database) = open
            && database.state() == DatabaseState::Emergency
        {
            return Ok(database);
        }
        let listed = self.close_listed(&list, name)?;
        self.log_line(&format!(
            "Setting database option EMERGENCY to ON for database '{}'.",
            listed.name
        ));
        self.open_in_emergency(&list, &listed)
    }

    pub(super) fn open_entry(&self, name: &str) -> Option<Arc<Database>> {
        let databases = self.databases.read();
        let entry = databases.get(&name.to_lowercase());
        entry.and_then(|entry| entry.database.clone())
    }

    fn open_in_emergency(
        &self,
        _list: &MutexGuard<'_, DatabaseList>,
        listed: &Listed,
    ) -> Result<Arc<Database>, EngineError> {
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let id = DatabaseId(listed.id);
        let open_with = |identity: Option<&Identity>| {
            opening::open_emergency(&self.shared, (id, &listed.name), &primary, identity)
        };
        let open = || open_with(None);
        // The boot page or the header may be what was being written when the log was lost.
        let opened = open().or_else(|error| match self.put_primary_back(&primary) {
            Ok(()) => open(),
            Err(_) => Err(error),
        });
        let opened = opened.or_else(|error| {
            let identity = Identity {
                has_log: true,
                ..identity_of(listed)
            };
            open_with(Some(&identity)).map_err(|_| error)
        });
        let (database, state) = match &opened {
            Ok(database) => (Some(Arc::clone(database)), DatabaseState::Emergency),
            Err(error) => (None, self.say_not_opened(listed, error)),
        };
        self.enter(listed, &primary, database, state);
        opened
    }

    fn put_primary_back(&self, primary: &Path) -> Result<(), EngineError> {
        let file = self
            .shared
            .volume
            .open(primary, Open::Existing, Access::Data)?;
        self.put_images_back(&*file, FileId(1))
    }

    /// EMERGENCY again, with the user access of before.
    fn return_to_emergency(&self, name: &str, access: UserAccess) -> Result<(), EngineError> {
        let database = self.set_emergency(name)?;
        // No session has entered it yet that would have to leave.
        database.set_user_access(access, 0)?;
        Ok(())
    }

    /// Keeps a copy of a log that is about to be replaced, whatever is wrong with it; `None` where there
    /// is no log. 5120 where another program uses it.
    fn keep_log(&self, log: &Path) -> Result<Option<PathBuf>, EngineError> {
        let volume = &*self.shared.volume;
        if log.as_os_str().is_empty() || !volume.exists(log)? {
            return Ok(None);
        }
        let opened = volume.open(log, Open::Existing, Access::Log);
        drop(opened.map_err(|e| open_error(log, &e))?);
        let kept = free_path(volume, log)?;
        let copied = copy_file(volume, log, &kept, &furrow_observe::task::is_cancelled);
        let copied = copied.map_err(EngineError::from);
        let whole = copied.and_then(|()| EngineError::check_cancelled());
        if let Err(error) = whole {
            if volume.exists(&kept)? {
                volume.remove(&kept)?;
            }
            if !is_of_medium(&error) {
                return Err(error);
            }
            self.log_line(&format!(
                "The log '{}' cannot be kept: {error}.",
                log.display()
            ));
            return Ok(None);
        }
        self.log_line(&format!(
            "The log '{}' is kept as '{}': it is to be replaced.",
            log.display(),
            kept.display()
        ));
        Ok(Some(kept))
    }

    /// Removes the copy of a log that was not replaced. Where a journal is left, it may be yet.
    fn forget_copy(&self, kept: &Path, paths: &Paths) {
        let volume = &*self.shared.volume;
        let journal = paths.get(&FileId(1)).map(|path| repair_path(path));
        if let Some(Ok(false)) = journal.map(|path| volume.exists(&path)) {
            let removed = volume.remove(kept);
            if let Err(error) = removed {
                self.log_line(&format!("'{}' cannot be removed: {error}.", kept.display()));
            }
        }
    }

    /// The path of the log, whose row may be lost.
    fn log_to_expect(&self, name: &str, log: PathBuf, paths: &Paths) -> PathBuf {
        let primary = paths.get(&FileId(1)).filter(|_| log.as_os_str().is_empty());
        let found = primary.map(|path| opening::expected_log(&self.shared, name, path));
        found.map_or(log, Result::unwrap_or_default)
    }

    /// 40514 for files whose header or boot page can only be read as computed.
    fn refuse_damaged(
        &self,
        (name, access): (&str, UserAccess),
        paths: &Paths,
    ) -> Result<(), EngineError> {
        let Some(damaged) = opening::first_damaged(&self.shared, paths) else {
            return Ok(());
        };
        let text = format!(
            "'REPAIR_ALLOW_DATA_LOSS of a database whose boot page or file header is damaged' is not \
             supported: '{}'. Copy what can be read, and restore the database from a backup.",
            damaged.display()
        );
        self.return_to_emergency(name, access)?;
        Err(EngineError::of(Message::custom(40514, 16, 1, &text)))
    }

    fn say_log_fails(&self, name: &str, why: &EngineError) {
        self.log_line(&format!(
            "Database '{name}' cannot be opened with its log: {why}."
        ));
    }

    /// Repairs a database in EMERGENCY, which this session alone uses, and is not in.
    pub(super) fn repair_in_emergency(
        &self,
        database: Arc<Database>,
        order: Order<'_>,
    ) -> Result<Repaired, EngineError> {
        let name = database.name().to_owned();
        let access = database.options().user_access;
        let log = database.keeper.log_entry().path;
        let paths = paths_of(&database);
        drop(database);
        {
            let _entered = self.shared.enter();
            let list = self.shared.list.lock();
            self.close_listed(&list, &name)?;
        }
        let log = self.log_to_expect(&name, log, &paths);
        self.refuse_damaged((&name, access), &paths)?;
        // With its log, nothing is lost.
        let why = match self.reopen_database(&name) {
            Ok(recovered) => {
                let alone = recovered.set_user_access(access, 0)?;
                drop(recovered);
                return match alone {
                    true => self.repair_online(&name, order),
                    false => Err(EngineError::refused(924, &[name.into()])),
                };
            }
            Err(why) => why,
        };
        if !would_a_new_log_help(&why, &*self.shared.volume, &log) {
            self.return_to_emergency(&name, access)?;
            return Err(why);
        }
        self.say_log_fails(&name, &why);
        let mut kept = None;
        let written;
        let repaired = {
            let repaired = self.begin_repair(&name).and_then(|repairing| {
                kept = self.keep_log(&log)?;
                let repaired = self.repair_files(&name, &paths, (order, LogAfter::New(access)));
                drop(repairing);
                repaired
            });
            written = repaired.as_ref().is_ok_and(|done| done.written);
            repaired.and_then(|done| match done.written {
                true => self.reopen_database(&name).map(|_| done),
                false => Ok(done),
            })
        };
        match repaired {
            Ok(done) if done.written => Ok(done.repaired),
            Ok(done) => {
                if let Some(kept) = kept {
                    self.shared.volume.remove(&kept)?;
                }
                self.return_to_emergency(&name, access)?;
                Ok(done.repaired)
            }
            Err(error) => {
                if let Some(kept) = kept.filter(|_| !written) {
                    self.forget_copy(&kept, &paths);
                }
                // Why the repair failed counts for more.
                let _emergency = self.return_to_emergency(&name, access);
                Err(error)
            }
        }
    }
}

/// Where the data files of a database are.
fn paths_of(database: &Database) -> Paths {
    let path = |file: FileEntry| (file.id, PathBuf::from(file.file.path()));
    database.files.files().into_iter().map(path).collect()
}

/// `LOG.lost`, or `LOG.lost2` and so on: an earlier log that was kept is not overwritten.
fn free_path(volume: &dyn Volume, log: &Path) -> Result<PathBuf, EngineError> {
    let mut number = 1_u32;
    loop {
        let mut path = log.as_os_str().to_owned();
        path.push(".lost");
        if number > 1 {
            path.push(number.to_string());
        }
        let path = PathBuf::from(path);
        if !volume.exists(&path)? {
            return Ok(path);
        }
        number += 1;
    }
}

/// Whether the device could not read what it has.
fn is_of_medium(error: &EngineError) -> bool {
    matches!(error, EngineError::Io(io) if matches!(&io.kind, IoErrorKind::Os(EIO, _)))
}

/// Whether a database that cannot be opened for this reason may be opened with another log. Not where
/// files are of another time (5173, 9003): with a new log nothing would show that. Not where the system
/// lacks something at this moment: memory, space, descriptors, a file that another program uses, another
/// version (40517).
fn would_a_new_log_help(error: &EngineError, volume: &dyn Volume, log: &Path) -> bool {
    let is_for_now = |error: &IoError| {
        let lost = error.kind == IoErrorKind::NotFound && *error.path == *log;
        let medium = matches!(&error.kind, IoErrorKind::Os(EIO, _));
        !(lost || medium || error.kind == IoErrorKind::PastEnd)
    };
    match error {
        EngineError::Refused(_) if error.has(5108) => true,
        EngineError::Refused(_) if error.has(5120) => !volume.exists(log).unwrap_or(true),
        EngineError::Refused(messages) => {
            let never = [5173, 9003, 9002, 1101, 1105, 701, 40517];
            messages
                .iter()
                .all(|message| !never.contains(&message.number))
        }
        EngineError::Thread(_) => false,
        EngineError::Io(io) | EngineError::Log(LogError::Io(io)) => !is_for_now(io),
        EngineError::Recovery(RecoveryError::Log(LogError::Io(io))) => !is_for_now(io),
        error => !error.is_cancelled(),
    }
}
