//! The cleanup of ghosts: rows that were deleted and are only marked so.

use super::Bell;
use crate::database::{Database, DatabaseState};
use furrow_io::time::Duration;
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use std::sync::Weak;

/// Leaves cleaned in a turn.
pub(super) const LEAVES: usize = 64;

/// The body of the ghost cleaner's thread.
pub(super) fn run(database: &Weak<Database>, bell: &Bell) {
    let mut nap = Duration::from_secs(1);
    while bell.sleep(nap, WaitType::SleepTask) {
        let Some(database) = database.upgrade() else {
            return;
        };
        nap = Duration::from_secs(u64::from(database.shared.config.ghost_cleanup_s.max(1)));
        let resting = database
            .instruments
            .trace_flags
            .is_on_globally(TraceFlag::NO_GHOST_CLEANUP);
        if resting || database.state() != DatabaseState::Online {
            continue;
        }
        match database.catalog.purge_ghosts(&database.locks, LEAVES) {
            // There may be more: soon again.
            Ok(cleaned) if cleaned >= LEAVES => nap = Duration::from_millis(100),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "ghosts could not be removed"),
        }
    }
}
