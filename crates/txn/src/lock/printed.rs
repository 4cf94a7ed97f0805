//! A deadlock report in the form that trace flags 1204 and 1222 print.
//!
//! The lock manager has owners, modes and resources. What only sessions have (statements, login, client,
//! names of objects) is left empty: the engine's deadlock hook fills it in by session number.

use furrow_observe::deadlock as printed;

use super::mode::LockMode;
use super::report::{DeadlockReport, DeadlockResource};
use super::resource::Resource;
use super::timeout::Timeout;

/// Distinguishes a member in the printed report.
fn process_id(report: &DeadlockReport, at: usize) -> u64 {
    report
        .processes
        .get(at)
        .map_or(0, |process| u64::from(process.owner_id))
}

impl DeadlockReport {
    /// The report as `observe` prints it, without what only sessions have.
    pub fn printable(&self) -> printed::DeadlockReport {
        printed::DeadlockReport {
            victims: vec![process_id(self, self.victim)],
            processes: (0..self.processes.len())
                .map(|at| self.printable_process(at))
                .collect(),
            resources: self
                .resources
                .iter()
                .map(|found| self.printable_resource(found))
                .collect(),
        }
    }

    fn printable_process(&self, at: usize) -> printed::Process {
        let process = &self.processes[at];
        printed::Process {
            id: process_id(self, at),
            spid: process.session_id,
            ecid: 0,
            priority: process.priority,
            log_used_bytes: process.log_used,
            wait_resource: process.resource.to_string(),
            wait_time_ms: process.wait_ms,
            lock_mode: process.mode.to_string(),
            transaction_id: process.txn.0,
            transaction_name: "user_transaction".to_owned(),
            transaction_started: process.started,
            transaction_count: 1,
            batch_started: process.started,
            batch_completed: process.started,
            client_app: String::new(),
            host_name: String::new(),
            host_pid: 0,
            login_name: String::new(),
            isolation_level: process.isolation.text().to_owned(),
            current_db: process.resource.database().0,
            lock_timeout_ms: match process.timeout {
                Timeout::Forever => None,
                Timeout::NoWait => Some(0),
                Timeout::Millis(millis) => Some(millis),
            },
            statement_type: String::new(),
            stack: Vec::new(),
            input_buffer: String::new(),
        }
    }

    fn printable_resource(&self, found: &DeadlockResource) -> printed::DeadlockResource {
        let holder = |at: usize, mode: LockMode, converts| printed::Holder {
            process: process_id(self, at),
            mode: mode.to_string(),
            converts,
        };
        let strongest = found
            .owners
            .iter()
            .map(|&(_, mode)| mode)
            .reduce(LockMode::supremum);
        printed::DeadlockResource {
            kind: kind(&found.resource),
            text: found.resource.to_string(),
            db: found.resource.database().0,
            object_name: String::new(),
            lock_id: found.resource.hash(),
            mode: strongest.map_or_else(String::new, |mode| mode.to_string()),
            associated_object_id: associated(&found.resource),
            owners: found
                .owners
                .iter()
                .map(|&(at, mode)| holder(at, mode, false))
                .collect(),
            waiters: found
                .waiters
                .iter()
                .map(|&(at, mode, c)| holder(at, mode, c))
                .collect(),
        }
    }
}

fn kind(resource: &Resource) -> printed::ResourceKind {
    use printed::ResourceKind as Kind;
    match *resource {
        Resource::Rid(_, row) => Kind::Rid {
            file: row.page.file.0,
            page: row.page.page.0,
        },
        Resource::Page(_, _, page) | Resource::Extent(_, page) => Kind::Page {
            file: page.file.0,
            page: page.page.0,
        },
        Resource::Key(_, rowset, _) => Kind::Key {
            hobt_id: rowset.0,
            index_name: String::new(),
        },
        Resource::Object(_, object) => Kind::Object {
            object_id: object.0,
        },
        Resource::Database(_) => Kind::Database,
        Resource::Application(..) => Kind::Application,
        Resource::File(..) | Resource::Hobt(..) | Resource::AllocationUnit(..) => Kind::Metadata,
    }
}

/// The rowset or object that a resource names itself; rows of heaps don't.
fn associated(resource: &Resource) -> u64 {
    match *resource {
        Resource::Key(_, rowset, _) | Resource::Hobt(_, rowset) | Resource::Page(_, rowset, _) => {
            rowset.0
        }
        Resource::Object(_, object) => u64::from(object.0.unsigned_abs()),
        Resource::AllocationUnit(_, unit) => unit.0,
        _ => 0,
    }
}
