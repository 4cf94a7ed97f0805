//! The order in which sources are joined.
//!
//! Each source is joined to all those before it. Up to [`MOST_EXACT`] sources the cheapest order is found by
//! dynamic programming over sets of sources; beyond, the next source is always the one whose join is
//! cheapest, begun with each of the sources that have the fewest rows. The order of the text stays where no
//! other one is clearly cheaper: estimates are rough, and an order that changes with each row serves no one.
//! Equal costs are decided by the order of the text, so that one statement on the same counts of rows always
//! has one order.

use super::cost::{Graph, MOST, Set, bit};

/// Most sources for which all orders are compared: 2 to the power of it sets.
const MOST_EXACT: usize = 9;
/// Sources that a greedy order is begun with.
const STARTS: usize = 8;
/// What another order must cost, of what the order of the text costs.
const CLEARLY: f64 = 0.8;

/// The order for a join of these sources.
pub(super) fn order(graph: &Graph) -> Vec<usize> {
    let count = graph.leaves.len();
    let text: Vec<usize> = (0..count).collect();
    if !(2..=MOST).contains(&count) {
        return text;
    }
    let found = match count <= MOST_EXACT {
        true => exact(graph),
        false => greedy(graph),
    };
    let as_written = cost(graph, &text);
    match found {
        Some((cost, order)) if as_written.is_none_or(|of_text| cost < CLEARLY * of_text) => order,
        _ => text,
    }
}

/// What an order costs; `None` where a source comes before one that it needs.
fn cost(graph: &Graph, order: &[usize]) -> Option<f64> {
    let (first, rest) = order.split_first()?;
    let begun = graph.first(*first)?;
    let (mut cost, mut rows, mut before) = (begun.cost, begun.rows, bit(*first));
    for &at in rest {
        let step = graph.step(before, rows, at)?;
        cost += step.cost;
        rows = step.rows;
        before |= bit(at);
    }
    Some(cost)
}

/// The cheapest way to join a set of sources.
#[derive(Debug, Clone, Copy)]
struct JoinPrefix {
    cost: f64,
    rows: f64,
    last: usize,
}

fn exact(graph: &Graph) -> Option<(f64, Vec<usize>)> {
    let count = graph.leaves.len();
    let mut ways: Vec<Option<JoinPrefix>> = vec![None; 1 << count];
    for at in 0..count {
        ways[1 << at] = graph.first(at).map(|step| JoinPrefix {
            cost: step.cost,
            rows: step.rows,
            last: at,
        });
    }
    for set in 1..ways.len() {
        let Some(way) = ways[set] else { continue };
        for at in (0..count).filter(|at| set >> at & 1 == 0) {
            let Some(step) = graph.step(set as Set, way.rows, at) else {
                continue;
            };
            let longer = &mut ways[set | 1 << at];
            let cost = way.cost + step.cost;
            if longer.is_none_or(|known| cost < known.cost) {
                *longer = Some(JoinPrefix {
                    cost,
                    rows: step.rows,
                    last: at,
                });
            }
        }
    }
    let mut set = ways.len() - 1;
    let cost = ways[set]?.cost;
    let mut order = Vec::with_capacity(count);
    while let Some(way) = ways[set] {
        order.push(way.last);
        set &= !(1 << way.last);
    }
    order.reverse();
    Some((cost, order))
}

fn greedy(graph: &Graph) -> Option<(f64, Vec<usize>)> {
    let count = graph.leaves.len();
    let mut starts: Vec<(f64, usize)> = (0..count)
        .filter_map(|at| Some((graph.first(at)?.rows, at)))
        .collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut best: Option<(f64, Vec<usize>)> = None;
    for (_, start) in starts.into_iter().take(STARTS) {
        let Some((cost, order)) = greedy_from(graph, start) else {
            continue;
        };
        if best.as_ref().is_none_or(|known| cost < known.0) {
            best = Some((cost, order));
        }
    }
    best
}

fn greedy_from(graph: &Graph, start: usize) -> Option<(f64, Vec<usize>)> {
    let count = graph.leaves.len();
    let begun = graph.first(start)?;
    let (mut cost, mut rows, mut before) = (begun.cost, begun.rows, bit(start));
    let mut order = vec![start];
    while order.len() < count {
        let rest = (0..count).filter(|at| before & bit(*at) == 0);
        let steps = rest.filter_map(|at| Some((graph.step(before, rows, at)?, at)));
        // What a step leads to counts as well: rows that come out of it go through all others.
        let weight = |(step, _): &(super::cost::Step, usize)| step.cost + step.rows;
        let (step, at) = steps.reduce(|a, b| if weight(&b) < weight(&a) { b } else { a })?;
        cost += step.cost;
        rows = step.rows;
        before |= bit(at);
        order.push(at);
    }
    Some((cost, order))
}
