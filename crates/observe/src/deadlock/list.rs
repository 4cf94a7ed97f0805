//! The report of trace flag 1222.

use super::{DeadlockReport, DeadlockResource, Holder, Process, ResourceKind};
use furrow_io::time::WallTime;

/// Waiting for ever, as SQL Server prints it.
const NO_TIMEOUT: u32 = u32::MAX;

pub(super) fn lines(report: &DeadlockReport) -> Vec<String> {
    let mut out = vec!["deadlock-list".to_owned()];
    out.extend(
        report
            .victims
            .iter()
            .map(|victim| format!(" deadlock victim={}", process_id(*victim))),
    );
    out.push("  process-list".to_owned());
    for process in &report.processes {
        push_process(&mut out, process);
    }
    out.push("  resource-list".to_owned());
    for resource in &report.resources {
        push_resource(&mut out, resource);
    }
    out
}

fn process_id(id: u64) -> String {
    format!("process{id:x}")
}

/// `2005-09-05T11:22:42.733`.
fn stamp(at: WallTime) -> String {
    at.iso().chars().take(23).collect()
}

fn push_process(out: &mut Vec<String>, p: &Process) {
    out.push(format!(
        "   process id={} taskpriority={} logused={} waitresource={} waittime={} ownerId={} \
         transactionname={} lasttranstarted={} XDES=0x{:x} lockMode={} schedulerid=0 kpid=0 \
         status=suspended spid={} sbid=0 ecid={} priority={} trancount={} lastbatchstarted={} \
         lastbatchcompleted={} clientapp={} hostname={} hostpid={} loginname={} isolationlevel={} \
         xactid={} currentdb={} lockTimeout={}",
        process_id(p.id),
        p.priority,
        p.log_used_bytes,
        p.wait_resource,
        p.wait_time_ms,
        p.transaction_id,
        p.transaction_name,
        stamp(p.transaction_started),
        p.transaction_id,
        p.lock_mode,
        p.spid,
        p.ecid,
        p.priority,
        p.transaction_count,
        stamp(p.batch_started),
        stamp(p.batch_completed),
        p.client_app,
        p.host_name,
        p.host_pid,
        p.login_name,
        p.isolation_level,
        p.transaction_id,
        p.current_db,
        p.lock_timeout_ms.unwrap_or(NO_TIMEOUT),
    ));
    out.push("    executionStack".to_owned());
    for frame in &p.stack {
        out.push(format!(
            "     frame procname={} line={} stmtstart={}",
            frame.procedure, frame.line, frame.statement_start
        ));
        out.extend(frame.statement.lines().map(|line| format!("     {line}")));
    }
    out.push("    inputbuf".to_owned());
    out.extend(p.input_buffer.lines().map(|line| format!("     {line}")));
}

fn push_resource(out: &mut Vec<String>, resource: &DeadlockResource) {
    let (db, object) = (resource.db, &resource.object_name);
    let head = match &resource.kind {
        ResourceKind::Rid { file, page } => {
            format!("ridlock fileid={file} pageid={page} dbid={db} objectname={object}")
        }
        ResourceKind::Page { file, page } => {
            format!("pagelock fileid={file} pageid={page} dbid={db} objectname={object}")
        }
        ResourceKind::Key {
            hobt_id,
            index_name,
        } => {
            format!("keylock hobtid={hobt_id} dbid={db} objectname={object} indexname={index_name}")
        }
        ResourceKind::Object { object_id } => {
            format!(
                "objectlock lockPartition=0 objid={object_id} subresource=FULL dbid={db} objectname={object}"
            )
        }
        ResourceKind::Database => format!("databaselock subresource=FULL dbid={db}"),
        ResourceKind::Metadata => format!("metadatalock subresource={object} dbid={db}"),
        ResourceKind::Application => format!("applicationlock resource={object} dbid={db}"),
    };
    out.push(format!(
        "   {head} id=lock{:x} mode={} associatedObjectId={}",
        resource.lock_id, resource.mode, resource.associated_object_id
    ));
    out.push("    owner-list".to_owned());
    let name = |holder: &Holder| format!("id={} mode={}", process_id(holder.process), holder.mode);
    out.extend(
        resource
            .owners
            .iter()
            .map(|owner| format!("     owner {}", name(owner))),
    );
    out.push("    waiter-list".to_owned());
    out.extend(resource.waiters.iter().map(|waiter| {
        let request = if waiter.converts { "convert" } else { "wait" };
        format!("     waiter {} requestType={request}", name(waiter))
    }));
}
