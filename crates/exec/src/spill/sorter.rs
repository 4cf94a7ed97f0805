//! Sorting of more rows than memory can hold: sorted runs are written, then merged.
//!
//! Rows with equal keys keep the order in which they came: the sort of a run is stable, runs are merged with
//! their neighbours, and of equal rows that of the earlier run comes first.

use super::{Reader, Run, SpillFile, Stream};
use crate::operator::Operator;
use crate::sort::{SortKey, compare_keys, sort_rows};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_types::Value;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Runs that are merged at once, where there is memory for a row of each and its copy.
const FAN_IN: usize = 32;
/// A merge keeps a row of each run in memory, and the bytes that it was read from.
const ROW_COPIES: usize = 2;
/// Where only the first rows are wanted, so many times as many are stored before the others are dropped.
const TIMES: usize = 2;

/// A row and its keys.
type Keyed = (Vec<Value>, Vec<Value>);

/// Takes rows in.
#[derive(Debug)]
pub struct Sorter<'p> {
    keys: &'p [SortKey],
    /// How many of the first rows are wanted.
    most: usize,
    rows: Vec<Keyed>,
    grant: Grant,
    file: Option<Arc<SpillFile>>,
    runs: Vec<Arc<Run>>,
    /// What the widest row takes.
    widest: usize,
}

impl<'p> Sorter<'p> {
    /// Sorts by these keys; `most` rows of the result are needed.
    pub fn new(keys: &'p [SortKey], most: usize, cx: &Context) -> Sorter<'p> {
        Sorter {
            keys,
            most,
            rows: Vec::new(),
            grant: Grant::new(&cx.memory),
            file: None,
            runs: Vec::new(),
            widest: 0,
        }
    }

    /// Takes a row, of which `kept` is the part that comes out again.
    pub fn push(&mut self, row: &[Value], kept: &[Value], cx: &mut Context) -> Result<()> {
        let mut key = Vec::with_capacity(self.keys.len());
        for by in self.keys {
            key.push(by.expr.eval(row, cx)?.into_owned());
        }
        let bytes = row_bytes(&key) + row_bytes(kept);
        let fits = self.grant.fits(bytes, LEAST_BYTES);
        self.widest = self.widest.max(bytes);
        self.rows.push((key, kept.to_vec()));
        if self.rows.len() >= self.most.saturating_mul(TIMES).max(64) {
            self.cut(cx)?;
        }
        match fits {
            true => Ok(()),
            false => self.spill(cx),
        }
    }

    /// Sorts and throws away what comes behind the first rows that are wanted. The sort is stable: rows that
    /// came first stay before their equals, and of those no more are wanted than have come.
    fn cut(&mut self, cx: &Context) -> Result<()> {
        let keys = self.keys;
        sort_rows(&mut self.rows, cx, |a, b| compare_keys(keys, &a.0, &b.0))?;
        let thrown = self.rows.get(self.most..).unwrap_or_default();
        let bytes = |(key, row): &Keyed| row_bytes(key) + row_bytes(row);
        self.grant.give_back(thrown.iter().map(bytes).sum());
        self.rows.truncate(self.most);
        Ok(())
    }

    /// Writes a run.
    fn spill(&mut self, cx: &Context) -> Result<()> {
        self.cut(cx)?;
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(cx)?),
        };
        let mut stream = Stream::new(file);
        for (key, row) in self.rows.drain(..) {
            stream.push_parts(&key, &row)?;
        }
        self.runs.push(stream.finish()?);
        self.grant.give_all_back();
        Ok(())
    }

    /// All rows have come.
    pub fn finish(mut self, cx: &Context) -> Result<Sorted<'p>> {
        if self.runs.is_empty() {
            self.cut(cx)?;
            return Ok(Sorted::Kept {
                rows: self.rows.into_iter(),
                _grant: self.grant,
            });
        }
        if !self.rows.is_empty() {
            self.spill(cx)?;
        }
        let fan_in = cx
            .memory
            .fits_times(self.widest * ROW_COPIES)
            .clamp(2, FAN_IN);
        let mut runs = self.runs;
        while runs.len() > fan_in {
            let mut longer = Vec::with_capacity(runs.len().div_ceil(fan_in));
            for some in runs.chunks(fan_in) {
                let file = SpillFile::create(cx)?;
                let mut merge = Merge::new(self.keys, some)?;
                let mut stream = Stream::new(&file);
                let mut left = self.most;
                while left > 0
                    && let Some((key, row)) = merge.next()?
                {
                    stream.push_parts(&key, &row)?;
                    left -= 1;
                }
                longer.push(stream.finish()?);
            }
            runs = longer;
        }
        Ok(Sorted::Merged(Merge::new(self.keys, &runs)?))
    }
}

/// Rows in order.
#[derive(Debug)]
pub enum Sorted<'p> {
    Kept {
        rows: std::vec::IntoIter<Keyed>,
        /// What they take.
        _grant: Grant,
    },
    Merged(Merge<'p>),
}

impl Sorted<'_> {
    /// The keys of the next row, and the row.
    pub(crate) fn next_keyed(&mut self) -> Result<Option<Keyed>> {
        match self {
            Sorted::Kept { rows, .. } => Ok(rows.next()),
            Sorted::Merged(merge) => merge.next(),
        }
    }
}

impl Operator for Sorted<'_> {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        match self.next_keyed()? {
            Some((_, row)) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn close(&mut self, _: &mut Context) {}
}

/// The first row of a run that has not been given yet.
#[derive(Debug)]
struct Head<'p> {
    keys: &'p [SortKey],
    key: Vec<Value>,
    row: Vec<Value>,
    run: usize,
}

impl Ord for Head<'_> {
    /// The greatest is the one that comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        compare_keys(self.keys, &other.key, &self.key).then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head<'_> {}

/// Merges runs.
#[derive(Debug)]
pub struct Merge<'p> {
    keys: &'p [SortKey],
    readers: Vec<Reader>,
    heads: BinaryHeap<Head<'p>>,
}

impl<'p> Merge<'p> {
    fn new(keys: &'p [SortKey], runs: &[Arc<Run>]) -> Result<Merge<'p>> {
        let mut merge = Merge {
            keys,
            readers: runs.iter().map(Reader::new).collect(),
            heads: BinaryHeap::with_capacity(runs.len()),
        };
        for run in 0..merge.readers.len() {
            merge.advance(run)?;
        }
        Ok(merge)
    }

    fn advance(&mut self, run: usize) -> Result<()> {
        let Some(reader) = self.readers.get_mut(run) else {
            return Ok(());
        };
        if let Some(mut key) = reader.next()? {
            let row = key.split_off(self.keys.len().min(key.len()));
            self.heads.push(Head {
                keys: self.keys,
                key,
                row,
                run,
            });
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Keyed>> {
        let Some(head) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(head.run)?;
        Ok(Some((head.key, head.row)))
    }
}
