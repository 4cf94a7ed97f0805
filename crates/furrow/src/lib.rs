//! Furrow as a library: an embedded transactional store over many files, with SQL Server's page format, its
//! errors and its wait statistics.
//!
//! # Purpose
//! A short interface for applications: create or open a database, create tables, insert rows by prepared
//! inserters or in bulk, read them by key or in ranges, commit, and read wait statistics. It is thin:
//! suitable types of the engine are re-exported, and the engine itself is one call away
//! ([`Database::engine`]).
//!
//! # Invariants
//! 1. A commit that has returned is durable.
//! 2. The database stays open while a handle ([`Database`]) or a [`Session`] of it lives; with the last one
//!    it is shut down cleanly. [`Database::close`] does the same and returns an error if that fails.
//! 3. A [`Transaction`] that is dropped without [`Transaction::commit`] is rolled back.
//! 4. Every error has the number, level, state and text that SQL Server would give ([`Error`]).
//!
//! Proofs, by the invariant's number: 1: `hundreds_of_power_losses_lose_nothing_and_tear_nothing` (soak).
//! 2: `a_database_is_closed_with_its_last_handle_and_not_before`. 3:
//! `savepoints_and_guards_undo_what_they_should`. 4:
//! `errors_have_the_products_numbers_and_leave_the_session_usable`.
//!
//! # In short
//! ```
//! use furrow::{ColumnSpec, Database, TableSpec, sql};
//!
//! # fn main() -> Result<(), furrow::Error> {
//! // Two data files and a log. `in_memory` keeps them off the disk: for tests, and for this page.
//! let db = Database::create("sales")
//!     .file("sales1.mdf")
//!     .file("sales2.ndf")
//!     .log("sales.ldf")
//!     .in_memory()
//!     .open()?;
//! let mut session = db.session()?;
//! let orders = session.create_table(
//!     &TableSpec::new("orders")
//!         .column(ColumnSpec::new("id", sql::BIGINT).identity(1, 1))
//!         .column(ColumnSpec::new("customer", sql::varchar(40)).not_null())
//!         .column(ColumnSpec::new("cents", sql::INT))
//!         .primary_key(["id"]),
//! )?;
//!
//! // Many rows in one transaction: columns are named once, values go straight into the row's bytes.
//! let mut transaction = session.transaction()?;
//! let mut insert = transaction.inserter(&orders, &["customer", "cents"])?;
//! insert.row(("Ada", 1250))?;
//! let id = insert.row(("Grace", None::<i32>))?;
//! drop(insert);
//! transaction.commit()?;
//! assert_eq!(id, Some(2));
//!
//! // One row by its key, and a range from the end.
//! let row = session.get(&orders, 1_i64)?.expect("it was committed");
//! assert_eq!(row.get::<String>("customer")?, "Ada");
//! let mut ids = Vec::new();
//! session.range_back(&orders, 1_i64..)?.for_each(|row| {
//!     ids.push(row.get::<i64>("id")?);
//!     Ok(())
//! })?;
//! assert_eq!(ids, [2, 1]);
//!
//! // What was waited for, as SQL Server counts it.
//! for wait in db.waits() {
//!     println!("{} {} times, {} us", wait.wait_type.name(), wait.count, wait.total_us);
//! }
//!
//! // Errors carry SQL Server's numbers.
//! let error = session.table("invoices").unwrap_err();
//! assert_eq!((error.number(), error.level()), (208, 16));
//! # Ok(())
//! # }
//! ```
//!
//! # What can fail
//! All operations that use a disk, a lock or a user's input: [`Error`].

mod builder;
mod database;
mod error;
mod home;
mod inserter;
mod opening;
mod row;
mod session;
pub mod sql;
mod values;

pub use builder::{Create, DataFile, Options};
pub use database::Database;
pub use error::Error;
pub use inserter::{BulkInserter, Inserter};
pub use row::{ColumnRef, FromColumn, Row, Rows};
pub use session::{Session, Transaction};
pub use values::{ToColumn, ToRow};

pub use furrow_datafile as mdf;
pub use furrow_engine::{
    BulkOptions, ColumnSpec, ConstraintSpec, DefaultValue, FileGrowth, FileSpec, FileView,
    IndexSpec, Isolation, KeyColumnSpec, LogView, ReadLock, ScanSpec,
    SessionSavepoint as Savepoint, Table, TableSpec, Timeout,
};
pub use furrow_io::{MemoryVolume, SystemVolume, Volume};
pub use furrow_messages::Message;
pub use furrow_observe::files::FileSnapshot as FileStats;
pub use furrow_observe::latches::LatchRow;
pub use furrow_observe::spinlocks::SpinRow;
pub use furrow_observe::traceflags::TraceFlag;
pub use furrow_observe::waits::{WaitRow, WaitType};
pub use furrow_types::{
    DataType, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Guid, SmallDateTime, Time, Value,
};

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;
