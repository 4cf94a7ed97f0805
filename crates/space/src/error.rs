//! What can go wrong with space.

use furrow_format::{AllocUnitId, FileHeaderError, FileId, PageError, PageId};
use furrow_io::IoError;
use furrow_log::LogError;
use furrow_pool::PoolError;
use furrow_txn::TxnError;
use thiserror::Error;

/// An error of the space of a database.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The pool's, the log's or a mini-transaction's error.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// Message 1105: no file of the filegroup has a free extent, and none can grow.
    #[error("filegroup '{filegroup}' is full; no extent for allocation unit {}", object.0)]
    FilegroupFull {
        /// The filegroup's name.
        filegroup: String,
        /// The allocation unit that needed an extent.
        object: AllocUnitId,
        /// Why the last file that was to grow did not (message 5149), if one was.
        cause: Option<IoError>,
    },
    /// Message 5149: the system refused to make the file longer.
    #[error("file {file} cannot be expanded: {source}")]
    Expand {
        /// The file.
        file: FileId,
        /// The system's error.
        source: IoError,
    },
    /// The system refused to write the first pages of a new file, or to report a file's length.
    #[error("file {file}: {source}")]
    Io {
        /// The file.
        file: FileId,
        /// The system's error.
        source: IoError,
    },
    /// A map page or a file header is not what its place demands.
    #[error("page {page}: {what}")]
    Damaged {
        /// The page.
        page: PageId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Message 5125: the file is shorter than the size in its header.
    #[error("file {file} was truncated: {expected_pages} pages expected, {actual_pages} found")]
    Truncated {
        /// The file.
        file: FileId,
        /// Pages by its header.
        expected_pages: u32,
        /// Whole pages in the file.
        actual_pages: u64,
    },
    /// The database has no such file.
    #[error("the database has no data file {0}")]
    UnknownFile(FileId),
    /// The database has no such filegroup, or the filegroup no file.
    #[error("the database has no filegroup {0} with files")]
    UnknownFilegroup(u16),
    /// The file or filegroup exists already.
    #[error("file {0} is there already")]
    FileExists(FileId),
    /// Message 5042: the file holds pages of objects.
    #[error("file {0} cannot be removed because it is not empty")]
    NotEmpty(FileId),
    /// Message 5039 and its kin: not a size the file can be given.
    #[error("file {file} of {size_pages} pages cannot be made {asked_pages} pages large: {what}")]
    BadSize {
        /// The file.
        file: FileId,
        /// Its size.
        size_pages: u32,
        /// The requested size.
        asked_pages: u32,
        /// Why not.
        what: &'static str,
    },
    /// A file header cannot be read or created.
    #[error("file {file}: {source}")]
    Header {
        /// The file.
        file: FileId,
        /// Why.
        source: FileHeaderError,
    },
    /// A page of a new file cannot be created.
    #[error("page {page} cannot be made: {source}")]
    Format {
        /// The page.
        page: PageId,
        /// Why.
        source: PageError,
    },
    /// More pages were taken than were reserved: a mistake of the caller without consequences.
    #[error("a reservation of allocation unit {} has no page left", .0.0)]
    NothingReserved(AllocUnitId),
}

impl SpaceError {
    /// Number of the message a user gets, where SQL Server has one.
    pub fn number(&self) -> Option<u32> {
        match self {
            SpaceError::FilegroupFull { .. } => Some(1105),
            SpaceError::Expand { .. } => Some(5149),
            SpaceError::Truncated { .. } => Some(5125),
            SpaceError::NotEmpty(_) => Some(5042),
            SpaceError::BadSize { .. } => Some(5039),
            SpaceError::Header { .. } => Some(5172),
            SpaceError::UnknownFile(_) => Some(5180),
            _ => None,
        }
    }
}

impl From<PoolError> for SpaceError {
    fn from(e: PoolError) -> SpaceError {
        SpaceError::Txn(e.into())
    }
}

impl From<LogError> for SpaceError {
    fn from(e: LogError) -> SpaceError {
        SpaceError::Txn(e.into())
    }
}

/// What is wrong with a map page, as an error.
pub(crate) fn damaged(page: PageId, what: &'static str) -> SpaceError {
    SpaceError::Damaged { page, what }
}
