//! Deadlock reports: what the lock manager found, as trace flags 1204 and 1222 print it.
//!
//! The lock manager fills a [`DeadlockReport`]; both printers read only that. Numbers that stand for
//! addresses in SQL Server (`id=process...`, `XDES`, `TaskProxy`) are identifiers of ours.

mod list;
mod nodes;

impl DeadlockReport {
    /// The lines of trace flag 1222: lists of processes and of resources, nested by one blank.
    pub fn list_lines(&self) -> Vec<String> {
        list::lines(self)
    }

    /// The lines of trace flag 1204: a node for each resource.
    pub fn node_lines(&self) -> Vec<String> {
        nodes::lines(self)
    }

    fn process(&self, id: u64) -> Option<&Process> {
        self.processes.iter().find(|process| process.id == id)
    }
}

mod report;
#[cfg(test)]
mod tests;

pub use report::{DeadlockReport, DeadlockResource, Frame, Holder, Process, ResourceKind};
