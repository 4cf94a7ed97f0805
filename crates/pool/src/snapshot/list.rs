//! The snapshots that a pool has.

use super::pages::PageSnapshot;
use furrow_format::DatabaseId;
use furrow_io::sync::RwLock;
use furrow_io::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The snapshots of a pool.
#[derive(Debug)]
pub(crate) struct Snapshots {
    count: AtomicUsize,
    pub(crate) list: RwLock<Vec<Arc<PageSnapshot>>>,
}

impl Snapshots {
    pub(crate) fn new() -> Snapshots {
        Snapshots {
            count: AtomicUsize::new(0),
            list: RwLock::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn publish(&self, snapshot: &Arc<PageSnapshot>) {
        let mut list = self.list.write();
        list.push(Arc::clone(snapshot));
        self.count.store(list.len(), Ordering::SeqCst);
    }

    pub(crate) fn withdraw(&self, snapshot: &Arc<PageSnapshot>) {
        let mut list = self.list.write();
        let before = list.len();
        list.retain(|other| !Arc::ptr_eq(other, snapshot));
        debug_assert_eq!(list.len() + 1, before, "a snapshot ends once");
        self.count.store(list.len(), Ordering::SeqCst);
    }

    pub(crate) fn of(&self, db: DatabaseId) -> Vec<Arc<PageSnapshot>> {
        let list = self.list.read();
        list.iter().filter(|s| s.db == db).cloned().collect()
    }
}
