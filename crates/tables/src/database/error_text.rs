//! Errors of lower crates as SQL Server's messages, with names that the lower crates do not have.

use super::DatabaseCore;
use crate::error::{EngineError, full_log_reason, os_error, space_error};
use crate::table::IndexKind;
use furrow_format::AllocUnitId;
use furrow_format::catalog::BASE_TABLES;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_space::SpaceError;

impl DatabaseCore {
    /// Adds the names of objects to a full filegroup (1105, or 1101 where no object is known), a full log
    /// (9002) and a value that a column does not take (515, 2628); returns any other error unchanged. A
    /// full filegroup is written to the error log here. A full log was written by the thread that tried to
    /// free log space.
    pub(crate) fn with_names(&self, error: EngineError) -> EngineError {
        if let EngineError::Column(fault) = &error {
            return EngineError::of(fault.message(Some(&self.name)));
        }
        if let Some(reason) = full_log_reason(&error) {
            let args = [self.name.as_str().into(), reason.name().into()];
            return EngineError::of(Message::new(9002, &args).with_state(reason.number()));
        }
        let Some(SpaceError::FilegroupFull {
            filegroup,
            object,
            cause,
        }) = space_error(&error)
        else {
            return error;
        };
        let (database, group) = (self.name.as_str(), filegroup.as_str());
        let full = match self.owner_of(*object) {
            Some((object, index)) => {
                let args = [object.into(), index.into(), database.into(), group.into()];
                Message::new(1105, &args)
            }
            None => Message::new(1101, &[database.into(), group.into()]),
        };
        let session = Source::Spid(task::current().session_id());
        self.error_log.write_message(session, &full);
        let cause = cause.iter().map(|source| {
            let path = source.path.display().to_string();
            Message::new(5149, &[os_error(&source.kind).into(), path.into()])
        });
        EngineError::Refused(cause.chain([full]).collect())
    }

    /// Object and index that an allocation unit belongs to, as message 1105 names them: `dbo.t` and
    /// `.'PK_t'`, or nothing of a heap.
    fn owner_of(&self, unit: AllocUnitId) -> Option<(String, String)> {
        let base = BASE_TABLES.into_iter().find(|t| t.unit_id() == unit);
        if let Some(base) = base {
            return Some((format!("sys.{}", base.name), String::new()));
        }
        self.catalog.tables().iter().find_map(|table| {
            let index = table.indexes.iter().find(|i| i.rowset.unit_id() == unit)?;
            let object = format!("{}.{}", table.schema, table.name);
            let index = match index.kind() {
                IndexKind::Heap => String::new(),
                _ => format!(".'{}'", index.name),
            };
            Some((object, index))
        })
    }
}
