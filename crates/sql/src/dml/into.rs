//! SELECT INTO: a new table with the columns of a query, and its rows.

use furrow_bind::{Binder, Resolved, data_type};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::sink::ResultColumn;
use furrow_context::temp::{is_own, is_temp};
use furrow_engine::{ColumnSpec, TableSpec};
use furrow_exec::Plan;
use furrow_messages::Message;
use furrow_tsql::ast::expr::{Call, Expr, ExprKind, Literal, UnaryOp};
use furrow_tsql::ast::name::{DataType as Written, ObjectName, TypeArg};
use furrow_tsql::ast::query::{Cte, Query, QueryBody, Select, SelectItem, TableRef};
use furrow_types::{DataType, Value};

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
    let mut numbered = None;
    let written = select;
    if let QueryBody::Select(select) = &mut bare.body {
        select.into = None;
        numbered = numbered_column(&mut select.items, select_target(written))?;
    }
    let (bound, identity, db) = furrow_bind::bound(cx, |binder| {
        let bound = binder.query(&bare)?;
        let identity = identity_of(binder, query, select)?;
        Ok((bound, identity, binder.database_of(name)?))
    })?;
    let mut spec = spec(name, &bound.columns)?;
    let mut made_here = None;
    if let Some(column) = numbered {
        if let Some((of, ..)) = identity {
            return refuse(8108, &[select_target(select).into(), of.into()]);
        }
        made_here = Some(column.put_in(&mut spec)?);
    } else if let Some((column, seed, step)) = identity {
        let made = spec.columns.iter_mut().find(|c| c.name == column);
        if let Some(made) = made {
            *made = made.clone().identity(seed, step);
        }
    }
    let counted = made_here.is_none() && spec.columns.iter().any(|c| c.identity.is_some());
    let session = cx.sessions.of(&db)?;
    let table = session.create_table(&spec)?;
    let before = counted.then(|| session.replace_identity_insert(Some(table.id())));
    let given = |at: &usize| Some(*at) != made_here;
    let columns: Vec<usize> = (0..spec.columns.len()).filter(given).collect();
    let plan: Plan = bound.plan;
    let mut rows = 0_u64;
    let mut values = Vec::new();
    let done = plan.for_each(cx, &mut |cx, row: &[Value]| {
        let session = cx.sessions.of(&db)?;
        match made_here {
            None => session.insert_columns(&table, &columns, row)?,
            Some(_) => {
                values.clear();
                values.extend(columns.iter().filter_map(|at| row.get(*at).cloned()));
                session.insert_columns(&table, &columns, &values)?
            }
        };
        rows += 1;
        Ok(())
    });
    if let Some(before) = before {
        cx.sessions.of(&db)?.replace_identity_insert(before);
    }
    done?;
    Ok(rows)
}

/// A column that `IDENTITY(type, seed, increment)` creates.
struct Numbered {
    name: String,
    data_type: DataType,
    seed: i64,
    step: i64,
}

impl Numbered {
    /// Makes the table's column of this name the identity column; returns its position.
    fn put_in(&self, spec: &mut TableSpec) -> Result<usize> {
        let of_name = |c: &ColumnSpec| c.name.eq_ignore_ascii_case(&self.name);
        let Some(at) = spec.columns.iter().position(of_name) else {
            return refuse(207, &[self.name.as_str().into()]);
        };
        if let Some(column) = spec.columns.get_mut(at) {
            let made = ColumnSpec::new(&self.name, self.data_type).identity(self.seed, self.step);
            *column = made;
            column.nullable = false;
        }
        Ok(at)
    }
}

/// The name of the table of INTO.
fn select_target(select: &Select) -> &str {
    select.into.as_ref().map_or("", |into| into.name())
}

/// The column that the IDENTITY function creates. The call in the select list is replaced by NULL: the table
/// numbers its rows itself.
fn numbered_column(items: &mut [SelectItem], table: &str) -> Result<Option<Numbered>> {
    let mut found = None;
    for item in items {
        let SelectItem::Expr { expr, alias } = item else {
            continue;
        };
        let ExprKind::Call(call) = &expr.kind else {
            continue;
        };
        if call.name.parts.len() != 1 || !call.name.name().eq_ignore_ascii_case("IDENTITY") {
            continue;
        }
        let Some(alias) = alias else {
            let text = "Incorrect syntax near ')'.";
            return Err(Message::custom(102, 15, 1, text).into());
        };
        let (data_type, seed, step) = numbering(call)?;
        let column = Numbered {
            name: alias.value.to_string(),
            data_type,
            seed,
            step,
        };
        if found.is_some() {
            return refuse(2744, &[table.into()]);
        }
        expr.kind = ExprKind::Literal(Literal::Null);
        found = Some(column);
    }
    Ok(found)
}

/// The arguments of the IDENTITY function: type, seed and increment.
fn numbering(call: &Call) -> Result<(DataType, i64, i64)> {
    let wrong = || refuse(174, &["identity".into(), 3.into()]);
    let (of, seed, step) = match call.args.as_slice() {
        [of] => (of, None, None),
        [of, seed, step] => (of, Some(seed), Some(step)),
        _ => return wrong(),
    };
    let (name, args) = match &of.kind {
        ExprKind::Column(name) => (name.clone(), Vec::new()),
        ExprKind::Call(of) => {
            let digits = |arg: &Expr| match &arg.kind {
                ExprKind::Literal(Literal::Integer(digits)) => {
                    Some(TypeArg::Number(digits.clone()))
                }
                _ => None,
            };
            let Some(args) = of.args.iter().map(digits).collect() else {
                return wrong();
            };
            (of.name.clone(), args)
        }
        _ => return wrong(),
    };
    let data_type = data_type(&Written { name, args }, false)?;
    let number = |of: Option<&Expr>| of.map_or(Some(1), whole_number);
    match (number(seed), number(step)) {
        (Some(seed), Some(step)) => Ok((data_type, seed, step)),
        _ => wrong(),
    }
}

/// A whole number of the text, with a sign or without.
fn whole_number(written: &Expr) -> Option<i64> {
    match &written.kind {
        ExprKind::Literal(Literal::Integer(digits)) => digits.parse().ok(),
        ExprKind::Unary(UnaryOp::Minus, of) => whole_number(of)?.checked_neg(),
        ExprKind::Unary(UnaryOp::Plus, of) => whole_number(of),
        _ => None,
    }
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

/// The identity column that the new table inherits: the one of the only table in FROM, if it is in the list
/// once and alone, and rows are neither grouped nor made distinct.
fn identity_of(
    binder: &mut Binder<'_>,
    query: &Query,
    select: &Select,
) -> Result<Option<(String, i64, i64)>> {
    let [TableRef::Table(source)] = select.from.as_slice() else {
        return Ok(None);
    };
    let is_source = |cte: &Cte| {
        source.name.parts.len() == 1 && cte.name.value.eq_ignore_ascii_case(source.name.name())
    };
    if query.ctes.iter().any(is_source) {
        return Ok(None);
    }
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
