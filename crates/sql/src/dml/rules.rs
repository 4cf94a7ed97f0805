//! The work for each changed row besides the change: defaults that are expressions, checks, OUTPUT, foreign
//! keys.
//!
//! A changed row is available as `inserted` and `deleted`: its columns as the table stores them, after and
//! before the change. For OUTPUT, the other sources of the statement follow them. As in SQL Server, checks
//! are evaluated after the change: a duplicate key is reported before a violated check.

use super::foreign::Foreign;
use super::target::{Names, TargetOf, assigned, columns_of, resolve};
use furrow_bind::{Binder, Bound, Source, SourceColumn};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::memory::Grant;
use furrow_context::parse::{condition, expression};
use furrow_context::run::Run;
use furrow_context::sink::ResultColumn;
use furrow_context::usage::{IndexName, Use, name_of};
use furrow_engine::{Check, DefaultValue, EngineError, Index, IndexKind, Table};
use furrow_exec::spill::{RowWriter, Rows};
use furrow_exec::{Cond, Expr};
use furrow_format::DatabaseId;
use furrow_tsql::ast::dml::{Output, Target, TargetTable};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::SelectItem;
use furrow_types::{DataType, TypeId, Value, decode, encode};
use std::sync::Arc;

/// The kind of statement that changes rows.
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

/// OUTPUT: its columns and its destination.
#[derive(Clone)]
struct OutputPlan {
    exprs: Vec<Expr>,
    columns: Vec<ResultColumn>,
    /// The table and its columns; the client if there is none.
    into: Option<(TargetOf, Vec<usize>)>,
    rows: OfRun<RowWriter>,
}

/// A value that belongs to one execution of a plan: a copy of the plan for another execution has none.
struct OfRun<T>(Option<T>);

impl<T> Clone for OfRun<T> {
    fn clone(&self) -> OfRun<T> {
        OfRun(None)
    }
}

impl<T> OfRun<T> {
    fn get(&mut self, new: impl FnOnce() -> T) -> &mut T {
        self.0.get_or_insert_with(new)
    }
}

/// The work for each row.
#[derive(Clone)]
pub(super) struct Rules {
    verb: Verb,
    checks: Vec<(Check, Cond)>,
    /// Columns that an INSERT does not name, and their values.
    pub(super) fills: Vec<(usize, Expr)>,
    outputs: Vec<OutputPlan>,
    foreign: Foreign,
    /// Memory of the keys that `foreign` has collected.
    noted: OfRun<Grant>,
    /// Whether OUTPUT uses sources of the statement.
    pub(super) looks_around: bool,
    /// If rows are changed through a query: positions of its columns in the rows for OUTPUT.
    seen: Option<Seen>,
    /// The database, and the indexes of the table that the statement changes.
    kept: (DatabaseId, Arc<[IndexName]>),
}

/// The columns of the query through which a row is changed: `inserted` and `deleted` have these columns.
#[derive(Debug, Clone)]
struct Seen {
    /// The position of each column in the changed row; past its end for columns that are not of the table.
    places: Vec<usize>,
    /// The first column of the sources of the statement in the row.
    around: usize,
}

impl Seen {
    /// `changed`: how many rows of the table are in the row, one after the other.
    fn of(names: &Names, table: &Table, changed: usize) -> Seen {
        let width = table.columns().len();
        let place = |row: usize, of: &Option<usize>| of.map_or(usize::MAX, |at| row * width + at);
        let of_row = |row| names.columns.iter().map(move |(_, of)| place(row, of));
        Seen {
            places: (0..changed).flat_map(of_row).collect(),
            around: changed * width,
        }
    }

    fn row(&self, row: &[Value]) -> Vec<Value> {
        let own = self.places.iter();
        let own = own.map(|at| row.get(*at).cloned().unwrap_or(Value::Null));
        let around = row.get(self.around..).unwrap_or(&[]);
        own.chain(around.iter().cloned()).collect()
    }
}

/// Rows for the client: columns and rows.
pub(super) type Outputs = Vec<(Vec<ResultColumn>, Rows)>;

/// The table's columns, or those of the query through which its rows are changed.
fn source(name: &str, table: &Table, through: Option<&Names>) -> Source {
    let column = |name: &str, of: Option<&furrow_engine::Column>| SourceColumn {
        name: name.to_owned(),
        // A column that is not of the table is refused where it is named: its type does not matter.
        data_type: of.map_or(DataType::simple(TypeId::Int), |c| c.data_type),
        nullable: of.is_none_or(|c| c.nullable),
        identity: of.is_some_and(|c| c.identity),
    };
    let all = table.columns();
    let columns = match through {
        None => all.iter().map(|c| column(&c.name, Some(c))).collect(),
        Some(names) => names
            .columns
            .iter()
            .map(|(name, of)| column(name, of.and_then(|at| all.get(at))))
            .collect(),
    };
    Source {
        name: name.to_owned(),
        qualifier: None,
        columns,
        start: 0,
    }
}

/// `$action` of MERGE, as the column of a source without a name.
fn action() -> Source {
    Source {
        name: String::new(),
        qualifier: None,
        columns: vec![SourceColumn {
            name: "$action".to_owned(),
            data_type: DataType::sized(TypeId::NVarChar, 20),
            nullable: false,
            identity: false,
        }],
        start: 0,
    }
}

/// A value as the table returns it: padded, rounded.
pub(super) fn as_kept(value: &Value, of: &DataType) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let kept = encode(of, value).and_then(|bytes| decode(of, &bytes));
    kept.unwrap_or_else(|_| value.clone())
}

impl Rules {
    /// Binds the rules.
    pub(super) fn bind(
        binder: &mut Binder<'_>,
        verb: Verb,
        target: &TargetOf,
        output: &[Output],
        (through, around): (Option<&Names>, &[Source]),
    ) -> Result<Rules> {
        let table = &target.table;
        let mut checks = Vec::new();
        if verb != Verb::Delete {
            for check in table.checks().iter().filter(|c| !c.disabled) {
                let written = condition(&check.text)?;
                let sources = vec![source(table.name(), table, None)];
                let cond = binder.beside(sources, |b| b.cond(&written))?;
                checks.push((check.clone(), cond));
            }
        }
        let mut outputs = Vec::new();
        let mut looks_around = false;
        for written in output {
            let (plan, looks) = output_plan(binder, verb, table, written, (through, around))?;
            outputs.push(plan);
            looks_around |= looks;
        }
        let changed = match verb {
            Verb::Update | Verb::Merge => 2,
            Verb::Insert | Verb::Delete => 1,
        };
        let foreign = Foreign::of(binder, verb, target)?;
        Ok(Rules {
            verb,
            checks,
            fills: Vec::new(),
            outputs,
            foreign,
            noted: OfRun(None),
            looks_around,
            seen: through.map(|names| Seen::of(names, table, changed)),
            kept: (target.db.id(), kept_indexes(target, |_| true)),
        })
    }

    /// For an UPDATE: only the table and the indexes with one of these columns change.
    pub(super) fn changes_only(&mut self, target: &TargetOf, columns: &[usize]) {
        let has_one = |index: &Index| columns.iter().any(|at| index.has_column(*at));
        self.kept.1 = kept_indexes(target, |index| {
            index.kind() != IndexKind::Nonclustered || has_one(index)
        });
    }

    /// Whether whole rows are needed.
    pub(super) fn whole(&self) -> bool {
        !self.checks.is_empty() || !self.outputs.is_empty() || self.foreign.asks()
    }

    /// Binds the defaults of columns that an INSERT does not name: all of them if whole rows are needed, else
    /// only those that the engine cannot compute.
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

    /// Binds the defaults for an INSERT, and stores them.
    pub(super) fn fill(
        &mut self,
        binder: &mut Binder<'_>,
        table: &Table,
        named: &[usize],
    ) -> Result<()> {
        self.fills = self.fills_for(binder, table, named)?;
        Ok(())
    }

    /// Evaluates the checks of a row after its change (547).
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

    /// Passes a changed row to OUTPUT. `row` has `inserted`, then `deleted`, then the sources of the
    /// statement.
    pub(super) fn put_out(&mut self, cx: &mut Context, row: &[Value]) -> Result<()> {
        match self.foreign.note(row) {
            0 => {}
            bytes => self
                .noted
                .get(|| Grant::new(&cx.memory))
                .take_beyond(bytes)?,
        }
        if self.outputs.is_empty() {
            return Ok(());
        }
        let seen = self.seen.as_ref().map(|seen| seen.row(row));
        let row = seen.as_deref().unwrap_or(row);
        for output in &mut self.outputs {
            let mut values = Vec::with_capacity(output.exprs.len());
            for expr in &output.exprs {
                values.push(expr.eval(row, cx)?.into_owned());
            }
            output.rows.get(|| RowWriter::new(cx)).push(values)?;
        }
        Ok(())
    }

    /// At the end of the statement: inserts rows into their tables, and returns those for the client.
    pub(super) fn finish(self, cx: &mut Context) -> Result<Outputs> {
        self.foreign.settle(cx)?;
        let (db, indexes) = &self.kept;
        for index in &**indexes {
            cx.count_use(*db, *index, Use::Update);
        }
        let mut outputs = Vec::new();
        for output in self.outputs {
            let rows = output
                .rows
                .0
                .unwrap_or_else(|| RowWriter::new(cx))
                .finish()?;
            let Some((target, columns)) = output.into else {
                outputs.push((output.columns, rows));
                continue;
            };
            let session = cx.sessions.by_table(target.db.id(), &target.table)?;
            rows.for_each(|_, row| {
                EngineError::check_cancelled()?;
                session.insert_columns(&target.table, &columns, row)?;
                Ok(())
            })?;
        }
        Ok(outputs)
    }
}

/// Sends the output of a statement and the number of changed rows to the client.
pub(super) fn send_output(run: &mut Run<'_>, outputs: Outputs, rows: u64) -> Result<()> {
    for (columns, rows) in outputs {
        run.sink.columns(&columns);
        rows.for_each(|_, row| {
            run.sink.row(row);
            Ok(())
        })?;
    }
    run.done(Some(rows));
    Ok(())
}

fn kept_indexes(target: &TargetOf, is_kept: impl Fn(&Index) -> bool) -> Arc<[IndexName]> {
    let indexes = target.table.indexes().iter().filter(|i| is_kept(i));
    indexes
        .map(|index| name_of(target.db.id().0, &target.table, index))
        .collect()
}

fn output_plan(
    binder: &mut Binder<'_>,
    verb: Verb,
    table: &Table,
    written: &Output,
    (through, around): (Option<&Names>, &[Source]),
) -> Result<(OutputPlan, bool)> {
    let inserted = source("inserted", table, through);
    let deleted = source("deleted", table, through);
    let sources = match verb {
        Verb::Insert => vec![inserted],
        Verb::Delete => vec![deleted],
        Verb::Update => vec![inserted, deleted],
        Verb::Merge => vec![inserted, deleted, action()],
    };
    let (listed, looks) = listed(binder, (sources, through), around, &written.items)?;
    let columns: Vec<ResultColumn> = listed.iter().map(|(column, _)| column.clone()).collect();
    let Some((place, names)) = &written.into else {
        let plan = OutputPlan {
            exprs: listed.into_iter().map(|(_, bound)| bound.expr).collect(),
            columns,
            into: None,
            rows: OfRun(None),
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
    let into = columns_of(&target.table, None, &names)?;
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
        rows: OfRun(None),
    };
    Ok((plan, looks))
}

/// Binds the list of OUTPUT over the changed row and the sources of the statement behind it. Returns whether
/// it uses the sources; the columns that it uses are marked in the present query.
fn listed(
    binder: &mut Binder<'_>,
    (own, through): (Vec<Source>, Option<&Names>),
    around: &[Source],
    items: &[SelectItem],
) -> Result<(Vec<(ResultColumn, Bound)>, bool)> {
    let start: usize = own.iter().map(|s| s.columns.len()).sum();
    // `$action` has no name and follows the rows.
    let of_rows = own.iter().filter(|source| !source.name.is_empty());
    let rows: usize = of_rows.map(|source| source.columns.len()).sum();
    let all = own.into_iter().chain(around.iter().cloned());
    let mut used = Vec::new();
    let listed = binder.beside(all.collect(), |b| {
        let listed = b.list(items)?;
        let level = b.level();
        let derived = |at: usize| through.and_then(|names| names.derived(at));
        let own = level.used.iter().take(rows).enumerate();
        if let Some(name) = own
            .filter(|(_, used)| **used)
            .find_map(|(at, _)| derived(at))
        {
            let what = format!("OUTPUT of the derived column {name}");
            return Err(unsupported(&what));
        }
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
