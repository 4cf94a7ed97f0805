//! Reads of a file beside its writers.
//!
//! A backup reads pages from the file, not from memory. If the same page is written at that moment, the
//! system may return a page of which one half is old and the other half is new, and without checksums nothing
//! would show it. So both sides enter the pages that they read or write, and each waits until the other has
//! left the pages that it needs.
//!
//! # Invariants
//! 1. While a read is entered, no page of its range is being written in place; while a write is entered, no
//!    page of it is being read ([`Fence::read`], [`Fence::write`]).
//! 2. A side that waits holds nothing: it enters only when no page of its own is taken. A side that has
//!    entered waits for the device alone. So there is no deadlock.
//!
//! Two writers of one page exclude each other by the page's frame, not here.

use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::{Condvar, Mutex};

/// Pages of a file: the first, and the first one behind.
pub(crate) type Span = (u32, u32);

#[derive(Debug, Default)]
struct Entered {
    next: u64,
    reads: Vec<(u64, Span)>,
    writes: Vec<(u64, Vec<Span>)>,
}

/// Reads and writes of a file's pages that bypass its frames.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    entered: Mutex<Entered>,
    left: Condvar,
}

fn overlap(a: Span, b: Span) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// A side that has entered; dropped, it leaves.
#[derive(Debug)]
pub(crate) struct Pass<'f> {
    fence: &'f Fence,
    id: u64,
}

impl Fence {
    /// Waits until no page of the span is being written, and keeps writers out of it.
    pub(crate) fn read(&self, span: Span) -> Pass<'_> {
        debug_assert!(span.0 <= span.1, "the first page before the last");
        let mut entered = self.entered.lock();
        let taken = |e: &Entered| {
            let mut spans = e.writes.iter().flat_map(|w| &w.1);
            spans.any(|&s| overlap(s, span))
        };
        while taken(&entered) && !mutated(Mutation::SkipReadFence) {
            self.left.wait(&mut entered);
        }
        let id = entered.next;
        entered.next += 1;
        entered.reads.push((id, span));
        Pass { fence: self, id }
    }

    /// Waits until no page of the spans is being read, and keeps readers out of them.
    pub(crate) fn write(&self, spans: Vec<Span>) -> Pass<'_> {
        debug_assert!(
            spans.iter().all(|span| span.0 < span.1),
            "every run has pages"
        );
        let mut entered = self.entered.lock();
        let taken = |e: &Entered| {
            let mut reads = e.reads.iter();
            reads.any(|r| spans.iter().any(|&s| overlap(s, r.1)))
        };
        while taken(&entered) {
            self.left.wait(&mut entered);
        }
        let id = entered.next;
        entered.next += 1;
        entered.writes.push((id, spans));
        Pass { fence: self, id }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut entered = self.fence.entered.lock();
        let before = entered.reads.len() + entered.writes.len();
        entered.reads.retain(|r| r.0 != self.id);
        entered.writes.retain(|w| w.0 != self.id);
        debug_assert_eq!(
            entered.reads.len() + entered.writes.len() + 1,
            before,
            "a pass is left once"
        );
        drop(entered);
        self.fence.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::sync::atomic::{AtomicU64, Ordering};
    use furrow_io::thread;

    #[test]
    fn a_read_never_sees_half_of_a_write_of_the_same_pages() {
        let fence = Fence::default();
        let cells: [AtomicU64; 4] = Default::default();
        let torn = AtomicU64::new(0);
        thread::scope(|scope| {
            let writer = |seed: u64| {
                let (fence, cells) = (&fence, &cells);
                move || {
                    for round in 0..2000 {
                        let _pass = fence.write(vec![(0, 2), (9, 10)]);
                        let value = seed + round;
                        cells[0].store(value, Ordering::SeqCst);
                        thread::yield_now();
                        cells[1].store(value, Ordering::SeqCst);
                    }
                }
            };
            thread::spawn_scoped(scope, "writer", writer(0)).unwrap();
            for _ in 0..2000 {
                let _pass = fence.read((1, 2));
                let seen = [&cells[0], &cells[1]].map(|c| c.load(Ordering::SeqCst));
                torn.fetch_add(u64::from(seen[0] != seen[1]), Ordering::SeqCst);
            }
        });
        assert_eq!(torn.into_inner(), 0);
    }

    #[test]
    fn readers_and_writers_of_other_pages_do_not_wait() {
        let fence = Fence::default();
        let _read = fence.read((8, 16));
        let _write = fence.write(vec![(0, 8), (16, 24)]);
        let _other = fence.read((8, 16));
        let _third = fence.read((24, 30));
    }
}
