//! Where a plan gets parallel scans.
//!
//! A scan is divided where
//! - its rows may come in any order: below a sort, an aggregate, a hash table, or the query itself;
//! - an aggregate is right above it, or a condition leaves some of its rows out. Other rows all go through
//!   the session's thread anyway, and passing them on would cost more than reading them;
//! - its range is not one of equality with a key, which has few rows;
//! - no scan of the statement keeps locks on rows: its helpers would wait for their own session;
//! - what is computed for a row does not depend on other rows or calls: no subqueries, metadata functions,
//!   RAND.

use super::ParallelPlan;
use crate::aggregate::AggregatePlan;
use crate::expr::{Cond, Expr};
use crate::join::Method;
use crate::operator::Plan;
use crate::scan::ScanPlan;
use crate::visit::Part;
use furrow_engine::{Isolation, ReadLock};
use furrow_scalar::aggregate::Aggregate;
use furrow_types::TypeId;
use std::sync::Arc;

/// Whether the rows of a plan may come in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// They may.
    Any,
    /// They come as a serial plan gives them.
    AsSerial,
}

/// The plan with its scans divided. `max_dop`: the hint.
pub fn place(plan: Plan, order: RowOrder, max_dop: Option<u32>) -> Plan {
    match max_dop {
        Some(1) => plan,
        _ if locks_rows(&plan) => plan,
        _ => Placing { max_dop }.plan(plan, order),
    }
}

/// Whether a scan of the plan keeps locks on rows, by its hints: helpers would meet those of their session.
fn locks_rows(plan: &Plan) -> bool {
    let mut found = false;
    plan.visit(&mut |part| {
        if let Part::Plan(Plan::Scan(scan)) = part {
            let keeps = [Isolation::RepeatableRead, Isolation::Serializable];
            let by_level = scan.hints.isolation.is_some_and(|i| keeps.contains(&i));
            found |= by_level || scan.hints.lock > ReadLock::Shared;
        }
        !found
    });
    found
}

struct Placing {
    max_dop: Option<u32>,
}

impl Placing {
    fn plan(&self, plan: Plan, order: RowOrder) -> Plan {
        if order == RowOrder::Any && leaves_out(&plan) {
            return self.parallel(plan);
        }
        match plan {
            Plan::Filter(input, cond) => Plan::Filter(self.boxed(input, order), cond),
            Plan::Project(input, exprs) => Plan::Project(self.boxed(input, order), exprs),
            Plan::Aggregate(aggregate)
                if is_joined(&aggregate) && (order == RowOrder::Any || is_one_row(&aggregate)) =>
            {
                self.parallel(Plan::Aggregate(aggregate))
            }
            Plan::Aggregate(mut aggregate) => {
                // The order of a call is its own, unless it concatenates.
                let any = aggregate.calls.iter().all(|call| {
                    call.bound.aggregate != Aggregate::StringAgg
                        && !is_rounded(call.bound.result.id)
                });
                // Groups come in the order in which their first rows do.
                let any = any && (order == RowOrder::Any || is_one_row(&aggregate));
                let order = if any {
                    RowOrder::Any
                } else {
                    RowOrder::AsSerial
                };
                aggregate.input = self.plan(aggregate.input, order);
                Plan::Aggregate(aggregate)
            }
            Plan::Sort(mut sort) => {
                sort.input = self.plan(sort.input, RowOrder::Any);
                Plan::Sort(sort)
            }
            Plan::Top(mut top) => {
                // The first rows of no order are read without the rest.
                top.input = self.plan(top.input, RowOrder::AsSerial);
                Plan::Top(top)
            }
            Plan::Distinct(input, types) => Plan::Distinct(self.boxed(input, order), types),
            Plan::Join(mut join) => {
                join.left = self.plan(join.left, order);
                if !matches!(join.method, Method::Loop { .. }) {
                    join.right = self.plan(join.right, order);
                }
                Plan::Join(join)
            }
            Plan::Set(mut set) => {
                set.left = self.plan(set.left, order);
                set.right = self.plan(set.right, order);
                Plan::Set(set)
            }
            other => other,
        }
    }

    #[expect(clippy::boxed_local, reason = "the plan around it has a box for it")]
    fn boxed(&self, plan: Box<Plan>, order: RowOrder) -> Box<Plan> {
        Box::new(self.plan(*plan, order))
    }

    fn parallel(&self, input: Plan) -> Plan {
        let scan = match &input {
            Plan::Aggregate(aggregate) => scan_of(&aggregate.input),
            rows => scan_of(rows),
        };
        match scan.cloned() {
            Some(scan) => Plan::Parallel(Arc::new(ParallelPlan {
                input,
                scan,
                max_dop: self.max_dop,
            })),
            None => input,
        }
    }
}

/// The scan of a plan that is expressions and conditions on its rows. Not of an aggregate: what is above it
/// needs the groups of all rows.
fn scan_of(plan: &Plan) -> Option<&Arc<ScanPlan>> {
    match plan {
        Plan::Scan(scan) if is_divisible(scan) => Some(scan),
        Plan::Filter(input, cond) if is_own_cond(cond) => scan_of(input),
        Plan::Project(input, exprs) if exprs.iter().all(is_own) => scan_of(input),
        _ => None,
    }
}

fn is_divisible(scan: &ScanPlan) -> bool {
    let of_filter = scan.filter.as_ref().is_none_or(is_own_cond);
    scan.equal.is_empty() && !scan.backward && !scan.named && !scan.ordered && of_filter
}

/// Whether rows are given for which a condition is true.
fn leaves_out(plan: &Plan) -> bool {
    let by_cond = match plan {
        Plan::Scan(scan) => scan.filter.is_some(),
        Plan::Filter(..) => true,
        Plan::Project(input, _) => return scan_of(plan).is_some() && leaves_out(input),
        _ => false,
    };
    by_cond && scan_of(plan).is_some()
}

/// Whether an aggregate gives one row, so that it has no order.
fn is_one_row(aggregate: &AggregatePlan) -> bool {
    aggregate.groups.is_empty() && aggregate.sets.len() <= 1
}

/// Whether parts of an aggregate can be joined to the same result: sums of rounded numbers depend on the
/// order, concatenated texts too.
fn is_joined(aggregate: &AggregatePlan) -> bool {
    let plain = aggregate.calls.iter().all(|call| {
        let id = call.bound.result.id;
        let best = matches!(call.bound.aggregate, Aggregate::Min | Aggregate::Max);
        call.distinct.is_none()
            && call.order.is_empty()
            && call.bound.aggregate != Aggregate::StringAgg
            && (best || !is_rounded(id))
            && call.argument.as_ref().is_none_or(is_own)
    });
    plain
        && aggregate.groups.iter().all(|(expr, _)| is_own(expr))
        && scan_of(&aggregate.input).is_some()
}

fn is_rounded(id: TypeId) -> bool {
    matches!(id, TypeId::Float | TypeId::Real)
}

fn is_own_cond(cond: &Cond) -> bool {
    let mut own = true;
    cond.visit(&mut |part| {
        own &= is_own_part(part);
        own
    });
    own && !has_query(cond)
}

fn has_query(cond: &Cond) -> bool {
    match cond {
        Cond::And(parts) | Cond::Or(parts) => parts.iter().any(has_query),
        Cond::Not(part) => has_query(part),
        Cond::Exists(_) | Cond::Quantified(_) => true,
        _ => false,
    }
}

/// Whether an expression depends on its row alone, and on what is the same for the whole statement.
fn is_own(expr: &Expr) -> bool {
    let mut own = true;
    expr.visit(&mut |part| {
        own &= is_own_part(part);
        own
    });
    own
}

fn is_own_part(part: Part<'_>) -> bool {
    match part {
        Part::Plan(_) => false,
        Part::Expr(expr) => match expr {
            Expr::Metadata(..) | Expr::Once(..) | Expr::Subquery(_) | Expr::Outer(_) => false,
            Expr::Call(function, _) => !function.function.name.eq_ignore_ascii_case("RAND"),
            Expr::Case(arms, _) => !arms.iter().any(|(when, _)| has_query(when)),
            _ => true,
        },
    }
}
