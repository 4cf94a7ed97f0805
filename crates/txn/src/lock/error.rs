//! How a lock request can fail.

use std::fmt;
use std::sync::Arc;

use super::mode::LockMode;
use super::report::DeadlockReport;
use super::resource::Resource;

/// What a successful request did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// The owner did not hold the resource before: a caller that needs the lock only for a moment gives it
    /// back.
    New,
    /// It held a weaker mode before.
    Converted,
    /// It held enough already.
    Held,
}

/// A request that wasn't granted. Nothing changed for the owner: what it held before it still holds.
#[derive(Debug, Clone)]
pub enum LockError {
    /// The time allowed is over (1222).
    Timeout {
        /// The requested resource.
        resource: Resource,
        /// In which mode.
        mode: LockMode,
        /// A session that was in the way when the wait began.
        blocking_session: Option<i32>,
    },
    /// Chosen as the victim of a deadlock (1205). The transaction must be rolled back.
    Deadlock {
        /// The victim's session.
        session_id: i32,
        /// The members, and for which lock each waits.
        report: Arc<DeadlockReport>,
    },
    /// Stopped by KILL or by the client.
    Cancelled,
    /// The lock table is as large as it may become (1204).
    OutOfLocks,
}

impl LockError {
    /// SQL Server's error number; a cancelled request has none of its own.
    pub const fn number(&self) -> Option<u32> {
        match self {
            LockError::Timeout { .. } => Some(1222),
            LockError::Deadlock { .. } => Some(1205),
            LockError::OutOfLocks => Some(1204),
            LockError::Cancelled => None,
        }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Timeout { .. } => f.write_str("Lock request time out period exceeded."),
            LockError::Deadlock { session_id, .. } => write!(
                f,
                "Transaction (Process ID {session_id}) was deadlocked on lock resources with another \
                 process and has been chosen as the deadlock victim. Rerun the transaction."
            ),
            LockError::Cancelled => f.write_str("The lock request was cancelled."),
            LockError::OutOfLocks => f.write_str(
                "The instance of the SQL Server Database Engine cannot obtain a LOCK resource at this \
                 time. Rerun your statement when there are fewer active users.",
            ),
        }
    }
}

impl std::error::Error for LockError {}
