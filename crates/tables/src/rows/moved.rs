//! Changing several rows as one: keys are compared when all rows have changed, so that rows may exchange
//! keys, or take those that others give up.
//!
//! 1. [`Session::take_out`] locks each row, and deletes its entries that do not stay where they are.
//! 2. [`Session::put_back`] inserts the new entries of each. An entry that is there by then is there at
//!    the end of the statement (2601, 2627).
//!
//! Between the two a row exists as a [`MovedRow`] alone. A caller with more of them than memory stores their
//! bytes elsewhere. Both calls belong to one transaction, and a caller that fails between them rolls it back.

use super::RowKey;
use super::change::{changed, moves};
use crate::error::EngineError;
use crate::session::Session;
use crate::table::{RowBuffer, Table};
use furrow_types::Value;
use std::sync::Arc;

/// A row between the two steps of its change: what it was and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRow(Vec<u8>);

impl MovedRow {
    fn of(old: &RowBuffer, new: &RowBuffer) -> MovedRow {
        let mut bytes = vec![0; 4];
        old.append_to(&mut bytes);
        let len = (bytes.len() - 4) as u32;
        if let Some(prefix) = bytes.first_chunk_mut() {
            *prefix = len.to_le_bytes();
        }
        new.append_to(&mut bytes);
        MovedRow(bytes)
    }

    fn rows(&self) -> Option<(RowBuffer, RowBuffer)> {
        let (len, rest) = self.0.split_first_chunk()?;
        let (old, new) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        Some((RowBuffer::from_bytes(old)?, RowBuffer::from_bytes(new)?))
    }

    /// The row as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The row that [`MovedRow::into_bytes`] gave these bytes for.
    pub fn from_bytes(bytes: Vec<u8>) -> MovedRow {
        MovedRow(bytes)
    }
}

impl Session {
    /// Takes a row out that a change moves; `None` where there is no such row.
    pub fn take_out(
        &mut self,
        table: &Arc<Table>,
        key: &RowKey,
        set: &[(usize, Value)],
    ) -> Result<Option<MovedRow>, EngineError> {
        self.statement(|session| {
            session.lock_for_change(table)?;
            let mut old = RowBuffer::default();
            if !session.own_row(table, &key.0, &mut old)? {
                return Ok(None);
            }
            let new = changed(table, &old, set)?;
            session.delete_moved(table, &old, &new)?;
            Ok(Some(MovedRow::of(&old, &new)))
        })
    }

    /// Puts a row back that was taken out.
    pub fn put_back(&mut self, table: &Arc<Table>, row: &MovedRow) -> Result<(), EngineError> {
        let Some((old, mut new)) = row.rows() else {
            let text = format!("a moved row of table '{}' cannot be read", table.name);
            return Err(EngineError::Damaged(text));
        };
        self.statement(|session| session.insert_moved(table, &old, &mut new))
    }

    /// Deletes what a change takes to another place: the whole row, or entries of it.
    fn delete_moved(
        &mut self,
        table: &Table,
        old: &RowBuffer,
        new: &RowBuffer,
    ) -> Result<(), EngineError> {
        let whole = moves(table.base(), old, new)?;
        for index in &table.indexes {
            if whole || moves(index, old, new)? {
                let key = old.key(index)?;
                self.delete_entry(table, index, &key)?;
            }
        }
        Ok(())
    }

    /// Inserts what [`Session::delete_moved`] deleted, as it is now, and changes the rest in place.
    fn insert_moved(
        &mut self,
        table: &Arc<Table>,
        old: &RowBuffer,
        new: &mut RowBuffer,
    ) -> Result<(), EngineError> {
        if moves(table.base(), old, new)? {
            return self.insert_row(table, new);
        }
        for index in &table.indexes {
            if moves(index, old, new)? {
                self.insert_entry(table, index, new)?;
            } else {
                self.update_entry(table, index, old, new)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_row_is_the_same_after_its_way_through_bytes() {
        let mut old = RowBuffer::default();
        old.begin(3, None);
        old.set_bytes(0, Some(b"first"));
        old.set_bytes(2, Some(b""));
        old.set_uniquifier(7);
        let mut new = RowBuffer::default();
        new.copy_from(&old);
        new.set_bytes(1, Some(b"second"));
        let bytes = MovedRow::of(&old, &new).into_bytes();
        let (a, b) = MovedRow::from_bytes(bytes.clone()).rows().unwrap();
        let columns = |row: &RowBuffer| (0..3).map(|at| row.get(at).map(<[u8]>::to_vec)).collect();
        let all: [Vec<Option<Vec<u8>>>; 4] = [&old, &a, &new, &b].map(columns);
        assert_eq!(all[0], all[1]);
        assert_eq!(all[2], all[3]);
        assert_eq!((a.uniquifier, a.numbered), (old.uniquifier, true));
        // Bytes that are none of a row are refused, whatever they say.
        for end in 0..bytes.len() {
            assert!(MovedRow::from_bytes(bytes[..end].to_vec()).rows().is_none());
        }
    }
}
