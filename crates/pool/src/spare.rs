//! Logs short of space: which pages wait for them, and when they stop waiting.
//!
//! A page may leave memory only when the log is durable up to it, and a flush uses up the rest of the log's
//! last sector. A rollback has reserved the space of the records that it writes, but not that of the flushes
//! which the lazy writer requests behind each of its steps. So in a log that is short of space
//! ([`WriteAhead::is_short`](crate::WriteAhead)) pages for which it is not durable stay in memory, unless a
//! thread waits for them (a checkpoint, a load that forces its pages).
//!
//! They must not fill the pool. When frames run out and one in [`WAITING_PART`] waits for a log, that log is
//! made durable after all. Many pages are changed between two such flushes, so they are rare, the rarer the
//! larger the pool. Their cost is shared out among the records that change the pages ([`padding_share`]), and
//! is part of the space that a transaction reserves for its rollback.

use crate::bytes::page_lsn;
use crate::core::Core;
use crate::files::Database;
use crate::mode::LatchMode;
use furrow_format::Lsn;

/// A log is made durable when this part of all frames waits for it: a quarter.
const WAITING_PART: usize = 4;
/// Pages that a record changes, on the average of many: rows and the page above them, a map now and then.
const PAGES_A_RECORD: u64 = 4;

/// Each record's share of the padding of a log with sectors of `sector_bytes`, in a pool of so many frames.
pub fn padding_share(sector_bytes: u32, frames: usize) -> u64 {
    let records = frames as u64 / (WAITING_PART as u64 * PAGES_A_RECORD);
    u64::from(sector_bytes).div_ceil(records.max(1))
}

impl Core {
    /// Makes durable the logs that many pages of the pool wait for; returns whether there were any.
    pub(crate) fn flush_short_logs(&self) -> bool {
        let databases = self.registry.read().databases();
        let short = databases.iter().filter(|db| db.log.is_short());
        let mut flushed = false;
        for database in short {
            let (waiting, newest) = self.waiting_for_log(database);
            if waiting * WAITING_PART >= self.frames.len() {
                // If this fails, the thread that writes the pages gets the error again and stores it.
                flushed |= database.log.make_durable(newest).is_ok();
            }
        }
        flushed
    }

    /// The dirty pages that the log is not yet durable for, and the last record that changed one of them.
    fn waiting_for_log(&self, database: &Database) -> (usize, Lsn) {
        let durable = database.log.durable();
        let dirty = self.frames_where(|key, frame| key.db == database.id && frame.is_dirty());
        let lsns = dirty
            .into_iter()
            .filter_map(|index| self.lsn_of(index, database));
        let waiting = lsns.filter(|&lsn| lsn >= durable);
        waiting.fold((0, Lsn::ZERO), |(count, newest), lsn| {
            (count + 1, newest.max(lsn))
        })
    }
    /// The LSN of the last record that changed a page of the database; `None` when a thread holds its latch
    /// EX.
    #[expect(unsafe_code, reason = "the latch stands for the borrow")]
    fn lsn_of(&self, index: u32, database: &Database) -> Option<Lsn> {
        let frame = self.frame(index);
        if !frame.latch.try_share_quietly() {
            return None;
        }
        let held = frame.key().is_some_and(|key| key.db == database.id);
        // SAFETY: the page is latched SH.
        let lsn = held.then(|| page_lsn(unsafe { self.memory.page(index as usize) }));
        frame.latch.release(LatchMode::Sh);
        lsn
    }
}
