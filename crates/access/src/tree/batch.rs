//! Rows to be loaded, and how many of them a page takes.

use crate::AccessError;
use furrow_format::{MAX_ROW_SIZE, Page, RowError, SLOT_SIZE};

/// Encoded rows to be loaded, one behind the other. A batch is cleared and used again.
#[derive(Debug, Clone, Default)]
pub struct RowBatch {
    /// Each row follows its length, as in a log record.
    pub(super) bytes: Vec<u8>,
    rows: usize,
}

impl RowBatch {
    /// An empty batch.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// Adds a row that `encode` appends to the buffer. On an error nothing is added.
    #[inline]
    pub fn push_with<E: From<AccessError>>(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        let encoded = encode(&mut self.bytes);
        let len = self.bytes.len().saturating_sub(start + 2);
        let checked = match encoded {
            Ok(()) if len > MAX_ROW_SIZE => {
                Err(AccessError::Row(RowError::RowTooLarge { len }).into())
            }
            other => other,
        };
        match self
            .bytes
            .get_mut(start..)
            .and_then(|b| b.first_chunk_mut())
        {
            Some(prefix) if checked.is_ok() => *prefix = (len as u16).to_le_bytes(),
            _ => {
                self.bytes.truncate(start);
                return checked;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds an encoded row.
    pub fn push(&mut self, row: &[u8]) -> Result<(), AccessError> {
        self.push_with(|out| {
            out.extend_from_slice(row);
            Ok(())
        })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of all rows and their lengths.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the rows; their memory stays allocated.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        Rows(&self.bytes)
    }

    /// The rows in order, without the first ones.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = &[u8]> + Clone {
        let mut rows = Rows(&self.bytes);
        for _ in 0..first {
            rows.next();
        }
        rows
    }
}

/// Iterates over rows, each of which follows its length.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Rows<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk()?;
        let (row, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        self.0 = rest;
        Some(row)
    }
}

/// The first rows of a batch: those that one leaf takes.
pub(super) struct Run<'a> {
    pub(super) rows: usize,
    pub(super) bytes: &'a [u8],
    pub(super) first: &'a [u8],
    pub(super) last: &'a [u8],
}

impl<'a> Rows<'a> {
    /// Removes as many rows from the front as fit into `free` bytes of a page, and returns them. `None` if no
    /// row fits.
    pub(super) fn take_run(&mut self, view: Page<'_>, free: usize) -> Option<Run<'a>> {
        let (all, mut left) = (self.0, free);
        let mut run: Option<Run<'a>> = None;
        loop {
            let mut ahead = *self;
            let Some(row) = ahead.next() else { break };
            let Some(after) = left.checked_sub(view.room_of(row.len()) + SLOT_SIZE) else {
                break;
            };
            left = after;
            *self = ahead;
            match &mut run {
                Some(run) => (run.rows, run.last) = (run.rows + 1, row),
                None => {
                    run = Some(Run {
                        rows: 1,
                        bytes: &[],
                        first: row,
                        last: row,
                    });
                }
            }
        }
        let taken = all.len() - self.0.len();
        run.map(|run| Run {
            bytes: all.get(..taken).unwrap_or_default(),
            ..run
        })
    }
}
