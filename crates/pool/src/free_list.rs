//! The list of free frames, and the threads that wait for one.

use furrow_io::sync::atomic::{AtomicUsize, Ordering};
use furrow_io::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;

/// Frames that hold no page.
#[derive(Debug)]
pub(crate) struct FreeList {
    frames: Mutex<VecDeque<u32>>,
    len: AtomicUsize,
    available: Condvar,
    /// Threads that wait for a frame.
    pub(crate) stalled: AtomicUsize,
}

impl FreeList {
    /// All `frames` frames of a new pool.
    pub(crate) fn new(frames: usize) -> FreeList {
        FreeList {
            frames: Mutex::new((0..frames as u32).collect()),
            len: AtomicUsize::new(frames),
            available: Condvar::new(),
            stalled: AtomicUsize::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Adds a frame that has no key; its latch is not held by the caller any more.
    pub(crate) fn push(&self, index: u32) {
        let mut frames = self.frames.lock();
        frames.push_back(index);
        self.len.store(frames.len(), Ordering::Relaxed);
        drop(frames);
        self.available.notify_one();
    }

    pub(crate) fn pop(&self) -> Option<u32> {
        let mut frames = self.frames.lock();
        let index = frames.pop_front();
        self.len.store(frames.len(), Ordering::Relaxed);
        index
    }

    pub(crate) fn sleep(&self, at_most: Duration) {
        let mut frames = self.frames.lock();
        if frames.is_empty() {
            self.available.wait_for(&mut frames, at_most);
        }
    }
}
