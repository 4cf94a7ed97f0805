//! Ctrl-C, SIGTERM and SIGHUP in the shell.
//!
//! A signal cancels the batch under way. One that comes too late for that, or between two batches, is noted:
//! a script ends before its next batch. While the shell waits for input, it leaves its connection here, so
//! that the handler can end the instance in order and then the program.

use super::Passing;
use crate::cli::{FAILED, Failure, INTERRUPTED};
use furrow_io::TerminalModes;
use furrow_sql::{Cancel, Connection, Server};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tempfile::TempDir;

#[derive(Default)]
struct State {
    /// How the batch under way is cancelled.
    under_way: Option<Cancel>,
    /// Whether a signal has come that no batch has ended by.
    interrupted: bool,
    /// The connection, while the shell waits for input.
    idle: Option<Connection>,
}

/// What the shell and the handler of signals share.
#[derive(Clone, Default)]
pub(super) struct Signals(Arc<Mutex<State>>);

impl Signals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a signal has come since this was last asked.
    pub(super) fn take_interrupted(&self) -> bool {
        std::mem::take(&mut self.state().interrupted)
    }

    /// A batch begins.
    pub(super) fn begin(&self, cancel: Cancel) {
        self.state().under_way = Some(cancel);
    }

    /// The batch has ended.
    pub(super) fn end(&self) {
        self.state().under_way = None;
    }

    /// The shell is about to wait for input: leaves its connection here. A signal that has come gives it
    /// back at once.
    pub(super) fn rest(&self, connection: Option<Connection>) -> Result<(), Option<Connection>> {
        let mut state = self.state();
        if std::mem::take(&mut state.interrupted) {
            return Err(connection);
        }
        state.idle = connection;
        Ok(())
    }

    /// There is input: takes the connection back.
    pub(super) fn wake(&self) -> Option<Connection> {
        self.state().idle.take()
    }

    /// Begins to listen. The handler is never dropped, so it must not keep the server or the directory alive.
    pub(super) fn listen(&self, server: &Arc<Server>, passing: &Passing) -> Result<(), Failure> {
        let signals = self.clone();
        let (server, passing) = (Arc::downgrade(server), Arc::downgrade(passing));
        let modes = TerminalModes::now();
        let put_back = move || modes.iter().for_each(TerminalModes::put_back);
        ctrlc::set_handler(move || signals.arrived(&server, &passing, &put_back))
            .map_err(|e| Failure::new(FAILED, format!("cannot listen for Ctrl-C: {e}")))
    }

    fn arrived(
        &self,
        server: &Weak<Server>,
        passing: &Weak<Mutex<Option<TempDir>>>,
        put_back: &dyn Fn(),
    ) {
        let mut state = self.state();
        let Some(connection) = state.idle.take() else {
            state.interrupted = true;
            if let Some(cancel) = &state.under_way {
                cancel.cancel();
            }
            return;
        };
        drop(connection);
        if let Some(server) = server.upgrade()
            && let Err(e) = server.instance().shut_down()
        {
            eprintln!("{e}");
        }
        let passing = passing.upgrade();
        let mut directory = passing.as_ref().and_then(|p| p.lock().ok());
        if let Some(directory) = &mut directory {
            drop(directory.take());
        }
        furrow_io::remove_unpublished();
        // The editor reads keys one by one, without echo, and is not asked to end.
        put_back();
        // The locks stay held: the program's other exit path waits for this one.
        std::process::exit(i32::from(INTERRUPTED))
    }
}
