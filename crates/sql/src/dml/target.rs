//! The table that a statement changes.

use crate::bind::{
    Beneath, Binder, Bound, Node, Resolved, Source, Through, conjuncts, shown, table_hints,
};
use crate::error::{Result, refuse, unsupported};
use crate::exec::{Cond, Expr, Plan};
use furrow_engine::{Database, LockHints, Table};
use furrow_format::types::{DataType, TypeId, Value};
use furrow_tsql::ast::dml::{Target, TargetTable};
use furrow_tsql::ast::expr::Condition;
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Query, TableHint, TableRef, TableSource};
use std::sync::Arc;

/// A table to be changed.
#[derive(Debug, Clone)]
pub(super) struct TargetOf {
    pub(super) db: Arc<Database>,
    pub(super) table: Arc<Table>,
    pub(super) hints: LockHints,
}

/// The table that a target names: 208 for none.
pub(super) fn resolve(binder: &mut Binder<'_>, target: &Target) -> Result<TargetOf> {
    let name = named(target)?;
    match binder.resolve(&name)? {
        Resolved::Table(db, table) => {
            let (hints, _) = table_hints(&table, &target.hints)?;
            Ok(TargetOf { db, table, hints })
        }
        Resolved::View(..) => {
            let text = "Ad hoc updates to system catalogs are not allowed.";
            Err(furrow_observe::messages::Message::custom(259, 16, 1, text).into())
        }
        Resolved::Module(..) => Err(unsupported("adding or merging rows through a view")),
        Resolved::Cte(_) => Err(unsupported(
            "adding or merging rows through a common table expression",
        )),
    }
}

/// What a name leads to that an UPDATE or DELETE changes: a table, or the one beneath a query, with what the
/// query calls that.
fn changed(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    hints: &[TableHint],
) -> Result<(TargetOf, Option<Inner>)> {
    let beneath = match binder.resolve(name)? {
        Resolved::Table(db, table) => {
            let (hints, _) = table_hints(&table, hints)?;
            return Ok((TargetOf { db, table, hints }, None));
        }
        Resolved::View(..) => {
            let text = "Ad hoc updates to system catalogs are not allowed.";
            return Err(furrow_observe::messages::Message::custom(259, 16, 1, text).into());
        }
        Resolved::Module(db, view) => binder.beneath_view(db, &view, hints)?,
        Resolved::Cte(cte) => binder.beneath_cte(&cte, hints)?,
    };
    Ok(through(beneath))
}

/// What the innermost query calls the table, and the queries between.
type Inner = (String, Vec<String>);

fn through(beneath: Beneath) -> (TargetOf, Option<Inner>) {
    let Beneath {
        db,
        table,
        hints,
        name,
        inner,
    } = beneath;
    (TargetOf { db, table, hints }, Some((name, inner)))
}

/// The name of a target; a table variable's has its `@`.
pub(super) fn named(target: &Target) -> Result<ObjectName> {
    match &target.table {
        TargetTable::Name(name) => Ok(name.clone()),
        TargetTable::Variable(variable) => Ok(ObjectName::single(variable.clone())),
        TargetTable::Rowset(name, _) => Err(unsupported(name)),
    }
}

/// Rows to be changed: a plan whose wide row has the name of the target's row at `name_at`.
pub(super) struct Found {
    pub(super) target: TargetOf,
    pub(super) node: Node,
    pub(super) conds: Vec<Cond>,
    pub(super) name_at: usize,
    /// Where the target's columns begin in the wide row.
    pub(super) start: usize,
    /// The query that the rows are changed through.
    pub(super) through: Option<Names>,
}

/// The columns of a query that rows are changed through.
pub(super) struct Names {
    pub(super) query: String,
    /// Each with the table's column that it is, if it is one.
    pub(super) columns: Vec<(String, Option<usize>)>,
}

impl Names {
    /// The table's column that a column of the query is: 207, and 4406 for what is none.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        let found = self
            .columns
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name));
        match found {
            Some((_, Some(column))) => Ok(*column),
            Some((_, None)) => refuse(4406, &[self.query.clone().into()]),
            None => refuse(207, &[name.into()]),
        }
    }

    /// The name of the column at a place, in one or more rows of the query one behind the other, where it is
    /// none of the table's.
    pub(super) fn derived(&self, at: usize) -> Option<&str> {
        let (name, of) = self.columns.get(at.checked_rem(self.columns.len())?)?;
        of.is_none().then_some(name)
    }
}

impl Found {
    /// The sources that OUTPUT sees besides `inserted` and `deleted`: those of FROM, but for the columns of
    /// the target, which are seen as those alone.
    pub(super) fn around(&self, binder: &mut Binder<'_>, from: &[TableRef]) -> Vec<Source> {
        if from.is_empty() {
            return Vec::new();
        }
        let mut sources = binder.level().sources.clone();
        let has_target =
            |s: &&mut Source| (s.start..s.start + s.columns.len()).contains(&self.start);
        for source in sources.iter_mut().filter(has_target) {
            source.name.clear();
            for column in &mut source.columns {
                column.name.clear();
            }
        }
        sources
    }
}

/// Binds the sources of an UPDATE or DELETE: its FROM, or the target alone.
pub(super) fn sources(
    binder: &mut Binder<'_>,
    target: &Target,
    from: &[TableRef],
    filter: Option<&Condition>,
) -> Result<Found> {
    let name = named(target)?;
    let name = &name;
    let of_alias = aliased(from, name);
    let of_query = derived(from, name);
    let (resolved, inner) = match (&of_alias, of_query) {
        (Some(source), _) => changed(binder, &source.name, &target.hints)?,
        (None, Some(query)) => through(binder.beneath(query, name.name(), &target.hints)?),
        (None, None) => changed(binder, name, &target.hints)?,
    };
    let inner = match inner {
        Some((table, queries)) => {
            binder.through = Some(Through::new(name.name(), queries));
            table
        }
        None => {
            binder.through = None;
            name.name().to_owned()
        }
    };
    binder.target = Some((resolved.table.id(), inner));
    let alone = [TableRef::Table(Box::new(TableSource {
        name: name.clone(),
        system_time: None,
        alias: None,
        sample: None,
        hints: target.hints.clone(),
    }))];
    let node = match of_alias.is_some() || of_query.is_some() {
        true => binder.from(from)?,
        // Where the target is not among the sources, each of its rows goes with each of theirs.
        false => {
            let all: Vec<TableRef> = from.iter().chain(&alone).cloned().collect();
            binder.from(&all)?
        }
    };
    let (Some(node), None) = (node, binder.target.take()) else {
        return refuse(208, &[shown(name).into()]);
    };
    let mut conds = Vec::new();
    if let Some(filter) = filter {
        conjuncts(binder.cond(filter)?, &mut conds);
    }
    let level = binder.level();
    let source = level.sources.iter().find(|s| {
        s.columns.last().is_some_and(|c| c.name.is_empty())
            && s.name.eq_ignore_ascii_case(name.name())
    });
    let Some(source) = source else {
        return refuse(208, &[shown(name).into()]);
    };
    let name_at = source.start + source.columns.len() - 1;
    let start = name_at - resolved.table.columns().len();
    let own: Vec<String> = source.columns.iter().map(|c| c.name.clone()).collect();
    let names = binder.through.take().and_then(|through| {
        Some(Names {
            columns: own.into_iter().zip(through.columns?).collect(),
            query: through.name,
        })
    });
    Ok(Found {
        target: resolved,
        node,
        conds,
        name_at,
        start,
        through: names,
    })
}

/// The derived table in FROM that has this alias.
fn derived<'q>(from: &'q [TableRef], name: &ObjectName) -> Option<&'q Query> {
    fn within<'q>(source: &'q TableRef, name: &str) -> Option<&'q Query> {
        match source {
            TableRef::Derived { query, alias } => {
                let found = alias.name.value.eq_ignore_ascii_case(name);
                found.then_some(&**query)
            }
            TableRef::Join(join) => within(&join.left, name).or_else(|| within(&join.right, name)),
            _ => None,
        }
    }
    let only = name.parts.len() == 1;
    let mut all = from.iter().filter(|_| only);
    all.find_map(|source| within(source, name.name()))
}

/// The source in FROM that has this alias, or is this table.
fn aliased(from: &[TableRef], name: &ObjectName) -> Option<TableSource> {
    fn within(source: &TableRef, name: &str, alias: bool) -> Option<TableSource> {
        match source {
            TableRef::Table(table) => {
                let found = match (&table.alias, alias) {
                    (Some(alias), true) => alias.value.eq_ignore_ascii_case(name),
                    (None, false) => table.name.name().eq_ignore_ascii_case(name),
                    _ => false,
                };
                found.then(|| (**table).clone())
            }
            TableRef::Variable {
                variable,
                alias: of,
            } => {
                let found = match (of, alias) {
                    (Some(of), true) => of.value.eq_ignore_ascii_case(name),
                    (None, false) => variable.value.eq_ignore_ascii_case(name),
                    _ => false,
                };
                found.then(|| TableSource {
                    name: ObjectName::single(variable.clone()),
                    system_time: None,
                    alias: of.clone(),
                    sample: None,
                    hints: Vec::new(),
                })
            }
            TableRef::Join(join) => {
                within(&join.left, name, alias).or_else(|| within(&join.right, name, alias))
            }
            _ => None,
        }
    }
    let find = |alias| from.iter().find_map(|s| within(s, name.name(), alias));
    match name.parts.len() {
        1 => find(true).or_else(|| find(false)),
        _ => find(false),
    }
}

/// A value as a column takes it: types convert as in an assignment, lengths are the engine's to check.
pub(super) fn assigned(binder: &mut Binder<'_>, bound: Bound, to: DataType) -> Result<Expr> {
    let text = |id: TypeId| {
        matches!(
            id,
            TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar
        )
    };
    let bytes = |id: TypeId| matches!(id, TypeId::Binary | TypeId::VarBinary);
    let (from, id) = (bound.data_type.id, to.id);
    if (text(from) && text(id)) || (bytes(from) && bytes(id)) {
        return Ok(bound.expr);
    }
    let wide = match (text(id), bytes(id)) {
        (true, _) if id.is_unicode() => DataType::sized(TypeId::NVarChar, 8000),
        (true, _) => DataType::sized(TypeId::VarChar, 8000),
        (_, true) if text(from) => to,
        (_, true) => DataType::sized(TypeId::VarBinary, 8000),
        _ => to,
    };
    binder.coerce(bound, wide)
}

/// A plan cut to its first rows: TOP, and SET ROWCOUNT.
pub(super) fn topped(
    binder: &mut Binder<'_>,
    plan: Plan,
    top: Option<&furrow_tsql::ast::query::Top>,
) -> Result<Plan> {
    let plan = limited(binder, plan);
    let Some(top) = top else { return Ok(plan) };
    let count = binder.expr(&top.count)?.expr;
    Ok(first(plan, count, top.percent))
}

/// A plan cut to the rows that SET ROWCOUNT allows.
pub(crate) fn limited(binder: &Binder<'_>, plan: Plan) -> Plan {
    match binder.cx.set.row_count {
        0 => plan,
        rows => first(plan, Expr::Const(Value::BigInt(rows)), false),
    }
}

fn first(plan: Plan, count: Expr, percent: bool) -> Plan {
    Plan::Top(Box::new(crate::exec::sort::TopPlan {
        input: plan,
        count: Some(count),
        percent,
        ties: None,
        offset: None,
        is_fetch: false,
    }))
}
