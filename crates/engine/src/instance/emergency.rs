//! ALTER DATABASE ... SET EMERGENCY, and the repair of a database whose log is lost.
//!
//! # EMERGENCY
//! The database is open for reading only, from its data files as they are. Its log is not read. It stays so
//! until SET ONLINE or a repair; a restart of the instance tries to recover it as any other database.
//!
//! # Repair
//! 1. The database is opened as any other, with its log. If that works, nothing of it is lost, and the repair
//!    is an ordinary one.
//! 2. Else new contents of pages are computed from the data files alone (`furrow_check::repair`).
//! 3. They are written by a journal that says that the log is lost (`crate::checking`). Opening the database
//!    writes the pages, makes a new log, and removes the journal.
//! 4. The database is ONLINE. If the repair fails or is not agreed to, it is in EMERGENCY again.

use super::Instance;
use super::repair::Order;
use crate::checking::LogAfter;
use crate::database::Database;
use crate::opening;
use crate::shared::{DatabaseList, Listed, Phase};
use furrow_check::Repaired;
use furrow_format::DatabaseId;
use furrow_io::sync::MutexGuard;
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use std::path::PathBuf;
use std::sync::Arc;

impl Instance {
    /// ALTER DATABASE ... SET EMERGENCY. Sessions must have left (3702).
    pub fn set_emergency(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let list = self.shared.list.lock();
        let listed = self.listed(&list, name, || EngineError::refused(911, &[name.into()]))?;
        match listed.phase {
            Phase::Whole => {}
            Phase::Restoring | Phase::Reverting => {
                return Err(EngineError::refused(927, &[name.into()]));
            }
            Phase::Snapshot | Phase::StaleSnapshot => return Err(EngineError::refused(5093, &[])),
            Phase::Temporary | Phase::ReadOnly | Phase::Creating | Phase::Dropping => {
                let text = "'EMERGENCY of a database that is attached READ_ONLY, or temporary' is not \
                    supported in this version of Furrow.";
                return Err(EngineError::of(Message::custom(40514, 16, 1, text)));
            }
        }
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

    fn open_entry(&self, name: &str) -> Option<Arc<Database>> {
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
        let opened = opening::open_emergency(&self.shared, id, &listed.name, &primary);
        let (database, state) = match &opened {
            Ok(database) => (Some(Arc::clone(database)), DatabaseState::Emergency),
            Err(error) => (None, self.say_not_opened(listed, error)),
        };
        self.enter(listed, &primary, database, state);
        opened
    }

    /// Repairs a database in EMERGENCY, which this session alone uses, and is not in.
    pub(super) fn repair_in_emergency(
        &self,
        database: Arc<Database>,
        order: Order<'_>,
    ) -> Result<Repaired, EngineError> {
        let name = database.name().to_owned();
        let access = database.options().user_access;
        let files = database.files.files().into_iter();
        let paths = files
            .map(|file| (file.id, PathBuf::from(file.file.path())))
            .collect();
        drop(database);
        {
            let _entered = self.shared.enter();
            let list = self.shared.list.lock();
            self.close_listed(&list, &name)?;
        }
        // With its log, nothing is lost.
        if let Ok(recovered) = self.reopen_database(&name) {
            recovered.set_user_access(access, 0)?;
            drop(recovered);
            return self.repair_online(&name, order);
        }
        let repaired = {
            let repairing = self.begin_repair(&name);
            let repaired = repairing.and_then(|repairing| {
                let repaired = self.repair_files(&name, &paths, (order, LogAfter::New(access)));
                drop(repairing);
                repaired
            });
            repaired.and_then(|done| match done.written {
                true => self.reopen_database(&name).map(|_| done),
                false => Ok(done),
            })
        };
        match repaired {
            Ok(done) if done.written => Ok(done.repaired),
            Ok(done) => {
                self.set_emergency(&name)?;
                Ok(done.repaired)
            }
            Err(error) => {
                // Why the repair failed counts for more.
                let _emergency = self.set_emergency(&name);
                Err(error)
            }
        }
    }
}
