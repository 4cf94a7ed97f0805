//! Indexes: which columns lie where in their rows.

use super::ghosts::{GhostQueue, Sweep};
use furrow_access::{Key, Tree};
use furrow_format::catalog::{index_kind, index_status};
use furrow_format::{AllocUnitId, RowsetId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// What an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// The table itself, in key order.
    Clustered,
    /// Rows of its own that point to the table's.
    Nonclustered,
}

/// A key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexKey {
    /// Its place among the table's columns.
    pub column: usize,
    /// Descending.
    pub descending: bool,
}

/// What a leaf column of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafColumn {
    /// The table's column with this place.
    Table(usize),
    /// The number that tells equal clustered keys apart.
    Uniquifier,
}

/// The rows of one index, in memory once.
#[derive(Debug)]
pub struct Rowset {
    tree: Tree,
    rows: AtomicI64,
    /// Whether counts in the catalog are behind.
    changed: AtomicBool,
    ghosts: GhostQueue,
}

impl Rowset {
    /// `new`: it has just been made.
    pub(crate) fn new(tree: Tree, rows: i64, new: bool) -> Rowset {
        Rowset {
            tree,
            rows: AtomicI64::new(rows),
            changed: AtomicBool::new(false),
            ghosts: GhostQueue::new(Sweep::Key(None), new),
        }
    }

    /// Its id.
    pub fn id(&self) -> RowsetId {
        self.tree.rowset()
    }

    /// Its allocation unit.
    pub fn unit_id(&self) -> AllocUnitId {
        self.tree.unit().id()
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Rows, those of open transactions included.
    pub fn row_count(&self) -> i64 {
        self.rows.load(Ordering::Relaxed).max(0)
    }

    #[inline]
    pub(crate) fn count(&self, by: i64) {
        self.rows.fetch_add(by, Ordering::Relaxed);
        if !self.changed.load(Ordering::Relaxed) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_rows(&self, rows: i64) {
        self.rows.store(rows, Ordering::Relaxed);
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn mark_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Its ghosts that wait for the cleanup.
    pub(crate) fn ghosts(&self) -> &GhostQueue {
        &self.ghosts
    }
}

/// An index of a table.
#[derive(Debug, Clone)]
pub struct Index {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) kind: IndexKind,
    pub(crate) status: i32,
    pub(crate) key: Vec<IndexKey>,
    pub(crate) included: Vec<usize>,
    pub(crate) rowset: Arc<Rowset>,
    pub(crate) leaf: Vec<LeafColumn>,
    /// By table column: its place in the leaf rows.
    pub(crate) leaf_of: Vec<Option<usize>>,
    /// By column of the base key: its place in the leaf rows. For the clustered index itself too.
    pub(crate) locator: Vec<usize>,
    pub(crate) uniquifier: bool,
}

impl Index {
    /// Its number: 1 is the clustered index.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Clustered or not.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// Whether a key occurs once.
    pub fn is_unique(&self) -> bool {
        self.status & index_status::UNIQUE != 0
    }

    /// Whether it is the table's primary key.
    pub fn is_primary_key(&self) -> bool {
        self.status & index_status::PRIMARY_KEY != 0
    }

    /// Whether it belongs to a UNIQUE constraint.
    pub fn is_unique_constraint(&self) -> bool {
        self.status & index_status::UNIQUE_CONSTRAINT != 0
    }

    /// Its key columns.
    pub fn key(&self) -> &[IndexKey] {
        &self.key
    }

    /// Columns that its leaf rows carry besides.
    pub fn included(&self) -> &[usize] {
        &self.included
    }

    /// Its rows.
    pub fn rowset(&self) -> &Rowset {
        &self.rowset
    }

    #[inline]
    pub(crate) fn tree(&self) -> &Tree {
        self.rowset.tree()
    }

    /// The base key that a leaf row of this index points to; of the clustered index, its own key.
    pub(crate) fn locator_of(&self, row: &[u8]) -> Option<Key> {
        let layout = &self.tree().shape().leaf;
        let record = layout.record(row, layout.pminlen())?;
        let mut key = Key::new();
        for &at in &self.locator {
            key.push(layout.value(record, at).ok()?);
        }
        Some(key)
    }

    pub(crate) fn kind_of(code: u8) -> Option<IndexKind> {
        match code {
            index_kind::CLUSTERED => Some(IndexKind::Clustered),
            index_kind::NONCLUSTERED => Some(IndexKind::Nonclustered),
            _ => None,
        }
    }
}
