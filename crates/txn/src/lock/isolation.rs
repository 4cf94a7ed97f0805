//! Isolation levels, as the lock manager reports them.

use std::fmt;

/// Isolation level, as deadlock reports print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Isolation {
    /// Dirty reads.
    ReadUncommitted = 1,
    /// The default.
    #[default]
    ReadCommitted,
    /// Rows once read stay as they are.
    RepeatableRead,
    /// No phantoms either.
    Serializable,
    /// Reads the state at the beginning.
    Snapshot,
}

impl Isolation {
    /// The text in deadlock reports.
    pub const fn text(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted (1)",
            Isolation::ReadCommitted => "read committed (2)",
            Isolation::RepeatableRead => "repeatable read (3)",
            Isolation::Serializable => "serializable (4)",
            Isolation::Snapshot => "snapshot (5)",
        }
    }

    pub(super) const fn from_u8(level: u8) -> Isolation {
        match level {
            1 => Isolation::ReadUncommitted,
            3 => Isolation::RepeatableRead,
            4 => Isolation::Serializable,
            5 => Isolation::Snapshot,
            _ => Isolation::ReadCommitted,
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}
