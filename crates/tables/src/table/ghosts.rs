//! Which ghosts of a rowset wait for the cleanup.
//!
//! # Invariant
//! Every ghost of a rowset is always one of these:
//! 1. its key is in the queue, or held by a cleaner that puts it back unless it has seen, under the page's
//!    latch, that there is no ghost with that key;
//! 2. it lies where the sweep has not been yet;
//! 3. its transaction has just marked it, or its rollback has just brought it back, holds X on it, and is
//!    about to put its key in the queue.
//!
//! A queue that is full drops keys and requests a sweep in their place. Opening a rowset requests a sweep
//! too, because ghosts may be left from before. A row that takes the place of a ghost ends that ghost; the
//! rollback of that row brings it back and queues it again.

use furrow_access::Key;
use furrow_io::sync::Mutex;

/// Most ghosts that are noted one by one.
const MAX_NOTED: usize = 4096;

/// How far a search of the whole rowset has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sweep {
    /// Nothing is to be searched for.
    Done,
    /// It continues at this key of a tree; `None` is the first one.
    Key(Option<Key>),
    /// It continues at this page of a heap, counted in allocation order. A heap keeps its pages, and those
    /// that are added before this one have no ghosts from before the open.
    Page(usize),
}

#[derive(Debug)]
struct State {
    keys: Vec<Key>,
    sweep: Sweep,
    /// Keys were dropped since the sweep began: it has to begin again when it is through.
    again: bool,
}

/// The ghosts of a rowset that wait.
#[derive(Debug)]
pub(crate) struct GhostQueue {
    state: Mutex<State>,
    /// Where a sweep begins.
    start: Sweep,
}

impl GhostQueue {
    /// Of a rowset whose sweeps begin at `start`; `known` says that it has no ghosts yet.
    pub(crate) fn new(start: Sweep, known: bool) -> GhostQueue {
        let sweep = if known { Sweep::Done } else { start.clone() };
        GhostQueue {
            state: Mutex::new(State {
                keys: Vec::new(),
                sweep,
                again: false,
            }),
            start,
        }
    }

    /// Puts a ghost in the queue.
    pub(crate) fn note(&self, key: &Key) {
        let mut state = self.state.lock();
        if state.keys.len() < MAX_NOTED {
            state.keys.push(key.clone());
        } else if state.sweep == Sweep::Done {
            state.sweep = self.start.clone();
        } else {
            state.again = true;
        }
    }

    /// Hands out the queue; what is not dealt with comes back by [`GhostQueue::put_back`].
    pub(crate) fn take(&self) -> Vec<Key> {
        std::mem::take(&mut self.state.lock().keys)
    }

    /// Keys that may still be those of ghosts.
    pub(crate) fn put_back(&self, keys: Vec<Key>) {
        self.state.lock().keys.extend(keys);
    }

    /// Where to search, and how many more keys the queue can take; `None` when there is nothing to search for
    /// now.
    pub(crate) fn to_sweep(&self) -> Option<(Sweep, usize)> {
        let state = self.state.lock();
        let room = MAX_NOTED.saturating_sub(state.keys.len());
        (state.sweep != Sweep::Done && room > 0).then(|| (state.sweep.clone(), room))
    }

    /// Stores what a search found, and where the next one continues. Only one search runs at a time.
    pub(crate) fn swept(&self, found: Vec<Key>, next: Sweep) {
        let mut state = self.state.lock();
        state.keys.extend(found);
        state.sweep = match next {
            Sweep::Done if std::mem::take(&mut state.again) => self.start.clone(),
            next => next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key::of(&[Some(&n.to_le_bytes())])
    }

    #[test]
    fn a_full_queue_calls_for_a_sweep_and_for_another_when_one_is_under_way() {
        let queue = GhostQueue::new(Sweep::Key(None), true);
        (0..MAX_NOTED).for_each(|n| queue.note(&key(n)));
        assert_eq!(queue.to_sweep(), None);
        queue.note(&key(MAX_NOTED));
        assert_eq!(queue.to_sweep(), None, "there is no room for what it finds");
        assert_eq!(queue.take().len(), MAX_NOTED);
        assert_eq!(queue.to_sweep(), Some((Sweep::Key(None), MAX_NOTED)));
        (0..=MAX_NOTED).for_each(|n| queue.note(&key(n)));
        queue.take();
        queue.swept(vec![key(7)], Sweep::Done);
        assert_eq!(queue.take(), [key(7)]);
        assert_eq!(
            queue.to_sweep().map(|s| s.0),
            Some(Sweep::Key(None)),
            "one was let go behind the sweep's back"
        );
        queue.swept(Vec::new(), Sweep::Done);
        assert_eq!(queue.to_sweep(), None);
    }
}
