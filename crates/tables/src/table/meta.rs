//! Tables: columns, indexes, identity, built from catalog rows.

use super::catalog_rows::TableRows;
use super::foreign::{ForeignKey, foreign_keys_of};
use super::index::{Index, IndexKey, LeafColumn, Rowset};
use super::lock_hash;
use super::text::text_of;
use crate::error::EngineError;
use crate::schema::{ColumnSpec, DefaultValue, LockEscalation};
use furrow_access::Key;
use furrow_datafile::{UNKNOWN_TYPE, declared_type};
use furrow_format::catalog::{
    self, Identity, IndexColumn, IndexStat, SchemaObject, column_status, index_column_status,
    layout_status, object_status, object_type,
};
use furrow_format::{DatabaseId, ObjectId, RowsetId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use furrow_txn::lock::Resource;
use furrow_types::{Collation, DataType, DateTime, TypeId, Value};
use std::fmt;
use std::sync::Arc;

/// Bit of `syscolpars.status`.
const FILESTREAM: i32 = 0x20;

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its number, from 1.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Whether it is the identity column.
    pub identity: bool,
    /// What it gets that no insert names, when that is a constant, the time or a new GUID.
    pub default: Option<DefaultValue>,
    /// The text of its default, in parentheses, as the catalog has it.
    pub default_text: Option<String>,
    /// The name of its default's object.
    pub default_name: Option<String>,
    /// The number of the type it was declared with: an alias type has its own, from 257 up (`sysname` 256).
    pub user_type: i32,
    /// Where its values are.
    pub storage: Storage,
}

/// Where the values of a column are. Tables created by this engine have them in their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Storage {
    /// In the row, or where a pointer in it leads.
    #[default]
    Row,
    /// Among those of the sparse columns that are not NULL.
    Sparse,
    /// Nowhere: it is computed when it is read.
    Computed,
    /// Nowhere: it is all sparse columns in one.
    ColumnSet,
    /// In files of their own.
    Filestream,
    /// In the row, in a type that is not known.
    Unknown,
}

impl Column {
    /// Whether it has a default.
    pub fn has_default(&self) -> bool {
        self.default_text.is_some()
    }

    /// The value for a row that does not name the column. Refused when the default is an expression, which
    /// the engine stores and does not evaluate.
    pub fn default_value(&self) -> Result<Value, EngineError> {
        match (&self.default, &self.default_text) {
            (Some(default), _) => Ok(default.value()),
            (None, None) => Ok(Value::Null),
            (None, Some(text)) => {
                let text = format!(
                    "The default {text} of column '{}' is an expression, which only T-SQL evaluates: give \
                    the column a value.",
                    self.name
                );
                Err(crate::error::refuse(40514, 16, 2, &text))
            }
        }
    }
}

/// A CHECK constraint of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its object id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// The condition in parentheses.
    pub text: String,
    /// The number of the column that it was written behind; 0 for one of the table.
    pub column: i32,
    /// Whether the system named it.
    pub system_named: bool,
    /// Whether it is disabled: then it is not checked.
    pub disabled: bool,
    /// Whether all rows were held against it.
    pub trusted: bool,
}

/// An object that belongs to a table: key, check or default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChild {
    /// Its object id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// `sys.objects.type` without blanks: `PK`, `UQ`, `C`, `D`.
    pub type_code: String,
    /// Whether the system named it.
    pub system_named: bool,
    /// When it was created.
    pub created: DateTime,
    /// When it was last changed.
    pub modified: DateTime,
}

/// The values that an identity column hands out.
#[derive(Debug)]
pub(crate) struct IdentityCounter {
    pub(crate) column: usize,
    pub(crate) colid: i32,
    pub(crate) data_type: DataType,
    pub(crate) state: Mutex<IdentityState>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct IdentityState {
    pub(crate) now: Identity,
    /// Values up to this one are in the log as handed out.
    pub(crate) logged: Identity,
}

/// What the versions of one table's definition share.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Transactions that have range locks on it.
    range_readers: AtomicU32,
    /// Transactions that lock pages of it as a whole.
    page_lockers: AtomicU32,
}

impl Common {
    /// Announces a transaction that will guard gaps: inserters test for guards from now on. Called before
    /// the first look: an inserter whose row that look misses latches its leaf later, and sees this.
    pub(crate) fn announce(&self) {
        self.range_readers.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn withdraw(&self) {
        self.range_readers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Announces that a transaction is going to lock whole pages: from now on sessions that lock rows take
    /// intents on their pages. Called before the first page is looked at.
    pub(crate) fn announce_pages(&self) {
        self.page_lockers.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn withdraw_pages(&self) {
        self.page_lockers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether pages may be locked as a whole. The caller holds a row's lock, or has latched its page.
    #[inline]
    pub(crate) fn has_page_lockers(&self) -> bool {
        self.page_lockers.load(Ordering::SeqCst) > 0
    }

    /// Whether gaps may be guarded. The caller is an inserter that has latched its leaf.
    #[inline]
    pub(crate) fn has_range_readers(&self) -> bool {
        self.range_readers.load(Ordering::SeqCst) > 0
    }
}

/// A table.
pub struct Table {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) schema: String,
    pub(crate) columns: Vec<Column>,
    /// The heap or the clustered index first.
    pub(crate) indexes: Vec<Index>,
    pub(crate) identity: Option<Arc<IdentityCounter>>,
    checks: Vec<Check>,
    foreign_keys: Vec<ForeignKey>,
    pub(crate) common: Arc<Common>,
    pub(crate) rows: TableRows,
    superseded: AtomicBool,
    /// Why its rows cannot be read.
    pub(super) unreadable: Option<String>,
    /// Whether an index has no row locks, or no page locks.
    lock_options: bool,
}

/// One line: the definition and the rows are not printed.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("id", &self.id.0)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Finds or opens the rows of an index.
pub(super) type FindRowset<'a> =
    &'a mut dyn FnMut(&TableRows, RowsetId) -> Result<Arc<Rowset>, EngineError>;

fn damaged(rows: &TableRows, what: &str) -> EngineError {
    EngineError::Damaged(format!("table '{}': {what}", rows.object.name))
}

impl Table {
    /// Seed, increment and last value of its identity column.
    pub fn identity_values(&self) -> Option<Identity> {
        self.identity
            .as_ref()
            .map(|counter| counter.state.lock().now)
    }

    /// The table that these rows describe. `rowset` finds or opens the rows of an index.
    pub(crate) fn from_rows(
        rows: TableRows,
        before: Option<&Table>,
        rowset: FindRowset<'_>,
    ) -> Result<Table, EngineError> {
        let mut columns = Vec::new();
        for row in &rows.columns {
            let column = Self::made_column(&rows, row);
            columns.push(column.ok_or_else(|| damaged(&rows, "a column has an unknown type"))?);
        }
        let mut indexes = Vec::new();
        for row in &rows.indexes {
            let rowset = rowset(&rows, RowsetId(row.rowset as u64))?;
            let index = Self::index(&rows, row, rowset);
            indexes.push(index.ok_or_else(|| damaged(&rows, "an index does not fit its columns"))?);
        }
        indexes.sort_by_key(|i: &Index| i.id);
        Self::place_locators(&mut indexes)
            .ok_or_else(|| damaged(&rows, "it has neither heap nor clustered index"))?;
        let counter = Self::identity(&rows, &columns)
            .map_err(|()| damaged(&rows, "its identity value cannot be read"))?;
        let counted = before.and_then(|t| t.identity.as_ref());
        let identity = Self::go_on(counter, counted);
        let common = before.map(|t| Arc::clone(&t.common)).unwrap_or_default();
        let table = Self::put_together(rows, columns, indexes, identity);
        Ok(Table { common, ..table })
    }

    /// A table of a database at rest; why its rows cannot be read, if they cannot.
    pub(super) fn at_rest(
        rows: TableRows,
        columns: Vec<Column>,
        indexes: Vec<Index>,
        unreadable: Option<String>,
    ) -> Table {
        // An at-rest table hands out no identity values, so that one that cannot be read is left out.
        let identity = Self::identity(&rows, &columns).unwrap_or_default();
        let table = Self::put_together(rows, columns, indexes, identity);
        Table {
            unreadable,
            ..table
        }
    }

    fn put_together(
        rows: TableRows,
        columns: Vec<Column>,
        indexes: Vec<Index>,
        identity: Option<Arc<IdentityCounter>>,
    ) -> Table {
        Table {
            lock_options: lock_options(&indexes),
            id: ObjectId(rows.object.id),
            name: rows.object.name.clone(),
            schema: rows.schema.clone(),
            columns,
            indexes,
            identity,
            checks: checks_of(&rows),
            foreign_keys: foreign_keys_of(&rows),
            common: Arc::default(),
            rows,
            superseded: AtomicBool::new(false),
            unreadable: None,
        }
    }

    /// A column of a table of a database at rest.
    pub(super) fn resting_column(rows: &TableRows, row: &catalog::Column) -> Column {
        let declared = declared_type(row);
        let is = |bit: i32| row.status & bit != 0;
        let storage = match declared {
            _ if is(FILESTREAM) => Storage::Filestream,
            None => Storage::Unknown,
            _ if is(column_status::COLUMN_SET) => Storage::ColumnSet,
            _ if is(column_status::SPARSE) => Storage::Sparse,
            _ if is(column_status::COMPUTED) => Storage::Computed,
            _ => Storage::Row,
        };
        Column {
            id: row.colid,
            name: row.name.clone().unwrap_or_default(),
            data_type: declared.unwrap_or(UNKNOWN_TYPE),
            nullable: !is(column_status::NOT_NULL),
            identity: is(column_status::IDENTITY),
            default: None,
            default_text: text_of(&rows.values, row.dflt).filter(|_| row.dflt != 0),
            default_name: {
                let named = rows.children.iter().find(|c| c.id == row.dflt);
                named.map(|c| c.name.clone())
            },
            user_type: row.utype,
            storage,
        }
    }

    pub(crate) fn made_column(rows: &TableRows, row: &catalog::Column) -> Option<Column> {
        let data_type = DataType {
            id: TypeId::from_u8(row.xtype)?,
            length: row.length,
            precision: row.prec,
            scale: row.scale,
            collation: Collation(row.collationid as u32),
        };
        let text = match row.dflt {
            0 => None,
            id => text_of(&rows.values, id),
        };
        let named = rows.children.iter().find(|c| c.id == row.dflt);
        Some(Column {
            id: row.colid,
            name: row.name.clone().unwrap_or_default(),
            data_type,
            nullable: row.status & column_status::NOT_NULL == 0,
            identity: row.status & column_status::IDENTITY != 0,
            default: text
                .as_ref()
                .and_then(|t| DefaultValue::parse(t, &data_type)),
            default_text: text,
            default_name: named.map(|c| c.name.clone()),
            user_type: row.utype,
            storage: Storage::Row,
        })
    }

    pub(super) fn index(rows: &TableRows, row: &IndexStat, rowset: Arc<Rowset>) -> Option<Index> {
        let kind = Index::kind_of(row.kind)?;
        let column_at = |colid: i32| rows.columns.iter().position(|c| c.colid == colid);
        let mut members: Vec<&IndexColumn> = rows
            .index_columns
            .iter()
            .filter(|c| c.idminor == row.indid)
            .collect();
        members.sort_by_key(|c| c.subid);
        let mut keyed: Vec<&IndexColumn> = members
            .iter()
            .copied()
            .filter(|c| c.tinyprop1 > 0)
            .collect();
        keyed.sort_by_key(|c| c.tinyprop1);
        let key = keyed.iter().map(|c| {
            let descending = c.status & index_column_status::DESCENDING != 0;
            Some(IndexKey {
                column: column_at(c.intprop)?,
                descending,
            })
        });
        let key: Vec<IndexKey> = key.collect::<Option<_>>()?;
        let included = members.iter().filter(|c| c.tinyprop1 == 0);
        let included = included
            .map(|c| column_at(c.intprop))
            .collect::<Option<Vec<_>>>()?;
        let leaf = Self::leaf_columns(rows, row, kind, &members)?;
        let leaf_of = (0..rows.columns.len())
            .map(|c| leaf.iter().position(|l| *l == LeafColumn::Table(c)))
            .collect();
        let template = Index::template_of(&rowset, &leaf, rows.columns.len());
        Some(Index {
            id: row.indid as u32,
            name: row.name.clone().unwrap_or_default(),
            kind,
            status: row.status,
            fill_factor: row.fillfact,
            key,
            included,
            rowset,
            uniquifier: kind == super::IndexKind::Clustered
                && leaf.contains(&LeafColumn::Uniquifier),
            leaf,
            leaf_of,
            locator: Vec::new(),
            older: Arc::default(),
            template,
        })
    }

    /// What the leaf columns of an index are. Columns of a nonclustered index that no row of
    /// `sysiscols` names are those of the clustered key which are not among the named ones, in key order.
    fn leaf_columns(
        rows: &TableRows,
        row: &IndexStat,
        kind: super::IndexKind,
        members: &[&IndexColumn],
    ) -> Option<Vec<LeafColumn>> {
        let column_at = |colid: i32| rows.columns.iter().position(|c| c.colid == colid);
        let layout = rows
            .stored_columns(row.rowset)
            .filter(|l| l.status & layout_status::DROPPED == 0);
        if kind != super::IndexKind::Nonclustered {
            return layout
                .map(|l| match l.status & layout_status::UNIQUIFIER != 0 {
                    true => Some(LeafColumn::Uniquifier),
                    false => column_at(l.rscolid).map(LeafColumn::Table),
                })
                .collect();
        }
        let named: Vec<usize> = members
            .iter()
            .map(|c| column_at(c.intprop))
            .collect::<Option<_>>()?;
        let mut base: Vec<&IndexColumn> = rows
            .index_columns
            .iter()
            .filter(|c| c.idminor == 1 && c.tinyprop1 > 0)
            .collect();
        base.sort_by_key(|c| c.tinyprop1);
        let base = base
            .iter()
            .map(|c| column_at(c.intprop))
            .collect::<Option<Vec<_>>>()?;
        let on_heap = rows.indexes.iter().any(|i| i.indid == 0);
        let mut rest = base.into_iter().filter(|c| !named.contains(c));
        layout
            .map(|l| {
                if l.status & layout_status::UNIQUIFIER != 0 {
                    return Some(LeafColumn::Uniquifier);
                }
                let explicit = usize::try_from(l.rscolid).ok()?.checked_sub(1);
                match explicit.and_then(|at| named.get(at)) {
                    Some(&column) => Some(LeafColumn::Table(column)),
                    None if on_heap => Some(LeafColumn::Rid),
                    None => rest.next().map(LeafColumn::Table),
                }
            })
            .collect()
    }

    fn place_locators(indexes: &mut [Index]) -> Option<()> {
        let base = indexes.first()?;
        let places = indexes.iter().map(|index| Self::locator_in(base, index));
        let places: Vec<Vec<usize>> = places.collect::<Option<_>>()?;
        for (index, place) in indexes.iter_mut().zip(places) {
            index.locator = place;
        }
        Some(())
    }

    /// Where the leaf rows of an index have the columns of the base key; none in a heap itself.
    pub(super) fn locator_in(base: &Index, index: &Index) -> Option<Vec<usize>> {
        if index.kind == super::IndexKind::Heap {
            return Some(Vec::new());
        }
        let mut wanted: Vec<LeafColumn> = match base.kind {
            super::IndexKind::Heap => vec![LeafColumn::Rid],
            super::IndexKind::Clustered => {
                let key = base.key.iter();
                key.map(|k| LeafColumn::Table(k.column)).collect()
            }
            super::IndexKind::Nonclustered => return None,
        };
        if base.uniquifier {
            wanted.push(LeafColumn::Uniquifier);
        }
        let place = |w: &LeafColumn| index.leaf.iter().position(|l| l == w);
        wanted.iter().map(place).collect()
    }

    /// The identity counter of a changed table continues that of the definition before.
    fn go_on(
        new: Option<Arc<IdentityCounter>>,
        before: Option<&Arc<IdentityCounter>>,
    ) -> Option<Arc<IdentityCounter>> {
        let new = new?;
        match before.filter(|old| old.colid == new.colid && old.data_type == new.data_type) {
            Some(old) if old.column == new.column => Some(Arc::clone(old)),
            Some(old) => {
                let state = *old.state.lock();
                *new.state.lock() = state;
                Some(new)
            }
            None => Some(new),
        }
    }

    fn identity(rows: &TableRows, columns: &[Column]) -> Result<Option<Arc<IdentityCounter>>, ()> {
        let Some(column) = columns.iter().position(|c| c.identity) else {
            return Ok(None);
        };
        let (row, made) = (
            rows.columns.get(column).ok_or(())?,
            columns.get(column).ok_or(())?,
        );
        let value = row
            .idtval
            .as_deref()
            .and_then(|v| Identity::decode(&made.data_type, v));
        let now = value.ok_or(())?;
        Ok(Some(Arc::new(IdentityCounter {
            column,
            colid: row.colid,
            data_type: made.data_type,
            state: Mutex::new(IdentityState { now, logged: now }),
        })))
    }

    /// Its object id.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its schema's name.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Its name with its schema, as messages give it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| crate::schema::same_name(&c.name, name))
    }

    /// Its indexes, the clustered one, or the heap, first.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// The index of this name.
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.indexes
            .iter()
            .find(|i| crate::schema::same_name(&i.name, name))
    }

    /// Rows, those of open transactions included.
    pub fn row_count(&self) -> i64 {
        self.base().rowset.row_count()
    }

    /// The clustered index, or the heap.
    #[expect(
        clippy::indexing_slicing,
        reason = "no table is made without it: see place_locators"
    )]
    #[inline]
    pub(crate) fn base(&self) -> &Index {
        &self.indexes[0]
    }

    /// The place of the index that single rows are looked up by: the clustered one when its key is unique,
    /// else the primary key.
    pub fn lookup_index(&self) -> Option<usize> {
        let base = self.base();
        if !self.is_heap() && !base.uniquifier {
            return Some(0);
        }
        self.indexes.iter().position(Index::is_primary_key)
    }

    /// Whether it has no clustered index.
    #[inline]
    pub fn is_heap(&self) -> bool {
        self.base().kind == super::IndexKind::Heap
    }

    /// Whether an index of it has no row locks, or no page locks.
    #[inline]
    pub(crate) fn has_lock_options(&self) -> bool {
        self.lock_options
    }

    /// Whether an index of it has page locks and no row locks.
    pub(crate) fn is_locked_by_pages(&self) -> bool {
        self.indexes
            .iter()
            .any(|i| i.allows_page_locks() && !i.allows_row_locks())
    }

    /// Whether an index of it has neither row nor page locks: then only the table is locked.
    pub(crate) fn is_locked_whole(&self) -> bool {
        self.indexes
            .iter()
            .any(|i| !i.allows_page_locks() && !i.allows_row_locks())
    }

    /// The lock of the row with this whole clustered key, or this address.
    #[inline]
    pub(crate) fn row_resource(&self, db: DatabaseId, key: &Key) -> Resource {
        let base = self.base();
        match base.rowset.heap().and(super::rid_of(key)) {
            Some(rid) => Resource::Rid(db, rid),
            None => Resource::key(
                db,
                base.rowset.id(),
                lock_hash(base.shape(), key, usize::MAX),
            ),
        }
    }

    /// Whether a newer definition, or none, has taken its place.
    pub fn is_superseded(&self) -> bool {
        self.superseded.load(Ordering::Acquire)
    }

    /// LOCK_ESCALATION.
    pub fn lock_escalation(&self) -> LockEscalation {
        LockEscalation::of_status(self.rows.object.status)
    }

    pub(crate) fn supersede(&self) {
        self.superseded.store(true, Ordering::Release);
    }

    /// The columns as a request would describe them.
    pub(crate) fn column_specs(&self) -> Vec<ColumnSpec> {
        let spec = |c: &Column| ColumnSpec {
            nullable: c.nullable,
            ..ColumnSpec::new(&c.name, c.data_type)
        };
        self.columns.iter().map(spec).collect()
    }

    /// Its checks.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Its foreign keys.
    pub fn foreign_keys(&self) -> &[ForeignKey] {
        &self.foreign_keys
    }

    /// Its keys, checks and defaults as objects.
    pub fn children(&self) -> Vec<TableChild> {
        let child = |c: &SchemaObject| TableChild {
            id: ObjectId(c.id),
            name: c.name.clone(),
            type_code: String::from_utf8_lossy(&c.kind.0).trim_end().to_owned(),
            system_named: c.status & object_status::SYSTEM_NAMED != 0,
            created: c.created,
            modified: c.modified,
        };
        self.rows.children.iter().map(child).collect()
    }

    /// When it was created.
    pub fn created(&self) -> DateTime {
        self.rows.object.created
    }

    /// When it was last changed.
    pub fn modified(&self) -> DateTime {
        self.rows.object.modified
    }
}

fn lock_options(indexes: &[Index]) -> bool {
    indexes
        .iter()
        .any(|i| !i.allows_row_locks() || !i.allows_page_locks())
}

fn checks_of(rows: &TableRows) -> Vec<Check> {
    let checks = rows
        .children
        .iter()
        .filter(|c| c.kind == object_type::CHECK);
    let check = |c: &SchemaObject| Check {
        id: ObjectId(c.id),
        name: c.name.clone(),
        text: text_of(&rows.values, c.id).unwrap_or_default(),
        column: c.intprop,
        system_named: c.status & object_status::SYSTEM_NAMED != 0,
        disabled: c.status & object_status::DISABLED != 0,
        trusted: c.status & object_status::NOT_TRUSTED == 0,
    };
    checks.map(check).collect()
}
