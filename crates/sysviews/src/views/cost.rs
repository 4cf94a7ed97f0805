//! Usage and cost: `sys.dm_db_index_usage_stats`, `sys.dm_exec_query_stats`.

use super::{Rows, SystemView, ViewColumn, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_context::query_stats::{Figure, StatementStats, query_hash};
use furrow_format::DatabaseId;
use furrow_tsql::Span;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const HANDLE: DataType = varbinary(64);
const HASH: DataType = DataType::sized(TypeId::Binary, 8);

static USAGE: &[ViewColumn] = columns! {
    "database_id" SMALLINT; "object_id" INT; "index_id" INT; "user_seeks" BIGINT; "user_scans" BIGINT;
    "user_lookups" BIGINT; "user_updates" BIGINT; "last_user_seek" DATETIME null;
    "last_user_scan" DATETIME null; "last_user_lookup" DATETIME null; "last_user_update" DATETIME null;
    "system_seeks" BIGINT; "system_scans" BIGINT; "system_lookups" BIGINT; "system_updates" BIGINT;
    "last_system_seek" DATETIME null; "last_system_scan" DATETIME null;
    "last_system_lookup" DATETIME null; "last_system_update" DATETIME null;
};

static QUERIES: &[ViewColumn] = columns! {
    "sql_handle" HANDLE; "statement_start_offset" INT; "statement_end_offset" INT;
    "plan_generation_num" BIGINT null; "plan_handle" HANDLE null; "creation_time" DATETIME null;
    "last_execution_time" DATETIME; "execution_count" BIGINT; "total_worker_time" BIGINT;
    "last_worker_time" BIGINT; "min_worker_time" BIGINT; "max_worker_time" BIGINT;
    "total_physical_reads" BIGINT; "last_physical_reads" BIGINT; "min_physical_reads" BIGINT;
    "max_physical_reads" BIGINT; "total_logical_writes" BIGINT; "last_logical_writes" BIGINT;
    "min_logical_writes" BIGINT; "max_logical_writes" BIGINT; "total_logical_reads" BIGINT;
    "last_logical_reads" BIGINT; "min_logical_reads" BIGINT; "max_logical_reads" BIGINT;
    "total_clr_time" BIGINT; "last_clr_time" BIGINT; "min_clr_time" BIGINT; "max_clr_time" BIGINT;
    "total_elapsed_time" BIGINT; "last_elapsed_time" BIGINT; "min_elapsed_time" BIGINT;
    "max_elapsed_time" BIGINT; "query_hash" HASH null; "query_plan_hash" HASH null; "total_rows" BIGINT;
    "last_rows" BIGINT; "min_rows" BIGINT; "max_rows" BIGINT; "statement_sql_handle" HANDLE null;
    "statement_context_id" BIGINT null; "total_dop" BIGINT; "last_dop" BIGINT; "min_dop" BIGINT;
    "max_dop" BIGINT;
};

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_db_index_usage_stats",
        columns: USAGE,
        parameters: None,
        text: "How often statements have used each index since its database was opened, and the last time; \
               without tempdb.",
        rows: usage,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_query_stats",
        columns: QUERIES,
        parameters: None,
        text: "The cost of statements that read or change rows, of the last thousand texts; times in \
            microseconds. A statement runs on one thread: its dop is 1.",
        rows: queries,
    },
];

fn usage(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let instance = Arc::clone(view.cx.server.instance());
    let is_open = |db: &Arc<furrow_engine::Database>| {
        let open = instance.database_by_id(db.id());
        open.is_some_and(|open| Arc::ptr_eq(&open, db))
    };
    for used in view.cx.server.usage().view(is_open) {
        let (db, object, index) = used.index;
        let known = instance.database_by_id(DatabaseId(db));
        let tables = known.map(|db| db.catalog().tables()).unwrap_or_default();
        let is_there = tables.iter().any(|table| {
            let own = |i: &furrow_engine::Index| i64::from(i.id()) == i64::from(index);
            table.id().0 == object && table.indexes().iter().any(own)
        });
        if !is_there {
            continue;
        }
        let mut row = vec![small(db), int(object), int(index)];
        row.extend(used.counts.iter().map(|count| big(count.0)));
        let last = |count: &(u64, Option<_>)| count.1.map_or(Value::Null, datetime);
        row.extend(used.counts.iter().map(last));
        row.extend(vec![big(0); 4]);
        row.extend(vec![Value::Null; 4]);
        rows(row);
    }
    Ok(())
}

fn four(of: Figure) -> [Value; 4] {
    [of.total, of.last, of.min, of.max].map(big)
}

/// The position of a statement in its text, in bytes of UTF-16: its first and its last character. The last is
/// -1 at the end of the text.
fn offsets(of: &str, at: Span) -> (i32, i32) {
    let units = |end: u32| {
        let before = of.get(..end as usize).unwrap_or(of);
        before.encode_utf16().count()
    };
    let bytes = |units: usize| i32::try_from(2 * units).unwrap_or(i32::MAX);
    let (start, end) = (units(at.start), units(at.end));
    let rest = of.get(at.end as usize..).unwrap_or_default();
    let is_last = rest.trim_matches([' ', '\t', '\r', '\n', ';']).is_empty();
    match is_last {
        true => (bytes(start), -1),
        false => (bytes(start), bytes(end.saturating_sub(1))),
    }
}

fn queries(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for of in view.cx.server.query_stats().texts() {
        for (at, stats) in of.statements() {
            rows(query(&of.text, of.handle(), at, &stats));
        }
    }
    Ok(())
}

fn query(of: &str, handle: &Value, at: Span, stats: &StatementStats) -> Vec<Value> {
    let (start, end) = offsets(of, at);
    let hash = query_hash(at.of(of)).to_be_bytes().to_vec();
    let mut row = vec![
        handle.clone(),
        int(start),
        int(end),
        Value::Null,
        Value::Null,
        datetime(stats.first),
        datetime(stats.last),
        big(stats.runs),
    ];
    row.extend(four(stats.cpu_us));
    row.extend(four(stats.physical_reads));
    row.extend(four(stats.writes));
    row.extend(four(stats.logical_reads));
    row.extend(vec![big(0); 4]);
    row.extend(four(stats.elapsed_us));
    row.extend([Value::Binary(hash), Value::Null]);
    row.extend(four(stats.rows));
    row.extend([Value::Null, Value::Null]);
    row.extend([big(stats.runs), big(1), big(1), big(1)]);
    row
}
