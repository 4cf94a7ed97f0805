//! B+trees: clustered and nonclustered, unique and not.
//!
//! # Structure
//! The root page never moves: when it splits, its rows go to two new pages and it becomes their parent.
//! Leaf pages are linked both ways. Slot 0 of a non-leaf page stands for "less than every key of the next
//! slot"; its key is not compared.
//!
//! # Latching
//! Readers couple SH latches from the root down. A writer does the same and latches only the leaf EX; if
//! the row does not fit, it lets go of everything, reserves pages, and descends again: with SH latches to
//! the leaf's parent, which nearly always has room for an entry, else with EX latches from the root,
//! letting go of all ancestors of a page that has. Order: higher levels first, within a level from left to
//! right, so the right neighbours of pages that may split or go are latched before anything below them;
//! maps last. A step to the left never waits with a latch held.
//!
//! Where keys begin with an integer, descents to one key do not latch the root, nor the other pages above the
//! leaves that are wanted most, as long as copies of these pages are true: see `copies`.
//!
//! # Shrinking
//! A deleted row stays as a ghost until a purge. A leaf that a purge or a rollback empties is taken out and
//! its page freed (see `remove`); the last one of a tree stays.
//!
//! # Logging
//! A split with its new pages, its parent's entry and the row that caused it is one mini-transaction. Row
//! operations are undone by key; a split is not undone.

mod batch;
mod bulk;
mod copies;
mod cursor;
mod delete;
mod descend;
mod gate;
mod insert;
mod ints;
mod node;
mod recent;
mod remove;
mod resting;
mod split;
mod unload;
mod update;
mod uppers;

pub use batch::RowBatch;
pub use cursor::{Bound, Cursor, Direction, InPlace, PagePass, RowCheck, Step, TreeScan, Visitor};
pub use delete::Purge;
pub use gate::Gate;

use crate::shape::Shape;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, PageId, PageInit, RowsetId};
use furrow_io::sync::atomic::{AtomicU8, AtomicU64};
use furrow_pool::LatchRank;
use furrow_space::{Space, Unit};
use furrow_txn::{Author, Mini, Store};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What identifies a tree.
#[derive(Debug, Clone)]
pub struct TreeParts {
    /// Pool, log and active transactions of its database.
    pub store: Arc<Store>,
    /// Files of its database.
    pub space: Arc<Space>,
    /// The allocation unit its pages belong to.
    pub unit: Arc<Unit>,
    /// Its rowset.
    pub rowset: RowsetId,
    /// Its number within the table: 1 is the clustered index.
    pub index_id: u32,
    /// Its root page.
    pub root: PageId,
    /// Its rows.
    pub shape: Shape,
}

/// A B+tree.
pub struct Tree {
    parts: TreeParts,
    /// Level of the root when it was last seen.
    root_level: AtomicU8,
    /// The rightmost leaf when it was last seen; 0 for none.
    last_leaf: AtomicU64,
    recent: recent::Recent,
    uppers: uppers::Uppers,
    ints: Option<ints::IntKey>,
    /// What upper pages say, for descents that pass them by.
    copies: copies::Copies,
    /// Whether the keys of a tree at rest come in the order that this engine compares them by.
    in_our_order: OnceLock<bool>,
}

/// One line: the database below and the copies of upper pages are not printed.
impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("rowset", &self.parts.rowset.0)
            .field("index_id", &self.parts.index_id)
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// A tree whose root page is there.
    pub fn open(parts: TreeParts) -> Tree {
        Tree {
            ints: ints::IntKey::of(&parts.shape),
            parts,
            root_level: AtomicU8::new(0),
            last_leaf: AtomicU64::new(0),
            recent: recent::Recent::new(),
            in_our_order: OnceLock::new(),
            uppers: uppers::Uppers::default(),
            copies: copies::Copies::default(),
        }
    }

    /// Makes an empty tree: a root page that is a leaf. What `parts` says of the root is not looked at.
    pub fn create(mut parts: TreeParts) -> Result<Tree, AccessError> {
        By::System.prepare(&parts.store, 512, 0)?;
        let mut pages = parts.space.reserve(&parts.unit, 1, None)?;
        let root = pages.take()?;
        let mut mini = Mini::new(&parts.store);
        let at = mini.adopt(parts.store.create(root, LatchRank::Data)?);
        let (kind, pminlen) = (parts.shape.leaf_type(), parts.shape.leaf.pminlen());
        mini.push(
            at,
            &Change::Format(PageInit::new(root, kind, parts.unit.id(), pminlen)),
        );
        pages.allocate_taken(&mut mini, split::IN_USE)?;
        mini.commit(&Author::System)?;
        pages.done();
        parts.root = root;
        Ok(Tree::open(parts))
    }

    /// Its rows.
    pub fn shape(&self) -> &Shape {
        &self.parts.shape
    }

    /// Its rowset.
    pub fn rowset(&self) -> RowsetId {
        self.parts.rowset
    }

    /// Its number within the table.
    pub fn index_id(&self) -> u32 {
        self.parts.index_id
    }

    /// Its root page.
    pub fn root(&self) -> PageId {
        self.parts.root
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.parts.unit
    }

    /// The pages of its database.
    pub fn pages(&self) -> &Store {
        &self.parts.store
    }

    fn store(&self) -> &Store {
        &self.parts.store
    }

    /// Reads the row with this (whole) key, as it is now; no locks are looked at. The closure gets the
    /// row's bytes.
    pub fn get<T>(
        &self,
        key: &Key,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, AccessError> {
        if self.root().is_none() {
            return Ok(None);
        }
        if self.parts.shape.at_rest && !self.is_in_our_order()? {
            return self.find_in_any_order(key, with);
        }
        let (leaf, ends) = self.leaf_and_ends_for(key, furrow_pool::Sh)?;
        let Some(slot) = self.find_exact(&leaf, key, ends)? else {
            return Ok(None);
        };
        let row = self.row_at(&leaf, slot)?;
        Ok(
            (!furrow_format::Status(row.first().copied().unwrap_or(0)).is_ghost())
                .then(|| with(row)),
        )
    }

    /// The same, with the page where the row is or would be, and called for a row that is not there as well:
    /// its place is latched. Not for trees at rest.
    pub fn look<T>(
        &self,
        key: &Key,
        with: impl FnOnce(PageId, Option<&[u8]>) -> T,
    ) -> Result<T, AccessError> {
        let (leaf, ends) = self.leaf_and_ends_for(key, furrow_pool::Sh)?;
        let row = match self.find_exact(&leaf, key, ends)? {
            Some(slot) => Some(self.row_at(&leaf, slot)?),
            None => None,
        };
        let ghost =
            |row: &&[u8]| furrow_format::Status(row.first().copied().unwrap_or(0)).is_ghost();
        Ok(with(leaf.key().page, row.filter(|row| !ghost(row))))
    }

    /// Shows the leaf that holds, or would hold, the row with this whole key.
    pub fn at_leaf<T>(
        &self,
        key: &Key,
        with: impl FnOnce(furrow_format::Page<'_>) -> T,
    ) -> Result<T, AccessError> {
        let leaf = self.leaf_for(key, furrow_pool::Sh)?;
        Ok(with(furrow_format::Page::new(&leaf)))
    }

    /// Undoes what an undo part of a log record says of this tree.
    pub fn undo(&self, by: &mut By<'_>, op: &UndoOp) -> Result<(), AccessError> {
        match op {
            UndoOp::TreeInsert(key) => self.remove(by, key),
            UndoOp::TreeDelete(key) => self.undelete(by, key),
            UndoOp::TreeUpdate(key, old) => self.restore(by, key, old),
            UndoOp::TreeLoad { first, last, .. } => self.remove_loaded(by, first, last),
            UndoOp::TreeFill { firsts, last, .. } => self.remove_filled(by, firsts, last),
            _ => Err(AccessError::WrongUndo),
        }
    }
}
