//! Committed rows of each rowset.
//!
//! A transaction sums up by how much it has changed the number of rows of each rowset. Its commit record
//! contains these sums, and the counts here change with it. A checkpoint takes all counts *at* the LSN of its
//! begin record: commits share a gate while they append their record and change the counts, and the
//! checkpoint has the gate exclusively. So after a crash a count is that of the last completed checkpoint
//! plus the sums of the commit records behind its begin. Rows are not counted again, and none is missed.

use furrow_format::{Lsn, RowsetId};
use furrow_io::sync::RwLock;
use furrow_io::sync::atomic::{AtomicI64, Ordering};
use smallvec::SmallVec;
use std::collections::HashMap;

/// By how much a transaction changes the numbers of rows.
pub type Deltas = SmallVec<[(RowsetId, i64); 4]>;

/// Most rowsets in one commit record, which has to fit in a block of the log. If a transaction changes more,
/// the counts of the rest are exact until a crash; after it they are those of the last checkpoint.
const MOST_IN_RECORD: usize = 3000;

/// The counts in the body of a commit record.
pub(crate) fn encode_pairs(deltas: &Deltas) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 * deltas.len());
    for (rowset, delta) in deltas.iter().filter(|d| d.1 != 0).take(MOST_IN_RECORD) {
        out.extend_from_slice(&rowset.0.to_le_bytes());
        out.extend_from_slice(&delta.to_le_bytes());
    }
    debug_assert!(
        decode_pairs(&out).is_some_and(|read| read.iter().all(|delta| deltas.contains(delta))),
        "counts read back"
    );
    out
}

/// Reads the counts.
pub(crate) fn decode_pairs(body: &[u8]) -> Option<Deltas> {
    let (pairs, rest) = body.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.first_chunk().map(|b| u64::from_le_bytes(*b));
    let pair = |pair: &[u8; 16]| Some((RowsetId(word(pair)?), word(pair.get(8..)?)? as i64));
    rest.is_empty().then_some(())?;
    pairs.iter().map(pair).collect()
}

/// Adds to the entry of a rowset.
pub(crate) fn add(deltas: &mut Deltas, rowset: RowsetId, by: i64) {
    match deltas.iter_mut().find(|d| d.0 == rowset) {
        Some(delta) => delta.1 += by,
        None => deltas.push((rowset, by)),
    }
}

/// The counts of a database.
#[derive(Debug, Default)]
pub struct Counts {
    rows: RwLock<HashMap<RowsetId, AtomicI64>>,
}

impl Counts {
    /// Enters a rowset with this many rows, unless it is there; gives its rows.
    pub fn open(&self, rowset: RowsetId, rows: i64) -> i64 {
        let mut all = self.rows.write();
        let entry = all.entry(rowset).or_insert(AtomicI64::new(rows));
        entry.load(Ordering::Relaxed)
    }

    /// Sets the rows of a rowset, which need not be there yet.
    pub fn set(&self, rowset: RowsetId, rows: i64) {
        self.rows.write().insert(rowset, AtomicI64::new(rows));
    }

    /// The committed rows of a rowset.
    pub fn get(&self, rowset: RowsetId) -> Option<i64> {
        let all = self.rows.read();
        all.get(&rowset).map(|rows| rows.load(Ordering::Relaxed))
    }

    /// Forgets all but some rowsets.
    pub fn retain(&self, keep: impl Fn(RowsetId) -> bool) {
        self.rows.write().retain(|rowset, _| keep(*rowset));
    }

    /// Appends a commit record by `append`, and adds its sums to the counts.
    pub(crate) fn commit<E>(
        &self,
        deltas: &Deltas,
        append: impl FnOnce() -> Result<Lsn, E>,
    ) -> Result<Lsn, E> {
        if deltas.is_empty() {
            return append();
        }
        let all = self.rows.read();
        let lsn = append()?;
        for (rowset, by) in deltas {
            if let Some(rows) = all.get(rowset) {
                rows.fetch_add(*by, Ordering::Relaxed);
            }
        }
        Ok(lsn)
    }

    /// All counts at a moment: that of `at`.
    pub fn snapshot<T>(&self, at: impl FnOnce() -> T) -> (T, Vec<(RowsetId, i64)>) {
        let all = self.rows.write();
        let at = at();
        let counts = all
            .iter()
            .map(|(rowset, rows)| (*rowset, rows.load(Ordering::Relaxed)));
        let mut counts: Vec<_> = counts.collect();
        counts.sort_unstable();
        debug_assert!(
            counts.is_sorted_by(|a, b| a.0 < b.0),
            "a rowset has one count"
        );
        (at, counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::thread;

    #[test]
    fn counts_come_back_and_cut_ones_are_refused() {
        let mut deltas = Deltas::new();
        for (rowset, by) in [(7, 3), (1 << 60, -5), (7, -1), (9, 1), (9, -1)] {
            add(&mut deltas, RowsetId(rowset), by);
        }
        let body = encode_pairs(&deltas);
        let expected = [(RowsetId(7), 2), (RowsetId(1 << 60), -5)];
        assert_eq!(decode_pairs(&body).unwrap().as_slice(), expected);
        assert_eq!(decode_pairs(&body[..31]), None);
        assert!(decode_pairs(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_snapshot_and_the_commits_behind_it_make_the_count() {
        let (counts, log) = (Counts::default(), AtomicI64::new(0));
        let rowset = RowsetId(5);
        counts.open(rowset, 0);
        // Each commit is one more row, so that the log's length is the count.
        thread::scope(|scope| {
            for _ in 0..3 {
                let (counts, log) = (&counts, &log);
                scope.spawn(move || {
                    let one = Deltas::from_slice(&[(rowset, 1)]);
                    for _ in 0..20_000 {
                        let next = || Ok::<_, ()>(Lsn(log.fetch_add(1, Ordering::SeqCst) as u64));
                        counts.commit(&one, next).unwrap();
                    }
                });
            }
            for _ in 0..500 {
                let (at, all) = counts.snapshot(|| log.load(Ordering::SeqCst));
                assert_eq!(all, [(rowset, at)]);
            }
        });
        assert_eq!(counts.get(rowset), Some(60_000));
    }
}
