//! Anomalies in a history of registers that its isolation level forbids.
//!
//! A register stores its last value alone, so its value does not show in which order it was written. But each
//! value is written once, and so a read identifies the writer. And the rows of the engine lie in one place,
//! where a later reader sees a later version. Of the versions that committed this is certain:
//!
//! 1. The version at the beginning comes before all others, the version at the end after them.
//! 2. A client that sees one version and then sees or writes another one has met them in their order.
//!
//! From these follow the edges among transactions, and anomalies are cycles of them (as Elle infers them for
//! registers). Where the order of two versions is not known, there is no edge: an anomaly may be missed, but
//! none is invented. Versions in a circle are no history of one place at all.

use super::anomalies::{Anomaly, Found, cycles};
use super::cycles::{Edge, Graph};
use super::history::{End, NEVER_WRITTEN, Registers, Touch, Txn, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The writer of a value.
#[derive(Debug, Clone, Copy)]
struct Written {
    txn: usize,
    key: i64,
    /// Whether it was its last in that register.
    last: bool,
}

struct Search<'h> {
    history: &'h Registers,
    writers: HashMap<Value, Written>,
    found: Vec<Found>,
}

/// All anomalies, one of each kind at least where one can be inferred.
pub fn register_anomalies(history: &Registers) -> Vec<Found> {
    let mut search = Search {
        history,
        writers: HashMap::new(),
        found: Vec::new(),
    };
    search.note_writers();
    search.prove_ends();
    search.prove_reads();
    search.prove_updates();
    search.prove_order();
    search.found
}

/// What a transaction saw of others: a key and a value, for each read that no write of its own came before.
fn seen_of_others(txn: &Txn<Touch>) -> Vec<(i64, Value)> {
    let mut own = BTreeSet::new();
    let mut seen = Vec::new();
    for op in &txn.ops {
        match *op {
            Touch::Write(key, _) => {
                own.insert(key);
            }
            Touch::Read(key, value) if !own.contains(&key) => seen.push((key, value)),
            Touch::Read(..) => {}
        }
    }
    seen
}

impl Search<'_> {
    fn find(&mut self, anomaly: Anomaly, text: String) {
        self.found.push(Found { anomaly, text });
    }

    fn committed(&self) -> Vec<usize> {
        let all = self.history.txns.iter().enumerate();
        let ended = all.filter(|(_, txn)| txn.end == End::Committed);
        ended.map(|(number, _)| number).collect()
    }

    fn is_committed(&self, txn: usize) -> bool {
        let of = self.history.txns.get(txn);
        of.is_some_and(|txn| txn.end == End::Committed)
    }

    fn note_writers(&mut self) {
        for (number, txn) in self.history.txns.iter().enumerate() {
            let mut before: BTreeMap<i64, Value> = BTreeMap::new();
            for op in &txn.ops {
                let Touch::Write(key, value) = *op else {
                    continue;
                };
                let written = Written {
                    txn: number,
                    key,
                    last: true,
                };
                self.writers.insert(value, written);
                let over = before.insert(key, value);
                if let Some(over) = over.and_then(|value| self.writers.get_mut(&value)) {
                    over.last = false;
                }
            }
        }
    }

    /// Whether a value is a version of the register: there from the beginning, or the last that a committed
    /// transaction wrote.
    fn is_version(&self, key: i64, value: Value) -> bool {
        let of = self.writers.get(&value);
        let stays = |w: &Written| w.key == key && w.last && self.is_committed(w.txn);
        value == NEVER_WRITTEN || of.is_some_and(stays)
    }

    fn prove_ends(&mut self) {
        for (&key, &value) in &self.history.last {
            if self.is_version(key, value) {
                continue;
            }
            let text = format!("{value} is in register {key} in the end");
            let here = self.writers.get(&value).filter(|w| w.key == key);
            let anomaly = match here {
                Some(_) => Anomaly::DirtyWrite,
                None => Anomaly::Nonsense,
            };
            self.find(anomaly, text);
        }
    }

    fn prove_reads(&mut self) {
        for reader in self.committed() {
            let Some(txn) = self.history.txns.get(reader) else {
                continue;
            };
            let mut own: BTreeMap<i64, Value> = BTreeMap::new();
            for op in &txn.ops {
                let (key, value) = match *op {
                    Touch::Write(key, value) => {
                        own.insert(key, value);
                        continue;
                    }
                    Touch::Read(key, value) => (key, value),
                };
                let text = format!("transaction {reader} saw {value} in register {key}");
                match (own.get(&key), self.writers.get(&value).copied()) {
                    (Some(&mine), _) if mine == value => {}
                    (Some(&mine), _) => {
                        self.find(Anomaly::Nonsense, format!("{text}, and had written {mine}"));
                    }
                    (None, None) if value == NEVER_WRITTEN => {}
                    (None, Some(w)) if w.key == key => self.prove_read(reader, w, &text),
                    (None, _) => self.find(Anomaly::Nonsense, text),
                }
            }
        }
    }

    fn prove_read(&mut self, reader: usize, w: Written, text: &str) {
        if !self.is_committed(w.txn) {
            let text = format!("{text}, of {}, which was rolled back", w.txn);
            self.find(Anomaly::AbortedRead, text);
        } else if !w.last && w.txn != reader {
            let text = format!("{text}, of {}, which was not done", w.txn);
            self.find(Anomaly::IntermediateRead, text);
        }
    }

    /// No two that committed have read the same version and written over it.
    fn prove_updates(&mut self) {
        let mut updaters: BTreeMap<(i64, Value), usize> = BTreeMap::new();
        for number in self.committed() {
            let Some(txn) = self.history.txns.get(number) else {
                continue;
            };
            let writes = |key: i64| {
                let mut ops = txn.ops.iter();
                ops.any(|op| matches!(op, Touch::Write(at, _) if *at == key))
            };
            let read: BTreeSet<(i64, Value)> = seen_of_others(txn).into_iter().collect();
            for (key, value) in read.into_iter().filter(|(key, _)| writes(*key)) {
                if let Some(other) = updaters.insert((key, value), number) {
                    let text = format!(
                        "{other} and {number} both read {value} in register {key} and wrote over it"
                    );
                    self.find(Anomaly::LostUpdate, text);
                }
            }
        }
    }

    /// Pairs of versions of a register, the first of which came before the second.
    fn order_of_versions(&self) -> BTreeMap<i64, BTreeSet<(Value, Value)>> {
        let mut pairs: BTreeMap<i64, BTreeSet<(Value, Value)>> = BTreeMap::new();
        let mut met: BTreeMap<(usize, i64), Value> = BTreeMap::new();
        for (number, txn) in self.history.txns.iter().enumerate() {
            if !self.is_committed(number) {
                continue;
            }
            for op in &txn.ops {
                let (Touch::Write(key, value) | Touch::Read(key, value)) = *op;
                if !self.is_version(key, value) {
                    continue;
                }
                let before = met.insert((txn.client, key), value);
                if let Some(before) = before.filter(|before| *before != value) {
                    pairs.entry(key).or_default().insert((before, value));
                }
            }
        }
        for (&value, written) in &self.writers {
            let key = written.key;
            if self.is_version(key, value) {
                let pairs = pairs.entry(key).or_default();
                pairs.insert((NEVER_WRITTEN, value));
                let last = self.history.last.get(&key).copied();
                pairs.extend(last.filter(|last| *last != value).map(|last| (value, last)));
            }
        }
        pairs
    }

    /// Whether versions come before themselves; if so, that is a finding.
    fn goes_in_circles(&mut self, pairs: &BTreeMap<i64, BTreeSet<(Value, Value)>>) -> bool {
        let before = self.found.len();
        for (key, pairs) in pairs {
            let names: Vec<Value> = {
                let all = pairs.iter().flat_map(|(a, b)| [*a, *b]);
                all.collect::<BTreeSet<Value>>().into_iter().collect()
            };
            let mut graph = Graph::new(names.len());
            for (a, b) in pairs {
                if let (Ok(a), Ok(b)) = (names.binary_search(a), names.binary_search(b)) {
                    graph.add(a, b, Edge::WriteWrite);
                }
            }
            if let Some(cycle) = graph.cycle(Edge::WriteWrite, &|_| true) {
                let cycle: Vec<Value> = cycle.into_iter().map(|n| names[n]).collect();
                let text = format!("versions of register {key} in a circle: {cycle:?}");
                self.find(Anomaly::Nonsense, text);
            }
        }
        self.found.len() > before
    }

    fn graph(&self, pairs: &BTreeMap<i64, BTreeSet<(Value, Value)>>) -> Graph {
        let mut graph = Graph::new(self.history.txns.len());
        let mut readers: HashMap<(i64, Value), Vec<usize>> = HashMap::new();
        for number in self.committed() {
            let txn = self.history.txns.get(number);
            for (key, value) in txn.into_iter().flat_map(seen_of_others) {
                if !self.is_version(key, value) {
                    continue;
                }
                readers.entry((key, value)).or_default().push(number);
                if let Some(writer) = self.writers.get(&value) {
                    graph.add(writer.txn, number, Edge::WriteRead);
                }
            }
        }
        for (&key, pairs) in pairs {
            for (before, after) in pairs {
                let Some(after) = self.writers.get(after) else {
                    continue;
                };
                if let Some(before) = self.writers.get(before) {
                    graph.add(before.txn, after.txn, Edge::WriteWrite);
                }
                for reader in readers.get(&(key, *before)).into_iter().flatten() {
                    graph.add(*reader, after.txn, Edge::ReadWrite);
                }
            }
        }
        graph
    }

    fn prove_order(&mut self) {
        let pairs = self.order_of_versions();
        if self.goes_in_circles(&pairs) {
            return;
        }
        let name = |n: usize| format!("{n} {:?}", self.history.txns[n].ops);
        let cycles = cycles(&self.graph(&pairs), &name);
        self.found.extend(cycles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Touch::{Read, Write};

    fn txn(client: usize, ops: &[Touch]) -> Txn<Touch> {
        Txn {
            client,
            ops: ops.to_vec(),
            end: End::Committed,
        }
    }

    fn kinds(txns: Vec<Txn<Touch>>, last: &[(i64, Value)]) -> Vec<Anomaly> {
        let last = last.iter().copied().collect();
        let found = register_anomalies(&Registers { txns, last });
        let mut kinds: Vec<Anomaly> = found.into_iter().map(|f| f.anomaly).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    #[test]
    fn what_one_after_the_other_do_with_registers_is_no_anomaly() {
        let txns = vec![
            txn(0, &[Read(1, 0), Write(1, 11), Write(2, 12), Read(1, 11)]),
            txn(1, &[Read(1, 11), Write(1, 21), Write(1, 22)]),
            txn(0, &[Read(2, 12), Read(1, 22), Read(3, 0)]),
        ];
        assert_eq!(kinds(txns, &[(1, 22), (2, 12), (3, 0)]), []);
    }

    #[test]
    fn each_phenomenon_of_registers_is_inferred() {
        use Anomaly::{
            AbortedRead, CircularFlow, DirtyWrite, IntermediateRead, LostUpdate, Nonsense,
            ReadSkew, WriteSkew,
        };
        let two = |a: &[Touch], b: &[Touch]| vec![txn(0, a), txn(1, b)];
        // Each is the last in one register, so that the other came before it there.
        let g0 = two(&[Write(1, 11), Write(2, 12)], &[Write(1, 21), Write(2, 22)]);
        assert_eq!(kinds(g0, &[(1, 11), (2, 22)]), [DirtyWrite]);
        let mut g1a = two(&[Write(1, 11)], &[Read(1, 11)]);
        g1a[0].end = End::Aborted;
        assert_eq!(kinds(g1a.clone(), &[(1, 0)]), [AbortedRead]);
        assert_eq!(kinds(g1a, &[(1, 11)]), [DirtyWrite, AbortedRead]);
        let g1b = two(&[Write(1, 11), Write(1, 12)], &[Read(1, 11)]);
        assert_eq!(kinds(g1b, &[(1, 12)]), [IntermediateRead]);
        let g1c = two(&[Write(1, 11), Read(2, 21)], &[Write(2, 21), Read(1, 11)]);
        assert_eq!(kinds(g1c, &[(1, 11), (2, 21)]), [CircularFlow]);
        let skew = two(&[Write(1, 11), Write(2, 12)], &[Read(1, 11), Read(2, 0)]);
        assert_eq!(kinds(skew, &[(1, 11), (2, 12)]), [ReadSkew]);
        let lost = two(&[Read(1, 0), Write(1, 11)], &[Read(1, 0), Write(1, 21)]);
        assert_eq!(kinds(lost, &[(1, 21)]), [ReadSkew, LostUpdate]);
        let g2 = two(
            &[Read(1, 0), Read(2, 0), Write(2, 12)],
            &[Read(1, 0), Read(2, 0), Write(1, 21)],
        );
        assert_eq!(kinds(g2, &[(1, 21), (2, 12)]), [WriteSkew]);
        let gone = vec![txn(0, &[Write(1, 11)])];
        assert_eq!(kinds(gone, &[(1, 0)]), [Nonsense]);
        let forgetful = vec![txn(0, &[Write(1, 11), Read(1, 0)])];
        assert_eq!(kinds(forgetful, &[(1, 11)]), [Nonsense]);
    }

    #[test]
    fn the_order_of_versions_follows_from_who_met_them_one_after_the_other() {
        // Only the second client shows that 11 came before 21 in the first register.
        let txns = vec![
            txn(0, &[Write(1, 11), Write(2, 12)]),
            txn(1, &[Write(1, 21), Write(2, 22)]),
            txn(2, &[Read(1, 11)]),
            txn(2, &[Read(1, 21)]),
            txn(3, &[Write(1, 31)]),
        ];
        let g0 = kinds(txns.clone(), &[(1, 31), (2, 12)]);
        assert_eq!(g0, [Anomaly::DirtyWrite, Anomaly::ReadSkew]);
        let mut back = txns;
        back.push(txn(2, &[Read(1, 11)]));
        let circle = kinds(back, &[(1, 31), (2, 12)]);
        assert_eq!(circle, [Anomaly::Nonsense]);
    }
}
