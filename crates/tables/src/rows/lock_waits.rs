//! Waits of operations that look again whether a lock is free, because they do not hold it.
//!
//! A reader at READ COMMITTED tests the lock of a row under the latch of its page, and an operation that
//! locks a page as a whole tests its rows there. If a lock is not free, the operation waits until the lock
//! could be granted, and looks again. The grant of this request keeps no other session out: a writer behind
//! it in the queue is granted the lock at the same time, and the lock may be taken again. So the second
//! time the operation takes the lock and holds it until it has looked. Writers that come after that request
//! wait behind it.
//!
//! # Rules
//! 1. LOCK_TIMEOUT limits the wait for one lock: all waits for it together, however often the operation
//!    looks.
//! 2. What was taken here is held only during one look, never while the operation waits or its caller works.
//! 3. A session that reads for another one takes nothing. The other session holds the lock in its place
//!    until it is given back ([`LockWaiter`](crate::session::LockWaiter)).
//! 4. A lock of a page that was taken here does not count as held before its rows were tested under the latch
//!    (`PageAsk::of_look`).

use crate::error::EngineError;
use crate::session::{LockWait, Session};
use crate::table::Table;
use furrow_io::time::Moment;
use furrow_txn::lock::{Granted, LockError, LockMode, Resource};
use std::time::Duration;

/// The waits of one operation.
#[derive(Debug, Default)]
pub(super) struct LockWaits {
    /// What it waited for last.
    last: Option<Resource>,
    /// How long it has waited for that.
    waited: Duration,
    /// Whether all locks that it waits for are parts of one.
    is_one_lock: bool,
    /// The lock that is held until it has looked.
    held: Option<Resource>,
    /// The lock to be taken before the next look.
    deferred: Option<(Resource, LockMode)>,
}

impl LockWaits {
    /// The waits for a page and for its rows, which count as one lock.
    pub(super) fn for_page() -> LockWaits {
        LockWaits {
            is_one_lock: true,
            ..LockWaits::default()
        }
    }

    /// The lock that is held until the operation has looked.
    #[inline]
    pub(super) fn held(&self) -> Option<Resource> {
        self.held
    }

    /// Waits as [`LockWaits::wait`] does. Where the lock would be held after that, the wait is deferred to
    /// [`LockWaits::begin_look`]: a caller that gives rows to its own caller between two looks holds
    /// nothing then.
    pub(super) fn wait_or_defer(
        &mut self,
        session: &Session,
        table: &Table,
        blocked: Option<(Resource, LockMode)>,
    ) -> Result<(), EngineError> {
        debug_assert!(self.deferred.is_none(), "a wait was not begun");
        let resource = blocked.map(|(resource, _)| resource);
        if resource.is_some_and(|resource| self.takes(session, resource)) {
            self.deferred = blocked;
            return Ok(());
        }
        self.wait(session, table, blocked)
    }

    /// The operation is about to look: the deferred wait.
    #[inline]
    pub(super) fn begin_look(
        &mut self,
        session: &Session,
        table: &Table,
    ) -> Result<(), EngineError> {
        match self.deferred.take() {
            None => Ok(()),
            blocked => self.wait(session, table, blocked),
        }
    }

    /// Whether a wait for this lock takes it.
    fn takes(&self, session: &Session, resource: Resource) -> bool {
        use Resource::{Key, Page, Rid};
        let is_fine = matches!(resource, Rid(..) | Key(..) | Page(..));
        // A weaker lock that the session holds already would have to be restored.
        self.last == Some(resource) && is_fine && session.owner.held(&resource).is_none()
    }

    /// Waits for a lock that was not free.
    pub(super) fn wait(
        &mut self,
        session: &Session,
        table: &Table,
        blocked: Option<(Resource, LockMode)>,
    ) -> Result<(), EngineError> {
        debug_assert!(
            self.held.is_none(),
            "what was taken is given back before a wait"
        );
        let Some((resource, mode)) = blocked else {
            return Ok(());
        };
        let takes = self.takes(session, resource);
        if self.last.replace(resource) != Some(resource) && !self.is_one_lock {
            self.waited = Duration::ZERO;
        }
        if let Some(waiter) = &session.waiter {
            let wait = LockWait {
                resource,
                mode,
                waited: self.waited,
                is_lent: takes,
            };
            self.waited += waiter.wait(wait).ok_or(LockError::Cancelled)?;
            self.held = takes.then_some(resource);
            return Ok(());
        }
        let timeout = session.timeout.left(self.waited);
        let (locks, owner) = (&session.db.locks, &session.owner);
        let since = Moment::now();
        if takes {
            let granted = locks.lock_within(owner, table.id, resource, mode, timeout)?;
            self.held = (granted == Granted::New).then_some(resource);
        } else {
            locks.lock_instant(owner, resource, mode, timeout)?;
        }
        self.waited += since.elapsed();
        Ok(())
    }

    /// The operation has looked; what was taken is not needed any more.
    #[inline]
    pub(super) fn release(&mut self, session: &Session) {
        if let Some(resource) = self.held.take() {
            match &session.waiter {
                Some(waiter) => waiter.give_back(),
                None => drop(session.db.locks.unlock(&session.owner, &resource)),
            }
        }
    }

    /// The operation has looked; `left`: what it has not made its own.
    #[inline]
    pub(super) fn end_look(&mut self, session: &Session, left: Option<Resource>) {
        match left {
            Some(_) => self.release(session),
            None => self.held = None,
        }
    }
}
