//! Ways to a table's rows: which index, which range of it.
//!
//! A comparison `column = value` where the column needs no conversion gives a seek on an index that begins
//! with it; so do IN lists, IS NULL, and ranges of the key column behind, LIKE 'x%' among them. Where
//! nothing is sought, the narrowest index that has all that is wanted is read. The whole condition stays a
//! filter on the rows found: a seek may give more than it asks for, never less.

use super::from::TableNode;
use super::shift;
use furrow_engine::{Index, IndexKind, LockHints, Table};
use furrow_exec::expr::{InList, Like};
use furrow_exec::scan::{Equal, ScanBound, ScanPlan};
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::ops::{BoundCompare, CompareOp};
use furrow_types::Family;
use std::sync::Arc;

/// The part of a condition on one column that a seek can use.
struct Sarg {
    column: usize,
    says: Says,
}

enum Says {
    Compares(CompareOp, Expr),
    /// It is one of these.
    Any(Arc<[Expr]>),
    IsNull,
    /// It begins as a pattern of LIKE does.
    Begins(Expr),
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

/// Whether a value is the same for all rows and can be evaluated before the scan begins.
fn is_free(expr: &Expr) -> bool {
    shift::columns_of(expr).is_empty() && !shift::is_volatile(expr)
}

fn sarg(table: &Table, cond: &Cond) -> Option<Sarg> {
    match cond {
        Cond::Compare(parts) => {
            let (compare, left, right) = &**parts;
            let (column, op, value) = match (left, right) {
                (Expr::Column(at), value) if compare.left.is_none() && is_free(value) => {
                    (*at, compare.op, converted(value, compare.right.as_ref()))
                }
                (value, Expr::Column(at)) if compare.right.is_none() && is_free(value) => (
                    *at,
                    compare.op.mirrored(),
                    converted(value, compare.left.as_ref()),
                ),
                _ => return None,
            };
            same_order(table, column, compare).then_some(Sarg {
                column,
                says: Says::Compares(op, value),
            })
        }
        Cond::Or(parts) => any(table, parts),
        Cond::In(list) => among(table, list),
        Cond::IsNull(expr, false) => match **expr {
            Expr::Column(column) => Some(Sarg {
                column,
                says: Says::IsNull,
            }),
            _ => None,
        },
        Cond::Like(like) => begins(table, like),
        _ => None,
    }
}

/// IN, or the like: each part compares the same column with a value for equality.
fn any(table: &Table, parts: &[Cond]) -> Option<Sarg> {
    let (mut of, mut values) = (None, Vec::with_capacity(parts.len()));
    for part in parts {
        let sarg = sarg(table, part)?;
        match sarg.says {
            Says::Compares(CompareOp::Equal, value) => values.push(value),
            Says::Any(more) => values.extend(more.iter().cloned()),
            _ => return None,
        }
        if *of.get_or_insert(sarg.column) != sarg.column {
            return None;
        }
    }
    Some(Sarg {
        column: of?,
        says: Says::Any(values.into()),
    })
}

/// A long IN list whose values are all compared in the order of the column's keys.
fn among(table: &Table, list: &InList) -> Option<Sarg> {
    let (Expr::Column(column), [group]) = (&list.expr, &list.groups[..]) else {
        return None;
    };
    let sought = group.compare.left.is_none() && same_order(table, *column, &group.compare);
    sought.then(|| Sarg {
        column: *column,
        says: Says::Any(Arc::clone(&group.values)),
    })
}

fn begins(table: &Table, like: &Like) -> Option<Sarg> {
    let Expr::Column(column) = like.text else {
        return None;
    };
    let of = table.columns().get(column)?.data_type;
    let same = of.id.has_collation()
        && of.collation == like.collation
        && of.id.is_unicode() == like.unicode
        && of.id.family() != Family::Lob;
    let somewhere = match &like.pattern {
        Expr::Const(pattern) => pattern.as_str()?.starts_with(['%', '_', '[']),
        _ => false,
    };
    let fits = same && !somewhere && like.escape.is_none() && is_free(&like.pattern);
    fits.then(|| Sarg {
        column,
        says: Says::Begins(like.pattern.clone()),
    })
}

fn converted(value: &Expr, conversion: Option<&furrow_scalar::convert::Conversion>) -> Expr {
    match conversion {
        Some(conversion) => Expr::Convert(Box::new((*conversion, value.clone()))),
        None => value.clone(),
    }
}

/// What an index does for a query.
struct IndexChoice {
    index: usize,
    equal: Vec<Equal>,
    low: Option<ScanBound>,
    high: Option<ScanBound>,
    covered: bool,
    score: u32,
}

impl IndexChoice {
    /// Takes the ends of a range of the column behind the equal ones.
    fn limit(&mut self, sarg: &Sarg) {
        let bound = |value: &Expr, inclusive, pattern| {
            Some(ScanBound {
                value: value.clone(),
                inclusive,
                pattern,
            })
        };
        match &sarg.says {
            Says::Compares(op, value) => match op {
                CompareOp::Greater | CompareOp::GreaterOrEqual if self.low.is_none() => {
                    self.low = bound(value, *op == CompareOp::GreaterOrEqual, false);
                }
                CompareOp::Less | CompareOp::LessOrEqual if self.high.is_none() => {
                    self.high = bound(value, *op == CompareOp::LessOrEqual, false);
                }
                _ => {}
            },
            Says::Begins(pattern) => {
                if self.low.is_none() {
                    self.low = bound(pattern, true, true);
                }
                if self.high.is_none() {
                    self.high = bound(pattern, true, true);
                }
            }
            Says::Any(_) | Says::IsNull => {}
        }
    }
}

fn way(at: usize, index: &Index, sargs: &[Sarg], wanted: &[usize]) -> IndexChoice {
    let covered = index.kind() != IndexKind::Nonclustered
        || wanted.iter().all(|column| index.has_column(*column));
    let mut way = IndexChoice {
        index: at,
        equal: Vec::new(),
        low: None,
        high: None,
        covered,
        score: 0,
    };
    let mut several = 0;
    for key in index.key() {
        let of_column = || sargs.iter().filter(|s| s.column == key.column);
        let equal = of_column().find_map(|sarg| match &sarg.says {
            Says::Compares(CompareOp::Equal, value) => Some(Equal::Value(value.clone())),
            Says::IsNull => Some(Equal::Null),
            _ => None,
        });
        let any = || {
            of_column().find_map(|sarg| match &sarg.says {
                Says::Any(values) => Some(Equal::Any(Arc::clone(values))),
                _ => None,
            })
        };
        match equal.or_else(any) {
            Some(equal) => {
                several += u32::from(matches!(equal, Equal::Any(_)));
                way.equal.push(equal);
            }
            None => {
                of_column().for_each(|sarg| way.limit(sarg));
                break;
            }
        }
    }
    let whole_key = way.equal.len() == index.key().len();
    let range = u32::from(way.low.is_some()) + u32::from(way.high.is_some());
    way.score = match (way.equal.len() as u32, whole_key && index.is_unique()) {
        (_, true) if several == 0 => 1_000,
        (0, _) if range == 0 => 0,
        // Each row of a range that the index does not cover is looked up by itself.
        (0, _) if !covered => range,
        (0, _) => 10 * range,
        (equal, _) => 100 * equal + 10 * range - 40 * several,
    };
    way.score = 2 * way.score + u32::from(covered);
    way
}

/// The plan for a table under conditions on its own columns. `wanted`: the columns that are looked at.
pub(super) fn table_plan(node: &TableNode, conds: Vec<Cond>, wanted: Vec<usize>) -> ScanPlan {
    let table = &node.table;
    let sargs: Vec<Sarg> = conds.iter().filter_map(|c| sarg(table, c)).collect();
    let mut best: Option<IndexChoice> = None;
    for (at, index) in table.indexes().iter().enumerate() {
        let other = node.index.is_some_and(|hinted| hinted != at);
        if index.kind() == IndexKind::Heap || index.is_offline() || other {
            continue;
        }
        let way = way(at, index, &sargs, &wanted);
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
    let plain = IndexChoice {
        index: match node.named || node.index.is_some() {
            true => 0,
            false => narrowest(table, &wanted),
        },
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
        ordered: false,
    }
}

/// The index whose rows are smallest among those that have all columns that are wanted.
fn narrowest(table: &Table, wanted: &[usize]) -> usize {
    let width = |index: &Index| -> usize {
        let of = |(at, column): (usize, &furrow_engine::Column)| match index.has_column(at) {
            true => usize::try_from(column.data_type.length).unwrap_or(8000),
            false => 0,
        };
        table.columns().iter().enumerate().map(of).sum()
    };
    let whole = table.indexes().first().map_or(0, width);
    let has_all = |index: &Index| {
        let online = index.kind() == IndexKind::Nonclustered && !index.is_offline();
        online && wanted.iter().all(|at| index.has_column(*at))
    };
    let narrow = table
        .indexes()
        .iter()
        .enumerate()
        .filter(|(_, i)| has_all(i));
    let least = narrow.map(|(at, index)| (width(index), at)).min();
    // An index that is hardly narrower does not justify another order of the rows.
    least
        .filter(|(width, _)| width * 2 <= whole)
        .map_or(0, |(_, at)| at)
}

/// What a seek can use of a condition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Find {
    /// The column of the table.
    pub(super) column: usize,
    /// How many values the column is equal to one of; `None` where it is within a range.
    pub(super) values: Option<usize>,
}

impl Find {
    /// Whether the column is equal to one value.
    pub(super) fn is_equal(&self) -> bool {
        self.values == Some(1)
    }
}

/// What a seek can use of a condition on a table's row.
pub(crate) fn find(table: &Table, cond: &Cond) -> Option<Find> {
    let sarg = sarg(table, cond)?;
    let values = match &sarg.says {
        Says::Compares(CompareOp::Equal, _) | Says::IsNull => Some(1),
        Says::Any(values) => Some(values.len()),
        Says::Compares(
            CompareOp::Greater
            | CompareOp::GreaterOrEqual
            | CompareOp::Less
            | CompareOp::LessOrEqual,
            _,
        )
        | Says::Begins(_) => None,
        Says::Compares(..) => return None,
    };
    Some(Find {
        column: sarg.column,
        values,
    })
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
    let first =
        |i: &Index| i.kind() != IndexKind::Heap && !i.is_offline() && begins_with(i, column);
    let at = scan.table.indexes().iter().position(first)?;
    let index = scan.table.indexes().get(at)?;
    let backward = index.key().first().is_some_and(|k| k.descending) != descending;
    Some(Plan::Scan(Arc::new(ScanPlan {
        index: at,
        backward,
        ordered: true,
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
        lock: hints.lock.max(furrow_engine::ReadLock::Candidate),
        ..hints
    }
}
