//! Reports of deadlocks in the error log, as trace flags 1204 and 1222 ask for them.
//!
//! The lock manager knows sessions, modes and resources; what the resources are called is looked up here. The
//! lookup never waits: where a list is being changed at the moment, the names stay empty.

use super::Instance;
use furrow_format::{DatabaseId, ObjectId};
use furrow_observe::Instruments;
use furrow_observe::deadlock::{DeadlockReport, DeadlockResource, ResourceKind};
use furrow_observe::errorlog::{ErrorLog, Source};
use furrow_observe::traceflags::TraceFlag;
use furrow_txn::lock::{LockConfig, LockManager};
use std::sync::{Arc, OnceLock, Weak};

/// Session number that SQL Server's deadlock monitor writes as.
const MONITOR_SESSION: i32 = 5;
/// The program that embedded sessions belong to.
const CLIENT: &str = "furrow";

/// The instance, once there is one: it knows the names of things.
pub(super) type Home = Arc<OnceLock<Weak<Instance>>>;

/// The lock manager of an instance.
pub(super) fn lock_manager(
    config: LockConfig,
    instruments: &Arc<Instruments>,
    error_log: &Arc<ErrorLog>,
    home: &Home,
) -> LockManager {
    let (instruments, error_log) = (Arc::clone(instruments), Arc::clone(error_log));
    let home = Arc::clone(home);
    LockManager::new(config, move |report| {
        let flags = &instruments.trace_flags;
        let nodes = flags.is_on_globally(TraceFlag::DEADLOCK_NODES);
        let list = flags.is_on_globally(TraceFlag::DEADLOCK_LIST);
        if !nodes && !list {
            return;
        }
        let mut printed = report.printable();
        if let Some(instance) = home.get().and_then(Weak::upgrade) {
            name_all(&instance, &mut printed);
        }
        let mut lines = Vec::new();
        if nodes {
            lines.extend(printed.node_lines());
        }
        if list {
            lines.extend(printed.list_lines());
        }
        let source = Source::SystemSpid(MONITOR_SESSION);
        lines.iter().for_each(|line| error_log.write(source, line));
    })
}

fn name_all(instance: &Instance, report: &mut DeadlockReport) {
    for process in &mut report.processes {
        process.client_app = CLIENT.to_owned();
        process.host_pid = std::process::id();
    }
    for resource in &mut report.resources {
        name(instance, resource);
    }
}

fn name(instance: &Instance, resource: &mut DeadlockResource) {
    let Some(databases) = instance.databases.try_read() else {
        return;
    };
    let id = DatabaseId(resource.db);
    let entry = databases.values().find(|entry| entry.id == id);
    let Some((entry, database)) = entry.and_then(|e| Some((e, e.database.as_ref()?))) else {
        return;
    };
    let found = match &mut resource.kind {
        ResourceKind::Key {
            hobt_id,
            index_name,
        } => {
            let tables = database.catalog.tables();
            let of = |t: &Arc<furrow_tables::Table>| {
                let index = t.indexes().iter().find(|i| i.rowset().id().0 == *hobt_id)?;
                Some((Arc::clone(t), index.name().to_owned()))
            };
            tables.iter().find_map(of).map(|(table, index)| {
                *index_name = index;
                table
            })
        }
        ResourceKind::Page { .. } => {
            let rowset = resource.associated_object_id;
            let tables = database.catalog.tables();
            let has = |t: &&Arc<furrow_tables::Table>| {
                (t.indexes().iter()).any(|i| i.rowset().id().0 == rowset)
            };
            tables.iter().find(has).cloned()
        }
        ResourceKind::Object { object_id } => database.catalog.table_by_id(ObjectId(*object_id)),
        _ => None,
    };
    if let Some(table) = found {
        resource.object_name = format!("{}.{}", entry.name, table.full_name());
    }
}
