//! Checkpoint, and the restart of a database: analysis, redo, undo.
//!
//! # A checkpoint
//! 1. `CheckpointBegin` is appended; its LSN is the checkpoint's.
//! 2. The active transactions are listed; its LSN is put into every file's header, and the bits of changed
//!    extents into their maps; every page dirty now is written, each file by its own writer, and synced.
//! 3. `CheckpointEnd` is appended with the list and the redo point: the smaller of the begin and of
//!    the oldest LSN that a page still dirty needs. It is made durable.
//! 4. The log's header names the checkpoint, durably; the log before the redo point and the oldest
//!    active transaction may be reused.
//!
//! # A restart
//! 1. The caller repairs torn pages from the double-write files.
//! 2. *Analysis* reads the log from the last completed checkpoint to its end: which transactions
//!    have not ended.
//! 3. *Redo* reads from the redo point and applies every page change whose page is older, with the function
//!    that made the change. It can be limited to some files: the primary first, because the catalog in it
//!    names the others.
//! 4. *Undo* rolls back the transactions that have not ended, logging compensation; a restart that is
//!    interrupted continues where it was.
//!
//! # Invariants
//! 1. The redo point is not behind the checkpoint's begin, and never moves back: asserted in `checkpoint`.
//! 2. A checkpoint is durable, its end included, before the log's header names it: asserted in
//!    `checkpoint` and in `Log::note_checkpoint`.
//! 3. A change is repeated only on a page that is older than its record: asserted in `redo`.
//! 4. Nothing that redo or an active transaction needs is truncated: asserted in `truncate` and `analyse`.
//! 5. The record that ends a checkpoint reads back as it was written: asserted where it is written; a
//!    record that cannot be read is an error of the restart.
//!
//! # A page snapshot
//! The pages of a snapshot (`furrow_pool::snapshot`) have every change before its split, so nothing is
//! redone. [`active_at`] gives the transactions that had not ended at the split. [`undo_from`] rolls them
//! back on the snapshot's own pages: it reads the records from the source's log, and logs compensation to
//! the log of the snapshot.
//!
//! # What can fail
//! [`RecoveryError`]: a log that cannot be read, a page that is damaged and that the log does not rebuild.

#![deny(clippy::indexing_slicing)]

mod analysis;
mod body;
mod changed;
mod checkpoint;
mod error;
mod redo;
mod roll_forward;
mod split;
mod stamp;
mod touched;
mod undo;

pub use analysis::{Analysis, LogSpan, Loser, analyse, look};
pub use changed::restart_changed;
pub use checkpoint::{Checkpoint, checkpoint, last_checkpoint, truncate};
pub use error::RecoveryError;
pub use redo::{Aside, RedoStats, redo, redo_around};
pub use roll_forward::{pages_of, roll_forward_page};
pub use split::{active_at, mark_split, undo_from};
pub use stamp::stamp_new_file;
pub use touched::changed_by;
pub use undo::{UndoStats, undo};
