//! What is reported of a deadlock that was resolved.

use std::fmt;

use furrow_format::TxnId;
use furrow_io::time::WallTime;

use super::isolation::Isolation;
use super::mode::LockMode;
use super::resource::Resource;
use super::timeout::Timeout;

/// A deadlock that was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockReport {
    /// Position of the victim in `processes`.
    pub victim: usize,
    /// The members: each waits for the next, the last for the first.
    pub processes: Vec<DeadlockProcess>,
    /// What they wait for, without repetition.
    pub resources: Vec<DeadlockResource>,
}

/// A member of a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockProcess {
    /// Number of the lock owner.
    pub owner_id: u32,
    /// Its session.
    pub session_id: i32,
    /// Its transaction.
    pub txn: TxnId,
    /// Its deadlock priority.
    pub priority: i32,
    /// Bytes of log it has used.
    pub log_used: u64,
    /// Its isolation level.
    pub isolation: Isolation,
    /// What it waits for.
    pub resource: Resource,
    /// The mode that it requests.
    pub mode: LockMode,
    /// For how long it has waited.
    pub wait_ms: u64,
    /// For how long it would.
    pub timeout: Timeout,
    /// When its transaction began.
    pub started: WallTime,
}

/// A resource of a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockResource {
    /// The resource.
    pub resource: Resource,
    /// The members that hold it: position in `processes`, and mode.
    pub owners: Vec<(usize, LockMode)>,
    /// The members that wait for it: position, mode, and whether they convert a lock they hold.
    pub waiters: Vec<(usize, LockMode, bool)>,
}

impl DeadlockReport {
    /// The member that was chosen.
    pub fn victim(&self) -> Option<&DeadlockProcess> {
        self.processes.get(self.victim)
    }
}

impl fmt::Display for DeadlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, process) in self.processes.iter().enumerate() {
            let mark = if at == self.victim { ", victim" } else { "" };
            let DeadlockProcess {
                session_id,
                mode,
                resource,
                ..
            } = process;
            writeln!(
                f,
                "session {session_id} waits for {mode} on {resource}{mark}"
            )?;
        }
        Ok(())
    }
}
