//! Visits of plans, conditions and expressions, from the outside in.
//!
//! A visitor gets each plan and each expression before what is in it, and returns whether the visit goes
//! deeper there. A plan leads to its inputs and to the expressions of its operator, a condition to its
//! expressions, an expression to its operands. A subquery leads to what it takes from the row around it, and
//! to its own plan: a visitor that looks for columns of one row does not go into plans, because columns there
//! are of other rows.

use super::aggregate::AggregateCall;
use super::expr::{Cond, Expr, SubPlan};
use super::join::Method;
use super::operator::Plan;
use super::scan::{Equal, ScanPlan};
use super::sort::SortKey;
use super::table_function::TableFunctionPlan;
use super::window::{FrameEnd, WindowCall, WindowFunction};
use furrow_format::{DatabaseId, ObjectId};

/// What a visit comes to.
#[derive(Debug, Clone, Copy)]
pub enum Part<'p> {
    /// A plan.
    Plan(&'p Plan),
    /// An expression.
    Expr(&'p Expr),
}

/// Looks at a part; returns whether the visit goes into it.
pub(crate) type Visitor<'v> = &'v mut dyn FnMut(Part<'_>) -> bool;

impl Plan {
    /// Visits the plan and all that is in it.
    pub fn visit(&self, visit: Visitor<'_>) {
        if !visit(Part::Plan(self)) {
            return;
        }
        match self {
            Plan::One | Plan::Work(_) => {}
            Plan::Values(rows) => rows.iter().for_each(|row| all(row, visit)),
            Plan::Scan(scan) => visit_scan(scan, visit),
            Plan::View(view) => all(&view.arguments, visit),
            Plan::TableFunction(function) => visit_table_function(function, visit),
            Plan::Markup(markup) => markup.input.visit(visit),
            Plan::Filter(input, cond) => {
                input.visit(visit);
                cond.visit(visit);
            }
            Plan::Project(input, exprs) => {
                input.visit(visit);
                all(exprs, visit);
            }
            Plan::Join(join) => {
                join.left.visit(visit);
                join.right.visit(visit);
                match &join.method {
                    Method::Loop { takes } => takes.iter().for_each(|take| take.1.visit(visit)),
                    Method::Materialized => {}
                    Method::Hash { left, right, .. } => {
                        all(left, visit);
                        all(right, visit);
                    }
                }
                join.on.iter().for_each(|on| on.visit(visit));
            }
            Plan::Aggregate(aggregate) => {
                aggregate.input.visit(visit);
                aggregate.groups.iter().for_each(|of| of.0.visit(visit));
                aggregate.calls.iter().for_each(|call| call.visit(visit));
            }
            Plan::Sort(sort) => {
                sort.input.visit(visit);
                keys(&sort.keys, visit);
            }
            Plan::Top(top) => {
                top.input.visit(visit);
                let counts = top.count.iter().chain(&top.offset);
                counts.for_each(|count| count.visit(visit));
                top.ties.iter().for_each(|ties| keys(ties, visit));
            }
            Plan::Distinct(input, _) => input.visit(visit),
            Plan::Set(set) => {
                set.left.visit(visit);
                set.right.visit(visit);
            }
            Plan::Window(window) => {
                window.input.visit(visit);
                window.calls.iter().for_each(|call| call.visit(visit));
            }
            Plan::Recursive(recursive) => {
                recursive.anchor.visit(visit);
                recursive.steps.iter().for_each(|step| step.visit(visit));
            }
            Plan::Parallel(parallel) => parallel.input.visit(visit),
            Plan::Spool(spool) => {
                spool.input.visit(visit);
                spool.direct.visit(visit);
                all(&spool.keys, visit);
                all(&spool.wanted, visit);
            }
        }
    }

    /// Whether it reads rows of a table, in itself or in a subquery.
    pub fn reads(&self, db: DatabaseId, table: ObjectId) -> bool {
        let mut found = false;
        self.visit(&mut |part| {
            if let Part::Plan(Plan::Scan(scan)) = part {
                found |= scan.db == db && scan.table.id() == table;
            }
            !found
        });
        found
    }
}

impl Expr {
    /// Visits the expression and all that is in it.
    pub fn visit(&self, visit: Visitor<'_>) {
        if !visit(Part::Expr(self)) {
            return;
        }
        match self {
            Expr::Const(_) | Expr::Outer(_) | Expr::Variable(_) | Expr::Column(_) => {}
            Expr::Binary(parts) => {
                parts.1.visit(visit);
                parts.2.visit(visit);
            }
            Expr::Unary(_, operand) | Expr::Grouping(operand, _) | Expr::Once(_, operand) => {
                operand.visit(visit);
            }
            Expr::Convert(parts) => parts.1.visit(visit),
            Expr::Call(_, arguments) | Expr::Metadata(_, arguments) | Expr::Coalesce(arguments) => {
                all(arguments, visit);
            }
            Expr::Case(arms, otherwise) => {
                for (when, then) in arms {
                    when.visit(visit);
                    then.visit(visit);
                }
                otherwise.iter().for_each(|other| other.visit(visit));
            }
            Expr::Subquery(query) => query.visit(visit),
        }
    }
}

impl Cond {
    /// Visits the condition and all that is in it.
    pub fn visit(&self, visit: Visitor<'_>) {
        match self {
            Cond::And(parts) | Cond::Or(parts) => parts.iter().for_each(|part| part.visit(visit)),
            Cond::Not(part) => part.visit(visit),
            Cond::Compare(parts) | Cond::Distinct(parts, _) => {
                parts.1.visit(visit);
                parts.2.visit(visit);
            }
            Cond::In(list) => {
                list.expr.visit(visit);
                list.groups
                    .iter()
                    .for_each(|group| all(&group.values, visit));
            }
            Cond::IsNull(expr, _) => expr.visit(visit),
            Cond::Like(like) => {
                like.text.visit(visit);
                like.pattern.visit(visit);
                like.escape.iter().for_each(|escape| escape.visit(visit));
            }
            Cond::Exists(query) => query.visit(visit),
            Cond::Quantified(parts) => {
                parts.expr.visit(visit);
                parts.query.visit(visit);
            }
        }
    }
}

impl SubPlan {
    fn visit(&self, visit: Visitor<'_>) {
        self.takes.iter().for_each(|take| take.1.visit(visit));
        self.plan.visit(visit);
    }
}

impl AggregateCall {
    /// Visits the expressions of the call.
    pub fn visit(&self, visit: Visitor<'_>) {
        self.argument.iter().for_each(|of| of.visit(visit));
        keys(&self.order, visit);
    }
}

impl WindowCall {
    /// Visits the expressions of the call.
    pub fn visit(&self, visit: Visitor<'_>) {
        match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => {}
            WindowFunction::Ntile(of) | WindowFunction::First(of) | WindowFunction::Last(of) => {
                of.visit(visit);
            }
            WindowFunction::Neighbour {
                value,
                offset,
                default,
                ..
            } => {
                value.visit(visit);
                let rest = offset.iter().chain(default);
                rest.for_each(|of| of.visit(visit));
            }
            WindowFunction::Aggregate(_, argument) => {
                argument.iter().for_each(|of| of.visit(visit));
            }
        }
        keys(&self.partition, visit);
        keys(&self.order, visit);
        for end in [&self.frame.start, &self.frame.end] {
            match end {
                FrameEnd::Preceding(count) | FrameEnd::Following(count) => count.visit(visit),
                FrameEnd::Unbounded | FrameEnd::Current => {}
            }
        }
    }
}

fn all(exprs: &[Expr], visit: Visitor<'_>) {
    exprs.iter().for_each(|expr| expr.visit(visit));
}

fn keys(keys: &[SortKey], visit: Visitor<'_>) {
    keys.iter().for_each(|key| key.expr.visit(visit));
}

fn visit_scan(scan: &ScanPlan, visit: Visitor<'_>) {
    for equal in &scan.equal {
        match equal {
            Equal::Value(value) => value.visit(visit),
            Equal::Any(values) => all(values, visit),
            Equal::Null => {}
        }
    }
    let ends = scan.low.iter().chain(&scan.high);
    ends.for_each(|end| end.value.visit(visit));
    scan.filter.iter().for_each(|filter| filter.visit(visit));
}

fn visit_table_function(function: &TableFunctionPlan, visit: Visitor<'_>) {
    match function {
        TableFunctionPlan::Split {
            text, separator, ..
        } => {
            text.visit(visit);
            separator.visit(visit);
        }
        TableFunctionPlan::Series {
            start, stop, step, ..
        } => {
            start.visit(visit);
            stop.visit(visit);
            step.iter().for_each(|step| step.visit(visit));
        }
        TableFunctionPlan::Json(open) => {
            open.text.visit(visit);
            open.path.iter().for_each(|path| path.visit(visit));
        }
    }
}
