//! What each connection is doing, for those who ask from elsewhere: views, KILL, cancellation.

use furrow_engine::Canceller;
use furrow_io::time::WallTime;
use furrow_observe::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a connection is doing.
#[derive(Debug)]
pub struct Activity {
    id: i32,
    login_time: WallTime,
    task: Arc<Task>,
    /// Whether the statement under way is to end.
    cancel: AtomicBool,
    /// Whether KILL has ended the connection.
    killed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    running: bool,
    database: String,
    text: String,
    last_start: WallTime,
    last_end: WallTime,
    /// Of each engine session of the connection.
    cancellers: Vec<Canceller>,
}

/// A connection as a view shows it.
#[derive(Debug, Clone)]
pub struct ActivityView {
    /// Its number: `session_id`.
    pub id: i32,
    /// When it was made.
    pub login_time: WallTime,
    /// Whether a batch is under way.
    pub running: bool,
    /// The database that it works in.
    pub database: String,
    /// The batch under way, or the last one.
    pub text: String,
    /// When the last batch began.
    pub last_start: WallTime,
    /// When the last batch ended.
    pub last_end: WallTime,
    /// Its task: its waits.
    pub task: Arc<Task>,
}

impl Activity {
    pub(crate) fn new(id: i32, database: &str, task: &Arc<Task>) -> Activity {
        let now = WallTime::now();
        Activity {
            id,
            login_time: now,
            task: Arc::clone(task),
            cancel: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            state: Mutex::new(State {
                running: false,
                database: database.to_owned(),
                text: String::new(),
                last_start: now,
                last_end: now,
                cancellers: Vec::new(),
            }),
        }
    }

    /// What it is doing now.
    pub fn view(&self) -> ActivityView {
        let state = self.state.lock();
        ActivityView {
            id: self.id,
            login_time: self.login_time,
            running: state.running,
            database: state.database.clone(),
            text: state.text.clone(),
            last_start: state.last_start,
            last_end: state.last_end,
            task: Arc::clone(&self.task),
        }
    }

    /// The engine sessions are these from now on.
    pub(crate) fn now_in(&self, database: &str, cancellers: Vec<Canceller>) {
        let mut state = self.state.lock();
        if state.database != database {
            database.clone_into(&mut state.database);
        }
        state.cancellers = cancellers;
    }

    /// A batch begins.
    pub(crate) fn begin(&self, text: &str) {
        self.cancel.store(false, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.running = true;
        state.last_start = WallTime::now();
        state.text.clear();
        state.text.push_str(text);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.running = false;
        state.last_end = WallTime::now();
    }

    /// Whether what is under way is to end.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Ends the batch under way at its next row or wait.
    pub(crate) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
        let cancellers = self.state.lock().cancellers.clone();
        for canceller in cancellers {
            canceller.cancel();
        }
    }

    /// KILL.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether KILL has ended it.
    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
}
