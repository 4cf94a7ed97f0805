//! CREATE INDEX, ALTER INDEX, DROP INDEX.

use super::columns::{change_options, index, index_options, keeps_any};
use super::{indexes_of, named, warn_of_long_keys};
use furrow_bind::{Binder, shown};
use furrow_context::error::{Result, SqlError, unsupported};
use furrow_context::run::Run;
use furrow_context::usage::name_of;
use furrow_engine::{EngineError, Session, Table};
use furrow_messages::Message;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::option::find;
use furrow_tsql::ast::table::{AlterIndex, CreateIndex, DropIndex, IndexAction, UpdateStatistics};
use std::sync::Arc;

/// 1088: the table of an index does not exist.
fn no_table(name: &ObjectName, state: u8) -> Box<SqlError> {
    let text = format!(
        "Cannot find the object \"{}\" because it does not exist or you do not have permissions.",
        shown(name)
    );
    Message::custom(1088, 16, state, &text).into()
}

/// CREATE INDEX.
pub(super) fn create(run: &mut Run<'_>, written: &CreateIndex) -> Result<()> {
    let spec = index(&written.name.value, &written.index, None)?;
    let replace = find(&written.index.options, "DROP_EXISTING")
        .is_some_and(furrow_tsql::ast::option::Opt::is_on);
    let (before, table) = run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(&written.table)?;
        let (schema, table) = named(&written.table);
        let session = cx.sessions.of(&db)?;
        if replace {
            match session.drop_index_in(&schema, &table, &spec.name) {
                Err(e) if e.number() == 208 => return Err(no_table(&written.table, 12)),
                Err(e) if e.number() == 3701 => {
                    let text = format!(
                        "Could not find any index named '{}' for table '{}'.",
                        spec.name,
                        shown(&written.table)
                    );
                    return Err(Message::custom(7999, 16, 9, &text).into());
                }
                other => other?,
            };
        }
        let before = session.table_in(&schema, &table);
        let before = before.map_or_else(|_| Vec::new(), |table| indexes_of(&table));
        match session.create_index_in(&schema, &table, &spec) {
            Err(e) if e.number() == 1088 => Err(no_table(&written.table, 12)),
            created => Ok((before, created?)),
        }
    })?;
    warn_of_long_keys(run, &table, &before);
    run.done(None);
    Ok(())
}

/// ALTER INDEX.
pub(super) fn alter(run: &mut Run<'_>, written: &AlterIndex) -> Result<()> {
    match &written.action {
        IndexAction::Rebuild(None, options) => index_options(options, &[])?,
        IndexAction::Rebuild(..) => return Err(unsupported("REBUILD PARTITION")),
        IndexAction::Reorganize(..) => return Err(unsupported("ALTER INDEX REORGANIZE")),
        IndexAction::Disable => return Err(unsupported("ALTER INDEX DISABLE")),
        IndexAction::Set(options) => {
            index_options(options, &[])?;
        }
        IndexAction::Resumable(word) => return Err(unsupported(&format!("ALTER INDEX {word}"))),
    }
    run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(&written.table)?;
        let (schema, table) = named(&written.table);
        let session = cx.sessions.of(&db)?;
        let name = written.name.as_ref().map(|n| &*n.value);
        let done = change_index(session, (&schema, &table), name, &written.action);
        match done {
            Err(e) if e.number() == 4902 => Err(no_table(&written.table, 9)),
            Err(e) if e.number() == 7999 => {
                let text = format!(
                    "Cannot find index '{}'. The index does not exist or you do not have permissions.",
                    name.unwrap_or("")
                );
                Err(Message::custom(2727, 11, 1, &text).into())
            }
            other => other.map_err(Into::into),
        }
    })?;
    run.done(None);
    Ok(())
}

/// REBUILD and SET of one index or, without a name, of all.
fn change_index(
    session: &mut Session,
    (schema, table): (&str, &str),
    name: Option<&str>,
    action: &IndexAction,
) -> std::result::Result<(), EngineError> {
    let options = match action {
        IndexAction::Set(options) => options,
        IndexAction::Rebuild(_, options) => {
            session.rebuild(schema, table, name)?;
            options
        }
        _ => return Ok(()),
    };
    if !keeps_any(options) {
        return Ok(());
    }
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => {
            let table = session.table_in(schema, table)?;
            let all = table.indexes().iter().filter(|i| i.id() != 0);
            all.map(|i| i.name().to_owned()).collect()
        }
    };
    for name in &names {
        session.set_index_options((schema, table), name, |of| change_options(options, of))?;
    }
    Ok(())
}

/// UPDATE STATISTICS: the table and the named indexes must exist. There are no histograms to build; a message
/// says so, and maintenance scripts run on.
pub(super) fn update_statistics(run: &mut Run<'_>, written: &UpdateStatistics) -> Result<()> {
    let shown = shown(&written.table);
    let missing = run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(&written.table)?;
        let (schema, table) = named(&written.table);
        let Ok(table) = cx.sessions.of(&db)?.table_in(&schema, &table) else {
            let text = format!("Table '{}' does not exist.", written.table.name());
            return Err(Message::custom(2706, 11, 6, &text).into());
        };
        let unknown = |name: &&Ident| table.index_named(&name.value).is_none();
        Ok(written.names.iter().find(unknown).cloned())
    })?;
    if let Some(name) = missing {
        let text = format!("Cannot find index '{}'.", name.value);
        return Err(Message::custom(2727, 11, 1, &text).into());
    }
    let text = format!(
        "Table '{shown}' has no statistics to update: plans are made by the number of its rows."
    );
    run.inform(Message::custom(0, 0, 1, &text));
    run.done(None);
    Ok(())
}

/// DROP INDEX, in both forms: `i ON t` and `t.i`.
pub(super) fn drop(run: &mut Run<'_>, written: &DropIndex) -> Result<()> {
    index_options(&written.options, &[])?;
    for (name, table) in &written.indexes {
        let index = name.name().to_owned();
        let of = match table {
            Some(table) => table.clone(),
            None => {
                let parts = name.parts.split_last().map(|(_, rest)| rest.to_vec());
                ObjectName {
                    parts: parts.unwrap_or_default(),
                }
            }
        };
        if of.parts.is_empty() {
            let text = "Must specify the table name and index name for the DROP INDEX statement.";
            return Err(Message::custom(159, 15, 1, text).into());
        }
        let full = format!("{}.{index}", shown(&of));
        let gone = run.cx.statement(|cx| {
            let db = Binder::new(cx).database_of(&of)?;
            let (schema, table) = named(&of);
            let session = cx.sessions.of(&db)?;
            let known = session.table_in(&schema, &table).ok();
            session.drop_index_in(&schema, &table, &index)?;
            let gone = |table: Arc<Table>| {
                let index = table.index_named(&index)?;
                Some(name_of(db.id().0, &table, index))
            };
            if let Some((db, table, index)) = known.and_then(gone) {
                cx.server.usage().forget(db, table, Some(index));
            }
            Ok(())
        });
        match gone {
            Err(e) if matches!(e.number(), 3701 | 208) && written.if_exists => {}
            Err(e) if matches!(e.number(), 3701 | 208) => {
                let args = ["drop".into(), "index".into(), full.into()];
                return Err(Message::new(3701, &args).with_state(7).into());
            }
            other => other?,
        }
    }
    run.done(None);
    Ok(())
}
