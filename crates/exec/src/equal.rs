//! When two expressions are the same: GROUP BY finds its expressions in the select list by it, and calls of
//! window functions find those that share their sort.
//!
//! Two expressions are equal where they have the same operators on the same places and values. Expressions
//! with a subquery are equal to none: each subquery is run by itself.

use super::expr::{Cond, Expr, InGroup, Like};
use super::sort::SortKey;
use furrow_scalar::ops::BoundCompare;
use furrow_types::Value;

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => same_value(a, b),
            (Expr::Column(a), Expr::Column(b))
            | (Expr::Outer(a), Expr::Outer(b))
            | (Expr::Variable(a), Expr::Variable(b)) => a == b,
            (Expr::Binary(a), Expr::Binary(b)) => {
                a.0.op == b.0.op && a.0.result == b.0.result && a.1 == b.1 && a.2 == b.2
            }
            (Expr::Unary(p, a), Expr::Unary(q, b)) => p.op == q.op && a == b,
            (Expr::Convert(a), Expr::Convert(b)) => a.0 == b.0 && a.1 == b.1,
            (Expr::Call(f, a), Expr::Call(g, b)) => {
                f.function.name == g.function.name && f.result == g.result && a == b
            }
            (Expr::Metadata(f, a), Expr::Metadata(g, b)) => std::ptr::eq(*f, *g) && a == b,
            (Expr::Coalesce(a), Expr::Coalesce(b)) => a == b,
            (Expr::Grouping(a, p), Expr::Grouping(b, q)) => p == q && a == b,
            (Expr::Case(a, x), Expr::Case(b, y)) => a == b && x == y,
            (Expr::Once(n, _), Expr::Once(m, _)) => n == m,
            _ => false,
        }
    }
}

impl PartialEq for Cond {
    fn eq(&self, other: &Cond) -> bool {
        match (self, other) {
            (Cond::And(a), Cond::And(b)) | (Cond::Or(a), Cond::Or(b)) => a == b,
            (Cond::Not(a), Cond::Not(b)) => a == b,
            (Cond::Compare(a), Cond::Compare(b)) => {
                same_compare(&a.0, &b.0) && a.1 == b.1 && a.2 == b.2
            }
            (Cond::Distinct(a, p), Cond::Distinct(b, q)) => {
                p == q && same_compare(&a.0, &b.0) && a.1 == b.1 && a.2 == b.2
            }
            (Cond::In(a), Cond::In(b)) => a == b,
            (Cond::IsNull(a, p), Cond::IsNull(b, q)) => p == q && a == b,
            (Cond::Like(a), Cond::Like(b)) => a == b,
            _ => false,
        }
    }
}

/// Whether no operator distinguishes two constants: 0e0 and -0e0 are equal in comparisons, but not the same.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

fn same_compare(a: &BoundCompare, b: &BoundCompare) -> bool {
    a.op == b.op && a.common == b.common && a.left == b.left && a.right == b.right
}

impl PartialEq for Like {
    fn eq(&self, other: &Like) -> bool {
        self.text == other.text
            && self.pattern == other.pattern
            && self.escape == other.escape
            && self.collation == other.collation
            && self.unicode == other.unicode
    }
}

impl PartialEq for InGroup {
    fn eq(&self, other: &InGroup) -> bool {
        same_compare(&self.compare, &other.compare) && self.values == other.values
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &SortKey) -> bool {
        self.expr == other.expr
            && self.data_type == other.data_type
            && self.descending == other.descending
    }
}
