//! CREATE TABLE, DROP TABLE, TRUNCATE TABLE.

use super::columns::{Parts, custom, filegroup, index_options};
use super::{bind_check, named, of_kind, warn_of_long_keys};
use furrow_bind::{Binder, shown};
use furrow_context::error::{Result, SqlError, unsupported};
use furrow_context::run::Run;
use furrow_context::temp::is_temp;
use furrow_engine::TableSpec;
use furrow_messages::Message;
use furrow_tsql::ast::database::Drop;
use furrow_tsql::ast::dml::Truncate;
use furrow_tsql::ast::table::{CreateTable, TableElement};

/// Adds 1750 behind the error that made a constraint fail.
fn with_1750(mut error: Box<SqlError>) -> Box<SqlError> {
    let constraint = error.number() == 2714 && error.first().state == 5;
    if constraint
        || matches!(
            error.number(),
            1909 | 1911 | 1919 | 1904 | 8110 | 8111 | 8112 | 8168 | 1944
        )
    {
        error.messages.push(Message::new(1750, &[]));
    }
    error
}

/// CREATE TABLE.
pub(super) fn create(run: &mut Run<'_>, written: &CreateTable) -> Result<()> {
    if written.text_on.is_some() {
        return Err(unsupported("TEXTIMAGE_ON"));
    }
    index_options(&written.options, &[])?;
    let table = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let db = binder.database_of(&written.name)?;
        let (schema, name) = named(&written.name);
        let mut parts = Parts::of(&name);
        for (place, element) in (1..).zip(&written.elements) {
            match element {
                TableElement::Column(written) => parts.column(&mut binder, written, place)?,
                TableElement::Constraint(constraint) => {
                    parts.constraint(&mut binder, constraint)?;
                }
                TableElement::Index(inline) => parts.inline(inline, None)?,
            }
        }
        if !parts.defaults.is_empty() || !parts.with_values.is_empty() {
            let text = "Incorrect syntax for definition of the 'TABLE' constraint.";
            return custom(142, 15, 2, text);
        }
        parts.check_own_columns(&[])?;
        parts.settle_keys();
        parts.settle_clustered(false);
        if is_temp(&name) && !parts.foreign.is_empty() {
            return Err(unsupported("FOREIGN KEY of a temporary table"));
        }
        let spec = TableSpec {
            schema: schema.clone(),
            name: name.clone(),
            columns: parts.columns,
            constraints: parts.keys,
            checks: parts.checks,
            indexes: parts.indexes,
            filegroup: filegroup(written.on.as_ref())?,
        };
        let table = cx.sessions.of_table(&db, &name)?.create_table(&spec);
        let table = table.map_err(|e| with_1750(e.into()))?;
        for check in table.checks() {
            bind_check(cx, (&db, &schema, &name), &check.text).map_err(|mut e| {
                e.messages.push(Message::new(1750, &[]));
                e
            })?;
        }
        for key in &parts.foreign {
            let session = cx.sessions.of(&db)?;
            session.add_foreign_key(&schema, &name, key)?;
        }
        Ok(table)
    })?;
    warn_of_long_keys(run, &table, &[]);
    run.done(None);
    Ok(())
}

/// DROP TABLE: a table that does not exist is reported, and the others are dropped.
pub(super) fn drop(run: &mut Run<'_>, written: &Drop) -> Result<()> {
    let mut missing: Option<Box<SqlError>> = None;
    for name in &written.names {
        let gone = run.cx.statement(|cx| {
            of_kind(cx, name, "table")?;
            let db = Binder::new(cx).database_of(name)?;
            let (schema, table) = named(name);
            let session = cx.sessions.of(&db)?;
            let known = session.table_in(&schema, &table).ok();
            session.drop_table_in(&schema, &table)?;
            if let Some(known) = known {
                cx.server.usage().forget(db.id().0, known.id().0, None);
            }
            Ok(())
        });
        match gone {
            Err(e) if matches!(e.number(), 3701 | 208) && written.if_exists => {}
            Err(e) if matches!(e.number(), 3701 | 208) => {
                let args = ["drop".into(), "table".into(), shown(name).into()];
                let message = Message::new(3701, &args);
                match &mut missing {
                    Some(error) => error.messages.push(message),
                    None => missing = Some(message.into()),
                }
            }
            other => other?,
        }
    }
    run.done(None);
    missing.map_or(Ok(()), Err)
}

/// TRUNCATE TABLE.
pub(super) fn truncate(run: &mut Run<'_>, written: &Truncate) -> Result<()> {
    if !written.options.is_empty() {
        return Err(unsupported("WITH (PARTITIONS)"));
    }
    run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(&written.table)?;
        let (schema, table) = named(&written.table);
        cx.sessions.of(&db)?.truncate_table_in(&schema, &table)?;
        Ok(())
    })?;
    run.done(None);
    Ok(())
}
