//! Frames for threads that latch many pages at a time.
//!
//! A load has the pages of one log record latched together, perhaps dozens. Some loads side by side could
//! hold all frames of a small pool, each waiting for one more. So a thread that latches many pages borrows
//! frames beforehand, with no latch held. Half of the pool can be lent, and a thread that finds too few left
//! waits until others give theirs back. A loan is a number; which frames it covers is decided when pages are
//! fetched.
//!
//! A thread that has a loan never waits for a thread that wants one, as long as it borrows once and waits for
//! no log space and no lock before it gives the loan back.

use crate::rank::assert_no_latches;
use furrow_io::sync::{Condvar, Mutex};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;

/// Frames that may be lent.
#[derive(Debug)]
pub(crate) struct Loans {
    most: usize,
    left: Mutex<usize>,
    back: Condvar,
}

impl Loans {
    /// Of a pool with so many frames.
    pub(crate) fn new(frames: usize) -> Loans {
        let most = frames / 2;
        Loans {
            most,
            left: Mutex::new(most),
            back: Condvar::new(),
        }
    }

    /// Lends so many frames, or as many as are lent at most, and waits for them (RESOURCE_SEMAPHORE).
    pub(crate) fn lend(&self, frames: usize) -> FrameLoan<'_> {
        assert_no_latches();
        let frames = frames.min(self.most);
        let mut left = self.left.lock();
        if *left < frames {
            let wait = task::wait(WaitType::ResourceSemaphore, Resource::None);
            while *left < frames {
                self.back.wait(&mut left);
            }
            wait.finish();
        }
        *left -= frames;
        debug_assert!(frames <= self.most, "no loan waits for ever");
        FrameLoan {
            loans: self,
            frames,
        }
    }
}

/// Frames lent to a thread, until this is dropped.
#[derive(Debug)]
pub struct FrameLoan<'p> {
    loans: &'p Loans,
    frames: usize,
}

impl Drop for FrameLoan<'_> {
    fn drop(&mut self) {
        {
            let mut left = self.loans.left.lock();
            *left += self.frames;
            debug_assert!(*left <= self.loans.most, "a loan is given back once");
        }
        self.loans.back.notify_all();
    }
}
