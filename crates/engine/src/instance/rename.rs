//! ALTER DATABASE MODIFY NAME.

use super::Instance;
use crate::database::Database;
use crate::shared::Phase;
use furrow_tables::refuse;
use furrow_tables::{DatabaseState, EngineError};
use std::path::Path;
use std::sync::Arc;

impl Instance {
    /// ALTER DATABASE MODIFY NAME: a clean shutdown, and an open under the other name. No session may be in
    /// the database (5030). The list gets the new name before the database is opened: after a crash in
    /// between it has the new name, and its boot page is updated at the next open.
    pub fn rename_database(&self, name: &str, new: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let missing = || EngineError::refused(911, &[name.into()]);
        let mut listed = self.listed(&list, name, missing)?;
        if name.to_lowercase() != new.to_lowercase() {
            self.free_name(&list, new)?;
        }
        furrow_tables::check_name(new)?;
        if listed.phase == Phase::ReadOnly {
            return Err(EngineError::refused(3906, &[name.into()]));
        }
        let database = self.database(name)?;
        database.refuse_of_snapshot()?;
        database.refuse_with_snapshots()?;
        database.check_changes()?;
        drop(database);
        self.close_entry(name).map_err(|e| match e.number() {
            3702 => {
                let text = "The database could not be exclusively locked to perform the operation.";
                refuse(5030, 16, 2, text)
            }
            _ => e,
        })?;
        let id = listed.id;
        let noted = list.change(|all| {
            for database in all.iter_mut().filter(|d| d.id == id) {
                new.clone_into(&mut database.name);
            }
        });
        if noted.is_ok() {
            new.clone_into(&mut listed.name);
        }
        self.forget(name);
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let opened = self.reopen_listed(&listed, &primary);
        noted?;
        opened
    }

    /// Opens a database that was closed for a moment; one that cannot be opened is entered as it is.
    fn reopen_listed(
        &self,
        listed: &crate::shared::Listed,
        primary: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        match self.open_listed(listed, primary) {
            Ok(database) => {
                let kept = Some(Arc::clone(&database));
                self.enter(listed, primary, kept, DatabaseState::Online);
                Ok(database)
            }
            Err(error) => {
                let state = self.say_not_opened(listed, &error);
                self.enter(listed, primary, None, state);
                Err(error)
            }
        }
    }
}
