//! RESTORE DATABASE ... FROM DATABASE_SNAPSHOT.

use super::{abnormally, database_name, not_of_the_system, text};
use furrow_context::error::{Result, unsupported};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_tsql::ast::database::{NameOrText, Restore, RestoreKind, RestoreOption};

/// Runs RESTORE DATABASE ... FROM DATABASE_SNAPSHOT.
pub(super) fn revert(
    run: &mut Run<'_>,
    written: &Restore,
    (snapshot, statement): (&NameOrText, &str),
) -> Result<()> {
    if written.kind != RestoreKind::Database {
        return Err(unsupported("RESTORE LOG FROM DATABASE_SNAPSHOT"));
    }
    for option in &written.options {
        match option {
            RestoreOption::Opt(option) if matches!(&*option.name, "RECOVERY" | "REPLACE") => {}
            RestoreOption::Opt(option) => {
                let what = format!("RESTORE FROM DATABASE_SNAPSHOT WITH {}", option.name);
                return Err(unsupported(&what));
            }
            _ => return Err(unsupported("RESTORE FROM DATABASE_SNAPSHOT WITH MOVE")),
        }
    }
    let name = match &written.database {
        Some(named) => database_name(run, named)?,
        None => String::new(),
    };
    let snapshot = match snapshot {
        NameOrText::Name(name) => name.value.to_string(),
        NameOrText::Text(expr) => text(run, expr)?,
    };
    not_of_the_system(&name, statement)?;
    let here = run.cx.sessions.database().name().to_owned();
    let in_use = [&name, &snapshot]
        .into_iter()
        .find(|n| here.eq_ignore_ascii_case(n));
    if let Some(name) = in_use {
        let args = ["RESTORE".into(), name.as_str().into()];
        return Err(abnormally(vec![Message::new(3102, &args)], statement));
    }
    let reverted = run
        .cx
        .server
        .instance()
        .revert_to_snapshot(&name, &snapshot);
    reverted.map_err(|e| abnormally(e.messages(), statement))?;
    run.done(None);
    Ok(())
}
