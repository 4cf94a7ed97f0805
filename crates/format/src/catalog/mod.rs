//! The base tables of version 706: the metadata that a database stores about itself.
//!
//! Purpose: one declaration per base table gives its columns, its key, its ids and a Rust struct for its
//! rows. The engine's catalog writes these tables, the reader of real files (`datafile`) reads them.
//!
//! Invariants
//! - The rows that [`bootstrap_rows`] returns describe each table as it is described here. So a new database
//!   describes itself: `sysrscols` contains the places of the columns of `sysrscols`.
//! - In base tables, column ids are positions from 1, and the physical order is the column order.
//! - Each base table has one rowset and no nonclustered index: names are found through the catalog in memory.
//!   Real databases have such indexes; nothing here needs them.
//!
//! Steps for a new database:
//! 1. place each table of [`BASE_TABLES`] on pages (sysfiles1 at (1:32), the others anywhere);
//! 2. get the rows of every table from [`bootstrap_rows`], in key order;
//! 3. encode them with [`BaseTable::encode_row`], in the layout of [`BaseTable::row_layout`].
//!
//! What can fail: nothing here. A row from a file that has another shape is decoded to `None`.

mod bootstrap;
mod codes;
mod identity;
mod layout;
mod objects;
mod row;
mod schema;
mod space;
mod tables;
mod v611;

pub use bootstrap::{
    Bootstrap, BootstrapFile, TablePlace, UnitPlace, base_layout, bootstrap_rows, column_row,
};
pub use codes::{
    class, column_status, foreign_key_status, index_column_status, index_kind, index_status,
    layout_status, module_status, object_status, object_type, reference_class, rowset_status,
    schema_id, unit_kind, value_class,
};
pub use identity::Identity;
pub use layout::{ColumnSpec, NullBits, RowsetKind, RowsetLayout, lay_out, physical_order};
pub use objects::{
    ClassObject, Column, IndexColumn, IndexStat, MultiReference, ObjectValue, Owner, RowsetValue,
    SYSCLSOBJS, SYSCOLPARS, SYSIDXSTATS, SYSISCOLS, SYSMULTIOBJREFS, SYSOBJVALUES, SYSOWNERS,
    SYSSCALARTYPES, SYSSCHOBJS, SYSSEOBJVALUES, SYSSINGLEOBJREFS, ScalarType, SchemaObject,
    SingleReference,
};
pub use row::{CatalogRowError, row_layout};
pub use schema::{BaseColumn, BaseRow, BaseTable, Code};
pub use space::{
    AllocUnit, DatabaseFile, File1, PhysicalFilegroup, Rowset, RowsetColumn, SYSALLOCUNITS,
    SYSFILES1, SYSPHFG, SYSPRUFILES, SYSROWSETS, SYSRSCOLS,
};
pub use tables::BASE_TABLES;
pub use v611::{HobtColumn, RowsetColumn611, SYSHOBTCOLUMNS, SYSROWSETCOLUMNS};
