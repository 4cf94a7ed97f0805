//! Making the log durable: group commit.
//!
//! A session that needs its block durable becomes a *leader* when a write slot is free. It closes the open
//! block, takes every block that no other leader has taken, writes them with one durable write and wakes the
//! sessions that wait for them. Otherwise it waits on its block; a leader that ends wakes one of the sessions
//! behind it to be the next. Several writes may be under way; a block counts as durable only when all before
//! it are.

use crate::LogError;
use crate::layout::{BLOCK_HEADER_BYTES, BlockHeader, SECTOR};
use crate::log::{BlockMeta, Log, Roll};
use crate::sync::atomic::Ordering;
use crate::sync::{futex, pause};
use furrow_format::Lsn;
use furrow_io::WriteRun;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::time::Moment;
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::io::IoSlice;

/// Most blocks one write takes.
const BLOCKS_PER_WRITE: usize = 17;

impl Log {
    /// Returns once the record at `lsn`, and all before it, are durable. Returns an error for an LSN that was
    /// not appended yet: only a damaged page has such an LSN. A temporary log has nothing to make durable and
    /// writes nothing.
    pub fn flush_to(&self, lsn: Lsn) -> Result<(), LogError> {
        if self.config.temporary {
            return self.check();
        }
        self.write_to(lsn)
    }

    /// Makes all records appended so far durable; nothing in a temporary log.
    pub fn flush_all(&self) -> Result<(), LogError> {
        if self.config.temporary {
            return self.check();
        }
        self.write_all()
    }

    /// Writes the record at `lsn`, and all before it, to the file, where
    /// [`RecordReader`](crate::RecordReader) and [`Log::truncate_before`] need them. That makes them
    /// durable, except in a temporary log.
    pub(crate) fn write_to(&self, lsn: Lsn) -> Result<(), LogError> {
        if lsn < self.durable() {
            return Ok(());
        }
        if lsn >= self.tail() {
            return Err(LogError::Unwritten(lsn));
        }
        let Some(number) = self.number_of(lsn) else {
            return self.check();
        };
        let wait = task::wait(WaitType::WriteLog, Resource::None);
        self.counters.flush_waits.fetch_add(1, Ordering::Relaxed);
        let woken_at = self.flush_block(number)?;
        debug_assert!(lsn < self.durable(), "a record of a written block");
        let waited_us = match woken_at {
            Some(at) => wait.finish_signalled(at),
            None => wait.finish(),
        };
        let all = &self.counters.flush_wait_us;
        all.fetch_add(waited_us, Ordering::Relaxed);
        Ok(())
    }

    /// Writes all records appended so far, as [`Log::write_to`] does.
    pub fn write_all(&self) -> Result<(), LogError> {
        let tail = self.tail();
        // In an empty block the last record is one of the block before.
        let back = if tail.slot() > 1 { 1 } else { 2 };
        self.write_to(Lsn(tail.0.saturating_sub(back)))
    }

    /// The block that holds `lsn`; `None` when it is durable already.
    fn number_of(&self, lsn: Lsn) -> Option<u64> {
        let current = self.current.load(Ordering::Acquire);
        let durable = self.durable_number.load(Ordering::Acquire);
        let base = lsn.0 & !u64::from(Lsn::MAX_SLOT);
        let number = (durable..=current)
            .rev()
            .find(|&n| self.block(n).base().0 <= base);
        (lsn >= self.durable()).then_some(number.unwrap_or(current))
    }

    /// Returns once block `number` is durable. If it waited for the write of another session, returns when
    /// that write ended.
    pub(crate) fn flush_block(&self, number: u64) -> Result<Option<Moment>, LogError> {
        let mut woken_at = None;
        while self.durable_number.load(Ordering::SeqCst) <= number {
            self.check()?;
            if self.take_slot() {
                let written = self.write_pending(number);
                let writes = self.in_flight.fetch_sub(1, Ordering::SeqCst);
                debug_assert!(writes > 0, "a slot is given back once");
                let wrote = written.inspect_err(|e| self.fail(e))?;
                self.hand_over();
                woken_at = None;
                if wrote {
                    continue;
                }
            }
            let block = self.block(number);
            block.waiters.fetch_add(1, Ordering::SeqCst);
            let seen = block.event.load(Ordering::SeqCst);
            if self.must_wait(number) {
                futex::wait(&block.event, seen);
                woken_at = Some(Moment::from_ns(block.woken_at.load(Ordering::Relaxed)));
            }
            block.waiters.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(woken_at)
    }

    /// Whether to wait: the block is not durable, and this session cannot lead a write for it.
    fn must_wait(&self, number: u64) -> bool {
        self.durable_number.load(Ordering::SeqCst) <= number
            && !self.failed.load(Ordering::SeqCst)
            && (self.in_flight.load(Ordering::SeqCst) >= self.config.writes_in_flight
                || self.is_taken(number))
    }

    fn is_taken(&self, number: u64) -> bool {
        self.roll.lock().next_to_write > number
    }

    fn take_slot(&self) -> bool {
        let limit = self.config.writes_in_flight;
        let more = |n| (n < limit).then_some(n + 1);
        self.in_flight
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .is_ok()
    }

    /// Wakes one session that waits for a block that no leader has taken, to lead the next write.
    fn hand_over(&self) {
        let first = self.roll.lock().next_to_write;
        for number in first..=self.current.load(Ordering::SeqCst) {
            let block = self.block(number);
            if block.waiters.load(Ordering::SeqCst) > 0 {
                // Before the event: a session that sees the event raised reads the time of this waking.
                block
                    .woken_at
                    .store(Moment::now().as_ns(), Ordering::Relaxed);
                block.event.fetch_add(1, Ordering::SeqCst);
                futex::wake_one(&block.event);
                return;
            }
        }
    }

    /// Writes what is pending up to block `wanted` and what has gathered behind it. `false` when another
    /// leader had taken that block already.
    fn write_pending(&self, wanted: u64) -> Result<bool, LogError> {
        let (durable, first, metas) = {
            let mut roll = self.roll.lock();
            if roll.next_to_write > wanted {
                return Ok(false);
            }
            let (first, metas) = self.take_blocks(&mut roll);
            (roll.durable_base, first, metas)
        };
        self.write_blocks(durable, first, &metas)?;
        let mut roll = self.roll.lock();
        for number in first..first + metas.len() as u64 {
            roll.meta(number).done = true;
        }
        self.publish_durable(&mut roll);
        Ok(true)
    }

    /// Takes every closed block, closing the open one when it has records.
    fn take_blocks(&self, roll: &mut Roll) -> (u64, Vec<BlockMeta>) {
        let first = roll.next_to_write;
        let current = self.current.load(Ordering::Acquire);
        let mut end = current;
        let open_is_last = current - first < BLOCKS_PER_WRITE as u64;
        if open_is_last && (roll.unopened || self.block(current).state().records() > 0) {
            self.close_current(roll);
            end = current + 1;
            let room = end - self.durable_number.load(Ordering::Acquire)
                < crate::layout::LOG_BUFFERS as u64;
            // Without a free buffer, or in a full log, the next appender opens the block, or gets the error.
            if room {
                let _ = self.open_next(roll, BLOCK_HEADER_BYTES);
            }
        }
        end = end.min(first + BLOCKS_PER_WRITE as u64);
        debug_assert!(
            first <= end && end <= current + 1,
            "blocks are taken in order"
        );
        roll.next_to_write = end;
        (first, (first..end).map(|n| *roll.meta(n)).collect())
    }

    /// Seals the blocks and writes them durably, neighbours in the file as one run. `durable`: the newest
    /// block that is durable already.
    fn write_blocks(&self, durable: Lsn, first: u64, metas: &[BlockMeta]) -> Result<(), LogError> {
        debug_assert!(metas.len() <= BLOCKS_PER_WRITE, "a write has its limit");
        let mut pieces: Vec<(u64, IoSlice<'_>)> = Vec::with_capacity(metas.len());
        for (number, meta) in (first..).zip(metas).filter(|(_, meta)| meta.padded > 0) {
            pieces.push((
                meta.file_offset,
                IoSlice::new(self.seal(number, meta, durable)),
            ));
        }
        let offsets: Vec<u64> = pieces.iter().map(|p| p.0).collect();
        let slices: Vec<IoSlice<'_>> = pieces.into_iter().map(|p| p.1).collect();
        let mut runs: Vec<WriteRun<'_, '_>> = Vec::new();
        let mut start = 0;
        for at in 1..=slices.len() {
            let joined =
                at < slices.len() && offsets[at] == offsets[at - 1] + slices[at - 1].len() as u64;
            if !joined {
                runs.push(WriteRun {
                    offset: offsets[start],
                    bufs: &slices[start..at],
                });
                start = at;
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        debug_assert!(
            slices.iter().all(|s| s.len().is_multiple_of(SECTOR))
                && offsets.iter().all(|at| at.is_multiple_of(SECTOR as u64)),
            "blocks are whole sectors: no acknowledged byte is written again"
        );
        let bytes: usize = slices.iter().map(|s| s.len()).sum();
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        self.counters
            .bytes_flushed
            .fetch_add(bytes as u64, Ordering::Relaxed);
        if mutated(Mutation::SkipLogSync) {
            return Ok(self.file.write(&runs)?);
        }
        let begun = Moment::now();
        let written = match self.config.temporary {
            true => self.file.write(&runs),
            false => self.file.write_durable(&runs),
        };
        self.counters
            .write_us
            .fetch_add(begun.elapsed_us(), Ordering::Relaxed);
        if mutated(Mutation::IgnoreLogFailure) {
            return Ok(());
        }
        Ok(written?)
    }

    /// Waits until all records of a closed block are copied in, then writes its header and padding.
    fn seal(&self, number: u64, meta: &BlockMeta, durable: Lsn) -> &[u8] {
        let block = self.block(number);
        let state = block.state();
        debug_assert!(
            state.closed() && state.used() <= meta.padded,
            "a block that is written takes no more records"
        );
        let mut spins = 0;
        while !block.is_filled(state) {
            pause(&mut spins);
        }
        #[expect(unsafe_code, reason = "the protocol of `Block`")]
        // SAFETY: this thread alone took the block (`next_to_write` moved past it under the lock),
        // it is closed and filled.
        let bytes = unsafe { block.bytes_mut() };
        bytes[state.used()..meta.padded].fill(0);
        let header = BlockHeader {
            used: state.used() as u32,
            incarnation: self.incarnation,
            records: state.records(),
            lsn: block.base(),
            prev: meta.prev,
            log_id: self.log_id,
            durable,
        };
        header.seal(bytes);
        debug_assert!(
            BlockHeader::read(bytes, self.log_id).is_some_and(|read| read.lsn == header.lsn),
            "the header of a written block reads back"
        );
        &bytes[..meta.padded]
    }

    /// Moves the durable end over all finished blocks and wakes the sessions that wait for them.
    pub(crate) fn publish_durable(&self, roll: &mut Roll) {
        let before = self.durable_number.load(Ordering::Relaxed);
        let current = self.current.load(Ordering::Acquire);
        let mut number = before;
        while number < roll.next_to_write && number <= current {
            let meta = *roll.meta(number);
            if !meta.done {
                break;
            }
            if meta.padded > 0 {
                roll.durable_base = self.block(number).base();
            }
            number += 1;
        }
        debug_assert!(
            before <= number && number <= roll.next_to_write,
            "the durable end moves forward, over blocks that were written"
        );
        let lsn = match number <= current {
            true => self.block(number).base(),
            // The last block is closed, durable, and the next not open: all that exists is durable.
            false => Lsn(self.block(current).base().0 + u64::from(Lsn::MAX_SLOT)),
        };
        self.durable_lsn.store(
            lsn.0.max(self.durable_lsn.load(Ordering::Relaxed)),
            Ordering::SeqCst,
        );
        let now = Moment::now().as_ns();
        for n in before..number {
            // Set before any session can see that the block is durable, and also where none sleeps yet: a
            // session that finds the event raised would otherwise read the time of an earlier use of the
            // buffer.
            self.block(n).woken_at.store(now, Ordering::Relaxed);
        }
        self.durable_number.store(number, Ordering::SeqCst);
        for n in before..number {
            let block = self.block(n);
            block.event.fetch_add(1, Ordering::SeqCst);
            if block.waiters.load(Ordering::SeqCst) > 0 {
                futex::wake_all(&block.event);
            }
        }
    }
}
