//! What goes on behind the sessions of a database: checkpoints, room in the log, ghosts.
//!
//! Two threads per database, as system sessions of their own:
//! - the *checkpointer* looks ten times a second (DIRTY_PAGE_POLL; CHECKPOINT_QUEUE without a target
//!   recovery time). It keeps the number of dirty pages below what can be read and redone in the target
//!   recovery time, by writing the oldest ones (indirect checkpoints); it takes a checkpoint when the
//!   log written since the last one would take that long to redo, before the log is too full for what
//!   comes while it writes (at 70% at the latest), and when the target time has passed since the last
//!   one and something was written. Without a target recovery time, once a minute. It also notices that
//!   the log or a file has failed, and marks the database suspect.
//! - the *ghost cleaner* wakes every few seconds and removes rows that were deleted and that nobody can want
//!   back. Trace flag 661 rests it.
//!
//! Trace flag 3505 rests automatic checkpoints, but not those that make room in a full log. Both threads end
//! when the database is closed; they hold it only while they look.

mod checkpointer;
mod ghosts;
mod keeper;

pub(crate) use keeper::{Keeper, holder};

use crate::EngineError;
use crate::database::Database;
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::Duration;
use furrow_observe::task::{self, Resource, Task};
use furrow_observe::waits::WaitType;
use std::sync::Arc;

/// Session numbers of the two threads; the databases of an instance share them, as the product's do.
const CHECKPOINTER_SESSION: i32 = 9;
const GHOSTS_SESSION: i32 = 12;

/// Tells threads to end, or to look at once.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<Ring>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct Ring {
    stop: bool,
    look: bool,
}

impl Bell {
    /// Sleeps until it rings or the time is over; `false` when it is time to end.
    fn sleep(&self, span: Duration, kind: WaitType) -> bool {
        let mut state = self.state.lock();
        if !state.stop && !state.look {
            let wait = task::wait(kind, Resource::None);
            self.rung.wait_for(&mut state, span);
            drop(wait);
        }
        state.look = false;
        !state.stop
    }

    /// Asks the thread to look at once.
    pub(crate) fn ring(&self) {
        self.state.lock().look = true;
        self.rung.notify_all();
    }

    fn stop(&self) {
        self.state.lock().stop = true;
        self.rung.notify_all();
    }
}

/// The threads of a database. Dropped, they end.
#[derive(Debug)]
pub(crate) struct Background {
    bells: Vec<Arc<Bell>>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    fn start(database: &Arc<Database>) -> Result<Background, EngineError> {
        let mut background = Background {
            bells: Vec::new(),
            threads: Vec::new(),
        };
        background.spawn(
            database,
            ("checkpoint", CHECKPOINTER_SESSION),
            checkpointer::run,
        )?;
        if let Some(bell) = background.bells.last().map(Arc::clone) {
            database.store.log().on_alarm(move || bell.ring());
        }
        background.spawn(database, ("ghost cleanup", GHOSTS_SESSION), ghosts::run)?;
        Ok(background)
    }

    fn spawn(
        &mut self,
        database: &Arc<Database>,
        (name, session): (&'static str, i32),
        body: fn(&std::sync::Weak<Database>, &Bell),
    ) -> Result<(), EngineError> {
        let bell = Arc::new(Bell::default());
        let (weak, own) = (Arc::downgrade(database), Arc::clone(&bell));
        let task = Task::new(&database.instruments, session, name);
        let thread = spawn_named(name, move || {
            let _entered = task::enter(&task);
            body(&weak, &own);
        });
        self.threads.push(thread.map_err(EngineError::Thread)?);
        self.bells.push(bell);
        Ok(())
    }

    /// Asks all threads to look at once.
    fn ring(&self) {
        self.bells.iter().for_each(|bell| bell.ring());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.bells.iter().for_each(|bell| bell.stop());
        let me = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last owner of a database may be one of its own threads: it cannot wait for itself.
            if thread.thread().id() == me {
                continue;
            }
            if thread.join().is_err() {
                tracing::error!("a background thread of a database panicked");
            }
        }
    }
}

impl Database {
    /// Starts the threads, where the instance wants them; a second call does nothing.
    pub(crate) fn start_background(self: &Arc<Database>) -> Result<(), EngineError> {
        if !self.shared.config.background || self.is_read_only() {
            return Ok(());
        }
        let mut background = self.background.lock();
        if background.is_none() {
            *background = Some(Background::start(self)?);
        }
        Ok(())
    }

    /// Removes ghosts that nobody can want back, of some leaves, as the ghost cleaner does; how many leaves
    /// were cleaned.
    pub fn purge_ghosts(&self) -> Result<usize, EngineError> {
        self.check()?;
        if self.is_read_only() {
            return Ok(0);
        }
        self.catalog.purge_ghosts(&self.locks, ghosts::LEAVES)
    }

    /// Lets the background threads look at once, rather than at their next turn. For tests and for the
    /// impatient.
    pub fn nudge_background(&self) {
        if let Some(background) = &*self.background.lock() {
            background.ring();
        }
    }
}
