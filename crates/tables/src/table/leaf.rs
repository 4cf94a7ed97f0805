//! Rows that are looked at where they lie, under the latch of their page: nothing of them is copied but what
//! is wanted.

use super::within::Within;
use super::{Index, Row, Table};
use crate::error::EngineError;
use furrow_access::InPlace;
use furrow_format::{Place, RecordKind, Status};
use furrow_types::TypeId;
use std::fmt;

/// The callback that looks at rows in place, and which of them belong to the range.
pub(crate) struct Taker<'v, 'r> {
    rows: LeafRows<'r>,
    within: Option<&'v Within>,
    taken: usize,
}

/// What a scan does with rows that it looks at where they lie:
/// [`Session::step_leaf`](crate::Session::step_leaf).
#[expect(
    missing_debug_implementations,
    reason = "a closure has nothing to show"
)]
pub enum LeafRows<'v> {
    /// Each is looked at. This happens under the latch of its page: it must neither wait nor call the engine.
    /// No page is begun after so many rows.
    Each(&'v mut dyn FnMut(LeafRow<'_>), usize),
    /// They are counted.
    Count(&'v mut u64),
}

impl<'v, 'r> Taker<'v, 'r> {
    pub(crate) fn new(rows: LeafRows<'r>, within: Option<&'v Within>) -> Taker<'v, 'r> {
        Taker {
            rows,
            within,
            taken: 0,
        }
    }

    pub(crate) fn in_place(&self) -> InPlace {
        match (&self.rows, self.within) {
            (LeafRows::Count(_), None) => InPlace::Count,
            _ => InPlace::Rows,
        }
    }

    pub(crate) fn take(&mut self, table: &Table, index: &Index, row: &[u8]) {
        if self.within.is_some_and(|within| !within.holds(index, row)) {
            return;
        }
        match &mut self.rows {
            LeafRows::Count(rows) => **rows += 1,
            LeafRows::Each(each, _) => {
                self.taken += 1;
                each(LeafRow {
                    table,
                    index,
                    bytes: row,
                });
            }
        }
    }

    pub(crate) fn wants_more(&self) -> bool {
        match &self.rows {
            LeafRows::Each(_, most) => self.taken < *most,
            LeafRows::Count(_) => true,
        }
    }

    pub(crate) fn count(&mut self, more: u64) {
        if let LeafRows::Count(rows) = &mut self.rows {
            **rows += more;
        }
    }
}

/// A row where it lies, under the latch of its page.
#[derive(Clone, Copy)]
pub struct LeafRow<'a> {
    table: &'a Table,
    index: &'a Index,
    /// From its first byte on, and what lies behind it.
    bytes: &'a [u8],
}

impl fmt::Debug for LeafRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LeafRow").field(&self.row()).finish()
    }
}

/// Where the data rows of an index have a column of whole numbers.
#[derive(Debug, Clone, Copy)]
pub struct NumberColumn {
    kind: TypeId,
    offset: usize,
    len: usize,
    null_bit: Option<usize>,
}

/// What a row has in a [`NumberColumn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// NULL.
    Null,
    /// This number.
    Is(i64),
    /// A row of an unusual form, or damaged: [`LeafRow::row`] reads it.
    Unclear,
}

/// Where the fixed columns of a data record begin.
const FIXED_START: usize = 4;

impl NumberColumn {
    pub(crate) fn of(index: &Index, column: usize) -> Option<NumberColumn> {
        let at = index.leaf_of.get(column).copied().flatten()?;
        let layout = &index.shape().leaf;
        let column = layout.columns().get(at)?;
        let len = match column.kind {
            TypeId::TinyInt => 1,
            TypeId::SmallInt => 2,
            TypeId::Int => 4,
            TypeId::BigInt => 8,
            _ => return None,
        };
        match column.place {
            Place::Fixed(offset) if layout.form().is_data() => Some(NumberColumn {
                kind: column.kind,
                offset: usize::from(offset),
                len,
                null_bit: column.null_bit.map(usize::from),
            }),
            _ => None,
        }
    }

    #[inline]
    fn read(&self, row: &[u8]) -> Option<Number> {
        let word = |at: usize| {
            let bytes = row.get(at..at + 2)?.try_into().ok()?;
            Some(usize::from(u16::from_le_bytes(bytes)))
        };
        let status = Status(*row.first()?);
        let plain = matches!(status.kind(), RecordKind::Primary | RecordKind::Forwarded);
        let fixed_end = word(2)?;
        if !plain || self.offset < FIXED_START || self.offset + self.len > fixed_end {
            return None;
        }
        if let Some(bit) = self.null_bit {
            if !status.has(Status::NULL_BITMAP) || bit >= word(fixed_end)? {
                return None;
            }
            let byte = *row.get(fixed_end + 2 + bit / 8)?;
            if byte & (1 << (bit % 8)) != 0 {
                return Some(Number::Null);
            }
        }
        let bytes = row.get(self.offset..self.offset + self.len)?;
        Some(Number::Is(match self.kind {
            TypeId::Int => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
            TypeId::BigInt => i64::from_le_bytes(bytes.try_into().ok()?),
            TypeId::SmallInt => i64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
            _ => i64::from(*bytes.first()?),
        }))
    }
}

impl<'a> LeafRow<'a> {
    /// The row, for all its columns.
    #[inline]
    pub fn row(&self) -> Result<Row<'a>, EngineError> {
        Row::new(self.table, self.index, self.bytes)
    }

    /// What it has in a column of whole numbers.
    #[inline]
    pub fn number(&self, column: &NumberColumn) -> Number {
        column.read(self.bytes).unwrap_or(Number::Unclear)
    }
}
