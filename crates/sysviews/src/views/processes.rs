//! `sys.sysprocesses`: sessions and their waits, under the names of the compatibility view.

use super::sessions::{connected, database_id, wait_of};
use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_context::query_stats::handle;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const WAIT_NUMBER: DataType = DataType::sized(TypeId::Binary, 2);
const WAIT: DataType = nchar(32);
const RESOURCE: DataType = nchar(256);
const WORD: DataType = nchar(30);
const SID: DataType = DataType::sized(TypeId::Binary, 86);
const NAME: DataType = nchar(128);
const NUMBER: DataType = nchar(10);
const COMMAND: DataType = nchar(26);
const ADDRESS: DataType = nchar(12);
const INFO: DataType = DataType::sized(TypeId::Binary, 128);
const HANDLE: DataType = DataType::sized(TypeId::Binary, 20);

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "dbo",
    name: "sysprocesses",
    columns: columns! {
        "spid" SMALLINT; "kpid" SMALLINT; "blocked" SMALLINT; "waittype" WAIT_NUMBER; "waittime" BIGINT;
        "lastwaittype" WAIT; "waitresource" RESOURCE; "dbid" SMALLINT; "uid" SMALLINT null; "cpu" INT;
        "physical_io" BIGINT; "memusage" INT; "login_time" DATETIME; "last_batch" DATETIME;
        "ecid" SMALLINT; "open_tran" SMALLINT; "status" WORD; "sid" SID; "hostname" NAME;
        "program_name" NAME; "hostprocess" NUMBER; "cmd" COMMAND; "nt_domain" NAME; "nt_username" NAME;
        "net_address" ADDRESS; "net_library" ADDRESS; "loginame" NAME; "context_info" INFO;
        "sql_handle" HANDLE; "stmt_start" INT; "stmt_end" INT; "request_id" INT;
    },
    parameters: None,
    text: "The sessions of users and their waits, under the old names: use \
        sys.dm_exec_sessions and sys.dm_exec_requests.",
    rows: processes,
}];

/// Bytes, padded with zeros.
fn binary(bytes: &[u8], length: usize) -> Value {
    let mut all = bytes.to_vec();
    all.resize(length, 0);
    Value::Binary(all)
}

fn processes(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let known = connected(view);
    let instance = Arc::clone(view.cx.server.instance());
    let waits = instance.instruments().tasks.waiting_tasks();
    for of in &known {
        let wait = wait_of(&waits, of.id);
        let status = match (of.rolling_back, of.running, wait) {
            (true, ..) => "rollback",
            (_, false, _) => "sleeping",
            (_, true, Some(_)) => "suspended",
            (_, true, None) => "running",
        };
        let command = match (of.running, of.rolling_back) {
            (_, true) => "KILLED/ROLLBACK",
            (true, _) => of.command,
            _ => "AWAITING COMMAND",
        };
        let last = of
            .task
            .last_wait_type()
            .map_or("MISCELLANEOUS", |w| w.name());
        let text_handle = match handle(&of.text) {
            Value::Binary(bytes) if of.running => bytes,
            _ => Vec::new(),
        };
        let io = of.session.pages.reads + of.session.pages.writes;
        rows(vec![
            small(of.id),
            small(0),
            small(wait.and_then(|w| w.blocking_session_id).unwrap_or(0)),
            binary(&[0, u8::from(wait.is_some())], 2),
            big(wait.map_or(0, |w| w.wait_duration_us / 1000)),
            padded(wait.map_or(last, |w| w.wait_type.name()), 32),
            padded(wait.map_or("", |w| &w.resource), 256),
            small(database_id(view, &of.database)),
            small(1),
            int(of.session.cpu_us / 1000),
            big(io),
            int(0),
            datetime(of.login_time),
            datetime(of.last_start),
            small(0),
            small(i64::from(of.open_transactions)),
            padded(status, 30),
            binary(&[1], 86),
            padded("localhost", 128),
            padded("furrow", 128),
            padded(&furrow_io::process::id().to_string(), 10),
            padded(command, 26),
            padded("", 128),
            padded("", 128),
            padded("", 12),
            padded("LPC", 12),
            padded("sa", 128),
            binary(&[], 128),
            binary(text_handle.get(..20).unwrap_or_default(), 20),
            int(0),
            int(-1),
            int(0),
        ]);
    }
    Ok(())
}
