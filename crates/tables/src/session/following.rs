//! Results of transactions that follow a commit.
//!
//! While a commit waits for the log, other transactions may lock and change its rows (`furrow_txn::lock`).
//! What such a *follower* gives to its client may depend on that commit. So the log is flushed first:
//!
//! 1. before a call of a session returns data, a count or an error within a transaction;
//! 2. before changes are undone, because a rollback may remove a row that a reader would otherwise wait for;
//! 3. at the end of a transaction that has logged nothing itself.
//!
//! The commit record of a follower lies behind what it follows: its own durable commit needs nothing more. A
//! commit with delayed durability is lost with what it follows, if at all.
//!
//! # A flush that fails
//! A commit whose record cannot be written is lost at the next start. Its session marks the database suspect
//! before it releases the locks, and so does a follower before it undoes anything. A reader that waited for
//! these locks looks at the state of the database after it has read ([`Session::give`]).
//!
//! # Connections
//! The sessions of a T-SQL connection return from calls without a flush, because most results stay within
//! the batch. They share a [`Followed`], which the connection's output settles before anything leaves to the
//! client.

use super::Session;
use crate::database::DatabaseCore;
use crate::error::EngineError;
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_messages::Message;
use furrow_txn::lock::Follower;
use std::sync::{Arc, Weak};

/// The commits that the sessions of one client follow. The client's thread is the only one that calls it.
#[derive(Debug, Default)]
pub struct Followed {
    /// Set when a session begins to follow a commit.
    any: Arc<AtomicBool>,
    sessions: Mutex<Vec<(Weak<DatabaseCore>, Follower)>>,
    /// Why a commit that a transaction followed cannot become durable. The session may be gone.
    failed: Mutex<Option<Vec<Message>>>,
}

impl Followed {
    /// Whether any session follows a commit that may not be durable yet.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.any.load(Ordering::Relaxed) && self.look()
    }

    /// The client has been given an error in place of what depended on a lost commit: its next batch begins.
    pub fn rearm(&self) {
        *self.failed.lock() = None;
    }

    /// A commit that a transaction followed cannot become durable: what may depend on it is never given to
    /// the client.
    pub(super) fn fail(&self, error: &EngineError) {
        self.failed.lock().get_or_insert_with(|| error.messages());
        self.any.store(true, Ordering::Relaxed);
    }

    /// Looks at each session; the flag stays set after a transaction has ended.
    #[cold]
    fn look(&self) -> bool {
        let sessions = self.sessions.lock();
        let any =
            sessions.iter().any(|(_, of)| of.followed().is_some()) || self.failed.lock().is_some();
        if !any {
            self.any.store(false, Ordering::Relaxed);
        }
        any
    }

    /// Returns once all commits that the sessions follow, or have followed in this batch, are durable.
    pub fn settle(&self) -> Result<(), EngineError> {
        if let Some(messages) = &*self.failed.lock() {
            return Err(EngineError::Refused(messages.clone()));
        }
        for (db, follower) in &*self.sessions.lock() {
            // The session of a database that is gone is gone, too.
            if let (Some(lsn), Some(db)) = (follower.followed(), db.upgrade()) {
                flush(&db, lsn)?;
                follower.settle();
            }
        }
        self.any.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// Makes a commit durable that a transaction follows.
fn flush(db: &DatabaseCore, lsn: Lsn) -> Result<(), EngineError> {
    if mutated(Mutation::FollowerUnflushed) {
        return Ok(());
    }
    db.store.log().flush_to(lsn)?;
    debug_assert!(
        lsn < db.store.log().durable(),
        "a commit that is followed is durable before its rows are given away"
    );
    Ok(())
}

impl Session {
    /// From now on, calls return results that may depend on commits that are not durable yet: the caller
    /// settles `followed` before it gives anything to its client.
    pub fn defer_to(&mut self, followed: &Arc<Followed>) {
        debug_assert!(self.followed.is_none(), "a session has one client");
        self.owner.report_following(&followed.any);
        let follower = (Arc::downgrade(&self.db), self.owner.follower());
        followed.sessions.lock().push(follower);
        self.followed = Some(Arc::clone(followed));
    }

    /// The session ends.
    pub(super) fn forget_followed(&mut self) {
        if let Some(followed) = self.followed.take() {
            let mut sessions = followed.sessions.lock();
            sessions.retain(|(_, of)| !of.is_of(&self.owner));
        }
    }

    /// Returns once the commits that the transaction follows are durable.
    pub(super) fn settle(&self) -> Result<(), EngineError> {
        match self.owner.followed() {
            Some(lsn) => {
                flush(&self.db, lsn)?;
                self.owner.settle();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A result of a call that goes to the client now, unless that is deferred. Rows that were read after a
    /// commit failed are not given away: the database was marked suspect before their locks were released.
    #[inline]
    pub(crate) fn give<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if self.owner.followed().is_some() && self.followed.is_none() {
            self.settle()?;
        }
        let value = result?;
        self.db.check()?;
        Ok(value)
    }
}
