//! What state a database is in.

use crate::error::EngineError;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU8, Ordering};
use furrow_messages::Message;
use furrow_observe::errorlog::{ErrorLog, Source};
use furrow_observe::task;

/// State of a database, as `sys.databases` numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DatabaseState {
    /// Open.
    Online = 0,
    /// A restore has begun, and it has not been recovered.
    Restoring = 1,
    /// Being recovered.
    Recovering = 2,
    /// A file could not be opened.
    RecoveryPending = 3,
    /// Recovery failed, or a write did: nothing can be promised until it is recovered.
    Suspect = 4,
    /// Open for reading only, without its log: what its files hold, consistent or not.
    Emergency = 5,
    /// Closed.
    Offline = 6,
}

impl DatabaseState {
    /// The text of `state_desc`.
    pub fn name(self) -> &'static str {
        match self {
            DatabaseState::Online => "ONLINE",
            DatabaseState::Restoring => "RESTORING",
            DatabaseState::Recovering => "RECOVERING",
            DatabaseState::RecoveryPending => "RECOVERY_PENDING",
            DatabaseState::Suspect => "SUSPECT",
            DatabaseState::Emergency => "EMERGENCY",
            DatabaseState::Offline => "OFFLINE",
        }
    }

    fn from_byte(byte: u8) -> DatabaseState {
        match byte {
            0 => DatabaseState::Online,
            1 => DatabaseState::Restoring,
            2 => DatabaseState::Recovering,
            3 => DatabaseState::RecoveryPending,
            4 => DatabaseState::Suspect,
            5 => DatabaseState::Emergency,
            _ => DatabaseState::Offline,
        }
    }

    /// The message for a session that wants to use a database in this state; `None` when it is open.
    pub fn refusal(self, name: &str) -> Option<Message> {
        let number = match self {
            DatabaseState::Online | DatabaseState::Emergency => return None,
            DatabaseState::Restoring => 927,
            DatabaseState::Recovering => 922,
            DatabaseState::RecoveryPending => 945,
            DatabaseState::Suspect => 926,
            DatabaseState::Offline => 942,
        };
        Some(Message::new(number, &[name.into()]))
    }
}

/// The state of an open database; cheap enough to read at every statement.
#[derive(Debug)]
pub struct StateCell {
    state: AtomicU8,
    reason: Mutex<Option<String>>,
}

impl StateCell {
    /// A database in this state.
    pub fn new(state: DatabaseState) -> StateCell {
        StateCell {
            state: AtomicU8::new(state as u8),
            reason: Mutex::new(None),
        }
    }

    /// The state.
    pub fn get(&self) -> DatabaseState {
        DatabaseState::from_byte(self.state.load(Ordering::Acquire))
    }

    /// Changes the state.
    pub fn set(&self, state: DatabaseState) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Marks it suspect; `false` when it was already. The first reason is stored.
    pub fn suspect(&self, reason: &str) -> bool {
        self.reason.lock().get_or_insert_with(|| reason.to_owned());
        let before = self
            .state
            .swap(DatabaseState::Suspect as u8, Ordering::AcqRel);
        before != DatabaseState::Suspect as u8
    }

    /// Marks it suspect if it is online; `false` where it was not. One that was let go meanwhile stays so.
    fn suspect_online(&self, reason: &str) -> bool {
        let mut stored = self.reason.lock();
        let [online, suspect] = [DatabaseState::Online, DatabaseState::Suspect].map(|s| s as u8);
        let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
        let was_online = self.state.compare_exchange(online, suspect, set, seen);
        if was_online.is_ok() {
            stored.get_or_insert_with(|| reason.to_owned());
        }
        was_online.is_ok()
    }

    /// Marks it suspect after `error`, and reports it in the error log, once.
    pub fn suspect_after(&self, error: &EngineError, name: &str, log: &ErrorLog) {
        if self.suspect(&error.to_string()) {
            report(error, name, log);
        }
    }

    /// The same if it is online.
    pub(crate) fn fail_online(&self, error: &EngineError, name: &str, log: &ErrorLog) {
        if self.suspect_online(&error.to_string()) {
            report(error, name, log);
        }
    }

    /// Why the database is suspect.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// An error unless it is open.
    #[inline]
    pub fn check(&self, name: &str) -> Result<(), EngineError> {
        match self.get() {
            DatabaseState::Online => Ok(()),
            other => other
                .refusal(name)
                .map_or(Ok(()), |m| Err(EngineError::of(m))),
        }
    }
}

/// Reports in the error log why a database is marked suspect.
fn report(error: &EngineError, name: &str, log: &ErrorLog) {
    let source = Source::SystemSpid(task::current().session_id());
    for message in &error.messages() {
        log.write_message(source, message);
    }
    log.write(
        source,
        &format!("Database '{name}' is marked SUSPECT: {error}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_was_let_go_is_not_marked_suspect_by_a_late_failure() {
        let cell = StateCell::new(DatabaseState::Online);
        assert!(cell.suspect_online("first") && !cell.suspect_online("second"));
        assert_eq!(cell.get(), DatabaseState::Suspect);
        assert_eq!(cell.reason().as_deref(), Some("first"));
        for gone in [DatabaseState::Offline, DatabaseState::Restoring] {
            let cell = StateCell::new(gone);
            assert!(!cell.suspect_online("late"));
            assert_eq!((cell.get(), cell.reason()), (gone, None));
        }
    }
}
