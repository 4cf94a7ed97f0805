//! Inserting several rows on one leaf by one log record.
//!
//! 1. The leaf for the first row is latched EX, as for a single insert. The rows that follow go there too as
//!    long as each is greater than the one before, belongs on this leaf, comes before the row that the first
//!    one came before, and fits.
//! 2. All of them are inserted by one mini-transaction. Its undo part lists their keys: other sessions may
//!    insert rows between them before the transaction ends.
//! 3. The undo removes the rows leaf by leaf, by redo-only records, and ends with a compensation record.
//!    After a crash between these it starts again; keys whose rows are gone are passed over. No other
//!    transaction can have inserted these keys meanwhile, because the locks of the transaction that is undone
//!    are held, or, after a restart, because the undo comes first.
//!
//! What a row may need besides, a split, the place of its ghost, a wait for a gap or a page, is for
//! [`Tree::insert_gated`]: [`Tree::insert_many`] inserts no row then, and the caller goes on with that.

use super::gate::{Gate, Spot};
use super::handle::Tree;
use super::leaf_hints::LeafHint;
use crate::shape::MAX_WHOLE_KEY_BYTES;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, SLOT_SIZE, Status};
use furrow_pool::{Ex, PageWrite};
use furrow_txn::{Author, Mini};

/// Bytes of rows in a record, at most: what one page takes.
const MOST_BYTES: usize = 8192;
/// Bytes of a change around its row in the log.
const CHANGE_LOG_BYTES: usize = 32;
/// The record that removes one row, when each is on a leaf of its own by then.
const REMOVING_LOG_BYTES: usize = 384;

/// Which keys behind the rows of a leaf belong on it.
#[derive(Clone, Copy)]
enum Fence {
    /// All: it is the last leaf.
    Open,
    /// Those whose first column comes before this one in the order of the tree.
    Below(i64),
    /// It is known of the key alone that led to the leaf.
    Unknown,
}

impl Tree {
    /// Inserts the first of these rows, given with their whole keys, and as many behind it as go to the same
    /// place of the leaf; returns how many. 0, with nothing changed, where the first one has to be inserted
    /// by [`Tree::insert_gated`].
    ///
    /// The caller holds the locks: X on each key. A hint is for the first of them, and no older than the
    /// caller's lock of the table.
    pub fn insert_many<'r>(
        &self,
        by: &mut By<'_>,
        (keys, hint): (&[Key], Option<LeafHint>),
        rows: impl Iterator<Item = &'r [u8]> + Clone,
        gate: &dyn Gate,
    ) -> Result<usize, AccessError> {
        let most = Self::most_of(keys, rows.clone());
        let keys = keys.get(..most).unwrap_or_default();
        let Some(first) = keys.first() else {
            return Ok(0);
        };
        let bytes: usize = rows.clone().take(most).map(<[u8]>::len).sum();
        let undo = UndoOp::tree_insert_many_len(keys);
        let each = CHANGE_LOG_BYTES + REMOVING_LOG_BYTES;
        by.prepare(self.store(), 64 + bytes + most * each, undo)?;
        let (leaf, fence, spot) = self.place_for(first, hint)?;
        // A reader that guards gaps announces itself before it reads the leaf.
        if !gate.may_change(Page::new(&leaf)) || gate.guards_gaps() {
            return Ok(0);
        }
        let Spot::Free(slot) = spot else {
            return Ok(0);
        };
        let count = self.fitting(by, &leaf, (slot, fence), keys, rows.clone())?;
        let keys = keys.get(..count).unwrap_or_default();
        if keys.is_empty() {
            return Ok(0);
        }
        let undo = if count == 1 {
            UndoOp::tree_insert(self.parts.rowset, first)
        } else {
            by.keep_for_undo(count * REMOVING_LOG_BYTES);
            UndoOp::tree_insert_many(self.parts.rowset, keys)
        };
        let mut mini = Mini::new(self.store());
        self.recent.note(leaf.key().page, slot + (count - 1) as u16);
        let at = mini.adopt(leaf);
        for (slot, bytes) in (slot..).zip(rows.take(count)) {
            mini.push(at, &Change::InsertRow { slot, bytes });
        }
        by.commit(mini, &undo)?;
        Ok(count)
    }

    /// How many of the rows one record takes.
    fn most_of<'r>(keys: &[Key], rows: impl Iterator<Item = &'r [u8]>) -> usize {
        let mut bytes = 0;
        let takes = |(key, row): &(&Key, &[u8])| {
            bytes += key.size_bytes() + row.len();
            bytes <= MOST_BYTES && key.size_bytes() <= MAX_WHOLE_KEY_BYTES
        };
        keys.iter().zip(rows).take_while(takes).count()
    }

    /// The leaf that a key belongs on, latched EX, which others do, and where on it the key's row goes.
    fn place_for(
        &self,
        key: &Key,
        hint: Option<LeafHint>,
    ) -> Result<(PageWrite<'_>, Fence, Spot), AccessError> {
        if let Some(hint) = hint
            && let Some((leaf, slot)) = self.place_by_hint(hint, key)?
        {
            return Ok((leaf, Fence::Unknown, Spot::Free(slot)));
        }
        let (leaf, ends, fence) = match self.last_leaf_for(key)? {
            Some(leaf) => (leaf, None, Fence::Open),
            None => {
                // It was read with the page above latched, or from a copy that is valid with the leaf
                // latched: no thread has taken keys from the leaf since.
                let (leaf, ends, fence) = self.fenced_leaf_for(key, Ex)?;
                let fence = match fence {
                    _ if Page::new(&leaf).next().is_none() => Fence::Open,
                    Some(fence) => Fence::Below(fence),
                    None => Fence::Unknown,
                };
                (leaf, ends, fence)
            }
        };
        self.note_if_last(&leaf);
        let spot = self.spot(&leaf, key, ends)?;
        Ok((leaf, fence, spot))
    }

    /// How many of the rows fit at a slot of the leaf, one behind the other.
    fn fitting<'r>(
        &self,
        by: &By<'_>,
        leaf: &PageWrite<'_>,
        (slot, fence): (u16, Fence),
        keys: &[Key],
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Result<usize, AccessError> {
        let view = Page::new(leaf);
        // Of a page without rows no space is reserved: a single insert may use all of it.
        if view.slot_count() == 0 {
            return Ok(0);
        }
        let left = by.must_leave(self.store(), view.page_id());
        let mut free = usize::from(view.free_count()).saturating_sub(left);
        let (mut count, mut last) = (0, None::<&Key>);
        for (key, row) in keys.iter().zip(rows) {
            let Some(rest) = free.checked_sub(view.room_of(row.len()) + SLOT_SIZE) else {
                break;
            };
            if let Some(last) = last
                && !self.belongs_next(leaf, (slot, fence), last, key)?
            {
                break;
            }
            (free, last, count) = (rest, Some(key), count + 1);
        }
        Ok(count)
    }

    /// Whether a key goes to the leaf right behind another one that goes to this slot.
    fn belongs_next(
        &self,
        leaf: &PageWrite<'_>,
        (slot, fence): (u16, Fence),
        last: &Key,
        key: &Key,
    ) -> Result<bool, AccessError> {
        let shape = &self.parts.shape;
        if !shape.compare_keys(last, key).is_lt() {
            return Ok(false);
        }
        // What comes before a row of the leaf belongs on it.
        if slot < Page::new(leaf).slot_count() {
            return Ok(shape.compare_at(leaf, slot, key)?.is_gt());
        }
        Ok(match fence {
            Fence::Open => true,
            Fence::Below(high) => {
                let rank = self.ints.and_then(|ints| ints.rank_of(key));
                rank.is_some_and(|rank| rank < high)
            }
            Fence::Unknown => false,
        })
    }

    /// Removes the rows with these keys: the undo of [`Tree::insert_many`].
    pub(crate) fn remove_many(&self, by: &mut By<'_>, keys: &[Key]) -> Result<(), AccessError> {
        let mut rest = keys;
        while let Some(first) = rest.first() {
            let (removed, emptied) = self.remove_neighbours(rest)?;
            if emptied {
                // A failure here leaves only an empty leaf, so it must not fail the rollback.
                let _tidied = self.remove_empty_leaf(by, first);
            }
            // A key without a row was removed by an attempt before a crash.
            rest = rest.get(removed.max(1)..).unwrap_or_default();
        }
        // The undo is complete only now.
        by.commit(Mini::new(self.store()), &[])?;
        Ok(())
    }

    /// Removes the rows of the first keys that are on one leaf: how many, and whether the leaf is empty then.
    fn remove_neighbours(&self, keys: &[Key]) -> Result<(usize, bool), AccessError> {
        let Some(first) = keys.first() else {
            return Ok((0, false));
        };
        let leaf = self.leaf_for(first, Ex)?;
        let (mut slots, mut ghosts) = (Vec::new(), 0);
        for key in keys {
            let Some(slot) = self.find_exact(&leaf, key, None)? else {
                break;
            };
            let status = self.row_at(&leaf, slot)?.first().copied();
            ghosts += i16::from(Status(status.unwrap_or(0)).is_ghost());
            slots.push(slot);
        }
        debug_assert!(slots.is_sorted(), "keys in the order of the tree");
        if slots.is_empty() {
            return Ok((0, false));
        }
        let emptied = slots.len() == usize::from(Page::new(&leaf).slot_count());
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        // From behind, so that slots keep their numbers.
        for &slot in slots.iter().rev() {
            mini.push(at, &Change::RemoveRow { slot });
        }
        if ghosts > 0 {
            mini.push(at, &Change::SetGhosts { delta: -ghosts });
        }
        mini.commit(&Author::System)?;
        Ok((slots.len(), emptied))
    }
}
