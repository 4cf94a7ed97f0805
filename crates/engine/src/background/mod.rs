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
//! - the *ghost cleaner* wakes every few seconds and removes deleted rows whose transaction has ended. Trace
//!   flag 661 stops it.
//!
//! Trace flag 3505 rests automatic checkpoints, but not those that make room in a full log. Both threads end
//! when the database is closed; they hold it only while they look.

mod checkpointer;
mod ghosts;

use crate::database::Database;
use crate::threads::Threads;
use furrow_tables::EngineError;
use std::sync::Arc;

/// Session numbers of the two threads; the databases of an instance share them, as SQL Server's do.
const CHECKPOINTER_SESSION: i32 = 9;
const GHOSTS_SESSION: i32 = 12;

/// Starts the two threads of a database.
fn start(database: &Arc<Database>) -> Result<Threads, EngineError> {
    let mut threads = Threads::default();
    let weak = Arc::downgrade(database);
    let bell = threads.spawn(
        &database.instruments,
        ("checkpoint", CHECKPOINTER_SESSION),
        move |bell| checkpointer::run(&weak, bell),
    )?;
    database.store.log().on_alarm(move || bell.ring());
    let weak = Arc::downgrade(database);
    threads.spawn(
        &database.instruments,
        ("ghost cleanup", GHOSTS_SESSION),
        move |bell| ghosts::run(&weak, bell),
    )?;
    Ok(threads)
}

impl Database {
    /// Starts the threads, where the instance wants them; a second call does nothing.
    pub(crate) fn start_background(self: &Arc<Database>) -> Result<(), EngineError> {
        if !self.shared.config.background || self.is_read_only() {
            return Ok(());
        }
        let mut background = self.background.lock();
        if background.is_none() {
            *background = Some(start(self)?);
        }
        Ok(())
    }

    /// Lets the background threads look at once, rather than at their next turn. For tests and for the
    /// impatient.
    pub fn nudge_background(&self) {
        if let Some(background) = &*self.background.lock() {
            background.ring();
        }
    }
}
