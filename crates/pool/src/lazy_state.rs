//! Requests to the lazy writer, and its failures and counts.

use crate::error::PoolError;
use crate::key::PageKey;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::sync::{Condvar, Mutex};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::time::Duration;

/// How the lazy writer is doing.
#[derive(Debug, Default)]
pub(crate) struct LazyState {
    wanted: Mutex<bool>,
    wake: Condvar,
    stop: AtomicBool,
    failures: AtomicU64,
    last_failure: Mutex<Option<PoolError>>,
    stalls: AtomicU64,
    pub(crate) pages_written: AtomicU64,
    /// Pages to write soon, because a thread is going to force them.
    asked: Mutex<Vec<PageKey>>,
}

impl LazyState {
    /// Requests free frames.
    pub(crate) fn kick(&self) {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            *wanted = true;
            self.wake.notify_one();
        }
    }

    /// Requests pages to be written.
    pub(crate) fn ask_for(&self, pages: impl Iterator<Item = PageKey>) {
        self.asked.lock().extend(pages);
        self.kick();
    }

    /// The pages requested since the last call.
    pub(crate) fn take_asked(&self) -> Vec<PageKey> {
        std::mem::take(&mut *self.asked.lock())
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.kick();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn sleep(&self, at_most: Duration) {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            let _wait = task::wait(WaitType::LazyWriterSleep, Resource::None);
            self.wake.wait_for(&mut wanted, at_most);
        }
        *wanted = false;
    }

    /// Number of failed writes so far.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// The last failed write, if one failed after `seen` had.
    pub(crate) fn failure_since(&self, seen: u64) -> Option<PoolError> {
        if self.failures() == seen {
            None
        } else {
            self.last_failure.lock().clone()
        }
    }

    pub(crate) fn note_failure(&self, error: &PoolError) {
        *self.last_failure.lock() = Some(error.clone());
        self.failures.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn count_stall(&self) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
    }

    /// Threads that found no free frame.
    pub(crate) fn stalls(&self) -> u64 {
        self.stalls.load(Ordering::Relaxed)
    }

    /// Pages written to free their frames.
    pub(crate) fn pages_written(&self) -> u64 {
        self.pages_written.load(Ordering::Relaxed)
    }
}
