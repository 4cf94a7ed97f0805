//! Space in the log file: promises to transactions, truncation, growth.
//!
//! A transaction asks for a *promise* before it takes a latch: room for the records of its next step and
//! for the compensation records that a rollback of it would write. While promises are kept,
//! `append` cannot run out of space, and a rollback never does.

use crate::layout::{BLOCK_MAX_BYTES, SECTOR};
use crate::log::Log;
use crate::sync::atomic::{AtomicI64, Ordering};
use crate::{LogError, ReuseWait};
use furrow_format::Lsn;
use furrow_io::Fill;
use furrow_io::time::Duration;
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::fmt;
use std::sync::OnceLock;

/// Never promised away: unused ends of VLFs, the padding of blocks, the engine's own records.
pub(crate) const MARGIN_BYTES: i64 = 3 * BLOCK_MAX_BYTES as i64;

/// Tells somebody once when little is left.
#[derive(Default)]
pub(crate) struct Alarm {
    /// Rings when less than this is free; 0 when it is off.
    below_bytes: AtomicI64,
    ring: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Alarm {
    /// Told what is free now, whenever that has changed.
    pub(crate) fn look(&self, free_bytes: i64) {
        if free_bytes >= self.below_bytes.load(Ordering::Relaxed) {
            return;
        }
        // Off until it is set again.
        if self.below_bytes.swap(0, Ordering::AcqRel) > free_bytes
            && let Some(ring) = self.ring.get()
        {
            ring();
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm")
            .field("below_bytes", &self.below_bytes)
            .finish_non_exhaustive()
    }
}

/// Sizes and use of a log, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUsage {
    /// All VLFs together.
    pub total_bytes: u64,
    /// The part that cannot be reused now.
    pub used_bytes: u64,
    /// Promised to transactions under way.
    pub promised_bytes: u64,
}

impl LogUsage {
    /// Used share in percent.
    pub fn used_percent(&self) -> f64 {
        self.used_bytes as f64 / self.total_bytes.max(1) as f64 * 100.0
    }
}

impl Log {
    /// Promises `bytes` of log space, to be given back with [`Log::give_back`].
    pub fn promise(&self, bytes: u64) -> Result<(), LogError> {
        let bytes = bytes as i64;
        let promised = self.promised_bytes.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if promised + MARGIN_BYTES > self.free_bytes.load(Ordering::Acquire) {
            self.promised_bytes.fetch_sub(bytes, Ordering::AcqRel);
            self.check()?;
            return Err(LogError::Full(ReuseWait::Nothing));
        }
        Ok(())
    }

    /// Gives back what [`Log::promise`] promised.
    pub fn give_back(&self, bytes: u64) {
        self.promised_bytes
            .fetch_sub(bytes as i64, Ordering::AcqRel);
    }

    /// Whether no more than what is promised is left, and a little. Whoever need not make the log durable
    /// leaves it then: the rest of the last sector is lost in each flush, and nobody was promised that.
    pub fn is_short(&self) -> bool {
        let promised = self.promised_bytes.load(Ordering::Acquire);
        let spare = self.free_bytes.load(Ordering::Acquire) - promised;
        self.sparing.load(Ordering::Relaxed) || spare < MARGIN_BYTES + BLOCK_MAX_BYTES as i64
    }

    /// Says that the log is to be taken for short, or that this is over. A restart says so while it undoes:
    /// what the transactions were promised before the crash is nowhere counted any more.
    pub fn set_sparing(&self, sparing: bool) {
        self.sparing.store(sparing, Ordering::Relaxed);
    }

    /// Size of the largest VLF: so much space, and no less, may have to wait for its other records.
    pub fn largest_vlf_bytes(&self) -> u64 {
        let roll = self.roll.lock();
        roll.vlfs.all().iter().map(|v| v.size).max().unwrap_or(0)
    }

    /// Sizes and use.
    pub fn usage(&self) -> LogUsage {
        let total_bytes = self.roll.lock().vlfs.total_bytes();
        let free = self.free_bytes.load(Ordering::Acquire).max(0) as u64;
        LogUsage {
            total_bytes,
            used_bytes: total_bytes.saturating_sub(free),
            promised_bytes: self.promised_bytes.load(Ordering::Acquire).max(0) as u64,
        }
    }

    /// Whether there are VLFs in use whose records all lie before `lsn`.
    pub fn keeps_before(&self, lsn: Lsn) -> bool {
        self.roll.lock().vlfs.keeps_before(lsn.vlf())
    }

    /// Lets the VLFs be reused whose records all lie before `lsn`, and are durable: a block still on
    /// its way must not meet a newer one in its place.
    pub fn truncate_before(&self, lsn: Lsn) {
        let lsn = lsn.min(self.durable());
        let freed = {
            let mut roll = self.roll.lock();
            let freed = roll.vlfs.truncate_before(lsn.vlf());
            self.count_free(&roll);
            freed
        };
        if freed {
            self.counters.truncations.fetch_add(1, Ordering::Relaxed);
            let _guard = self.space_lock.lock();
            self.space_freed.notify_all();
        }
    }

    /// Names whom [`Log::set_alarm`] wakes; only the first one named counts. `ring` is called with the log's
    /// lock held: it must not use the log, nor wait.
    pub fn on_alarm(&self, ring: impl Fn() + Send + Sync + 'static) {
        let _first = self.alarm.ring.set(Box::new(ring));
    }

    /// Rings once when more than `used_bytes` of the log are in use.
    pub fn set_alarm(&self, used_bytes: u64) {
        let roll = self.roll.lock();
        let below = roll.vlfs.total_bytes().saturating_sub(used_bytes);
        self.alarm
            .below_bytes
            .store(below as i64, Ordering::Release);
        self.alarm.look(self.free_bytes.load(Ordering::Acquire));
    }

    /// Waits until space has come free or `limit` has passed (LOGMGR_RESERVE_APPEND).
    pub fn wait_for_space(&self, limit: Duration) {
        let wait = task::wait(WaitType::LogMgrReserveAppend, Resource::None);
        let mut guard = self.space_lock.lock();
        self.space_freed.wait_for(&mut guard, limit);
        drop(guard);
        wait.finish();
    }

    /// Makes the file longer by `bytes`, zeroed, and splits them into VLFs.
    pub fn grow(&self, bytes: u64) -> Result<(), LogError> {
        let _turn = self.size_turn.lock();
        let bytes = bytes.next_multiple_of(SECTOR as u64);
        let current_bytes = self.roll.lock().vlfs.total_bytes();
        let sizes = self.config.vlf_rule.sizes(current_bytes, bytes);
        self.rewrite_directory(|directory| {
            for &size in &sizes {
                directory.push(size, 1)?;
            }
            let old_len = self.file.len_bytes()?;
            self.file
                .resize(directory.file_bytes(), Fill::Zero)
                .inspect_err(|_| {
                    // A half-made growth is of no use; the header does not know of it.
                    let _ = self.file.resize(old_len, Fill::Allocate);
                })?;
            Ok(())
        })?;
        self.counters.growths.fetch_add(1, Ordering::Relaxed);
        {
            let mut roll = self.roll.lock();
            roll.vlfs.append(&sizes);
            self.count_free(&roll);
        }
        let _guard = self.space_lock.lock();
        self.space_freed.notify_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::AtomicU32;
    use std::sync::Arc;

    #[test]
    fn the_alarm_rings_once_for_each_setting_and_only_below_its_mark() {
        let rung = Arc::new(AtomicU32::new(0));
        let alarm = Alarm::default();
        // Nobody is named yet: nothing happens.
        alarm.below_bytes.store(10, Ordering::Relaxed);
        alarm.look(5);
        let counted = Arc::clone(&rung);
        let ring = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        assert!(alarm.ring.set(Box::new(ring)).is_ok());
        alarm.look(0);
        assert_eq!(rung.load(Ordering::Relaxed), 0, "it is off until it is set");
        alarm.below_bytes.store(100, Ordering::Relaxed);
        alarm.look(100);
        assert_eq!(rung.load(Ordering::Relaxed), 0);
        alarm.look(99);
        alarm.look(10);
        assert_eq!(rung.load(Ordering::Relaxed), 1);
    }
}
