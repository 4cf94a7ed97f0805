//! Rows that are stored as they came: to be given once, or to be read as often as wanted.

use super::{Reader, Run, SpillFile, SpillPlace, Stream};
use crate::operator::{Operator, Plan};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_types::Value;
use std::sync::Arc;

/// Takes rows in.
#[derive(Debug)]
pub struct RowWriter {
    rows: Vec<Vec<Value>>,
    grant: Grant,
    /// Takes all rows from the first one on for which there was no memory.
    stream: Option<Stream>,
    len: u64,
    place: SpillPlace,
}

impl RowWriter {
    /// A writer without rows.
    pub fn new(cx: &Context) -> RowWriter {
        RowWriter::at(&SpillPlace::of(cx))
    }

    /// The same where no context is at hand.
    pub fn at(place: &SpillPlace) -> RowWriter {
        RowWriter {
            rows: Vec::new(),
            grant: Grant::new(&place.memory),
            stream: None,
            len: 0,
            place: place.clone(),
        }
    }

    /// Takes a row: in memory where there is space for it, otherwise in a file.
    pub fn push(&mut self, row: Vec<Value>) -> Result<()> {
        self.len += 1;
        if let Some(stream) = &mut self.stream {
            return stream.push(&row);
        }
        let fits = self.grant.fits(row_bytes(&row), LEAST_BYTES);
        self.rows.push(row);
        if !fits {
            self.stream = Some(Stream::new(&SpillFile::create_in(&self.place)?));
        }
        Ok(())
    }

    /// All rows have come.
    pub fn finish(self) -> Result<Rows> {
        Ok(Rows {
            rows: self.rows,
            grant: self.grant,
            written: self.stream.map(Stream::finish).transpose()?,
            len: self.len,
        })
    }
}

/// Rows that are read as often as wanted: first those in memory, then those in the file.
#[derive(Debug)]
pub struct Rows {
    pub(super) rows: Vec<Vec<Value>>,
    /// What they take.
    grant: Grant,
    pub(super) written: Option<Arc<Run>>,
    len: u64,
}

impl Rows {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.len
    }

    /// Gives each row with its number, from 0.
    pub fn for_each(&self, mut then: impl FnMut(u64, &[Value]) -> Result<()>) -> Result<()> {
        let mut number = 0;
        for row in &self.rows {
            then(number, row)?;
            number += 1;
        }
        let Some(run) = &self.written else {
            return Ok(());
        };
        let mut reader = Reader::new(run);
        while let Some(row) = reader.next()? {
            then(number, &row)?;
            number += 1;
        }
        Ok(())
    }
}

/// All rows of a plan, given once.
#[derive(Debug)]
pub struct Store {
    rows: std::vec::IntoIter<Vec<Value>>,
    _grant: Grant,
    written: Option<Reader>,
    len: u64,
}

impl Store {
    /// Runs a plan to its end.
    pub fn collect(plan: &Plan, cx: &mut Context) -> Result<Store> {
        let mut writer = RowWriter::new(cx);
        plan.for_each(cx, &mut |_, row| writer.push(row.to_vec()))?;
        Ok(writer.finish()?.into())
    }

    /// How many rows it has.
    pub fn row_count(&self) -> u64 {
        self.len
    }
}

impl From<Rows> for Store {
    fn from(all: Rows) -> Store {
        Store {
            rows: all.rows.into_iter(),
            _grant: all.grant,
            written: all.written.map(|run| Reader::new(&run)),
            len: all.len,
        }
    }
}

impl Operator for Store {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let row = match (self.rows.next(), &mut self.written) {
            (Some(row), _) => Some(row),
            (None, Some(written)) => written.next()?,
            (None, None) => None,
        };
        let Some(row) = row else { return Ok(false) };
        *out = row;
        Ok(true)
    }

    fn close(&mut self, _: &mut Context) {}
}
