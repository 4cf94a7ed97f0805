//! From sources and conditions to a plan.
//!
//! 1. The sources of inner joins are taken as one set, whatever joins they are written in; each of the
//!    conditions goes to the source that has all its columns, or to the first join that does.
//! 2. `order` finds the order in which the sources are joined. An outer join is one source of the set: what
//!    is in it is placed by itself. FORCE ORDER, and a hint of a join, keep the order of the text.
//! 3. Where the rows of a table are sought for each row before it, the conditions that a seek can use go into
//!    its scan, with the outer columns as values of the frame. Otherwise its rows are kept, by key where
//!    there is an equality.
//! 4. The rows of a join have the columns that something above it looks at, and no others.

use super::access;
use super::cost::{Graph, MOST, Set, bit, find, plan_rows};
use super::from::{Node, TableNode};
use super::layout::{Columns, Layout, Placed};
use super::order::order;
use super::scope::Binder;
use super::shift::{columns_of, columns_of_cond, map_cond, rebase};
use furrow_exec::join::JoinKind as PlanKind;
use furrow_exec::join::{JoinPlan, Method};
use furrow_exec::{Cond, Expr, Plan};
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::CompareOp;
use furrow_tsql::ast::query::JoinKind;
use furrow_types::DataType;
use std::ops::Range;
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

fn within(cond: &Cond, range: &Range<usize>) -> bool {
    columns_of_cond(cond).iter().all(|at| range.contains(at))
}

fn is_inner(kind: JoinKind) -> bool {
    matches!(
        kind,
        JoinKind::Inner | JoinKind::Cross | JoinKind::CrossApply
    )
}

/// How many sources a set of inner joins has.
fn count(node: &Node) -> usize {
    match node {
        Node::Join {
            left, right, kind, ..
        } if is_inner(*kind) => count(left) + count(right),
        _ => 1,
    }
}

/// How a source is joined to what is before it.
struct Joining {
    kind: PlanKind,
    /// Conditions of the source alone.
    own: Vec<Cond>,
    on: Vec<Cond>,
    seeks: bool,
}

/// `left = right` with each side of a join in one of its operands.
struct Pair {
    left: Expr,
    right: Expr,
    data_type: DataType,
}

/// The sources of inner joins, and the conditions on them.
#[derive(Default)]
struct Sources {
    nodes: Vec<Option<Node>>,
    ranges: Vec<Range<usize>>,
    /// Of each source alone.
    own: Vec<Vec<Cond>>,
    /// Of several.
    between: Vec<Cond>,
    /// Of none.
    free: Vec<Cond>,
}

impl Sources {
    fn new(nodes: Vec<Node>, conds: Vec<Cond>) -> Sources {
        let ranges: Vec<Range<usize>> = nodes.iter().map(Node::range).collect();
        let mut sources = Sources {
            own: vec![Vec::new(); nodes.len()],
            nodes: nodes.into_iter().map(Some).collect(),
            ranges,
            ..Sources::default()
        };
        for cond in conds {
            let mut of = sources.of(&columns_of_cond(&cond));
            of.dedup();
            match of[..] {
                [] => sources.free.push(cond),
                [at] => sources.own[at].push(cond),
                _ => sources.between.push(cond),
            }
        }
        sources
    }

    /// The sources that have these columns, in order.
    fn of(&self, columns: &[usize]) -> Vec<usize> {
        let holds = |at: &usize| self.ranges.iter().position(|range| range.contains(at));
        let mut of: Vec<usize> = columns.iter().filter_map(holds).collect();
        of.sort_unstable();
        of
    }

    /// The columns that something above this point of the join looks at.
    fn above(&self, needed: &Columns) -> Columns {
        let mut above = needed.clone();
        for cond in &self.between {
            above.extend(columns_of_cond(cond));
        }
        for node in self.nodes.iter().flatten() {
            above.extend(taken(node));
        }
        above
    }
}

/// The columns of other sources that a source is run with.
fn taken(node: &Node) -> Vec<usize> {
    match node {
        Node::Rows { takes, .. } => takes.iter().flat_map(|take| columns_of(&take.1)).collect(),
        _ => Vec::new(),
    }
}

impl Binder<'_> {
    /// The plan of a node under conditions on the wide row. Its rows are the node's run of the wide row.
    pub fn place(&mut self, node: Node, conds: Vec<Cond>) -> Plan {
        let columns: Vec<usize> = node.range().collect();
        let mut needed = Columns::new();
        self.readable(&node, &mut needed);
        self.placed(node, conds, &needed).laid_out(&columns)
    }

    /// The columns of a node that hold values: those of tables that are looked at, and names of rows.
    fn readable(&mut self, node: &Node, found: &mut Columns) {
        match node {
            Node::Table(table) => {
                let end = table.start + table.table.columns().len();
                let used = &self.level().used;
                let is_used = |at: &usize| used.get(*at) == Some(&true);
                found.extend((table.start..end).filter(is_used));
                found.extend(end..node.range().end);
            }
            Node::Rows { .. } => found.extend(node.range()),
            Node::Join { left, right, .. } => {
                self.readable(left, found);
                self.readable(right, found);
            }
        }
    }

    /// The plan of a node under conditions on the wide row, with the columns that are needed.
    pub(super) fn placed(&mut self, node: Node, conds: Vec<Cond>, needed: &Columns) -> Placed {
        let range = node.range();
        let plan = match node {
            Node::Table(table) => Plan::Scan(Arc::new(self.place_table(&table, conds))),
            Node::Rows { plan, start, .. } => {
                let mut conds = conds;
                conds.iter_mut().for_each(|c| rebase(c, start));
                filtered(plan, conds)
            }
            Node::Join { kind, .. } if is_inner(kind) => {
                return self.place_inner(node, conds, needed);
            }
            Node::Join {
                left,
                right,
                kind,
                on,
            } => return self.place_outer((*left, *right), kind, on, conds, needed),
        };
        Placed {
            rows: plan_rows(&plan),
            layout: Layout::run(range),
            plan,
        }
    }

    /// The scan of a table under conditions on the wide row.
    fn place_table(
        &mut self,
        table: &TableNode,
        mut conds: Vec<Cond>,
    ) -> furrow_exec::scan::ScanPlan {
        let start = table.start;
        let width = table.table.columns().len();
        conds.iter_mut().for_each(|c| rebase(c, start));
        let used = &self.level().used;
        let wanted = (0..width)
            .filter(|at| used.get(start + at) == Some(&true))
            .collect();
        access::table_plan(table, conds, wanted)
    }

    /// Takes inner joins apart. `whole`: also such on the right of another one.
    fn gather(node: Node, whole: bool, nodes: &mut Vec<Node>, conds: &mut Vec<Cond>) {
        match node {
            Node::Join {
                left,
                right,
                kind,
                on,
            } if is_inner(kind) => {
                conds.extend(on);
                Binder::gather(*left, whole, nodes, conds);
                match whole {
                    true => Binder::gather(*right, whole, nodes, conds),
                    false => nodes.push(*right),
                }
            }
            other => nodes.push(other),
        }
    }

    fn place_inner(&mut self, node: Node, mut conds: Vec<Cond>, needed: &Columns) -> Placed {
        let mut nodes = Vec::new();
        match node {
            Node::Join {
                left, right, on, ..
            } if count(&left) + count(&right) > MOST => {
                conds.extend(on);
                nodes.extend([*left, *right]);
            }
            node => Binder::gather(node, !self.force_order, &mut nodes, &mut conds),
        }
        let mut sources = Sources::new(nodes, conds);
        let nodes: Vec<&Node> = sources.nodes.iter().flatten().collect();
        let used = &self.level().used;
        let graph = Graph::new(&nodes, &sources.own, &sources.between, used);
        let order = match self.force_order {
            true => (0..nodes.len()).collect(),
            false => order(&graph),
        };
        let (mut left, mut before): (Option<Placed>, Set) = (None, 0);
        for at in order {
            let Some(node) = sources.nodes[at].take() else {
                continue;
            };
            let mut own = std::mem::take(&mut sources.own[at]);
            let Some(outer) = left.take() else {
                own.append(&mut sources.free);
                let first = self.placed(node, own, &sources.above(needed));
                let rows = graph.first(at).map_or(first.rows, |step| step.rows);
                left = Some(Placed { rows, ..first });
                before = bit(at);
                continue;
            };
            let step = graph.step(before, outer.rows, at);
            before |= bit(at);
            let (on, later) = std::mem::take(&mut sources.between)
                .into_iter()
                .partition(|cond| {
                    let of = sources.of(&columns_of_cond(cond));
                    of.iter().all(|at| before & bit(*at) != 0)
                });
            sources.between = later;
            let joining = Joining {
                kind: PlanKind::Inner,
                own,
                on,
                seeks: step.is_some_and(|step| step.seeks),
            };
            let above = sources.above(needed);
            let joined = self.attach(outer, node, joining, &above);
            let rows = step.map_or(joined.rows, |step| step.rows);
            left = Some(Placed { rows, ..joined });
        }
        left.unwrap_or_else(|| Placed {
            plan: Plan::One,
            layout: Layout::default(),
            rows: 1.0,
        })
    }

    /// An outer join. The side whose rows all come is the outer one.
    fn place_outer(
        &mut self,
        (left, right): (Node, Node),
        kind: JoinKind,
        on: Vec<Cond>,
        conds: Vec<Cond>,
        needed: &Columns,
    ) -> Placed {
        let full = kind == JoinKind::Full;
        let (outer, inner) = match kind {
            JoinKind::Right => (right, left),
            _ => (left, right),
        };
        let (outer_range, inner_range) = (outer.range(), inner.range());
        let (to_outer, mut above): (Vec<Cond>, Vec<Cond>) = conds
            .into_iter()
            .partition(|cond| !full && within(cond, &outer_range));
        let (own, on): (Vec<Cond>, Vec<Cond>) = on
            .into_iter()
            .partition(|cond| !full && within(cond, &inner_range));
        let mut needed = needed.clone();
        above.iter().for_each(|c| needed.extend(columns_of_cond(c)));
        let mut below = needed.clone();
        on.iter().for_each(|c| below.extend(columns_of_cond(c)));
        below.extend(taken(&inner));
        let graph = Graph::new(
            &[&outer, &inner],
            &[to_outer.clone(), own.clone()],
            &on,
            &self.level().used,
        );
        let outer = self.placed(outer, to_outer, &below);
        let before = outer.rows;
        let step = graph.step(bit(0), before, 1);
        let joining = Joining {
            kind: match full {
                true => PlanKind::Full,
                false => PlanKind::Left,
            },
            own,
            on,
            seeks: !full && step.is_some_and(|step| step.seeks),
        };
        let joined = self.attach(outer, inner, joining, &needed);
        above.iter_mut().for_each(|c| joined.layout.put_cond(c));
        Placed {
            rows: step.map_or(before, |step| step.rows.max(before)),
            plan: filtered(joined.plan, above),
            layout: joined.layout,
        }
    }

    /// Joins a source to rows before it, which have all columns that the conditions look at.
    fn attach(
        &mut self,
        left: Placed,
        right: Node,
        mut joining: Joining,
        above: &Columns,
    ) -> Placed {
        let mut below = above.clone();
        let on = std::mem::take(&mut joining.on);
        on.iter().for_each(|c| below.extend(columns_of_cond(c)));
        let (mut takes, mut rest) = (Vec::new(), Vec::new());
        let range = right.range();
        match &right {
            Node::Rows { takes: of, .. } if !of.is_empty() => {
                takes.extend(of.iter().cloned());
                rest = on;
            }
            Node::Table(table) if joining.seeks => {
                for cond in on {
                    match find(table, &cond) {
                        Some(_) => {
                            let sought = self.sought_by(cond, &range, &mut takes);
                            joining.own.push(sought);
                        }
                        None => rest.push(cond),
                    }
                }
            }
            _ => {
                let right = self.placed(right, joining.own, &below);
                return hash_or_kept(left, (right, &range), joining.kind, on, above);
            }
        }
        for (_, from) in &mut takes {
            left.layout.put(from);
        }
        let right = self.placed(right, joining.own, &below);
        let method = Method::Loop { takes };
        join(left, right, joining.kind, method, rest, above)
    }

    /// A condition of a join as one of the table in a run of the wide row: other columns are in the frame.
    fn sought_by(
        &mut self,
        mut cond: Cond,
        range: &Range<usize>,
        takes: &mut Vec<(usize, Expr)>,
    ) -> Cond {
        map_cond(&mut cond, &mut |at| {
            if range.contains(&at) {
                return Expr::Column(at);
            }
            let known = takes.iter().find(|(_, from)| *from == Expr::Column(at));
            let slot = match known {
                Some((slot, _)) => *slot,
                None => {
                    let slot = self.next_frame;
                    self.next_frame += 1;
                    takes.push((slot, Expr::Column(at)));
                    slot
                }
            };
            Expr::Outer(slot)
        });
        cond
    }
}

/// A condition as an equality between rows before and the source in a run of the wide row.
fn pair(cond: &Cond, range: &Range<usize>) -> Option<Pair> {
    let Cond::Compare(parts) = cond else {
        return None;
    };
    let (compare, a, b) = &**parts;
    if compare.op != CompareOp::Equal {
        return None;
    }
    // `Some(true)`: all its columns are of the source; `Some(false)`: none is.
    let side = |expr: &Expr| {
        let columns = columns_of(expr);
        let of_source = columns.iter().filter(|at| range.contains(at)).count();
        match of_source {
            _ if columns.is_empty() => None,
            0 => Some(false),
            n => (n == columns.len()).then_some(true),
        }
    };
    let converted = |expr: &Expr, by: &Option<Conversion>| match by {
        Some(by) => Expr::Convert(Box::new((*by, expr.clone()))),
        None => expr.clone(),
    };
    let (a_side, b_side) = (side(a)?, side(b)?);
    let (a, b) = (converted(a, &compare.left), converted(b, &compare.right));
    let (left, right) = match (a_side, b_side) {
        (false, true) => (a, b),
        (true, false) => (b, a),
        _ => return None,
    };
    Some(Pair {
        left,
        right,
        data_type: compare.common,
    })
}

fn hash_or_kept(
    left: Placed,
    (right, range): (Placed, &Range<usize>),
    kind: PlanKind,
    conds: Vec<Cond>,
    above: &Columns,
) -> Placed {
    let (mut lefts, mut rights, mut types, mut rest) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for cond in conds {
        match pair(&cond, range) {
            Some(mut pair) => {
                left.layout.put(&mut pair.left);
                right.layout.put(&mut pair.right);
                lefts.push(pair.left);
                rights.push(pair.right);
                types.push(pair.data_type);
            }
            None => rest.push(cond),
        }
    }
    let method = match lefts.is_empty() {
        true => Method::Materialized,
        false => Method::Hash {
            left: lefts,
            right: rights,
            types,
        },
    };
    join(left, right, kind, method, rest, above)
}

/// The join; its rows have the columns that are looked at above it or by what is left of its conditions.
fn join(
    left: Placed,
    right: Placed,
    kind: PlanKind,
    method: Method,
    mut on: Vec<Cond>,
    above: &Columns,
) -> Placed {
    let mut carried = above.clone();
    on.iter().for_each(|c| carried.extend(columns_of_cond(c)));
    let left_columns = left.layout.places_of(&carried);
    let right_columns = right.layout.places_of(&carried);
    let of = |layout: &Layout, places: &[usize]| -> Vec<usize> {
        places
            .iter()
            .map(|place| layout.columns()[*place])
            .collect()
    };
    let mut columns = of(&left.layout, &left_columns);
    columns.extend(of(&right.layout, &right_columns));
    let layout = Layout::new(columns);
    on.iter_mut().for_each(|c| layout.put_cond(c));
    Placed {
        rows: left.rows.max(right.rows),
        plan: Plan::Join(Box::new(JoinPlan {
            left: left.plan,
            right: right.plan,
            kind,
            method,
            on: all(on),
            left_columns,
            right_columns,
        })),
        layout,
    }
}
