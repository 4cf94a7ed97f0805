//! The sticky state of a file whose sync has failed.

use crate::{IoError, IoErrorKind, IoOp};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set for good by the first failed sync: the system may since have dropped written data.
#[derive(Debug, Default)]
pub(crate) struct Poison(AtomicBool);

impl Poison {
    /// Fails when the file is poisoned.
    pub(crate) fn check(&self, op: IoOp, path: &Path) -> Result<(), IoError> {
        if self.0.load(Ordering::Acquire) {
            return Err(IoError::new(op, path, 0, IoErrorKind::Poisoned));
        }
        Ok(())
    }

    /// Passes on the outcome of something that was to make bytes durable; a failure poisons.
    pub(crate) fn watch<T>(&self, outcome: Result<T, IoError>) -> Result<T, IoError> {
        if let Err(error) = &outcome
            && !self.0.swap(true, Ordering::AcqRel)
        {
            tracing::error!(%error, "nothing more can be promised for this file until it is opened again");
        }
        outcome
    }
}
