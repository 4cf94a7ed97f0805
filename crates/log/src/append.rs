//! Appending records, and closing and opening blocks.

use crate::block::{Reserved, State};
use crate::layout::LOG_BUFFERS;
use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES, BlockHeader, SECTOR};
use crate::log::{BlockMeta, Log, Roll};
use crate::sync::atomic::Ordering;
use crate::{LogError, Record, ReuseWait};
use furrow_format::Lsn;
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;

/// With this many closed blocks waiting, the background writer is woken, or the appender writes them itself.
const BACKLOG_BLOCKS: u64 = 8;
/// The same in a temporary log, where fewer and larger writes cost no commit anything.
const TEMPORARY_BACKLOG_BLOCKS: u64 = LOG_BUFFERS as u64 * 3 / 4;

impl Log {
    /// Appends a record; it is durable only after [`Log::flush_to`] its LSN.
    ///
    /// Never waits for space in the file; it waits only when all log buffers are full and being written
    /// (LOGBUFFER). Does no I/O otherwise, except in a log without a thread of its own.
    pub fn append(&self, record: &Record<'_>) -> Result<Lsn, LogError> {
        let len = record.len_bytes();
        if len > Log::MAX_RECORD_BYTES {
            return Err(LogError::RecordTooLarge(len));
        }
        let header = record.header();
        loop {
            let number = self.current.load(Ordering::Acquire);
            let block = self.block(number);
            if let Reserved::At(at, lsn) = block.reserve(number, len) {
                debug_assert!(lsn.slot() > 0, "slot 0 is the block's own LSN");
                block.fill(at, [&header, record.undo, record.redo]);
                return Ok(lsn);
            }
            self.check()?;
            self.roll_over(number, len)?;
        }
    }

    /// Closes block `number`, if it is still the current one, and opens the next with space for `len` bytes.
    fn roll_over(&self, number: u64, len: usize) -> Result<(), LogError> {
        let mut roll = self.roll.lock();
        if self.current.load(Ordering::Acquire) != number {
            return Ok(());
        }
        self.close_current(&mut roll);
        let next = number + 1;
        if next - self.durable_number.load(Ordering::Acquire) >= LOG_BUFFERS as u64 {
            drop(roll);
            let wait = task::wait(WaitType::LogBuffer, Resource::None);
            self.flush_block(next - LOG_BUFFERS as u64)?;
            wait.finish();
            return Ok(());
        }
        debug_assert!(
            next - roll.next_to_write <= LOG_BUFFERS as u64,
            "a buffer is used again when its block is durable"
        );
        self.open_next(&mut roll, BLOCK_HEADER_BYTES + len)?;
        let backlog = match self.config.temporary {
            true => TEMPORARY_BACKLOG_BLOCKS,
            false => BACKLOG_BLOCKS,
        };
        if next - roll.next_to_write > backlog {
            drop(roll);
            if self.config.background {
                self.wake_writer.wake();
            } else {
                self.write_backlog();
            }
        }
        Ok(())
    }

    /// Closes the current block and records its size. Closing it twice does no harm.
    pub(crate) fn close_current(&self, roll: &mut Roll) -> State {
        let number = self.current.load(Ordering::Acquire);
        let block = self.block(number);
        let state = block.close();
        debug_assert!(state.closed(), "no record enters a closed block");
        if roll.unopened {
            return state;
        }
        roll.unopened = true;
        let padded = match state.records() {
            0 => 0,
            _ => BlockHeader::padded(state.used(), self.config.sector_bytes as usize),
        };
        roll.next_offset += padded as u64;
        debug_assert!(
            padded <= BLOCK_MAX_BYTES && roll.next_offset <= roll.vlfs.current().size,
            "a block with its padding stays within its VLF"
        );
        if padded > 0 {
            roll.last_base = block.base();
        }
        let meta = roll.meta(number);
        meta.padded = padded;
        meta.done = padded == 0;
        state
    }

    /// Opens the block after the (closed) current one where a record of `need` bytes, header included, fits.
    pub(crate) fn open_next(&self, roll: &mut Roll, need: usize) -> Result<(), LogError> {
        let mut vlf = roll.vlfs.current();
        let need = need
            .next_multiple_of(self.config.sector_bytes as usize)
            .max(BLOCK_HEADER_BYTES);
        if roll.next_offset + need as u64 > vlf.size {
            let Some(next) = roll.vlfs.advance() else {
                return Err(LogError::Full(ReuseWait::Nothing));
            };
            vlf = next;
            roll.next_offset = 0;
        }
        let number = self.current.load(Ordering::Acquire) + 1;
        // A block is padded to the sector: a VLF whose size is not a multiple of it has a rest that takes no
        // records.
        let sector = self.config.sector_bytes as usize;
        let left = (vlf.size - roll.next_offset) as usize / sector * sector;
        let base = Lsn::new(vlf.seq, (roll.next_offset / SECTOR as u64) as u32, 0)
            .ok_or(LogError::Full(ReuseWait::Nothing))?;
        debug_assert!(base > roll.last_base, "LSNs grow");
        debug_assert!(left >= need, "a block does not span VLFs");
        let (prev, file_offset) = (roll.last_base, vlf.start + roll.next_offset);
        *roll.meta(number) = BlockMeta {
            prev,
            file_offset,
            padded: 0,
            done: false,
        };
        self.block(number)
            .reopen(number, base, left.min(BLOCK_MAX_BYTES));
        roll.unopened = false;
        self.current.store(number, Ordering::Release);
        self.count_free(roll);
        Ok(())
    }

    /// Recomputes the bytes that later blocks can take.
    pub(crate) fn count_free(&self, roll: &Roll) {
        let here = roll.vlfs.current().size.saturating_sub(roll.next_offset);
        let free = (here + roll.vlfs.free_bytes()) as i64;
        self.free_bytes.store(free, Ordering::Release);
        self.alarm.look(free);
    }
}

impl Roll {
    pub(crate) fn meta(&mut self, number: u64) -> &mut BlockMeta {
        let at = (number % LOG_BUFFERS as u64) as usize;
        &mut self.metas[at]
    }
}
