//! Holding a checkpoint back to a rate.

use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::time::{self, Moment};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::time::Duration;

/// A rate of pages that several writers share.
#[derive(Debug)]
pub(crate) struct Pace {
    pages_per_second: u32,
    start: Moment,
    pages: AtomicU64,
}

impl Pace {
    pub(crate) fn new(pages_per_second: u32) -> Pace {
        let start = Moment::now();
        Pace {
            pages_per_second: pages_per_second.max(1),
            start,
            pages: AtomicU64::new(0),
        }
    }

    /// Counts `pages` as written and sleeps while the writers are ahead of the rate.
    pub(crate) fn keep(&self, pages: u64) {
        let all = self.pages.fetch_add(pages, Ordering::Relaxed) + pages;
        let due = Duration::from_secs_f64(all as f64 / f64::from(self.pages_per_second));
        let ahead = due.saturating_sub(self.start.elapsed());
        if !ahead.is_zero() {
            let _wait = task::wait(WaitType::SleepBPoolFlush, Resource::None);
            time::sleep(ahead);
        }
    }
}
