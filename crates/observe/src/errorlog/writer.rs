//! The thread that brings lines to the file.

use super::ErrorLog;
use crate::Instruments;
use crate::task::{self, Resource, Task};
use crate::waits::WaitType;
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::Duration;
use std::sync::Arc;

/// How long it sleeps without work, and after a failure before it tries again.
const NAP: Duration = Duration::from_secs(1);

/// The thread that brings lines to the file as they come. Dropped, it writes what is left and ends.
#[derive(Debug)]
pub struct Writer {
    log: Arc<ErrorLog>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread; its waits are charged to `instruments`, as a system session of that number.
    pub fn start(
        log: &Arc<ErrorLog>,
        instruments: &Arc<Instruments>,
        session_id: i32,
    ) -> std::io::Result<Writer> {
        log.set_closing(false);
        let task = Task::new(instruments, session_id, "error log writer");
        let own = Arc::clone(log);
        let thread = spawn_named("errorlog", move || {
            let _guard = task::enter(&task);
            run(&own);
        })?;
        Ok(Writer {
            log: Arc::clone(log),
            thread: Some(thread),
        })
    }
}

fn run(log: &ErrorLog) {
    loop {
        let closing = {
            let _wait = task::wait(WaitType::SleepTask, Resource::Named("error log"));
            log.wait_for_work(NAP)
        };
        // A failed flush keeps its lines: they are tried again after a while.
        let flushed = log.flush();
        if closing {
            return;
        }
        if flushed.is_err() {
            let _wait = task::wait(WaitType::SleepTask, Resource::Named("error log"));
            log.wait_for_closing(NAP);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.log.set_closing(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; no caller could handle it.
            let _ = thread.join();
        }
    }
}
