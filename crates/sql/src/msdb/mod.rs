//! `msdb`: the history of backups and restores.
//!
//! `msdb` is an ordinary database with the number 4. A server that has none creates it at its start. A user's
//! database that had this name before is left alone.
//! Its tables have SQL Server's names and columns, so that scripts which read the history run unchanged.
//! BACKUP and RESTORE write their history in a separate transaction after they have succeeded: if the
//! history cannot be written (3009), they have succeeded nevertheless. Events of suspect pages are written in
//! the same way after the next statement.

mod history;
mod suspects;
mod tables;

pub(crate) use history::{RestoreNote, SetOnMedia, note_backup, note_restore};
pub(crate) use suspects::write_suspects;

use furrow_context::server::ServerState;
use furrow_engine::{Database, DatabaseSpec, EngineError, FileSpec, Instance, Session};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use std::sync::Arc;

/// Its name.
pub(crate) const MSDB: &str = "msdb";
/// Its number.
const ID: u16 = 4;
/// The error log's text about a user's database of this name.
const FOREIGN: &str = "Database 'msdb' is not the one that Furrow keeps the history of backups in, \
    and is left alone. Give it another name with ALTER DATABASE msdb MODIFY NAME, and start the server \
    again.";
/// Session number of statements that the server runs at its start.
const SYSTEM_SESSION: i32 = 1;

/// Creates `msdb` if it does not exist, and its missing tables. If that fails, the error log says why, and
/// the server starts without it: BACKUP and RESTORE then report 3009.
pub(crate) fn ensure(server: &ServerState) {
    let instance = server.instance();
    let made = match there_is(instance) {
        true => Ok(()),
        false => create(server),
    };
    let made = made.and_then(|()| {
        let msdb = instance.database(MSDB)?;
        match is_ours(&msdb) {
            true => make_tables(&msdb),
            false => Err(foreign()),
        }
    });
    if let Err(error) = made {
        let log = instance.error_log();
        let messages = error.messages();
        messages
            .iter()
            .for_each(|message| log.write_message(Source::Server, message));
        log.write(Source::Server, "The history of backups is not available.");
    }
}

fn foreign() -> EngineError {
    EngineError::of(Message::custom(40514, 16, 1, FOREIGN))
}

fn there_is(instance: &Instance) -> bool {
    let known = instance.databases();
    known.iter().any(|d| d.name.eq_ignore_ascii_case(MSDB))
}

fn create(server: &ServerState) -> Result<(), EngineError> {
    let data = FileSpec::new("MSDBData", server.path("MSDBData.mdf"));
    let log = FileSpec::new("MSDBLog", server.path("MSDBLog.ldf"));
    let spec = DatabaseSpec {
        id: Some(ID),
        ..DatabaseSpec::new(MSDB, data.size_mb(4)).log(log.size_mb(2))
    };
    server.instance().create_database(&spec).map(drop)
}

/// Whether a database with this name is the server's own: by its number, or, of one that was restored or
/// attached, by its tables.
pub(crate) fn is_ours(msdb: &Arc<Database>) -> bool {
    msdb.id().0 == ID || has_our_tables(msdb).unwrap_or(false)
}

fn has_our_tables(msdb: &Arc<Database>) -> Result<bool, EngineError> {
    let session = Session::numbered(msdb, SYSTEM_SESSION)?;
    Ok(tables::specs().iter().all(|spec| {
        let ours = spec.columns.iter().map(|column| column.name.as_str());
        let table = session.table(&spec.name);
        table.is_ok_and(|table| ours.eq(table.columns().iter().map(|column| &*column.name)))
    }))
}

fn make_tables(msdb: &Arc<Database>) -> Result<(), EngineError> {
    let mut session = Session::numbered(msdb, SYSTEM_SESSION)?;
    for spec in tables::specs() {
        if session.table(&spec.name).is_err() {
            session.create_table(&spec)?;
        }
    }
    Ok(())
}
