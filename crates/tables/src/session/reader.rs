//! Sessions that read a part of a scan for another session, on a thread of their own.
//!
//! # Locks
//! A reader holds no locks, and waits for none. The session that it works for holds the lock of the table for
//! the whole scan. The reader tests locks of rows and pages under the latch, as every scan at READ COMMITTED
//! does. If such a lock is not free, it passes the wait on ([`LockWaiter`]): the session's own thread waits,
//! under the session's name. So a deadlock that the wait closes is found, the wait is in the statistics of
//! the session, and LOCK_TIMEOUT, KILL and a cancellation end it as they end any other wait.
//!
//! The reader tests locks for an owner that holds nothing. The result is that of the session itself only as
//! long as this has no lock on the table that conflicts with S, and none on its rows and pages:
//! `Session::division` checks it at the begin, and a plan is divided only where no scan in it locks rows.

use super::Session;
use crate::error::EngineError;
use furrow_observe::task::Task;
use furrow_txn::lock::{LockMode, Resource};
use std::fmt;
use std::sync::Arc;

/// A lock that a reader has to wait for.
#[derive(Debug, Clone, Copy)]
pub struct LockWait {
    pub(crate) resource: Resource,
    pub(crate) mode: LockMode,
}

/// What a reader calls in place of waiting for a lock.
pub trait LockWaiter: fmt::Debug + Send + Sync {
    /// Returns when the lock could be granted: [`Session::wait_for_reader`] has returned. `false` if the
    /// reader has to end.
    fn wait(&self, wait: LockWait) -> bool;
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

    /// Waits for a lock that a reader of this session has asked for. Where that fails, `stop` ends the
    /// readers first: a victim of a deadlock gives up the lock of the table that they read.
    pub fn wait_for_reader(
        &mut self,
        wait: LockWait,
        no_wait: bool,
        stop: impl FnOnce(),
    ) -> Result<(), EngineError> {
        let _task = self.enter();
        let timeout = match no_wait {
            true => furrow_txn::lock::Timeout::NoWait,
            false => self.timeout,
        };
        let (locks, owner) = (&self.db.locks, &self.owner);
        let waited = locks.lock_instant(owner, wait.resource, wait.mode, timeout);
        if waited.is_err() {
            stop();
        }
        self.end_reading(waited.map_err(EngineError::from))
    }
}
