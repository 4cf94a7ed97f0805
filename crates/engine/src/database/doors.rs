//! Who is in a database, and who may come in.
//!
//! One word holds the number of sessions that are there and what the doors are like, so that entering is one
//! atomic step against a change of the doors:
//! - closed: nobody may enter (the database is being closed, dropped, or made read-only);
//! - single: one session at a time (SINGLE_USER).

use super::{Database, EngineError};
use furrow_format::UserAccess;
use furrow_io::sync::atomic::Ordering;
use std::sync::Arc;

/// A session's stay in a database; dropped, it has left.
#[derive(Debug)]
pub struct Stay(Arc<Database>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Set once nobody may enter any more.
const CLOSED: u32 = 1 << 31;
/// Set while one session at a time may be there.
const SINGLE: u32 = 1 << 30;
const COUNT: u32 = SINGLE - 1;

impl Database {
    /// Enters the database, for a session: as long as the stay lasts it is not closed or dropped. 924 where
    /// one session at a time may be there and one is.
    pub fn enter(self: &Arc<Database>) -> Result<Stay, EngineError> {
        self.check()?;
        let open = |users: u32| {
            let full = users & SINGLE != 0 && users & COUNT > 0;
            (users & CLOSED == 0 && !full).then_some(users + 1)
        };
        let entered = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, open);
        match entered {
            Ok(_) => Ok(Stay(Arc::clone(self))),
            Err(users) => {
                let number = if users & CLOSED == 0 { 924 } else { 942 };
                Err(EngineError::refused(number, &[self.name.as_str().into()]))
            }
        }
    }

    /// Sessions in the database.
    pub fn users(&self) -> u32 {
        self.users.load(Ordering::Acquire) & COUNT
    }

    /// Lets nobody in any more; 3702 when somebody is there.
    pub(crate) fn seal(&self) -> Result<(), EngineError> {
        match self.close_doors(0) {
            Ok(()) => Ok(()),
            Err(users) if users & CLOSED != 0 => Ok(()),
            Err(_) => {
                let args = ["database".into(), self.name.as_str().into()];
                Err(EngineError::refused(3702, &args))
            }
        }
    }

    /// Lets nobody in any more, when exactly so many are there.
    pub(crate) fn close_doors(&self, users: u32) -> Result<(), u32> {
        let close = |now: u32| (now & !SINGLE == users).then_some(now | CLOSED);
        let sealed = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, close);
        sealed.map(drop)
    }

    /// Lets sessions in again, after a closing that was given up.
    pub(crate) fn unseal(&self) {
        self.users.fetch_and(!CLOSED, Ordering::AcqRel);
    }

    /// Makes the doors as the options say: when the database is opened, and when an option was changed.
    pub(super) fn set_doors(&self, access: UserAccess) {
        match access {
            UserAccess::Single => self.users.fetch_or(SINGLE, Ordering::AcqRel),
            UserAccess::Multi | UserAccess::Restricted => {
                self.users.fetch_and(!SINGLE, Ordering::AcqRel)
            }
        };
    }

    /// Lets one session at a time in, when at most so many are there.
    pub(super) fn single_door(&self, users: u32) -> bool {
        let close = |now: u32| (now & COUNT <= users).then_some(now | SINGLE);
        let closed = self
            .users
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, close);
        closed.is_ok()
    }
}
