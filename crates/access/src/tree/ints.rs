//! Searching by an integer: the usual first column of a key, compared without looking at anything else of a
//! record.

use crate::Key;
use crate::shape::Shape;
use furrow_format::{Page, PageId, Place, Record, RowLayout};
use furrow_types::TypeId;
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

/// The keys between which a page's keys lie, in the order of the tree. Good for a guess, not for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    low: i64,
    high: i64,
}

impl Ends {
    pub(super) fn between(low: i64, high: i64) -> Option<Ends> {
        (low < high).then_some(Ends { low, high })
    }

    /// How many of so many keys lie before `wanted` when they are spread evenly.
    pub(super) fn guess(self, wanted: i64, keys: u16) -> u16 {
        let part = wanted.abs_diff(self.low) as f64 / self.high.abs_diff(self.low) as f64;
        ((f64::from(keys) * part) as u16).min(keys)
    }
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

    /// The keys between which a child's keys lie: the parent's entry for the child and the one behind.
    pub(super) fn ends(&self, parent: Page<'_>, slot: u16) -> Option<Ends> {
        // The first entry is less than every key: its column is not valid.
        if slot == 0 {
            return None;
        }
        let low = self.rank_at(parent, slot, self.node_offset)?;
        let high = self.rank_at(parent, slot.checked_add(1)?, self.node_offset)?;
        Ends::between(low, high)
    }

    /// The first column of an entry of a page above the leaves, in the order of the tree.
    pub(super) fn low_of(&self, page: Page<'_>, slot: u16) -> Option<i64> {
        self.rank_at(page, slot, self.node_offset)
    }

    /// An entry of a page above the leaves: its first column's place in the order of the tree, and its child.
    pub(super) fn entry(&self, page: Page<'_>, slot: u16) -> Option<(i64, PageId)> {
        let record = Record::index(page.record_start(slot)?, page.pminlen())?;
        let child = record.child().filter(|child| !child.is_none())?;
        Some((self.rank_at(page, slot, self.node_offset)?, child))
    }

    /// The place of a key's first column in the order of the tree.
    #[inline]
    pub(super) fn rank_of(&self, key: &Key) -> Option<i64> {
        Some(self.ranked(self.wanted(key)?))
    }

    /// Looks for the slot with `wanted`, unique among those from `low` to before `high`. Records lie all over
    /// a page: where keys are spread evenly, this reads a guess and a neighbour, and not one record for each
    /// halving. The guess needs the two ends: those from the parent, or those of the page, which are two more
    /// records to read. `None` when a record cannot be read.
    pub(super) fn narrow(
        &self,
        page: Page<'_>,
        (mut low, mut high): (u16, u16),
        offset: usize,
        wanted: i64,
        ends: Option<Ends>,
    ) -> Option<Narrowed> {
        let at = |slot: u16| self.rank_at(page, slot, offset);
        let wanted = self.ranked(wanted);
        let last = high.checked_sub(1)?;
        if let Some(ends) = ends.filter(|ends| (ends.low..ends.high).contains(&wanted)) {
            let guess = ends.guess(wanted, high - low);
            return self.gallop(page, (low, high), offset, wanted, low + guess);
        }
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
        let ends = Ends {
            low: first_rank,
            high: last_rank,
        };
        let guess = low + ends.guess(wanted, last - low);
        // The first slot lies before, the last one does not.
        (low, high) = (low + 1, last);
        self.gallop(page, (low, high), offset, wanted, guess)
    }

    /// From a guess in steps that double, until it is known on both sides.
    fn gallop(
        &self,
        page: Page<'_>,
        (mut low, mut high): (u16, u16),
        offset: usize,
        wanted: i64,
        guess: u16,
    ) -> Option<Narrowed> {
        if low >= high {
            return Some(Narrowed::Between(low, high));
        }
        let (mut step, mut probe, mut way) = (1, guess.clamp(low, high - 1), None);
        while (low..high).contains(&probe) {
            let order = self.rank_at(page, probe, offset)?.cmp(&wanted);
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

    /// A value's place in the order of the tree.
    #[inline]
    fn ranked(&self, value: i64) -> i64 {
        if self.descending { !value } else { value }
    }

    /// The place in the order of the tree of the record in `slot`.
    #[inline]
    fn rank_at(&self, page: Page<'_>, slot: u16, offset: usize) -> Option<i64> {
        let value = self.read(page.record_start(slot)?.get(offset..)?)?;
        Some(self.ranked(value))
    }

    /// Where a leaf row's first column puts it in the order of the tree.
    #[inline]
    pub(super) fn rank(&self, row: &[u8]) -> Option<i64> {
        Some(self.ranked(self.read(row.get(self.leaf_offset..)?)?))
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
