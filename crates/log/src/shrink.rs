//! A log file that becomes smaller: VLFs without active log are removed from its end.
//!
//! The order of the steps, so that a crash at any moment does no harm:
//! 1. The VLFs leave memory: nothing is written there any more.
//! 2. The header no longer has them, durably.
//! 3. The file becomes shorter. Until then it is only longer than its header says.

use crate::layout::LOG_BUFFERS;
use crate::layout::{BLOCK_HEADER_BYTES, FIRST_VLF_OFFSET};
use crate::log::{Log, Roll};
use crate::space::MARGIN_BYTES;
use crate::sync::atomic::Ordering;
use crate::vlf::Vlf;
use crate::{LogError, MIN_LOG_BYTES};
use furrow_io::Fill;

/// A log has at least so many VLFs: one can be reused while the other is active.
const LEAST_VLFS: usize = 2;

/// Why a log file is larger than requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is not.
    Nothing,
    /// The VLF at the end of the file is part of the active log (message 9008).
    InUse,
    /// A log has two VLFs at least (message 9006).
    FewVlfs,
    /// The last VLF begins before the size asked for (message 9007).
    Larger,
    /// Transactions were promised the space (message 9009).
    Promised,
}

impl Log {
    /// Takes unused VLFs from the end of the file, as long as it does not become smaller than `target_bytes`.
    /// Returns why the file is larger, if it is.
    pub fn cut(&self, target_bytes: u64) -> Result<Kept, LogError> {
        let _turn = self.size_turn.lock();
        let (gone, kept) = self.take_out(target_bytes);
        let count = gone.len() as u32;
        if count == 0 {
            return Ok(kept);
        }
        self.rewrite_directory(|directory| {
            directory.pop(count);
            Ok(())
        })
        .inspect_err(|_| {
            let mut roll = self.roll.lock();
            roll.vlfs.put_back(gone);
        })?;
        let bytes = self.roll.lock().directory.file_bytes();
        debug_assert!(
            bytes >= MIN_LOG_BYTES.min(target_bytes),
            "a log keeps its least size"
        );
        self.file.resize(bytes, Fill::Zero)?;
        self.counters.shrinks.fetch_add(1, Ordering::Relaxed);
        Ok(kept)
    }

    /// Takes the VLFs that are to go out of the table.
    fn take_out(&self, target_bytes: u64) -> (Vec<Vlf>, Kept) {
        let mut roll = self.roll.lock();
        let mut left = roll.vlfs.all().len();
        let mut free = self.free_bytes.load(Ordering::Acquire);
        let mut kept = Kept::Nothing;
        while let Some(&last) = left.checked_sub(1).and_then(|at| roll.vlfs.all().get(at)) {
            kept = self.why_stays(&roll, (left, last), target_bytes);
            if kept != Kept::Nothing {
                // A file of the requested size needs no reason.
                if last.start + last.size == target_bytes {
                    kept = Kept::Nothing;
                }
                break;
            }
            // Later promises are granted from the smaller size; earlier ones are counted below.
            let less = free - last.size as i64;
            self.free_bytes.store(less, Ordering::SeqCst);
            let promised = self.promised_bytes.fetch_add(0, Ordering::SeqCst);
            if promised + 2 * MARGIN_BYTES > less {
                kept = Kept::Promised;
                break;
            }
            free = less;
            left -= 1;
        }
        let gone = roll.vlfs.cut(left);
        debug_assert!(
            roll.vlfs.all().len() > roll.vlfs.current_place(),
            "the VLF being written stays"
        );
        self.count_free(&roll);
        (gone, kept)
    }

    /// Why the last of `left` VLFs stays.
    fn why_stays(&self, roll: &Roll, (left, last): (usize, Vlf), target_bytes: u64) -> Kept {
        if last.start < target_bytes.max(MIN_LOG_BYTES) {
            Kept::Larger
        } else if left <= LEAST_VLFS {
            Kept::FewVlfs
        } else if roll.vlfs.is_active(&last) || roll.vlfs.current_place() + 1 == left {
            Kept::InUse
        } else {
            Kept::Nothing
        }
    }

    /// If the VLF being written ends behind `target_bytes`, and one before it is free: continues the log
    /// there, and leaves the rest unused. Returns whether it did. After the next checkpoint the VLFs behind
    /// can be removed.
    pub fn turn_back(&self, target_bytes: u64) -> Result<bool, LogError> {
        let _turn = self.size_turn.lock();
        self.write_all()?;
        let mut roll = self.roll.lock();
        let current = roll.vlfs.current();
        let at = roll.vlfs.current_place();
        let before = roll.vlfs.all().get(..at).unwrap_or_default();
        let free_before = before.iter().any(|vlf| !roll.vlfs.is_active(vlf));
        let behind = roll.vlfs.all().get(at + 1..).unwrap_or_default();
        let free_behind = behind.iter().any(|vlf| !roll.vlfs.is_active(vlf));
        let in_the_way = current.start >= target_bytes.max(FIRST_VLF_OFFSET + 1);
        if !in_the_way || !free_before || free_behind {
            return Ok(false);
        }
        let number = self.current.load(Ordering::Acquire);
        // A VLF without a block cannot be left: a reader of the log goes from each VLF to the next.
        if roll.next_offset == 0 && self.block(number).state().records() == 0 {
            return Ok(false);
        }
        let buffers_full =
            number + 1 - self.durable_number.load(Ordering::Acquire) >= LOG_BUFFERS as u64;
        let rest = current.size.saturating_sub(roll.next_offset) as i64;
        let free = self.free_bytes.load(Ordering::Acquire) - rest;
        if buffers_full || self.promised_bytes.load(Ordering::Acquire) + 2 * MARGIN_BYTES > free {
            return Ok(false);
        }
        self.close_current(&mut roll);
        roll.next_offset = current.size;
        self.open_next(&mut roll, BLOCK_HEADER_BYTES)?;
        Ok(true)
    }
}
