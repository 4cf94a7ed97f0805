//! One wait, from its start to its end.

use super::{Resource, Task};
use crate::waits::WaitType;
use furrow_io::time::Moment;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A wait under way, as the task's list holds it.
#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    pub(super) id: u64,
    pub(super) kind: WaitType,
    pub(super) since: Moment,
    pub(super) resource: Resource,
    pub(super) blocking_session_id: Option<i32>,
}

/// The waits of a task that are under way, the one begun first in front.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) waits: Vec<UnderWay>,
    /// The number of the last wait; those of another task may bear the same.
    last: u64,
}

impl List {
    /// Adds a wait, created from the number that it gets; returns the number.
    fn push(&mut self, wait: impl FnOnce(u64) -> UnderWay) -> u64 {
        self.last += 1;
        self.waits.push(wait(self.last));
        self.last
    }
}

/// A wait under way. It ends when it is finished or dropped, whichever comes first.
#[must_use = "a wait ends when it is dropped"]
#[derive(Debug)]
pub struct Wait {
    task: Arc<Task>,
    id: u64,
    kind: WaitType,
    since: Moment,
}

thread_local! {
    static WAITED_NS: Cell<u64> = const { Cell::new(0) };
}

/// How long the current thread has waited in all, in nanoseconds.
pub fn waited_ns() -> u64 {
    WAITED_NS.with(Cell::get)
}

impl Wait {
    pub(super) fn begin(kind: WaitType, resource: Resource) -> Wait {
        let task = super::current();
        task.waits_for(kind);
        let since = Moment::now();
        task.waits.begin(task.id, kind);
        task.instruments.waits.begin(task.id, kind);
        task.last_wait.store(kind as u16, Relaxed);
        let id = task.under_way.lock().push(|id| UnderWay {
            id,
            kind,
            since,
            resource,
            blocking_session_id: None,
        });
        Wait {
            task,
            id,
            kind,
            since,
        }
    }

    /// Records the session that holds the resource; may be called again when the holder changes.
    pub fn blocked_by(&self, session_id: i32) {
        let mut list = self.task.under_way.lock();
        if let Some(this) = list.waits.iter_mut().find(|wait| wait.id == self.id) {
            this.blocking_session_id = Some(session_id);
        }
    }

    /// When it began.
    pub fn since(&self) -> Moment {
        self.since
    }

    /// Ends the wait; returns its length in microseconds.
    pub fn finish(mut self) -> u64 {
        self.end(None)
    }

    /// Ends the wait, the thing waited for having been there since `signalled_at`: the time after
    /// that is signal time. Returns the length of the whole wait in microseconds.
    pub fn finish_signalled(mut self, signalled_at: Moment) -> u64 {
        self.end(Some(signalled_at))
    }

    fn end(&mut self, signalled_at: Option<Moment>) -> u64 {
        let id = std::mem::take(&mut self.id);
        if id == 0 {
            return 0;
        }
        let now = Moment::now();
        self.task
            .under_way
            .lock()
            .waits
            .retain(|wait| wait.id != id);
        let total_us = now.since_us(self.since);
        // During the thread's own teardown the count may be gone already.
        let _ = WAITED_NS.try_with(|all| all.set(all.get() + now.since_ns(self.since)));
        // A signal that came before the wait began counts from the beginning.
        let signal_us = signalled_at.map_or(0, |at| now.since_us(at.max(self.since)));
        let (task, kind) = (&self.task, self.kind);
        task.waits.end(task.id, kind, total_us, signal_us);
        let instance = &task.instruments.waits;
        instance.end(task.id, kind, total_us, signal_us);
        total_us
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.end(None);
    }
}
