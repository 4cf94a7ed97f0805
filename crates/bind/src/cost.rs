//! What sources and joins are estimated to cost, from row counts, the uniqueness of keys and guesses.
//!
//! The unit is a row read in a scan. There are no statistics of values: for a unique key the number of rows
//! with one value is known, anything else is a guess. A guess only has to distinguish plans whose costs
//! differ by much, and is rather too high than too low.

use super::access::{self, Find};
use super::from::{Node, TableNode};
use super::shift::{columns_of, columns_of_cond, map_cond};
use furrow_engine::{Index, IndexKind, Table};
use furrow_exec::scan::Equal;
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::ops::CompareOp;
use furrow_types::Value;
use std::ops::Range;

/// Sources of a join, a bit each.
pub(super) type Set = u128;

/// Sources that a [`Set`] takes.
pub(super) const MOST: usize = 128;

/// A descent of a tree for one outer row.
const SEEK: f64 = 5.0;
/// A row that a seek finds, and one that is looked up in the table besides.
const SOUGHT: f64 = 1.0;
const LOOKED_UP: f64 = 5.0;
/// A row stored for a hash join, a row compared with them, a pair of a join without equality.
const KEPT: f64 = 1.5;
const PROBE: f64 = 1.0;
const PAIR: f64 = 0.5;
/// A row given on.
const OUT: f64 = 0.5;
/// The start of a plan for one outer row.
const START: f64 = 10.0;
/// Plans are used again while a table grows: none is taken to have fewer rows.
const LEAST_ROWS: f64 = 16.0;
/// Rows of what nothing is known of.
const UNKNOWN_ROWS: f64 = 100.0;
/// The share of rows that satisfy a condition other than an equality.
const SOME: f64 = 0.3;

/// A source as the order of joins sees it.
#[derive(Debug)]
pub(super) struct Leaf {
    range: Range<usize>,
    rows: f64,
    /// Rows that satisfy its own conditions.
    selected: f64,
    /// What reading them costs.
    read: f64,
    /// The table, where rows can be sought.
    table: Option<(std::sync::Arc<Table>, Vec<usize>)>,
    /// What a seek can use, and of which other sources.
    finds: Vec<(Find, Set)>,
    /// Sources whose rows it is run for.
    needs: Set,
    conds: Vec<usize>,
}

/// A condition between sources.
#[derive(Debug)]
struct Link {
    of: Set,
    selectivity: f64,
    /// The sources of each side of an equality.
    sides: Option<(Set, Set)>,
}

/// Sources and the conditions between them.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) leaves: Vec<Leaf>,
    links: Vec<Link>,
}

/// How a source is joined to those before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) cost: f64,
    /// Rows behind the join.
    pub rows: f64,
    /// Whether its rows are sought for each row before it.
    pub(super) seeks: bool,
}

pub(super) fn bit(at: usize) -> Set {
    1 << at
}

impl Graph {
    /// `own`: the conditions of each source alone. `wanted`: the columns of the wide row that are read.
    pub(crate) fn new(
        nodes: &[&Node],
        own: &[Vec<Cond>],
        between: &[Cond],
        wanted: &[bool],
    ) -> Graph {
        let ranges: Vec<Range<usize>> = nodes.iter().map(|node| node.range()).collect();
        let of = |columns: Vec<usize>| {
            let holds = |at: &usize| ranges.iter().position(|range| range.contains(at));
            columns
                .iter()
                .filter_map(holds)
                .fold(0, |set, leaf| set | bit(leaf))
        };
        let mut leaves: Vec<Leaf> = Vec::new();
        for ((node, own), range) in nodes.iter().zip(own).zip(&ranges) {
            let at = leaves.len();
            let mut finds: Vec<(Find, Set)> = Vec::new();
            if let Node::Table(table) = node {
                finds.extend(own.iter().filter_map(|c| find(table, c)).map(|f| (f, 0)));
                for cond in between {
                    let from = of(columns_of_cond(cond));
                    if from & bit(at) != 0 {
                        finds.extend(find(table, cond).map(|f| (f, from & !bit(at))));
                    }
                }
            }
            let needs = match node {
                Node::Rows { takes, .. } => {
                    let takes = takes.iter().map(|take| of(columns_of(&take.1)));
                    takes.fold(0, |all, one| all | one) & !bit(at)
                }
                _ => 0,
            };
            leaves.push(Leaf::new(
                node,
                range.clone(),
                own.len(),
                finds,
                needs,
                wanted,
            ));
        }
        let mut links = Vec::new();
        for (number, cond) in between.iter().enumerate() {
            let link = Link {
                of: of(columns_of_cond(cond)),
                selectivity: selectivity(&leaves, cond),
                sides: match cond {
                    Cond::Compare(parts) if parts.0.op == CompareOp::Equal => {
                        Some((of(columns_of(&parts.1)), of(columns_of(&parts.2))))
                    }
                    _ => None,
                },
            };
            for (at, leaf) in leaves.iter_mut().enumerate() {
                if link.of & bit(at) != 0 {
                    leaf.conds.push(number);
                }
            }
            links.push(link);
        }
        Graph { leaves, links }
    }

    /// What it takes to begin with a source; `None` where it is run for rows of others.
    pub(super) fn first(&self, at: usize) -> Option<Step> {
        let leaf = &self.leaves[at];
        (leaf.needs == 0).then_some(Step {
            cost: leaf.read + leaf.selected * OUT,
            rows: leaf.selected,
            seeks: false,
        })
    }

    /// What it takes to join a source to those before it; `None` where it is run for rows of others.
    pub(super) fn step(&self, before: Set, rows: f64, at: usize) -> Option<Step> {
        let leaf = &self.leaves[at];
        if leaf.needs & !before != 0 {
            return None;
        }
        let (mut share, mut has_equality) = (1.0, false);
        for link in leaf.conds.iter().map(|number| &self.links[*number]) {
            if link.of & !(before | bit(at)) == 0 {
                share *= link.selectivity;
                has_equality |= link.sides.is_some_and(|(a, b)| {
                    (a == bit(at) && b & bit(at) == 0) || (b == bit(at) && a & bit(at) == 0)
                });
            }
        }
        let mut pairs = leaf.selected * share;
        if leaf.is_one(before) {
            pairs = pairs.min(1.0);
        }
        let outer = rows.max(1.0);
        let whole = match has_equality {
            _ if leaf.needs != 0 => outer * (START + leaf.read),
            true => leaf.read + leaf.selected * KEPT + outer * PROBE,
            false => leaf.read + leaf.selected + outer * leaf.selected * PAIR,
        };
        let sought = leaf.sought(before).map(|each| outer * each);
        let seeks = sought.is_some_and(|sought| sought < whole);
        let rows = rows * pairs;
        let cost = sought.map_or(whole, |sought| sought.min(whole)) + rows * OUT;
        Some(Step { cost, rows, seeks })
    }
}

impl Leaf {
    fn new(
        node: &Node,
        range: Range<usize>,
        own: usize,
        finds: Vec<(Find, Set)>,
        needs: Set,
        wanted: &[bool],
    ) -> Leaf {
        let rows = node_rows(node);
        let mut leaf = Leaf {
            rows,
            selected: rows,
            read: rows,
            table: None,
            finds,
            needs,
            conds: Vec::new(),
            range,
        };
        if let Node::Table(table) = node {
            let is_wanted = |at: &usize| wanted.get(table.start + at) == Some(&true);
            let wanted = (0..table.table.columns().len()).filter(is_wanted).collect();
            leaf.table = Some((std::sync::Arc::clone(&table.table), wanted));
        }
        leaf.selected = leaf.rows_selected(own);
        if let Some(sought) = leaf.best(0, false) {
            leaf.read = leaf.read.min(sought);
        }
        leaf
    }

    /// About how many rows satisfy the source's own conditions.
    fn rows_selected(&self, own: usize) -> f64 {
        let mut rows = self.rows;
        let equal = self.equal_columns(0);
        let listed: Vec<(usize, usize)> = self.listed_columns();
        let others = own.saturating_sub(equal.len() + listed.len()).min(4);
        let mut keyed: Vec<usize> = Vec::new();
        if let Some((table, _)) = &self.table {
            if self.is_one(0) {
                return 1.0;
            }
            let share = |index: &Index| {
                let of_key = index
                    .key()
                    .iter()
                    .filter(|k| equal.contains(&k.column))
                    .count();
                (of_key > 0).then(|| rows_of_key(self.rows, of_key, index))
            };
            let unique = table.indexes().iter().filter(|i| i.is_unique());
            if let Some(least) = unique.clone().filter_map(share).reduce(f64::min) {
                rows = least;
            }
            keyed.extend(unique.flat_map(|i| i.key().iter().map(|k| k.column)));
        }
        for (number, _) in equal.iter().filter(|c| !keyed.contains(c)).enumerate() {
            rows *= match number {
                0 => self.rows.powf(-0.5),
                _ => SOME,
            };
        }
        for (column, values) in listed {
            rows *= (values as f64 / self.values(column).0).min(1.0);
        }
        (rows * SOME.powi(others as i32)).max(1.0)
    }

    /// Columns that are equal to something that these sources have, or that is known from the start.
    fn equal_columns(&self, before: Set) -> Vec<usize> {
        let known = |(find, from): &&(Find, Set)| find.is_equal() && from & !before == 0;
        let mut columns: Vec<usize> = self
            .finds
            .iter()
            .filter(known)
            .map(|(find, _)| find.column)
            .collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Columns that are one of several values, which are known from the start, and how many.
    fn listed_columns(&self) -> Vec<(usize, usize)> {
        let known = self.finds.iter().filter(|(_, from)| *from == 0);
        let listed = known.filter_map(|(find, _)| Some((find.column, find.values?)));
        listed.filter(|(_, values)| *values > 1).collect()
    }

    /// Whether no more than one row goes with a row of these sources.
    fn is_one(&self, before: Set) -> bool {
        let Some((table, _)) = &self.table else {
            return false;
        };
        let equal = self.equal_columns(before);
        let whole = |i: &Index| i.key().iter().all(|k| equal.contains(&k.column));
        table
            .indexes()
            .iter()
            .any(|i| i.is_unique() && !i.key().is_empty() && whole(i))
    }

    /// What seeking the rows that go with one row of these sources costs.
    fn sought(&self, before: Set) -> Option<f64> {
        self.best(before, true)
    }

    /// The cheapest seek; `joins`: only such that use a value of another source.
    fn best(&self, before: Set, joins: bool) -> Option<f64> {
        let (table, wanted) = self.table.as_ref()?;
        let indexes = table.indexes().iter();
        let costs = indexes.filter_map(|index| self.seek_cost(index, wanted, before, joins));
        costs.reduce(f64::min)
    }

    fn seek_cost(&self, index: &Index, wanted: &[usize], before: Set, joins: bool) -> Option<f64> {
        if index.kind() == IndexKind::Heap || index.is_offline() {
            return None;
        }
        let (mut equal, mut ends, mut joined) = (0, 0, false);
        let mut seeks = 1.0;
        for key in index.key() {
            let of_key = || {
                let known =
                    |(find, from): &&(Find, Set)| find.column == key.column && from & !before == 0;
                self.finds.iter().filter(known)
            };
            let values = |(find, from): &(Find, Set)| Some((find.values?, *from));
            if let Some((values, from)) = of_key().filter_map(values).min_by_key(|v| v.0) {
                equal += 1;
                seeks *= values as f64;
                joined |= from != 0;
                continue;
            }
            ends = of_key().count().min(2) as i32;
            joined |= of_key().any(|(_, from)| *from != 0);
            break;
        }
        if (equal == 0 && ends == 0) || (joins && !joined) {
            return None;
        }
        let rows = (rows_of_key(self.rows, equal, index) * seeks).min(self.rows) * SOME.powi(ends);
        let is_covered = index.kind() != IndexKind::Nonclustered
            || wanted.iter().all(|column| index.has_column(*column));
        let each = if is_covered { SOUGHT } else { LOOKED_UP };
        Some(SEEK * seeks + rows * each)
    }

    /// How many values a column has, and whether each occurs once.
    fn values(&self, column: usize) -> (f64, bool) {
        let Some((table, _)) = &self.table else {
            return (self.rows.powf(0.7), false);
        };
        let mut values = self.rows.powf(0.5);
        for index in table.indexes().iter().filter(|i| i.is_unique()) {
            let key = index.key();
            if key.iter().any(|k| k.column == column) {
                if key.len() == 1 {
                    return (self.rows, true);
                }
                values = self.rows.powf(1.0 / key.len() as f64);
            }
        }
        (values, false)
    }
}

/// Whether a seek of a table can use one of these conditions that look at rows around, marked by `true`.
pub(super) fn seeks_outer<'c>(
    node: &Node,
    conds: impl Iterator<Item = (&'c Cond, bool)>,
    used: &[bool],
) -> bool {
    let Node::Table(table) = node else {
        return false;
    };
    let found = conds.filter_map(|(cond, around)| Some((find(table, cond)?, Set::from(around))));
    let finds: Vec<(Find, Set)> = found
        .filter(|(find, from)| find.is_equal() || *from == 0)
        .collect();
    Leaf::new(node, node.range(), 0, finds, 0, used)
        .sought(bit(0))
        .is_some()
}

/// About how many rows of an index have one value in so many of its key columns.
fn rows_of_key(rows: f64, columns: usize, index: &Index) -> f64 {
    let share = columns as f64 / index.key().len().max(1) as f64;
    let power = match index.is_unique() {
        true => share * share,
        false => 0.6 * share,
    };
    rows.powf(1.0 - power).max(1.0)
}

/// The part of a condition on a column of a table that a seek can use, with other sources' columns as values.
pub(crate) fn find(table: &TableNode, cond: &Cond) -> Option<Find> {
    let own = table.start..table.start + table.table.columns().len();
    let mut cond = cond.clone();
    map_cond(&mut cond, &mut |at| match own.contains(&at) {
        true => Expr::Column(at - own.start),
        false => Expr::Outer(0),
    });
    access::find(&table.table, &cond)
}

/// The share of all pairs of rows that satisfy a condition between sources.
fn selectivity(leaves: &[Leaf], cond: &Cond) -> f64 {
    let Cond::Compare(parts) = cond else {
        return SOME;
    };
    if parts.0.op != CompareOp::Equal {
        return SOME;
    }
    let values = |expr: &Expr| {
        let columns = columns_of(expr);
        let leaf = leaves
            .iter()
            .find(|l| columns.iter().any(|at| l.range.contains(at)))?;
        Some(match expr {
            Expr::Column(at) => leaf.values(at - leaf.range.start),
            _ => (leaf.rows.powf(0.5), false),
        })
    };
    let (Some((a, a_once)), Some((b, b_once))) = (values(&parts.1), values(&parts.2)) else {
        return SOME;
    };
    match (a_once, b_once) {
        (true, false) => 1.0 / a,
        (false, true) => 1.0 / b,
        _ => 1.0 / a.max(b),
    }
}

/// About how many rows a source has, before its conditions.
fn node_rows(node: &Node) -> f64 {
    match node {
        Node::Table(table) => (table.table.row_count() as f64).max(LEAST_ROWS),
        Node::Rows { plan, .. } => plan_rows(plan),
        Node::Join { left, right, .. } => node_rows(left).max(node_rows(right)),
    }
}

/// About how many rows a plan gives.
pub(super) fn plan_rows(plan: &Plan) -> f64 {
    match plan {
        Plan::One | Plan::Work(_) | Plan::Markup(_) => 1.0,
        Plan::Values(rows) => rows.len() as f64,
        Plan::View(_) | Plan::TableFunction(_) => UNKNOWN_ROWS,
        Plan::Scan(scan) => {
            let rows = (scan.table.row_count() as f64).max(LEAST_ROWS);
            match (scan.equal.len(), scan.filter.is_some()) {
                (0, false) => rows,
                (0, true) => rows * SOME,
                (equal, _) => {
                    let index = scan.table.indexes().get(scan.index);
                    let each = index.map_or(rows, |index| rows_of_key(rows, equal, index));
                    let values = scan.equal.iter().map(|equal| match equal {
                        Equal::Any(values) => values.len() as f64,
                        Equal::Value(_) | Equal::Null => 1.0,
                    });
                    (each * values.product::<f64>()).min(rows)
                }
            }
        }
        Plan::Filter(input, _) => plan_rows(input) * SOME,
        Plan::Project(input, _) => plan_rows(input),
        Plan::Join(join) => plan_rows(&join.left).max(plan_rows(&join.right)),
        Plan::Aggregate(of) if of.groups.is_empty() => of.sets.len() as f64,
        Plan::Aggregate(of) => plan_rows(&of.input).powf(0.7),
        Plan::Sort(sort) => plan_rows(&sort.input),
        Plan::Top(top) => match &top.count {
            Some(Expr::Const(Value::BigInt(count))) if !top.percent => {
                plan_rows(&top.input).min(*count as f64)
            }
            Some(Expr::Const(Value::Int(count))) if !top.percent => {
                plan_rows(&top.input).min(f64::from(*count))
            }
            _ => plan_rows(&top.input),
        },
        Plan::Distinct(input, _) => plan_rows(input).powf(0.7),
        Plan::Set(set) => plan_rows(&set.left) + plan_rows(&set.right),
        Plan::Window(window) => plan_rows(&window.input),
        Plan::Recursive(_) => UNKNOWN_ROWS,
        Plan::Spool(spool) => plan_rows(&spool.direct),
        Plan::Parallel(parallel) => plan_rows(&parallel.input),
    }
}
