//! What can go wrong in checkpoint and restart.

use furrow_format::{ChangeError, Lsn, PageId};
use furrow_log::LogError;
use furrow_pool::PoolError;
use furrow_txn::TxnError;
use thiserror::Error;

/// An error of a checkpoint or of a restart.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Pages could not be written or read.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// A transaction could not be undone.
    #[error(transparent)]
    Txn(#[from] TxnError),
    /// A logged change does not fit its page (3456).
    #[error("the log record at {lsn} cannot be redone on page {page} as of {page_lsn}: {source}")]
    Redo {
        /// The record.
        lsn: Lsn,
        /// The page.
        page: PageId,
        /// The last record that changed the page.
        page_lsn: Lsn,
        /// Why.
        source: ChangeError,
    },
    /// A page is damaged, and the log does not hold all of it (824, 3313).
    #[error("page {page} is damaged and the log does not rebuild it: {reason}")]
    Broken {
        /// The page.
        page: PageId,
        /// What is wrong with it.
        reason: String,
    },
    /// A log record cannot be understood.
    #[error("the log record at {lsn} is malformed: {what}")]
    BadRecord {
        /// The record.
        lsn: Lsn,
        /// What is wrong.
        what: &'static str,
    },
    /// The checkpoint that the log's header names is not complete in the log.
    #[error("the checkpoint at {0} has no end in the log")]
    NoCheckpoint(Lsn),
}
