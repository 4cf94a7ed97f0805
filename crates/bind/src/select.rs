//! One SELECT: where, grouping, the list, order, top.

use super::assign::{assigned, assigns_in_turn};
use super::from::{Node, conjuncts};
use super::group::{self, Grouped, Groups, group_plan};
use super::layout::{Columns, Layout, Placed, narrowed};
use super::place::filtered;
use super::query::{BoundQuery, Nested, OrderKey};
use super::scope::{AGGREGATES, Binder, Level, Source, WINDOWS, names_identity};
use super::shift::map_columns;
use super::spool::WherePart;
use super::{Bound, access, window};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_exec::aggregate::AggregateCall;
use furrow_exec::scan::Equal;
use furrow_exec::sort::{SortKey, SortPlan, TopPlan};
use furrow_exec::visit::Part;
use furrow_exec::window::{WindowCall, WindowPlan};
use furrow_exec::{Cond, Expr, Plan};
use furrow_tsql::ast::expr::{AssignOp, Condition, ConditionKind, Expr as Written, ExprKind};
use furrow_tsql::ast::query::{OrderItem, Select, SelectItem, Top};
use furrow_types::{Family, TypeId, Value};
use std::sync::Arc;

/// ORDER BY, OFFSET, FETCH.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ordering<'q> {
    pub by: &'q [OrderItem],
    pub offset: Option<&'q Written>,
    pub(crate) fetch: Option<&'q Written>,
}

/// What a SELECT is bound for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Its rows.
    Rows,
    /// A statement changes the rows of its table.
    UpdatableView,
    /// EXISTS: whether it has rows. The values of its list are not looked at.
    Existence,
}

/// An entry of the select list.
struct Item {
    name: String,
    bound: Bound,
    /// The place of the variable that the entry sets.
    assign: Option<usize>,
}

impl Item {
    /// The same column, with NULL for its value.
    fn without_value(&self) -> Item {
        Item {
            name: self.name.clone(),
            bound: Bound {
                expr: Expr::Const(Value::Null),
                ..self.bound.clone()
            },
            assign: None,
        }
    }

    /// The column of the result.
    fn column(&self) -> ResultColumn {
        ResultColumn {
            name: self.name.clone(),
            data_type: self.bound.data_type,
            nullable: self.bound.nullable,
        }
    }
}

/// The names and values of a select list.
fn listed(items: &[Item]) -> Vec<(&str, &Bound)> {
    let entries = items.iter();
    entries
        .map(|item| (item.name.as_str(), &item.bound))
        .collect()
}

/// Most elements of a select list, those of `*` included.
const MOST_ITEMS: usize = 4096;

impl Binder<'_> {
    /// Binds a SELECT with its order.
    pub fn select(&mut self, select: &Select, ordering: &Ordering<'_>) -> Result<Nested> {
        let role = self.role(select, ordering);
        self.note_assigned(select.items.iter().filter_map(|item| match item {
            SelectItem::Assign { variable, .. } => Some(&*variable.value),
            _ => None,
        }));
        self.levels.push(Level::default());
        let bound = self.select_parts(select, ordering, role);
        let takes = self.levels.pop().map(|l| l.takes).unwrap_or_default();
        Ok((bound?, takes))
    }

    fn role(&mut self, select: &Select, ordering: &Ordering<'_>) -> Role {
        let only_exists = std::mem::take(&mut self.only_exists);
        if self.disarm(&select.from) {
            return Role::UpdatableView;
        }
        // Which rows OFFSET leaves of distinct ones depends on their values.
        let counts_values = select.distinct && ordering.offset.is_some();
        let assigns = |item: &SelectItem| matches!(item, SelectItem::Assign { .. });
        match only_exists && !counts_values && !select.items.iter().any(assigns) {
            true => Role::Existence,
            false => Role::Rows,
        }
    }

    fn select_parts(
        &mut self,
        select: &Select,
        ordering: &Ordering<'_>,
        role: Role,
    ) -> Result<BoundQuery> {
        let own = self.levels.len() - 1;
        let before = std::mem::replace(&mut self.reaches, usize::MAX);
        let node = self.from(&select.from)?;
        let free = self.reaches >= own;
        let mut conds = Vec::new();
        if let Some(filter) = &select.filter {
            self.filter(filter, own, &mut conds)?;
        }
        self.reaches = self.reaches.min(before);
        let groups = select.group_by.as_ref().map(|by| self.groups(by));
        let groups = groups.transpose()?;
        let level = self.level();
        let of = |g: &Groups| g.exprs.iter().map(|b| b.expr.clone()).collect();
        level.groups = groups.as_ref().map(of);
        level.aggregates = Some(Vec::new());
        level.windows = Some(Vec::new());
        let (mut items, aggregates) = match role {
            Role::Existence => self.checked_list(select, ordering, groups.as_ref())?,
            Role::Rows | Role::UpdatableView => (self.items(&select.items)?, false),
        };
        let windows = self.level().windows.take();
        let having = match &select.having {
            Some(having) => Some(self.cond(having)?),
            None => None,
        };
        self.level().windows = windows;
        let order = match role {
            Role::Existence => Vec::new(),
            Role::Rows | Role::UpdatableView => self.order_keys(ordering.by, &listed(&items))?,
        };
        let hidden = match role {
            Role::UpdatableView => self.with_row(&mut items)?,
            Role::Rows | Role::Existence => 0,
        };
        let calls = self.level().aggregates.take().unwrap_or_default();
        let windows = self.level().windows.take().unwrap_or_default();
        let top = self.top_within(select, ordering)?;
        let mut seen = Seen::default();
        seen.list(&items, &order, &windows);
        seen.grouping(groups.as_ref(), &calls, having.as_ref());
        let placed = self.place_select(node, conds, free, &seen.columns);
        let mut parts = Parts {
            plan: placed.plan,
            items,
            order,
            top,
            width: placed.layout.width(),
            windows,
        };
        if groups.is_some() || aggregates || !calls.is_empty() || having.is_some() {
            self.refuse_grouped_target(role)?;
            let groups = groups.unwrap_or_else(Groups::of_all);
            parts = self.grouped(parts, &placed.layout, groups, calls, having)?;
        } else {
            parts.put(&placed.layout);
        }
        let distinct = select.distinct && role != Role::Existence;
        let mut bound = self.finish(distinct, ordering, with_windows(parts))?;
        bound.hidden = hidden;
        Ok(bound)
    }

    /// 4403 where rows are to be changed through a view that groups.
    fn refuse_grouped_target(&self, role: Role) -> Result<()> {
        match &self.updatable_view {
            Some(view) if role == Role::UpdatableView => refuse(4403, &[view.name.clone().into()]),
            _ => Ok(()),
        }
    }

    /// The rows of FROM and WHERE. `free`: the sources look at no rows around the query.
    fn place_select(
        &mut self,
        node: Option<Node>,
        conds: Vec<WherePart>,
        free: bool,
        needed: &Columns,
    ) -> Placed {
        let all = |conds: Vec<WherePart>| conds.into_iter().map(|part| part.cond).collect();
        match node {
            Some(node) if free => self.place_correlated(node, conds, needed),
            Some(node) => self.placed(node, all(conds), needed),
            None => Placed {
                plan: filtered(Plan::One, all(conds)),
                layout: Layout::default(),
                rows: 1.0,
            },
        }
    }

    /// Puts the row of the table that is changed, and its name, behind the list; gives how many columns
    /// these are.
    fn with_row(&mut self, items: &mut Vec<Item>) -> Result<usize> {
        let level = self.level();
        let named = |s: &&Source| s.columns.last().is_some_and(|c| c.name.is_empty());
        let Some(source) = level.sources.iter().find(named).cloned() else {
            return Err(unsupported("changing rows through this query"));
        };
        // Of a query that is one of another query in turn, the row stands behind that one's own columns.
        let inner = self.updatable_view.as_mut().and_then(|t| t.columns.take());
        let own = inner.as_ref().map_or(0, Vec::len);
        let (start, width) = (source.start, source.columns.len());
        let of_row = |item: &Item| match (&item.bound.expr, &inner) {
            (Expr::Column(at), None) => at.checked_sub(start).filter(|at| *at + 1 < width),
            (Expr::Column(at), Some(inner)) => *inner.get(at.checked_sub(start)?)?,
            _ => None,
        };
        let columns = items.iter().map(of_row).collect();
        if let Some(through) = &mut self.updatable_view {
            through.columns = Some(columns);
        }
        self.use_all(start..start + width);
        for (at, column) in source.columns.iter().enumerate().skip(own) {
            items.push(Item {
                name: String::new(),
                bound: Bound {
                    nullable: column.nullable,
                    ..Bound::of(Expr::Column(start + at), column.data_type)
                },
                assign: None,
            });
        }
        Ok(width - own)
    }

    /// Checks the list and the order of a SELECT in EXISTS, and takes back what binding them has left: no
    /// value of theirs is evaluated. Gives a NULL for each column of the list, and whether aggregates in it
    /// make one group of all rows.
    fn checked_list(
        &mut self,
        select: &Select,
        ordering: &Ordering<'_>,
        groups: Option<&Groups>,
    ) -> Result<(Vec<Item>, bool)> {
        let (used, takes) = (self.level().used.clone(), self.level().takes.len());
        let reaches = self.reaches;
        let (mut items, mut of_star) = (Vec::new(), Vec::new());
        for item in &select.items {
            let is_star = matches!(item, SelectItem::Star(_));
            // In EXISTS a star names no column, so it is valid without FROM.
            if !is_star || !select.from.is_empty() {
                items.extend(self.items(std::slice::from_ref(item))?);
            }
            of_star.resize(items.len(), is_star);
        }
        let mut order = self.order_keys(ordering.by, &listed(&items))?;
        let level = self.level();
        let calls = level.aggregates.replace(Vec::new()).unwrap_or_default();
        level.windows = Some(Vec::new());
        if groups.is_some() || !calls.is_empty() || select.having.is_some() {
            let of_all = Groups::of_all();
            let row = Grouped::new(groups.unwrap_or(&of_all), calls.len());
            for (item, _) in items.iter_mut().zip(&of_star).filter(|(_, star)| !**star) {
                self.regroup(&mut item.bound.expr, &row, 8120)?;
            }
            for key in &mut order {
                self.regroup(&mut key.sort.expr, &row, 8127)?;
            }
        }
        let level = self.level();
        level.used = used;
        level.takes.truncate(takes);
        self.reaches = reaches;
        let items = items.iter().map(Item::without_value).collect();
        Ok((items, !calls.is_empty()))
    }

    /// Binds WHERE, part by part.
    fn filter(&mut self, filter: &Condition, own: usize, parts: &mut Vec<WherePart>) -> Result<()> {
        if let ConditionKind::And(written) = &filter.kind {
            for part in written {
                self.filter(part, own, parts)?;
            }
            return Ok(());
        }
        let before = std::mem::replace(&mut self.reaches, usize::MAX);
        let cond = self.cond(filter)?;
        let correlated = self.reaches < own;
        self.reaches = self.reaches.min(before);
        let mut conds = Vec::new();
        conjuncts(cond, &mut conds);
        parts.extend(conds.into_iter().map(|cond| WherePart { cond, correlated }));
        Ok(())
    }

    /// What is left of a SELECT behind GROUP BY and HAVING.
    fn grouped(
        &mut self,
        mut parts: Parts,
        layout: &Layout,
        mut groups: Groups,
        mut calls: Vec<AggregateCall>,
        mut having: Option<Cond>,
    ) -> Result<Parts> {
        let row = Grouped::new(&groups, calls.len());
        for item in &mut parts.items {
            self.regroup(&mut item.bound.expr, &row, 8120)?;
        }
        if let Some(having) = &mut having {
            self.regroup_cond(having, &row, 8121)?;
        }
        for key in &mut parts.order {
            self.regroup(&mut key.sort.expr, &row, 8127)?;
        }
        for call in &mut parts.windows {
            for expr in window::exprs(call) {
                self.regroup(expr, &row, 8120)?;
            }
        }
        parts.width = row.width();
        for group in &mut groups.exprs {
            layout.put(&mut group.expr);
        }
        for call in &mut calls {
            let keys = call.order.iter_mut().map(|key| &mut key.expr);
            call.argument
                .iter_mut()
                .chain(keys)
                .for_each(|expr| layout.put(expr));
        }
        let types: Vec<_> = groups.exprs.iter().map(|g| g.data_type).collect();
        let (sets, count) = (groups.sets.len(), calls.len());
        parts.plan = group_plan(parts.plan, groups, calls);
        if sets > 1 && parts.order.is_empty() && parts.windows.is_empty() {
            parts.plan = group::totals_last(parts.plan, &types, count);
        }
        parts.plan = filtered(parts.plan, having.into_iter().collect());
        Ok(parts)
    }

    /// Order, list, DISTINCT and TOP on the rows that remain.
    fn finish(
        &mut self,
        distinct: bool,
        ordering: &Ordering<'_>,
        parts: Parts,
    ) -> Result<BoundQuery> {
        let Parts {
            mut plan,
            items,
            order,
            top,
            width,
            ..
        } = parts;
        let variables: Vec<usize> = items.iter().filter_map(|i| i.assign).collect();
        if !variables.is_empty() && variables.len() != items.len() {
            return refuse(141, &[]);
        }
        let columns: Vec<ResultColumn> = items.iter().map(Item::column).collect();
        let mut exprs: Vec<Expr> = items.into_iter().map(|i| i.bound.expr).collect();
        if distinct {
            for column in &columns {
                let id = column.data_type.id;
                if id.family() == Family::Lob || id == TypeId::Xml {
                    return refuse(421, &[column.data_type.id.name().into()]);
                }
            }
            let types = columns.iter().map(|c| c.data_type).collect();
            plan = Plan::Distinct(
                Box::new(Plan::Project(Box::new(plan), exprs.clone())),
                types,
            );
            let mut keys = Vec::new();
            for key in order {
                // A key that names an entry is in the list, even if its expression is equal to none.
                let alike = || exprs.iter().position(|e| *e == key.sort.expr);
                let Some(at) = key.item.or_else(alike) else {
                    return refuse(145, &[]);
                };
                keys.push(SortKey {
                    expr: Expr::Column(at),
                    ..key.sort
                });
            }
            plan = sorted(plan, keys.clone(), columns.len());
            plan = topped(plan, top, keys);
            plan = self.limited(plan, ordering)?;
        } else {
            let mut order: Vec<SortKey> = order.into_iter().map(|key| key.sort).collect();
            plan = match scan_in_order(&plan, &order) {
                Some(in_order) => in_order,
                None => {
                    let keys = order.iter_mut().map(|key| &mut key.expr);
                    let mut above: Vec<&mut Expr> = exprs.iter_mut().chain(keys).collect();
                    let (plan, width) = narrowed(plan, width, &mut above);
                    sorted(plan, order.clone(), width)
                }
            };
            plan = topped(plan, top, order);
            plan = self.limited(plan, ordering)?;
            if assigns_in_turn(&variables, &exprs) {
                let assigns = assigned(&variables, exprs);
                return Ok(BoundQuery::of(plan, columns, assigns));
            }
            plan = Plan::Project(Box::new(plan), exprs);
        }
        let of_list = (0..variables.len()).map(Expr::Column);
        let assigns = assigned(&variables, of_list);
        Ok(BoundQuery::of(plan, columns, assigns))
    }

    /// Binds a list of values with their names: what OUTPUT puts out.
    pub fn list(&mut self, written: &[SelectItem]) -> Result<Vec<(ResultColumn, Bound)>> {
        let items = self.items(written)?;
        let listed = items.into_iter().map(|item| {
            let column = ResultColumn {
                name: item.name,
                data_type: item.bound.data_type,
                nullable: item.bound.nullable,
            };
            (column, item.bound)
        });
        Ok(listed.collect())
    }

    fn items(&mut self, written: &[SelectItem]) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for item in written {
            match item {
                SelectItem::Star(_) => self.star(None, &mut items)?,
                SelectItem::QualifiedStar(name) => self.star(Some(name), &mut items)?,
                SelectItem::Expr { expr, alias } => {
                    let bound = self.expr(expr)?;
                    let name = match (alias, &expr.kind) {
                        (Some(alias), _) => alias.value.to_string(),
                        (None, ExprKind::Column(name)) if names_identity(name) => {
                            self.name_at(&bound.expr)
                        }
                        (None, ExprKind::Column(name)) => name.name().to_owned(),
                        _ => String::new(),
                    };
                    items.push(Item {
                        name,
                        bound,
                        assign: None,
                    });
                }
                SelectItem::Assign { variable, op, expr } => {
                    let item = self.assign(&variable.value, *op, expr)?;
                    items.push(item);
                }
            }
            if items.len() > MOST_ITEMS {
                return refuse(1056, &[(MOST_ITEMS as i32).into()]);
            }
        }
        Ok(items)
    }

    /// The name of the column at the place that an expression is.
    fn name_at(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Column(place) => {
                let column = self.level().column_at(*place);
                column.map_or_else(String::new, |(_, column)| column.name.clone())
            }
            _ => String::new(),
        }
    }

    fn assign(&mut self, name: &str, op: AssignOp, expr: &Written) -> Result<Item> {
        let target = self.variable(name)?;
        let Expr::Variable(variable) = target.expr else {
            return refuse(137, &[name.into()]);
        };
        let to = target.data_type;
        let mut bound = self.expr(expr)?;
        if let AssignOp::With(op) = op {
            bound = self.binary(target, op, bound)?;
        }
        let expr = self.coerce(bound, to)?;
        Ok(Item {
            name: String::new(),
            bound: Bound::of(expr, to),
            assign: Some(variable),
        })
    }

    fn star(
        &mut self,
        of: Option<&furrow_tsql::ast::name::ObjectName>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let mut found = false;
        let level = self.level();
        let mut used = Vec::new();
        for source in &level.sources {
            if of.is_some_and(|name| !source.is_named(&name.parts)) {
                continue;
            }
            found = true;
            for (at, column) in source.columns.iter().enumerate() {
                // The name of a row, or what is hidden from the list.
                if column.name.is_empty() {
                    continue;
                }
                let place = source.start + at;
                used.push(place);
                items.push(Item {
                    name: column.name.clone(),
                    bound: Bound {
                        expr: Expr::Column(place),
                        data_type: column.data_type,
                        is_null_literal: false,
                        coercibility: furrow_scalar::Coercibility::Implicit,
                        nullable: column.nullable,
                        is_json: false,
                    },
                    assign: None,
                });
            }
        }
        for place in used {
            if let Some(used) = level.used.get_mut(place) {
                *used = true;
            }
        }
        match (found, of) {
            (false, Some(name)) => refuse(107, &[super::from::shown(name).into()]),
            (false, None) => super::expr::custom(263, 16, "Must specify table to select from."),
            _ => Ok(()),
        }
    }

    /// TOP, which goes neither WITH TIES without an order nor with OFFSET.
    fn top_within(&mut self, select: &Select, ordering: &Ordering<'_>) -> Result<Option<TopPlan>> {
        let Some(top) = &select.top else {
            return Ok(None);
        };
        if top.with_ties && ordering.by.is_empty() {
            return refuse(1062, &[]);
        }
        if ordering.offset.is_some() {
            return refuse(10741, &[]);
        }
        self.top(top).map(Some)
    }

    fn top(&mut self, top: &Top) -> Result<TopPlan> {
        let count = self.expr(&top.count)?;
        if !super::query::is_free(&count.expr) {
            return Err(unsupported("TOP with a column"));
        }
        Ok(TopPlan {
            input: Plan::One,
            count: Some(count.expr),
            percent: top.percent,
            ties: top.with_ties.then(Vec::new),
            offset: None,
            is_fetch: false,
        })
    }
}

/// What remains of a SELECT once its rows are grouped.
struct Parts {
    plan: Plan,
    items: Vec<Item>,
    order: Vec<OrderKey>,
    top: Option<TopPlan>,
    width: usize,
    windows: Vec<WindowCall>,
}

impl Parts {
    /// Puts what is left of the SELECT on the rows of its plan.
    fn put(&mut self, layout: &Layout) {
        self.items
            .iter_mut()
            .for_each(|item| layout.put(&mut item.bound.expr));
        self.order
            .iter_mut()
            .for_each(|key| layout.put(&mut key.sort.expr));
        for call in &mut self.windows {
            window::exprs(call)
                .into_iter()
                .for_each(|expr| layout.put(expr));
        }
    }
}

/// The columns of the wide row that a SELECT looks at.
#[derive(Default)]
struct Seen {
    columns: Columns,
}

impl Seen {
    fn list(&mut self, items: &[Item], order: &[OrderKey], windows: &[WindowCall]) {
        items.iter().for_each(|item| self.expr(&item.bound.expr));
        order.iter().for_each(|key| self.expr(&key.sort.expr));
        for call in windows {
            call.visit(&mut |part| self.part(part));
        }
    }

    fn grouping(&mut self, by: Option<&Groups>, calls: &[AggregateCall], having: Option<&Cond>) {
        let grouped = by.into_iter().flat_map(|groups| &groups.exprs);
        grouped.for_each(|of| self.expr(&of.expr));
        for call in calls {
            call.visit(&mut |part| self.part(part));
        }
        having.into_iter().for_each(|cond| self.cond(cond));
    }

    fn expr(&mut self, expr: &Expr) {
        expr.visit(&mut |part| self.part(part));
    }

    fn cond(&mut self, cond: &Cond) {
        cond.visit(&mut |part| self.part(part));
    }

    fn part(&mut self, part: Part<'_>) -> bool {
        if let Part::Expr(Expr::Column(at)) = part
            && *at < AGGREGATES
        {
            self.columns.insert(*at);
        }
        !matches!(part, Part::Plan(_))
    }
}

/// The columns of window functions, put behind the row.
fn with_windows(mut parts: Parts) -> Parts {
    if parts.windows.is_empty() {
        return parts;
    }
    let items = parts.items.iter_mut().map(|item| &mut item.bound.expr);
    let keys = parts.order.iter_mut().map(|key| &mut key.sort.expr);
    let calls = parts.windows.iter_mut().flat_map(window::exprs);
    let mut above: Vec<&mut Expr> = items.chain(keys).chain(calls).collect();
    (parts.plan, parts.width) = narrowed(parts.plan, parts.width, &mut above);
    let width = parts.width;
    let mut place = |at: usize| match at {
        WINDOWS.. => Expr::Column(width + (at - WINDOWS)),
        _ => Expr::Column(at),
    };
    for item in &mut parts.items {
        map_columns(&mut item.bound.expr, &mut place);
    }
    for key in &mut parts.order {
        map_columns(&mut key.sort.expr, &mut place);
    }
    parts.width += parts.windows.len();
    let mut calls = std::mem::take(&mut parts.windows);
    let in_order = window::in_order(&parts.plan, &mut calls);
    let streams = in_order.is_some();
    parts.plan = Plan::Window(Box::new(WindowPlan {
        input: in_order.unwrap_or(parts.plan),
        width,
        calls,
        streams,
    }));
    parts
}

fn sorted(plan: Plan, keys: Vec<SortKey>, width: usize) -> Plan {
    if keys.is_empty() {
        return plan;
    }
    Plan::Sort(Box::new(SortPlan {
        input: plan,
        keys,
        width,
    }))
}

fn topped(plan: Plan, top: Option<TopPlan>, keys: Vec<SortKey>) -> Plan {
    match top {
        None => plan,
        Some(top) => Plan::Top(Box::new(TopPlan {
            input: plan,
            ties: top.ties.map(|_| keys),
            ..top
        })),
    }
}

/// The plan again where it gives its rows in this order as they come: a scan of an index whose key begins
/// with the order's columns.
pub(super) fn scan_in_order(plan: &Plan, order: &[SortKey]) -> Option<Plan> {
    if order.is_empty() {
        return Some(plan.clone());
    }
    let scan = access::as_scan(plan)?;
    let index = scan.table.indexes().get(scan.index)?;
    let one = |equal: &&Equal| !matches!(equal, Equal::Any(_));
    let fixed = scan.equal.iter().take_while(one).count();
    let mut backward = None;
    let mut next = fixed;
    for key in order {
        let Expr::Column(column) = key.expr else {
            return None;
        };
        let within = index.key().get(..fixed)?;
        if within.iter().any(|k| k.column == column) {
            continue;
        }
        let of = index.key().get(next)?;
        next += 1;
        let against = of.descending != key.descending;
        if of.column != column || backward.is_some_and(|b| b != against) {
            return None;
        }
        backward = Some(against);
    }
    let mut scan = (**scan).clone();
    scan.backward = backward.unwrap_or(false);
    scan.ordered = true;
    Some(Plan::Scan(Arc::new(scan)))
}
