//! A closed database that no other caller may open, replace or remove.

use super::{DatabaseList, Shared};
use std::sync::Arc;

/// A database that is worked on while it is closed, until this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    shared: Arc<Shared>,
    id: u16,
}

impl Reserved {
    /// Reserves a database of the list, which is locked.
    pub(crate) fn new(shared: &Arc<Shared>, list: &mut DatabaseList, id: u16) -> Reserved {
        debug_assert!(!list.repairing.contains(&id), "one at a time");
        list.repairing.push(id);
        let shared = Arc::clone(shared);
        Reserved { shared, id }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut list = self.shared.list.lock();
        list.repairing.retain(|id| *id != self.id);
    }
}

/// A database that is being reverted, from the first look at it until this is dropped.
#[derive(Debug)]
pub(crate) struct Reverting {
    shared: Arc<Shared>,
    id: u16,
}

impl Reverting {
    /// Marks a database of the list, which is locked; `None` while another session reverts it.
    pub(crate) fn new(shared: &Arc<Shared>, list: &mut DatabaseList, id: u16) -> Option<Reverting> {
        if list.reverting.contains(&id) {
            return None;
        }
        list.reverting.push(id);
        let shared = Arc::clone(shared);
        Some(Reverting { shared, id })
    }
}

impl Drop for Reverting {
    fn drop(&mut self) {
        let mut list = self.shared.list.lock();
        list.reverting.retain(|id| *id != self.id);
    }
}
