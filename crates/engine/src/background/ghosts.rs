//! The cleanup of ghosts: rows that were deleted and are only marked so.

use crate::database::Database;
use crate::threads::Bell;
use furrow_io::time::Duration;
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use furrow_tables::DatabaseState;
use furrow_tables::GHOST_LEAVES;
use std::sync::Weak;

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
        match database.catalog.purge_ghosts(&database.locks, GHOST_LEAVES) {
            // There may be more: soon again.
            Ok(cleaned) if cleaned >= GHOST_LEAVES => nap = Duration::from_millis(100),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "ghosts could not be removed"),
        }
    }
}
