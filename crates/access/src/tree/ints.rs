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

/// What looking for an integer has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrowed {
    /// It is in this slot.
    At(u16),
    /// Slots before the first lie before it, those from the second on do not.
    Between(u16, u16),
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

    /// Looks for the slot with `wanted`, unique among those from `low` to before `high`. Records lie all over
    /// a page: where keys are spread evenly, two ends, a guess and a neighbour are looked at, and not one
    /// record for each halving. `None` when a record cannot be read.
    pub(super) fn narrow(
        &self,
        page: Page<'_>,
        (mut low, mut high): (u16, u16),
        offset: usize,
        wanted: i64,
    ) -> Option<Narrowed> {
        let rank = |v: i64| if self.descending { !v } else { v };
        let at = |slot: u16| Some(rank(self.read(page.record_start(slot)?.get(offset..)?)?));
        let wanted = rank(wanted);
        let last = high.checked_sub(1)?;
        let (first_rank, last_rank) = (at(low)?, at(last)?);
        if wanted <= first_rank {
            return Some(if wanted == first_rank {
                Narrowed::At(low)
            } else {
                Narrowed::Between(low, low)
            });
        }
        if wanted >= last_rank {
            return Some(if wanted == last_rank {
                Narrowed::At(last)
            } else {
                Narrowed::Between(high, high)
            });
        }
        let part = wanted.abs_diff(first_rank) as f64 / last_rank.abs_diff(first_rank) as f64;
        let guess = (low + (f64::from(last - low) * part) as u16).min(last);
        // The first slot lies before, the last one does not.
        (low, high) = (low + 1, last);
        let (mut step, mut probe, mut way) = (1, guess.clamp(low, high - 1), None);
        while (low..high).contains(&probe) {
            let order = at(probe)?.cmp(&wanted);
            match order {
                Ordering::Equal => return Some(Narrowed::At(probe)),
                Ordering::Less => low = probe + 1,
                Ordering::Greater => high = probe,
            }
            if *way.get_or_insert(order) != order {
                break;
            }
            probe = match order {
                Ordering::Less => (low - 1).saturating_add(step),
                _ => high.saturating_sub(step),
            };
            step *= 2;
        }
        Some(Narrowed::Between(low, high))
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

    /// Where it lies in records of a leaf, or of a page above.
    #[inline]
    pub(super) fn offset(&self, is_leaf: bool) -> usize {
        if is_leaf {
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
