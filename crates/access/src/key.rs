//! Keys to search by: column values as they lie in rows.

use smallvec::SmallVec;
use twox_hash::XxHash3_64;

/// The values of the first key columns of a tree, or of all of them.
///
/// Stored as one byte string with the end of each column; cheap to make on the stack for usual keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Key {
    bytes: SmallVec<[u8; 32]>,
    ends: SmallVec<[u16; 4]>,
    nulls: SmallVec<[bool; 4]>,
}

impl Key {
    /// A key of no columns: before every row, or after, depending on the search.
    pub fn new() -> Key {
        Key::default()
    }

    /// A key of these columns.
    pub fn of(columns: &[Option<&[u8]>]) -> Key {
        let mut key = Key::new();
        for column in columns {
            key.push(*column);
        }
        key
    }

    /// Adds a column.
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.bytes.extend_from_slice(value.unwrap_or_default());
        debug_assert!(
            self.bytes.len() <= usize::from(u16::MAX),
            "ends of columns are 16 bits"
        );
        self.ends.push(self.bytes.len() as u16);
        self.nulls.push(value.is_none());
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all columns together.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Column `at`: `None` for NULL and beyond the last.
    #[inline]
    pub fn column(&self, at: usize) -> Option<&[u8]> {
        if *self.nulls.get(at)? {
            return None;
        }
        let start = at
            .checked_sub(1)
            .map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        self.bytes
            .get(usize::from(start)..usize::from(*self.ends.get(at)?))
    }

    /// The columns, for a row of them.
    pub fn columns(&self) -> SmallVec<[Option<&[u8]>; 8]> {
        (0..self.len()).map(|at| self.column(at)).collect()
    }

    /// Appends the key to a log record's undo part.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.len() as u8);
        debug_assert!(
            self.len() <= usize::from(u8::MAX),
            "one byte counts the columns"
        );
        for at in 0..self.len() {
            let value = self.column(at);
            let len = value.map_or(u16::MAX, |v| v.len() as u16);
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(value.unwrap_or_default());
        }
    }

    /// Reads what [`Key::encode`] wrote; takes it off the front of `bytes`.
    pub fn decode(bytes: &mut &[u8]) -> Option<Key> {
        let (&count, mut rest) = bytes.split_first()?;
        let mut key = Key::new();
        for _ in 0..count {
            let (len, after) = rest.split_first_chunk::<2>()?;
            let len = u16::from_le_bytes(*len);
            let size = if len == u16::MAX { 0 } else { usize::from(len) };
            let (value, after) = after.split_at_checked(size)?;
            if key.bytes.len() + value.len() > usize::from(u16::MAX) {
                return None;
            }
            key.push((len != u16::MAX).then_some(value));
            rest = after;
        }
        *bytes = rest;
        Some(key)
    }

    /// A hash for the lock manager: of the bytes, and of where each column ends. It is the same in every run,
    /// so a lock resource prints alike.
    pub fn hash(&self) -> u64 {
        let mut shape: SmallVec<[u8; 16]> = SmallVec::new();
        for (end, is_null) in self.ends.iter().zip(&self.nulls) {
            shape.extend(end.to_le_bytes());
            shape.push(u8::from(*is_null));
        }
        let seed = XxHash3_64::oneshot(&shape);
        XxHash3_64::oneshot_with_seed(seed, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_columns_nulls_and_empty_strings_apart() {
        let key = Key::of(&[Some(b"ab"), None, Some(b""), Some(b"xyz")]);
        assert_eq!(key.column(0), Some(&b"ab"[..]));
        assert_eq!(key.column(1), None);
        assert_eq!(key.column(2), Some(&b""[..]));
        assert_eq!(key.column(3), Some(&b"xyz"[..]));
        assert_eq!(key.column(4), None);
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        bytes.push(9);
        let mut rest = &bytes[..];
        assert_eq!(Key::decode(&mut rest), Some(key.clone()));
        assert_eq!(rest, [9]);
        assert_ne!(
            key.hash(),
            Key::of(&[Some(b"ab"), Some(b""), None, Some(b"xyz")]).hash()
        );
        for cut in 0..bytes.len() - 1 {
            assert_eq!(Key::decode(&mut &bytes[..cut]), None);
        }
    }
}
