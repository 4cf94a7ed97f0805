//! Sparse columns: the vector in which a row keeps those that are not NULL.
//!
//! The vector is a complex variable column of its own: the number 5, the number of columns, their ids, where
//! the value of each ends, the values. Ends count from the start of the vector, or from the first value: the
//! last end shows which, as it must be the end of the vector.

use crate::MdfError;
use crate::column::StoredColumn;
use furrow_format::u16_at;
use furrow_format::{Record, RowId};
use furrow_types::{TypeId, Value, decode};

/// The first two bytes of the vector.
const VECTOR: u16 = 5;

/// The value of a sparse column.
pub(crate) fn value(
    at: RowId,
    record: &Record<'_>,
    column: &StoredColumn,
) -> Result<Value, MdfError> {
    let vector = (0..record.var_count())
        .filter_map(|ordinal| record.var(ordinal))
        .find(|(bytes, complex)| *complex && u16_at(bytes, 0) == Some(VECTOR));
    let Some((vector, _)) = vector else {
        return Ok(Value::Null);
    };
    let found = find(vector, column.column_id).ok_or_else(|| MdfError::DamagedRecord {
        at,
        what: "its sparse columns do not hold together".to_owned(),
    })?;
    let Some(bytes) = found else {
        return Ok(Value::Null);
    };
    // Where such a value has left its row is not known.
    if column.data_type.is_max() || column.data_type.id == TypeId::Xml {
        let what = format!("sparse column {} of a large type", column.column_id);
        return Err(MdfError::Unsupported { what });
    }
    decode(&column.data_type, bytes).map_err(|error| MdfError::BadValue {
        at,
        column: column.column_id,
        error,
    })
}

/// The bytes of a column in the vector, `Some(None)` where it isn't in it, `None` when the vector is damaged.
fn find(vector: &[u8], column_id: i32) -> Option<Option<&[u8]>> {
    let count = usize::from(u16_at(vector, 2)?);
    let values = 4 + 4 * count;
    let word = |index: usize| u16_at(vector, 4 + 2 * index).map(usize::from);
    let Some(last) = count.checked_sub(1) else {
        return Some(None);
    };
    let base = match word(count + last)? {
        end if end == vector.len() => 0,
        end if end + values == vector.len() => values,
        _ => return None,
    };
    for index in 0..count {
        if word(index)? as i32 != column_id {
            continue;
        }
        let start = match index.checked_sub(1) {
            Some(before) => base + word(count + before)?,
            None => values,
        };
        return vector.get(start..base + word(count + index)?).map(Some);
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(ids: &[u16], ends: &[u16], values: &[u8]) -> Vec<u8> {
        let words = [VECTOR, ids.len() as u16];
        let words = words.iter().chain(ids).chain(ends);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(values);
        bytes
    }

    #[test]
    fn a_column_is_found_by_its_id_whatever_ends_are_counted_from() {
        for base in [0, 12] {
            let vector = vector(&[3, 9], &[base + 2, base + 5], b"abcde");
            assert_eq!(find(&vector, 3), Some(Some(&b"ab"[..])), "{base}");
            assert_eq!(find(&vector, 9), Some(Some(&b"cde"[..])), "{base}");
            assert_eq!(find(&vector, 4), Some(None));
        }
        assert_eq!(find(&vector(&[], &[], b""), 1), Some(None));
    }

    #[test]
    fn a_vector_that_does_not_add_up_is_damage() {
        assert_eq!(find(&vector(&[3], &[7], b"ab"), 3), None);
        assert_eq!(find(&vector(&[3, 4], &[9, 2], b"ab"), 4), None);
        assert_eq!(find(&[5, 0, 9, 0, 1], 1), None);
        assert_eq!(find(&[5, 0], 1), None);
    }
}
