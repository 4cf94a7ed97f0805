//! The base tables as trees, and typed rows in them.

use super::undo::undone_rows;
use crate::error::EngineError;
use crate::table::{GhostQueue, Sweep};
use furrow_access::{
    Bound, By, Direction, Key, RowCheck, Shape, Step, Tree, TreeParts, UndoOp, Visitor,
};
use furrow_format::boot::field;
use furrow_format::catalog::{
    AllocUnit, BASE_TABLES, BaseRow, BaseTable, SYSALLOCUNITS, base_layout, layout_status,
};
use furrow_format::{BOOT_PAGE, Page, PageId, Record, RowForm, RowLayout};
use furrow_io::sync::atomic::{AtomicI64, Ordering};
use furrow_pool::LatchRank;
use furrow_space::Space;
use furrow_txn::Store;
use furrow_types::{Value, encode_into};
use std::collections::HashMap;
use std::sync::Arc;

/// A base table's tree and the layout of its rows.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) table: &'static BaseTable,
    pub(super) tree: Arc<Tree>,
    layout: RowLayout,
    /// Rows, those of open transactions included; known once undo is done.
    pub(super) rows: AtomicI64,
    pub(super) ghosts: GhostQueue,
}

/// Counts rows that are no ghosts.
#[derive(Default)]
struct Counter(i64);

impl Visitor for Counter {
    // Without this the cursor would take rows without calling `check`.
    fn all_committed(&mut self) -> bool {
        false
    }

    fn check(&mut self, _row: &[u8], ghost: bool) -> RowCheck {
        self.0 += i64::from(!ghost);
        RowCheck::Skip
    }
}

impl Base {
    /// Counts the rows there are.
    fn count(&self) -> Result<(), EngineError> {
        let mut counter = Counter::default();
        let mut cursor = self.tree.scan(Bound::Open, Bound::Open, Direction::Forward);
        while cursor.step(&mut counter)? != Step::End {}
        self.rows.store(counter.0, Ordering::Relaxed);
        Ok(())
    }

    /// Undoes the operation of a log record.
    pub(super) fn undo(&self, by: &mut By<'_>, op: &UndoOp) -> Result<(), EngineError> {
        self.tree.undo(by, op)?;
        let rows = undone_rows(op, &self.ghosts);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }
}

/// The base tables, but for `sysfiles1`, which is a heap and never changes.
#[derive(Debug)]
pub struct Bases {
    bases: Vec<Base>,
    /// Only for a database at rest, whose base tables may have the layout of another version: rows by
    /// table, converted to our columns, in key order. `bases` is empty then.
    kept: HashMap<i32, Vec<Vec<Value>>>,
}

/// Takes every row that is not a ghost. A caller reads the catalog this way while no other transaction
/// changes it, or to read rows that it changed itself.
struct Everything;

impl Visitor for Everything {
    fn all_committed(&mut self) -> bool {
        true
    }

    fn check(&mut self, _row: &[u8], ghost: bool) -> RowCheck {
        if ghost {
            RowCheck::Skip
        } else {
            RowCheck::Take
        }
    }
}

fn damaged(what: &str) -> EngineError {
    EngineError::Damaged(what.to_owned())
}

fn shape_of(table: &BaseTable) -> Result<Shape, EngineError> {
    let mut layout = base_layout(table);
    for (row, column) in layout.columns.iter_mut().zip(table.columns) {
        // Two columns of sysrowsets are NOT NULL by their layout and NULL in every row.
        if column.nullable {
            row.status &= !layout_status::NOT_NULL;
        }
    }
    let sizes = (layout.minleaf as u16, layout.minint as u16);
    let shape = Shape::from_catalog(
        RowForm::ClusteredLeaf,
        &layout.columns,
        sizes.0,
        sizes.1,
        true,
    );
    shape.map_err(|e| damaged(&format!("base table {}: {e}", table.name)))
}

fn layout_of(table: &BaseTable) -> Result<RowLayout, EngineError> {
    table
        .row_layout()
        .map_err(|e| damaged(&format!("base table {}: {e}", table.name)))
}

/// The leftmost leaf under a page of a tree.
pub(crate) fn first_leaf(store: &Store, from: PageId) -> Result<PageId, EngineError> {
    let mut at = from;
    // No tree is higher than this: each level has at least two entries a page.
    for _ in 0..32 {
        let page = store.read(at, LatchRank::Data)?;
        let view = Page::new(&page);
        if view.level() == 0 {
            return Ok(at);
        }
        let entry = view
            .record_start(0)
            .and_then(|r| Record::index(r, view.pminlen()));
        at = entry
            .and_then(Record::child)
            .ok_or_else(|| damaged("a non-leaf page has no child"))?;
    }
    Err(damaged("a tree has no leaf"))
}

/// Units of base tables, from the leaf of `sysallocunits` that the boot page leads to.
fn system_units(store: &Store) -> Result<Vec<AllocUnit>, EngineError> {
    let way_in = {
        let boot = store.read(BOOT_PAGE, LatchRank::Boot)?;
        field::CATALOG_PAGE.get_page(boot.page())
    };
    let layout = layout_of(&SYSALLOCUNITS)?;
    let mut at = first_leaf(store, way_in)?;
    let mut found = Vec::new();
    while !at.is_none() && found.len() < 2 * BASE_TABLES.len() {
        let page = store.read(at, LatchRank::Data)?;
        let view = Page::new(&page);
        for (_, row) in view.records() {
            let record = layout.record(row, view.pminlen());
            let values = record.and_then(|r| SYSALLOCUNITS.decode_row(&layout, r));
            found.extend(values.and_then(AllocUnit::from_values));
        }
        at = view.next();
    }
    Ok(found)
}

impl Bases {
    /// Opens the base tables: the boot page leads to `sysallocunits`, and that to the others.
    pub(crate) fn open(store: &Arc<Store>, space: &Arc<Space>) -> Result<Bases, EngineError> {
        let units = system_units(store)?;
        let mut bases = Vec::new();
        for table in BASE_TABLES.into_iter().filter(|t| !t.is_heap()) {
            let row = units.iter().find(|u| u.auid == table.unit_id().0 as i64);
            let row =
                row.ok_or_else(|| damaged(&format!("{} has no allocation unit", table.name)))?;
            let tree = Tree::open(TreeParts {
                store: Arc::clone(store),
                space: Arc::clone(space),
                unit: space.open_unit(table.unit_id(), row.fgid as u16, row.pgfirstiam)?,
                rowset: table.rowset_id(),
                index_id: 1,
                root: row.pgroot,
                shape: shape_of(table)?,
            });
            bases.push(Base {
                table,
                tree: Arc::new(tree),
                layout: layout_of(table)?,
                rows: AtomicI64::new(0),
                // A sweep finds the ghosts that were left before the database was opened.
                ghosts: GhostQueue::new(Sweep::Key(None), false),
            });
        }
        Ok(Bases {
            bases,
            kept: HashMap::new(),
        })
    }

    /// Base tables whose rows are in memory; none yet.
    pub(crate) fn at_rest() -> Bases {
        Bases {
            bases: Vec::new(),
            kept: HashMap::new(),
        }
    }

    /// Stores the rows of a table in memory.
    pub(crate) fn keep<R: BaseRow>(&mut self, rows: &[R]) {
        let rows = rows.iter().map(BaseRow::to_values).collect();
        self.kept.insert(R::TABLE.id, rows);
    }

    fn kept_rows<R: BaseRow>(&self, prefix: &[Value]) -> Result<Vec<R>, EngineError> {
        let key: Vec<usize> = R::TABLE.key().take(prefix.len()).collect();
        let wanted = |row: &&Vec<Value>| {
            let mut pairs = key.iter().zip(prefix);
            pairs.all(|(&at, value)| row.get(at) == Some(value))
        };
        let rows = self.kept.get(&R::TABLE.id).into_iter().flatten();
        let rows = rows.filter(wanted).map(|row| R::from_values(row.clone()));
        let rows: Option<Vec<R>> = rows.collect();
        rows.ok_or_else(|| damaged(&format!("a row of {} cannot be read", R::TABLE.name)))
    }

    fn base(&self, table: &BaseTable) -> Result<&Base, EngineError> {
        let found = self.bases.iter().find(|b| b.table.id == table.id);
        found.ok_or_else(|| damaged(&format!("{} is no tree", table.name)))
    }

    /// The tree of a base table.
    pub fn tree(&self, table: &BaseTable) -> Result<&Arc<Tree>, EngineError> {
        Ok(&self.base(table)?.tree)
    }

    /// All that are trees.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Base> {
        self.bases.iter()
    }

    /// Counts the rows of all, when undo is done.
    pub(super) fn count(&self) -> Result<(), EngineError> {
        self.bases.iter().try_for_each(Base::count)
    }

    fn encoded<R: BaseRow>(&self, row: &R) -> Result<(&Base, Key, Vec<u8>), EngineError> {
        let base = self.base(R::TABLE)?;
        let mut bytes = Vec::with_capacity(256);
        base.table
            .encode_row(&base.layout, &row.to_values(), &mut bytes)
            .map_err(|e| damaged(&e.to_string()))?;
        let key = base.tree.shape().key_of(&bytes);
        let key = key.ok_or_else(|| damaged("a row of the catalog has no key"))?;
        Ok((base, key, bytes))
    }

    /// Inserts a row.
    pub fn insert<R: BaseRow>(&self, by: &mut By<'_>, row: &R) -> Result<(), EngineError> {
        let (base, key, bytes) = self.encoded(row)?;
        base.tree.insert(by, &key, &bytes)?;
        base.rows.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the row with the key of `row`.
    pub fn delete<R: BaseRow>(&self, by: &mut By<'_>, row: &R) -> Result<(), EngineError> {
        let (base, key, _) = self.encoded(row)?;
        base.tree.delete(by, &key)?;
        base.ghosts.note(&key);
        base.rows.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    /// Puts `row` in the place of the one with its key.
    pub fn replace<R: BaseRow>(&self, by: &mut By<'_>, row: &R) -> Result<(), EngineError> {
        let (base, key, bytes) = self.encoded(row)?;
        Ok(base.tree.update(by, &key, &bytes)?)
    }

    /// The rows whose key begins with `prefix`.
    pub fn rows<R: BaseRow>(&self, prefix: &[Value]) -> Result<Vec<R>, EngineError> {
        if self.bases.is_empty() {
            return self.kept_rows(prefix);
        }
        let base = self.base(R::TABLE)?;
        let mut key = Key::new();
        for (value, at) in prefix.iter().zip(base.table.key()) {
            let column = base
                .table
                .columns
                .get(at)
                .ok_or_else(|| damaged("a key has no column"))?;
            let mut bytes = Vec::new();
            encode_into(&column.data_type, value, &mut bytes)
                .map_err(|e| damaged(&e.to_string()))?;
            key.push(Some(&bytes));
        }
        let range = || match prefix.is_empty() {
            true => Bound::Open,
            false => Bound::Included(key.clone()),
        };
        let mut cursor = base.tree.scan(range(), range(), Direction::Forward);
        let mut rows = Vec::new();
        while cursor.step(&mut Everything)? == Step::Rows {
            while let Some(bytes) = cursor.next_in_batch() {
                let record = base.layout.record(bytes, base.layout.pminlen());
                let values = record.and_then(|r| base.table.decode_row(&base.layout, r));
                let row = values.and_then(R::from_values);
                let bad = || damaged(&format!("a row of {} cannot be read", base.table.name));
                rows.push(row.ok_or_else(bad)?);
            }
        }
        Ok(rows)
    }

    /// All rows.
    pub fn all<R: BaseRow>(&self) -> Result<Vec<R>, EngineError> {
        self.rows(&[])
    }
}
