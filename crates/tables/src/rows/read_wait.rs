//! Waits of readers at READ COMMITTED, which hold no locks of rows.
//!
//! Such a reader tests the lock of a row. If it is not free, the reader waits until it could be granted, and
//! reads the row again. The grant of its request keeps no other session out: a writer behind it in the queue
//! is granted the lock at the same time, and the reader may find the row locked again. So the second time the
//! reader takes the lock and holds it until it has read the row. Writers that come after that request wait
//! behind it.

use crate::error::EngineError;
use crate::session::Session;
use crate::table::Table;
use furrow_txn::lock::{Granted, LockMode, Resource};

/// The waits of one reader.
#[derive(Debug, Default)]
pub(super) struct ReadWait {
    /// What it waited for last.
    last: Option<Resource>,
    /// The row that it has locked until it has read it.
    held: Option<Resource>,
}

impl ReadWait {
    /// Waits for a lock that was not free.
    pub(super) fn wait(
        &mut self,
        session: &mut Session,
        table: &Table,
        blocked: Option<(Resource, LockMode)>,
    ) -> Result<(), EngineError> {
        debug_assert!(self.held.is_none(), "a reader waits holding no row");
        let again = blocked.filter(|&(resource, _)| {
            let is_row = matches!(resource, Resource::Rid(..) | Resource::Key(..));
            // A session that reads for another one holds no locks.
            self.last == Some(resource) && is_row && session.waiter.is_none()
        });
        self.last = blocked.map(|(resource, _)| resource);
        let Some((resource, mode)) = again else {
            return session.wait_until_free(blocked);
        };
        if session.lock_row(table, resource, mode)? == Granted::New {
            self.held = Some(resource);
        }
        Ok(())
    }

    /// The row has been read, or something else is in the way.
    #[inline]
    pub(super) fn release(&mut self, session: &Session) {
        if let Some(resource) = self.held.take() {
            session.db.locks.unlock(&session.owner, &resource);
        }
    }
}
