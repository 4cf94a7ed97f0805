//! Whether a database takes changes.
//!
//! A database is read-only because it was set so (the boot page stores it, and it can be set back), or
//! because it was attached so: then its files are open for reading only, and it has no log.

use super::{DatabaseCore, DatabaseState};
use crate::error::EngineError;
use furrow_io::sync::atomic::{AtomicBool, Ordering};

/// Whether a database takes changes.
#[derive(Debug, Default)]
pub struct Updateability {
    read_only: AtomicBool,
    /// Its files are open for reading only.
    attached: bool,
}

impl Updateability {
    /// Of a database of our own.
    pub fn of(read_only: bool) -> Updateability {
        Updateability {
            read_only: AtomicBool::new(read_only),
            attached: false,
        }
    }

    /// Of one whose files are open for reading only.
    pub fn attached() -> Updateability {
        Updateability {
            read_only: AtomicBool::new(true),
            attached: true,
        }
    }

    /// Changes it, of a database of our own.
    pub fn set_read_only(&self, read_only: bool) {
        debug_assert!(!self.attached, "files open for reading only");
        self.read_only.store(read_only, Ordering::Release);
    }
}

impl DatabaseCore {
    /// Whether it takes no changes (3906).
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.access.read_only.load(Ordering::Acquire)
    }

    /// Whether it was attached READ_ONLY: its files are never written, and cannot be.
    pub fn is_attached_read_only(&self) -> bool {
        self.access.attached
    }

    /// 3906 where it takes no changes, 3908 in EMERGENCY.
    #[inline]
    pub fn check_changes(&self) -> Result<(), EngineError> {
        match self.is_read_only() {
            false => Ok(()),
            true => Err(self.takes_no_changes()),
        }
    }

    #[cold]
    fn takes_no_changes(&self) -> EngineError {
        let number = match self.state.get() {
            DatabaseState::Emergency => 3908,
            _ => 3906,
        };
        EngineError::refused(number, &[self.name.as_str().into()])
    }
}
