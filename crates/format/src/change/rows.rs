//! Lists of records in a change.

use crate::bytes::u16_at;

/// Records to append, each preceded by its length: what [`Change::LoadRows`](crate::Change::LoadRows)
/// carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowList<'a> {
    bytes: &'a [u8],
}

impl<'a> RowList<'a> {
    /// Reads a list; `None` where lengths and bytes do not agree.
    pub fn parse(bytes: &'a [u8]) -> Option<RowList<'a>> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = rest.get(2 + usize::from(u16_at(rest, 0)?)..)?;
        }
        Some(RowList { bytes })
    }

    /// The list as bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The records in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let len = usize::from(u16_at(rest, 0)?);
            let row = rest.get(2..2 + len)?;
            rest = rest.get(2 + len..).unwrap_or_default();
            Some(row)
        })
    }
}

/// Gathers records for a [`RowList`].
#[derive(Debug, Clone, Default)]
pub struct RowListBuilder {
    bytes: Vec<u8>,
}

impl RowListBuilder {
    /// An empty list.
    pub fn new() -> RowListBuilder {
        RowListBuilder::default()
    }

    /// Adds a record; `false`, with nothing added, when it is longer than a page.
    #[must_use]
    pub fn push(&mut self, row: &[u8]) -> bool {
        if row.len() > crate::PAGE_SIZE {
            return false;
        }
        self.bytes
            .extend_from_slice(&(row.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(row);
        true
    }

    /// The list.
    pub fn rows(&self) -> RowList<'_> {
        RowList { bytes: &self.bytes }
    }

    /// Empties the list and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}
