//! What can go wrong in the pool.

use crate::key::PageKey;
use furrow_format::{DatabaseId, FileId, Lsn, PageFault};
use furrow_io::IoError;
use furrow_observe::suspects::SuspectEvent;
use furrow_observe::task;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why the log could not be made durable, as the log reports it.
pub type LogFailure = Arc<dyn Error + Send + Sync>;

/// An error of the pool. Cheap to clone: all threads that waited for a page get the same one.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum PoolError {
    /// Message 824: the page came from the disk, but is not what was written there.
    #[error("page {} of database {} in file '{}' is damaged: {fault}", key.page, key.db.0, path.display())]
    BadPage {
        /// The page.
        key: PageKey,
        /// The file it was read from.
        path: PathBuf,
        /// What is wrong with it.
        fault: PageFault,
    },
    /// Message 823: the system refused to read, write or sync.
    #[error("database {}, file {file}: {source}", db.0)]
    Io {
        /// The database.
        db: DatabaseId,
        /// The file.
        file: FileId,
        /// The system's error.
        source: IoError,
    },
    /// Message 802: every frame is held or cannot be written.
    #[error("no buffer became free within {waited:?} in a pool of {frames} frames")]
    NoBuffer {
        /// Frames in the pool.
        frames: usize,
        /// How long the caller waited.
        waited: Duration,
    },
    /// The log could not be made durable, so that no page may be written.
    #[error("database {}: the log cannot be made durable up to {lsn}: {reason}", db.0)]
    Log {
        /// The database.
        db: DatabaseId,
        /// The requested LSN.
        lsn: Lsn,
        /// The log's error.
        reason: LogFailure,
    },
    /// The file was never added, or has been removed.
    #[error("database {} has no file {file} in the pool", db.0)]
    UnknownFile {
        /// The database.
        db: DatabaseId,
        /// The file.
        file: FileId,
    },
    /// The database was never registered, or has been dropped.
    #[error("database {} is not registered with the pool", db.0)]
    UnknownDatabase {
        /// The database.
        db: DatabaseId,
    },
    /// The database or file is registered already.
    #[error("database {}, file {file:?} is already registered", db.0)]
    AlreadyRegistered {
        /// The database.
        db: DatabaseId,
        /// The file; none when it is the database.
        file: Option<FileId>,
    },
    /// The memory for the frames was refused.
    #[error("no memory for {pages} frames")]
    NoMemory {
        /// Requested frames.
        pages: usize,
    },
    /// A configuration value is out of its range.
    #[error("pool configuration: {0}")]
    BadConfig(&'static str),
    /// A thread could not be started.
    #[error("cannot start thread {name}: {reason}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// The system's error.
        reason: Arc<std::io::Error>,
    },
}

impl PoolError {
    /// Notes among the instance's suspect pages that a page cannot be read (823) or is not whole (824).
    pub(crate) fn note_suspect(&self, key: PageKey) {
        let event = match self {
            PoolError::BadPage { key: of, fault, .. } => {
                debug_assert!(*of == key, "the error of this page");
                match fault {
                    PageFault::Checksum { .. } => SuspectEvent::Checksum,
                    PageFault::Torn { .. } => SuspectEvent::Torn,
                    _ => SuspectEvent::Error,
                }
            }
            _ if self.number() == Some(823) => SuspectEvent::Error,
            _ => return,
        };
        let place = (key.db.0, key.page.file.0, key.page.page.0);
        task::current().instruments().suspects.note(place, event);
    }

    /// Number of the message a user gets, where SQL Server has one.
    pub fn number(&self) -> Option<u32> {
        match self {
            PoolError::BadPage { .. } => Some(824),
            PoolError::Io { .. } => Some(823),
            PoolError::NoBuffer { .. } => Some(802),
            PoolError::NoMemory { .. } => Some(701),
            PoolError::Log { .. } => Some(9001),
            _ => None,
        }
    }
}
