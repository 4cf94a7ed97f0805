//! Values of rows at rest: in the row, outside of it, among sparse columns, or older than their column.

use super::{Row, encode};
use crate::error::{EngineError, refuse};
use crate::table::Storage;
use furrow_access::{large_len, read_large};
use furrow_format::Held;
use furrow_types::{Family, Value, decode};

/// First bytes of the variable column that holds the sparse ones.
const SPARSE_VECTOR: u16 = 5;
/// Most bytes that are set aside for a value before any of it is read: a pointer may promise anything.
const MOST_AHEAD: u64 = 1 << 20;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| u16::from_le_bytes(*b))
}

/// A sparse column's bytes in the vector of those that are not NULL: marker, count, the columns' numbers,
/// where each ends, values.
fn sparse_value(vector: &[u8], column_id: i32) -> Option<Held<'_>> {
    let count = usize::from(u16_at(vector, 2)?);
    let id_at = |at: usize| u16_at(vector, 4 + 2 * at);
    let end_at = |at: usize| u16_at(vector, 4 + 2 * (count + at)).map(usize::from);
    let Some(at) = (0..count).find(|&at| id_at(at).map(i32::from) == Some(column_id)) else {
        return Some(Held::Null);
    };
    let start = match at.checked_sub(1) {
        Some(before) => end_at(before)?,
        None => 4 + 4 * count,
    };
    vector.get(start..end_at(at)?).map(Held::Here)
}

impl<'a> Row<'a> {
    /// What the row stores for a column.
    pub(super) fn held(&self, column: usize) -> Result<Held<'a>, EngineError> {
        let of = self.column(column)?;
        if let Some(why) = of.storage.obstacle() {
            let table = self.table.full_name();
            let text = format!(
                "Column '{}' of table '{table}' cannot be read: {why}.",
                of.name
            );
            return Err(refuse(40516, 16, 2, &text));
        }
        if of.storage == Storage::Sparse {
            return self.held_sparse(of.id);
        }
        let at = self.index.leaf_of.get(column).copied().flatten();
        let at = at.ok_or_else(|| {
            let text = format!("index '{}' does not have '{}'", self.index.name, of.name);
            EngineError::Damaged(text)
        })?;
        let layout = &self.index.shape().leaf;
        layout.held(self.record, at).map_err(encode::row_error)
    }

    fn held_sparse(&self, column_id: i32) -> Result<Held<'a>, EngineError> {
        let mut vars = (0..self.record.var_count()).filter_map(|at| self.record.var(at));
        let vector =
            vars.find(|(bytes, complex)| *complex && u16_at(bytes, 0) == Some(SPARSE_VECTOR));
        let Some((vector, _)) = vector else {
            return Ok(Held::Null);
        };
        sparse_value(vector, column_id).ok_or_else(|| {
            EngineError::Damaged("the sparse columns of a row do not hold together".to_owned())
        })
    }

    fn column(&self, column: usize) -> Result<&'a super::Column, EngineError> {
        let of = self.table.columns.get(column);
        of.ok_or_else(|| EngineError::Damaged(format!("no column {column}")))
    }

    /// Whether the value of a column lies outside of the row, so that [`Row::bytes`] does not have it:
    /// [`Row::value`] and [`Row::read_bytes`] do.
    pub fn is_outside(&self, column: usize) -> bool {
        self.index.shape().at_rest && !matches!(self.held(column), Ok(Held::Here(_) | Held::Null))
    }

    /// Hands the bytes of a column as they are stored to `sink`, piece by piece, wherever they lie: a value
    /// of two gigabytes takes no more memory than a short one. `false` for NULL.
    pub fn read_bytes(
        &self,
        column: usize,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        if !self.index.shape().at_rest {
            return match self.bytes(column) {
                Some(bytes) => sink(bytes).map(|()| true),
                None => Ok(false),
            };
        }
        match self.held(column)? {
            Held::Null => Ok(false),
            Held::Here(bytes) => sink(bytes).map(|()| true),
            Held::Elsewhere(pointer) => {
                read_large(self.index.rowset.store(), pointer, sink)?;
                Ok(true)
            }
            Held::Missing => match self.index.older.get(&column) {
                None => Ok(false),
                Some(value) => {
                    let of = self.column(column)?;
                    let bytes = furrow_types::encode(&of.data_type, value);
                    let bytes = bytes.map_err(|e| encode::value_error(self.table, of, &e))?;
                    sink(&bytes).map(|()| true)
                }
            },
        }
    }

    /// The value of a column of a row at rest.
    pub(super) fn resting_value(&self, column: usize) -> Result<Value, EngineError> {
        let of = self.column(column)?;
        let mut collected;
        let bytes = match self.held(column)? {
            Held::Null => return Ok(Value::Null),
            Held::Missing => {
                let value = self.index.older.get(&column);
                return Ok(value.cloned().unwrap_or(Value::Null));
            }
            Held::Here(bytes) => bytes,
            Held::Elsewhere(pointer) => {
                let promised = large_len(pointer).unwrap_or(0).min(MOST_AHEAD);
                collected = Vec::with_capacity(promised as usize);
                let mut sink = |piece: &[u8]| -> Result<(), EngineError> {
                    collected.extend_from_slice(piece);
                    Ok(())
                };
                read_large(self.index.rowset.store(), pointer, &mut sink)?;
                &collected
            }
        };
        // The catalog stores the empty variant as no bytes.
        if bytes.is_empty() && of.data_type.id.family() == Family::Variant {
            return Ok(Value::Null);
        }
        decode(&of.data_type, bytes).map_err(|e| encode::value_error(self.table, of, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_column_is_found_among_those_that_are_not_null() {
        let vector = [5, 0, 2, 0, 3, 0, 9, 0, 14, 0, 15, 0, b'a', b'b', b'c'];
        assert_eq!(sparse_value(&vector, 3), Some(Held::Here(b"ab")));
        assert_eq!(sparse_value(&vector, 9), Some(Held::Here(b"c")));
        assert_eq!(sparse_value(&vector, 4), Some(Held::Null));
        for cut in 0..vector.len() {
            let _any = sparse_value(&vector[..cut], 9);
        }
    }
}
