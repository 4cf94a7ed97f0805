//! Ways to a table's rows: which index, which range of it.
//!
//! A comparison `column = value` where the column needs no conversion gives a seek on an index that begins
//! with it; so do ranges of the key column behind. The whole condition stays a filter on the rows found: a
//! seek may give more than it asks for, never less.

use super::from::TableNode;
use super::shift;
use crate::exec::scan::{ScanBound, ScanPlan};
use crate::exec::{Cond, Expr, Plan};
use furrow_engine::{Index, IndexKind, LockHints, Table};
use furrow_format::types::Family;
use furrow_scalar::ops::{BoundCompare, CompareOp};
use std::sync::Arc;

/// `column op value`, fit for a seek.
struct Sarg {
    column: usize,
    op: CompareOp,
    value: Expr,
}

/// Whether keys of the column's type are in the order of the comparison.
fn same_order(table: &Table, column: usize, compare: &BoundCompare) -> bool {
    let Some(column) = table.columns().get(column) else {
        return false;
    };
    let (of, common) = (column.data_type, compare.common);
    let text = of.id.has_collation() || common.id.has_collation();
    if text {
        return of.id.is_unicode() == common.id.is_unicode()
            && of.collation == common.collation
            && of.id.family() != Family::Lob;
    }
    true
}

fn sarg(table: &Table, cond: &Cond) -> Option<Sarg> {
    let Cond::Compare(parts) = cond else {
        return None;
    };
    let (compare, left, right) = &**parts;
    let free = |expr: &Expr| shift::columns_of(expr).is_empty();
    let (column, op, value) = match (left, right) {
        (Expr::Column(at), value) if compare.left.is_none() && free(value) => {
            (*at, compare.op, converted(value, compare.right.as_ref()))
        }
        (value, Expr::Column(at)) if compare.right.is_none() && free(value) => (
            *at,
            compare.op.mirrored(),
            converted(value, compare.left.as_ref()),
        ),
        _ => return None,
    };
    same_order(table, column, compare).then_some(Sarg { column, op, value })
}

fn converted(value: &Expr, conversion: Option<&furrow_scalar::convert::Conversion>) -> Expr {
    match conversion {
        Some(conversion) => Expr::Convert(Box::new((*conversion, value.clone()))),
        None => value.clone(),
    }
}

/// What an index does for a query.
struct Way {
    index: usize,
    equal: Vec<Expr>,
    low: Option<ScanBound>,
    high: Option<ScanBound>,
    covered: bool,
    score: u32,
}

fn way(table: &Table, at: usize, index: &Index, sargs: &[Sarg], wanted: &[usize]) -> Way {
    let covered = index.kind() != IndexKind::Nonclustered
        || wanted.iter().all(|column| index.has_column(*column));
    let mut way = Way {
        index: at,
        equal: Vec::new(),
        low: None,
        high: None,
        covered,
        score: 0,
    };
    for key in index.key() {
        let equal = sargs
            .iter()
            .find(|s| s.column == key.column && s.op == CompareOp::Equal);
        if let Some(equal) = equal {
            way.equal.push(equal.value.clone());
            continue;
        }
        for sarg in sargs.iter().filter(|s| s.column == key.column) {
            let bound = |inclusive| {
                Some(ScanBound {
                    key: vec![sarg.value.clone()],
                    inclusive,
                })
            };
            match sarg.op {
                CompareOp::Greater | CompareOp::GreaterOrEqual if way.low.is_none() => {
                    way.low = bound(sarg.op == CompareOp::GreaterOrEqual);
                }
                CompareOp::Less | CompareOp::LessOrEqual if way.high.is_none() => {
                    way.high = bound(sarg.op == CompareOp::LessOrEqual);
                }
                _ => {}
            }
        }
        break;
    }
    let whole_key = way.equal.len() == index.key().len();
    let range = u32::from(way.low.is_some()) + u32::from(way.high.is_some());
    way.score = match (way.equal.len() as u32, whole_key && index.is_unique()) {
        (_, true) => 1_000,
        (0, _) if range == 0 => 0,
        // Each row of a range that the index does not cover is looked up by itself.
        (0, _) if !covered => range,
        (0, _) => 10 * range,
        (equal, _) => 100 * equal + 10 * range,
    };
    way.score = 2 * way.score + u32::from(covered);
    let _ = table;
    way
}

/// The plan for a table under conditions on its own columns. `wanted`: the columns that are looked at.
pub(super) fn table_plan(node: &TableNode, conds: Vec<Cond>, wanted: Vec<usize>) -> ScanPlan {
    let table = &node.table;
    let sargs: Vec<Sarg> = conds.iter().filter_map(|c| sarg(table, c)).collect();
    let mut best: Option<Way> = None;
    for (at, index) in table.indexes().iter().enumerate() {
        if index.kind() == IndexKind::Heap || node.index.is_some_and(|hinted| hinted != at) {
            continue;
        }
        let way = way(table, at, index, &sargs, &wanted);
        let useful = way.score >= 2 || node.index == Some(at);
        if useful && best.as_ref().is_none_or(|b| way.score > b.score) {
            best = Some(way);
        }
    }
    // A wider index on the whole is worse than the table itself.
    let best = best.filter(|b| b.score >= 2 && (b.score > 5 || b.covered) || node.index.is_some());
    let filter = match conds.len() {
        0 => None,
        1 => conds.into_iter().next(),
        _ => Some(Cond::And(conds)),
    };
    let plain = Way {
        index: 0,
        equal: Vec::new(),
        low: None,
        high: None,
        covered: true,
        score: 0,
    };
    let way = best.unwrap_or(plain);
    let lookup = table
        .indexes()
        .get(way.index)
        .is_some_and(|i| i.kind() == IndexKind::Nonclustered);
    ScanPlan {
        db: node.db.id(),
        table: Arc::clone(table),
        index: way.index,
        equal: way.equal,
        low: way.low,
        high: way.high,
        backward: false,
        covered: way.covered && lookup,
        columns: wanted,
        filter,
        hints: node.hints,
        named: node.named,
    }
}

/// Whether an index of a table begins with this column, so that rows are found by it.
pub(super) fn has_seek(table: &Table, column: usize) -> bool {
    table.indexes().iter().any(|i| begins_with(i, column))
}

/// The scan of a plan that gives a table's rows just as they come.
pub(super) fn as_scan(plan: &Plan) -> Option<&Arc<ScanPlan>> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        _ => None,
    }
}

/// A scan of a whole table's values of a column that are not NULL, in their order, where an index has it. The
/// plan must look at nothing else.
pub(super) fn by_order(plan: &Plan, column: usize, descending: bool) -> Option<Plan> {
    let scan = as_scan(plan)?;
    let whole = scan.filter.is_none() && scan.equal.is_empty();
    let whole = whole && scan.low.is_none() && scan.high.is_none() && scan.index == 0;
    if !whole || scan.named || scan.columns != [column] {
        return None;
    }
    let first = |i: &Index| i.kind() != IndexKind::Heap && begins_with(i, column);
    let at = scan.table.indexes().iter().position(first)?;
    let index = scan.table.indexes().get(at)?;
    let backward = index.key().first().is_some_and(|k| k.descending) != descending;
    Some(Plan::Scan(Arc::new(ScanPlan {
        index: at,
        backward,
        covered: index.kind() == IndexKind::Nonclustered,
        filter: Some(Cond::IsNull(Box::new(Expr::Column(column)), true)),
        ..(**scan).clone()
    })))
}

fn begins_with(index: &Index, column: usize) -> bool {
    index.key().first().is_some_and(|k| k.column == column)
}

/// A scan for rows that are going to be changed.
pub(crate) fn for_update(hints: LockHints) -> LockHints {
    LockHints {
        lock: hints.lock.max(furrow_engine::ReadLock::Update),
        ..hints
    }
}
