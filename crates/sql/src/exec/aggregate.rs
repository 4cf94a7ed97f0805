//! Grouping and aggregates.
//!
//! Groups are kept in a table by key and given out in the order in which they came up. Grouping sets are
//! groups of their own: a column that a set leaves out is NULL in it, and GROUPING tells so.

use super::batch::{Batches, Lane};
use super::expr::Expr;
use super::key::KeyTable;
use super::memory::Grant;
use super::operator::{Cursor, Plan, Ready};
use super::sort::{SortKey, compare_keys};
use crate::context::Context;
use crate::error::Result;
use furrow_format::types::{DataType, TypeId, Value};
use furrow_scalar::aggregate::{Accumulator, BoundAggregate};
use std::borrow::Cow;

/// A call of an aggregate.
#[derive(Debug, Clone)]
pub(crate) struct AggregateCall {
    pub(crate) bound: BoundAggregate,
    /// `None` of COUNT(*).
    pub(crate) argument: Option<Expr>,
    /// DISTINCT, under the type of the argument.
    pub(crate) distinct: Option<DataType>,
    /// WITHIN GROUP (ORDER BY ..): the order in which values are taken in.
    pub(crate) order: Vec<SortKey>,
}

/// Grouping: its rows are the group's columns, then the aggregates, then, where there are several sets, the
/// bits of the columns that are not of the set, the first column's highest.
#[derive(Debug, Clone)]
pub(crate) struct AggregatePlan {
    pub(crate) input: Plan,
    pub(crate) groups: Vec<(Expr, DataType)>,
    /// Which columns are grouped by, for each set; one of all, without GROUPING SETS.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// The state of one group.
struct Group {
    accumulators: Vec<Accumulator>,
    /// Values seen, of DISTINCT calls.
    seen: Vec<Option<KeyTable>>,
    /// Values that wait for all others, with their keys, of calls with an order.
    waiting: Vec<Vec<(Vec<Value>, Value)>>,
    /// What those take.
    grant: Grant,
}

impl AggregatePlan {
    fn start(&self, cx: &Context) -> Group {
        Group {
            accumulators: self.calls.iter().map(|c| c.bound.start()).collect(),
            seen: self
                .calls
                .iter()
                .map(|c| c.distinct.map(|t| KeyTable::new(vec![t], Grant::new(cx))))
                .collect(),
            waiting: vec![Vec::new(); self.calls.len()],
            grant: Grant::new(cx),
        }
    }

    fn feed(&self, group: &mut Group, row: &[Value], cx: &mut Context) -> Result<()> {
        for (((call, accumulator), seen), waiting) in self
            .calls
            .iter()
            .zip(&mut group.accumulators)
            .zip(&mut group.seen)
            .zip(&mut group.waiting)
        {
            let Some(argument) = &call.argument else {
                accumulator.add_row();
                continue;
            };
            let value = argument.eval(row, cx)?;
            if value.is_null() {
                continue;
            }
            if let Some(seen) = seen
                && !seen.insert(std::slice::from_ref(&*value))?.1
            {
                continue;
            }
            let value = match &call.bound.conversion {
                Some(conversion) => Cow::Owned(conversion.apply(&value, &cx.settings())?),
                None => value,
            };
            if call.order.is_empty() {
                accumulator.add(&call.bound, &value)?;
                continue;
            }
            let mut key = Vec::with_capacity(call.order.len());
            for by in &call.order {
                key.push(by.expr.eval(row, cx)?.into_owned());
            }
            let value = value.into_owned();
            group.grant.row(&key)?;
            group.grant.row(std::slice::from_ref(&value))?;
            waiting.push((key, value));
        }
        Ok(())
    }

    /// Feeds all rows of a table by pages and columns, where nothing is to be done with them but to count,
    /// add and compare. `None`: it can't be done so, and nothing was fed.
    fn by_page(&self, group: &mut Group, cx: &mut Context) -> Result<Option<()>> {
        let Plan::Scan(scan) = &self.input else {
            return Ok(None);
        };
        let plain = |call: &AggregateCall| {
            let simple = call.argument.as_ref().is_none_or(Batches::can);
            simple && call.distinct.is_none() && call.order.is_empty()
        };
        if !self.calls.iter().all(plain) {
            return Ok(None);
        }
        let settings = cx.settings();
        scan.by_page(cx, &mut |batch| {
            for (call, accumulator) in self.calls.iter().zip(&mut group.accumulators) {
                let computed;
                let lane = match &call.argument {
                    Some(Expr::Column(column)) => batch.lane(*column),
                    Some(argument) => {
                        computed = batch.compute(argument, &settings)?;
                        Some(&computed)
                    }
                    None => {
                        accumulator.add_rows(batch.rows());
                        continue;
                    }
                };
                match (lane, &call.bound.conversion) {
                    (Some(Lane::Whole(lane)), None) => accumulator.add_whole(
                        &call.bound,
                        &lane.values,
                        lane.any_null.then_some(&lane.nulls[..]),
                        |number| lane.value_of(number),
                    )?,
                    (Some(Lane::Other(values)), None) => {
                        for value in values {
                            accumulator.add(&call.bound, value)?;
                        }
                    }
                    (lane, conversion) => {
                        for row in 0..batch.rows() {
                            let value = lane.map_or(Value::Null, |lane| lane.value(row));
                            let value = match conversion {
                                Some(by) if !value.is_null() => by.apply(&value, &settings)?,
                                _ => value,
                            };
                            accumulator.add(&call.bound, &value)?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    fn finish(&self, mut group: Group, out: &mut Vec<Value>) -> Result<()> {
        for ((call, accumulator), waiting) in self
            .calls
            .iter()
            .zip(&mut group.accumulators)
            .zip(&mut group.waiting)
        {
            waiting.sort_by(|a, b| compare_keys(&call.order, &a.0, &b.0));
            for (_, value) in waiting.iter() {
                accumulator.add(&call.bound, value)?;
            }
            out.push(accumulator.finish(&call.bound)?);
        }
        Ok(())
    }

    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if self.groups.is_empty() {
            let mut group = self.start(cx);
            if self.by_page(&mut group, cx)?.is_some() {
                let mut out = Vec::new();
                self.finish(group, &mut out)?;
                return Ok(Box::new(Ready::new(vec![out])));
            }
            self.input
                .for_each(cx, &mut |cx, row| self.feed(&mut group, row, cx))?;
            let mut out = Vec::new();
            self.finish(group, &mut out)?;
            return Ok(Box::new(Ready::new(vec![out])));
        }
        let several = self.sets.len() > 1;
        let whole = |set: &Vec<usize>| (0..self.groups.len()).all(|at| set.contains(&at));
        if !several && self.sets.iter().all(whole) {
            return self.open_plain(cx);
        }
        let mut types: Vec<DataType> = self.groups.iter().map(|g| g.1).collect();
        types.push(DataType::simple(TypeId::Int));
        let mut table = KeyTable::new(types, Grant::new(cx));
        let mut groups: Vec<Group> = Vec::new();
        let mut key = Vec::new();
        let width = self.groups.len();
        self.input.for_each(cx, &mut |cx, row| {
            let mut values = Vec::with_capacity(width);
            for (expr, _) in &self.groups {
                values.push(expr.eval(row, cx)?.into_owned());
            }
            for set in &self.sets {
                key.clear();
                let mut left_out = 0_i32;
                for (at, value) in values.iter().enumerate() {
                    let within = set.contains(&at);
                    left_out = left_out << 1 | i32::from(!within);
                    key.push(if within { value.clone() } else { Value::Null });
                }
                key.push(Value::Int(left_out));
                let (number, new) = table.insert(&key)?;
                if new {
                    groups.push(self.start(cx));
                }
                if let Some(group) = groups.get_mut(number) {
                    self.feed(group, row, cx)?;
                }
            }
            Ok(())
        })?;
        let (mut rows, grant) = table.into_keys();
        for (row, group) in rows.iter_mut().zip(groups) {
            let left_out = row.pop();
            self.finish(group, row)?;
            if several {
                row.extend(left_out);
            }
        }
        // The set of no columns has its row even when there is nothing to group.
        if rows.is_empty() && self.sets.iter().any(Vec::is_empty) {
            let mut row = vec![Value::Null; width];
            self.finish(self.start(cx), &mut row)?;
            if several {
                row.push(Value::Int((1 << width) - 1));
            }
            rows.push(row);
        }
        Ok(Box::new(Ready::kept(rows, grant)))
    }

    /// Groups by all columns: without grouping sets.
    fn open_plain<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut table = KeyTable::new(self.groups.iter().map(|g| g.1).collect(), Grant::new(cx));
        let mut groups: Vec<Group> = Vec::new();
        let mut key: Vec<Value> = Vec::with_capacity(self.groups.len());
        self.input.for_each(cx, &mut |cx, row| {
            key.clear();
            for (expr, _) in &self.groups {
                key.push(expr.eval(row, cx)?.into_owned());
            }
            let (number, new) = table.insert(&key)?;
            if new {
                groups.push(self.start(cx));
            }
            match groups.get_mut(number) {
                Some(group) => self.feed(group, row, cx),
                None => Ok(()),
            }
        })?;
        let (mut rows, grant) = table.into_keys();
        for (row, group) in rows.iter_mut().zip(groups) {
            self.finish(group, row)?;
        }
        Ok(Box::new(Ready::kept(rows, grant)))
    }
}
