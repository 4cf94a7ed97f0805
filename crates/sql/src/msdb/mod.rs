//! `msdb`: the history of backups and restores.
//!
//! `msdb` is a database as any other, with the number 4. It is created when a server starts that has none.
//! Its tables have SQL Server's names and columns, so that scripts which read the history run as they are.
//! BACKUP and RESTORE write their history in a transaction of its own after they have succeeded: history that
//! cannot be written (3009) does not fail them.

mod history;
mod tables;

pub(crate) use history::{RestoreNote, SetOnMedia, note_backup, note_restore};

use furrow_context::error::Result;
use furrow_context::server::ServerState;
use furrow_engine::{DatabaseSpec, EngineError, FileSpec, Instance, Session};
use std::sync::Arc;

/// Its name.
pub(crate) const MSDB: &str = "msdb";
/// Its number.
const ID: u16 = 4;
/// Session number of what a server does at its start.
const SYSTEM_SESSION: i32 = 1;

/// Creates `msdb` where there is none, and what its tables lack.
pub(crate) fn ensure(server: &ServerState) -> Result<()> {
    let instance = server.instance();
    let known = instance.databases();
    let is_there = known.iter().any(|d| d.name.eq_ignore_ascii_case(MSDB));
    if !is_there {
        let data = FileSpec::new("MSDBData", server.path("MSDBData.mdf"));
        let log = FileSpec::new("MSDBLog", server.path("MSDBLog.ldf"));
        let spec = DatabaseSpec {
            id: Some(ID),
            ..DatabaseSpec::new(MSDB, data.size_mb(4)).log(log.size_mb(2))
        };
        instance.create_database(&spec)?;
    }
    match make_tables(instance) {
        Ok(()) => Ok(()),
        // One that cannot be used is no reason not to start: the history is missed when it is asked for.
        Err(_) if is_there => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn make_tables(instance: &Arc<Instance>) -> std::result::Result<(), EngineError> {
    let msdb = instance.database(MSDB)?;
    let mut session = Session::numbered(&msdb, SYSTEM_SESSION)?;
    for spec in tables::specs() {
        if session.table(&spec.name).is_err() {
            session.create_table(&spec)?;
        }
    }
    Ok(())
}
