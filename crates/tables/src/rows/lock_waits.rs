//! Waits of operations that look again whether a lock is free, because they do not hold it.
//!
//! A reader at READ COMMITTED tests the lock of a row under the latch of its page, and an operation that
//! locks a page as a whole tests its rows there. If a lock is not free, the operation waits until the lock
//! could be granted, and looks again. The grant of this request keeps no other session out: a writer behind
//! it in the queue is granted the lock at the same time, and the lock may be taken again. So the second
//! time the operation takes the lock and holds it until it has looked. Writers that come after that request
//! wait behind it.
//!
//! An operation may be refused in turn by the lock of a page and by that of a row on it. Each time it holds
//! only the lock that it waited for last, so that the other one may be taken again meanwhile. The third
//! time the operation therefore takes both: the page first, as sessions that lock rows do.
//!
//! # Rules
//! 1. LOCK_TIMEOUT limits the wait for one lock: all waits for it together, however often the operation
//!    looks. A page that is locked as a whole and its rows count as one lock.
//! 2. What was taken here is held only during one look, never while the operation waits or its caller works.
//!    The exception is a page during the wait for its row, where both are taken.
//! 3. A session that reads for another one takes nothing. The other session holds the lock in its place
//!    until it is given back ([`LockWaiter`](crate::session::LockWaiter)).
//! 4. A lock of a page that was taken here does not count as held before its rows were tested under the latch
//!    (`PageAsk::of_look`).
//! 5. A look that fails with an error gives back what was taken, as one that ends does.

use crate::error::EngineError;
use crate::session::{LockWait, Session};
use crate::table::Table;
use furrow_io::time::Moment;
use furrow_txn::lock::{Granted, LockError, LockMode, Resource};
use std::time::Duration;

/// A lock that was not granted at once.
pub(super) type Blocked = (Resource, LockMode);

/// The waits for one lock.
#[derive(Debug, Clone, Copy)]
struct WaitedFor {
    resource: Resource,
    mode: LockMode,
    /// How long the operation has waited for it.
    time: Duration,
}

/// What waits have taken until the operation has looked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) page: Option<Resource>,
    pub(super) row: Option<Resource>,
}

impl Taken {
    fn is_none(self) -> bool {
        self == Taken::default()
    }
}

/// The waits of one operation.
#[derive(Debug, Default)]
pub(super) struct LockWaits {
    /// The page that it waited for last.
    page: Option<WaitedFor>,
    /// The row, or entry of an index, that it waited for last.
    row: Option<WaitedFor>,
    /// Which of the two it waited for last.
    last: Option<Resource>,
    /// Whether one lock was refused, then the other kind, then the first one again.
    is_in_turn: bool,
    /// Whether all locks that it waits for are parts of one.
    is_one_lock: bool,
    /// What is held until it has looked.
    held: Taken,
    /// The lock to be taken before the next look.
    deferred: Option<(Resource, LockMode)>,
}

fn is_page(resource: Resource) -> bool {
    matches!(resource, Resource::Page(..))
}

impl LockWaits {
    /// The waits for a page and for its rows, which count as one lock.
    pub(super) fn for_page() -> LockWaits {
        LockWaits {
            is_one_lock: true,
            ..LockWaits::default()
        }
    }

    /// The waits of a scan, which works on pages or on rows.
    pub(super) fn for_scan(by_pages: bool) -> LockWaits {
        match by_pages {
            true => LockWaits::for_page(),
            false => LockWaits::default(),
        }
    }

    /// What is held until the operation has looked.
    #[inline]
    pub(super) fn held(&self) -> Taken {
        self.held
    }

    /// The operation has gone on to other rows: its next wait is the first one for a lock.
    #[inline]
    pub(super) fn gone_on(&mut self) {
        if self.last.take().is_some() {
            (self.page, self.row) = (None, None);
            self.is_in_turn = false;
        }
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

    /// The earlier waits for locks of this kind.
    fn earlier(&self, resource: Resource) -> Option<WaitedFor> {
        match is_page(resource) {
            true => self.page,
            false => self.row,
        }
    }

    /// Whether a wait for this lock takes it.
    fn takes(&self, session: &Session, resource: Resource) -> bool {
        use Resource::{Key, Page, Rid};
        let is_fine = matches!(resource, Rid(..) | Key(..) | Page(..));
        let is_again = (self.earlier(resource)).is_some_and(|before| before.resource == resource);
        // A weaker lock that the session holds already would have to be restored.
        (is_again || self.is_in_turn) && is_fine && session.owner.held(&resource).is_none()
    }

    /// Notes a wait that begins. Returns how long the operation has waited for this lock before.
    fn note(&mut self, resource: Resource, mode: LockMode) -> Duration {
        let before = self.earlier(resource);
        let is_again = before.is_some_and(|before| before.resource == resource);
        let kind = self.last.replace(resource).map(is_page);
        if is_again {
            self.is_in_turn |= kind != Some(is_page(resource));
        } else if is_page(resource) {
            self.is_in_turn = false;
        }
        let time = match before {
            Some(before) if is_again || self.is_one_lock => before.time,
            _ => Duration::ZERO,
        };
        let waited_for = Some(WaitedFor {
            resource,
            mode,
            time,
        });
        match is_page(resource) {
            true => self.page = waited_for,
            false => self.row = waited_for,
        }
        let other = match is_page(resource) {
            true => self.row,
            false => self.page,
        };
        match other {
            Some(other) if self.is_one_lock => time + other.time,
            _ => time,
        }
    }

    /// Adds to the waits for the lock that was noted last.
    fn add(&mut self, resource: Resource, time: Duration) {
        let waited_for = match is_page(resource) {
            true => &mut self.page,
            false => &mut self.row,
        };
        if let Some(waited_for) = waited_for {
            debug_assert_eq!(waited_for.resource, resource, "the wait was noted");
            waited_for.time += time;
        }
    }

    /// The page to be taken together with this row, where both refuse the operation in turn.
    fn page_of(&self, session: &Session, row: Resource) -> Option<WaitedFor> {
        let page = self.page.filter(|_| self.is_in_turn && !is_page(row))?;
        let is_free = session.owner.held(&page.resource).is_none();
        is_free.then_some(page)
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
        let waited = self.note(resource, mode);
        let page = self.page_of(session, resource).filter(|_| takes);
        if let Some(waiter) = &session.waiter {
            let wait = LockWait {
                resource,
                mode,
                page: page.map(|page| (page.resource, page.mode)),
                waited,
                is_lent: takes,
            };
            let time = waiter.wait(wait).ok_or(LockError::Cancelled)?;
            self.add(resource, time);
            self.held.page = page.map(|page| page.resource);
            self.hold(takes.then_some(resource));
            return Ok(());
        }
        let mut waited = waited;
        if let Some(WaitedFor {
            resource,
            mode,
            time,
        }) = page
        {
            let before = if self.is_one_lock { waited } else { time };
            let took = self.wait_here(session, table, (resource, mode), (before, true))?;
            if self.is_one_lock {
                waited += took;
            }
        }
        let done = self.wait_here(session, table, (resource, mode), (waited, takes));
        if done.is_err() {
            self.release(session);
        }
        done.map(drop)
    }

    /// Waits on this session's own thread, which has waited so long before. Returns how long it took.
    fn wait_here(
        &mut self,
        session: &Session,
        table: &Table,
        (resource, mode): (Resource, LockMode),
        (waited, takes): (Duration, bool),
    ) -> Result<Duration, EngineError> {
        let timeout = session.timeout.left(waited);
        let (locks, owner) = (&session.db.locks, &session.owner);
        let since = Moment::now();
        if takes {
            let granted = locks.lock_within(owner, table.id, resource, mode, timeout)?;
            self.hold((granted == Granted::New).then_some(resource));
        } else {
            locks.lock_instant(owner, resource, mode, timeout)?;
        }
        let took = since.elapsed();
        self.add(resource, took);
        Ok(took)
    }

    fn hold(&mut self, taken: Option<Resource>) {
        match taken {
            Some(resource) if is_page(resource) => self.held.page = taken,
            Some(_) => self.held.row = taken,
            None => {}
        }
    }

    /// The operation has looked; what was taken is not needed any more.
    #[inline]
    pub(super) fn release(&mut self, session: &Session) {
        self.end_look(session, self.held);
    }

    /// The operation has looked, or has failed; `left`: what it has not made its own.
    #[inline]
    pub(super) fn end_look(&mut self, session: &Session, left: Taken) {
        self.held = Taken::default();
        if left.is_none() {
            return;
        }
        if let Some(waiter) = &session.waiter {
            waiter.give_back();
            return;
        }
        for resource in [left.row, left.page].into_iter().flatten() {
            session.db.locks.unlock(&session.owner, &resource);
        }
    }
}
