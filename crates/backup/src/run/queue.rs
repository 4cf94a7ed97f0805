//! Queues between the threads of a backup or a restore. Their length is bounded by the buffers there are.

use furrow_io::sync::{Condvar, Mutex};
use std::collections::VecDeque;

#[derive(Debug)]
struct Inside<T> {
    items: VecDeque<T>,
    closed: bool,
    broken: bool,
}

/// A queue that several threads fill and empty.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    inside: Mutex<Inside<T>>,
    changed: Condvar,
}

impl<T> Queue<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> Queue<T> {
        Queue {
            inside: Mutex::new(Inside {
                items: items.into_iter().collect(),
                closed: false,
                broken: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Puts an item in.
    pub(crate) fn push(&self, item: T) {
        self.inside.lock().items.push_back(item);
        self.changed.notify_all();
    }

    /// Takes an item out if one is there.
    pub(crate) fn try_pop(&self) -> Option<T> {
        let mut inside = self.inside.lock();
        match inside.broken {
            true => None,
            false => inside.items.pop_front(),
        }
    }

    /// Waits for an item; `None` when the queue was closed and is empty, or was broken off.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut inside = self.inside.lock();
        loop {
            if inside.broken {
                return None;
            }
            if let Some(item) = inside.items.pop_front() {
                return Some(item);
            }
            if inside.closed {
                return None;
            }
            self.changed.wait(&mut inside);
        }
    }

    /// Waits until so many items are in it; `false` when it was broken off.
    pub(crate) fn wait_for(&self, items: usize) -> bool {
        let mut inside = self.inside.lock();
        while inside.items.len() < items && !inside.broken {
            self.changed.wait(&mut inside);
        }
        !inside.broken
    }

    /// No item comes any more.
    pub(crate) fn close(&self) {
        self.inside.lock().closed = true;
        self.changed.notify_all();
    }

    /// Ends the queue at once: no thread gets another item.
    pub(crate) fn break_off(&self) {
        self.inside.lock().broken = true;
        self.changed.notify_all();
    }
}
