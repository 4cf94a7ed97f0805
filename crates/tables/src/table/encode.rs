//! Values of a row as bytes, before they are put in the order of an index.

use super::meta::{Column, Table};
use super::{Index, LeafColumn};
use crate::error::{ColumnFault, EngineError, refuse};
use crate::schema::MAX_KEY_BYTES;
use furrow_access::{AccessError, Key};
use furrow_format::{RowDraft, RowError, RowId, RowTemplate};
use furrow_messages::Message;
use furrow_types::{Family, TypeError, TypeId, Value, encode_into};
use std::sync::Arc;

/// Most columns that are handled without taking memory.
const FEW: usize = 32;

/// The columns of one row of a table, encoded; used again and again.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    columns: RowDraft,
    /// The row's number among those with its clustered key; empty is 0.
    pub(crate) uniquifier: [u8; 4],
    pub(crate) numbered: bool,
    /// The row's address in its heap.
    rid: [u8; 8],
}

impl RowBuffer {
    /// Forgets the row; the next one is of this table, all columns NULL.
    #[inline]
    pub(crate) fn clear(&mut self, table: &Table) {
        self.begin(table.columns.len(), table.base().template.as_ref());
    }

    /// The same, without a table.
    #[inline]
    pub(crate) fn begin(&mut self, columns: usize, template: Option<&Arc<RowTemplate>>) {
        self.columns.begin(columns, template);
        self.numbered = false;
    }

    /// Becomes the same row.
    pub(crate) fn copy_from(&mut self, other: &RowBuffer) {
        self.columns.copy_from(&other.columns);
        (self.uniquifier, self.numbered) = (other.uniquifier, other.numbered);
        self.rid = other.rid;
    }

    /// Appends the row, so that [`RowBuffer::from_bytes`] reads it again.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.numbered));
        out.extend_from_slice(&self.uniquifier);
        out.extend_from_slice(&self.rid);
        let (bytes, places) = self.columns.parts();
        out.extend_from_slice(&(places.len() as u32).to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        for place in places {
            let (start, end) = place.unwrap_or((u32::MAX, u32::MAX));
            out.extend_from_slice(&start.to_le_bytes());
            out.extend_from_slice(&end.to_le_bytes());
        }
        out.extend_from_slice(bytes);
    }

    /// The row that [`RowBuffer::append_to`] appended; `None` for bytes that are no row.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<RowBuffer> {
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let ([numbered], rest) = bytes.split_first_chunk()?;
        let (uniquifier, rest) = rest.split_first_chunk()?;
        let (rid, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (places, row) = rest.split_at_checked((number(count) as usize).checked_mul(8)?)?;
        let place = |bytes: &[u8]| {
            let (start, end) = bytes.split_first_chunk()?;
            let (start, end) = (number(start), number(end.first_chunk()?));
            match start {
                u32::MAX => Some(None),
                _ => row
                    .get(start as usize..end as usize)
                    .map(|_| Some((start, end))),
            }
        };
        let places = places.chunks_exact(8).map(place).collect::<Option<_>>()?;
        let bytes = (row.len() == number(len) as usize).then(|| row.to_vec())?;
        Some(RowBuffer {
            columns: RowDraft::of_parts(bytes, places),
            uniquifier: *uniquifier,
            numbered: *numbered != 0,
            rid: *rid,
        })
    }

    /// Sets a column to bytes that are its encoded value.
    #[inline]
    pub(crate) fn set_bytes(&mut self, column: usize, value: Option<&[u8]>) {
        self.columns.set(column, value);
    }

    /// Encodes a value for a column.
    #[inline]
    pub(crate) fn set(
        &mut self,
        table: &Table,
        column: usize,
        value: &Value,
    ) -> Result<(), EngineError> {
        let Some(of) = table.columns.get(column) else {
            return Err(EngineError::refused(213, &[]));
        };
        if value.is_null() {
            self.columns.set(column, None);
            return Ok(());
        }
        let encode = |out: &mut Vec<u8>| encode_into(&of.data_type, value, out);
        let set = self.columns.set_with(column, encode);
        set.map_err(|e| value_error(table, of, &e))
    }

    /// A column's bytes.
    #[inline]
    pub(crate) fn get(&self, column: usize) -> Option<&[u8]> {
        self.columns.get(column)
    }

    #[inline]
    fn leaf_value(&self, leaf: LeafColumn) -> Option<&[u8]> {
        match leaf {
            LeafColumn::Table(column) => self.get(column),
            LeafColumn::Uniquifier if self.numbered => Some(&self.uniquifier),
            LeafColumn::Uniquifier => Some(&[]),
            LeafColumn::Rid => Some(&self.rid),
        }
    }

    /// Whether another row has the same entry in an index: the same bytes in all its columns.
    pub(crate) fn has_same_entry(&self, other: &RowBuffer, index: &Index) -> bool {
        let same = |&leaf: &LeafColumn| self.leaf_value(leaf) == other.leaf_value(leaf);
        index.leaf.iter().all(same)
    }

    /// Whether another row has the same bytes in the key of an index.
    pub(crate) fn has_same_key(&self, other: &RowBuffer, index: &Index) -> bool {
        if index.id == 0 {
            return self.rid == other.rid;
        }
        let mut key = index.shape().key.iter();
        key.all(|column| {
            let leaf = index.leaf.get(column.leaf);
            leaf.is_none_or(|&leaf| self.leaf_value(leaf) == other.leaf_value(leaf))
        })
    }

    /// Notes the row's address in its heap.
    pub(crate) fn set_rid(&mut self, rid: RowId) {
        self.rid = rid.to_bytes();
    }

    pub(crate) fn set_uniquifier(&mut self, number: i32) {
        self.uniquifier = number.to_le_bytes();
        self.numbered = number != 0;
    }

    /// Takes over a row of the clustered index; or, then with its address, of the heap.
    pub(crate) fn load(
        &mut self,
        table: &Table,
        base: &Index,
        row: &[u8],
        rid: Option<RowId>,
    ) -> Result<(), EngineError> {
        self.clear(table);
        if let Some(rid) = rid {
            self.set_rid(rid);
        }
        let layout = &base.shape().leaf;
        let bad =
            || EngineError::Damaged(format!("a row of table '{}' cannot be read", table.name));
        let record = layout.record(row, layout.pminlen()).ok_or_else(bad)?;
        for (at, &leaf) in base.leaf.iter().enumerate() {
            let value = layout.value(record, at).map_err(row_error)?;
            match leaf {
                LeafColumn::Table(column) => self.set_bytes(column, value),
                LeafColumn::Uniquifier => {
                    let number = value
                        .and_then(|v| v.first_chunk())
                        .map_or(0, |c| i32::from_le_bytes(*c));
                    self.set_uniquifier(number);
                }
                LeafColumn::Rid => {}
            }
        }
        Ok(())
    }

    /// Appends the row of `index`, of which NULLs have been checked.
    #[inline]
    pub(crate) fn encode_row(&self, index: &Index, out: &mut Vec<u8>) -> Result<(), EngineError> {
        if self.finish_row(index, out) {
            return Ok(());
        }
        self.encode_values(index, out)
    }

    /// Appends the row of `index`, where it has been written column by column; `false`, with nothing
    /// appended, where its values have to be encoded, and for a NULL that its layout does not take.
    #[inline]
    pub(crate) fn finish_row(&self, index: &Index, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let template = index.template.as_ref();
        let finished = template.is_some_and(|template| self.columns.finish(template, out));
        debug_assert!(
            !finished || self.is_encoded(index, out.get(start..)),
            "both ways agree"
        );
        finished
    }

    /// 515 for NULL in a column that takes none.
    #[inline]
    pub(crate) fn check_nulls(&self, table: &Table) -> Result<(), EngineError> {
        for (at, column) in table.columns.iter().enumerate() {
            if !column.nullable && self.get(at).is_none() {
                return Err(null_error(table, column, "INSERT"));
            }
        }
        Ok(())
    }

    /// Whether these bytes are what its values are encoded to.
    fn is_encoded(&self, index: &Index, row: Option<&[u8]>) -> bool {
        let mut encoded = Vec::new();
        self.encode_values(index, &mut encoded).is_ok() && row == Some(&encoded)
    }

    /// Appends the row of `index`, from its values.
    pub(crate) fn encode_values(
        &self,
        index: &Index,
        out: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        let layout = &index.shape().leaf;
        // Fixed columns; then for each column a bit and an offset at most, and their numbers.
        let around = usize::from(layout.pminlen()) + 3 * index.leaf.len() + 8;
        out.reserve(around + self.columns.size_bytes());
        let mut few: [Option<&[u8]>; FEW] = [None; FEW];
        let count = index.leaf.len();
        let encoded = if let Some(values) = few.get_mut(..count) {
            for (value, &leaf) in values.iter_mut().zip(&index.leaf) {
                *value = self.leaf_value(leaf);
            }
            layout.encode(values, out)
        } else {
            let values: Vec<_> = index
                .leaf
                .iter()
                .map(|&leaf| self.leaf_value(leaf))
                .collect();
            layout.encode(&values, out)
        };
        encoded.map(|_| ()).map_err(row_error)
    }

    /// The whole key of `index`.
    #[inline]
    pub(crate) fn key(&self, index: &Index) -> Result<Key, EngineError> {
        let mut key = Key::new();
        if index.id == 0 {
            key.push(Some(&self.rid));
            return Ok(key);
        }
        for column in &index.shape().key {
            let leaf = index.leaf.get(column.leaf).copied();
            key.push(leaf.and_then(|leaf| self.leaf_value(leaf)));
        }
        if key.size_bytes() <= MAX_KEY_BYTES {
            return Ok(key);
        }
        // The columns of the index come first, then those that lead to the row: these do not count.
        let declared = (0..index.key.len()).map(|at| key.column(at).map_or(0, <[u8]>::len));
        let len = declared.sum::<usize>();
        if len > MAX_KEY_BYTES {
            let text = format!(
                "Operation failed. The index entry of length {len} bytes for the index '{}' exceeds \
                the maximum length of {MAX_KEY_BYTES} bytes for {} indexes.",
                index.name,
                if index.id == 1 {
                    "clustered"
                } else {
                    "nonclustered"
                },
            );
            return Err(refuse(1946, 16, 3, &text));
        }
        Ok(key)
    }
}

/// SQL Server's error for a row that cannot be encoded.
pub(crate) fn row_error(error: RowError) -> EngineError {
    match error {
        RowError::RowTooLarge { len } => {
            let text = format!(
                "Cannot create a row of size {len} which is greater than the allowable maximum row \
                size of 8060."
            );
            refuse(511, 16, 1, &text)
        }
        other => EngineError::Access(AccessError::Row(other)),
    }
}

/// A value that its column does not take.
pub(crate) fn value_error(table: &Table, column: &Column, error: &TypeError) -> EngineError {
    match error {
        TypeError::Truncated { kept } => column_fault(2628, table, column, kept),
        TypeError::IntegerOverflow { .. } | TypeError::Clash { .. } => {
            EngineError::of(Message::custom(error.number(), 16, 2, &error.to_string()))
        }
        _ => EngineError::of(Message::custom(error.number(), 16, 1, &error.to_string())),
    }
}

/// 515.
pub(crate) fn null_error(table: &Table, column: &Column, statement: &str) -> EngineError {
    column_fault(515, table, column, statement)
}

fn column_fault(number: u32, table: &Table, column: &Column, what: &str) -> EngineError {
    EngineError::Column(Box::new(ColumnFault {
        number,
        table: table.full_name(),
        column: column.name.clone(),
        what: what.to_owned(),
    }))
}

/// A key as messages show it: `(5, abc)`.
pub(crate) fn printed_key(index: &Index, table: &Table, key: &Key) -> String {
    let shown = index.key.iter().enumerate().map(|(at, part)| {
        let data_type = table.columns.get(part.column).map(|c| c.data_type);
        match (key.column(at), data_type) {
            (Some(bytes), Some(data_type)) => {
                let value = furrow_types::decode(&data_type, bytes);
                let text = value.map_or_else(|_| "?".to_owned(), |v| v.to_string());
                if data_type.id == TypeId::Bit || data_type.id.family() != Family::Char {
                    text
                } else {
                    text.trim_end().to_owned()
                }
            }
            _ => "<NULL>".to_owned(),
        }
    });
    format!("({})", shown.collect::<Vec<_>>().join(", "))
}

/// 2627 for constraints, 2601 for other unique indexes.
pub(crate) fn duplicate_error(index: &Index, table: &Table, key: &Key) -> EngineError {
    let shown = printed_key(index, table, key);
    let (name, object) = (index.name.as_str(), table.full_name());
    if index.is_primary_key() || index.is_unique_constraint() {
        let kind = if index.is_primary_key() {
            "PRIMARY KEY"
        } else {
            "UNIQUE KEY"
        };
        EngineError::refused(
            2627,
            &[kind.into(), name.into(), object.into(), shown.into()],
        )
    } else {
        EngineError::refused(2601, &[object.into(), name.into(), shown.into()])
    }
}
