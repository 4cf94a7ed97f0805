//! Tables of one open database: their definitions, their catalog, and what sessions do with their rows.
//!
//! Folders, each of which imports only those before it:
//! 1. `error`: the errors, with SQL Server's messages.
//! 2. `schema`: the requests of DDL, and their rules.
//! 3. `table`: [`Table`], [`Index`], [`Rowset`] in memory; rows encoded and decoded.
//! 4. `catalog`: the base tables on disk, and the tables in memory that are built from them.
//! 5. `database`: [`DatabaseCore`], the part of an open database that sessions use.
//! 6. `session`: [`Session`], its transactions, statements and locks of tables.
//! 7. `rows`: reads and changes of rows, as methods of [`Session`].
//! 8. `ddl`: changes of definitions, as methods of [`Session`].
//!
//! The crate `engine` opens and closes the databases.
//!
//! # Invariants
//! 1. *No session outlives its database.* A [`Session`] holds a [`DatabaseRef`] while it lives; a
//!    database with a reference is not closed, dropped or made read-only. Asserted where a reference is
//!    dropped;
//!    `options_survive_and_a_database_in_use_is_not_dropped` (engine).
//! 2. *Locks end after the transaction.* The end of a transaction is in the log (a commit: durable) before
//!    its changes of definitions are published and its locks are released: `Session::commit_now`. The
//!    mutations `early-release` and `free-before-commit` fail the soak's scenes.
//! 3. *A definition in memory is committed*, or is in the list of the session that changed it: `catalog` has
//!    the rules; the consistency check compares the catalog with the pages.
//! 4. *A failed statement changes nothing*: it is undone to the savepoint before it, or with its
//!    transaction. `a_failed_statement_is_undone_alone_and_says_what_the_product_says`.
//!
//! # What can fail
//! [`EngineError`]: refusals with SQL Server's message numbers, and errors of the crates below with their own
//! types.

mod catalog;
mod database;
mod ddl;
mod error;
mod rows;
mod schema;
mod session;
mod table;

pub use catalog::{Bases, Catalog, Module, ModuleDefinition, ModuleKind, ModuleSet};
pub use database::{
    CoreParts, DatabaseCore, DatabaseOptions, DatabaseRef, DatabaseState, Durability, GHOST_LEAVES,
    StateCell, Updateability,
};
pub use ddl::{NewColumn, NewValues};
pub use error::{ColumnFault, EngineError, os_error, refuse};
pub use rows::{
    BulkInserter, BulkOptions, BulkRows, Claim, Division, Inserter, MovedRow, OpenScan, PART_PAGES,
    PointRow, PushValues, RowKey, Scan,
};
pub use schema::{
    CheckSpec, ColumnSpec, ConstraintSpec, DefaultValue, ForeignKeySpec, IndexOptions, IndexSpec,
    KeyColumnSpec, LockEscalation, ReferentialAction, TableSpec, check_name, repeated_name,
};
pub use session::{
    Followed, Granularity, LockHints, LockWait, LockWaiter, OpenStatement, ReadLock, ScanSpec,
    Session, SessionSavepoint,
};
pub use table::{
    Check, Column, ForeignKey, Index, IndexKey, IndexKind, LeafRow, LeafRows, Number, NumberColumn,
    Row, Rowset, RowsetAudit, Storage, Table, TableChild,
};
