//! GROUP BY: what is grouped by, grouping sets, GROUPING; and what is left of the row behind it.

use super::scope::{AGGREGATES, Binder, GROUPING, WINDOWS};
use super::shift::{walk, walk_cond};
use super::{Bound, access};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::aggregate::{AggregateCall, AggregatePlan};
use furrow_exec::sort::{SortKey, SortPlan, TopPlan};
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::aggregate::Aggregate;
use furrow_tsql::ast::expr::{Call, Expr as Written};
use furrow_tsql::ast::query::{GroupBy, GroupItem, GroupWith};
use furrow_types::{DataType, TypeId, Value};

/// GROUP BY: what is grouped by, and which of it in each set.
pub(super) struct Groups {
    pub(super) exprs: Vec<Bound>,
    pub(super) sets: Vec<Vec<usize>>,
}

impl Groups {
    /// One group of all rows.
    pub(super) fn of_all() -> Groups {
        Groups {
            exprs: Vec::new(),
            sets: vec![Vec::new()],
        }
    }
}

impl Binder<'_> {
    /// Binds GROUP BY.
    pub(super) fn groups(&mut self, written: &GroupBy) -> Result<Groups> {
        if written.all {
            return Err(unsupported("GROUP BY ALL"));
        }
        let mut groups = Groups {
            exprs: Vec::new(),
            sets: vec![Vec::new()],
        };
        self.level().no_aggregates = 144;
        for item in &written.items {
            let sets = self.group_item(item, &mut groups.exprs)?;
            groups.sets = crossed(&groups.sets, &sets);
        }
        self.level().no_aggregates = 0;
        let parts: Vec<Vec<usize>> = (0..groups.exprs.len()).map(|n| vec![n]).collect();
        match written.with {
            Some(GroupWith::Rollup) => groups.sets = rolled_up(&parts),
            Some(GroupWith::Cube) => groups.sets = cubed(&parts),
            None => {}
        }
        if groups.exprs.len() > 24 && groups.sets.len() > 1 {
            return Err(unsupported("more than 24 expressions in grouping sets"));
        }
        Ok(groups)
    }

    fn group_expr(&mut self, written: &Written, exprs: &mut Vec<Bound>) -> Result<usize> {
        let bound = self.expr(written)?;
        if bound.data_type.id == TypeId::Xml {
            return refuse(305, &[]);
        }
        if super::query::is_free(&bound.expr) {
            return refuse(164, &[]);
        }
        match exprs.iter().position(|e| e.expr == bound.expr) {
            Some(at) => Ok(at),
            None => {
                exprs.push(bound);
                Ok(exprs.len() - 1)
            }
        }
    }

    fn group_item(&mut self, item: &GroupItem, exprs: &mut Vec<Bound>) -> Result<Vec<Vec<usize>>> {
        match item {
            GroupItem::Expr(expr) => Ok(vec![vec![self.group_expr(expr, exprs)?]]),
            GroupItem::Set(of) => {
                let set = of.iter().map(|e| self.group_expr(e, exprs));
                Ok(vec![set.collect::<Result<_>>()?])
            }
            GroupItem::Rollup(items) => {
                let parts = self.group_parts(items, exprs)?;
                Ok(rolled_up(&parts))
            }
            GroupItem::Cube(items) => {
                let parts = self.group_parts(items, exprs)?;
                if parts.len() > 12 {
                    return Err(unsupported("CUBE of more than 12 parts"));
                }
                Ok(cubed(&parts))
            }
            GroupItem::Sets(items) => {
                let mut sets = Vec::new();
                for item in items {
                    sets.extend(self.group_item(item, exprs)?);
                }
                Ok(sets)
            }
        }
    }

    fn group_parts(
        &mut self,
        items: &[GroupItem],
        exprs: &mut Vec<Bound>,
    ) -> Result<Vec<Vec<usize>>> {
        let mut parts = Vec::new();
        for item in items {
            parts.push(self.group_item(item, exprs)?.concat());
        }
        Ok(parts)
    }

    /// Binds GROUPING and GROUPING_ID: 8161 for what is not grouped by.
    pub(super) fn grouping(&mut self, call: &Call) -> Result<Bound> {
        let name = call.name.name().to_ascii_lowercase();
        if let Some(at) = self.grouping_level(&call.args)? {
            return self.at_level(at, |binder| binder.grouping(call));
        }
        if self.level().aggregates.is_none() {
            return refuse(147, &[]);
        }
        let groups = self.level().groups.clone().unwrap_or_default();
        let all = name == "grouping_id" && call.args.is_empty();
        let mut bits = Vec::new();
        for (n, argument) in call.args.iter().enumerate() {
            let bound = self.expr(argument)?;
            let Some(at) = groups.iter().position(|g| *g == bound.expr) else {
                return refuse(8161, &[(n + 1).into(), name.into()]);
            };
            bits.push((groups.len() - 1 - at) as u32);
        }
        if all {
            bits = (0..groups.len() as u32).rev().collect();
        }
        if bits.is_empty() || (name == "grouping" && bits.len() != 1) {
            return refuse(174, &[name.into(), 1.into()]);
        }
        let id = match name == "grouping" {
            true => TypeId::TinyInt,
            false => TypeId::Int,
        };
        let number = Box::new(Expr::Column(GROUPING));
        let bound = Bound::of(Expr::Grouping(number, bits), DataType::simple(TypeId::Int));
        let expr = self.coerce(bound, DataType::simple(id))?;
        Ok(Bound::of(expr, DataType::simple(id)))
    }

    /// Puts an expression on the grouped row: what is grouped by becomes its column, an aggregate its place
    /// behind them; any other column is an error.
    pub(super) fn regroup(&mut self, expr: &mut Expr, on: &Grouped, number: u32) -> Result<()> {
        let mut stray = None;
        walk(expr, &mut |part| on.regroup(part, &mut stray));
        self.no_stray(stray, number)
    }

    /// [`regroup`](Binder::regroup) of a condition.
    pub(super) fn regroup_cond(
        &mut self,
        cond: &mut Cond,
        on: &Grouped,
        number: u32,
    ) -> Result<()> {
        let mut stray = None;
        walk_cond(cond, &mut |part| on.regroup(part, &mut stray));
        self.no_stray(stray, number)
    }

    fn no_stray(&mut self, stray: Option<usize>, number: u32) -> Result<()> {
        match stray {
            None => Ok(()),
            Some(place) => Err(self.not_grouped(place, number).into()),
        }
    }
}

/// The grouped row.
pub(super) struct Grouped {
    keys: Vec<Expr>,
    calls: usize,
    /// Whether it ends in the number of its set.
    several: bool,
}

impl Grouped {
    pub(crate) fn new(groups: &Groups, calls: usize) -> Grouped {
        Grouped {
            keys: groups.exprs.iter().map(|g| g.expr.clone()).collect(),
            calls,
            several: groups.sets.len() > 1,
        }
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.keys.len() + self.calls + usize::from(self.several)
    }

    fn regroup(&self, part: &mut Expr, stray: &mut Option<usize>) -> bool {
        if let Some(at) = self.keys.iter().position(|k| *k == *part) {
            *part = Expr::Column(at);
            return true;
        }
        let Expr::Column(at) = part else { return false };
        match *at {
            GROUPING if self.several => *part = Expr::Column(self.keys.len() + self.calls),
            GROUPING => *part = Expr::Const(Value::Int(0)),
            WINDOWS.. => {}
            AGGREGATES.. => *part = Expr::Column(self.keys.len() + (*at - AGGREGATES)),
            _ => {
                stray.get_or_insert(*at);
            }
        }
        true
    }
}

/// The plan of a grouping.
pub(super) fn group_plan(input: Plan, groups: Groups, calls: Vec<AggregateCall>) -> Plan {
    let input = match (groups.exprs.is_empty(), calls.as_slice()) {
        (true, [call]) => end_of_index(&input, call).unwrap_or(input),
        _ => input,
    };
    let keys: Vec<(Expr, DataType)> = groups
        .exprs
        .into_iter()
        .map(|g| (g.expr, g.data_type))
        .collect();
    Plan::Aggregate(Box::new(AggregatePlan {
        input,
        groups: keys,
        sets: groups.sets,
        calls,
    }))
}

/// Several sets of groups in the order in which they are read: by what is grouped by, a total behind its
/// parts.
pub(super) fn totals_last(plan: Plan, groups: &[DataType], calls: usize) -> Plan {
    let set = groups.len() + calls;
    let mut keys = Vec::new();
    for (at, data_type) in groups.iter().enumerate() {
        let bit = (groups.len() - 1 - at) as u32;
        let left_out = Expr::Grouping(Box::new(Expr::Column(set)), vec![bit]);
        keys.push((left_out, DataType::simple(TypeId::Int)));
        keys.push((Expr::Column(at), *data_type));
    }
    let key = |(expr, data_type)| SortKey {
        expr,
        data_type,
        descending: false,
    };
    Plan::Sort(Box::new(SortPlan {
        input: plan,
        keys: keys.into_iter().map(key).collect(),
        width: set + 1,
    }))
}

/// For MIN or MAX of a column of a whole table: the first row of an index that has it in order.
fn end_of_index(input: &Plan, call: &AggregateCall) -> Option<Plan> {
    let Some(Expr::Column(column)) = call.argument else {
        return None;
    };
    let scan = match call.bound.aggregate {
        Aggregate::Min => access::by_order(input, column, false)?,
        Aggregate::Max => access::by_order(input, column, true)?,
        _ => return None,
    };
    Some(Plan::Top(Box::new(TopPlan {
        input: scan,
        count: Some(Expr::Const(Value::Int(1))),
        percent: false,
        ties: None,
        offset: None,
        is_fetch: false,
    })))
}

fn crossed(a: &[Vec<usize>], b: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut sets = Vec::new();
    for left in a {
        for right in b {
            sets.push([left.as_slice(), right.as_slice()].concat());
        }
    }
    sets
}

fn rolled_up(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let upto = |n: usize| parts.iter().take(n).flatten().copied().collect();
    (0..=parts.len()).rev().map(upto).collect()
}

fn cubed(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let all = 1_usize << parts.len().min(12);
    (0..all)
        .rev()
        .map(|bits| {
            let within = parts.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1);
            within.flat_map(|(_, part)| part.iter().copied()).collect()
        })
        .collect()
}
