//! The log writer: a thread that writes full blocks when no committer does, so that a large transaction does
//! not fill all buffers. In a log without it ([`crate::LogConfig::background`]) the appender that fills one
//! block too many writes them.

use crate::signal::Signal;
use crate::sync::atomic::Ordering;
use crate::{Log, LogError};
use furrow_io::thread::spawn_named;
use furrow_io::{IoError, IoErrorKind, IoOp};
use std::sync::{Arc, Weak};

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
