//! Waits, latches, spinlocks: the contents of the instruments.

use super::address::address;
use super::locks::request_address;
use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{LockRow, LockStatus, Resource};
use furrow_observe::latches::HoldTotals;
use furrow_observe::waits::WaitRow;
use furrow_types::{DataType, Value};
use twox_hash::XxHash3_64;

const NAME: DataType = nvarchar(256);
const ADDRESS: DataType = varbinary(8);
const RESOURCE: DataType = nvarchar(3072);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_os_wait_stats",
        columns: columns! {
            "wait_type" DESC; "waiting_tasks_count" BIGINT; "wait_time_ms" BIGINT; "max_wait_time_ms" BIGINT;
            "signal_wait_time_ms" BIGINT;
        },
        parameters: None,
        text: "Waits since the start, or since they were cleared, by type.",
        rows: |view, rows| {
            let instance = view.cx.server.instance();
            for row in instance.instruments().waits.snapshot().rows {
                rows(wait_row(&row));
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_session_wait_stats",
        columns: columns! {
            "session_id" SMALLINT; "wait_type" DESC; "waiting_tasks_count" BIGINT; "wait_time_ms" BIGINT;
            "max_wait_time_ms" BIGINT; "signal_wait_time_ms" BIGINT;
        },
        parameters: None,
        text: "Waits of each session that is open, by type.",
        rows: session_waits,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_waiting_tasks",
        columns: columns! {
            "waiting_task_address" ADDRESS; "session_id" SMALLINT null; "exec_context_id" INT null;
            "wait_duration_ms" BIGINT null; "wait_type" DESC null; "resource_address" ADDRESS null;
            "blocking_task_address" ADDRESS null; "blocking_session_id" SMALLINT null;
            "blocking_exec_context_id" INT null; "resource_description" RESOURCE null;
        },
        parameters: None,
        text: "The waits under way.",
        rows: waiting_tasks,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_latch_stats",
        columns: columns! {
            "latch_class" DESC; "waiting_requests_count" BIGINT; "wait_time_ms" BIGINT;
            "max_wait_time_ms" BIGINT;
        },
        parameters: None,
        text: "Waits for latches since the start, or since they were cleared, by class.",
        rows: latches,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_page_latch_stats",
        columns: columns! {
            "database_id" SMALLINT; "page_kind" DESC; "latch_mode" DESC; "file_id" SMALLINT null;
            "page_id" BIGINT null; "waiting_requests_count" BIGINT; "wait_time_us" BIGINT;
            "max_wait_time_us" BIGINT; "hold_count" BIGINT null; "hold_time_ns" BIGINT null;
            "max_hold_time_ns" BIGINT null; "hold_time_square_sum_us2" FLOAT null;
            "long_hold_count" BIGINT null; "long_hold_time_ns" BIGINT null;
        },
        parameters: None,
        text: "Waits for latches of pages in memory, by kind of page, and page by page for PFS, GAM and \
            SGAM; of the latter also how long their latches were held UP or EX, and holds of more than 100 \
            us apart. SQL Server has no such view.",
        rows: page_latches,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_spinlock_stats",
        columns: columns! {
            "name" NAME; "collisions" BIGINT; "spins" BIGINT; "spins_per_collision" REAL; "sleep_time" BIGINT;
            "backoffs" INT;
        },
        parameters: None,
        text: "Collisions on spinlocks since the start, or since they were cleared, by class.",
        rows: spinlocks,
    },
];

fn wait_row(row: &WaitRow) -> Vec<Value> {
    vec![
        text(row.wait_type.name()),
        big(row.count),
        big(row.total_us / 1000),
        big(row.max_us / 1000),
        big(row.signal_us / 1000),
    ]
}

fn session_waits(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = view.cx.server.instance();
    let mut reported = Vec::new();
    for task in instance.instruments().tasks.tasks() {
        let session = task.session_id();
        // The tasks of a session share one table of waits.
        if session <= 0 || reported.contains(&session) {
            continue;
        }
        reported.push(session);
        for waited in task.waits().snapshot().rows {
            if waited.count == 0 {
                continue;
            }
            let mut row = vec![small(session)];
            row.extend(wait_row(&waited));
            rows(row);
        }
    }
    Ok(())
}

fn waiting_tasks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let registry = &view.cx.server.instance().instruments().tasks;
    let tasks = registry.tasks();
    let locks = view.cx.server.instance().locks().snapshot();
    for waiting in registry.waiting_tasks() {
        let blocker = waiting.blocking_session_id;
        let of_blocker = tasks.iter().find(|t| Some(t.session_id()) == blocker);
        let lock = locks
            .iter()
            .find(|l| l.resource.to_string() == waiting.resource);
        let waits =
            |l: &&LockRow| l.session_id == waiting.session_id && l.status != LockStatus::Grant;
        let request = lock.and_then(|lock| {
            let of_it = locks.iter().filter(|l| l.resource == lock.resource);
            of_it.into_iter().find(waits)
        });
        let resource = match lock {
            Some(lock) => lock_description(&lock.resource, &locks),
            None => waiting.resource,
        };
        let resource = (!resource.is_empty()).then_some(resource);
        rows(vec![
            address(waiting.task_id),
            small(waiting.session_id),
            int(waiting.exec_context_id),
            big(waiting.wait_duration_us / 1000),
            text(waiting.wait_type.name()),
            request.map_or(Value::Null, request_address),
            of_blocker.map_or(Value::Null, |t| address(t.id())),
            blocker.map_or(Value::Null, small),
            of_blocker.map_or(Value::Null, |t| int(t.exec_context_id())),
            maybe_text(resource),
        ]);
    }
    Ok(())
}

/// A lock in the form of the documentation: its resource, a number, the mode that is held.
fn lock_description(resource: &Resource, locks: &[LockRow]) -> String {
    let db = resource.database().0;
    let (kind, entity) = match *resource {
        Resource::Database(_) => (format!("databaselock subresource=FULL dbid={db}"), 0),
        Resource::File(_, file) => (
            format!("filelock fileid={file} subresource=FULL dbid={db}"),
            0,
        ),
        Resource::Object(_, object) => (
            format!(
                "objectlock lockPartition=0 objid={} subresource=FULL dbid={db}",
                object.0
            ),
            u64::from(object.0.unsigned_abs()),
        ),
        Resource::Hobt(_, rowset) => (
            format!("hobtlock hobtid={} subresource=FULL dbid={db}", rowset.0),
            rowset.0,
        ),
        Resource::Page(_, rowset, page) => (
            format!(
                "pagelock fileid={} pageid={} dbid={db} subresource=FULL",
                page.file, page.page
            ),
            rowset.0,
        ),
        Resource::Rid(_, row) => (
            format!(
                "ridlock fileid={} pageid={} dbid={db}",
                row.page.file, row.page.page
            ),
            0,
        ),
        Resource::Key(_, rowset, _) => (format!("keylock hobtid={} dbid={db}", rowset.0), rowset.0),
        Resource::Extent(_, page) => (
            format!(
                "extentlock fileid={} pageid={} dbid={db}",
                page.file, page.page
            ),
            0,
        ),
        Resource::AllocationUnit(_, unit) => {
            (format!("allocunitlock hobtid={} dbid={db}", unit.0), unit.0)
        }
        Resource::Application(..) => (format!("applicationlock dbid={db}"), 0),
    };
    let held = |l: &&LockRow| l.resource == *resource && l.status == LockStatus::Grant;
    let mode = locks.iter().find(held).map_or("NL", |l| l.mode.name());
    let number = XxHash3_64::oneshot(resource.to_string().as_bytes()) as u32;
    format!("{kind} id=lock{number:x} mode={mode} associatedObjectId={entity}")
}

fn latches(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = view.cx.server.instance();
    for row in instance.instruments().latches.snapshot() {
        rows(vec![
            text(row.class.name()),
            big(row.waiting_requests),
            big(row.wait_us / 1000),
            big(row.max_us / 1000),
        ]);
    }
    Ok(())
}

fn page_latches(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = view.cx.server.instance();
    for row in instance.instruments().latches.pages.snapshot() {
        let (key, totals) = (row.key, row.waits);
        let held = |of: fn(HoldTotals) -> Value| row.holds.map_or(Value::Null, of);
        let page = |of: fn((u16, u32)) -> Value| key.page.map_or(Value::Null, of);
        rows(vec![
            small(i32::from(key.db)),
            text(key.kind.name()),
            text(key.mode),
            page(|(file, _)| small(i32::from(file))),
            page(|(_, page)| big(u64::from(page))),
            big(totals.waiting_requests),
            big(totals.wait_us),
            big(totals.max_us),
            held(|holds| big(holds.holds)),
            held(|holds| big(holds.hold_ns)),
            held(|holds| big(holds.max_ns)),
            held(|holds| Value::Float(holds.hold_us2)),
            held(|holds| big(holds.long_holds)),
            held(|holds| big(holds.long_ns)),
        ]);
    }
    Ok(())
}

fn spinlocks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = view.cx.server.instance();
    for row in instance.instruments().spinlocks.snapshot() {
        rows(vec![
            text(row.class.name()),
            big(row.collisions),
            big(row.spins),
            Value::Real(row.spins_per_collision() as f32),
            big(row.sleep_us / 1000),
            int(row.backoffs),
        ]);
    }
    Ok(())
}
