//! Pages that a statement reads of each table, for SET STATISTICS IO.
//!
//! The pool counts pages for each thread. They are charged to the table that the statement reads at the time.

use furrow_engine::thread_read_ahead;
use furrow_observe::task::page_work;

/// The counts of a thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadReads {
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) ahead: u64,
}

fn thread_reads() -> ThreadReads {
    let work = page_work();
    ThreadReads {
        logical: work.logical_reads,
        physical: work.reads,
        ahead: thread_read_ahead(),
    }
}

/// The counts of one table.
#[derive(Debug)]
pub(crate) struct OfTable {
    pub(crate) name: String,
    pub(crate) scans: u64,
    pub(crate) reads: ThreadReads,
}

/// The counts of the tables of a statement.
#[derive(Debug, Default)]
pub struct Reads {
    pub(crate) tables: Vec<OfTable>,
    /// The current table, and the thread's counts when it became the current one.
    at: Option<usize>,
    since: ThreadReads,
}

impl Reads {
    /// From now on, pages are charged to this table.
    pub(crate) fn turn_to(&mut self, name: &str) {
        if self
            .at
            .and_then(|at| self.tables.get(at))
            .is_some_and(|t| t.name == name)
        {
            return;
        }
        self.charge();
        let known = self.tables.iter().position(|t| t.name == name);
        self.at = Some(known.unwrap_or(self.tables.len()));
        if known.is_none() {
            self.tables.push(OfTable {
                name: name.to_owned(),
                scans: 0,
                reads: ThreadReads::default(),
            });
        }
    }

    /// A scan of the current table begins.
    pub fn scan(&mut self) {
        if let Some(table) = self.at.and_then(|at| self.tables.get_mut(at)) {
            table.scans += 1;
        }
    }

    /// Charges pages that were read since the last charge to the current table.
    pub(crate) fn charge(&mut self) {
        let now = thread_reads();
        if let Some(table) = self.at.and_then(|at| self.tables.get_mut(at)) {
            let since = self.since;
            table.reads.logical += now.logical.saturating_sub(since.logical);
            table.reads.physical += now.physical.saturating_sub(since.physical);
            table.reads.ahead += now.ahead.saturating_sub(since.ahead);
        }
        self.since = now;
    }
}
