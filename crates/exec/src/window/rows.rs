//! The rows of a window in order, in memory or in a file.

use super::KeyedRow;
use crate::spill::{Reader, Run, SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::row_bytes;
use furrow_types::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows by their numbers.
pub(super) trait Rows {
    fn row(&mut self, at: usize) -> Result<&[Value]>;

    /// What a row is sorted by: partition, then order.
    fn keys(&mut self, at: usize) -> Result<&[Value]>;

    /// The same rows, for a reader at another place among them.
    fn again(&self) -> Self;
}

/// Rows in memory.
#[derive(Clone, Copy)]
pub(super) struct InMemory<'r>(pub(super) &'r [KeyedRow]);

impl Rows for InMemory<'_> {
    fn row(&mut self, at: usize) -> Result<&[Value]> {
        Ok(self.0.get(at).map_or(&[], |kept| kept.row.as_slice()))
    }

    fn keys(&mut self, at: usize) -> Result<&[Value]> {
        Ok(self.0.get(at).map_or(&[], |kept| kept.keys.as_slice()))
    }

    fn again(&self) -> Self {
        *self
    }
}

/// From one row whose place in the file is known to the next such one.
const MARK_ROWS: usize = 512;
/// Most rows before the last one read that stay in memory: frames look back a little.
const KEPT_ROWS: usize = 512;
const KEPT_BYTES: usize = 64 << 10;

/// Rows of a partition that are being written.
pub(super) struct Writing {
    stream: Stream,
    rows: usize,
    keys: usize,
    marks: Vec<u64>,
}

impl Writing {
    pub(crate) fn new(cx: &Context) -> Result<Writing> {
        Ok(Writing {
            stream: Stream::new(&SpillFile::create(cx)?),
            rows: 0,
            keys: 0,
            marks: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, kept: &KeyedRow) -> Result<()> {
        if self.rows.is_multiple_of(MARK_ROWS) {
            self.marks.push(self.stream.bytes());
        }
        self.rows += 1;
        self.keys = kept.keys.len();
        self.stream.push_parts(&kept.keys, &kept.row)
    }

    /// The rows, and how many they are.
    pub(super) fn finish(self) -> Result<(OnFile, usize)> {
        let run = self.stream.finish()?;
        let rows = OnFile {
            reader: Reader::new(&run),
            run,
            marks: self.marks.into(),
            keys: self.keys,
            next: 0,
            kept: VecDeque::new(),
            bytes: 0,
        };
        Ok((rows, self.rows))
    }
}

/// Rows in a file: each its keys and itself.
pub(super) struct OnFile {
    run: Arc<Run>,
    /// Where every so many rows begin.
    marks: Arc<[u64]>,
    /// How many values of each are keys.
    keys: usize,
    reader: Reader,
    /// The row that the reader is at.
    next: usize,
    /// The rows before it, as far as they are in memory, and the bytes they take.
    kept: VecDeque<Vec<Value>>,
    bytes: usize,
}

impl OnFile {
    fn both(&mut self, at: usize) -> Result<&[Value]> {
        let behind = at < self.next - self.kept.len();
        if behind || at >= self.next + MARK_ROWS {
            let mark = at / MARK_ROWS;
            if let Some(place) = self.marks.get(mark) {
                self.reader = Reader::from(&self.run, *place)?;
                self.next = mark * MARK_ROWS;
                self.kept.clear();
                self.bytes = 0;
            }
        }
        while self.next <= at {
            let Some(row) = self.reader.next()? else {
                return Ok(&[]);
            };
            self.next += 1;
            self.bytes += row_bytes(&row);
            self.kept.push_back(row);
            while self.kept.len() > 1 && (self.kept.len() > KEPT_ROWS || self.bytes > KEPT_BYTES) {
                let gone = self.kept.pop_front();
                self.bytes -= gone.map_or(0, |row| row_bytes(&row));
            }
        }
        let place = (at + self.kept.len()).checked_sub(self.next);
        let found = place.and_then(|place| self.kept.get(place));
        Ok(found.map_or(&[], Vec::as_slice))
    }
}

impl Rows for OnFile {
    fn row(&mut self, at: usize) -> Result<&[Value]> {
        let keys = self.keys;
        Ok(self.both(at)?.get(keys..).unwrap_or(&[]))
    }

    fn keys(&mut self, at: usize) -> Result<&[Value]> {
        let keys = self.keys;
        Ok(self.both(at)?.get(..keys).unwrap_or(&[]))
    }

    fn again(&self) -> Self {
        OnFile {
            run: Arc::clone(&self.run),
            marks: Arc::clone(&self.marks),
            keys: self.keys,
            reader: Reader::new(&self.run),
            next: 0,
            kept: VecDeque::new(),
            bytes: 0,
        }
    }
}
