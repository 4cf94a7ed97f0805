//! A database: its files, its log, its catalog, and who works on them.

mod assemble;
mod close;
mod hooks;
mod options;
mod session;
mod snapshots;
mod stage;
pub(crate) mod temporary;
mod updateability;

pub use hooks::ClientSink;
pub use session::Session;

pub(crate) use assemble::{Parts, Registration};
pub(crate) use close::{clear_flag, force_boot};
pub(crate) use hooks::Hooks;
pub(crate) use snapshots::{Kept, SnapshotOf};
pub(crate) use stage::{PageStage, StagedPage};

use crate::files::{FileBook, FilePlan};
use crate::keeper::Keeper;
use crate::shared::Shared;
use crate::threads::Threads;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_messages::Message;
use furrow_tables::{DatabaseCore, DatabaseRef, EngineError};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An open database: its [`DatabaseCore`], its files, its threads.
///
/// A [`Session`] holds the database open as long as it lives: a database in use is not dropped.
pub struct Database {
    pub(crate) core: Arc<DatabaseCore>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) files: FileBook,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) registration: Registration,
    pub(crate) background: Mutex<Option<Threads>>,
    /// Of a temporary database: the files that it is made of when the instance starts.
    pub(crate) layout: Option<Mutex<Vec<FilePlan>>>,
    /// Bytes moved to make files smaller.
    pub(crate) shrink_bytes: AtomicU64,
    /// Of a snapshot: what it is of.
    pub(crate) snapshot: Option<SnapshotOf>,
    /// Its snapshots.
    pub(crate) kept: Kept,
    /// Messages to report to the client that opened the database.
    pub(crate) messages: Mutex<Vec<Message>>,
    /// Pages that are being restored.
    pub(crate) stage: Mutex<PageStage>,
    /// Whether it can be read between two restores of its log alone.
    pub(crate) standby: AtomicBool,
}

impl Deref for Database {
    type Target = DatabaseCore;

    fn deref(&self) -> &DatabaseCore {
        &self.core
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Database");
        shown
            .field("id", &self.id)
            .field("name", &self.name)
            .field("state", &self.state());
        shown.finish_non_exhaustive()
    }
}

impl Database {
    /// Enters the database without a session: it is not closed or dropped until the result is dropped. 924
    /// where one session at a time may enter.
    pub fn enter(&self) -> Result<DatabaseRef, EngineError> {
        self.core.enter()
    }

    /// Keeps the database open for something that is no session: as long as this lives, it is not closed,
    /// dropped or repaired.
    pub(crate) fn keep_open(&self) -> Result<DatabaseRef, EngineError> {
        self.core.keep_open()
    }

    /// Whether it is in standby: more of its log is to be restored.
    pub fn is_in_standby(&self) -> bool {
        self.standby.load(Ordering::Acquire)
    }

    /// Messages to report to the client that opened the database, such as that its log is a new one. The
    /// second call returns none.
    pub fn take_messages(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock())
    }
}
