//! The failure of a snapshot: it becomes SUSPECT, and the error log says why.

use furrow_io::{IoError, IoErrorKind};
use furrow_messages::Message;
use furrow_observe::errorlog::{ErrorLog, Source};
use furrow_pool::FailureSink;
use furrow_tables::{DatabaseState, StateCell, os_error};
use std::fmt;
use std::sync::Arc;

/// The state of a snapshot, and where its failure is reported.
#[derive(Clone)]
pub(crate) struct Failure {
    name: String,
    error_log: Arc<ErrorLog>,
    state: Arc<StateCell>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Failure {
    /// Of the snapshot with this name, which is about to be opened.
    pub(crate) fn new(name: &str, error_log: &Arc<ErrorLog>) -> Failure {
        Failure {
            name: name.to_owned(),
            error_log: Arc::clone(error_log),
            state: Arc::new(StateCell::new(DatabaseState::Recovering)),
        }
    }

    /// The snapshot's state.
    pub(crate) fn state(&self) -> &Arc<StateCell> {
        &self.state
    }
}

impl FailureSink for Failure {
    fn failed(&self, error: &IoError) {
        let path = error.path.display().to_string();
        let full = error.kind == IoErrorKind::NoSpace;
        let cause = match full {
            true => Message::new(5128, &[path.as_str().into()]),
            false => Message::new(17053, &[path.as_str().into(), os_error(&error.kind).into()]),
        };
        let lost = Message::new(3420, &[self.name.as_str().into()]);
        for message in [cause, lost] {
            self.error_log.write_message(Source::Server, &message);
        }
        self.state.suspect(&error.to_string());
    }
}
