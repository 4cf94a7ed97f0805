//! Plans of a text that its connections share.

use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Most plans that are offered for one text.
const MOST: usize = 1024;

/// Plans of a text that connections use, by the addresses of its statements: of each the last one.
///
/// A plan exists while a connection stores it, so that tables of a database are referred to only while a
/// connection is in it.
#[derive(Debug, Default)]
pub(crate) struct SharedPlans(Mutex<HashMap<usize, Weak<dyn Any + Send + Sync>>>);

impl SharedPlans {
    /// The plan for the statement at this address.
    pub(crate) fn find(&self, at: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.lock().get(&at).and_then(Weak::upgrade)
    }

    /// Offers a plan to other connections.
    pub(crate) fn offer(&self, at: usize, plan: &Arc<dyn Any + Send + Sync>) {
        let mut all = self.0.lock();
        if all.len() < MOST || all.contains_key(&at) {
            all.insert(at, Arc::downgrade(plan));
        }
    }

    /// Forgets all.
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }
}
