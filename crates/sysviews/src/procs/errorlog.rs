//! The error log: `sp_cycle_errorlog`, `xp_readerrorlog`, `sp_readerrorlog`.

use super::{Fallback, SystemProcedure, parameter};
use crate::value;
use crate::value::INT;
use furrow_context::error::{Result, SqlError, refuse};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, column};
use furrow_engine::EngineError;
use furrow_io::time::{Civil, WallTime};
use furrow_messages::Message;
use furrow_observe::errorlog::Search;
use furrow_types::{DataType, TypeId, Value};

const TEXT: DataType = DataType::sized(TypeId::NVarChar, 510);
const DATETIME: DataType = DataType::simple(TypeId::DateTime);

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_cycle_errorlog",
        parameters: &[],
        extended: false,
        text: "Closes the error log's file and begins a new one.",
        body: cycle,
    },
    SystemProcedure {
        name: "xp_readerrorlog",
        parameters: &[
            parameter("@log_number", INT, Fallback::Int(0)),
            parameter("@type", INT, Fallback::Int(1)),
            parameter("@search1", TEXT, Fallback::Null),
            parameter("@search2", TEXT, Fallback::Null),
            parameter("@start", DATETIME, Fallback::Null),
            parameter("@end", DATETIME, Fallback::Null),
            parameter("@order", TEXT, Fallback::Text("asc")),
        ],
        extended: true,
        text: "Reads a file of the error log. Arguments: its number, 1, two texts that a line must contain, \
               begin and end of a time span, the order.",
        body: read,
    },
    SystemProcedure {
        name: "sp_readerrorlog",
        parameters: &[
            parameter("@p1", INT, Fallback::Int(0)),
            parameter("@p2", INT, Fallback::Int(1)),
            parameter("@p3", TEXT, Fallback::Null),
            parameter("@p4", TEXT, Fallback::Null),
        ],
        extended: false,
        text: "Reads a file of the error log. Arguments: its number, 1, two texts that a line must contain.",
        body: read,
    },
];

static COLUMNS: &[ViewColumn] = &[
    column("LogDate", DATETIME),
    column("ProcessInfo", DataType::sized(TypeId::NVarChar, 100)),
    column("Text", DataType::sized(TypeId::NVarChar, -1)),
];

/// Begins a new error log, also for DBCC ERRORLOG.
pub(crate) fn cycle_error_log(run: &Run<'_>) -> Result<()> {
    let log = run.cx.server.instance().error_log();
    Ok(log.cycle().map_err(EngineError::Io)?)
}

fn cycle(run: &mut Run<'_>, _: &[Value]) -> Result<i32> {
    cycle_error_log(run)?;
    run.inform(Message::new(2528, &[]));
    Ok(0)
}

fn moment(value: &Value) -> Option<WallTime> {
    let Value::DateTime(at) = value else {
        return None;
    };
    let at = at.to_datetime2();
    let (year, month, day) = at.date.to_ymd();
    let micros = at.time.ticks() / 10;
    let seconds = (micros / 1_000_000) as u32;
    Some(WallTime::from_civil(Civil {
        year: i64::from(year),
        month,
        day,
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        microsecond: (micros % 1_000_000) as u32,
    }))
}

fn read(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let text = |at: usize| {
        let text = values.get(at).and_then(Value::as_str);
        text.filter(|t| !t.is_empty()).map(str::to_owned)
    };
    let number = |at: usize| values.get(at).and_then(Value::as_i64);
    if number(1).is_some_and(|kind| kind != 1) {
        return Err(agent());
    }
    let search = Search {
        first: text(2),
        second: text(3),
        from: values.get(4).and_then(moment),
        to: values.get(5).and_then(moment),
        descending: text(6).is_some_and(|order| order.eq_ignore_ascii_case("desc")),
    };
    let file = usize::try_from(number(0).unwrap_or(0)).unwrap_or(usize::MAX);
    let log = run.cx.server.instance().error_log();
    let entries = log.read(file, &search).map_err(EngineError::Io)?;
    let Some(entries) = entries else {
        return refuse(22004, &["Error log location not found".into()]);
    };
    let rows = entries.into_iter().map(|entry| {
        vec![
            value::datetime(entry.at),
            Value::NVarChar(entry.source),
            Value::NVarChar(entry.text),
        ]
    });
    run.show(COLUMNS, rows.collect());
    Ok(0)
}

fn agent() -> Box<SqlError> {
    furrow_context::error::unsupported("the log of SQL Server Agent")
}
