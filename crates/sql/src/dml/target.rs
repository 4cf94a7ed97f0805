//! The table that a statement changes.

use super::changes::Meets;
use super::position;
use furrow_bind::{
    BaseTable, Binder, Bound, Node, Resolved, Source, SourceNode, UpdatableView, conjuncts, shown,
    table_hints,
};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_engine::{Database, LockHints, Table};
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::Switches;
use furrow_scalar::convert::Conversion;
use furrow_tsql::ast::dml::{Target, TargetTable};
use furrow_tsql::ast::expr::Condition;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{TableHint, TableRef, TableSource};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// A table to be changed.
#[derive(Debug, Clone)]
pub(super) struct TargetOf {
    pub(super) db: Arc<Database>,
    pub(super) table: Arc<Table>,
    pub(super) hints: LockHints,
}

/// The table that a target names; 208 if there is none.
pub(super) fn resolve(binder: &mut Binder<'_>, target: &Target) -> Result<TargetOf> {
    let name = named(target)?;
    match binder.resolve(&name)? {
        Resolved::Table(db, table) => {
            let (hints, _) = table_hints(&table, &target.hints)?;
            Ok(TargetOf { db, table, hints })
        }
        Resolved::View(..) => {
            let text = "Ad hoc updates to system catalogs are not allowed.";
            Err(furrow_messages::Message::custom(259, 16, 1, text).into())
        }
        Resolved::Module(..) => Err(unsupported("OUTPUT INTO a view")),
        Resolved::Cte(_) => refuse(208, &[shown(&name).into()]),
    }
}

/// The table that an INSERT or MERGE changes: the named one, or the one under a view or common table
/// expression.
pub(super) fn beneath(binder: &mut Binder<'_>, target: &Target) -> Result<(TargetOf, TargetKind)> {
    let name = named(target)?;
    let object = binder.resolve(&name)?;
    changed(binder, (object, &name), &target.hints)
}

/// The table into which rows are inserted. If they are inserted through a query, its columns, too.
pub(super) fn insertable(
    binder: &mut Binder<'_>,
    target: &Target,
) -> Result<(TargetOf, Option<Names>)> {
    let (found, kind) = beneath(binder, target)?;
    if kind == TargetKind::Direct {
        return Ok((found, None));
    }
    let name = named(target)?;
    let names = binder.beside(Vec::new(), |binder| {
        binder.updatable_view = Some(UpdatableView::new(name.name()));
        let source = alone(target, &name);
        binder.target = Some(SourceNode::of(&source));
        binder.from(std::slice::from_ref(&source))?;
        let at = binder.target_at.take();
        let source = at.and_then(|at| binder.level().sources.get(at).cloned());
        match source.and_then(|source| names_through(binder, &source)) {
            Some(names) => Ok(names),
            None => Err(unsupported("adding rows through this query")),
        }
    })?;
    Ok((found, Some(names)))
}

/// The columns of the query through which rows are changed. The source must be bound.
pub(super) fn names_through(binder: &mut Binder<'_>, source: &Source) -> Option<Names> {
    let through = binder.updatable_view.take()?;
    // Columns without a name are none of the query's own: see the rules of `user_view` in `bind`.
    let own = source.columns.iter().map(|column| column.name.clone());
    let named = own
        .zip(through.columns?)
        .filter(|(name, _)| !name.is_empty());
    Some(Names {
        columns: named.collect(),
        query: through.name,
    })
}

/// The columns that get values, in the order of the values.
pub(super) fn columns_of(
    table: &Table,
    through: Option<&Names>,
    names: &[ObjectName],
) -> Result<Vec<usize>> {
    if names.is_empty() {
        if let Some(through) = through {
            return through.all(table);
        }
        let all = table.columns().iter().enumerate();
        return Ok(all.filter(|(_, c)| !c.identity).map(|(at, _)| at).collect());
    }
    let mut columns = Vec::new();
    for name in names {
        let at = match through {
            Some(through) => through.column(name.name())?,
            None => match table.column(name.name()) {
                Some(at) => at,
                None => return refuse(207, &[name.name().into()]),
            },
        };
        if columns.contains(&at) {
            return refuse(264, &[name.name().into()]);
        }
        columns.push(at);
    }
    Ok(columns)
}

/// Whether a statement changes a table directly, or through a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetKind {
    Direct,
    Query,
}

/// The table that a change of this object changes: the object itself, or the table under a view or common
/// table expression.
fn changed(
    binder: &mut Binder<'_>,
    (object, name): (Resolved, &ObjectName),
    hints: &[TableHint],
) -> Result<(TargetOf, TargetKind)> {
    let beneath = match object {
        Resolved::Table(db, table) => {
            let (hints, _) = table_hints(&table, hints)?;
            return Ok((TargetOf { db, table, hints }, TargetKind::Direct));
        }
        Resolved::View(..) => {
            let text = "Ad hoc updates to system catalogs are not allowed.";
            return Err(furrow_messages::Message::custom(259, 16, 1, text).into());
        }
        Resolved::Module(db, view) => binder.base_table_of_view(db, &view, name, hints)?,
        Resolved::Cte(cte) => binder.base_table_of_cte(&cte, hints)?,
    };
    Ok(through(beneath))
}

fn through(beneath: BaseTable) -> (TargetOf, TargetKind) {
    let BaseTable { db, table, hints } = beneath;
    (TargetOf { db, table, hints }, TargetKind::Query)
}

/// The name of a target; for a table variable with its `@`.
pub(super) fn named(target: &Target) -> Result<ObjectName> {
    match &target.table {
        TargetTable::Name(name) => Ok(name.clone()),
        TargetTable::Variable(variable) => Ok(ObjectName::single(variable.clone())),
        TargetTable::Rowset(name, _) => Err(unsupported(name)),
    }
}

/// Rows to be changed: a plan whose wide row has the key of the target's row at `name_at`.
pub(super) struct RowsToChange {
    pub(super) target: TargetOf,
    pub(super) node: Node,
    pub(super) conds: Vec<Cond>,
    /// The required row key, if a cursor is used.
    pub(super) name: Option<Cond>,
    pub(super) name_at: usize,
    /// The first column of the target in the wide row.
    pub(super) start: usize,
    /// The query through which the rows are changed.
    pub(super) through: Option<Names>,
}

/// The columns of a query through which rows are changed.
pub(super) struct Names {
    pub(super) query: String,
    /// Each column, with the table's column that it stands for, if any.
    pub(super) columns: Vec<(String, Option<usize>)>,
}

impl Names {
    /// The table's column that a column of the query stands for: 207 if it does not exist, 4406 if it is
    /// derived.
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

    /// The columns of the table for an INSERT without a list of columns: all columns of the query but the
    /// identity (4406 if one of them is derived).
    fn all(&self, table: &Table) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        for (name, _) in &self.columns {
            let column = self.column(name)?;
            if table.columns().get(column).is_some_and(|c| !c.identity) {
                columns.push(column);
            }
        }
        Ok(columns)
    }

    /// The name of the column at a position, in one or more consecutive rows of the query, if the column is
    /// derived.
    pub(super) fn derived(&self, at: usize) -> Option<&str> {
        let (name, of) = self.columns.get(at.checked_rem(self.columns.len())?)?;
        of.is_none().then_some(name)
    }
}

impl RowsToChange {
    /// Whether the sources may contain a row of the target more than once. They do not if the target is the
    /// only source.
    pub(super) fn meets(&self, binder: &mut Binder<'_>) -> Meets {
        match self.through.is_none() && binder.level().sources.len() == 1 {
            true => Meets::Once,
            false => Meets::Often,
        }
    }

    /// The plan of the rows.
    pub(super) fn place(self, binder: &mut Binder<'_>) -> Plan {
        let plan = binder.place(self.node, self.conds);
        match self.name {
            Some(name) => Plan::Filter(Box::new(plan), Box::new(name)),
            None => plan,
        }
    }

    /// The sources for OUTPUT besides `inserted` and `deleted`: those of FROM without the target, whose
    /// columns are available only as `inserted` and `deleted`.
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
) -> Result<RowsToChange> {
    let name = named(target)?;
    let source = source_of(binder, from, &name)?;
    let (resolved, kind) = match source {
        Some(TableRef::Derived { query, alias }) => {
            through(binder.base_table(query, &alias.name.value, &target.hints)?)
        }
        Some(source) => {
            let Some(of_source) = object_name(source) else {
                return refuse(270, &[shown(&name).into()]);
            };
            let object = binder.resolve(&of_source)?;
            changed(binder, (object, &of_source), &target.hints)?
        }
        None => {
            let object = binder.resolve(&name)?;
            changed(binder, (object, &name), &target.hints)?
        }
    };
    binder.updatable_view = (kind == TargetKind::Query).then(|| UpdatableView::new(name.name()));
    // If the target is not among the sources, each of its rows is combined with each row of the sources.
    let mut with_target = Vec::new();
    let (sources, source) = match source {
        Some(source) => (from, SourceNode::of(source)),
        None => {
            with_target.extend_from_slice(from);
            with_target.push(alone(target, &name));
            let last = &with_target[from.len()];
            (with_target.as_slice(), SourceNode::of(last))
        }
    };
    binder.target = Some(source);
    let node = binder.from(sources)?;
    let at = binder.target_at.take();
    let mut conds = Vec::new();
    let cursor = position::cursor_of(filter);
    if let Some(filter) = filter.filter(|_| cursor.is_none()) {
        conjuncts(binder.cond(filter)?, &mut conds);
    }
    let source = at.and_then(|at| binder.level().sources.get(at).cloned());
    let (Some(node), Some(source)) = (node, source) else {
        return refuse(208, &[shown(&name).into()]);
    };
    let name_at = source.start + source.columns.len() - 1;
    let start = name_at - resolved.table.columns().len();
    let mut name = None;
    if let Some(cursor) = cursor {
        let position = position::of(binder, cursor, &resolved, (start, name_at))?;
        (conds, name) = (position.key, Some(position.name));
    }
    let names = names_through(binder, &source);
    Ok(RowsToChange {
        target: resolved,
        node,
        conds,
        name,
        name_at,
        start,
        through: names,
    })
}

/// The target as a source of its own.
pub(super) fn alone(target: &Target, name: &ObjectName) -> TableRef {
    TableRef::Table(Box::new(TableSource {
        name: name.clone(),
        system_time: None,
        alias: None,
        sample: None,
        hints: target.hints.clone(),
    }))
}

/// The sources in FROM that can be the target, joins split into their parts.
fn leaves(from: &[TableRef]) -> Vec<&TableRef> {
    fn of<'q>(source: &'q TableRef, out: &mut Vec<&'q TableRef>) {
        match source {
            TableRef::Join(join) => {
                of(&join.left, out);
                of(&join.right, out);
            }
            other => out.push(other),
        }
    }
    let mut all = Vec::new();
    from.iter().for_each(|source| of(source, &mut all));
    all
}

/// The name of a source's object; `None` for a source without one.
fn object_name(source: &TableRef) -> Option<ObjectName> {
    match source {
        TableRef::Table(table) => Some(table.name.clone()),
        TableRef::Variable { variable, .. } => Some(ObjectName::single(variable.clone())),
        _ => None,
    }
}

fn alias_of(source: &TableRef) -> Option<&Ident> {
    match source {
        TableRef::Table(table) => table.alias.as_ref(),
        TableRef::Variable { alias, .. } => alias.as_ref(),
        TableRef::Derived { alias, .. } => Some(&alias.name),
        TableRef::Function(function) => function.alias.as_ref().map(|alias| &alias.name),
        TableRef::Pivot(pivot) => Some(&pivot.alias),
        TableRef::Unpivot(unpivot) => Some(&unpivot.alias),
        _ => None,
    }
}

/// The source in FROM that is the target.
///
/// 1. A name of one part is the alias of a source, if a source has this alias.
/// 2. Otherwise it is the name of an object, and the target is the source with the same object, whatever its
///    alias. If there are several, it is the one without an alias (8154 if there is none).
/// 3. If no source is the target, the result is `None`.
fn source_of<'q>(
    binder: &mut Binder<'_>,
    from: &'q [TableRef],
    name: &ObjectName,
) -> Result<Option<&'q TableRef>> {
    let all = leaves(from);
    if let [own] = name.parts.as_slice() {
        let same = |alias: &Ident| alias.value.eq_ignore_ascii_case(&own.value);
        let by_alias = |source: &&&TableRef| alias_of(source).is_some_and(same);
        if let Some(source) = all.iter().find(by_alias) {
            return Ok(Some(source));
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let object = binder.resolve(name)?;
    let mut is_object = |source: &TableRef| {
        // A source that does not exist is refused when it is bound.
        let other = object_name(source).and_then(|name| binder.resolve(&name).ok());
        other.is_some_and(|other| other.is(&object))
    };
    let same: Vec<&TableRef> = all.into_iter().filter(|s| is_object(s)).collect();
    match same.as_slice() {
        [] | [_] => Ok(same.first().copied()),
        several => match several.iter().find(|s| alias_of(s).is_none()) {
            Some(source) => Ok(Some(source)),
            None => refuse(8154, &[shown(name).into()]),
        },
    }
}

/// Converts a value for a column as in an assignment; the engine checks lengths.
pub(super) fn assigned(binder: &mut Binder<'_>, bound: Bound, to: DataType) -> Result<Expr> {
    let text = |id: TypeId| {
        matches!(
            id,
            TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar
        )
    };
    let bytes = |id: TypeId| {
        matches!(
            id,
            TypeId::Binary | TypeId::VarBinary | TypeId::RowVersion | TypeId::Image
        )
    };
    let (from, id) = (bound.data_type.id, to.id);
    let cuts = !binder.cx.set.has(Switches::ANSI_WARNINGS);
    if (text(from) && text(id)) || (bytes(from) && bytes(id)) {
        return match cuts {
            true => cut(bound, to),
            false => Ok(bound.expr),
        };
    }
    let wide = match text(id) {
        true if id.is_unicode() => DataType::sized(TypeId::NVarChar, 8000),
        true => DataType::sized(TypeId::VarChar, 8000),
        // The bytes of a number are at the right end of `binary(n)`: their position depends on the length.
        false => to,
    };
    let expr = binder.coerce(bound, wide)?;
    match cuts && wide != to {
        true => cut(Bound::of(expr, wide), to),
        false => Ok(expr),
    }
}

/// Cuts a string to the length of its column without an error, as with ANSI_WARNINGS OFF.
fn cut(bound: Bound, to: DataType) -> Result<Expr> {
    let conversion = Conversion::explicit(bound.data_type, to, None)?;
    Ok(Expr::Convert(Box::new((conversion, bound.expr))))
}

/// Limits a plan to its first rows: TOP, and SET ROWCOUNT.
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

/// Limits a plan to the rows that SET ROWCOUNT allows.
pub(crate) fn limited(binder: &Binder<'_>, plan: Plan) -> Plan {
    match binder.cx.set.row_count {
        0 => plan,
        rows => first(plan, Expr::Const(Value::BigInt(rows)), false),
    }
}

fn first(plan: Plan, count: Expr, percent: bool) -> Plan {
    Plan::Top(Box::new(furrow_exec::sort::TopPlan {
        input: plan,
        count: Some(count),
        percent,
        ties: None,
        offset: None,
        is_fetch: false,
    }))
}
