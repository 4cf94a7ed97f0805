//! Instance, database, session, catalog: the only crate that knows all below.
//!
//! An [`Instance`] is what a process has one of: memory for pages, the lock manager, instruments, the error
//! log, the list of its databases. A [`Database`] is files, a log and a catalog. Sessions and tables stand on
//! it.
//!
//! # Invariants
//! 1. A database is in the instance's list only when it is whole: created to its last page and checkpointed,
//!    or attached and recovered. A crash in between leaves files that the next start removes.
//! 2. A file is deleted only when its header proves that this engine made it for this database.
//! 3. Nobody uses a database before it is recovered, nor after a write of its log or a sync of its files has
//!    failed (SUSPECT): then only recovery can tell what is durable.
//! 4. `sysprufiles`, the file headers and memory agree about files; where a crash comes between, the next
//!    open mends it.
//! 5. Threads of a database end before its files are closed; after [`Database::abandon`] nothing is written.
//!
//! # A database from create to drop
//! 1. *Create* (`database::create`): check the request, note the attempt in the instance's list, make the
//!    files, the log, the boot page and the base tables, checkpoint, enter the database.
//! 2. *Open* (`database::open`): prove the primary file, repair torn pages, analyse the log, redo the primary
//!    file, read from the catalog where the other files are, redo those, undo, checkpoint.
//! 3. *Run*: [`Session`](session)s work; `background` takes checkpoints, makes room in the log, removes
//!    ghosts.
//! 4. *Files* (`files`): added, grown, changed, removed while in use.
//! 5. *Close* (`database::close`): checkpoint, say so on the boot page, let go. *Drop*: close and delete.
//!
//! # What can fail
//! [`EngineError`]: refusals with the product's message numbers, and what failed below with its own type.

mod background;
pub mod catalog;
mod database;
mod files;
mod instance;
mod schema;
mod session;
mod table;

pub use catalog::{Module, ModuleKind, ModuleSet};
pub use database::{
    ColumnFault, Database, DatabaseOptions, DatabaseSpec, DatabaseState, EngineError, FileGrowth,
    FileSpec, FilegroupSpec, Stay, log_name,
};
pub use files::{ClientSink, FileChange, Shrink, Shrunk, directory_error};
pub use furrow_pool::{BufferDescriptor, BufferHeader, thread_read_ahead};
pub use furrow_space::{FileUsage, PageCounts};
pub use furrow_txn::lock::{Canceller, Isolation, LockRow, LockStatus, Resource, Timeout};
pub use instance::{
    AttachOptions, Closely, Content, DatabaseView, DatabaseWork, FileView, FilegroupView, Instance,
    InstanceConfig, LevelStats, LogView, VlfView,
};
pub use schema::{
    CheckSpec, ColumnSpec, ConstraintSpec, DefaultValue, ForeignKeySpec, IndexOptions, IndexSpec,
    KeyColumnSpec, LockEscalation, ReferentialAction, TableSpec,
};
pub use session::{
    Granularity, LockHints, NewColumn, NewValues, OpenStatement, Session, SessionSavepoint,
};
pub use table::{
    BulkInserter, BulkOptions, BulkRows, Check, Claim, Column, ForeignKey, Index, IndexKey,
    IndexKind, Inserter, LeafRow, LeafRows, Number, NumberColumn, OpenScan, PushValues, ReadLock,
    Row, RowKey, Rowset, RowsetAudit, Scan, ScanSpec, Storage, Table, TableChild,
};
