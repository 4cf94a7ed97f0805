//! From sources and conditions to a plan: each condition goes to the lowest place that has its columns.

use super::access;
use super::from::{Node, TableNode};
use super::scope::Binder;
use super::shift::{self, columns_of, columns_of_cond, map_cond, rebase};
use crate::exec::join::{JoinKind as PlanKind, JoinPlan, Method};
use crate::exec::{Cond, Expr, Plan};
use furrow_format::types::DataType;
use furrow_scalar::ops::CompareOp;
use furrow_tsql::ast::query::JoinKind;
use std::sync::Arc;

fn all(mut conds: Vec<Cond>) -> Option<Cond> {
    match conds.len() {
        0 => None,
        1 => conds.pop(),
        _ => Some(Cond::And(conds)),
    }
}

pub(crate) fn filtered(plan: Plan, conds: Vec<Cond>) -> Plan {
    match all(conds) {
        Some(cond) => Plan::Filter(Box::new(plan), Box::new(cond)),
        None => plan,
    }
}

fn within(cond: &Cond, start: usize, end: usize) -> bool {
    columns_of_cond(cond)
        .iter()
        .all(|at| (start..end).contains(at))
}

/// `left = right` with each side of a join in one of its operands.
struct Pair {
    left: Expr,
    right: Expr,
    data_type: DataType,
    /// Place in the right side's row, where that operand is a column that needs no conversion.
    column: Option<usize>,
}

impl Binder<'_> {
    /// The plan of a node under conditions on the wide row. Its rows are the node's run of the wide row.
    pub(crate) fn place(&mut self, node: Node, conds: Vec<Cond>) -> Plan {
        match node {
            Node::Table(table) => Plan::Scan(Arc::new(self.place_table(&table, conds))),
            Node::Rows { plan, start, .. } => {
                let mut conds = conds;
                conds.iter_mut().for_each(|c| rebase(c, start));
                filtered(plan, conds)
            }
            Node::Join {
                left,
                right,
                kind,
                on,
            } => self.place_join(*left, *right, kind, on, conds),
        }
    }

    /// The scan of a table under conditions on the wide row.
    pub(crate) fn place_table(
        &mut self,
        table: &TableNode,
        mut conds: Vec<Cond>,
    ) -> crate::exec::scan::ScanPlan {
        let start = table.start;
        let width = table.table.columns().len();
        conds.iter_mut().for_each(|c| rebase(c, start));
        let used = &self.level().used;
        let wanted = (0..width)
            .filter(|at| used.get(start + at) == Some(&true))
            .collect();
        access::table_plan(table, conds, wanted)
    }

    fn place_join(
        &mut self,
        left: Node,
        right: Node,
        kind: JoinKind,
        on: Vec<Cond>,
        conds: Vec<Cond>,
    ) -> Plan {
        let (start, middle) = (left.start(), right.start());
        let end = middle + right.width();
        let (mut to_left, mut to_right, mut to_join, mut above) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let inner = matches!(
            kind,
            JoinKind::Inner | JoinKind::Cross | JoinKind::CrossApply
        );
        let keeps_left = matches!(kind, JoinKind::Left | JoinKind::OuterApply);
        for cond in conds {
            match (
                within(&cond, start, middle),
                within(&cond, middle, end),
                kind,
            ) {
                (true, _, _) if inner || keeps_left => to_left.push(cond),
                (_, true, _) if inner || kind == JoinKind::Right => to_right.push(cond),
                _ if inner => to_join.push(cond),
                _ => above.push(cond),
            }
        }
        for cond in on {
            match (within(&cond, start, middle), within(&cond, middle, end)) {
                (true, _) if inner || kind == JoinKind::Right => to_left.push(cond),
                (_, true) if inner || keeps_left => to_right.push(cond),
                _ => to_join.push(cond),
            }
        }
        let plan = match kind {
            JoinKind::Right => {
                let (lw, rw) = (left.width(), right.width());
                // The two sides change places; a projection puts the columns back in order.
                for cond in &mut to_join {
                    map_cond(cond, &mut |at| match at < middle {
                        true => Expr::Column(at - start + rw + start),
                        false => Expr::Column(at - middle + start),
                    });
                }
                let left_plan = self.place(left, to_left);
                let right_plan = self.place(right, to_right);
                let swapped = Sides {
                    start,
                    left_width: rw,
                    right_width: lw,
                };
                let join = swapped.hash_or_kept(right_plan, left_plan, PlanKind::Left, to_join);
                let order = (rw..rw + lw).chain(0..rw).map(Expr::Column).collect();
                Plan::Project(Box::new(join), order)
            }
            _ => self.place_sides(left, right, kind, to_left, to_right, to_join),
        };
        above.iter_mut().for_each(|c| rebase(c, start));
        filtered(plan, above)
    }

    fn place_sides(
        &mut self,
        left: Node,
        right: Node,
        kind: JoinKind,
        to_left: Vec<Cond>,
        mut to_right: Vec<Cond>,
        to_join: Vec<Cond>,
    ) -> Plan {
        let sides = Sides {
            start: left.start(),
            left_width: left.width(),
            right_width: right.width(),
        };
        let plan_kind = match kind {
            JoinKind::Left | JoinKind::OuterApply => PlanKind::Left,
            JoinKind::Full => PlanKind::Full,
            _ => PlanKind::Inner,
        };
        let left_rows = estimate(&left, &to_left);
        let left_plan = self.place(left, to_left);
        if let Node::Rows { takes, .. } = &right
            && !takes.is_empty()
        {
            let mut takes = takes.clone();
            for (_, from) in &mut takes {
                shift::map_columns(from, &mut |at| Expr::Column(at - sides.start));
            }
            let right_plan = self.place(right, to_right);
            return sides.join(
                left_plan,
                right_plan,
                plan_kind,
                Method::Loop { takes },
                to_join,
            );
        }
        if plan_kind != PlanKind::Full
            && let Node::Table(table) = &right
        {
            let seeks = sides.seeks(table, &to_join);
            let right_rows = table.table.row_count().max(0) as f64;
            if !seeks.is_empty() && left_rows * 4.0 <= right_rows {
                let mut takes = Vec::new();
                for &n in &seeks {
                    let mut cond = to_join[n].clone();
                    let middle = sides.start + sides.left_width;
                    map_cond(&mut cond, &mut |at| {
                        if at >= middle {
                            return Expr::Column(at);
                        }
                        let slot = self.next_frame;
                        self.next_frame += 1;
                        takes.push((slot, Expr::Column(at - sides.start)));
                        Expr::Outer(slot)
                    });
                    to_right.push(cond);
                }
                let right_plan = self.place(right, to_right);
                let method = Method::Loop { takes };
                return sides.join(left_plan, right_plan, plan_kind, method, to_join);
            }
        }
        let right_plan = self.place(right, to_right);
        sides.hash_or_kept(left_plan, right_plan, plan_kind, to_join)
    }
}

/// About how many rows a node gives.
fn estimate(node: &Node, conds: &[Cond]) -> f64 {
    let rows = match node {
        Node::Table(table) => table.table.row_count().max(1) as f64,
        Node::Rows { .. } => 100.0,
        Node::Join { left, right, .. } => estimate(left, &[]).max(estimate(right, &[])),
    };
    let equal = conds
        .iter()
        .filter(|c| matches!(c, Cond::Compare(parts) if parts.0.op == CompareOp::Equal));
    rows * 0.01_f64.powi(equal.count() as i32) * 0.3_f64.powi(i32::from(!conds.is_empty()))
}

/// The two sides of a join in the wide row.
struct Sides {
    start: usize,
    left_width: usize,
    right_width: usize,
}

impl Sides {
    /// A condition as an equality between the sides; places count from each side's own start.
    fn pair(&self, cond: &Cond) -> Option<Pair> {
        let Cond::Compare(parts) = cond else {
            return None;
        };
        let (compare, a, b) = &**parts;
        if compare.op != CompareOp::Equal {
            return None;
        }
        let middle = self.start + self.left_width;
        let end = middle + self.right_width;
        let side = |expr: &Expr| {
            let columns = columns_of(expr);
            if columns.is_empty() {
                return None;
            }
            if columns.iter().all(|at| (self.start..middle).contains(at)) {
                return Some(true);
            }
            let right = columns.iter().all(|at| (middle..end).contains(at));
            right.then_some(false)
        };
        let convert =
            |expr: &Expr, by: &Option<furrow_scalar::convert::Conversion>, from: usize| {
                let mut expr = expr.clone();
                shift::map_columns(&mut expr, &mut |at| Expr::Column(at - from));
                match by {
                    Some(conversion) => Expr::Convert(Box::new((*conversion, expr))),
                    None => expr,
                }
            };
        let column = |expr: &Expr, by: &Option<furrow_scalar::convert::Conversion>| match (expr, by)
        {
            (Expr::Column(at), None) => Some(at - middle),
            _ => None,
        };
        match (side(a)?, side(b)?) {
            (true, false) => Some(Pair {
                left: convert(a, &compare.left, self.start),
                right: convert(b, &compare.right, middle),
                data_type: compare.common,
                column: column(b, &compare.right),
            }),
            (false, true) => Some(Pair {
                left: convert(b, &compare.right, self.start),
                right: convert(a, &compare.left, middle),
                data_type: compare.common,
                column: column(a, &compare.left),
            }),
            _ => None,
        }
    }

    /// The conditions that rows of a table on the right can be found by.
    fn seeks(&self, table: &TableNode, conds: &[Cond]) -> Vec<usize> {
        let finds = |cond: &Cond| {
            let column = self.pair(cond).and_then(|pair| pair.column);
            column.is_some_and(|column| access::has_seek(&table.table, column))
        };
        (0..conds.len()).filter(|&n| finds(&conds[n])).collect()
    }

    fn hash_or_kept(&self, left: Plan, right: Plan, kind: PlanKind, conds: Vec<Cond>) -> Plan {
        let (mut lefts, mut rights, mut types, mut rest) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for cond in conds {
            match self.pair(&cond) {
                Some(pair) => {
                    lefts.push(pair.left);
                    rights.push(pair.right);
                    types.push(pair.data_type);
                }
                None => rest.push(cond),
            }
        }
        let method = match lefts.is_empty() {
            true => Method::Kept,
            false => Method::Hash {
                left: lefts,
                right: rights,
                types,
            },
        };
        self.join(left, right, kind, method, rest)
    }

    fn join(
        &self,
        left: Plan,
        right: Plan,
        kind: PlanKind,
        method: Method,
        mut on: Vec<Cond>,
    ) -> Plan {
        on.iter_mut().for_each(|c| rebase(c, self.start));
        Plan::Join(Box::new(JoinPlan {
            left,
            right,
            kind,
            method,
            on: all(on),
            left_width: self.left_width,
            right_width: self.right_width,
        }))
    }
}
