//! SELECT INTO: a new table with the columns of a query, and its rows.

use crate::bind::{Binder, Resolved};
use crate::context::Context;
use crate::error::{Result, refuse, unsupported};
use crate::exec::Plan;
use crate::interp::Run;
use crate::sink::ResultColumn;
use crate::temp::{is_own, is_temp};
use furrow_engine::{ColumnSpec, TableSpec};
use furrow_format::types::Value;
use furrow_observe::messages::Message;
use furrow_tsql::ast::expr::ExprKind;
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Query, QueryBody, Select, SelectItem, TableRef};

/// Runs SELECT ... INTO.
pub(crate) fn select_into(run: &mut Run<'_>, query: &Query) -> Result<()> {
    run.cx.sessions.writable()?;
    let QueryBody::Select(select) = &query.body else {
        return Err(unsupported("INTO of a set operation"));
    };
    let Some(into) = &select.into else {
        return Err(unsupported("SELECT INTO without a table"));
    };
    if select.into_filegroup.is_some() {
        return Err(unsupported("SELECT INTO ... ON"));
    }
    let mut name = into.clone();
    run.cx.note_shared(into.name());
    if is_own(into.name())
        && let Some(inner) = run.cx.new_temp(into.name())?
    {
        name = inner;
    }
    let rows = run.cx.statement(|cx| fill(cx, query, select, &name))?;
    run.done(Some(rows));
    Ok(())
}

fn fill(cx: &mut Context, query: &Query, select: &Select, name: &ObjectName) -> Result<u64> {
    let mut bare = query.clone();
    if let QueryBody::Select(select) = &mut bare.body {
        select.into = None;
    }
    let mut binder = Binder::new(cx);
    let bound = binder.query(&bare)?;
    let identity = identity_of(&mut binder, select)?;
    let db = binder.database_of(name)?;
    let mut spec = spec(name, &bound.columns)?;
    if let Some((column, seed, step)) = identity {
        let made = spec.columns.iter_mut().find(|c| c.name == column);
        if let Some(made) = made {
            *made = made.clone().identity(seed, step);
        }
    }
    let counted = spec.columns.iter().any(|c| c.identity.is_some());
    let session = cx.sessions.of(&db)?;
    let table = session.create_table(&spec)?;
    if counted {
        session.set_identity_insert(&table, true)?;
    }
    let columns: Vec<usize> = (0..spec.columns.len()).collect();
    let plan: Plan = bound.plan;
    let mut rows = 0_u64;
    let done = plan.for_each(cx, &mut |cx, row: &[Value]| {
        let session = cx.sessions.of(&db)?;
        session.insert_columns(&table, &columns, row)?;
        rows += 1;
        Ok(())
    });
    if counted {
        let session = cx.sessions.of(&db)?;
        session.set_identity_insert(&table, false)?;
    }
    done?;
    Ok(rows)
}

fn spec(name: &ObjectName, columns: &[ResultColumn]) -> Result<TableSpec> {
    let mut spec = TableSpec::new(name.name());
    if let Some(schema) = name.schema().filter(|_| !is_temp(name.name())) {
        spec.schema = schema.value.to_string();
    }
    for column in columns {
        if column.name.is_empty() {
            let text = "An object or column name is missing or empty. For SELECT INTO statements, verify \
                each column has a name. For other statements, look for empty alias names. Aliases defined \
                as \"\" or [] are not allowed. Change the alias to a valid name.";
            return Err(Message::custom(1038, 15, 5, text).into());
        }
        let twin = |c: &ColumnSpec| c.name.eq_ignore_ascii_case(&column.name);
        if spec.columns.iter().any(twin) {
            let args = [column.name.as_str().into(), name.name().into()];
            return refuse(2705, &args);
        }
        let mut made = ColumnSpec::new(&column.name, column.data_type);
        made.nullable = column.nullable;
        spec.columns.push(made);
    }
    Ok(spec)
}

/// The identity column that the new table takes over: the one of the only table in FROM, listed once and by
/// itself, where rows are neither grouped nor made distinct.
fn identity_of(binder: &mut Binder<'_>, select: &Select) -> Result<Option<(String, i64, i64)>> {
    let [TableRef::Table(source)] = select.from.as_slice() else {
        return Ok(None);
    };
    if select.distinct || select.group_by.is_some() || select.having.is_some() {
        return Ok(None);
    }
    let Resolved::Table(_, table) = binder.resolve(&source.name)? else {
        return Ok(None);
    };
    let Some(now) = table.identity_now() else {
        return Ok(None);
    };
    let Some(column) = table.columns().iter().find(|c| c.identity) else {
        return Ok(None);
    };
    let mut names = Vec::new();
    for item in &select.items {
        match item {
            SelectItem::Star(_) | SelectItem::QualifiedStar(_) => names.push(column.name.clone()),
            SelectItem::Expr { expr, alias } => {
                if let ExprKind::Column(name) = &expr.kind
                    && name.name().eq_ignore_ascii_case(&column.name)
                {
                    let shown = alias.as_ref().map_or(name.name(), |a| &a.value);
                    names.push(shown.to_owned());
                }
            }
            SelectItem::Assign { .. } => {}
        }
    }
    let (seed, step) = (now.seed, now.increment);
    let number = |n: i128| i64::try_from(n).unwrap_or(1);
    match names.as_slice() {
        [name] => Ok(Some((name.clone(), number(seed), number(step)))),
        _ => Ok(None),
    }
}
