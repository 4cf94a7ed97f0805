//! How the log writer is woken and stopped.

use crate::sync::{Condvar, Mutex};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::sync::Arc;

#[derive(Debug, Default)]
struct State {
    work: bool,
    stop: bool,
}

/// Wakes and stops the log writer.
#[derive(Debug, Clone)]
pub(crate) struct Signal(Arc<(Mutex<State>, Condvar)>);

impl Signal {
    pub(crate) fn new() -> Signal {
        Signal(Arc::default())
    }

    pub(crate) fn wake(&self) {
        self.0.0.lock().work = true;
        self.0.1.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.0.0.lock().stop = true;
        self.0.1.notify_one();
    }

    /// Waits for work; `false` when it is time to stop.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.0.0.lock();
        if !state.work && !state.stop {
            let wait = task::wait(WaitType::LogMgrQueue, Resource::None);
            while !state.work && !state.stop {
                self.0.1.wait(&mut state);
            }
            wait.finish();
        }
        state.work = false;
        !state.stop
    }
}
