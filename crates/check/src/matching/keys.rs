//! Keys in words, for sentences.

use super::Matcher;
use crate::facts::KeyRef;
use crate::plan::{ColumnPlan, LevelPlan};
use furrow_datafile::Stored;
use furrow_types::decode;

/// Longest value in a sentence.
const LONGEST: usize = 60;

/// `name = value`.
pub(super) fn pair_words(column: &ColumnPlan, name: &str, value: Option<&[u8]>) -> String {
    let text = match value {
        None => "NULL".to_owned(),
        Some(bytes) => match decode(&column.stored.data_type, bytes) {
            Ok(value) => value.to_string(),
            Err(_) => format!("{} bytes", bytes.len()),
        },
    };
    let cut: String = text.chars().take(LONGEST).collect();
    let name = if name.is_empty() { "key" } else { name };
    format!("{name} = {}", cut.trim_end())
}

/// The bytes of a value.
pub(super) fn bytes_of(stored: Option<&Stored<'_>>) -> Option<Vec<u8>> {
    match stored? {
        Stored::Null | Stored::NotStored => None,
        Stored::Bytes(bytes) | Stored::Pointer(bytes) => Some(bytes.to_vec()),
        Stored::Bit(bit) => Some(vec![u8::from(*bit)]),
    }
}

/// The key of a row in words.
pub(crate) fn row_words(level: &LevelPlan, values: &[Stored<'_>]) -> String {
    let words = level.key.iter().filter_map(|key| {
        let column = level.columns.get(key.column)?;
        let value = bytes_of(values.get(key.column));
        (!column.uniquifier).then(|| pair_words(column, &column.name, value.as_deref()))
    });
    words.collect::<Vec<_>>().join(" and ")
}

impl Matcher<'_> {
    /// The key of a non-leaf entry in words; columns have their names on the leaf level only.
    pub(super) fn key_words(
        &self,
        node: &LevelPlan,
        leaf: &LevelPlan,
        key: KeyRef,
    ) -> Option<String> {
        let values = self.facts.keys.get(key)?;
        let words = node
            .key
            .iter()
            .zip(values.columns())
            .filter_map(|(key, value)| {
                let column = node.columns.get(key.column)?;
                let id = column.stored.column_id;
                let named = leaf.columns.iter().find(|c| c.stored.column_id == id);
                let name = named.map_or("", |c| c.name.as_str());
                (!column.uniquifier).then(|| pair_words(column, name, value))
            });
        let words = words.collect::<Vec<_>>().join(" and ");
        (!words.is_empty()).then_some(words)
    }
}
