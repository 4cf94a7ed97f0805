//! Searching by an integer: the usual first column of a key, compared without looking at anything else of a
//! record.

use crate::Key;
use crate::shape::Shape;
use furrow_format::types::TypeId;
use furrow_format::{Page, Place, RowLayout};
use std::cmp::Ordering;

/// Where the first key column lies in records, when it is an `int` or a `bigint` that is never NULL.
#[derive(Debug, Clone, Copy)]
pub(super) struct IntKey {
    leaf_offset: usize,
    node_offset: usize,
    wide: bool,
    descending: bool,
}

impl IntKey {
    pub(super) fn of(shape: &Shape) -> Option<IntKey> {
        let column = shape.key.first()?;
        let wide = match column.data_type.id {
            TypeId::BigInt => true,
            TypeId::Int => false,
            _ => return None,
        };
        let offset_in = |layout: &RowLayout, number: usize| {
            let column = layout.columns().get(number)?;
            match column.place {
                Place::Fixed(offset) if !column.nullable => Some(usize::from(offset)),
                _ => None,
            }
        };
        Some(IntKey {
            leaf_offset: offset_in(&shape.leaf, column.leaf)?,
            node_offset: offset_in(shape.node.as_ref()?, column.node)?,
            wide,
            descending: column.descending,
        })
    }

    /// The first column of a key to search by.
    #[inline]
    pub(super) fn wanted(&self, key: &Key) -> Option<i64> {
        self.read(key.column(0)?)
    }

    /// Where a leaf row's first column puts it in the order of the tree.
    #[inline]
    pub(super) fn rank(&self, row: &[u8]) -> Option<i64> {
        let value = self.read(row.get(self.leaf_offset..)?)?;
        Some(if self.descending { !value } else { value })
    }

    #[inline]
    fn read(&self, bytes: &[u8]) -> Option<i64> {
        match self.wide {
            true => bytes.first_chunk().map(|b| i64::from_le_bytes(*b)),
            false => bytes
                .first_chunk()
                .map(|b| i64::from(i32::from_le_bytes(*b))),
        }
    }

    /// Where it lies in records of a page of this level.
    #[inline]
    pub(super) fn offset(&self, level: u8) -> usize {
        if level == 0 {
            self.leaf_offset
        } else {
            self.node_offset
        }
    }

    /// How the first column of the record in `slot` compares with `wanted`; `None` when it cannot be read.
    #[inline]
    pub(super) fn compare(
        &self,
        page: Page<'_>,
        slot: u16,
        offset: usize,
        wanted: i64,
    ) -> Option<Ordering> {
        let mine = self.read(page.record_start(slot)?.get(offset..)?)?;
        let order = mine.cmp(&wanted);
        Some(if self.descending {
            order.reverse()
        } else {
            order
        })
    }
}
