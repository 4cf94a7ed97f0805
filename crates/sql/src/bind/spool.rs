//! Correlated subqueries that find their rows by equality with the row around them, without an index of the
//! table: the rows are kept by what is compared ([`crate::exec::spool`]).

use super::access;
use super::from::Node;
use super::place::filtered;
use super::scope::Binder;
use super::shift::columns_of;
use crate::exec::once::fresh;
use crate::exec::spool::SpoolPlan;
use crate::exec::visit::Part;
use crate::exec::{Cond, Expr, Plan};
use furrow_format::types::DataType;
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::CompareOp;

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

/// Whether a value is made of the row alone, or of what is around alone: without subqueries.
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

/// Whether rows of a table are found by an index on a column of the wide row.
fn has_seek(node: &Node, column: usize) -> bool {
    match node {
        Node::Table(table) => {
            let at = column.checked_sub(table.start);
            at.is_some_and(|at| {
                at < table.table.columns().len() && access::has_seek(&table.table, at)
            })
        }
        Node::Rows { .. } => false,
        Node::Join { left, right, .. } => has_seek(left, column) || has_seek(right, column),
    }
}

impl Binder<'_> {
    /// The plan of a node under conditions, some of which look at rows around the query; the node does not.
    pub(super) fn place_correlated(&mut self, node: Node, parts: Vec<WherePart>) -> Plan {
        let pairs: Vec<Pair> = parts
            .iter()
            .filter(|part| part.correlated)
            .filter_map(|part| pair(&part.cond))
            .collect();
        let sought = |pair: &Pair| matches!(pair.own, Expr::Column(at) if has_seek(&node, at));
        let all = |parts: &[WherePart]| parts.iter().map(|part| part.cond.clone()).collect();
        if pairs.is_empty() || pairs.iter().any(sought) || !self.recursions.is_empty() {
            let conds = all(&parts);
            return self.place(node, conds);
        }
        let direct = self.place(node.clone(), all(&parts));
        let (around, own): (Vec<WherePart>, Vec<WherePart>) =
            parts.into_iter().partition(|part| part.correlated);
        let input = self.place(node, all(&own));
        let spool = SpoolPlan {
            number: fresh(),
            input,
            keys: pairs.iter().map(|pair| pair.own.clone()).collect(),
            wanted: pairs.iter().map(|pair| pair.around.clone()).collect(),
            types: pairs.iter().map(|pair| pair.data_type).collect(),
            direct,
        };
        let rest = around.into_iter().filter(|part| pair(&part.cond).is_none());
        let rest = rest.map(|part| part.cond).collect();
        filtered(Plan::Spool(Box::new(spool)), rest)
    }
}
