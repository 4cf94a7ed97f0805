//! How many sessions use a database, and whether a further one may enter.
//!
//! One atomic word holds the number of sessions and two bits, so that entering is one step against a change
//! of the bits:
//! - `REFUSED`: no session may enter (the database is being closed, dropped, or made read-only);
//! - `SINGLE`: one session at a time (SINGLE_USER).

use super::DatabaseCore;
use crate::error::EngineError;
use furrow_format::UserAccess;
use furrow_io::sync::atomic::Ordering;
use std::sync::Arc;

/// A use of a database by a session: as long as it lives the database is not closed or dropped.
#[derive(Debug)]
pub struct DatabaseRef(Arc<DatabaseCore>);

impl Drop for DatabaseRef {
    fn drop(&mut self) {
        let before = self.0.users.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before & COUNT > 0, "each session is counted once");
    }
}

/// Set while no session may enter.
const REFUSED: u32 = 1 << 31;
/// Set while one session at a time may use the database.
const SINGLE: u32 = 1 << 30;
const COUNT: u32 = SINGLE - 1;

impl DatabaseCore {
    /// Enters the database, for a session. 924 where one session at a time may use it and one does, 942 where
    /// no session may enter.
    pub fn enter(self: &Arc<DatabaseCore>) -> Result<DatabaseRef, EngineError> {
        self.check()?;
        let open = |users: u32| {
            let full = users & SINGLE != 0 && users & COUNT > 0;
            (users & REFUSED == 0 && !full).then_some(users + 1)
        };
        let entered = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, open);
        match entered {
            Ok(_) => Ok(DatabaseRef(Arc::clone(self))),
            Err(users) => {
                let number = if users & REFUSED == 0 { 924 } else { 942 };
                Err(EngineError::refused(number, &[self.name.as_str().into()]))
            }
        }
    }

    /// Keeps the database open for something that is no session, such as a check: it does not count against
    /// SINGLE_USER. 942 where no session may enter.
    pub fn keep_open(self: &Arc<DatabaseCore>) -> Result<DatabaseRef, EngineError> {
        self.check()?;
        let open = |users: u32| (users & REFUSED == 0).then_some(users + 1);
        let kept = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, open);
        match kept {
            Ok(_) => Ok(DatabaseRef(Arc::clone(self))),
            Err(_) => Err(EngineError::refused(942, &[self.name.as_str().into()])),
        }
    }

    /// Sessions that use the database.
    pub fn users(&self) -> u32 {
        self.users.load(Ordering::Acquire) & COUNT
    }

    /// Refuses further sessions; 3702 when one uses the database. A second call succeeds.
    pub fn refuse_entry_unless_used(&self) -> Result<(), EngineError> {
        match self.refuse_entry(0) {
            Ok(()) => Ok(()),
            Err(users) if users & REFUSED != 0 => Ok(()),
            Err(_) => {
                let args = ["database".into(), self.name.as_str().into()];
                Err(EngineError::refused(3702, &args))
            }
        }
    }

    /// Refuses further sessions, when exactly `users` sessions use the database; else returns the atomic word
    /// as it is.
    pub fn refuse_entry(&self, users: u32) -> Result<(), u32> {
        let refuse = |now: u32| (now & !SINGLE == users).then_some(now | REFUSED);
        let refused = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, refuse);
        refused.map(drop)
    }

    /// Lets sessions enter again, after a statement that refused them.
    pub fn allow_entry(&self) {
        self.users.fetch_and(!REFUSED, Ordering::AcqRel);
    }

    /// Applies the option SINGLE_USER, RESTRICTED_USER or MULTI_USER: when the database is opened, and when
    /// the option was changed.
    pub fn apply_user_access(&self, access: UserAccess) {
        match access {
            UserAccess::Single => self.users.fetch_or(SINGLE, Ordering::AcqRel),
            UserAccess::Multi | UserAccess::Restricted => {
                self.users.fetch_and(!SINGLE, Ordering::AcqRel)
            }
        };
    }

    /// Allows one session at a time, when at most `users` sessions use the database; whether it did.
    pub fn allow_one_session(&self, users: u32) -> bool {
        let allow = |now: u32| (now & COUNT <= users).then_some(now | SINGLE);
        let allowed = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, allow);
        allowed.is_ok()
    }
}
