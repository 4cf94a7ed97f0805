//! Lets callers wait until the array is done with their requests.
//!
//! In real time a thread sleeps until the next event of the array, lets it happen, and wakes those whose
//! last request is done. The array keeps its own time: an event happens at its modelled nanosecond, however
//! late the thread woke, so that lateness does not add up. In virtual time there is no thread: a waiting
//! caller lets events happen until its own requests are done.

use crate::array::{Array, ArraySpec, Request, Totals};
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::{Duration, Moment};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;

/// How modelled time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Callers wait as long as the model requires.
    Real,
    /// No caller waits: the model's clock jumps. For tests, and decided by the seed on one thread.
    Virtual,
}

/// A caller whose work below took so much longer than the model was late.
const LATE_NS: u64 = 200_000;

/// A caller that waits for its requests.
#[derive(Debug, Default)]
struct Ticket {
    progress: Mutex<Progress>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Requests under way.
    left: usize,
    /// Modelled time of the last completion.
    finished_ns: u64,
}

#[derive(Debug)]
struct State {
    array: Array,
    /// Tickets by the tags of their requests.
    tickets: Vec<Option<Arc<Ticket>>>,
    free: Vec<usize>,
    stop: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    begun: Moment,
    pace: Pace,
}

#[derive(Debug)]
pub(super) struct Pacer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Requests under way.
#[must_use = "a request without a waiter costs no time"]
pub(super) struct Pending<'a> {
    shared: &'a Shared,
    ticket: Option<Arc<Ticket>>,
}

impl Pacer {
    pub(super) fn start(spec: &ArraySpec, seed: u64, pace: Pace) -> std::io::Result<Pacer> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                array: Array::new(spec, seed),
                tickets: Vec::new(),
                free: Vec::new(),
                stop: false,
            }),
            changed: Condvar::new(),
            begun: Moment::now(),
            pace,
        });
        let thread = match pace {
            Pace::Virtual => None,
            Pace::Real => {
                let shared = Arc::clone(&shared);
                Some(spawn_named("furrow-array", move || shared.run())?)
            }
        };
        Ok(Pacer { shared, thread })
    }

    /// Gives requests to the array.
    pub(super) fn begin(&self, requests: &[Request]) -> Pending<'_> {
        let shared = &*self.shared;
        if requests.is_empty() {
            return Pending {
                shared,
                ticket: None,
            };
        }
        let ticket = Arc::new(Ticket {
            progress: Mutex::new(Progress {
                left: requests.len(),
                finished_ns: 0,
            }),
            done: Condvar::new(),
        });
        let mut state = shared.state.lock();
        let now = shared.now(&state);
        state.advance(now);
        let before = state.array.next_event_ns();
        let tag = state.tag_for(Arc::clone(&ticket));
        for request in requests {
            state.array.submit(now, tag, *request);
        }
        state.hand_out();
        if shared.pace == Pace::Real && state.array.next_event_ns() != before {
            shared.changed.notify_one();
        }
        drop(state);
        Pending {
            shared,
            ticket: Some(ticket),
        }
    }

    /// Modelled time so far, and what the array did.
    pub(super) fn totals(&self) -> (u64, Totals) {
        let mut state = self.shared.state.lock();
        let now = self.shared.now(&state);
        state.advance(now);
        (state.array.now_ns(), state.array.totals())
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ended = thread.join();
        }
    }
}

impl Pending<'_> {
    /// Waits until all requests are done; `false` when they were done long before the call.
    pub(super) fn wait(self) -> bool {
        let Some(ticket) = self.ticket else {
            return true;
        };
        match self.shared.pace {
            Pace::Real => {
                let mut progress = ticket.progress.lock();
                if progress.left == 0 {
                    return self.shared.begun.elapsed_ns() <= progress.finished_ns + LATE_NS;
                }
                while progress.left > 0 {
                    ticket.done.wait(&mut progress);
                }
            }
            Pace::Virtual => {
                let mut state = self.shared.state.lock();
                while ticket.progress.lock().left > 0 {
                    let stepped = state.array.step();
                    state.hand_out();
                    assert!(stepped, "requests are under way and no event is left");
                }
            }
        }
        true
    }
}

impl Shared {
    /// The time at which something happens now; never before the array's last event.
    fn now(&self, state: &State) -> u64 {
        match self.pace {
            Pace::Real => self.begun.elapsed_ns().max(state.array.now_ns()),
            Pace::Virtual => state.array.now_ns(),
        }
    }

    /// The body of the thread.
    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stop {
            let now = self.now(&state);
            state.advance(now);
            self.sleep(&mut state, now);
        }
    }

    fn sleep(&self, state: &mut MutexGuard<'_, State>, now: u64) {
        match state.array.next_event_ns() {
            None => self.changed.wait(state),
            Some(next) => {
                let span = Duration::from_nanos(next.saturating_sub(now));
                let _woken = self.changed.wait_for(state, span);
            }
        }
    }
}

impl State {
    fn advance(&mut self, now: u64) {
        self.array.advance(now);
        self.hand_out();
    }

    fn tag_for(&mut self, ticket: Arc<Ticket>) -> u64 {
        let place = match self.free.pop() {
            Some(place) => {
                self.tickets[place] = Some(ticket);
                place
            }
            None => {
                self.tickets.push(Some(ticket));
                self.tickets.len() - 1
            }
        };
        place as u64
    }

    /// Wakes callers whose requests are complete; a ticket is removed with its last completion.
    fn hand_out(&mut self) {
        let State {
            array,
            tickets,
            free,
            ..
        } = self;
        for completion in array.take_done() {
            let place = completion.tag as usize;
            let Some(Some(ticket)) = tickets.get(place) else {
                continue;
            };
            let mut progress = ticket.progress.lock();
            progress.left -= 1;
            progress.finished_ns = completion.finished_ns;
            if progress.left == 0 {
                ticket.done.notify_all();
                drop(progress);
                tickets[place] = None;
                free.push(place);
            }
        }
    }
}
