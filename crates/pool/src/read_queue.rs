//! Requests on their way to the reading threads.

use crate::files::FileState;
use crate::key::PageKey;
use furrow_format::{DatabaseId, PageNo};
use furrow_io::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests that wait for a thread; more are dropped.
const MAX_QUEUED: usize = 256;

/// Neighbouring pages of a file to be read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) file: Arc<FileState>,
    pub(crate) first: PageNo,
    pub(crate) pages: u32,
}

impl Request {
    fn asks_for(&self, key: PageKey) -> bool {
        let at = key.page.page.0.checked_sub(self.first.0);
        (self.file.db.id, self.file.id) == (key.db, key.page.file)
            && at.is_some_and(|at| at < self.pages)
    }
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Request>,
    /// Databases of the requests being served.
    active: Vec<DatabaseId>,
    stop: bool,
}

/// Requests on their way to the reading threads.
#[derive(Debug, Default)]
pub(crate) struct ReadQueue {
    state: Mutex<State>,
    changed: Condvar,
}

impl ReadQueue {
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    pub(crate) fn push(&self, request: Request) {
        let mut state = self.state.lock();
        if state.queue.len() < MAX_QUEUED {
            state.queue.push_back(request);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// A request for one page that goes before all others.
    pub(crate) fn push_first(&self, request: Request, key: PageKey) {
        let mut state = self.state.lock();
        if !state.queue.iter().any(|other| other.asks_for(key)) {
            state.queue.push_front(request);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// The next request; `None` when the pool closes.
    pub(crate) fn next(&self) -> Option<Request> {
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return None;
            }
            if let Some(request) = state.queue.pop_front() {
                state.active.push(request.file.db.id);
                return Some(request);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Takes the request for this page out of the queue, if there is one.
    pub(crate) fn take(&self, key: PageKey) -> Option<Request> {
        let mut state = self.state.lock();
        let at = state.queue.iter().position(|r| r.asks_for(key))?;
        let request = state.queue.remove(at)?;
        state.active.push(request.file.db.id);
        Some(request)
    }

    pub(crate) fn served(&self, db: DatabaseId) {
        let mut state = self.state.lock();
        let at = state.active.iter().position(|&active| active == db);
        debug_assert!(at.is_some(), "a request is served once");
        if let Some(at) = at {
            state.active.swap_remove(at);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Drops requests for a database and waits for those being served.
    pub(crate) fn purge(&self, db: DatabaseId) {
        let mut state = self.state.lock();
        state.queue.retain(|request| request.file.db.id != db);
        while state.active.contains(&db) {
            self.changed.wait(&mut state);
        }
    }
}
