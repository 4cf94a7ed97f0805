//! ALTER DATABASE ... SET EMERGENCY: the database is open for reading only, from its data files as they are.
//! Its log is not read, and nothing is written. It stays so until SET ONLINE or a repair
//! ([`super::emergency_repair`]); a restart of the instance tries to recover it as any other database.

use super::Instance;
use super::repair::identity_of;
use crate::database::Database;
use crate::opening::{self, OwnFile};
use crate::shared::{DatabaseList, Listed, Phase};
use furrow_check::Identity;
use furrow_format::{DatabaseId, FileId, UserAccess};
use furrow_io::sync::MutexGuard;
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::sync::Arc;

impl Instance {
    /// ALTER DATABASE ... SET EMERGENCY. Sessions must have left (3702).
    pub fn set_emergency(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
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
        self.note_offline(&mut list, &listed, false)?;
        self.say_set(&listed, "EMERGENCY");
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
        let identity = Identity {
            has_log: true,
            ..identity_of(listed)
        };
        let own = OwnFile {
            id: FileId(1),
            path: primary.clone(),
            guid: Guid::default(),
        };
        let opened = match opening::prove_own(&self.shared, &[own], &identity) {
            Err(error) if error.has(5173) => Err(error),
            _ => open_with(None).or_else(|error| open_with(Some(&identity)).map_err(|_| error)),
        };
        let (database, state) = match &opened {
            Ok(database) => (Some(Arc::clone(database)), DatabaseState::Emergency),
            Err(error) => (None, self.say_not_opened(listed, error)),
        };
        self.enter(listed, &primary, database, state);
        opened
    }

    /// EMERGENCY again, with the user access of before.
    pub(super) fn return_to_emergency(
        &self,
        name: &str,
        access: UserAccess,
    ) -> Result<(), EngineError> {
        let database = self.set_emergency(name)?;
        // No session has entered it yet that would have to leave.
        database.set_user_access(access, 0)?;
        Ok(())
    }
}
