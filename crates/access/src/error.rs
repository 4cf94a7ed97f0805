//! What can go wrong with rows.

use furrow_format::{PageId, RowError, RowId};
use furrow_log::LogError;
use furrow_pool::PoolError;
use furrow_space::SpaceError;
use furrow_txn::TxnError;
use furrow_txn::lock::LockError;
use thiserror::Error;

/// An error of a row operation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A transaction's, log's or lock's error.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// No space was found.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The row cannot be encoded: too large, NULL where none may be, a value of the wrong length.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A key that must be unique is there already (2601, 2627).
    #[error("duplicate key in index {index_id}")]
    DuplicateKey {
        /// The index.
        index_id: u32,
    },
    /// The caller's [`Gate`](crate::Gate) does not let the row in. Nothing has changed.
    #[error("the gap that the row would go to is locked")]
    Barred,
    /// No row has this key or RID.
    #[error("no such row")]
    NotFound,
    /// The undo part of a log record is for a tree, and its rowset is a heap, or the other way round.
    #[error("the log record to undo does not belong to a structure of this kind")]
    WrongUndo,
    /// A page does not hold what its place in the structure demands.
    #[error("page {page} is damaged: {what}")]
    Damaged {
        /// The page.
        page: PageId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A node of a large value is missing, or does not match the link to it (7105).
    #[error("large value at {at}: {what}")]
    Large {
        /// The node.
        at: RowId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A key of more bytes than an index takes (1946: at most 900).
    #[error("an index key of {len} bytes exceeds the maximum of 900 bytes")]
    KeyTooLarge {
        /// Its length.
        len: usize,
    },
}

impl From<PoolError> for AccessError {
    fn from(e: PoolError) -> AccessError {
        AccessError::Txn(e.into())
    }
}

impl From<LogError> for AccessError {
    fn from(e: LogError) -> AccessError {
        AccessError::Txn(e.into())
    }
}

impl From<LockError> for AccessError {
    fn from(e: LockError) -> AccessError {
        AccessError::Txn(e.into())
    }
}
