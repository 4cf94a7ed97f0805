//! Tasks: which threads wait, for what, and to which session a wait is charged.
//!
//! A [`Task`] is a thread of work of a session (a statement, a background worker). A thread enters its task
//! with [`enter`]; from then on each [`wait`] of the thread is charged to the task's session and to the
//! [`Instruments`] of its instance, and is listed among the waiting tasks while it lasts. A thread without a
//! task is charged to a nameless one of the process-wide instruments, so that the layers below never need to
//! test for a task.
//!
//! # Steps of a wait
//! 1. The caller's fast path failed. `wait(kind, resource)` notes the time, counts the wait in both
//!    tables and lists it.
//! 2. The caller blocks.
//! 3. `finish` (or the drop of the [`Wait`]) takes it off the list and adds its time to both tables;
//!    `finish_signalled` also records which part of it came after the signal.
//!
//! Without a wait nothing here is touched.

mod admission;
mod pages;
mod registry;
mod resource;
#[cfg(not(feature = "no-waits"))]
mod wait;
#[cfg(feature = "no-waits")]
#[path = "no_wait.rs"]
mod wait;

pub use admission::{Admission, Admitted};
pub use pages::{PageWork, count_logical_reads, count_reads, count_writes, page_work};
pub use registry::{Registry, WaitingTask};
pub use resource::Resource;
pub use wait::{Wait, waited_ns};

use crate::Instruments;
use crate::traceflags::{FlagSet, TraceFlag};
use crate::waits::{WaitTable, WaitType};
use furrow_io::sync::Mutex;
use furrow_io::weave::quietly;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// A thread of work, and the account that its waits are charged to.
#[derive(Debug)]
pub struct Task {
    id: u64,
    session_id: i32,
    exec_context_id: u16,
    name: String,
    instruments: Arc<Instruments>,
    waits: Arc<WaitTable>,
    flags: Arc<FlagSet>,
    last_wait: AtomicU16,
    under_way: Mutex<wait::List>,
    /// Bits of an `f32`: percent of its command.
    progress: AtomicU32,
    /// Whether its statement is to end.
    cancelled: AtomicBool,
    turn: admission::Turn,
}

const NO_WAIT_YET: u16 = u16::MAX;

impl Task {
    /// A task of a session, listed in the registry of `instruments` until it is dropped. System
    /// workers have session numbers too; by custom user sessions begin at 51.
    pub fn new(instruments: &Arc<Instruments>, session_id: i32, name: &str) -> Arc<Task> {
        let waits = Arc::new(WaitTable::new());
        Task::build(
            instruments,
            session_id,
            0,
            name,
            waits,
            Arc::new(FlagSet::new()),
        )
    }

    /// Another thread of work of the same session: it shares the wait table and the trace flags.
    pub fn child(&self, exec_context_id: u16) -> Arc<Task> {
        let (waits, flags) = (Arc::clone(&self.waits), Arc::clone(&self.flags));
        Task::build(
            &self.instruments,
            self.session_id,
            exec_context_id,
            &self.name,
            waits,
            flags,
        )
    }

    fn build(
        instruments: &Arc<Instruments>,
        session_id: i32,
        exec_context_id: u16,
        name: &str,
        waits: Arc<WaitTable>,
        flags: Arc<FlagSet>,
    ) -> Arc<Task> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let task = Arc::new(Task {
            id: NEXT.fetch_add(1, Relaxed),
            session_id,
            exec_context_id,
            name: name.to_owned(),
            instruments: Arc::clone(instruments),
            waits,
            flags,
            last_wait: AtomicU16::new(NO_WAIT_YET),
            under_way: Mutex::default(),
            progress: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            turn: admission::Turn::default(),
        });
        instruments.tasks.add(&task);
        task
    }

    /// A number no other task of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The session it works for.
    pub fn session_id(&self) -> i32 {
        self.session_id
    }

    /// 0 for the session's own thread, other numbers for its helpers.
    pub fn exec_context_id(&self) -> u16 {
        self.exec_context_id
    }

    /// What it does, as named by the code that created it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instruments of its instance.
    pub fn instruments(&self) -> &Arc<Instruments> {
        &self.instruments
    }

    /// The wait statistics of its session.
    pub fn waits(&self) -> &WaitTable {
        &self.waits
    }

    /// The trace flags of its session.
    pub fn session_flags(&self) -> &FlagSet {
        &self.flags
    }

    /// Whether a trace flag is on for this task: for the instance, or for its session alone.
    pub fn trace_flag_on(&self, flag: TraceFlag) -> bool {
        self.instruments.trace_flags.is_on(flag, Some(&self.flags))
    }

    /// Sets how much of a long command is done, in percent; 0 if that is unknown.
    pub fn set_progress(&self, percent: f32) {
        self.progress.store(percent.to_bits(), Relaxed);
    }

    /// How much of its command is done, in percent.
    pub fn progress(&self) -> f32 {
        f32::from_bits(self.progress.load(Relaxed))
    }

    /// Requests the statement of this task to end. Every long loop polls this ([`Task::is_cancelled`],
    /// [`is_cancelled`]); a wait has its own way to end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
        self.wake_for_cancel();
    }

    /// Clears a cancellation: the next statement begins, or the cancelled one is rolled back.
    pub fn rearm(&self) {
        self.cancelled.store(false, Relaxed);
    }

    /// Whether its statement is to end.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// The type of the wait under way, or of the last one; `None` before the first.
    pub fn last_wait_type(&self) -> Option<WaitType> {
        WaitType::ALL
            .get(usize::from(self.last_wait.load(Relaxed)))
            .copied()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.instruments.tasks.forget(self.id);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Task>>> = const { RefCell::new(None) };
}

static NAMELESS: LazyLock<Arc<Task>> =
    LazyLock::new(|| quietly(|| Task::new(Instruments::process(), 0, "no task")));

/// Makes `task` the current one of this thread until the guard is dropped; then the one before it is
/// current again. The guards of a thread are dropped in reverse order, as scopes do.
pub fn enter(task: &Arc<Task>) -> TaskGuard {
    let before = CURRENT.with(|current| current.replace(Some(Arc::clone(task))));
    TaskGuard {
        before,
        not_send: PhantomData,
    }
}

/// The current task of this thread; a nameless one of the process where none was entered.
pub fn current() -> Arc<Task> {
    // During the thread's own teardown the slot may be gone already.
    let entered = CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten();
    entered.unwrap_or_else(|| Arc::clone(&NAMELESS))
}

/// Whether a trace flag is on for the current task of this thread.
pub fn trace_flag_on(flag: TraceFlag) -> bool {
    let of_task = CURRENT.try_with(|current| Some(current.borrow().as_ref()?.trace_flag_on(flag)));
    let of_process = || Instruments::process().trace_flags.is_on(flag, None);
    of_task.ok().flatten().unwrap_or_else(of_process)
}

/// Whether the statement of this thread's current task is to end: for long loops that are given no session.
pub fn is_cancelled() -> bool {
    let of_task = |current: &RefCell<Option<Arc<Task>>>| {
        let current = current.borrow();
        current.as_ref().is_some_and(|task| task.is_cancelled())
    };
    CURRENT.try_with(of_task).unwrap_or(false)
}

/// Whether a batch of this thread's current task counts as running ([`Admission`]).
pub fn has_turn() -> bool {
    current().has_turn()
}

/// The batch of this thread's current task makes space for another.
pub fn end_turn() {
    current().end_turn();
}

/// Begins a wait of this thread's current task.
pub fn wait(kind: WaitType, resource: Resource) -> Wait {
    Wait::begin(kind, resource)
}

/// Keeps a task current on its thread.
#[must_use = "the task is left when the guard is dropped"]
#[derive(Debug)]
pub struct TaskGuard {
    before: Option<Arc<Task>>,
    not_send: PhantomData<*const ()>,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        let before = self.before.take();
        // A task that ends here runs its own drop only after the slot is free again.
        let left = CURRENT.try_with(|current| current.replace(before));
        drop(left);
    }
}

#[cfg(test)]
mod tests;
