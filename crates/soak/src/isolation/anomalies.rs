//! Anomalies in a history that its isolation level forbids.
//!
//! The list under a key contains its writers in order; so a read shows after which transactions the reader
//! came, and before which. Among transactions that committed there are then three kinds of edges, and an
//! anomaly is a cycle of some of them (Adya's phenomena, as Elle infers them from lists).

use super::cycles::{Edge, Graph};
use super::history::{Element, End, History, Op};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// Something that not every level forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// The lists cannot have come about: elements twice, missing, or in different orders.
    Nonsense,
    /// G0: writes of two transactions went through each other.
    DirtyWrite,
    /// G1a: what a rolled-back transaction wrote was read.
    AbortedRead,
    /// G1b: what a transaction wrote was read before it had written the last of it.
    IntermediateRead,
    /// G1c: two transactions each saw, or wrote over, what the other wrote.
    CircularFlow,
    /// G-single: a transaction saw part of another one's doing and missed another part.
    ReadSkew,
    /// Two transactions read the same version of a row, and both wrote over it.
    LostUpdate,
    /// G2: transactions missed each other's writes, and wrote.
    WriteSkew,
}

/// An anomaly that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub anomaly: Anomaly,
    /// The transactions and keys.
    pub text: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.anomaly, self.text)
    }
}

struct Search<'h> {
    history: &'h History,
    /// The transaction that appended an element, the key, and whether it was its last to that key.
    writers: HashMap<Element, (usize, i64, bool)>,
    found: Vec<Found>,
}

/// All anomalies, one of each kind at least where there is one.
pub fn anomalies(history: &History) -> Vec<Found> {
    let mut search = Search {
        history,
        writers: HashMap::new(),
        found: Vec::new(),
    };
    search.note_writers();
    search.prove_ends();
    search.prove_reads();
    search.prove_order();
    search.found
}

impl Search<'_> {
    fn find(&mut self, anomaly: Anomaly, text: String) {
        self.found.push(Found { anomaly, text });
    }

    fn is_committed(&self, txn: usize) -> bool {
        let of = self.history.txns.get(txn);
        of.is_some_and(|txn| txn.end == End::Committed)
    }

    fn note_writers(&mut self) {
        for (number, txn) in self.history.txns.iter().enumerate() {
            let mut last: BTreeMap<i64, Element> = BTreeMap::new();
            for op in &txn.ops {
                if let Op::Append(key, element) = op {
                    self.writers.insert(*element, (number, *key, true));
                    if let Some(before) = last.insert(*key, *element)
                        && let Some(writer) = self.writers.get_mut(&before)
                    {
                        writer.2 = false;
                    }
                }
            }
        }
    }

    /// In the end each list has what was committed, once, and nothing else.
    fn prove_ends(&mut self) {
        let history = self.history;
        let mut seen: BTreeSet<Element> = BTreeSet::new();
        for (key, list) in &history.last {
            for element in list {
                let here = matches!(self.writers.get(element), Some((_, at, _)) if at == key);
                if !here || !seen.insert(*element) {
                    let text = format!("element {element} in key {key} in the end");
                    self.find(Anomaly::Nonsense, text);
                }
            }
        }
        for (number, txn) in history.txns.iter().enumerate() {
            for op in &txn.ops {
                let Op::Append(key, element) = op else {
                    continue;
                };
                let stays = txn.end == End::Committed;
                if seen.contains(element) != stays {
                    let (what, which) = match stays {
                        true => ("is gone", Anomaly::Nonsense),
                        false => ("was rolled back and is there", Anomaly::DirtyWrite),
                    };
                    let text =
                        format!("element {element} of transaction {number}, key {key}, {what}");
                    self.find(which, text);
                }
            }
        }
    }

    /// Each list that a committed transaction saw is the beginning of the last one. It ends with the last
    /// element that some transaction appended, and contains no element of a transaction that was rolled back.
    fn prove_reads(&mut self) {
        let history = self.history;
        let committed = |n: &usize| self.is_committed(*n);
        let readers: Vec<usize> = (0..history.txns.len()).filter(committed).collect();
        for reader in readers {
            let txn = &history.txns[reader];
            for op in &txn.ops {
                let Op::Read(key, list) = op else { continue };
                for element in list {
                    match self.writers.get(element) {
                        Some((writer, _, _)) if !self.is_committed(*writer) => {
                            let text = format!(
                                "transaction {reader} saw {element} of {writer}, key {key}"
                            );
                            self.find(Anomaly::AbortedRead, text);
                        }
                        Some(_) => {}
                        None => self.find(Anomaly::Nonsense, format!("who wrote {element}?")),
                    }
                }
                if let Some(element) = list.last()
                    && let Some(&(writer, _, false)) = self.writers.get(element)
                    && writer != reader
                {
                    let text = format!("transaction {reader} saw {element} of {writer}, key {key}");
                    self.find(Anomaly::IntermediateRead, text);
                }
                let nothing = Vec::new();
                let whole = history.last.get(key).unwrap_or(&nothing);
                let all_stay = list
                    .iter()
                    .all(|e| self.writers.get(e).is_some_and(|w| self.is_committed(w.0)));
                if all_stay && !whole.starts_with(list) {
                    let text = format!("transaction {reader} saw {list:?}, key {key} is {whole:?}");
                    self.find(Anomaly::Nonsense, text);
                }
            }
        }
    }

    fn writer(&self, element: Element) -> Option<usize> {
        let (writer, _, _) = self.writers.get(&element)?;
        self.is_committed(*writer).then_some(*writer)
    }

    fn graph(&self) -> Graph {
        let history = self.history;
        let mut graph = Graph::new(history.txns.len());
        for list in history.last.values() {
            for pair in list.windows(2) {
                if let [before, after] = pair
                    && let (Some(from), Some(to)) = (self.writer(*before), self.writer(*after))
                {
                    graph.add(from, to, Edge::WriteWrite);
                }
            }
        }
        let nothing = Vec::new();
        for (reader, txn) in history.txns.iter().enumerate() {
            if txn.end != End::Committed {
                continue;
            }
            for op in &txn.ops {
                let Op::Read(key, seen) = op else { continue };
                let whole = history.last.get(key).unwrap_or(&nothing);
                if !whole.starts_with(seen) {
                    continue;
                }
                if let Some(writer) = seen.last().and_then(|e| self.writer(*e)) {
                    graph.add(writer, reader, Edge::WriteRead);
                }
                if let Some(writer) = whole.get(seen.len()).and_then(|e| self.writer(*e)) {
                    graph.add(reader, writer, Edge::ReadWrite);
                }
            }
        }
        graph
    }

    fn prove_order(&mut self) {
        let name = |n: usize| format!("{n} {:?}", self.history.txns[n].ops);
        let cycles = cycles(&self.graph(), &name);
        self.found.extend(cycles);
    }
}

/// The phenomena that are cycles of a graph of transactions; `name` describes a transaction.
pub(super) fn cycles(graph: &Graph, name: &dyn Fn(usize) -> String) -> Vec<Found> {
    let flows = |edge| edge != Edge::ReadWrite;
    let cycles = [
        (
            Anomaly::DirtyWrite,
            graph.cycle(Edge::WriteWrite, &|edge| edge == Edge::WriteWrite),
        ),
        (Anomaly::CircularFlow, graph.cycle(Edge::WriteRead, &flows)),
        (Anomaly::ReadSkew, graph.cycle(Edge::ReadWrite, &flows)),
        (Anomaly::WriteSkew, graph.cycle(Edge::ReadWrite, &|_| true)),
    ];
    let single = cycles[2].1.is_some();
    let mut found = Vec::new();
    for (anomaly, cycle) in cycles {
        let Some(cycle) = cycle else { continue };
        if anomaly == Anomaly::WriteSkew && single {
            // The same cycle, most likely: only the worse one is reported.
            continue;
        }
        let text: Vec<String> = cycle.into_iter().map(name).collect();
        let text = text.join("\n  -> ");
        found.push(Found { anomaly, text });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::history::Txn;

    fn committed(ops: &[Op]) -> Txn {
        Txn {
            client: 0,
            ops: ops.to_vec(),
            end: End::Committed,
        }
    }

    fn kinds(txns: Vec<Txn>, last: &[(i64, &[Element])]) -> Vec<Anomaly> {
        let last = last.iter().map(|(k, list)| (*k, list.to_vec())).collect();
        let found = anomalies(&History { txns, last });
        let mut kinds: Vec<Anomaly> = found.into_iter().map(|f| f.anomaly).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn read(key: i64, list: &[Element]) -> Op {
        Op::Read(key, list.to_vec())
    }

    #[test]
    fn what_one_after_the_other_do_is_no_anomaly() {
        let txns = vec![
            committed(&[Op::Append(1, 1), read(1, &[1]), Op::Append(2, 2)]),
            committed(&[read(1, &[1]), read(2, &[2]), Op::Append(1, 3)]),
            committed(&[read(1, &[1, 3]), read(3, &[])]),
        ];
        assert_eq!(kinds(txns, &[(1, &[1, 3]), (2, &[2])]), []);
    }

    #[test]
    fn each_phenomenon_is_found_and_named() {
        use Anomaly::{
            AbortedRead, CircularFlow, DirtyWrite, IntermediateRead, Nonsense, ReadSkew, WriteSkew,
        };
        let two = |a: &[Op], b: &[Op]| vec![committed(a), committed(b)];
        // Two lists written by both, in different orders.
        let g0 = two(
            &[Op::Append(1, 1), Op::Append(2, 2)],
            &[Op::Append(1, 3), Op::Append(2, 4)],
        );
        assert_eq!(kinds(g0, &[(1, &[1, 3]), (2, &[4, 2])]), [DirtyWrite]);
        let mut g1a = two(&[Op::Append(1, 1)], &[read(1, &[1])]);
        g1a[0].end = End::Aborted;
        assert_eq!(kinds(g1a, &[(1, &[])]), [AbortedRead]);
        let g1b = two(&[Op::Append(1, 1), Op::Append(1, 2)], &[read(1, &[1])]);
        assert!(kinds(g1b, &[(1, &[1, 2])]).contains(&IntermediateRead));
        let g1c = two(
            &[Op::Append(1, 1), read(2, &[2])],
            &[Op::Append(2, 2), read(1, &[1])],
        );
        assert_eq!(kinds(g1c, &[(1, &[1]), (2, &[2])]), [CircularFlow]);
        let skew = two(
            &[Op::Append(1, 1), Op::Append(2, 2)],
            &[read(1, &[1]), read(2, &[])],
        );
        assert_eq!(kinds(skew, &[(1, &[1]), (2, &[2])]), [ReadSkew]);
        let g2 = two(
            &[read(1, &[]), Op::Append(2, 2)],
            &[read(2, &[]), Op::Append(1, 1)],
        );
        assert_eq!(kinds(g2, &[(1, &[1]), (2, &[2])]), [WriteSkew]);
        let lost = two(&[Op::Append(1, 1)], &[Op::Append(1, 2)]);
        assert_eq!(kinds(lost, &[(1, &[2])]), [Nonsense]);
    }
}
