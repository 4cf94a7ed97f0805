//! Threads of a database that sleep until a bell rings or a time is over.

use furrow_io::sync::{Condvar, Mutex};
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::Duration;
use furrow_observe::Instruments;
use furrow_observe::task::{self, Resource, Task};
use furrow_observe::waits::WaitType;
use furrow_tables::EngineError;
use std::sync::Arc;

/// Tells threads to end, or to look at once.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<Ring>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct Ring {
    stop: bool,
    look: bool,
}

impl Bell {
    /// Sleeps until it rings or the time is over; `false` when it is time to end.
    pub(crate) fn sleep(&self, span: Duration, kind: WaitType) -> bool {
        let mut state = self.state.lock();
        if !state.stop && !state.look {
            let wait = task::wait(kind, Resource::None);
            self.rung.wait_for(&mut state, span);
            drop(wait);
        }
        state.look = false;
        !state.stop
    }

    /// Asks the thread to look at once.
    pub(crate) fn ring(&self) {
        self.state.lock().look = true;
        self.rung.notify_all();
    }

    fn stop(&self) {
        self.state.lock().stop = true;
        self.rung.notify_all();
    }
}

/// The threads of a database. Dropped, they end.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    bells: Vec<Arc<Bell>>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts a thread whose task has this name and session number.
    pub(crate) fn spawn(
        &mut self,
        instruments: &Arc<Instruments>,
        (name, session): (&'static str, i32),
        body: impl FnOnce(&Bell) + Send + 'static,
    ) -> Result<Arc<Bell>, EngineError> {
        let bell = Arc::new(Bell::default());
        let own = Arc::clone(&bell);
        let task = Task::new(instruments, session, name);
        let thread = spawn_named(name, move || {
            let _entered = task::enter(&task);
            body(&own);
        });
        self.threads.push(thread.map_err(EngineError::Thread)?);
        self.bells.push(Arc::clone(&bell));
        Ok(bell)
    }

    /// Makes all threads look at once.
    pub(crate) fn ring(&self) {
        self.bells.iter().for_each(|bell| bell.ring());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.bells.iter().for_each(|bell| bell.stop());
        let me = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last owner of a database may be one of its own threads: it cannot wait for itself.
            if thread.thread().id() == me {
                continue;
            }
            if thread.join().is_err() {
                tracing::error!("a background thread of a database panicked");
            }
        }
    }
}
