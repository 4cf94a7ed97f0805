//! Automatic and indirect checkpoints.
//!
//! # When the log asks for one
//! A checkpoint lets the log before its begin be reused, but only when it is over: while it writes, the
//! sessions go on filling the log. So it has to begin while there is room for what comes meanwhile. How much
//! that is follows from the last checkpoints: so many bytes of log came while one wrote what so many had
//! made dirty ([`Pressure`]). Where pages are written as fast as the log fills, that is at a third of the
//! log; where nothing comes meanwhile, at 70%, as SQL Server does. An alarm of the log wakes the
//! checkpointer at that point, since a small log is full long before the next look.

use crate::database::Database;
use crate::keeper::would_free;
use crate::threads::Bell;
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::{Duration, Moment};
use furrow_log::LogError;
use furrow_observe::traceflags::TraceFlag;
use furrow_observe::waits::WaitType;
use furrow_pool::CheckpointOptions;
use furrow_recovery::RecoveryError;
use furrow_tables::{DatabaseState, EngineError};
use std::sync::Weak;

const POLL: Duration = Duration::from_millis(100);
/// Recovery interval where no target is set: SQL Server's default of a minute.
const AUTOMATIC_S: u32 = 60;
/// Share of the log in use at which a checkpoint is due at the latest, in the SIMPLE model.
const LATEST_SHARE: f64 = 0.7;
/// And at the earliest, however slow the devices are.
const EARLIEST_SHARE: f64 = 0.1;
/// Share of the log that is to be left when a checkpoint is over.
const SPARE_SHARE: f64 = 0.1;
/// What comes during the next checkpoint may be this much more than what came during the last one.
const SURPRISE: f64 = 1.25;
/// How much of the highest pressure so far stays when the next one is lower.
const FADE: f64 = 0.7;
/// Checkpoints that cover less than this part of the log say nothing about the pressure.
const TELLING_PART: u64 = 32;
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
    /// Bytes flushed when the last checkpoint began.
    begun_at: u64,
    /// Bytes flushed when it was over.
    flushed: u64,
    /// When that was.
    taken: Moment,
    pressure: Pressure,
}

/// Bytes of log that come while a checkpoint writes what one byte of log has made dirty.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pressure(f64);

impl Pressure {
    /// Before anything was measured: the log fills as fast as a checkpoint empties it.
    const UNKNOWN: Pressure = Pressure(1.0);

    /// Learns from a checkpoint: `covered` bytes of log lay behind it, `meanwhile` came while it wrote. It
    /// rises at once and falls slowly.
    fn learn(&mut self, covered: u64, meanwhile: u64) {
        let seen = meanwhile as f64 / covered.max(1) as f64;
        self.0 = seen.max(self.0 * FADE);
    }

    /// Used bytes at which the next checkpoint has to begin. Space comes free by whole VLFs: one is not to be
    /// counted on.
    fn due_bytes(self, total: u64, vlf: u64) -> u64 {
        let total_f = total as f64;
        let room = total_f * (1.0 - SPARE_SHARE) - vlf as f64;
        let due = room / (1.0 + SURPRISE * self.0);
        due.clamp(total_f * EARLIEST_SHARE, total_f * LATEST_SHARE) as u64
    }
}

/// The body of the checkpointer's thread.
pub(super) fn run(database: &Weak<Database>, bell: &Bell) {
    let mut memory = Memory {
        begun_at: 0,
        flushed: 0,
        taken: Moment::now(),
        pressure: Pressure::UNKNOWN,
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
        // One after the other as long as the log asks for it: it may have filled meanwhile.
        let mut looked = database.look(&mut memory);
        while matches!(looked, Ok(Due::Log)) && database.state() == DatabaseState::Online {
            looked = database.look(&mut memory);
        }
        match looked {
            Ok(_) => {}
            // A full log loses nothing; sessions that need log space get the error.
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
    /// The log will be full soon and a checkpoint would free some of it.
    Log,
    /// A restart would take too long.
    Target,
}

impl Database {
    /// Does what is due, and returns what it was.
    fn look(&self, memory: &mut Memory) -> Result<Due, EngineError> {
        self.store.log().check()?;
        self.store.check()?;
        let flags = &self.instruments.trace_flags;
        if flags.is_on_globally(TraceFlag::NO_AUTOMATIC_CHECKPOINT) {
            return Ok(Due::No);
        }
        let target = self.options.read().target_recovery_s;
        let interval_s = match self.shared.recovery_interval_min() {
            0 => AUTOMATIC_S,
            minutes => minutes.saturating_mul(60),
        };
        let target_s = u64::from(if target == 0 { interval_s } else { target });
        let due = self.due(memory, target_s);
        if self.is_temporary() {
            return self.look_at_temporary(due);
        }
        match due {
            Due::No if target > 0 => self.write_ahead(target_s)?,
            Due::No => {}
            Due::Log | Due::Target => {
                // Counts are advisory: without log space for them the checkpoint is all the more urgent.
                if let Err(error) = self
                    .catalog
                    .write_counts()
                    .and_then(|()| self.note_log_size())
                {
                    tracing::debug!(%error, "counts are not written before this checkpoint");
                }
                let begun_at = self.flushed_bytes();
                self.keeper.checkpoint(CheckpointOptions::default())?;
                self.remember(memory, begun_at);
            }
        }
        Ok(due)
    }

    /// Of a temporary database only the log is looked after: its pages may stay dirty, and the counts of its
    /// catalog are never read from the disk.
    fn look_at_temporary(&self, due: Due) -> Result<Due, EngineError> {
        if due == Due::Log {
            self.keeper.checkpoint(CheckpointOptions::default())?;
            return Ok(due);
        }
        Ok(Due::No)
    }

    /// Notes a checkpoint that began when so much had been flushed.
    fn remember(&self, memory: &mut Memory, begun_at: u64) {
        let flushed = self.flushed_bytes();
        let covered = begun_at.saturating_sub(memory.begun_at);
        if covered >= self.store.log().usage().total_bytes / TELLING_PART {
            let meanwhile = flushed.saturating_sub(begun_at);
            memory.pressure.learn(covered, meanwhile);
        }
        memory.begun_at = begun_at;
        memory.flushed = flushed;
        memory.taken = Moment::now();
    }

    fn flushed_bytes(&self) -> u64 {
        self.store
            .log()
            .counters
            .bytes_flushed
            .load(Ordering::Relaxed)
    }

    fn due(&self, memory: &Memory, target_s: u64) -> Due {
        let log = self.store.log();
        let usage = log.usage();
        let vlf = log.largest_vlf_bytes();
        let due = memory.pressure.due_bytes(usage.total_bytes, vlf);
        // A checkpoint frees whole VLFs, and none that an active transaction keeps.
        if usage.used_bytes >= due && would_free(&self.store) {
            return Due::Log;
        }
        // Beyond the point and of no use yet: again when more has come.
        log.set_alarm(due.max(usage.used_bytes + vlf / 4));
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

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn a_log_that_fills_as_fast_as_pages_are_written_is_cut_at_a_third() {
        let due = Pressure::UNKNOWN.due_bytes(80 * MB, 10 * MB);
        assert!((22 * MB..32 * MB).contains(&due), "{due}");
        // What comes while that much is written, and a VLF that waits for its last records, fit in behind it.
        assert!(due * 2 + 10 * MB <= 80 * MB);
    }

    #[test]
    fn a_log_that_is_not_filled_meanwhile_is_cut_at_seventy_percent() {
        let mut pressure = Pressure::UNKNOWN;
        (0..30).for_each(|_| pressure.learn(20 * MB, 0));
        assert_eq!(pressure.due_bytes(100 * MB, MB), 70 * MB);
    }

    #[test]
    fn pressure_rises_at_once_and_falls_slowly() {
        let mut pressure = Pressure(0.1);
        pressure.learn(10 * MB, 30 * MB);
        assert_eq!(pressure, Pressure(3.0));
        pressure.learn(10 * MB, MB);
        assert!(pressure.0 > 2.0 && pressure.0 < 3.0, "{pressure:?}");
        // However slow the devices: not after every few records.
        let slow = Pressure(1e9).due_bytes(100 * MB, 12 * MB);
        assert_eq!(slow, 10 * MB);
        // A log of two VLFs is more than half in use all the time.
        assert!(Pressure(1.0).due_bytes(2 * MB, MB) >= 2 * MB / 10);
    }
}
