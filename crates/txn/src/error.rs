//! What can go wrong in a transaction.

use crate::lock::LockError;
use furrow_format::{ChangeError, Lsn, PageId};
use furrow_log::LogError;
use furrow_pool::PoolError;
use thiserror::Error;

/// An error of a transaction or mini-transaction.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TxnError {
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A page could not be latched.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A lock was not granted: time-out, deadlock victim, cancelled.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A change that is in the log does not fit its page: the page is damaged, or the engine is
    /// wrong. The database is not usable until it is recovered.
    #[error("page {page}: a logged change cannot be applied: {source}")]
    Apply {
        /// The page.
        page: PageId,
        /// Why.
        source: ChangeError,
    },
    /// A log record's content cannot be understood.
    #[error("the log record at {lsn} is malformed: {what}")]
    BadRecord {
        /// Where it lies.
        lsn: Lsn,
        /// What is wrong.
        what: &'static str,
    },
    /// The database takes no changes: it is read-only, or was poisoned by an earlier failure.
    #[error("the database takes no changes: {0}")]
    NoChanges(String),
    /// Rows were to go past the log on behalf of an author that forces no pages.
    #[error("rows that are not logged need a transaction that forces their pages")]
    NotForced,
    /// Undoing an operation failed; the transaction stays open until recovery.
    #[error("rollback failed: {0}")]
    Undo(String),
}
