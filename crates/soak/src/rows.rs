//! Rows derived from their version, so that a reader can check every byte of a row.

/// Slots for tables; those below [`LASTING_TABLES`] are created at the start and stay.
pub const TABLES: u16 = 8;

/// Slots behind those, for tables that are loaded in bulk: one for each of so many sessions.
pub const LOADED: u16 = 8;

/// Tables that are never dropped.
pub const LASTING_TABLES: u16 = 4;

/// How the table of a slot is organised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Clustered by its key, with a unique nonclustered index.
    Clustered,
    /// Clustered by its key, descending, with a unique nonclustered index that carries the row's version
    /// along.
    Descending,
    /// Clustered by its key, with a nonclustered index that is not unique.
    Buckets,
    /// A heap, with its key and the bucket in nonclustered indexes.
    Heap,
    /// Clustered by its key, without another index: what bulk loads are quick with.
    Plain,
}

impl Kind {
    /// Of a slot.
    pub fn of(table: u16) -> Kind {
        match table % 4 {
            _ if table >= TABLES => Kind::Plain,
            0 => Kind::Clustered,
            1 => Kind::Descending,
            2 => Kind::Buckets,
            _ => Kind::Heap,
        }
    }

    /// Whether [`Row::twin`] is under a unique index.
    pub fn has_unique_twin(self) -> bool {
        matches!(self, Kind::Clustered | Kind::Descending)
    }
}

/// The columns of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: i64,
    /// Which version it is, from 1.
    pub version: u64,
    /// Different for different versions, in no order.
    pub twin: i64,
    /// One of few.
    pub bucket: i32,
    /// Of changing length, or NULL.
    pub text: Option<Vec<u8>>,
}

impl Row {
    /// The only right row of this key and version.
    pub fn new(key: i64, version: u64) -> Row {
        let word = mix(version);
        let len = match word % 100 {
            0..64 => word / 100 % 200,
            64..88 => 200 + word / 100 % 1_300,
            88..97 => 1_500 + word / 100 % 2_500,
            _ => 4_000 + word / 100 % 3_000,
        };
        let text = (word >> 60 != 0).then(|| text(key, version, len as usize));
        let bucket = (word >> 32) as i32 % 11;
        Row {
            key,
            version,
            twin: word as i64,
            bucket,
            text,
        }
    }
}

/// Bytes that depend on all three.
fn text(key: i64, version: u64, len: usize) -> Vec<u8> {
    let mut word = mix(version ^ (key as u64).rotate_left(32));
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&word.to_le_bytes());
        word = word.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
    }
    bytes.truncate(len);
    bytes
}

/// A permutation of the 64-bit numbers that leaves nothing of their order.
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn versions_have_twins_of_their_own_and_texts_of_all_lengths() {
        let rows: Vec<Row> = (1..4_000).map(|version| Row::new(7, version)).collect();
        let twins: BTreeSet<i64> = rows.iter().map(|row| row.twin).collect();
        assert_eq!(twins.len(), rows.len());
        let texts: Vec<usize> = rows
            .iter()
            .filter_map(|r| r.text.as_ref().map(Vec::len))
            .collect();
        assert!(texts.len() < rows.len() && texts.len() > rows.len() * 8 / 10);
        assert!(texts.contains(&0) && texts.iter().any(|len| *len > 6_000));
        assert!(texts.iter().all(|len| *len <= 7_000));
        assert_ne!(Row::new(1, 5).text, Row::new(2, 5).text);
        assert_eq!(Row::new(1, 5), Row::new(1, 5));
    }
}
