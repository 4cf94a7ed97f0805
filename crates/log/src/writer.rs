//! The log writer: a thread that writes full blocks when no committer does, so that a large transaction
//! does not fill all buffers. In a log without it ([`crate::LogConfig::background`]) who fills a block too
//! many does that.

use crate::sync::atomic::Ordering;
use crate::sync::{Condvar, Mutex};
use crate::{Log, LogError};
use furrow_io::thread::spawn_named;
use furrow_io::{IoError, IoErrorKind, IoOp};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::sync::{Arc, Weak};

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
    fn wait(&self) -> bool {
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

/// Starts the thread; it ends when the log is shut down or dropped.
pub(crate) fn spawn(log: &Arc<Log>) -> Result<(), LogError> {
    let (signal, weak) = (log.wake_writer.clone(), Arc::downgrade(log));
    spawn_named("log writer", move || run(&signal, &weak))
        .map(drop)
        .map_err(|e| {
            let kind = IoErrorKind::Os(e.raw_os_error().unwrap_or(0), e.to_string());
            LogError::Io(IoError::new(IoOp::Open, log.file.path(), 0, kind))
        })
}

fn run(signal: &Signal, log: &Weak<Log>) {
    while signal.wait() {
        let Some(log) = log.upgrade() else { return };
        log.write_backlog();
    }
}

impl Log {
    /// Writes the closed blocks.
    pub(crate) fn write_backlog(&self) {
        let last_closed = self.current.load(Ordering::Acquire).saturating_sub(1);
        // A failure poisons the log; the sessions that append or commit report it.
        let _ = self.flush_block(last_closed);
    }
}
