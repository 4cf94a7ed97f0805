//! Where helpers pass what they have to the thread of the session, and wait for each other.

use crate::aggregate::Partial;
use furrow_context::error::{Result, SqlError};
use furrow_engine::{LockWait, LockWaiter};
use furrow_io::sync::{Condvar, Mutex, MutexGuard};
use furrow_observe::task::{self, PageWork, Resource};
use furrow_observe::waits::WaitType;
use furrow_types::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of rows that wait to be taken: with more, helpers wait.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// How long the session's thread sleeps between two looks whether its statement is cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// What a helper passes on.
pub(super) enum Batch {
    /// Rows.
    Rows(Vec<Vec<Value>>),
    /// Its part of all groups.
    Groups(Box<Partial>),
}

/// What the session's thread has to do next.
pub(super) enum Event {
    /// Take a batch.
    Batch(Batch),
    /// Wait for a lock that this helper needs.
    Wait(usize, LockWait),
    /// There was no memory for the groups of a helper.
    GaveUp,
    /// All helpers are done.
    End,
}

/// The cost of a helper, and what it has noted.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) pages: PageWork,
    pub(super) cpu_ns: u64,
    pub(super) null_eliminated: bool,
    pub(super) made_null: Vec<u32>,
}

#[derive(Default)]
struct State {
    batches: VecDeque<(Batch, usize)>,
    bytes: usize,
    running: usize,
    waits: VecDeque<(usize, LockWait)>,
    /// For each helper, how long the wait for its lock took, once the lock has become free.
    answered: Vec<Option<Duration>>,
    /// The helper that a lock is lent to.
    borrower: Option<usize>,
    failed: Option<Box<SqlError>>,
    gave_up: bool,
    ended: bool,
    reports: Vec<Report>,
}

/// The exchange of a scan.
pub(super) struct Exchange {
    state: Mutex<State>,
    /// The session's thread sleeps here.
    arrived: Condvar,
    /// Helpers sleep here.
    taken: Condvar,
}

impl Exchange {
    pub(super) fn new(helpers: usize) -> Arc<Exchange> {
        Arc::new(Exchange {
            state: Mutex::new(State {
                running: helpers,
                answered: vec![None; helpers],
                ..State::default()
            }),
            arrived: Condvar::new(),
            taken: Condvar::new(),
        })
    }

    /// Passes a batch on, once there is space for it; `false` if the helper has to end.
    pub(super) fn send(&self, batch: Batch, bytes: usize) -> bool {
        let mut state = self.state.lock();
        if state.bytes > 0 && state.bytes + bytes > MOST_BYTES && !state.ended {
            let wait = task::wait(WaitType::CxPacket, Resource::None);
            while state.bytes > 0 && state.bytes + bytes > MOST_BYTES && !state.ended {
                self.taken.wait(&mut state);
            }
            drop(wait);
        }
        if state.ended {
            return false;
        }
        state.bytes += bytes;
        state.batches.push_back((batch, bytes));
        self.arrived.notify_one();
        true
    }

    /// A helper has no memory for its groups.
    pub(super) fn give_up(&self) {
        self.state.lock().gave_up = true;
        self.arrived.notify_one();
    }

    /// A helper has ended, if it has failed with an error.
    pub(super) fn done(&self, helper: usize, failed: Option<Box<SqlError>>, report: Report) {
        let mut state = self.state.lock();
        debug_assert!(state.running > 0, "a helper ends once");
        state.borrower = state.borrower.filter(|borrower| *borrower != helper);
        state.running -= 1;
        state.reports.push(report);
        // An end on request is no error.
        if let Some(error) = failed.filter(|_| !state.ended) {
            state.failed.get_or_insert(error);
        }
        self.arrived.notify_one();
    }

    /// So many helpers have not been started.
    pub(super) fn fewer(&self, helpers: usize) {
        self.state.lock().running -= helpers;
    }

    fn ready(state: &mut State) -> Option<Result<Event>> {
        if let Some(error) = state.failed.take() {
            return Some(Err(error));
        }
        if state.gave_up {
            return Some(Ok(Event::GaveUp));
        }
        if let Some((helper, wait)) = state.waits.pop_front() {
            return Some(Ok(Event::Wait(helper, wait)));
        }
        if let Some((batch, bytes)) = state.batches.pop_front() {
            state.bytes -= bytes;
            return Some(Ok(Event::Batch(batch)));
        }
        (state.running == 0).then_some(Ok(Event::End))
    }

    /// Waits for something to do; `is_over`: an error if the statement has to end.
    pub(super) fn receive(&self, is_over: impl Fn() -> Result<()>) -> Result<Event> {
        let mut state = self.state.lock();
        let event = match Exchange::ready(&mut state) {
            Some(event) => event,
            None => {
                let wait = task::wait(WaitType::CxPacket, Resource::None);
                let event = self.sleep(&mut state, is_over);
                drop(wait);
                event
            }
        };
        drop(state);
        if let Ok(Event::Batch(_)) = event {
            self.taken.notify_all();
        }
        event
    }

    fn sleep(
        &self,
        state: &mut MutexGuard<'_, State>,
        is_over: impl Fn() -> Result<()>,
    ) -> Result<Event> {
        loop {
            self.arrived.wait_for(state, LOOK);
            if let Some(event) = Exchange::ready(state) {
                return event;
            }
            is_over()?;
        }
    }

    /// The lock that a helper waits for could be granted. If it is lent, returns when the helper has given it
    /// back: it only reads a page meanwhile.
    pub(super) fn answer(&self, helper: usize, waited: Duration, is_lent: bool) {
        let mut state = self.state.lock();
        if let Some(answered) = state.answered.get_mut(helper) {
            *answered = Some(waited);
        }
        debug_assert!(state.borrower.is_none(), "one lock is lent at a time");
        state.borrower = is_lent.then_some(helper);
        self.taken.notify_all();
        while state.borrower.is_some() {
            self.arrived.wait(&mut state);
        }
    }

    /// From now on helpers end at the next thing that they pass on or wait for.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        state.batches.clear();
        state.bytes = 0;
        drop(state);
        self.taken.notify_all();
    }

    /// What the helpers that have ended have reported; empties the list.
    pub(super) fn reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.state.lock().reports)
    }
}

/// The waiter of one helper.
pub(super) struct Waiter {
    pub(super) exchange: Arc<Exchange>,
    pub(super) helper: usize,
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").finish_non_exhaustive()
    }
}

impl LockWaiter for Waiter {
    fn wait(&self, wait: LockWait) -> Option<Duration> {
        let mut state = self.exchange.state.lock();
        state.waits.push_back((self.helper, wait));
        self.exchange.arrived.notify_one();
        let charge = task::wait(WaitType::CxPacket, Resource::None);
        let answer = |state: &mut State| state.answered.get_mut(self.helper)?.take();
        let mut waited = answer(&mut state);
        while !state.ended && waited.is_none() {
            self.exchange.taken.wait(&mut state);
            waited = answer(&mut state);
        }
        drop(charge);
        waited.filter(|_| !state.ended)
    }

    fn give_back(&self) {
        self.exchange.state.lock().borrower = None;
        self.exchange.arrived.notify_one();
    }
}
