//! Texts of modules, checks and defaults: in pieces that fit a row of `sysobjvalues`.
//!
//! SQL Server keeps a long text out of its row. Here a row holds the start, and rows with the next numbers
//! (`valnum`) the rest, so that texts of any length need nothing but rows.

use furrow_format::catalog::{ObjectValue, value_class};
use furrow_types::Value;

/// Bytes of a text that one row takes.
const PIECE_BYTES: usize = 7000;

/// The rows of an object's text.
pub(crate) fn text_rows(object: i32, text: &str) -> Vec<ObjectValue> {
    let row = |valnum: i32, piece: &[u8]| ObjectValue {
        valclass: value_class::TEXT,
        objid: object,
        subobjid: 0,
        valnum,
        value: Value::Null,
        imageval: Some(piece.to_vec()),
    };
    if text.is_empty() {
        return vec![row(0, &[])];
    }
    let pieces = text.as_bytes().chunks(PIECE_BYTES);
    (0..)
        .zip(pieces)
        .map(|(at, piece)| row(at, piece))
        .collect()
}

/// The text of an object, from rows of this and others.
pub(crate) fn text_of(values: &[ObjectValue], object: i32) -> Option<String> {
    let own = |v: &&ObjectValue| v.valclass == value_class::TEXT && v.objid == object;
    let mut rows: Vec<&ObjectValue> = values.iter().filter(own).collect();
    rows.sort_by_key(|v| v.valnum);
    rows.first()?;
    let bytes: Vec<u8> = rows
        .iter()
        .flat_map(|v| v.imageval.as_deref().unwrap_or_default())
        .copied()
        .collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_come_back_whole() {
        for len in [0, 1, 6999, 7000, 7001, 50_000] {
            let text: String = (0..len)
                .map(|i| ['a', '\u{e9}', '\u{20ac}'][i % 3])
                .collect();
            let mut rows = text_rows(7, &text);
            rows.reverse();
            rows.extend(text_rows(8, "other"));
            assert_eq!(text_of(&rows, 7), Some(text));
        }
        assert_eq!(text_of(&[], 7), None);
    }
}
