//! Grouping and aggregates.
//!
//! Groups are stored in a table by key and given out in the order in which they came up, as far as there is
//! memory for them ([`rounds`]). Of a parallel scan each thread groups a part of the rows ([`partial`]).
//! Grouping sets are groups of their own: a column that a set leaves out is NULL in it, and GROUPING returns
//! 1 for it.

mod group;
mod partial;
mod rounds;

pub(crate) use partial::Partial;

use super::batch::{Batches, Lane};
use super::expr::Expr;
use super::operator::{Cursor, Plan};
use super::sort::SortKey;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_scalar::aggregate::BoundAggregate;
use furrow_types::{DataType, Value};
use group::Group;

/// A call of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// The function on the types of its arguments.
    pub bound: BoundAggregate,
    /// `None` of COUNT(*).
    pub argument: Option<Expr>,
    /// DISTINCT, under the type of the argument.
    pub distinct: Option<DataType>,
    /// WITHIN GROUP (ORDER BY ..): the order in which values are taken in.
    pub order: Vec<SortKey>,
    /// Whether the client gets a warning that a NULL was left out (8153).
    pub warns: bool,
}

/// Grouping: its rows are the group's columns, then the aggregates, then, where there are several sets, the
/// bits of the columns that are not of the set, the first column's highest.
#[derive(Debug, Clone)]
pub struct AggregatePlan {
    /// What gives the rows.
    pub input: Plan,
    /// The grouping expressions with their types.
    pub groups: Vec<(Expr, DataType)>,
    /// Which columns are grouped by, for each set; one of all, without GROUPING SETS.
    pub sets: Vec<Vec<usize>>,
    /// The aggregates of each group.
    pub calls: Vec<AggregateCall>,
}

impl AggregatePlan {
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
        let settings = cx.settings();
        if settings.fails_to_null() || !self.calls.iter().all(plain) {
            return Ok(None);
        }
        let mut wanted = Vec::new();
        for argument in self.calls.iter().filter_map(|call| call.argument.as_ref()) {
            Batches::columns_of(argument, &mut wanted);
        }
        let mut left_out = false;
        let fed = scan.by_page(wanted, cx, &mut |batch| {
            for (call, accumulator) in self.calls.iter().zip(group.accumulators()) {
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
                if call.warns && !left_out {
                    left_out = batch.rows() > 0 && lane.is_none_or(Lane::any_null);
                }
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
        });
        cx.null_eliminated |= left_out;
        fed
    }

    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if !self.groups.is_empty() || self.sets.len() > 1 {
            return Ok(Cursor::new(self.open_groups(cx)?));
        }
        let group = self.whole(cx)?;
        self.open_one(group, cx)
    }

    /// The group of all rows.
    fn whole(&self, cx: &mut Context) -> Result<Group> {
        let mut group = self.start(cx);
        let mut late = self.no_late();
        if self.by_page(&mut group, cx)?.is_none() {
            self.input.for_each(cx, &mut |cx, row| {
                self.feed((0, &mut group), &mut late, row, cx)
            })?;
            self.feed_late(std::slice::from_mut(&mut group), late, cx)?;
        }
        Ok(group)
    }
}
