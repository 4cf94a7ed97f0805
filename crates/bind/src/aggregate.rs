//! Aggregates, and the query that each belongs to.
//!
//! # Rules
//! 1. An aggregate belongs to the query whose columns its argument names; without columns, to the query that
//!    it is written in. GROUPING is the same.
//! 2. An aggregate of an outer query names one column alone (8124).
//! 3. It is computed with the rows of its query, and the subquery that it is written in takes its value as
//!    it takes a column of the outer row.

use super::scope::{AGGREGATES, Binder};
use super::{Bound, shift};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::Expr;
use furrow_exec::aggregate::AggregateCall;
use furrow_exec::sort::SortKey;
use furrow_scalar::aggregate;
use furrow_tsql::ast::expr::{Call, Expr as Written};
use furrow_tsql::ast::query::OrderItem;

/// An argument, bound in the query that it is written in.
enum Argument {
    /// All its columns are of that query.
    Own(Bound),
    /// Its column is of the query at this level.
    OfLevel(usize),
}

impl Binder<'_> {
    /// Binds an aggregate; it takes a place behind the grouped columns.
    pub(super) fn aggregate(&mut self, which: aggregate::Aggregate, call: &Call) -> Result<Bound> {
        if self.level().in_aggregate {
            return refuse(130, &[]);
        }
        let argument = match (call.star, call.args.as_slice()) {
            (true, _) => None,
            (false, [argument, ..]) => {
                self.level().in_aggregate = true;
                let bound = self.argument(argument);
                self.level().in_aggregate = false;
                match bound? {
                    Argument::Own(bound) => Some(bound),
                    Argument::OfLevel(at) => {
                        return self.at_level(at, |binder| binder.aggregate(which, call));
                    }
                }
            }
            (false, []) => return refuse(174, &[which.name().into(), 1.into()]),
        };
        let level = self.level();
        if level.aggregates.is_none() {
            return match level.no_aggregates {
                0 => refuse(147, &[]),
                number => refuse(number, &[]),
            };
        }
        if argument.as_ref().is_some_and(|a| has_subquery(&a.expr)) {
            return refuse(130, &[]);
        }
        self.own_aggregate(which, call, argument)
    }

    /// Binds an aggregate of the query that it is written in.
    fn own_aggregate(
        &mut self,
        which: aggregate::Aggregate,
        call: &Call,
        argument: Option<Bound>,
    ) -> Result<Bound> {
        let bound = match (which, &argument) {
            (aggregate::Aggregate::StringAgg, Some(argument)) => {
                let separator = call.args.get(1).map(|s| self.constant(s)).transpose()?;
                let text = match &separator {
                    Some(Expr::Const(value)) => value.as_str().unwrap_or("").to_owned(),
                    _ => {
                        return Err(unsupported(
                            "STRING_AGG with a separator that is no constant",
                        ));
                    }
                };
                aggregate::resolve_string_agg(&argument.operand(), &text)?
            }
            _ => aggregate::resolve(which, argument.as_ref().map(Bound::operand).as_ref())?,
        };
        let counts = matches!(
            which,
            aggregate::Aggregate::Count | aggregate::Aggregate::CountBig
        );
        let distinct = match (call.distinct, &argument) {
            (true, Some(argument)) => Some(argument.data_type),
            _ => None,
        };
        let result = bound.result;
        let order = self.within_group(&call.within_group)?;
        let warns = bound.warns() && self.levels.len() != self.quiet_level;
        let call = AggregateCall {
            bound,
            argument: argument.map(|a| a.expr),
            distinct,
            order,
            warns,
        };
        let calls = self.level().aggregates.get_or_insert_default();
        let place = AGGREGATES + shift::aggregate_number(calls, call);
        Ok(Bound {
            nullable: !counts,
            ..Bound::of(Expr::Column(place), result)
        })
    }

    /// WITHIN GROUP (ORDER BY ..).
    fn within_group(&mut self, by: &[OrderItem]) -> Result<Vec<SortKey>> {
        let mut order = Vec::new();
        for item in by {
            let key = self.expr(&item.expr)?;
            order.push(SortKey {
                expr: key.expr,
                data_type: key.data_type,
                descending: item.descending,
            });
        }
        Ok(order)
    }

    /// Binds the argument of an aggregate, and finds the query that it belongs to.
    fn argument(&mut self, argument: &Written) -> Result<Argument> {
        // Outside of a query there is none.
        let own = self.levels.len().saturating_sub(1);
        let taken: Vec<usize> = self.levels.iter().map(|level| level.takes.len()).collect();
        let before = self.columns_seen.replace(Vec::new());
        let bound = self.expr(argument);
        let seen = std::mem::replace(&mut self.columns_seen, before).unwrap_or_default();
        let bound = bound?;
        match seen.iter().map(|column| column.level).min() {
            Some(outer) if outer < own => {
                if seen.iter().any(|column| Some(column) != seen.first()) {
                    return refuse(8124, &[]);
                }
                // The subquery takes the value of the aggregate, and not that of the column.
                for (level, taken) in self.levels.iter_mut().zip(taken) {
                    level.takes.truncate(taken);
                }
                Ok(Argument::OfLevel(outer))
            }
            _ => Ok(Argument::Own(bound)),
        }
    }

    /// The query that the arguments of GROUPING belong to, where it is an outer one.
    pub(super) fn grouping_level(&mut self, arguments: &[Written]) -> Result<Option<usize>> {
        match arguments {
            [first, ..] => match self.argument(first)? {
                Argument::Own(_) => Ok(None),
                Argument::OfLevel(at) => Ok(Some(at)),
            },
            [] => Ok(None),
        }
    }

    /// Binds a value in the outer query at a level, and takes it from there into the query at hand.
    pub(super) fn at_level(
        &mut self,
        at: usize,
        bind: impl FnOnce(&mut Self) -> Result<Bound>,
    ) -> Result<Bound> {
        let within = self.levels.split_off(at + 1);
        let bound = bind(self);
        self.levels.extend(within);
        let mut bound = bound?;
        self.reaches = self.reaches.min(at);
        bound.expr = self.take_from(at, bound.expr);
        Ok(bound)
    }
}

fn has_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_)) && shift::columns_of(expr).is_empty()
}
