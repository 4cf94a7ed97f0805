//! Reading ahead: while a worker judges a run of pages, a thread of its own reads the next one.
//!
//! A run is taken from the files in order, read into a buffer, and passed to the worker; the worker gives the
//! buffer back. With two buffers neither the device nor the worker waits for the other where both are equally
//! fast. Runs arrive in the order in which they were taken.

use super::worker::{RUN_PAGES, Shared};
use crate::maps::page_at;
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE, PageBuf};
use furrow_io::AlignedBuf;
use furrow_io::sync::{Condvar, Mutex};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Runs of a worker: one is judged while the other is filled.
const RUNS: usize = 2;

/// Neighbouring extents of a run, read with one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its first page, counted from the first of the run.
    pub(super) at: u32,
    pub(super) count: u32,
    /// Whether the call succeeded.
    pub(super) is_read: bool,
}

/// Pages that are taken together.
pub(super) struct Run {
    pub(super) file: FileId,
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) parts: SmallVec<[Part; 4]>,
    buffer: AlignedBuf,
}

/// Where a worker is: runs of its own file first, then of the others.
pub(super) struct Turns {
    number: usize,
    turn: usize,
}

impl Turns {
    pub(super) fn new(number: usize) -> Turns {
        Turns { number, turn: 0 }
    }

    fn next(&mut self, shared: &Shared<'_>) -> Option<(FileId, u32, u32)> {
        let files = shared.files.len();
        while self.turn < files {
            if let Some(run) = shared.take((self.number + self.turn) % files) {
                return Some(run);
            }
            self.turn += 1;
        }
        None
    }
}

impl Run {
    pub(super) fn new() -> Run {
        Run {
            file: FileId(0),
            first: 0,
            count: 0,
            parts: SmallVec::new(),
            buffer: AlignedBuf::new(RUN_PAGES as usize * PAGE_SIZE),
        }
    }

    /// The pages; those outside of the parts hold anything.
    pub(super) fn pages(&mut self) -> &mut [PageBuf] {
        self.buffer.as_chunks_mut::<PAGE_SIZE>().0
    }

    /// Takes the next run, and reads the extents of it that are wanted. `false`: there are no more, or the
    /// check ends.
    pub(super) fn fill(&mut self, turns: &mut Turns, shared: &Shared<'_>) -> bool {
        if shared.is_stopped() {
            return false;
        }
        let Some((file, first, count)) = turns.next(shared) else {
            return false;
        };
        (self.file, self.first, self.count) = (file, first, count);
        self.parts.clear();
        let is_wanted = |at: u32| shared.is_wanted(page_at(file, first + at));
        let mut at = 0;
        while at < count {
            let wanted = is_wanted(at);
            let mut next = to_extent(first, at);
            while next < count && is_wanted(next) == wanted {
                next = to_extent(first, next);
            }
            let next = next.min(count);
            if wanted {
                let (start, end) = (at as usize, next as usize);
                let pages = self.pages().get_mut(start..end).unwrap_or_default();
                let read = shared
                    .source
                    .read(file, page_at(file, first + at).page, pages);
                self.parts.push(Part {
                    at,
                    count: next - at,
                    is_read: read.is_ok(),
                });
            }
            at = next;
        }
        shared.keep_pace(self.parts.iter().map(|part| part.count).sum())
    }
}

/// The first page of the next extent, both counted from the first page of the run.
fn to_extent(first: u32, at: u32) -> u32 {
    (((first + at) / EXTENT_PAGES + 1).saturating_mul(EXTENT_PAGES)).saturating_sub(first)
}

#[derive(Default)]
struct State {
    filled: VecDeque<Run>,
    empty: Vec<Run>,
    is_over: bool,
}

/// What a worker shares with the thread that reads for it.
pub(super) struct Ahead {
    state: Mutex<State>,
    changed: Condvar,
}

/// Ends both sides, however the one that has it ends.
pub(super) struct Ending<'a>(pub(super) &'a Ahead);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Ahead {
    pub(super) fn new() -> Ahead {
        let state = State {
            empty: (0..RUNS).map(|_| Run::new()).collect(),
            ..State::default()
        };
        Ahead {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Reads run after run, until there are no more or the worker has ended.
    pub(super) fn read_all(&self, number: usize, shared: &Shared<'_>) {
        let _ending = Ending(self);
        let mut turns = Turns::new(number);
        while let Some(mut run) = self.empty() {
            if !run.fill(&mut turns, shared) {
                return;
            }
            self.state.lock().filled.push_back(run);
            self.changed.notify_all();
        }
    }

    fn empty(&self) -> Option<Run> {
        let mut state = self.state.lock();
        while !state.is_over && state.empty.is_empty() {
            self.changed.wait(&mut state);
        }
        let over = state.is_over;
        state.empty.pop().filter(|_| !over)
    }

    /// The next run that was read; `None` behind the last.
    pub(super) fn next(&self) -> Option<Run> {
        let mut state = self.state.lock();
        while !state.is_over && state.filled.is_empty() {
            self.changed.wait(&mut state);
        }
        state.filled.pop_front()
    }

    /// The worker is done with a run.
    pub(super) fn give_back(&self, run: Run) {
        self.state.lock().empty.push(run);
        self.changed.notify_all();
    }
}
