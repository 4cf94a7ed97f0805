//! READ_ONLY and READ_WRITE: whether a database takes changes.
//!
//! A database is read-only because it was set so (the boot page keeps it, and it can be set back), or because
//! it was attached so: then its files are open for reading only, and it has no log.
//!
//! The change is made while no other session is in the database and its threads are stopped, so that
//! statements check one flag and need no lock against it. A database becomes read-only by a clean shutdown
//! whose last write sets the flag: from then on data files and log are not written, not even by a restart.
//! When it becomes writable, the flag is cleared on the disk before anything else is changed.

use super::Database;
use super::close::force_boot;
use super::session::Session;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_tables::refuse;
use furrow_tables::{DatabaseState, EngineError};
use std::sync::Arc;

impl Database {
    /// ALTER DATABASE SET READ_ONLY or READ_WRITE. No session may be in the database (5070).
    pub fn set_read_only(self: &Arc<Database>, read_only: bool) -> Result<(), EngineError> {
        self.set_among(0, read_only)
    }

    /// ALTER DATABASE MODIFY FILEGROUP ... READ_ONLY or READ_WRITE. No session may be in the database (5070).
    pub fn set_filegroup_read_only(&self, name: &str, read_only: bool) -> Result<(), EngineError> {
        self.set_group_read_only(0, name, read_only)
    }

    /// Sets it with exactly so many users in the database.
    fn set_among(self: &Arc<Database>, users: u32, read_only: bool) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let failed = |e: EngineError| e.followed_by(Message::new(5069, &[]));
        self.check().map_err(failed)?;
        if self.refuse_entry(users).is_err() {
            let name = self.name.as_str().into();
            return Err(failed(EngineError::refused(5070, &[name])));
        }
        let done = self.set_alone(read_only);
        self.allow_entry();
        done.map_err(failed)
    }

    fn set_alone(self: &Arc<Database>, read_only: bool) -> Result<(), EngineError> {
        let _turn = self.files.turn.lock();
        if self.is_read_only() == read_only {
            return Ok(());
        }
        if self.is_in_standby() {
            return Err(EngineError::refused(5063, &[self.name.as_str().into()]));
        }
        if self.state() == DatabaseState::Emergency {
            return Err(EngineError::refused(3908, &[self.name.as_str().into()]));
        }
        if self.is_attached_read_only() {
            let text = format!(
                "Database '{}' was attached READ_ONLY: its files are open for reading only. Detach it, \
                 and attach it without READ_ONLY.",
                self.name
            );
            return Err(refuse(40515, 16, 1, &text));
        }
        self.store.check()?;
        match read_only {
            true => self.rest()?,
            false => self.wake()?,
        }
        self.log_option(read_only);
        Ok(())
    }

    /// READ_ONLY.
    fn rest(self: &Arc<Database>) -> Result<(), EngineError> {
        self.stop_background();
        if let Err(error) = self.come_to_rest(true) {
            // It goes on as it was, if the flag can be taken back from the disk. If not, nothing in it may be
            // changed: SET READ_WRITE tries that again.
            self.access.set_read_only(true);
            return self.wake().and(Err(error));
        }
        self.access.set_read_only(true);
        Ok(())
    }

    /// READ_WRITE. What says that all of it is on the disk is gone from there before anything is changed.
    fn wake(self: &Arc<Database>) -> Result<(), EngineError> {
        self.write_flags(false, false)?;
        self.store.log().flush_all()?;
        force_boot(&self.store)?;
        self.access.set_read_only(false);
        self.start_background()
    }

    fn log_option(&self, read_only: bool) {
        let session = furrow_observe::task::current().session_id();
        let option = if read_only { "READ_ONLY" } else { "READ_WRITE" };
        let name = &self.name;
        let text = format!("Setting database option {option} to ON for database '{name}'.");
        self.error_log.write(Source::Spid(session), &text);
    }
}

impl Session {
    /// ALTER DATABASE SET READ_ONLY or READ_WRITE from a session of the database itself, which must be the
    /// only one (5070) and outside of a transaction (226).
    pub fn set_read_only(&mut self, read_only: bool) -> Result<(), EngineError> {
        if self.in_transaction() {
            let text = "ALTER DATABASE statement not allowed within multi-statement transaction.";
            return Err(refuse(226, 16, 6, text));
        }
        let database = Arc::clone(self.database());
        database.set_among(1, read_only)
    }
    /// ALTER DATABASE MODIFY FILEGROUP ... READ_ONLY or READ_WRITE from a session of the database itself,
    /// which must be the only one (5070).
    pub fn set_filegroup_read_only(
        &mut self,
        name: &str,
        read_only: bool,
    ) -> Result<(), EngineError> {
        self.database().set_group_read_only(1, name, read_only)
    }
}
