//! What can go wrong in the log.

use furrow_format::Lsn;
use furrow_io::IoError;
use thiserror::Error;

/// Why the log cannot be truncated at its old end (`log_reuse_wait_desc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReuseWait {
    /// Nothing holds it; space would come free.
    Nothing,
    /// A checkpoint has to come first.
    Checkpoint,
    /// The log has to be backed up first.
    LogBackup,
    /// A backup is under way that needs it.
    ActiveBackup,
    /// A transaction is active since then.
    ActiveTransaction,
}

impl ReuseWait {
    /// The text of `log_reuse_wait_desc`.
    pub fn name(self) -> &'static str {
        match self {
            ReuseWait::Nothing => "NOTHING",
            ReuseWait::Checkpoint => "CHECKPOINT",
            ReuseWait::LogBackup => "LOG_BACKUP",
            ReuseWait::ActiveBackup => "ACTIVE_BACKUP_OR_RESTORE",
            ReuseWait::ActiveTransaction => "ACTIVE_TRANSACTION",
        }
    }

    /// The number of `log_reuse_wait`; also the state of error 9002.
    pub fn number(self) -> u8 {
        match self {
            ReuseWait::Nothing => 0,
            ReuseWait::Checkpoint => 1,
            ReuseWait::LogBackup => 2,
            ReuseWait::ActiveBackup => 3,
            ReuseWait::ActiveTransaction => 4,
        }
    }
}

/// An error of the log.
#[derive(Debug, Clone, Error)]
pub enum LogError {
    /// The device failed. After a failed write the log is poisoned.
    #[error(transparent)]
    Io(#[from] IoError),
    /// An earlier write of the log failed; nothing is acknowledged until the database is recovered.
    #[error("the log is not usable after an earlier write error: {0}")]
    Poisoned(String),
    /// No space is left (message 9002).
    #[error("the transaction log is full due to '{}'", .0.name())]
    Full(ReuseWait),
    /// A record does not fit in a log block.
    #[error("a log record of {0} bytes does not fit in a log block")]
    RecordTooLarge(usize),
    /// The file is not a log file of this engine, or both copies of its header are damaged.
    #[error("'{0}' is not a log file: its header is not valid")]
    NotALog(String),
    /// The log file belongs to another database.
    #[error("the log file '{0}' belongs to another database")]
    WrongDatabase(String),
    /// The file is shorter than its header says.
    #[error("the log file '{path}' has been truncated: {actual} bytes, {expected} expected")]
    Truncated {
        /// The file.
        path: String,
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        actual: u64,
    },
    /// A record that must be there cannot be read.
    #[error("the log record at {0} cannot be read")]
    Missing(Lsn),
    /// A page has the LSN of a record that was never written.
    #[error("there is no log record at {0} yet, though a page was changed by it")]
    Unwritten(Lsn),
    /// Blocks behind this one were durable, and cannot be read any more (message 9004).
    #[error("the log is damaged behind {0}: what was durable there cannot be read")]
    Damaged(Lsn),
    /// The header has no space for more growth steps of different size.
    #[error("the log has too many groups of virtual log files of different size")]
    TooManyVlfs,
}
