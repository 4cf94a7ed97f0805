//! The lazy writer: keeps some frames free, so that threads that miss a page need not wait for one.
//!
//! It sleeps until the free list falls below its low-water mark, or for a second. Then it turns the clock
//! hand: clean pages not used since the hand last passed are freed; changed ones are gathered, written in one
//! batch per file and freed. It never waits for a latch, so it makes progress whatever other threads hold. It
//! needs the log, and the log never needs the pool. After that it writes the pages that [`Core::write_soon`]
//! was called with.
//!
//! A pool without threads of its own ([`crate::PoolConfig::background`]) does the same in the thread that
//! takes one of the last free frames.

use crate::core::Core;
use crate::free::Look;
use crate::write::Busy;
use furrow_io::sync::atomic::Ordering;
use furrow_observe::counters::Counter;
use std::time::Duration;

const NAP: Duration = Duration::from_secs(1);
/// The nap while the free list is short and no frame can be freed at the moment.
const SHORT_NAP: Duration = Duration::from_millis(2);

/// The body of the lazy writer's thread.
pub(crate) fn run(core: &Core) {
    let mut nap = NAP;
    while !core.lazy.stopped() {
        core.publish();
        core.lazy.sleep(nap);
        core.make_room();
        core.write_asked();
        let short = core.free.len() < core.config.low_water();
        nap = if short { SHORT_NAP } else { NAP };
    }
}

impl Core {
    /// Ensures that there will be free frames.
    pub(crate) fn want_frames(&self) {
        if self.config.background {
            self.lazy.kick();
        } else {
            self.make_room();
            self.publish();
        }
    }

    /// Turns the clock hand until enough frames are free, or a whole turn has freed none.
    fn make_room(&self) {
        self.turn_until_enough();
        if self.free.len() < self.config.low_water() && self.flush_short_logs() {
            self.turn_until_enough();
        }
    }

    fn turn_until_enough(&self) {
        while !self.lazy.stopped()
            && self.free.len() < self.config.high_water()
            && self.lazy_pass() > 0
        {}
    }

    /// Sets the gauges that follow from other counters.
    pub(crate) fn publish(&self) {
        let counters = &self.counters;
        let (lookups, reads) = (
            counters.value(Counter::PageLookups),
            counters.value(Counter::PageReads),
        );
        let ahead = counters.value(Counter::ReadaheadPages);
        counters.set(Counter::BufferCacheHitRatioBase, lookups);
        counters.set(
            Counter::BufferCacheHitRatio,
            (lookups - (reads - ahead)).max(0),
        );
        counters.set(
            Counter::DatabasePages,
            (self.frames.len() - self.free.len()) as i64,
        );
        let life_s = i64::try_from(self.hand.turn_s()).unwrap_or(i64::MAX);
        counters.set(Counter::PageLifeExpectancy, life_s);
    }

    /// One turn of the clock hand at most; the number of frames freed.
    fn lazy_pass(&self) -> usize {
        let wanted = self.config.high_water().saturating_sub(self.free.len());
        let mut freed = 0;
        let mut dirty = Vec::new();
        for _ in 0..self.frames.len() {
            if freed + dirty.len() >= wanted || dirty.len() >= self.config.batch_pages as usize {
                break;
            }
            debug_assert!(
                dirty.len() < self.config.batch_pages as usize,
                "no more than a batch at a time"
            );
            let index = self.turn_hand();
            match self.look(index, true) {
                Look::Taken => {
                    self.free_taken(index);
                    freed += 1;
                }
                Look::Dirty => dirty.push(index),
                Look::Passed => {}
            }
        }
        freed + self.write_and_free(dirty)
    }

    fn write_and_free(&self, dirty: Vec<u32>) -> usize {
        if dirty.is_empty() {
            return 0;
        }
        // The file stores a failure, and a thread that waits for a free frame meanwhile returns it.
        let outcome = self.write_pages(&dirty, Busy::Skip, None);
        self.lazy
            .pages_written
            .fetch_add(outcome.totals.pages, Ordering::Relaxed);
        self.counters.add(Counter::LazyWrites, outcome.totals.pages);
        let taken = dirty
            .into_iter()
            .filter(|&index| self.look(index, true) == Look::Taken);
        taken.map(|index| self.free_taken(index)).count()
    }

    fn free_taken(&self, index: u32) {
        debug_assert!(
            self.frame(index).key().is_none(),
            "a frame is freed when its page has left"
        );
        self.frame(index).latch.release_loaded(true);
        self.free.push(index);
    }
}
