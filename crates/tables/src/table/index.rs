//! Indexes and heaps: where their rows are, and which columns lie where in them.

use super::ghosts::{GhostQueue, Sweep};
use crate::error::EngineError;
use crate::schema::IndexOptions;
use furrow_access::{AccessError, By, Gate, Heap, Key, Shape, Tree, UndoOp};
use furrow_format::catalog::{index_kind, index_status};
use furrow_format::{AllocUnitId, PageId, RowId, RowTemplate, RowsetId};
use furrow_io::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use furrow_space::Unit;
use furrow_txn::Store;
use furrow_types::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// What an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// The table itself, without order.
    Heap,
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
    /// The number that makes equal clustered keys unique.
    Uniquifier,
    /// The address of the row in its heap.
    Rid,
}

/// Where the rows of an index are.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each index, behind an Arc, and trees are on the path of every row"
)]
pub(crate) enum Body {
    /// In a B+tree.
    Tree(Tree),
    /// In a heap.
    Heap(Box<Heap>),
}

/// The rows of one index, in memory once.
#[derive(Debug)]
pub struct Rowset {
    body: Body,
    rows: AtomicI64,
    /// Whether counts in the catalog are behind.
    changed: AtomicBool,
    /// The unit's number of changes when its pages were last counted: they come and go without any row that
    /// does, by updates that split and by the cleanup.
    pages_counted: AtomicU64,
    ghosts: GhostQueue,
    /// Whether the files of its filegroup are not there.
    offline: AtomicBool,
}

impl Rowset {
    /// Whether the files of its filegroup are not there.
    #[inline]
    pub fn is_offline(&self) -> bool {
        self.offline.load(Ordering::Acquire)
    }

    pub(crate) fn set_offline(&self, offline: bool) {
        self.offline.store(offline, Ordering::Release);
    }

    /// The filegroup that its pages are in.
    pub fn filegroup(&self) -> u16 {
        self.unit().filegroup()
    }

    /// Its first IAM page.
    pub fn first_iam(&self) -> PageId {
        self.unit().first_iam()
    }

    /// `new`: it has just been created.
    pub(crate) fn new(body: Body, rows: i64, new: bool) -> Rowset {
        let start = match &body {
            Body::Tree(_) => Sweep::Key(None),
            Body::Heap(_) => Sweep::Page(0),
        };
        Rowset {
            body,
            rows: AtomicI64::new(rows),
            changed: AtomicBool::new(new),
            pages_counted: AtomicU64::new(0),
            ghosts: GhostQueue::new(start, new),
            offline: AtomicBool::new(false),
        }
    }

    /// Its id.
    #[inline]
    pub fn id(&self) -> RowsetId {
        match &self.body {
            Body::Tree(tree) => tree.rowset(),
            Body::Heap(heap) => heap.rowset(),
        }
    }

    /// Its allocation unit's id.
    pub fn unit_id(&self) -> AllocUnitId {
        self.unit().id()
    }

    /// What reads the pages that its rows point to.
    pub(crate) fn store(&self) -> &Store {
        match &self.body {
            Body::Tree(tree) => tree.pages(),
            Body::Heap(heap) => heap.pages(),
        }
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        match &self.body {
            Body::Tree(tree) => tree.unit(),
            Body::Heap(heap) => heap.unit(),
        }
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// The tree, unless it is a heap.
    #[inline]
    pub fn tree(&self) -> Option<&Tree> {
        match &self.body {
            Body::Tree(tree) => Some(tree),
            Body::Heap(_) => None,
        }
    }

    /// The heap, if it is one.
    #[inline]
    pub fn heap(&self) -> Option<&Heap> {
        match &self.body {
            Body::Tree(_) => None,
            Body::Heap(heap) => Some(heap),
        }
    }

    /// What its rows look like.
    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        match &self.body {
            Body::Tree(tree) => tree.shape(),
            Body::Heap(heap) => heap.shape(),
        }
    }

    /// Proves that it is sound; it must be at rest.
    pub fn audit(&self) -> Result<RowsetAudit, AccessError> {
        Ok(match &self.body {
            Body::Tree(tree) => {
                let audit = tree.audit()?;
                RowsetAudit {
                    rows: audit.rows,
                    ghosts: audit.ghosts,
                    pages: audit.pages().collect(),
                }
            }
            Body::Heap(heap) => {
                let audit = heap.audit()?;
                RowsetAudit {
                    rows: audit.rows,
                    ghosts: audit.ghosts,
                    pages: audit.pages,
                }
            }
        })
    }

    /// Reads the row with this whole key, or with this address.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        key: &Key,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, AccessError> {
        match &self.body {
            Body::Tree(tree) => tree.get(key, with),
            Body::Heap(heap) => heap.get(rid_of(key).ok_or(AccessError::NotFound)?, with),
        }
    }

    /// The same, with the page where the row is, or would be, and called for a row that is not there too. The
    /// place is latched, of a heap only where there is a row.
    pub(crate) fn look<T>(
        &self,
        key: &Key,
        with: impl FnOnce(PageId, Option<&[u8]>) -> T,
    ) -> Result<T, AccessError> {
        match &self.body {
            Body::Tree(tree) => tree.look(key, with),
            Body::Heap(heap) => {
                let rid = rid_of(key).ok_or(AccessError::NotFound)?;
                let mut with = Some(with);
                let found =
                    heap.get(rid, |row| with.take().map(|with| with(rid.page, Some(row))))?;
                let absent = || with.take().map(|with| with(rid.page, None));
                found.flatten().or_else(absent).ok_or(AccessError::NotFound)
            }
        }
    }

    /// Marks the row with this whole key, or address, as a ghost. The gate is for trees: the page of a row in
    /// a heap is known before.
    pub(crate) fn delete(
        &self,
        by: &mut By<'_>,
        key: &Key,
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        match &self.body {
            Body::Tree(tree) => tree.delete_gated(by, key, gate),
            Body::Heap(heap) => heap.delete(by, rid_of(key).ok_or(AccessError::NotFound)?),
        }
    }

    /// Replaces the row with this whole key, or address. The gate is for trees, as with [`Rowset::delete`].
    pub(crate) fn update(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        match &self.body {
            Body::Tree(tree) => tree.update_gated(by, key, row, gate),
            Body::Heap(heap) => heap.update(by, rid_of(key).ok_or(AccessError::NotFound)?, row),
        }
    }

    /// Undoes the operation of a log record.
    pub(crate) fn undo(&self, by: &mut By<'_>, op: &UndoOp) -> Result<(), AccessError> {
        match &self.body {
            Body::Tree(tree) => tree.undo(by, op),
            Body::Heap(heap) => heap.undo(by, op),
        }
    }

    /// Rows, those of open transactions included.
    pub fn row_count(&self) -> i64 {
        self.rows.load(Ordering::Relaxed).max(0)
    }

    /// Notes that so many rows came, or went, on behalf of `by`.
    #[inline]
    pub(crate) fn count(&self, by: &mut By<'_>, rows: i64) {
        by.count(self.id(), rows);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        if !self.changed.load(Ordering::Relaxed) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_rows(&self, rows: i64) {
        self.rows.store(rows, Ordering::Relaxed);
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Whether rows or pages came or went since the last call.
    pub(crate) fn take_changed(&self) -> bool {
        let pages = self.unit().changes();
        let others = self.pages_counted.swap(pages, Ordering::Relaxed) != pages;
        self.changed.swap(false, Ordering::Relaxed) || others
    }

    pub(crate) fn mark_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Its ghosts that wait for the cleanup.
    pub(crate) fn ghosts(&self) -> &GhostQueue {
        &self.ghosts
    }
}

/// What an audit found in the rows of an index that are sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowsetAudit {
    /// Live rows.
    pub rows: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Its pages.
    pub pages: Vec<PageId>,
}

/// An address in a heap as a key.
pub(crate) fn rid_key(rid: RowId) -> Key {
    Key::of(&[Some(&rid.to_bytes())])
}

/// The address in such a key.
pub(crate) fn rid_of(key: &Key) -> Option<RowId> {
    key.column(0)?.first_chunk().map(|b| RowId::from_bytes(*b))
}

/// An index of a table, or its heap.
#[derive(Debug, Clone)]
pub struct Index {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) kind: IndexKind,
    pub(crate) status: i32,
    pub(crate) fill_factor: u8,
    pub(crate) key: Vec<IndexKey>,
    pub(crate) included: Vec<usize>,
    pub(crate) rowset: Arc<Rowset>,
    pub(crate) leaf: Vec<LeafColumn>,
    /// By table column: its place in the leaf rows.
    pub(crate) leaf_of: Vec<Option<usize>>,
    /// By column of the base key: its place in the leaf rows. For the clustered index itself too; a heap's
    /// rows do not contain their address.
    pub(crate) locator: Vec<usize>,
    pub(crate) uniquifier: bool,
    /// By place of the table's column: its value in rows that are older than it, where that is not NULL.
    pub(crate) older: Arc<HashMap<usize, Value>>,
    /// For rows that are written column by column: of the table itself, where its rows have the table's
    /// columns in order.
    pub(crate) template: Option<Arc<RowTemplate>>,
}

impl Index {
    /// Its number: 0 is a heap, 1 the clustered index.
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

    /// ALLOW_ROW_LOCKS.
    #[inline]
    pub fn allows_row_locks(&self) -> bool {
        self.status & index_status::NO_ROW_LOCKS == 0
    }

    /// ALLOW_PAGE_LOCKS.
    #[inline]
    pub fn allows_page_locks(&self) -> bool {
        self.status & index_status::NO_PAGE_LOCKS == 0
    }

    /// Its options.
    pub fn options(&self) -> IndexOptions {
        IndexOptions {
            rows: self.allows_row_locks(),
            pages: self.allows_page_locks(),
            fill_factor: self.fill_factor,
            padded: self.status & index_status::PADDED != 0,
        }
    }

    /// Its key columns.
    pub fn key(&self) -> &[IndexKey] {
        &self.key
    }

    /// Columns that its leaf rows carry besides.
    pub fn included(&self) -> &[usize] {
        &self.included
    }

    /// Whether its rows have a column of the table, at this place among the table's.
    pub fn has_column(&self, column: usize) -> bool {
        self.leaf_of.get(column).is_some_and(Option::is_some)
    }

    /// Whether the files of its filegroup are not there.
    #[inline]
    pub fn is_offline(&self) -> bool {
        self.rowset.is_offline()
    }

    /// Its rows.
    pub fn rowset(&self) -> &Rowset {
        &self.rowset
    }

    /// Its tree; an error for a heap.
    #[inline]
    pub fn tree(&self) -> Result<&Tree, EngineError> {
        self.rowset.tree().ok_or_else(|| self.no_tree())
    }

    #[cold]
    fn no_tree(&self) -> EngineError {
        EngineError::Damaged(format!(
            "rowset {} is a heap, not a tree",
            self.rowset.id().0
        ))
    }

    /// What its rows look like.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.rowset.shape()
    }

    /// Whether it holds the table's rows themselves.
    #[inline]
    pub(crate) fn is_base(&self) -> bool {
        self.id <= 1
    }

    /// The base key that a leaf row of this index points to; of the clustered index, its own key. Not for
    /// rows of a heap.
    pub(crate) fn locator_of(&self, row: &[u8]) -> Option<Key> {
        let layout = &self.shape().leaf;
        let record = layout.record(row, layout.pminlen())?;
        let mut key = Key::new();
        for &at in &self.locator {
            key.push(layout.value(record, at).ok()?);
        }
        Some(key)
    }

    /// The template for its rows, if they have the columns of a table with this many, in order.
    pub(super) fn template_of(
        rowset: &Rowset,
        leaf: &[LeafColumn],
        columns: usize,
    ) -> Option<Arc<RowTemplate>> {
        let in_order = (0..columns).map(LeafColumn::Table);
        if !leaf.iter().copied().eq(in_order) {
            return None;
        }
        RowTemplate::new(&rowset.shape().leaf).map(Arc::new)
    }

    pub(crate) fn kind_of(code: u8) -> Option<IndexKind> {
        match code {
            index_kind::HEAP => Some(IndexKind::Heap),
            index_kind::CLUSTERED => Some(IndexKind::Clustered),
            index_kind::NONCLUSTERED => Some(IndexKind::Nonclustered),
            _ => None,
        }
    }
}
