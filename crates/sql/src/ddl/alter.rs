//! ALTER TABLE.

use super::columns::{Parts, checked_default, custom, index_options};
use super::normal::{names_of, same};
use super::{bind_check, foreign, indexes_of, named, violates, warn_of_long_keys};
use furrow_bind::{Binder, Declared, declared_type, shown};
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError, unsupported};
use furrow_context::run::Run;
use furrow_engine::{
    ColumnSpec, Database, EngineError, ForeignKeySpec, LockEscalation, NewColumn, NewValues, Table,
};
use furrow_messages::Message;
use furrow_scalar::convert::Conversion;
use furrow_tsql::ast::name::Ident;
use furrow_tsql::ast::option::{Opt, OptValue};
use furrow_tsql::ast::table::{
    AlterTable, ColumnAttribute, ColumnDef, ColumnKind, ConstraintKind, TableAction, TableDrop,
    TableElement,
};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// The table that is altered.
struct Of {
    db: Arc<Database>,
    schema: String,
    name: String,
    shown: String,
}

/// ALTER TABLE.
pub(super) fn alter(run: &mut Run<'_>, written: &AlterTable) -> Result<()> {
    let (before, after) = run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(&written.table)?;
        let (schema, name) = named(&written.table);
        let of = Of {
            db,
            schema,
            name,
            shown: shown(&written.table),
        };
        let adds = matches!(written.action, TableAction::Add { .. });
        let mut act = || {
            let before = adds.then(|| table(cx, &of)).transpose()?;
            act(cx, &of, &written.action)?;
            let after = adds.then(|| table(cx, &of)).transpose()?;
            Ok((before.map(|table| indexes_of(&table)), after))
        };
        act().map_err(|e| missing(e, &of.shown))
    })?;
    if let (Some(before), Some(after)) = (before, after) {
        warn_of_long_keys(run, &after, &before);
    }
    run.done(None);
    Ok(())
}

/// 4902 with the name that the statement has.
fn missing(error: Box<SqlError>, shown: &str) -> Box<SqlError> {
    match error.number() {
        4902 => {
            let text = format!(
                "Cannot find the object \"{shown}\" because it does not exist or you do not have \
                permissions."
            );
            Message::custom(4902, 16, 1, &text).into()
        }
        _ => error,
    }
}

fn act(cx: &mut Context, of: &Of, action: &TableAction) -> Result<()> {
    match action {
        TableAction::Add { check, elements } => add(cx, of, (check.unwrap_or(true), elements)),
        TableAction::AlterColumn(column, options) => {
            index_options(options, &[])?;
            alter_column(cx, of, column)
        }
        TableAction::Drop(drops) => drop(cx, of, drops),
        TableAction::CheckConstraint {
            with_check,
            enable,
            names,
        } => checks(cx, of, (with_check.unwrap_or(false), *enable, names)),
        TableAction::Rebuild(partition, options) => {
            if partition.is_some() {
                return Err(unsupported("REBUILD PARTITION"));
            }
            index_options(options, &[])?;
            let session = cx.sessions.of(&of.db)?;
            session.rebuild(&of.schema, &of.name, None)?;
            Ok(())
        }
        TableAction::ColumnProperty(_, add, word) => {
            let verb = if *add { "ADD" } else { "DROP" };
            Err(unsupported(&format!("ALTER COLUMN {verb} {word}")))
        }
        TableAction::Trigger(..) => Err(unsupported("a trigger")),
        TableAction::Switch(..) => Err(unsupported("ALTER TABLE SWITCH")),
        TableAction::Set(options) => set(cx, of, options),
    }
}

/// ALTER TABLE SET: LOCK_ESCALATION.
fn set(cx: &mut Context, of: &Of, options: &[Opt]) -> Result<()> {
    for option in options {
        let to = match (&*option.name, &option.value) {
            ("LOCK_ESCALATION", Some(OptValue::Word(word))) => match &**word {
                "DISABLE" => LockEscalation::Disable,
                "AUTO" => LockEscalation::Auto,
                _ => LockEscalation::Table,
            },
            (name, _) => return Err(unsupported(&format!("ALTER TABLE SET ({name})"))),
        };
        let session = cx.sessions.of(&of.db)?;
        session.set_lock_escalation((&of.schema, &of.name), to)?;
    }
    Ok(())
}

fn table(cx: &mut Context, of: &Of) -> Result<Arc<Table>> {
    let session = cx.sessions.of(&of.db)?;
    Ok(session.lock_definition(&of.schema, &of.name)?)
}

fn add(cx: &mut Context, of: &Of, (check, elements): (bool, &[TableElement])) -> Result<()> {
    let before = table(cx, of)?;
    let mut parts = Parts::of(&of.name);
    let mut binder = Binder::new(cx);
    for (place, element) in (1..).zip(elements) {
        match element {
            TableElement::Column(written) => parts.column(&mut binder, written, place)?,
            TableElement::Constraint(written) => {
                if let ConstraintKind::Default {
                    with_values: true, ..
                } = &written.kind
                {
                    return Err(unsupported("WITH VALUES for a column that is there"));
                }
                parts.constraint(&mut binder, written)?;
            }
            TableElement::Index(inline) => parts.inline(inline, None)?,
        }
    }
    parts.check_own_columns(before.columns())?;
    parts.settle_keys();
    parts.settle_clustered(!before.is_heap());
    if !parts.columns.is_empty() {
        add_columns(cx, of, &parts)?;
    }
    for (column, name, text) in &parts.defaults {
        let to = before
            .column(column)
            .and_then(|at| before.columns().get(at));
        if let (Some(to), Some(value)) = (to, default_of(elements, column)) {
            checked_default(&mut Binder::new(cx), value, to.data_type)?;
        }
        let session = cx.sessions.of(&of.db)?;
        let place = (of.schema.as_str(), of.name.as_str());
        session.bind_default(place, column, name.as_deref(), text)?;
    }
    for key in &parts.keys {
        let session = cx.sessions.of(&of.db)?;
        session.add_key(&of.schema, &of.name, key)?;
    }
    for index in &parts.indexes {
        let session = cx.sessions.of(&of.db)?;
        session.create_index_in(&of.schema, &of.name, index)?;
    }
    for key in &parts.foreign {
        let spec = ForeignKeySpec {
            trusted: check,
            ..key.clone()
        };
        let session = cx.sessions.of(&of.db)?;
        let table = session.add_foreign_key(&of.schema, &of.name, &spec)?;
        if let Some(made) = table.foreign_keys().last().filter(|_| check) {
            foreign::hold(cx, &of.db, &table, made)?;
        }
    }
    add_checks(cx, of, &mut parts, check)
}

fn default_of<'a>(
    elements: &'a [TableElement],
    of: &str,
) -> Option<&'a furrow_tsql::ast::expr::Expr> {
    elements.iter().find_map(|element| match element {
        TableElement::Constraint(c) => match &c.kind {
            ConstraintKind::Default {
                value,
                column: Some(column),
                ..
            } if *column.value == *of => Some(value),
            _ => None,
        },
        _ => None,
    })
}

/// Adds columns before the keys and checks that use them.
fn add_columns(cx: &mut Context, of: &Of, parts: &Parts) -> Result<()> {
    let mut columns = Vec::new();
    for column in &parts.columns {
        let fills = !column.nullable || parts.with_values.contains(&column.name);
        let values = match (&column.default, &column.default_text) {
            (Some(_), _) if fills => NewValues::Default,
            (None, Some(text)) if fills => NewValues::Value(constant(cx, text, column)?),
            _ => NewValues::Null,
        };
        columns.push(NewColumn {
            column: column.clone(),
            values,
        });
    }
    let session = cx.sessions.of(&of.db)?;
    session.add_columns(&of.schema, &of.name, &columns, &[])?;
    Ok(())
}

/// The value of a default expression, the same for all rows.
fn constant(cx: &mut Context, text: &str, column: &ColumnSpec) -> Result<Value> {
    let written = furrow_context::parse::expression(text)?;
    let mut binder = Binder::new(cx);
    let bound = binder.expr(&written)?;
    let expr = binder.coerce(bound, column.data_type)?;
    Ok(expr.eval(&[], cx)?.into_owned())
}

fn add_checks(cx: &mut Context, of: &Of, parts: &mut Parts, check: bool) -> Result<()> {
    for spec in &mut parts.checks {
        spec.trusted = check;
    }
    if parts.checks.is_empty() {
        return Ok(());
    }
    let session = cx.sessions.of(&of.db)?;
    let old = session.table_in(&of.schema, &of.name)?.checks().len();
    let table = session.add_columns(&of.schema, &of.name, &[], &parts.checks)?;
    for made in table.checks().iter().skip(old) {
        hold(cx, of, made, check)?;
    }
    Ok(())
}

/// Binds a check, and tests all rows against it.
fn hold(cx: &mut Context, of: &Of, check: &furrow_engine::Check, rows: bool) -> Result<()> {
    let place = (&of.db, of.schema.as_str(), of.name.as_str());
    bind_check(cx, place, &check.text).map_err(|mut e| {
        e.messages.push(Message::new(1750, &[]));
        e
    })?;
    if rows && violates(cx, place, &check.text)? {
        let column = super::column_named(cx, place, check.column)?;
        let text = format!(
            "The ALTER TABLE statement conflicted with the CHECK constraint \"{}\". The conflict \
            occurred in database \"{}\", table \"{}.{}\"{column}.",
            check.name,
            of.db.name(),
            of.schema,
            of.name
        );
        return custom(547, 16, 0, &text);
    }
    Ok(())
}

fn checks(
    cx: &mut Context,
    of: &Of,
    (with_check, enable, names): (bool, bool, &[Ident]),
) -> Result<()> {
    let names: Vec<String> = names.iter().map(|n| n.value.to_string()).collect();
    let trusted = enable && with_check;
    let session = cx.sessions.of(&of.db)?;
    let place = (of.schema.as_str(), of.name.as_str());
    let table = session.enable_checks(place, &names, enable, trusted)?;
    if !trusted {
        return Ok(());
    }
    for check in table.checks() {
        let asked = |n: &String| n.to_lowercase() == check.name.to_lowercase();
        if names.is_empty() || names.iter().any(asked) {
            hold(cx, of, check, true)?;
        }
    }
    for key in table.foreign_keys() {
        let asked = |n: &String| n.to_lowercase() == key.name.to_lowercase();
        if names.is_empty() || names.iter().any(asked) {
            foreign::hold(cx, &of.db, &table, key)?;
        }
    }
    Ok(())
}

fn alter_column(cx: &mut Context, of: &Of, written: &ColumnDef) -> Result<()> {
    let before = table(cx, of)?;
    let ColumnKind::Stored(kind) = &written.kind else {
        return Err(unsupported("ALTER COLUMN to a computed column"));
    };
    let to = declared_type(kind, Declared::Column(&written.name.value), 1)?;
    let mut nullable = true;
    for attribute in &written.attributes {
        match attribute {
            ColumnAttribute::Null(yes) => nullable = *yes,
            ColumnAttribute::Collate(name) => {
                return Err(unsupported(&format!("COLLATE {}", name.value)));
            }
            _ => return Err(unsupported("this attribute in ALTER COLUMN")),
        }
    }
    let column: &str = &written.name.value;
    let old = before
        .column(column)
        .and_then(|at| before.columns().get(at));
    // An identity column stays NOT NULL if the statement does not say otherwise.
    if old.is_some_and(|c| c.identity) && written.attributes.is_empty() {
        nullable = false;
    }
    let from = old.map_or(to, |c| c.data_type);
    if !is_longer(&from, &to) {
        refuse_checked(&before, column)?;
    }
    let settings = cx.settings();
    let mut failed: Option<Box<SqlError>> = None;
    let mut convert = |value: Value| converted(&value, (from, to), settings, &mut failed);
    let session = cx.sessions.of(&of.db)?;
    let place = (of.schema.as_str(), of.name.as_str());
    let altered = session.alter_column(place, column, (to, nullable), &mut convert);
    match (altered, failed) {
        (Ok(_), _) => Ok(()),
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) => Err(error.into()),
    }
}

/// Whether a type is another one of variable length that is at least as long, or the same.
fn is_longer(from: &DataType, to: &DataType) -> bool {
    let varies = matches!(
        from.id,
        TypeId::VarChar | TypeId::NVarChar | TypeId::VarBinary
    );
    let longer = to.is_max() || (!from.is_max() && to.length >= from.length);
    from == to || (varies && from.id == to.id && longer)
}

/// 5074 and 4922 for a column that a check uses: its type does not change.
fn refuse_checked(table: &Table, column: &str) -> Result<()> {
    let uses =
        |check: &&furrow_engine::Check| names_of(&check.text).iter().any(|n| same(n, column));
    let mut messages: Vec<Message> = Vec::new();
    for check in table.checks().iter().filter(uses) {
        let args = [
            "object".into(),
            check.name.as_str().into(),
            "column".into(),
            column.into(),
        ];
        messages.push(Message::new(5074, &args));
    }
    if messages.is_empty() {
        return Ok(());
    }
    let args = [
        "ALTER TABLE ALTER COLUMN".into(),
        column.into(),
        "column".into(),
    ];
    messages.push(Message::new(4922, &args));
    Err(EngineError::Refused(messages).into())
}

/// Converts a value to the new type, as an assignment does.
fn converted(
    value: &Value,
    (from, to): (DataType, DataType),
    settings: furrow_scalar::Settings,
    failed: &mut Option<Box<SqlError>>,
) -> std::result::Result<Value, EngineError> {
    // The engine checks lengths: a conversion would cut a value that is too long.
    let alike = |a: DataType, b: DataType| {
        let bytes = |of: DataType| matches!(of.id, TypeId::Binary | TypeId::VarBinary);
        a.id.has_collation() && b.id.has_collation() || bytes(a) && bytes(b)
    };
    if alike(from, to) {
        return Ok(value.clone());
    }
    let made = Conversion::implicit(from, to).and_then(|conversion| match conversion {
        Some(conversion) => conversion.apply(value, &settings),
        None => Ok(value.clone()),
    });
    made.map_err(|e| {
        let error: Box<SqlError> = e.into();
        let message = error.first().clone();
        *failed = Some(error);
        EngineError::of(message)
    })
}

fn drop(cx: &mut Context, of: &Of, drops: &[TableDrop]) -> Result<()> {
    let columns: Vec<&TableDrop> = drops.iter().filter(|d| d.column).collect();
    for entry in drops {
        if !entry.options.is_empty() {
            index_options(&entry.options, &[])?;
        }
    }
    for entry in drops.iter().filter(|d| !d.column) {
        let session = cx.sessions.of(&of.db)?;
        match session.drop_constraint(&of.schema, &of.name, &entry.name.value) {
            Err(e) if e.number() == 3728 && entry.if_exists => {}
            Err(e) => return Err(e.into()),
            Ok(_) => {}
        }
    }
    if columns.is_empty() {
        return Ok(());
    }
    let before = table(cx, of)?;
    let gone = columns
        .iter()
        .filter(|c| !(c.if_exists && before.column(&c.name.value).is_none()))
        .map(|c| c.name.value.to_string());
    let gone: Vec<String> = gone.collect();
    if !gone.is_empty() {
        let session = cx.sessions.of(&of.db)?;
        session.drop_columns(&of.schema, &of.name, &gone)?;
    }
    Ok(())
}
