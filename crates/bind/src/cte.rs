//! Common table expressions, recursive ones too.
//!
//! A common table expression is bound again wherever it is named. One whose last parts under UNION ALL name
//! the expression itself is recursive: the parts before are the anchor. Where the other parts name it, they
//! read the row that the recursion is at.

use super::from::renamed;
use super::query::BoundQuery;
use super::scope::{Binder, CteDef};
use furrow_context::error::{Result, refuse};
use furrow_context::sink::ResultColumn;
use furrow_exec::Plan;
use furrow_exec::recursive::RecursivePlan;
use furrow_tsql::ast::expr::{Expr as Written, ExprKind, Literal};
use furrow_tsql::ast::query::{Cte, Query, QueryBody, Select, SetOp, TableRef};
use std::rc::Rc;

/// A recursive common table expression whose recursive part is being bound.
#[derive(Debug)]
pub(crate) struct Recursing {
    /// Its place among the definitions.
    at: usize,
    slot: usize,
    columns: Vec<ResultColumn>,
}

impl Binder<'_> {
    /// Makes common table expressions known; each sees those before it.
    pub fn define(&mut self, ctes: &[Cte]) -> Result<()> {
        for (at, cte) in ctes.iter().enumerate() {
            let same = |other: &Cte| other.name.value.eq_ignore_ascii_case(&cte.name.value);
            if ctes.iter().take(at).any(same) {
                return refuse(239, &[(*cte.name.value).into()]);
            }
            let sees = self.ctes.len();
            self.ctes.push(CteDef {
                name: cte.name.value.to_string(),
                columns: cte.columns.clone(),
                query: Rc::new(cte.query.clone()),
                sees,
            });
        }
        Ok(())
    }

    /// MAXRECURSION's number (310).
    pub(super) fn recursion_limit(&mut self, value: &Written) -> Result<u32> {
        let number = match &value.kind {
            ExprKind::Literal(Literal::Integer(digits)) => digits.parse().unwrap_or(u32::MAX),
            _ => u32::MAX,
        };
        match number {
            0..=32_767 => Ok(number),
            _ => refuse(310, &[number.into()]),
        }
    }

    /// The rows of a common table expression that is named within its own recursive part.
    pub(super) fn recursion(&mut self, cte: &CteDef) -> Option<(Plan, Vec<ResultColumn>)> {
        let found = self.recursions.iter().rev().find(|r| r.at == cte.sees)?;
        // It is another row each time, whatever is around: nothing on it is run only once.
        self.reaches = 0;
        Some((Plan::Work(found.slot), found.columns.clone()))
    }

    /// Binds a common table expression where it is named.
    pub(super) fn cte(&mut self, cte: &CteDef) -> Result<BoundQuery> {
        let recursive = names_in_body(&cte.query.body, &cte.name);
        let sees = cte.sees + usize::from(recursive);
        let hidden = self.ctes.split_off(sees.min(self.ctes.len()));
        let levels = std::mem::take(&mut self.levels);
        let reaches = self.reaches;
        let read_before = std::mem::take(&mut self.reads_assigned);
        let bound = match recursive {
            true => self.recursive(cte),
            false => self.nested_query(&Rc::clone(&cte.query)).map(|n| n.0),
        };
        self.reaches = match self.recursions.is_empty() && !self.reads_assigned {
            true => reaches,
            false => 0,
        };
        self.reads_assigned |= read_before;
        self.levels = levels;
        self.ctes.truncate(sees);
        self.ctes.extend(hidden);
        let mut bound = bound?;
        bound.rename(&cte.columns, &cte.name)?;
        Ok(bound)
    }

    fn recursive(&mut self, cte: &CteDef) -> Result<BoundQuery> {
        let query = Rc::clone(&cte.query);
        let mut parts = Vec::new();
        if !branches(&query.body, &mut parts) || !query.order_by.is_empty() {
            return refuse(252, &[cte.name.clone().into()]);
        }
        let split = parts.iter().position(|p| names_in_body(p, &cte.name));
        let split = split.unwrap_or(parts.len());
        let (anchors, steps) = parts.split_at(split);
        if anchors.is_empty() {
            return refuse(246, &[cte.name.clone().into()]);
        }
        let mut anchor: Option<BoundQuery> = None;
        for part in anchors {
            let (next, _) = self.body(part)?;
            anchor = Some(match anchor {
                None => next,
                Some(before) => self.joined(SetOp::Union, true, before, next)?,
            });
        }
        let Some(anchor) = anchor else {
            return refuse(246, &[cte.name.clone().into()]);
        };
        let mut columns = renamed(anchor.columns, &cte.columns, &cte.name)?;
        columns.iter_mut().for_each(|c| c.nullable = true);
        let slot = self.next_frame;
        self.next_frame += 1;
        self.recursions.push(Recursing {
            at: cte.sees,
            slot,
            columns: columns.clone(),
        });
        let bound: Result<Vec<Plan>> = steps
            .iter()
            .map(|part| self.step(part, &columns, &cte.name))
            .collect();
        self.recursions.pop();
        Ok(BoundQuery {
            plan: Plan::Recursive(Box::new(RecursivePlan {
                anchor: anchor.plan,
                steps: bound?,
                slot,
                limit: self.max_recursion,
            })),
            columns,
            assigns: Vec::new(),
            hidden: 0,
        })
    }

    /// A recursive part: its types are the anchor's (240).
    fn step(&mut self, part: &QueryBody, columns: &[ResultColumn], name: &str) -> Result<Plan> {
        if names_times(part, name) > 1 {
            return refuse(253, &[name.into()]);
        }
        if let QueryBody::Select(select) = part {
            if select.distinct {
                return refuse(460, &[name.into()]);
            }
            if select.group_by.is_some() || select.having.is_some() {
                return refuse(467, &[name.into()]);
            }
        }
        let (bound, _) = self.body(part)?;
        if bound.columns.len() != columns.len() {
            return refuse(205, &[]);
        }
        if is_aggregate(&bound.plan) {
            return refuse(467, &[name.into()]);
        }
        for (of, to) in bound.columns.iter().zip(columns) {
            let (a, b) = (of.data_type, to.data_type);
            let same = a.id == b.id && a.length == b.length;
            if !same || (a.precision, a.scale) != (b.precision, b.scale) {
                return refuse(240, &[to.name.clone().into(), name.into()]);
            }
        }
        Ok(bound.plan)
    }
}

/// Whether rows are of a grouping.
fn is_aggregate(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate(_) => true,
        Plan::Project(input, _) | Plan::Filter(input, _) => is_aggregate(input),
        Plan::Window(window) => is_aggregate(&window.input),
        Plan::Sort(sort) => is_aggregate(&sort.input),
        Plan::Top(top) => is_aggregate(&top.input),
        _ => false,
    }
}

/// The parts of a body under UNION ALL; `false` where it is none.
fn branches<'q>(body: &'q QueryBody, out: &mut Vec<&'q QueryBody>) -> bool {
    fn collect<'q>(body: &'q QueryBody, out: &mut Vec<&'q QueryBody>) {
        match body {
            QueryBody::Set {
                op: SetOp::Union,
                all: true,
                left,
                right,
            } => {
                collect(left, out);
                collect(right, out);
            }
            other => out.push(other),
        }
    }
    collect(body, out);
    out.len() > 1
}

fn names_in_body(body: &QueryBody, name: &str) -> bool {
    names_times(body, name) > 0
}

/// How often FROM names a table of this name, in a body and the derived tables in it.
fn names_times(body: &QueryBody, name: &str) -> usize {
    match body {
        QueryBody::Select(select) => names_in_select(select, name),
        QueryBody::Set { left, right, .. } => names_times(left, name) + names_times(right, name),
        QueryBody::Values(_) => 0,
    }
}

fn names_in_select(select: &Select, name: &str) -> usize {
    select.from.iter().map(|t| names_in(t, name)).sum()
}

fn names_in(table: &TableRef, name: &str) -> usize {
    match table {
        TableRef::Table(table) => {
            let parts = table.name.parts.len();
            usize::from(parts == 1 && table.name.name().eq_ignore_ascii_case(name))
        }
        TableRef::Join(join) => names_in(&join.left, name) + names_in(&join.right, name),
        TableRef::Derived { query, .. } => of_query(query, name),
        TableRef::Pivot(pivot) => names_in(&pivot.source, name),
        TableRef::Unpivot(unpivot) => names_in(&unpivot.source, name),
        _ => 0,
    }
}

fn of_query(query: &Query, name: &str) -> usize {
    names_times(&query.body, name)
}
