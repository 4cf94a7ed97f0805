//! Performance counters.
//!
//! Events are counted in the instruments as they happen. Figures of a database are copied to its counters
//! when the view is read, because files and log maintain them anyway. A counter without a source is left out:
//! it would show a wrong 0.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Database, Instance};
use furrow_observe::counters::{Counter, CounterSet, Object};
use furrow_types::DataType;
use std::sync::Arc;

const PADDED: DataType = nchar(128);

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_os_performance_counters",
    columns: columns! {
        "object_name" PADDED; "counter_name" PADDED; "instance_name" PADDED null; "cntr_value" BIGINT;
        "cntr_type" INT;
    },
    parameters: None,
    text: "Performance counters; cntr_type defines the meaning of a value.",
    rows: counters,
}];

/// Raises a counter that only grows to a new total.
fn raise(set: &CounterSet, counter: Counter, to: u64) {
    let now = u64::try_from(set.value(counter)).unwrap_or(0);
    set.add(counter, to.saturating_sub(now));
}

/// As [`raise`], for a counter that is raised in microseconds and read in milliseconds.
fn raise_time(set: &CounterSet, counter: Counter, to_us: u64) {
    let now_ms = u64::try_from(set.value(counter)).unwrap_or(0);
    let more_ms = (to_us / 1000).saturating_sub(now_ms);
    set.add(counter, more_ms * 1000);
}

fn update(db: &Database, set: &CounterSet) -> Result<()> {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let kb = |bytes: u64| i64::try_from(bytes / 1024).unwrap_or(i64::MAX);
    let files = db.file_list()?;
    let data = files.iter().filter(|f| f.filegroup > 0);
    let pages: u64 = data.map(|f| f.size_pages).sum();
    let log = db.log_view();
    set.set(Counter::DataFileSizeKb, kb(pages * 8192));
    set.set(Counter::LogFileSizeKb, kb(log.usage.total_bytes));
    set.set(Counter::LogFileUsedSizeKb, kb(log.usage.used_bytes));
    set.set(Counter::PercentLogUsed, log.usage.used_percent() as i64);
    set.set(Counter::ActiveTransactions, db.active_transactions() as i64);
    set.set(Counter::LogGrowths, count(log.growths));
    set.set(Counter::LogShrinks, count(log.shrinks));
    set.set(Counter::LogTruncations, count(log.truncations));
    raise(set, Counter::LogFlushes, log.flushes);
    raise(set, Counter::LogBytesFlushed, log.bytes_flushed);
    raise(set, Counter::LogFlushWaits, log.flush_waits);
    raise_time(set, Counter::LogFlushWaitTime, log.flush_wait_us);
    raise_time(set, Counter::LogFlushWriteTimeMs, log.write_us);
    let work = db.work();
    raise(set, Counter::Transactions, work.transactions);
    raise(set, Counter::WriteTransactions, work.write_transactions);
    raise(set, Counter::BulkCopyRows, work.bulk_rows);
    raise(set, Counter::ShrinkDataMovementBytes, work.shrink_bytes);
    Ok(())
}

/// Updates the figures of all open databases, and removes those of databases that are no longer open.
fn update_all(view: &ViewContext<'_>, instance: &Arc<Instance>) -> Result<()> {
    // Two readers at the same time would add the same difference twice.
    let _one = view.cx.server.counting().lock();
    let counters = &instance.instruments().counters;
    let open = view.databases();
    let (mut used, mut size) = (0, 0);
    for db in &open {
        update(db, &counters.instance(Object::Databases, db.name()))?;
        let log = db.log_view().usage;
        used += log.used_bytes;
        size += log.total_bytes;
    }
    for row in counters.rows() {
        let known = row.instance == counters.total().name() || row.instance.is_empty();
        let of_database = row.object == Object::Databases.name();
        if of_database && !known && !open.iter().any(|db| db.name() == row.instance) {
            counters.forget(Object::Databases, &row.instance);
        }
    }
    instance.pool().publish_gauges();
    let users = i64::try_from(view.cx.server.connections().len()).unwrap_or(i64::MAX);
    let total = counters.total();
    total.set(Counter::UserConnections, users);
    // Shares cannot be added: the share of all logs is computed from their sums.
    let share = (used * 100).checked_div(size).unwrap_or(0);
    total.set(Counter::PercentLogUsed, share as i64);
    raise(total, Counter::LockRequests, instance.locks().requests());
    Ok(())
}

fn counters(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = Arc::clone(view.cx.server.instance());
    update_all(view, &instance)?;
    for row in instance.instruments().counter_rows() {
        rows(vec![
            padded(row.object, 128),
            padded(row.counter, 128),
            padded(&row.instance, 128),
            big(row.value),
            int(row.cntr_type),
        ]);
    }
    Ok(())
}
