//! Correlated subqueries that find their rows by equality with the row around them, without an index of the
//! table: the rows are stored by the compared columns ([`furrow_exec::spool`]).

use super::cost::seeks_outer;
use super::from::Node;
use super::layout::{Columns, Placed};
use super::place::filtered;
use super::scope::Binder;
use super::shift::{columns_of, columns_of_cond};
use furrow_exec::once::fresh;
use furrow_exec::spool::SpoolPlan;
use furrow_exec::visit::Part;
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::CompareOp;
use furrow_types::DataType;

/// A condition of WHERE, and whether it looks at rows around the query.
pub(super) struct WherePart {
    pub(super) cond: Cond,
    pub(super) correlated: bool,
}

/// `of the row = of the rows around`.
struct Pair {
    own: Expr,
    around: Expr,
    data_type: DataType,
}

/// Whether a value depends only on the row, or only on outer columns: without subqueries.
fn made_of(expr: &Expr, own: bool) -> bool {
    let mut fits = columns_of(expr).is_empty() != own;
    expr.visit(&mut |part| {
        fits &= match part {
            Part::Expr(Expr::Subquery(_)) => false,
            Part::Expr(Expr::Outer(_)) => !own,
            _ => true,
        };
        fits
    });
    fits
}

fn converted(expr: &Expr, by: Option<&Conversion>) -> Expr {
    match by {
        Some(by) => Expr::Convert(Box::new((*by, expr.clone()))),
        None => expr.clone(),
    }
}

fn pair(cond: &Cond) -> Option<Pair> {
    let Cond::Compare(parts) = cond else {
        return None;
    };
    let (compare, left, right) = &**parts;
    if compare.op != CompareOp::Equal {
        return None;
    }
    let (a, b) = (
        converted(left, compare.left.as_ref()),
        converted(right, compare.right.as_ref()),
    );
    let (own, around) = match made_of(&a, true) && made_of(&b, false) {
        true => (a, b),
        false if made_of(&b, true) && made_of(&a, false) => (b, a),
        false => return None,
    };
    Some(Pair {
        own,
        around,
        data_type: compare.common,
    })
}

/// Whether a seek of a table can use a value of a row around.
fn is_sought(node: &Node, parts: &[WherePart], used: &[bool]) -> bool {
    match node {
        Node::Table(_) => {
            let range = node.range();
            let of_table = parts.iter().filter(|part| {
                let mut columns = columns_of_cond(&part.cond).into_iter();
                columns.all(|at| range.contains(&at))
            });
            seeks_outer(
                node,
                of_table.map(|part| (&part.cond, part.correlated)),
                used,
            )
        }
        Node::Rows { .. } => false,
        Node::Join { left, right, .. } => {
            is_sought(left, parts, used) || is_sought(right, parts, used)
        }
    }
}

impl Binder<'_> {
    /// The plan of a node under conditions, some of which look at rows around the query; the node does not.
    pub(super) fn place_correlated(
        &mut self,
        node: Node,
        parts: Vec<WherePart>,
        needed: &Columns,
    ) -> Placed {
        let pairs: Vec<Pair> = parts
            .iter()
            .filter(|part| part.correlated)
            .filter_map(|part| pair(&part.cond))
            .collect();
        let all = |parts: &[WherePart]| parts.iter().map(|part| part.cond.clone()).collect();
        let used = &self.level().used;
        if pairs.is_empty() || is_sought(&node, &parts, used) || !self.recursions.is_empty() {
            let conds = all(&parts);
            return self.placed(node, conds, needed);
        }
        let mut below = needed.clone();
        for part in parts.iter().filter(|part| part.correlated) {
            below.extend(columns_of_cond(&part.cond));
        }
        let direct = self.placed(node.clone(), all(&parts), &below);
        let (around, own): (Vec<WherePart>, Vec<WherePart>) =
            parts.into_iter().partition(|part| part.correlated);
        let input = self.placed(node, all(&own), &below);
        let (layout, rows) = (input.layout, direct.rows);
        let key = |pair: &Pair| {
            let mut key = pair.own.clone();
            layout.put(&mut key);
            key
        };
        let spool = SpoolPlan {
            number: fresh(),
            input: input.plan,
            keys: pairs.iter().map(key).collect(),
            wanted: pairs.iter().map(|pair| pair.around.clone()).collect(),
            types: pairs.iter().map(|pair| pair.data_type).collect(),
            direct: direct.laid_out(layout.columns()),
        };
        let rest = around.into_iter().filter(|part| pair(&part.cond).is_none());
        let mut rest: Vec<Cond> = rest.map(|part| part.cond).collect();
        rest.iter_mut().for_each(|cond| layout.put_cond(cond));
        Placed {
            plan: filtered(Plan::Spool(Box::new(spool)), rest),
            layout,
            rows,
        }
    }
}
