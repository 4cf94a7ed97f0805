//! Helpers that put several runs of a batch in flight where io_uring is refused, as most containers do.
//!
//! The caller works too, and never waits for a helper to be free: the caller and the helpers that are idle do
//! the batch. Helpers are started when a batch finds none idle, up to [`MAX_HELPERS`], and then stay.
//!
//! # The invariant that the `unsafe` rests on
//! A task lends its work to the helpers by a raw pointer. A helper uses that pointer only while it is counted
//! in the task, and it is not counted once the task is closed. The lender closes the task and waits until no
//! helper is counted before the borrow ends, also when it unwinds.

use crate::thread;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// Helpers at most: with the caller, 16 transfers of a batch in flight.
const MAX_HELPERS: usize = 15;

type Work<'a> = dyn Fn() + Sync + 'a;

/// Work lent to the helpers.
struct Task {
    work: *const Work<'static>,
    state: Mutex<Inside>,
    left: Condvar,
}

#[derive(Default)]
struct Inside {
    helpers: usize,
    closed: bool,
}

#[expect(unsafe_code, reason = "the pointer in a task goes to other threads")]
mod send {
    // SAFETY: `work` points to a `Sync` closure and is used only while its lender keeps it alive (see the
    // invariant above); the rest is locks.
    unsafe impl Send for super::Task {}
    // SAFETY: as above: calling a `Sync` closure from several threads at once is allowed.
    unsafe impl Sync for super::Task {}
}

impl Task {
    /// Does the work as a helper, unless the lender has closed the task.
    #[expect(unsafe_code, reason = "the borrow's end is watched by hand")]
    fn help(&self) {
        {
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            state.helpers += 1;
        }
        let _leave = Leave(self);
        // SAFETY: this helper is inside a task that was not closed, so that its lender still waits in
        // `Close::drop` before the closure's lifetime ends.
        unsafe { (*self.work)() };
    }
}

/// A helper goes, even by a panic.
struct Leave<'a>(&'a Task);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.state.lock().helpers -= 1;
        self.0.left.notify_all();
    }
}

/// The lender closes its task and waits for the helpers inside, even by a panic.
struct Close<'a>(&'a Task);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        while state.helpers > 0 {
            self.0.left.wait(&mut state);
        }
    }
}

#[derive(Default)]
struct Queue {
    tickets: VecDeque<Arc<Task>>,
    helpers: usize,
    idle: usize,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    tickets: VecDeque::new(),
    helpers: 0,
    idle: 0,
});
static POSTED: Condvar = Condvar::new();

/// Runs `work` on this thread and at the same time on up to `helpers` others; returns when all have
/// returned. `work` must share out among its callers what there is to do.
#[expect(
    unsafe_code,
    reason = "lends a closure with a lifetime to threads without one"
)]
pub(crate) fn run(helpers: usize, work: &Work<'_>) {
    let work: *const Work<'_> = work;
    // SAFETY: only the lifetime is changed, and `close` below outlives no use of the pointer.
    let work: *const Work<'static> = unsafe { std::mem::transmute(work) };
    let task = Arc::new(Task {
        work,
        state: Mutex::default(),
        left: Condvar::new(),
    });
    let _close = Close(&task);
    post(&task, helpers.min(MAX_HELPERS));
    // SAFETY: the closure is borrowed for the whole of this function.
    unsafe { (*task.work)() };
}

fn post(task: &Arc<Task>, tickets: usize) {
    let mut queue = QUEUE.lock();
    queue
        .tickets
        .extend(std::iter::repeat_n(task, tickets).cloned());
    let missing = queue
        .tickets
        .len()
        .saturating_sub(queue.idle)
        .min(MAX_HELPERS - queue.helpers);
    for _ in 0..missing {
        match thread::spawn_named("furrow-io", serve) {
            Ok(_) => queue.helpers += 1,
            Err(error) => {
                tracing::debug!(%error, "no helper thread, the callers do the work");
                break;
            }
        }
    }
    drop(queue);
    for _ in 0..tickets {
        POSTED.notify_one();
    }
}

/// The body of a helper.
fn serve() {
    let mut queue = QUEUE.lock();
    loop {
        if let Some(task) = queue.tickets.pop_front() {
            drop(queue);
            task.help();
            drop(task);
            queue = QUEUE.lock();
        } else {
            queue.idle += 1;
            POSTED.wait(&mut queue);
            queue.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Duration, Moment, sleep};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn every_piece_is_done_once_and_all_are_done_on_return() {
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for round in 1..200_u64 {
                        let (next, sum) = (AtomicU64::new(0), AtomicU64::new(0));
                        run(round as usize % 9, &|| {
                            loop {
                                let piece = next.fetch_add(1, Ordering::Relaxed);
                                if piece >= round {
                                    break;
                                }
                                sum.fetch_add(piece, Ordering::Relaxed);
                            }
                        });
                        assert_eq!(sum.into_inner(), round * (round - 1) / 2);
                    }
                });
            }
        });
        assert!(QUEUE.lock().helpers <= MAX_HELPERS);
    }

    #[test]
    fn pieces_that_wait_wait_together() {
        let next = AtomicU64::new(0);
        let begun = Moment::now();
        run(7, &|| {
            while next.fetch_add(1, Ordering::Relaxed) < 16 {
                sleep(Duration::from_millis(50));
            }
        });
        let us = begun.elapsed_us();
        assert!(
            (100_000..700_000).contains(&us),
            "800 ms of waiting took {us} us"
        );
    }
}
