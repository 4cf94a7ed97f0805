//! Waits that are not measured: the replacement in a build that measures the cost of wait statistics.

use super::Resource;
use crate::waits::WaitType;
use furrow_io::time::Moment;

/// A wait under way, as the task's list would hold it.
#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    pub(super) kind: WaitType,
    pub(super) since: Moment,
    pub(super) resource: Resource,
    pub(super) blocking_session_id: Option<i32>,
}

/// The waits of a task that are under way: none.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) waits: Vec<UnderWay>,
}

/// A wait in progress that records nothing.
#[must_use = "a wait ends when it is dropped"]
#[derive(Debug)]
pub struct Wait(());

/// How long the current thread has waited in all: not known.
pub fn waited_ns() -> u64 {
    0
}

impl Wait {
    pub(super) fn begin(kind: WaitType, _resource: Resource) -> Wait {
        super::current().waits_for(kind);
        Wait(())
    }

    /// Does nothing: the blocking session is not recorded.
    pub fn blocked_by(&self, _session_id: i32) {}

    /// When it began: not known, so now.
    pub fn since(&self) -> Moment {
        Moment::now()
    }

    /// Ends the wait; its length is not known.
    pub fn finish(self) -> u64 {
        0
    }

    /// Ends the wait; its length is not known.
    pub fn finish_signalled(self, _signalled_at: Moment) -> u64 {
        0
    }
}
