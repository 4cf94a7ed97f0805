//! Instance and databases: created, opened, recovered, changed, closed.
//!
//! A process has one [`Instance`]: memory for pages, the lock manager, instruments, the error log, the list
//! of its databases. A [`Database`] is files, a log, threads, and a [`DatabaseCore`] that the sessions of the
//! crate `tables` work with. A [`Session`] is a session of `tables` that holds its database open.
//!
//! Folders and files, each of which imports only those before it:
//! 1. `files`: a database's files on their volume and in the catalog, and what a statement asks for.
//! 2. `shared`: what the databases of an instance share, and their list on disk.
//! 3. `keeper`, `threads`: checkpoints and space in the log; threads that sleep.
//! 4. `database`: [`Database`], [`Session`], options, a clean end.
//! 5. `opening`: databases are created, opened, attached. `background`: the threads of a database.
//! 6. `alter`: files and filegroups change in use. `snapshots`: database snapshots, and reverts to them.
//! 7. `instance`: [`Instance`], its views, reports of deadlocks.
//!
//! # Invariants
//! 1. A database is in the instance's list only when it is whole: created to its last page and checkpointed,
//!    or attached and recovered. A crash in between leaves files that the next start removes.
//! 2. A file is deleted only when its header proves that this engine made it for this database.
//! 3. No session uses a database before it is recovered, nor after a write of its log or a sync of its files
//!    has failed (SUSPECT): then only recovery can find what is durable.
//! 4. `sysprufiles`, the file headers and memory agree about files; where a crash comes between, the next
//!    open repairs the difference.
//! 5. Threads of a database end before its files are closed; after [`Database::abandon`] nothing is written.
//!
//! Proofs: 1, 2, 4: the soak's crash runs stop at every sync and every failure of these steps and open the
//! database again; `old_copies`, `log_rebuilt` and `files` of the suite have the single cases. 3: each
//! statement begins with `DatabaseCore::check`; `faults` of the suite. 5: `lifecycle_background` of the
//! suite.
//!
//! # A database from create to drop
//! 1. *Create* (`opening::create`): check the request, note the attempt in the instance's list, make the
//!    files, the log, the boot page and the base tables, checkpoint, enter the database in the list.
//! 2. *Open* (`opening::open`): prove the primary file, repair torn pages, analyse the log, redo the primary
//!    file, read from the catalog where the other files are, redo those, undo, checkpoint.
//! 3. *Run*: [`Session`]s work; `background` takes checkpoints, frees space in the log, removes ghosts.
//! 4. *Files* (`alter`): added, grown, changed, removed while in use.
//! 5. *Close* (`database::close`): checkpoint, mark the boot page, close the files. *Drop*: close and delete.
//!
//! # What can fail
//! [`EngineError`]: refusals with SQL Server's message numbers, and errors of the crates below with their own
//! types.

mod alter;
mod background;
mod backup;
mod checking;
mod database;
mod files;
mod instance;
mod keeper;
mod opening;
mod shared;
mod snapshots;
mod threads;

pub use alter::{FileChange, Shrink, Shrunk};
pub use backup::{
    BackupFacts, BackupScope, BackupSource, MOST_RESTORED_PAGES, PageRestore, PageSource,
    SourceFile, StopPoint, StopSearch, WriterCounts, WriterGauge, page_of_text,
};
pub use checking::{Checked, SnapshotInfo};
pub use database::{ClientSink, Database, Session};
pub use files::{
    DatabaseSpec, FileGrowth, FileSpec, FilegroupSpec, directory_error, file_path, log_name,
};
pub use furrow_pool::{BufferDescriptor, BufferHeader, thread_read_ahead};
pub use furrow_space::{FileUsage, PageCounts};
pub use furrow_tables::{
    BulkInserter, BulkOptions, BulkRows, Check, CheckSpec, Claim, Column, ColumnFault, ColumnSpec,
    ConstraintSpec, DatabaseCore, DatabaseOptions, DatabaseRef, DatabaseState, DefaultValue,
    Division, EngineError, Followed, ForeignKey, ForeignKeySpec, Granularity, Index, IndexKey,
    IndexKind, IndexOptions, IndexSpec, Inserter, KeyColumnSpec, LeafRow, LeafRows, LockEscalation,
    LockHints, LockWait, LockWaiter, Module, ModuleDefinition, ModuleKind, ModuleSet, MovedRow,
    NewColumn, NewValues, Number, NumberColumn, OpenScan, OpenStatement, PART_PAGES, PushValues,
    ReadLock, ReferentialAction, Row, RowKey, Rowset, RowsetAudit, Scan, ScanSpec,
    SessionSavepoint, Storage, Table, TableChild, TableSpec, repeated_name,
};
pub use furrow_txn::TxnMark;
pub use furrow_txn::lock::{Canceller, Isolation, LockRow, LockStatus, Resource, Timeout};
pub use instance::{
    AttachOptions, Closely, Content, DatabaseView, DatabaseWork, FileView, FileViewState,
    FilegroupView, Instance, LevelStats, LogView, RestoreFile, RestoreSpec, RestoreTarget,
    Restoring, SnapshotSpec, StandbyPlan, VlfView, is_repair_written,
};
pub use shared::InstanceConfig;
