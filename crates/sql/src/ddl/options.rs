//! ALTER DATABASE SET.
//!
//! What an option would change is changed, and kept in the database; what only says how things are anyway
//! (scripts that tools write are full of it) is taken; anything else is refused by name.

use super::database::whole;
use crate::error::{Result, SqlError, unsupported};
use crate::interp::Run;
use furrow_engine::{Database, DatabaseOptions};
use furrow_format::RecoveryModel;
use furrow_observe::messages::Message;
use furrow_tsql::ast::database::Termination;
use furrow_tsql::ast::option::{Opt, OptValue};
use std::sync::Arc;

/// Options whose named value is how things are.
const AS_IT_IS: &[(&str, &str)] = &[
    ("ACCELERATED_DATABASE_RECOVERY", "OFF"),
    ("ALLOW_SNAPSHOT_ISOLATION", "OFF"),
    ("ANSI_NULLS", "OFF"),
    ("ANSI_NULL_DEFAULT", "OFF"),
    ("ANSI_PADDING", "OFF"),
    ("ANSI_WARNINGS", "OFF"),
    ("ARITHABORT", "OFF"),
    ("AUTO_CLOSE", "OFF"),
    ("AUTO_SHRINK", "OFF"),
    // There are no statistics that could be made or updated, by themselves or not.
    ("AUTO_CREATE_STATISTICS", "ON"),
    ("AUTO_CREATE_STATISTICS", "OFF"),
    ("AUTO_UPDATE_STATISTICS", "ON"),
    ("AUTO_UPDATE_STATISTICS", "OFF"),
    ("AUTO_UPDATE_STATISTICS_ASYNC", "OFF"),
    ("CHANGE_TRACKING", "OFF"),
    ("CONCAT_NULL_YIELDS_NULL", "OFF"),
    ("CONTAINMENT", "NONE"),
    ("CURSOR_CLOSE_ON_COMMIT", "OFF"),
    ("CURSOR_DEFAULT", "GLOBAL"),
    ("DATE_CORRELATION_OPTIMIZATION", "OFF"),
    ("DB_CHAINING", "OFF"),
    ("DISABLE_BROKER", ""),
    ("ENCRYPTION", "OFF"),
    ("HONOR_BROKER_PRIORITY", "OFF"),
    ("MIXED_PAGE_ALLOCATION", "OFF"),
    ("NUMERIC_ROUNDABORT", "OFF"),
    // Every page is written with a checksum: the repair of torn pages lives on it.
    ("PAGE_VERIFY", "CHECKSUM"),
    ("PARAMETERIZATION", "SIMPLE"),
    ("QUERY_STORE", "OFF"),
    ("QUOTED_IDENTIFIER", "OFF"),
    ("READ_COMMITTED_SNAPSHOT", "OFF"),
    ("RECURSIVE_TRIGGERS", "OFF"),
    ("TEMPORAL_HISTORY_RETENTION", "OFF"),
    ("TRUSTWORTHY", "OFF"),
];

fn word(option: &Opt) -> &str {
    match &option.value {
        Some(OptValue::Word(word)) => word,
        Some(_) => "?",
        None => "",
    }
}

/// 5069 behind what kept SET from being done.
fn failed(mut error: Box<SqlError>) -> Box<SqlError> {
    if error
        .messages
        .iter()
        .all(|m| m.number != 5069 && m.number != 40_514)
    {
        error.messages.push(Message::new(5069, &[]));
    }
    error
}

/// ALTER DATABASE SET.
pub(super) fn set(
    run: &mut Run<'_>,
    name: &str,
    all: &[Opt],
    termination: Option<&Termination>,
) -> Result<()> {
    let known = run.cx.server.instance().databases();
    if !known.iter().any(|d| d.name.eq_ignore_ascii_case(name)) {
        let text = format!(
            "User does not have permission to alter database '{name}', the database does not exist, or \
            the database is not in a state that allows access checks."
        );
        return Err(failed(Message::custom(5011, 14, 5, &text).into()));
    }
    for option in all {
        one(run, name, option, termination).map_err(failed)?;
    }
    Ok(())
}

fn one(
    run: &mut Run<'_>,
    name: &str,
    option: &Opt,
    termination: Option<&Termination>,
) -> Result<()> {
    let (of, value) = (&*option.name, word(option));
    match of {
        "ONLINE" => {
            run.cx.server.instance().reopen_database(name)?;
            return Ok(());
        }
        "OFFLINE" => return offline(run, name, termination),
        _ => {}
    }
    let db = run.cx.server.instance().database(name)?;
    let mut options = db.options();
    match (of, value) {
        ("RECOVERY", _) => options.recovery_model = recovery_model(value),
        ("TARGET_RECOVERY_TIME", _) => options.target_recovery_s = seconds(option)?,
        ("READ_ONLY", _) => return updateability(run, &db, true),
        ("READ_WRITE", _) => return updateability(run, &db, false),
        _ => return other(&db, options, (of, value)),
    }
    Ok(db.set_options(options)?)
}

fn other(_db: &Arc<Database>, _options: DatabaseOptions, (of, value): (&str, &str)) -> Result<()> {
    match AS_IT_IS.contains(&(of, value)) {
        true => Ok(()),
        false => Err(unsupported(format!("SET {of} {value}").trim_end())),
    }
}

fn recovery_model(word: &str) -> RecoveryModel {
    match word {
        "FULL" => RecoveryModel::Full,
        "BULK_LOGGED" => RecoveryModel::BulkLogged,
        _ => RecoveryModel::Simple,
    }
}

fn seconds(option: &Opt) -> Result<u32> {
    let Some(OptValue::Size(size)) = &option.value else {
        return Err(unsupported("this TARGET_RECOVERY_TIME"));
    };
    let factor = match size.unit.as_deref() {
        Some("MINUTES") => 60,
        _ => 1,
    };
    let seconds = whole(&size.number)?.saturating_mul(factor);
    Ok(u32::try_from(seconds).unwrap_or(u32::MAX))
}

fn here(run: &Run<'_>, db: &Arc<Database>) -> bool {
    run.cx.sessions.database().id() == db.id()
}

fn updateability(run: &mut Run<'_>, db: &Arc<Database>, read_only: bool) -> Result<()> {
    match here(run, db) {
        true => run.cx.sessions.session().set_read_only(read_only)?,
        false => db.set_read_only(read_only)?,
    }
    Ok(())
}

/// OFFLINE: nobody may be in it.
fn offline(run: &mut Run<'_>, name: &str, termination: Option<&Termination>) -> Result<()> {
    let closed = run.cx.server.instance().close_database(name);
    match closed {
        Err(e) if e.number() == 3702 && termination.is_some() => {
            Err(unsupported("ROLLBACK while others use the database"))
        }
        Err(e) if e.number() == 3702 => {
            let text = format!(
                "Database state cannot be changed while other users are using the database '{name}'"
            );
            Err(Message::custom(5070, 16, 2, &text).into())
        }
        other => Ok(other?),
    }
}
