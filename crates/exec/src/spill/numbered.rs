//! Stored rows that are read by number, forwards and backwards: those of cursors.

use super::{Reader, Rows};
use furrow_context::cursors::CursorRows;
use furrow_context::error::Result;
use furrow_types::Value;

/// Of the rows in a file the place of each so many is noted: to read one, at most as many are passed over.
const STRIDE: u64 = 64;

/// Rows by number.
#[derive(Debug)]
pub struct NumberedRows {
    rows: Rows,
    /// Where in the file rows begin: of row 0 of the file, `STRIDE`, and on, as far as has been read.
    places: Vec<u64>,
    /// Where reading has come to: the number of the next row of the file.
    reader: Option<(u64, Reader)>,
}

impl From<Rows> for NumberedRows {
    fn from(rows: Rows) -> NumberedRows {
        NumberedRows {
            rows,
            places: vec![0],
            reader: None,
        }
    }
}

impl NumberedRows {
    /// A row of those in the file.
    fn read_file(&mut self, number: u64) -> Result<Option<Vec<Value>>> {
        let Some(run) = &self.rows.written else {
            return Ok(None);
        };
        let known = (number / STRIDE).min(self.places.len() as u64 - 1);
        let is_near = |next: u64| next <= number && next >= known * STRIDE;
        let (mut next, mut reader) = match self.reader.take().filter(|(next, _)| is_near(*next)) {
            Some(open) => open,
            None => {
                let place = self.places.get(known as usize).copied().unwrap_or(0);
                (known * STRIDE, Reader::from(run, place)?)
            }
        };
        let mut row = None;
        while next <= number {
            row = reader.next()?;
            next += 1;
            if next.is_multiple_of(STRIDE) && next / STRIDE == self.places.len() as u64 {
                self.places.push(run.bytes - reader.left);
            }
            if row.is_none() {
                break;
            }
        }
        self.reader = Some((next, reader));
        Ok(row)
    }
}

impl CursorRows for NumberedRows {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn get(&mut self, number: u64) -> Result<Option<Vec<Value>>> {
        if number >= self.count() {
            return Ok(None);
        }
        let in_memory = self.rows.rows.len() as u64;
        match number.checked_sub(in_memory) {
            None => Ok(self.rows.rows.get(number as usize).cloned()),
            Some(number) => self.read_file(number),
        }
    }
}
