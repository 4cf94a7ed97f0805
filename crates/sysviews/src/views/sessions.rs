//! Sessions, their requests, their connections, and the last text of each.
//!
//! Sessions of users are the server's connections. Sessions of the system are the tasks of the engine's own
//! threads. What a batch is doing comes from the record that its connection writes ([`ActivityView`]).

use super::address::address;
use super::{Rows, SystemView, ViewColumn, ViewContext, columns};
use crate::value::*;
use furrow_context::activity::ActivityView;
use furrow_context::error::Result;
use furrow_context::query_stats::handle;
use furrow_context::switches::ANSI_DEFAULTS;
use furrow_engine::{Isolation, Timeout};
use furrow_io::process;
use furrow_io::time::WallTime;
use furrow_observe::task::{Task, WaitingTask};
use furrow_scalar::Switches;
use furrow_types::{DataType, DateOrder, TypeId, Value};
use std::sync::Arc;

const SID: DataType = varbinary(85);
const HANDLE: DataType = varbinary(64);
const INFO: DataType = varbinary(128);
const ADDRESS: DataType = varbinary(8);
const HASH: DataType = DataType::sized(TypeId::Binary, 8);
const NAME: DataType = nvarchar(128);
const WORD: DataType = nvarchar(30);
const COMMAND: DataType = nvarchar(32);
const RESOURCE: DataType = nvarchar(256);
const FORMAT: DataType = nvarchar(3);
const PROTOCOL: DataType = nvarchar(40);
const HOST: DataType = varchar(48);

/// Sessions up to this one are the system's.
const LAST_SYSTEM_SESSION: i32 = 50;

static SESSIONS: &[ViewColumn] = columns! {
    "session_id" SMALLINT; "login_time" DATETIME; "host_name" NAME null; "program_name" NAME null;
    "host_process_id" INT null; "client_version" INT null; "client_interface_name" COMMAND null;
    "security_id" SID; "login_name" NAME; "nt_domain" NAME null; "nt_user_name" NAME null; "status" WORD;
    "context_info" INFO null; "cpu_time" INT; "memory_usage" INT; "total_scheduled_time" INT;
    "total_elapsed_time" INT; "endpoint_id" INT; "last_request_start_time" DATETIME;
    "last_request_end_time" DATETIME null; "reads" BIGINT; "writes" BIGINT; "logical_reads" BIGINT;
    "is_user_process" BIT; "text_size" INT; "language" NAME null; "date_format" FORMAT null;
    "date_first" SMALLINT; "quoted_identifier" BIT; "arithabort" BIT; "ansi_null_dflt_on" BIT;
    "ansi_defaults" BIT; "ansi_warnings" BIT; "ansi_padding" BIT; "ansi_nulls" BIT;
    "concat_null_yields_null" BIT; "transaction_isolation_level" SMALLINT; "lock_timeout" INT;
    "deadlock_priority" INT; "row_count" BIGINT; "prev_error" INT; "original_security_id" SID;
    "original_login_name" NAME; "last_successful_logon" DATETIME null;
    "last_unsuccessful_logon" DATETIME null;
    "unsuccessful_logons" BIGINT null; "group_id" INT; "database_id" SMALLINT;
    "authenticating_database_id" INT null; "open_transaction_count" INT;
};

static REQUESTS: &[ViewColumn] = columns! {
    "session_id" SMALLINT; "request_id" INT; "start_time" DATETIME; "status" WORD; "command" COMMAND;
    "sql_handle" HANDLE null; "statement_start_offset" INT null; "statement_end_offset" INT null;
    "plan_handle" HANDLE null; "database_id" SMALLINT; "user_id" INT; "connection_id" GUID null;
    "blocking_session_id" SMALLINT null; "wait_type" DESC null; "wait_time" INT; "last_wait_type" DESC;
    "wait_resource" RESOURCE; "open_transaction_count" INT; "open_resultset_count" INT;
    "transaction_id" BIGINT; "context_info" INFO null; "percent_complete" REAL;
    "estimated_completion_time" BIGINT; "cpu_time" INT; "total_elapsed_time" INT; "scheduler_id" INT null;
    "task_address" ADDRESS null; "reads" BIGINT; "writes" BIGINT; "logical_reads" BIGINT; "text_size" INT;
    "language" NAME null; "date_format" FORMAT null; "date_first" SMALLINT; "quoted_identifier" BIT;
    "arithabort" BIT; "ansi_null_dflt_on" BIT; "ansi_defaults" BIT; "ansi_warnings" BIT; "ansi_padding" BIT;
    "ansi_nulls" BIT; "concat_null_yields_null" BIT; "transaction_isolation_level" SMALLINT;
    "lock_timeout" INT; "deadlock_priority" INT; "row_count" BIGINT; "prev_error" INT; "nest_level" INT;
    "granted_query_memory" INT; "executing_managed_code" BIT; "group_id" INT; "query_hash" HASH null;
    "query_plan_hash" HASH null; "statement_sql_handle" HANDLE null; "statement_context_id" BIGINT null;
    "dop" INT; "parallel_worker_count" INT null; "external_script_request_id" GUID null;
    "is_resumable" BIT; "page_resource" HASH null;
};

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_exec_sessions",
        columns: SESSIONS,
        parameters: None,
        text: "The sessions: their settings, their cost, and whether a batch is running.",
        rows: sessions,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_requests",
        columns: REQUESTS,
        parameters: None,
        text: "The batches under way, and what they wait for.",
        rows: requests,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_connections",
        columns: columns! {
            "session_id" INT null; "most_recent_session_id" INT null; "connect_time" DATETIME;
            "net_transport" PROTOCOL; "protocol_type" PROTOCOL null; "protocol_version" INT null;
            "endpoint_id" INT null; "encrypt_option" PROTOCOL; "auth_scheme" PROTOCOL;
            "node_affinity" SMALLINT; "num_reads" INT null; "num_writes" INT null; "last_read" DATETIME null;
            "last_write" DATETIME null; "net_packet_size" INT null; "client_net_address" HOST null;
            "client_tcp_port" INT null; "local_net_address" HOST null; "local_tcp_port" INT null;
            "connection_id" GUID; "parent_connection_id" GUID null; "most_recent_sql_handle" HANDLE null;
        },
        parameters: None,
        text: "The connections of sessions; all of them are within the process.",
        rows: connections,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_sql_text",
        columns: columns! {
            "dbid" SMALLINT null; "objectid" INT null; "number" SMALLINT null; "encrypted" BIT;
            "text" NTEXT null;
        },
        parameters: Some(&[HANDLE]),
        text: "The text of a handle: a batch under way, the last one of a session, or one with recorded \
               cost.",
        rows: sql_text,
    },
    SystemView {
        schema: "sys",
        name: "dm_exec_input_buffer",
        columns: columns! {
            "event_type" RESOURCE null; "parameters" SMALLINT null; "event_info" NTEXT null;
        },
        parameters: Some(&[SMALLINT, INT]),
        text: "The last batch that a session has sent.",
        rows: input_buffer,
    },
];

/// All connections, including the caller's own in its present state.
pub(crate) fn connected(view: &ViewContext<'_>) -> Vec<ActivityView> {
    view.cx.note();
    view.cx.sessions.activity().note_cpu(&view.cx.meter);
    view.cx.server.connections()
}

/// Tasks of the system's sessions.
fn others(view: &ViewContext<'_>, known: &[ActivityView]) -> Vec<Arc<Task>> {
    let mut found: Vec<Arc<Task>> = Vec::new();
    for task in view.cx.server.instance().instruments().tasks.tasks() {
        let id = task.session_id();
        let seen = known.iter().any(|a| a.id == id) || found.iter().any(|t| t.session_id() == id);
        if (1..=LAST_SYSTEM_SESSION).contains(&id) && !seen {
            found.push(task);
        }
    }
    found.sort_by_key(|t| t.session_id());
    found
}

/// The number of the transaction for which a session holds locks.
pub(super) fn transaction_of(locks: &[furrow_engine::LockRow], session: i32) -> Option<i64> {
    let own = locks.iter().find(|l| l.session_id == session)?;
    i64::try_from(own.txn.0).ok()
}

/// Milliseconds from one moment to a later one.
fn between(from: WallTime, to: WallTime) -> i64 {
    (to.unix_us() - from.unix_us()).max(0) / 1000
}

/// The remaining time of a command at its average rate so far; 0 if its progress is unknown.
fn remaining_ms(percent: f32, elapsed_ms: i64) -> i64 {
    match percent {
        p if p > 0.0 && p < 100.0 => (elapsed_ms as f64 * f64::from((100.0 - p) / p)) as i64,
        _ => 0,
    }
}

pub(crate) fn isolation_number(level: Isolation) -> i16 {
    match level {
        Isolation::ReadUncommitted => 1,
        Isolation::ReadCommitted => 2,
        Isolation::RepeatableRead => 3,
        Isolation::Serializable => 4,
        Isolation::Snapshot => 5,
    }
}

pub(crate) fn date_format(order: DateOrder) -> &'static str {
    match order {
        DateOrder::Mdy => "mdy",
        DateOrder::Dmy => "dmy",
        DateOrder::Ymd => "ymd",
        DateOrder::Ydm => "ydm",
        DateOrder::Myd => "myd",
        DateOrder::Dym => "dym",
    }
}

/// The columns from `text_size` to `prev_error`, which sessions and requests have in common.
fn settings(of: &ActivityView) -> Vec<Value> {
    let set = of.settings;
    let timeout = match set.lock_timeout {
        Timeout::Forever => -1,
        Timeout::NoWait => 0,
        Timeout::Millis(ms) => i64::from(ms),
    };
    let on = |these| bit(set.scalar.switches.has(these));
    vec![
        int(i32::MAX),
        text("us_english"),
        text(date_format(set.scalar.date_order)),
        small(set.scalar.date_first),
        on(Switches::QUOTED_IDENTIFIER),
        on(Switches::ARITHABORT),
        on(Switches::ANSI_NULL_DFLT_ON),
        on(ANSI_DEFAULTS),
        on(Switches::ANSI_WARNINGS),
        on(Switches::ANSI_PADDING),
        on(Switches::ANSI_NULLS),
        on(Switches::CONCAT_NULL_YIELDS_NULL),
        small(isolation_number(set.isolation)),
        int(timeout),
        int(set.deadlock_priority),
        big(of.row_count),
        int(of.last_error),
    ]
}

pub(super) fn database_id(view: &ViewContext<'_>, name: &str) -> u16 {
    let known = view.cx.server.instance().database(name);
    known.map_or(0, |db| db.id().0)
}

fn sessions(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let known = connected(view);
    let now = WallTime::now();
    for of in &known {
        let status = if of.running { "running" } else { "sleeping" };
        let mut row = vec![
            small(of.id),
            datetime(of.login_time),
            text("localhost"),
            text("furrow"),
            int(process::id()),
            Value::Null,
            Value::Null,
            Value::Binary(vec![1]),
            text("sa"),
            Value::Null,
            Value::Null,
            text(status),
            Value::Null,
            int(of.session.cpu_us / 1000),
            int(0),
            int(of.session.cpu_us / 1000),
            int(between(of.login_time, now)),
            int(2),
            datetime(of.last_start),
            datetime(of.last_end),
            big(of.session.pages.reads),
            big(of.session.pages.writes),
            big(of.session.pages.logical_reads),
            bit(true),
        ];
        row.extend(settings(of));
        row.extend([Value::Binary(vec![1]), text("sa")]);
        row.extend(vec![Value::Null; 3]);
        row.extend([
            int(2),
            small(database_id(view, &of.database)),
            int(0),
            int(of.open_transactions),
        ]);
        rows(row);
    }
    for task in others(view, &known) {
        rows(system_session(view, &task));
    }
    Ok(())
}

/// A session of the system: batches and settings are not recorded for it.
fn system_session(view: &ViewContext<'_>, task: &Task) -> Vec<Value> {
    let since = datetime(view.cx.server.started());
    let mut row = vec![small(task.session_id()), since.clone()];
    row.extend(vec![Value::Null; 5]);
    row.extend([Value::Binary(vec![1]), text("sa")]);
    row.extend([Value::Null, Value::Null, text("sleeping"), Value::Null]);
    row.extend(vec![int(0); 5]);
    row.extend([since, Value::Null]);
    row.extend(vec![big(0); 3]);
    row.extend([
        bit(false),
        int(i32::MAX),
        text("us_english"),
        text("mdy"),
        small(7),
    ]);
    row.extend(vec![bit(true); 3]);
    row.push(bit(false));
    row.extend(vec![bit(true); 4]);
    row.extend([small(2), int(-1), int(0), big(0), int(0)]);
    row.extend([Value::Binary(vec![1]), text("sa")]);
    row.extend(vec![Value::Null; 3]);
    row.extend([int(1), small(1), int(0), int(0)]);
    row
}

/// The innermost wait of a session.
pub(super) fn wait_of(waits: &[WaitingTask], id: i32) -> Option<&WaitingTask> {
    let own = |w: &&WaitingTask| w.session_id == id && w.exec_context_id == 0;
    waits.iter().rev().find(own)
}

/// `blocking_session_id` to `wait_resource`.
fn waited(wait: Option<&WaitingTask>, task: &Task) -> Vec<Value> {
    let last = task.last_wait_type().map_or("MISCELLANEOUS", |w| w.name());
    vec![
        small(wait.and_then(|w| w.blocking_session_id).unwrap_or(0)),
        maybe_text(wait.map(|w| w.wait_type.name())),
        int(wait.map_or(0, |w| w.wait_duration_us / 1000)),
        text(last),
        text(wait.map_or("", |w| &w.resource)),
    ]
}

/// `page_resource`: the page of a page wait, as eight bytes.
fn page_resource(wait: Option<&WaitingTask>) -> Value {
    let page = wait.and_then(|w| {
        let name = w.resource.strip_prefix("PAGE: ").unwrap_or(&w.resource);
        let mut parts = name.split(':');
        let db: u16 = parts.next()?.parse().ok()?;
        let file: u16 = parts.next()?.parse().ok()?;
        let page: u32 = parts.next()?.parse().ok()?;
        let whole = (u64::from(db) << 48) | (u64::from(file) << 32) | u64::from(page);
        parts.next().is_none().then_some(whole)
    });
    page.map_or(Value::Null, |whole| {
        Value::Binary(whole.to_be_bytes().to_vec())
    })
}

fn requests(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let known = connected(view);
    let instance = Arc::clone(view.cx.server.instance());
    let waits = instance.instruments().tasks.waiting_tasks();
    let locks = instance.locks().snapshot();
    let now = WallTime::now();
    for of in known.iter().filter(|of| of.running || of.rolling_back) {
        let wait = wait_of(&waits, of.id);
        let status = match (of.rolling_back, wait) {
            (true, _) => "rollback",
            (false, Some(_)) => "suspended",
            (false, None) => "running",
        };
        let command = if of.rolling_back {
            "KILLED/ROLLBACK"
        } else {
            of.command
        };
        let transaction = transaction_of(&locks, of.id);
        let mut row = vec![
            small(of.id),
            int(0),
            datetime(of.last_start),
            text(status),
            text(command),
            handle(&of.text),
            int(0),
            int(-1),
            Value::Null,
            small(database_id(view, &of.database)),
            int(1),
            guid(of.connection),
        ];
        row.extend(waited(wait, &of.task));
        row.extend([
            int(of.open_transactions),
            int(i32::from(of.command == "SELECT")),
            big(transaction.unwrap_or(0)),
            Value::Null,
            Value::Real(of.task.progress()),
            big(remaining_ms(
                of.task.progress(),
                between(of.last_start, now),
            )),
            int(of.request.cpu_us / 1000),
            int(between(of.last_start, now)),
            int(0),
            address(of.task.id()),
            big(of.request.pages.reads),
            big(of.request.pages.writes),
            big(of.request.pages.logical_reads),
        ]);
        row.extend(settings(of));
        row.extend([int(of.nest_level), int(0), bit(false), int(2)]);
        row.extend(vec![Value::Null; 4]);
        // The session's own thread is not among the workers.
        row.extend([int(of.helpers.max(1)), int(of.helpers)]);
        row.extend([Value::Null, bit(false), page_resource(wait)]);
        rows(row);
    }
    for task in others(view, &known) {
        let wait = wait_of(&waits, task.session_id());
        rows(system_request(view, &task, wait));
    }
    Ok(())
}

/// The request of a system thread.
fn system_request(view: &ViewContext<'_>, task: &Task, wait: Option<&WaitingTask>) -> Vec<Value> {
    let mut row = vec![
        small(task.session_id()),
        int(0),
        datetime(view.cx.server.started()),
        text("background"),
        text(task.name().to_uppercase()),
    ];
    row.extend(vec![Value::Null; 4]);
    row.extend([small(1), int(1), Value::Null]);
    row.extend(waited(wait, task));
    row.extend([
        int(0),
        int(0),
        big(0),
        Value::Null,
        Value::Real(0.0),
        big(0),
        int(0),
    ]);
    let since = between(view.cx.server.started(), WallTime::now());
    row.extend([int(since), int(0), address(task.id())]);
    row.extend(vec![big(0); 3]);
    row.extend([int(i32::MAX), text("us_english"), text("mdy"), small(7)]);
    row.extend(vec![bit(true); 3]);
    row.push(bit(false));
    row.extend(vec![bit(true); 4]);
    row.extend([small(2), int(-1), int(0), big(0), int(0)]);
    row.extend([int(0), int(0), bit(false), int(1)]);
    row.extend(vec![Value::Null; 4]);
    row.extend([int(1), int(0), Value::Null, bit(false), page_resource(wait)]);
    row
}

fn connections(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for of in connected(view) {
        let mut row = vec![int(of.id), int(of.id), datetime(of.login_time)];
        row.extend([text("Shared memory"), text("TSQL"), Value::Null, int(2)]);
        row.extend([text("FALSE"), text("SQL"), small(0)]);
        row.extend([Value::Null, Value::Null]);
        row.extend([datetime(of.last_start), datetime(of.last_end), Value::Null]);
        row.extend([
            ascii("<local machine>"),
            Value::Null,
            Value::Null,
            Value::Null,
        ]);
        row.extend([guid(of.connection), Value::Null, handle(&of.text)]);
        rows(row);
    }
    Ok(())
}

fn sql_text(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let wanted = view.arguments.first().cloned().unwrap_or(Value::Null);
    let found = connected(view)
        .into_iter()
        .find(|of| handle(&of.text) == wanted);
    let kept = || {
        let texts = view.cx.server.query_stats().texts();
        let found = texts.into_iter().find(|t| *t.handle() == wanted)?;
        Some(found.text.to_string())
    };
    if let Some(found) = found.map(|of| of.text).or_else(kept) {
        let null = Value::Null;
        rows(vec![
            null.clone(),
            null.clone(),
            null,
            bit(false),
            text(found),
        ]);
    }
    Ok(())
}

fn input_buffer(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let (session, request) = (view.number(0), view.number(1).unwrap_or(0));
    let of = |a: &ActivityView| Some(i64::from(a.id)) == session && request == 0;
    if let Some(found) = connected(view).into_iter().find(of) {
        rows(vec![text("Language Event"), small(0), text(found.text)]);
    }
    Ok(())
}
