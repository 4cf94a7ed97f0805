//! What a statement does with each row that it changes besides the change: defaults that are expressions,
//! checks, OUTPUT, foreign keys.
//!
//! A changed row is looked at as `inserted` and `deleted`: its columns as the table keeps them, after the
//! change and before it. OUTPUT sees the other sources of the statement as well: they lie behind. Checks
//! are asked after the change, as the product does: a key that is there twice is
//! found before a check that fails.

use super::foreign::Foreign;
use super::target::{TargetOf, assigned, resolve};
use crate::bind::{Binder, Bound, Source, SourceColumn};
use crate::context::Context;
use crate::ddl::{condition, expression};
use crate::error::{Result, refuse, unsupported};
use crate::exec::{Cond, Expr};
use crate::interp::Run;
use crate::sink::ResultColumn;
use furrow_engine::{Check, DefaultValue, Table};
use furrow_format::types::{DataType, TypeId, Value, decode, encode};
use furrow_tsql::ast::dml::{Output, Target, TargetTable};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::SelectItem;

/// Which rows a statement changes, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
    Merge,
}

impl Verb {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verb::Insert => "INSERT",
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
            Verb::Merge => "MERGE",
        }
    }
}

/// OUTPUT: what is put out, and where it goes.
#[derive(Clone)]
struct OutputPlan {
    exprs: Vec<Expr>,
    columns: Vec<ResultColumn>,
    /// The table and its columns; the client without one.
    into: Option<(TargetOf, Vec<usize>)>,
    rows: Vec<Vec<Value>>,
}

/// What is done with each row.
#[derive(Clone)]
pub(super) struct Rules {
    verb: Verb,
    checks: Vec<(Check, Cond)>,
    /// Columns that an INSERT does not name and their values.
    pub(super) fills: Vec<(usize, Expr)>,
    outputs: Vec<OutputPlan>,
    foreign: Foreign,
    /// Whether OUTPUT looks at sources of the statement.
    pub(super) looks_around: bool,
}

/// Rows for the client: columns and rows.
pub(super) type Told = Vec<(Vec<ResultColumn>, Vec<Vec<Value>>)>;

fn source(name: &str, table: &Table) -> Source {
    let column = |c: &furrow_engine::Column| SourceColumn {
        name: c.name.clone(),
        data_type: c.data_type,
        nullable: c.nullable,
    };
    Source {
        name: name.to_owned(),
        schema: None,
        columns: table.columns().iter().map(column).collect(),
        start: 0,
    }
}

/// `$action` of MERGE, as a column of a source without a name.
fn action() -> Source {
    Source {
        name: String::new(),
        schema: None,
        columns: vec![SourceColumn {
            name: "$action".to_owned(),
            data_type: DataType::sized(TypeId::NVarChar, 20),
            nullable: false,
        }],
        start: 0,
    }
}

/// A value as the table gives it back: padded, rounded.
pub(super) fn as_kept(value: &Value, of: &DataType) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let kept = encode(of, value).and_then(|bytes| decode(of, &bytes));
    kept.unwrap_or_else(|_| value.clone())
}

impl Rules {
    /// Binds them.
    pub(super) fn bind(
        binder: &mut Binder<'_>,
        verb: Verb,
        target: &TargetOf,
        output: &[Output],
        around: &[Source],
    ) -> Result<Rules> {
        let table = &target.table;
        let mut checks = Vec::new();
        if verb != Verb::Delete {
            for check in table.checks().iter().filter(|c| !c.disabled) {
                let written = condition(&check.text)?;
                let sources = vec![source(table.name(), table)];
                let cond = binder.beside(sources, |b| b.cond(&written))?;
                checks.push((check.clone(), cond));
            }
        }
        let mut outputs = Vec::new();
        let mut looks_around = false;
        for written in output {
            let (plan, looks) = output_plan(binder, verb, table, written, around)?;
            outputs.push(plan);
            looks_around |= looks;
        }
        let foreign = Foreign::of(binder, verb, target)?;
        Ok(Rules {
            verb,
            checks,
            fills: Vec::new(),
            outputs,
            foreign,
            looks_around,
        })
    }

    /// Whether rows are looked at as a whole.
    pub(super) fn whole(&self) -> bool {
        !self.checks.is_empty() || !self.outputs.is_empty() || self.foreign.asks()
    }

    /// Binds the defaults of columns that an INSERT does not name: all where rows are looked at, else those
    /// that the engine does not know.
    pub(super) fn fills_for(
        &self,
        binder: &mut Binder<'_>,
        table: &Table,
        named: &[usize],
    ) -> Result<Vec<(usize, Expr)>> {
        let whole = self.whole();
        let mut fills = Vec::new();
        for (at, column) in table.columns().iter().enumerate() {
            let known = column.default.is_some() && !whole;
            if named.contains(&at) || column.identity || !column.has_default() || known {
                continue;
            }
            let bound = default_of(binder, table, at)?;
            fills.push((at, assigned(binder, bound, column.data_type)?));
        }
        Ok(fills)
    }

    /// The same for an INSERT, kept.
    pub(super) fn fill(
        &mut self,
        binder: &mut Binder<'_>,
        table: &Table,
        named: &[usize],
    ) -> Result<()> {
        self.fills = self.fills_for(binder, table, named)?;
        Ok(())
    }

    /// Asks the checks of a row after its change (547).
    pub(super) fn check(&self, cx: &mut Context, target: &TargetOf, row: &[Value]) -> Result<()> {
        for (check, cond) in &self.checks {
            if cond.eval(row, cx)? != Some(false) {
                continue;
            }
            let table = &target.table;
            let column = table.columns().iter().find(|c| c.id == check.column);
            let (before, name, after) = match column {
                Some(column) => (", column '", column.name.as_str(), "'"),
                None => ("", "", ""),
            };
            let args = [
                self.verb.word().into(),
                "CHECK".into(),
                check.name.as_str().into(),
                target.db.name().into(),
                format!("{}.{}", table.schema(), table.name()).into(),
                before.into(),
                name.into(),
                after.into(),
            ];
            return refuse(547, &args);
        }
        Ok(())
    }

    /// Puts a changed row out. `row` is what the sources of OUTPUT are, one behind the other.
    pub(super) fn put_out(&mut self, cx: &mut Context, row: &[Value]) -> Result<()> {
        self.foreign.note(row);
        for output in &mut self.outputs {
            let mut values = Vec::with_capacity(output.exprs.len());
            for expr in &output.exprs {
                values.push(expr.eval(row, cx)?.into_owned());
            }
            output.rows.push(values);
        }
        Ok(())
    }

    /// At the end of the statement: rows go to their tables, and those for the client are given back.
    pub(super) fn finish(self, cx: &mut Context) -> Result<Told> {
        self.foreign.settle(cx)?;
        let mut told = Vec::new();
        for output in self.outputs {
            let Some((target, columns)) = output.into else {
                told.push((output.columns, output.rows));
                continue;
            };
            let session = cx.sessions.by_table(target.db.id(), &target.table)?;
            for row in &output.rows {
                session.insert_columns(&target.table, &columns, row)?;
            }
        }
        Ok(told)
    }
}

/// Shows the client what a statement put out, and how many rows it changed.
pub(super) fn tell(run: &mut Run<'_>, told: Told, rows: u64) {
    for (columns, rows) in told {
        run.sink.columns(&columns);
        for row in &rows {
            run.sink.row(row);
        }
    }
    run.done(Some(rows));
}

fn output_plan(
    binder: &mut Binder<'_>,
    verb: Verb,
    table: &Table,
    written: &Output,
    around: &[Source],
) -> Result<(OutputPlan, bool)> {
    let (inserted, deleted) = (source("inserted", table), source("deleted", table));
    let sources = match verb {
        Verb::Insert => vec![inserted],
        Verb::Delete => vec![deleted],
        Verb::Update => vec![inserted, deleted],
        Verb::Merge => vec![inserted, deleted, action()],
    };
    let (listed, looks) = listed(binder, sources, around, &written.items)?;
    let columns: Vec<ResultColumn> = listed.iter().map(|(column, _)| column.clone()).collect();
    let Some((place, names)) = &written.into else {
        let plan = OutputPlan {
            exprs: listed.into_iter().map(|(_, bound)| bound.expr).collect(),
            columns,
            into: None,
            rows: Vec::new(),
        };
        return Ok((plan, looks));
    };
    let target = resolve(
        binder,
        &Target {
            table: match place {
                TargetTable::Rowset(name, _) => return Err(unsupported(name)),
                other => other.clone(),
            },
            hints: Vec::new(),
        },
    )?;
    let names: Vec<ObjectName> = names.iter().cloned().map(ObjectName::single).collect();
    let into = super::insert::columns_of(&target.table, &names)?;
    if into.len() != listed.len() {
        return refuse(213, &[]);
    }
    let mut exprs = Vec::new();
    for ((_, bound), &column) in listed.into_iter().zip(&into) {
        let to = target.table.columns()[column].data_type;
        exprs.push(assigned(binder, bound, to)?);
    }
    let plan = OutputPlan {
        exprs,
        columns,
        into: Some((target, into)),
        rows: Vec::new(),
    };
    Ok((plan, looks))
}

/// Binds the list of OUTPUT over the changed row and, behind it, the sources of the statement. Says whether
/// it looks at those; what it looks at is marked in the query at hand.
fn listed(
    binder: &mut Binder<'_>,
    own: Vec<Source>,
    around: &[Source],
    items: &[SelectItem],
) -> Result<(Vec<(ResultColumn, Bound)>, bool)> {
    let start: usize = own.iter().map(|s| s.columns.len()).sum();
    let all = own.into_iter().chain(around.iter().cloned());
    let mut used = Vec::new();
    let listed = binder.beside(all.collect(), |b| {
        let listed = b.list(items)?;
        let level = b.level();
        let behind = level.used.iter().enumerate().skip(start);
        used.extend(behind.filter(|(_, used)| **used).map(|(at, _)| at - start));
        Ok(listed)
    })?;
    for &place in &used {
        binder.use_all(place..place + 1);
    }
    Ok((listed, !used.is_empty()))
}

/// The default of a column: its expression, or NULL.
pub(super) fn default_of(binder: &mut Binder<'_>, table: &Table, column: usize) -> Result<Bound> {
    let of = &table.columns()[column];
    let constant = match &of.default {
        Some(DefaultValue::Constant(value)) => Some(value.clone()),
        _ => None,
    };
    match (constant, &of.default_text) {
        (Some(value), _) if !value.is_null() => Ok(Bound::constant(value, of.data_type)),
        (None, Some(text)) => {
            let written = expression(text)?;
            binder.beside(Vec::new(), |b| b.expr(&written))
        }
        _ => Ok(Bound {
            is_null_literal: true,
            ..Bound::constant(Value::Null, of.data_type)
        }),
    }
}
