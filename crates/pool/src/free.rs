//! Free frames, and how to get one.

use crate::core::Core;
use crate::error::PoolError;
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::Moment;
use furrow_observe::counters::Counter;
use std::time::Duration;

/// How long a thread without a frame sleeps before it searches again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Frames a thread looks at by itself before it leaves the search to the lazy writer.
const OWN_STEPS: usize = 512;

/// What the clock hand found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The frame is now the caller's: no page, latch held EX.
    Taken,
    /// Changed pages must be written first.
    Dirty,
    /// In use, used lately, free already or being written.
    Passed,
}

impl Core {
    /// A frame without a page, its latch held EX.
    pub(crate) fn take_frame(&self) -> Result<u32, PoolError> {
        if let Some(index) = self.pop_free() {
            if self.free.len() < self.config.low_water() {
                self.want_frames();
            }
            return Ok(index);
        }
        self.want_frames();
        match self.pop_free().or_else(|| self.sweep_one(OWN_STEPS)) {
            Some(index) => Ok(index),
            None => self.stall(),
        }
    }

    /// A free frame without waiting. For read-ahead, which must not stall.
    pub(crate) fn take_spare_frame(&self) -> Option<u32> {
        if self.free.stalled.load(Ordering::Relaxed) > 0 {
            return None;
        }
        self.pop_free().or_else(|| self.sweep_one(OWN_STEPS))
    }

    fn pop_free(&self) -> Option<u32> {
        // A thread with an outdated hint may still hold the frame's latch, or the frame has an error for one
        // that waited.
        for _ in 0..self.free.len() {
            let index = self.free.pop()?;
            let frame = self.frame(index);
            if frame.latch.claim() {
                debug_assert!(frame.key().is_none(), "a free frame holds no page");
                frame.reset();
                return Some(index);
            }
            self.free.push(index);
        }
        None
    }

    /// Turns the clock hand by at most `steps` until it finds a clean page that was not used since the last
    /// turn.
    fn sweep_one(&self, steps: usize) -> Option<u32> {
        (0..steps.min(self.frames.len() * 2)).find_map(|_| {
            let index = self.turn_hand();
            (self.look(index, true) == Look::Taken).then_some(index)
        })
    }

    pub(crate) fn turn_hand(&self) -> u32 {
        self.hand.step(self.frames.len()) as u32
    }

    /// Takes the frame if its page may go; `spare` gives pages used lately their second chance.
    pub(crate) fn look(&self, index: u32, spare: bool) -> Look {
        let frame = self.frame(index);
        if frame.key_word() == 0 || frame.latch.is_busy() {
            return Look::Passed;
        }
        if spare && (frame.latch.take_reference() | self.unwatch_idle(index)) {
            return Look::Passed;
        }
        if frame.is_dirty() {
            return Look::Dirty;
        }
        if !frame.is_clean() || !frame.latch.claim() {
            return Look::Passed;
        }
        // With the latch held EX no other thread can change the page or begin to write it.
        let Some(key) = frame.key().filter(|_| frame.is_clean()) else {
            frame.latch.release_loaded(false);
            return Look::Passed;
        };
        debug_assert!(
            !frame.is_dirty() && !frame.is_writing(),
            "only a clean page leaves its frame"
        );
        self.leave(index, key);
        frame.reset();
        Look::Taken
    }

    #[cold]
    fn stall(&self) -> Result<u32, PoolError> {
        self.lazy.count_stall();
        self.counters.add(Counter::FreeListStalls, 1);
        self.free.stalled.fetch_add(1, Ordering::Relaxed);
        let result = self.wait_for_frame();
        let stalled = self.free.stalled.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(stalled > 0, "a stall ends once");
        result
    }

    fn wait_for_frame(&self) -> Result<u32, PoolError> {
        let start = Moment::now();
        let seen = self.lazy.failures();
        loop {
            if let Some(index) = self.pop_free().or_else(|| self.sweep_one(usize::MAX)) {
                return Ok(index);
            }
            // Changed pages that cannot be written fill the pool: return the reason.
            if let Some(error) = self.lazy.failure_since(seen) {
                return Err(error);
            }
            let waited = start.elapsed();
            if waited >= self.config.buffer_wait {
                return Err(PoolError::NoBuffer {
                    frames: self.frames.len(),
                    waited,
                });
            }
            self.want_frames();
            self.free.sleep(LOOK_AGAIN);
        }
    }
}
