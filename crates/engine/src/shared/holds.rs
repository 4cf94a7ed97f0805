//! Databases that are being restored: one restore at a time.

use furrow_io::sync::Mutex;
use std::sync::Arc;

/// Numbers of the databases that are held by a restore.
pub(crate) type Held = Arc<Mutex<Vec<u16>>>;

/// A database that is being restored: until this is dropped no other statement restores, opens or removes it.
/// Its lock is a leaf: it may be dropped while the list is locked.
#[derive(Debug)]
pub(crate) struct RestoreHold {
    held: Held,
    id: u16,
}

impl RestoreHold {
    /// Holds a database; `None` while another restore holds it.
    pub(crate) fn new(held: &Held, id: u16) -> Option<RestoreHold> {
        let held = Arc::clone(held);
        let mut ids = held.lock();
        if ids.contains(&id) {
            return None;
        }
        ids.push(id);
        drop(ids);
        Some(RestoreHold { held, id })
    }
}

impl Drop for RestoreHold {
    fn drop(&mut self) {
        self.held.lock().retain(|id| *id != self.id);
    }
}
