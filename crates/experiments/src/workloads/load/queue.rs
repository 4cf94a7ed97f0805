//! Threads that take turns at sessions: at one each, or many sessions at few threads.
//!
//! A session whose piece of work is due waits in a queue until a thread takes it, in the order in which they
//! were due. Where each session has a thread, each has a queue of its own, so that none waits.

use super::session::{Ended, Member};
use super::{Shared, THREADS_PER_CPU};
use furrow_io::thread::available_cpus;
use furrow_io::time::{Duration, Moment};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// How long a thread sleeps at most before it looks whether the load must stop.
const NAP: Duration = Duration::from_millis(50);

/// The threads of so many sessions; `takes_turns` if sessions can share them.
pub(super) fn threads_for(sessions: u32, takes_turns: bool) -> u32 {
    let cpus = u32::try_from(available_cpus()).unwrap_or(u32::MAX);
    match takes_turns {
        true => sessions.min(cpus.saturating_mul(THREADS_PER_CPU)),
        false => sessions,
    }
}

/// The queues of so many threads: one of all, or one for each where each session has a thread.
pub(super) fn queues(members: Vec<Member>, threads: u32) -> Vec<Queue> {
    if (threads as usize) < members.len() {
        return vec![Queue::new(members)];
    }
    let each = members.into_iter();
    each.map(|member| Queue::new(vec![member])).collect()
}

/// The sessions that some threads work for.
pub(super) struct Queue {
    state: Mutex<State>,
    /// A thread waits for the first piece to be due, and that one has changed.
    changed: Condvar,
}

struct State {
    /// Sessions that have not begun.
    fresh: Vec<Member>,
    /// Sessions that wait, by when they are due and by place.
    waiting: BTreeMap<(Moment, usize), Member>,
    /// Sessions that threads work for now.
    busy: usize,
    ended: Vec<Ended>,
}

impl Queue {
    pub(super) fn new(members: Vec<Member>) -> Queue {
        Queue {
            state: Mutex::new(State {
                fresh: members,
                waiting: BTreeMap::new(),
                busy: 0,
                ended: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// The sessions that have ended.
    pub(super) fn into_ended(self) -> Vec<Ended> {
        self.state.into_inner().ended
    }

    /// Works until no session has more to do, or the load must stop.
    pub(super) fn work(&self, shared: &Shared<'_>) {
        let _running = Running(shared);
        let Some(start) = shared.wait_for_start() else {
            return;
        };
        let mut done = None;
        while let Some((mut member, from)) = self.next(done.take(), start, shared) {
            match member.work(from, shared) {
                Ok(()) => done = Some(member),
                Err(error) => return shared.fail(error.full()),
            }
        }
    }

    /// Puts back the session whose piece is done, and takes the one that is due first; also gives from when
    /// on the latency of its piece counts. `None` at the end.
    fn next(
        &self,
        done: Option<Member>,
        start: Moment,
        shared: &Shared<'_>,
    ) -> Option<(Member, Moment)> {
        let mut state = self.state.lock();
        let mut now = Moment::now();
        state.busy -= usize::from(done.is_some());
        for member in std::mem::take(&mut state.fresh).into_iter().chain(done) {
            self.put(&mut state, member, (now, start), shared);
        }
        // How late the system wakes a thread is no wait for one.
        let mut has_slept = false;
        loop {
            let is_over = shared.over(start).is_some_and(|over| now >= over);
            if is_over || shared.must_stop() {
                while let Some((_, mut member)) = state.waiting.pop_first() {
                    // With a rate, only pieces that are begun count as late.
                    let is_queued = shared.load.rate.is_none() && !has_slept;
                    let from = if is_queued { member.due } else { now };
                    member.rested(now, from);
                    end(&mut state, member.end(now), shared);
                }
                return None;
            }
            let due = state.waiting.first_key_value().map(|(key, _)| key.0);
            if due.is_none() && state.busy == 0 {
                return None;
            }
            if due.is_some_and(|due| due <= now)
                && let Some((_, mut member)) = state.waiting.pop_first()
            {
                state.busy += 1;
                if !state.waiting.is_empty() {
                    self.changed.notify_one();
                }
                let is_woken = shared.load.rate.is_none() && has_slept;
                let from = if is_woken { now } else { member.due };
                member.rested(now, from);
                return Some((member, from));
            }
            let next = due.into_iter().chain(shared.over(start)).min();
            let rest = next.map_or(NAP, |next| next.since(now).min(NAP));
            self.changed.wait_for(&mut state, rest);
            has_slept = true;
            now = Moment::now();
        }
    }

    fn put(
        &self,
        state: &mut State,
        mut member: Member,
        (now, start): (Moment, Moment),
        shared: &Shared<'_>,
    ) {
        if !member.plan(now, start, shared) {
            end(state, member.end(now), shared);
            return;
        }
        let key = (member.due, member.place);
        let first = state.waiting.first_key_value();
        let is_first = first.is_none_or(|(first, _)| key < *first);
        state.waiting.insert(key, member);
        if is_first {
            self.changed.notify_one();
        }
    }
}

fn end(state: &mut State, ended: Ended, shared: &Shared<'_>) {
    state.ended.push(ended);
    let mut first = shared.first_end.lock();
    first.get_or_insert_with(|| shared.units());
}

/// A thread that is counted as running until it ends, by a panic too: the load waits for all of them.
struct Running<'a>(&'a Shared<'a>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("a session of the load panicked".to_owned());
        }
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}
