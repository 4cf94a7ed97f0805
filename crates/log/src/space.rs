//! Space in the log file: promises to transactions, truncation, growth.
//!
//! A transaction requests a *promise* before it takes a latch: space for the records of its next step and for
//! the compensation records of a rollback of that step. So `append` cannot run out of space within a promise,
//! and a rollback never does.

use crate::layout::{BLOCK_MAX_BYTES, FIRST_VLF_OFFSET, SECTOR};
use crate::log::Log;
use crate::sync::atomic::Ordering;
use crate::{LogError, ReuseWait};
use furrow_format::Lsn;
use furrow_io::Fill;
use furrow_io::time::Duration;
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;

/// Bytes that are never promised: unused ends of VLFs, the padding of blocks, the engine's own records.
pub(crate) const MARGIN_BYTES: i64 = 3 * BLOCK_MAX_BYTES as i64;

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
        debug_assert!(i64::try_from(bytes).is_ok(), "promises are counted signed");
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
        let before = self
            .promised_bytes
            .fetch_sub(bytes as i64, Ordering::AcqRel);
        debug_assert!(
            before >= bytes as i64,
            "more was given back than was promised"
        );
    }

    /// Whether little more is left than what is promised. Then a caller that need not make the log durable
    /// should not flush it: each flush wastes the rest of the last sector, which was promised to no
    /// transaction.
    pub fn is_short(&self) -> bool {
        let promised = self.promised_bytes.load(Ordering::Acquire);
        let spare = self.free_bytes.load(Ordering::Acquire) - promised;
        self.sparing.load(Ordering::Relaxed) || spare < MARGIN_BYTES + BLOCK_MAX_BYTES as i64
    }

    /// Makes [`Log::is_short`] always return `true`, or ends that. A restart sets this while it undoes: the
    /// promises that transactions got before the crash are no longer counted.
    pub fn set_sparing(&self, sparing: bool) {
        self.sparing.store(sparing, Ordering::Relaxed);
    }

    /// Size of the largest VLF: so much space may stay in use until no record of its VLF is needed.
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

    /// Frees the VLFs whose records all lie before `lsn`, and are durable: a block that is still being
    /// written must not meet a newer one in its place.
    pub fn truncate_before(&self, lsn: Lsn) {
        let lsn = lsn.min(self.durable());
        debug_assert!(lsn <= self.tail(), "what is not written is not freed");
        let freed = {
            let mut roll = self.roll.lock();
            let freed = roll.vlfs.truncate_before(lsn.vlf());
            debug_assert!(
                !roll.vlfs.keeps_before(lsn.vlf()),
                "what is not needed is free"
            );
            self.count_free(&roll);
            freed
        };
        if freed {
            self.counters.truncations.fetch_add(1, Ordering::Relaxed);
            let _guard = self.space_lock.lock();
            self.space_freed.notify_all();
        }
    }

    /// Sets the function that [`Log::set_alarm`] arms; only the first call counts. `ring` is called with the
    /// log's lock held: it must not use the log, nor wait.
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
                    // A half-done growth is of no use; the header does not have it.
                    let _ = self.file.resize(old_len, Fill::Allocate);
                })?;
            Ok(())
        })?;
        self.counters.growths.fetch_add(1, Ordering::Relaxed);
        {
            let mut roll = self.roll.lock();
            roll.vlfs.append(&sizes);
            debug_assert_eq!(
                FIRST_VLF_OFFSET + roll.vlfs.total_bytes(),
                roll.directory.file_bytes(),
                "memory and the header have the same VLFs"
            );
            self.count_free(&roll);
        }
        let _guard = self.space_lock.lock();
        self.space_freed.notify_all();
        Ok(())
    }
}
