//! Rows that are kept as they came and given once.

use super::{Reader, SpillFile, Stream};
use crate::context::Context;
use crate::error::Result;
use crate::exec::memory::{Grant, LEAST_BYTES, row_bytes};
use crate::exec::operator::{Operator, Plan};
use furrow_types::Value;

/// All rows of a plan: first those that found room, then those that did not.
#[derive(Debug)]
pub(crate) struct Store {
    rows: std::vec::IntoIter<Vec<Value>>,
    _grant: Grant,
    written: Option<Reader>,
    len: u64,
}

impl Store {
    /// Runs a plan to its end.
    pub(crate) fn collect(plan: &Plan, cx: &mut Context) -> Result<Store> {
        let mut rows = Vec::new();
        let mut grant = Grant::new(cx);
        let mut stream: Option<Stream> = None;
        let mut len = 0;
        plan.for_each(cx, &mut |cx, row| {
            len += 1;
            if let Some(stream) = &mut stream {
                return stream.push(row);
            }
            rows.push(row.to_vec());
            if !grant.fits(row_bytes(row), LEAST_BYTES) {
                stream = Some(Stream::new(&SpillFile::create(cx)?));
            }
            Ok(())
        })?;
        let written = stream.map(Stream::finish).transpose()?;
        Ok(Store {
            rows: rows.into_iter(),
            _grant: grant,
            written: written.map(|run| Reader::new(&run)),
            len,
        })
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> u64 {
        self.len
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
