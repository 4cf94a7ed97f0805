//! Automatic and indirect checkpoints.

use super::Bell;
use super::keeper::would_free;
use crate::EngineError;
use crate::database::{Database, DatabaseState};
use furrow_io::time::{Duration, Moment};
use furrow_log::LogError;
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use furrow_pool::CheckpointOptions;
use furrow_recovery::RecoveryError;
use std::sync::Weak;
use std::sync::atomic::Ordering;

const POLL: Duration = Duration::from_millis(100);
/// Recovery interval where no target is set: the product's default of a minute.
const AUTOMATIC_S: u32 = 60;
/// Share of the log in use at which a checkpoint is due in the SIMPLE model.
const LOG_FULL_PERCENT: f64 = 70.0;
/// Pages that a restart is taken to read and redo in a second, before anything was measured: random reads of
/// one device.
const PAGES_A_SECOND: u64 = 4000;
/// Log that a restart is taken to read and apply in a second.
const LOG_BYTES_A_SECOND: u64 = 40 << 20;
/// Most pages that one look writes, so that it stays short.
const MOST_PAGES: usize = 1024;
/// Fewest dirty pages that are worth writing ahead of a checkpoint.
const FEWEST_PAGES: u64 = 256;

/// What the checkpointer remembers between two looks.
#[derive(Debug)]
struct Memory {
    /// Bytes flushed when the last checkpoint was over.
    flushed: u64,
    /// When that was.
    taken: Moment,
}

/// The body of the checkpointer's thread.
pub(super) fn run(database: &Weak<Database>, bell: &Bell) {
    let mut memory = Memory {
        flushed: 0,
        taken: Moment::now(),
    };
    let mut kind = WaitType::DirtyPagePoll;
    while bell.sleep(POLL, kind) {
        let Some(database) = database.upgrade() else {
            return;
        };
        let indirect = database.options.read().target_recovery_s > 0;
        kind = if indirect {
            WaitType::DirtyPagePoll
        } else {
            WaitType::CheckpointQueue
        };
        if database.state() != DatabaseState::Online {
            continue;
        }
        match database.look(&mut memory) {
            Ok(()) => {}
            // A full log is told to those who need it; it loses nothing.
            Err(EngineError::Log(LogError::Full(_))) => {}
            Err(EngineError::Recovery(RecoveryError::Log(LogError::Full(_)))) => {}
            Err(error) => database.keeper.suspect(&error),
        }
    }
}

/// Why a checkpoint is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    No,
    /// The log is nearly full and a checkpoint would free some of it.
    Log,
    /// A restart would take too long.
    Target,
}

impl Database {
    fn look(&self, memory: &mut Memory) -> Result<(), EngineError> {
        self.store.log().check()?;
        self.store.check()?;
        let flags = &self.instruments.trace_flags;
        if flags.is_on_globally(TraceFlag::NO_AUTOMATIC_CHECKPOINT) {
            return Ok(());
        }
        let target = self.options.read().target_recovery_s;
        let target_s = u64::from(if target == 0 { AUTOMATIC_S } else { target });
        match self.due(memory, target_s) {
            Due::No if target > 0 => self.write_ahead(target_s),
            Due::No => Ok(()),
            Due::Log | Due::Target => {
                // Counts are advisory: without log space for them the checkpoint is all the more urgent.
                if let Err(error) = self
                    .catalog
                    .write_counts()
                    .and_then(|()| self.note_log_size())
                {
                    tracing::debug!(%error, "counts are not written before this checkpoint");
                }
                self.keeper.checkpoint(CheckpointOptions::default())?;
                memory.flushed = self.flushed_bytes();
                memory.taken = Moment::now();
                Ok(())
            }
        }
    }

    fn flushed_bytes(&self) -> u64 {
        self.store
            .log()
            .counters
            .bytes_flushed
            .load(Ordering::Relaxed)
    }

    fn due(&self, memory: &Memory, target_s: u64) -> Due {
        let used = self.store.log().usage().used_percent();
        // A checkpoint frees whole VLFs, and none that an active transaction keeps.
        if used >= LOG_FULL_PERCENT && would_free(&self.store) {
            return Due::Log;
        }
        let written = self.flushed_bytes().saturating_sub(memory.flushed);
        let long_ago = memory.taken.elapsed() >= Duration::from_secs(target_s);
        let too_much = written >= LOG_BYTES_A_SECOND.saturating_mul(target_s);
        let something = self.shared.pool.dirty_count(self.id) > 0;
        if something && (too_much || long_ago) {
            Due::Target
        } else {
            Due::No
        }
    }

    /// Keeps the number of dirty pages below what a restart can read in the target time.
    fn write_ahead(&self, target_s: u64) -> Result<(), EngineError> {
        let most = (PAGES_A_SECOND * target_s).max(FEWEST_PAGES);
        let dirty = self.shared.pool.dirty_count(self.id);
        if dirty > most {
            let excess = usize::try_from(dirty - most).unwrap_or(MOST_PAGES);
            self.shared
                .pool
                .write_oldest(self.id, excess.min(MOST_PAGES))?;
        }
        Ok(())
    }
}
