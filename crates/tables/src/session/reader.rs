//! Sessions that read a part of a scan for another session, on a thread of their own.
//!
//! # Locks
//! A reader takes no locks, and waits for none. The session that it works for holds the lock of the table for
//! the whole scan. The reader tests locks of rows and pages under the latch, as every scan at READ COMMITTED
//! does. If such a lock is not free, it passes the wait on ([`LockWaiter`]): the session's own thread waits,
//! under the session's name. So a deadlock that the wait closes is found, the wait is in the statistics of
//! the session, and LOCK_TIMEOUT, KILL and a cancellation end it as they end any other wait.
//!
//! A reader that finds a lock taken again after such a wait asks for it to be *lent*: the session takes the
//! lock and holds it until the reader has read the row, so that other sessions wait behind it.
//!
//! The reader tests locks for an owner that holds nothing. The result is that of the session itself only as
//! long as this has no lock on the table that conflicts with S, and none on its rows and pages:
//! `Session::division` checks it at the begin, and a plan is divided only where no scan in it locks rows.

use super::Session;
use crate::error::EngineError;
use furrow_io::time::Moment;
use furrow_observe::task::Task;
use furrow_txn::lock::{Granted, LockMode, Resource};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A lock that a reader has to wait for.
#[derive(Debug, Clone, Copy)]
pub struct LockWait {
    pub(crate) resource: Resource,
    pub(crate) mode: LockMode,
    /// The lock of its page, where the session is to hold that as well, and takes it first.
    pub(crate) page: Option<(Resource, LockMode)>,
    /// How long the reader has waited for it before.
    pub(crate) waited: Duration,
    /// Whether the session is to hold it until the reader gives it back.
    pub(crate) is_lent: bool,
}

impl LockWait {
    /// Whether the session holds the lock until the reader gives it back.
    pub fn is_lent(&self) -> bool {
        self.is_lent
    }
}

/// What a reader calls in place of waiting for a lock.
pub trait LockWaiter: fmt::Debug + Send + Sync {
    /// Returns when the lock could be granted, or is held if it is lent, and how long
    /// [`Session::wait_for_reader`] has waited for it. `None` if the reader has to end.
    fn wait(&self, wait: LockWait) -> Option<Duration>;

    /// The reader has looked, and does not need the lock that was lent.
    fn give_back(&self);
}

impl Session {
    /// A session that reads for this one, in the same database and under the same settings.
    pub fn reader(
        &self,
        task: &Arc<Task>,
        waiter: Arc<dyn LockWaiter>,
    ) -> Result<Session, EngineError> {
        // It does not count as a further session, so that SINGLE_USER has parallel scans as well.
        let mut reader = Session::within(&self.db, task, self.db.keep_open()?);
        reader.set_isolation(self.isolation);
        reader.waiter = Some(waiter);
        Ok(reader)
    }

    /// Waits for a lock that a reader of this session has asked for. Then `answer` is called with the time
    /// that this took; a lock that is lent is held until `answer` returns. Where the wait fails, `answer`
    /// is called with `None` and ends the readers: a victim of a deadlock gives up the lock of the table
    /// that they read.
    pub fn wait_for_reader(
        &mut self,
        wait: LockWait,
        no_wait: bool,
        answer: impl FnOnce(Option<Duration>),
    ) -> Result<(), EngineError> {
        let _task = self.enter();
        let since = Moment::now();
        // Both waits count, as they do for a session that reads by itself.
        let left = || match no_wait {
            true => furrow_txn::lock::Timeout::NoWait,
            false => self.timeout.left(wait.waited + since.elapsed()),
        };
        let (locks, owner) = (&self.db.locks, &self.owner);
        debug_assert!(wait.page.is_none() || wait.is_lent, "both locks are lent");
        let page = (wait.page).map(|(page, mode)| locks.lock(owner, page, mode, left()));
        let page = page.transpose();
        let taken = page.clone().and_then(|_| match wait.is_lent {
            true => locks.lock(owner, wait.resource, wait.mode, left()),
            false => locks
                .lock_instant(owner, wait.resource, wait.mode, left())
                .map(|()| Granted::Held),
        });
        answer(taken.is_ok().then(|| since.elapsed()));
        if matches!(taken, Ok(Granted::New)) {
            locks.unlock(owner, &wait.resource);
        }
        if let (Ok(Some(Granted::New)), Some((page, _))) = (page, wait.page) {
            locks.unlock(owner, &page);
        }
        self.end_reading(taken.map(|_| ()).map_err(EngineError::from))
    }
}
