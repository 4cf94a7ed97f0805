//! The catalog: base tables on disk, tables in memory.
//!
//! On disk the catalog is SQL Server's base tables. Each is a B+tree, changed by transactions, so that DDL
//! is rolled back and recovered as rows are. In memory it is one [`Table`] per object, created once and
//! shared, and one [`Rowset`] per index. A rowset outlives the versions of its table's definition.
//!
//! # Invariants
//! 1. What `named` lists is committed. The uncommitted changes of a session are in its own [`DdlChanges`],
//!    which no other session sees: other sessions wait for its Sch-M lock.
//! 2. An allocation unit that has pages has a row in `sysallocunits`. Type 0 there means: to be dropped. A
//!    new unit is entered with type 0 outside of the transaction, and gets type 1 within it; a dropped
//!    unit gets type 0 within it. So however the transaction ends, rows of type 0 are the units to free.
//!    The session frees them, or the next open does.
//! 3. A row of `sysallocunits` or `sysrowsets` is changed under `change`. Otherwise a checkpoint that
//!    writes counts at the same time could undo a change of the type.
//! 4. Trees are unique: an allocation unit is opened once, and every user reaches it through `rowsets`.
//! # Steps of CREATE TABLE
//! 1. Check; lock the name, X, so that of two sessions with one name the second waits.
//! 2. For each index: allocate a unit and a root page, enter the unit as type 0.
//! 2. For each index: allocate a unit and a root page, enter the unit as type 0.
//! 3. Within the transaction: give the units type 1; insert rows into the other base tables.
//! 4. Create the [`Table`] from the same rows; the session stores it until commit.
//! # What can fail
//! Refusals with SQL Server's messages; [`EngineError::Damaged`] for rows that contradict one another.

mod alter;
mod bases;
mod children;
mod counts;
mod create;
mod drop;
mod foreign;
mod ghosts;
mod ids;
mod indexes;
mod load;
mod module;
mod named;
mod overlay;
mod resting;
mod rewrite;
mod rowsets;
mod schemas;
mod truncate;
mod undo;

pub use bases::Bases;
pub use module::{Module, ModuleDefinition, ModuleKind, ModuleSet};

pub(crate) use indexes::Changed;
pub(crate) use overlay::{DdlChanges, DdlMark};

use crate::error::EngineError;
use crate::table::{Rowset, Table};
use furrow_access::Tree;
use furrow_format::catalog::{BaseTable, ClassObject};
use furrow_format::{ObjectId, RowsetId};
use furrow_io::sync::atomic::AtomicU64;
use furrow_io::sync::{Mutex, RwLock};
use furrow_space::Space;
use furrow_txn::Store;
use ids::Ids;
use named::Named;
use std::collections::HashMap;
use std::sync::Arc;

/// The catalog of a database.
#[derive(Debug)]
pub struct Catalog {
    store: Arc<Store>,
    space: Arc<Space>,
    bases: Bases,
    /// Set when undo is done; before that the numbers in use are not known.
    ids: RwLock<Option<Ids>>,
    named: RwLock<Named>,
    schemas: RwLock<Vec<ClassObject>>,
    rowsets: RwLock<HashMap<RowsetId, Arc<Rowset>>>,
    change: Mutex<()>,
    /// Held by the thread that removes ghosts: the queues and sweeps allow one cleaner at a time.
    cleaning: Mutex<()>,
    /// Units dropped since the database was opened.
    dropped: AtomicU64,
    /// Held exclusively while pages of a unit are freed, so that no other thread reads them to count them.
    freeing: RwLock<()>,
}

/// What names are looked up by.
pub(crate) fn name_key(schema: &str, name: &str) -> String {
    format!("{}.{}", schema.to_lowercase(), name.to_lowercase())
}

impl Catalog {
    /// Opens the catalog: pages are redone, nothing is undone yet.
    pub fn open(store: &Arc<Store>, space: &Arc<Space>) -> Result<Catalog, EngineError> {
        Ok(Catalog::over(store, space, Bases::open(store, space)?))
    }

    fn over(store: &Arc<Store>, space: &Arc<Space>, bases: Bases) -> Catalog {
        Catalog {
            store: Arc::clone(store),
            space: Arc::clone(space),
            bases,
            ids: RwLock::new(None),
            named: RwLock::default(),
            schemas: RwLock::default(),
            rowsets: RwLock::default(),
            change: Mutex::new(()),
            cleaning: Mutex::new(()),
            dropped: AtomicU64::new(0),
            freeing: RwLock::new(()),
        }
    }

    /// Typed rows of the base tables.
    pub fn bases(&self) -> &Bases {
        &self.bases
    }

    /// The tree of a base table; an error for `sysfiles1`, which is a heap.
    pub fn base(&self, table: &'static BaseTable) -> Result<&Arc<Tree>, EngineError> {
        self.bases.tree(table)
    }

    /// The committed table of this name.
    pub fn table(&self, schema: &str, name: &str) -> Option<Arc<Table>> {
        let named = self.named.read();
        let id = named.id_of(&name_key(schema, name))?;
        named.table(id).cloned()
    }

    /// The committed table with this number.
    pub fn table_by_id(&self, id: ObjectId) -> Option<Arc<Table>> {
        self.named.read().table(id).cloned()
    }

    /// The committed tables, by name.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> = self.named.read().tables().cloned().collect();
        tables.sort_by_key(|t| name_key(&t.schema, &t.name));
        tables
    }

    /// Makes a session's changes visible to all sessions. Its transaction has committed and still holds
    /// its locks.
    pub(crate) fn publish(&self, changes: &DdlChanges) {
        let mut named = self.named.write();
        for change in changes.iter() {
            named.remove(change.id);
            if let Some(table) = &change.table {
                named.put_table(Arc::clone(table));
            }
            if let Some(module) = &change.module {
                named.put_module(Arc::clone(module));
            }
        }
        changes.apply_schemas(&mut self.schemas.write());
    }
}
