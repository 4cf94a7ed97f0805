//! Errors of what lies below, in the product's words: here the names are known that they lack there.

use super::{Database, EngineError, os_error};
use crate::table::IndexKind;
use furrow_access::AccessError;
use furrow_format::AllocUnitId;
use furrow_format::catalog::BASE_TABLES;
use furrow_log::{LogError, ReuseWait};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::task;
use furrow_recovery::RecoveryError;
use furrow_space::SpaceError;
use furrow_txn::TxnError;

/// The space's error within an error, if it is one.
fn of_space(error: &EngineError) -> Option<&SpaceError> {
    match error {
        EngineError::Space(e) | EngineError::Access(AccessError::Space(e)) => Some(e),
        _ => None,
    }
}

/// Whether an error says that a filegroup is full.
pub(crate) fn is_full(error: &EngineError) -> bool {
    matches!(of_space(error), Some(SpaceError::FilegroupFull { .. }))
}

/// Why the log is full, if that is what the error says.
fn of_full_log(error: &EngineError) -> Option<ReuseWait> {
    let txn = match error {
        EngineError::Log(e) | EngineError::Recovery(RecoveryError::Log(e)) => {
            return full_reason(e);
        }
        EngineError::Txn(e)
        | EngineError::Access(AccessError::Txn(e))
        | EngineError::Recovery(RecoveryError::Txn(e)) => e,
        other => match of_space(other) {
            Some(SpaceError::Txn(e)) => e,
            _ => return None,
        },
    };
    match txn {
        TxnError::Log(e) => full_reason(e),
        _ => None,
    }
}

fn full_reason(error: &LogError) -> Option<ReuseWait> {
    match error {
        LogError::Full(reason) => Some(*reason),
        _ => None,
    }
}

impl Database {
    /// A full filegroup (1105, or 1101 where no object is known), a full log (9002) and a value that a column
    /// does not take (515, 2628) with the names of what they are about; any other error as it is. A full
    /// filegroup is told to the error log as well; the full log was, by who tried to make room.
    pub(crate) fn worded(&self, error: EngineError) -> EngineError {
        if let EngineError::Column(fault) = &error {
            return EngineError::of(fault.message(Some(&self.name)));
        }
        if let Some(reason) = of_full_log(&error) {
            let args = [self.name.as_str().into(), reason.name().into()];
            return EngineError::of(Message::new(9002, &args).with_state(reason.number()));
        }
        let Some(SpaceError::FilegroupFull {
            filegroup,
            object,
            cause,
        }) = of_space(&error)
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
