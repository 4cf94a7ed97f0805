//! The list of owners: by number, for those who meet them in the lock table, and all of them, for those who
//! look for what owners have noted themselves (see `weak`).

use std::sync::Arc;

use super::manager::Table;
use super::owner::OwnerCore;

/// The owners that there are, by number.
#[derive(Default)]
pub(super) struct Owners {
    slots: Vec<Option<Arc<OwnerCore>>>,
    free: Vec<u32>,
    /// Locks that owners which are gone had noted themselves.
    noted_before: u64,
}

impl Table {
    /// The owner with this number, while it lives.
    pub(super) fn owner(&self, id: u32) -> Option<Arc<OwnerCore>> {
        self.owners.read().slots.get(id as usize).cloned().flatten()
    }

    /// Visits each owner that there is, the list of them latched.
    pub(super) fn for_each_owner(&self, visit: impl FnMut(&Arc<OwnerCore>)) {
        self.owners.read().slots.iter().flatten().for_each(visit);
    }

    /// Locks that owners were granted by their own notes since the start.
    pub(super) fn noted_ever(&self) -> u64 {
        let owners = self.owners.read();
        let live = owners.slots.iter().flatten();
        owners.noted_before + live.map(|core| core.notes.lock().asked()).sum::<u64>()
    }

    /// The owners that wait now; exact while all shards are latched.
    pub(super) fn waiting_owners(&self) -> Vec<Arc<OwnerCore>> {
        let owners = self.owners.read();
        let live = owners.slots.iter().flatten();
        live.filter(|core| core.place().is_some())
            .cloned()
            .collect()
    }

    pub(super) fn add_owner(&self, session_id: i32) -> Arc<OwnerCore> {
        let mut owners = self.owners.write();
        let id = owners.free.pop().unwrap_or(owners.slots.len() as u32);
        let core = Arc::new(OwnerCore::new(id, session_id));
        if id as usize == owners.slots.len() {
            owners.slots.push(None);
        }
        owners.slots[id as usize] = Some(Arc::clone(&core));
        core
    }

    pub(super) fn forget_owner(&self, id: u32) {
        let mut owners = self.owners.write();
        if let Some(core) = owners.slots[id as usize].take() {
            owners.noted_before += core.notes.lock().asked();
        }
        owners.free.push(id);
    }
}
