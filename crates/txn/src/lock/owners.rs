//! The list of owners: by number, to find the owner of a request in the lock table, and all of them, to
//! gather what owners have noted themselves (see `weak`).

use std::sync::Arc;

use super::core::OwnerCore;

/// The owners that there are, by number.
#[derive(Default)]
pub(super) struct Owners {
    pub(super) slots: Vec<Option<Arc<OwnerCore>>>,
    pub(super) free: Vec<u32>,
    /// Locks granted by notes of owners that no longer exist.
    pub(super) noted_before: u64,
}
