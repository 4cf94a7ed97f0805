//! Admission: a bounded number of batches runs at once, the others wait for their turn in order.
//!
//! With hundreds of connections on few processors, most batches that run only wait: for rows that other
//! batches have locked, whose threads wait for a processor. Each such wait costs two switches of threads, and
//! the working set of all batches does not fit into the processors' caches. So a batch that begins outside of
//! a transaction waits (`THREADPOOL`) while [`Admission`] has its number of batches already.
//!
//! # Rules
//! 1. A batch counts from its admission until it ends, waits for anything but a lock or a latch, has waited
//!    for a lock for two milliseconds, or [`TURN`] is over, whichever comes first. So batches that wait for
//!    the log, for a disk or for a client keep no other waiting, nor do long ones, nor those that wait for a
//!    row of an idle transaction.
//! 2. A batch within an open transaction is not asked to wait: others may wait for its locks.
//! 3. Batches are admitted in the order in which they came.
//!
//! # Protocol
//! A batch that ends first lowers `running` and then reads `queued`. A batch that comes first raises `queued`
//! and then tries to raise `running`. Both are sequentially consistent, so that one of them sees the other.

use super::{Resource, Task, enter, wait};
use crate::waits::{WaitCategory, WaitType};
use furrow_io::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::thread::available_cpus;
use furrow_io::time::{Duration, Moment};
use std::collections::VecDeque;
use std::sync::Arc;

/// Batches that count at once, for each processor.
const PER_CPU: u32 = 4;

/// How long a batch counts at most.
const TURN: Duration = Duration::from_millis(20);

/// Turns after which a waiting batch looks at the latest whether turns are over.
const MOST_TURNS: u32 = 10;

/// The admission of an instance.
#[derive(Debug)]
pub struct Admission {
    most: u32,
    turn: Duration,
    /// Batches that count.
    running: AtomicU32,
    /// Batches that wait.
    queued: AtomicU32,
    /// When turns that are over were ended last, in nanoseconds.
    swept: AtomicU64,
    waiting: Mutex<VecDeque<Arc<Task>>>,
}

/// What a task stores for its admission.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// When its batch was admitted, in nanoseconds; 0 while it does not count.
    since: AtomicU64,
    /// Whether its batch has been admitted while it waited.
    admitted: Mutex<bool>,
    signal: Condvar,
}

impl Default for Admission {
    fn default() -> Admission {
        let cpus = u32::try_from(available_cpus()).unwrap_or(u32::MAX);
        Admission::of(cpus.saturating_mul(PER_CPU), TURN)
    }
}

impl Admission {
    fn of(most: u32, turn: Duration) -> Admission {
        Admission {
            most: most.max(1),
            turn,
            running: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            swept: AtomicU64::new(0),
            waiting: Mutex::default(),
        }
    }

    fn try_run(&self) -> bool {
        let more = |running| (running < self.most).then_some(running + 1);
        self.running.fetch_update(SeqCst, SeqCst, more).is_ok()
    }

    /// A batch counts no longer.
    fn leave(&self) {
        let before = self.running.fetch_sub(1, SeqCst);
        debug_assert!(before > 0, "a batch is counted when it is admitted");
        self.admit();
    }

    /// Admits waiting batches as far as there is space. No lock of the queue is held while a thread is woken:
    /// the system may run that thread first.
    fn admit(&self) {
        while self.queued.load(SeqCst) > 0 && self.running.load(SeqCst) < self.most {
            let Some(task) = self.next() else { return };
            *task.turn.admitted.lock() = true;
            task.turn.signal.notify_one();
        }
    }

    /// Takes the batch that waits longest, if one more may run.
    fn next(&self) -> Option<Arc<Task>> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() || !self.try_run() {
            return None;
        }
        self.queued.fetch_sub(1, SeqCst);
        waiting.pop_front()
    }

    /// Ends the turns that are over, and admits others.
    fn end_old_turns(&self, task: &Task) {
        let now = Moment::now();
        let swept = self.swept.load(Relaxed);
        let is_early = now.since(Moment::from_ns(swept)) < self.turn;
        let takes = || {
            self.swept
                .compare_exchange(swept, now.as_ns(), Relaxed, Relaxed)
        };
        if is_early || takes().is_err() {
            return;
        }
        for other in task.instruments.tasks.tasks() {
            let since = other.turn.since.load(SeqCst);
            let is_over = since != 0 && now.since(Moment::from_ns(since)) >= self.turn;
            let ends = |since| other.turn.since.compare_exchange(since, 0, SeqCst, SeqCst);
            if is_over && ends(since).is_ok() {
                self.running.fetch_sub(1, SeqCst);
            }
        }
        self.admit();
    }

    /// Removes a task that waits; `false` if it has been admitted meanwhile.
    fn give_up(&self, task: &Arc<Task>) -> bool {
        let mut waiting = self.waiting.lock();
        let at = waiting.iter().position(|w| Arc::ptr_eq(w, task));
        if let Some(at) = at {
            waiting.remove(at);
            self.queued.fetch_sub(1, SeqCst);
        }
        at.is_some()
    }

    /// Waits until the task is admitted; `false` if it was cancelled before.
    #[cold]
    fn wait(&self, task: &Arc<Task>) -> bool {
        *task.turn.admitted.lock() = false;
        let mut waiting = self.waiting.lock();
        self.queued.fetch_add(1, SeqCst);
        let before = waiting.len();
        waiting.push_back(Arc::clone(task));
        drop(waiting);
        self.admit();
        self.end_old_turns(task);
        let turns = u32::try_from(before).unwrap_or(u32::MAX) / self.most + 1;
        let most = self.turn * turns.min(MOST_TURNS);

        let _task = enter(task);
        let mut charge = None;
        let mut admitted = task.turn.admitted.lock();
        while !*admitted {
            if task.is_cancelled() {
                drop(admitted);
                if self.give_up(task) {
                    return false;
                }
                // Another thread has taken it from the queue and is about to say so.
                admitted = task.turn.admitted.lock();
                task.turn
                    .signal
                    .wait_while(&mut admitted, |admitted| !*admitted);
                return true;
            }
            charge.get_or_insert_with(|| wait(WaitType::ThreadPool, Resource::None));
            if task.turn.signal.wait_for(&mut admitted, most).timed_out() && !*admitted {
                drop(admitted);
                self.end_old_turns(task);
                admitted = task.turn.admitted.lock();
            }
        }
        true
    }
}

/// A batch that was admitted, until it ends.
#[must_use = "the batch ends when this is dropped"]
#[derive(Debug)]
pub struct Admitted<'t>(&'t Task);

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.0.end_turn();
    }
}

impl Task {
    /// A batch of this task has begun, outside of a transaction: waits for its turn. It does not count if it
    /// is cancelled meanwhile.
    pub fn admit(self: &Arc<Task>, began: Moment) -> Admitted<'_> {
        let admission = &self.instruments.admission;
        let before = self.turn.since.load(Relaxed);
        debug_assert_eq!(before, 0, "a task runs one batch");
        let is_free = admission.queued.load(SeqCst) == 0 && admission.try_run();
        let since = match is_free {
            true => Some(began),
            false => admission.wait(self).then(Moment::now),
        };
        let since = since.map_or(0, |since| since.as_ns().max(1));
        self.turn.since.store(since, SeqCst);
        Admitted(self)
    }

    /// It was cancelled: a batch that waits for its turn looks.
    pub(super) fn wake_for_cancel(&self) {
        // The batch looks at the mark and falls asleep in one hold of this lock.
        drop(self.turn.admitted.lock());
        self.turn.signal.notify_one();
    }

    /// Whether its batch counts.
    pub(super) fn has_turn(&self) -> bool {
        self.turn.since.load(Relaxed) != 0
    }

    /// Its batch counts no longer.
    pub(super) fn end_turn(&self) {
        if self.turn.since.load(Relaxed) != 0 && self.turn.since.swap(0, SeqCst) != 0 {
            self.instruments.admission.leave();
        }
    }

    /// A wait of this kind begins.
    pub(super) fn waits_for(&self, kind: WaitType) {
        use WaitCategory::{BufferLatch, Cpu, Latch, Lock};
        let is_of_rows = matches!(kind.category(), Lock | Latch | BufferLatch | Cpu);
        if self.turn.since.load(Relaxed) != 0 && !is_of_rows {
            self.end_turn();
        }
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
