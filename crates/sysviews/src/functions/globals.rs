//! `@@NAME`: figures of the server since its start, and values that are constant here.

use super::{INT, SYSNAME, row};
use crate::value;
use furrow_context::context::Context;
use furrow_context::system::MetadataFunction;
use furrow_io::process::cpu_times;
use furrow_io::thread::available_cpus;
use furrow_io::time::WallTime;
use furrow_observe::files::FileSnapshot;
use furrow_types::Value;

/// The unit of `@@CPU_BUSY` and similar, as `@@TIMETICKS` states: 31.25 ms in SQL Server's documentation.
const TICK_US: i32 = 31_250;
/// Most sessions at the same time: their numbers are smallints.
const MOST_CONNECTIONS: i32 = 32_767;

pub(super) static FUNCTIONS: &[MetadataFunction] = &[
    row("@@PROCID", 0, 0, INT, |cx, _| Ok(Value::Int(cx.module))),
    row("@@TIMETICKS", 0, 0, INT, |_, _| Ok(Value::Int(TICK_US))),
    row("@@CPU_BUSY", 0, 0, INT, |_, _| Ok(ticks(busy_us()))),
    row("@@IDLE", 0, 0, INT, |cx, _| {
        let up = WallTime::now().unix_us() - cx.server.started().unix_us();
        let all = u64::try_from(up).unwrap_or(0) * available_cpus() as u64;
        Ok(ticks(all.saturating_sub(busy_us())))
    }),
    row("@@IO_BUSY", 0, 0, INT, |cx, _| {
        Ok(ticks(files(cx, FileSnapshot::io_stall_us)))
    }),
    row("@@TOTAL_READ", 0, 0, INT, |cx, _| {
        Ok(number(files(cx, |file| file.reads.count)))
    }),
    row("@@TOTAL_WRITE", 0, 0, INT, |cx, _| {
        Ok(number(files(cx, |file| file.writes.count)))
    }),
    // There is no network: the server is in the process of its client.
    row("@@PACK_RECEIVED", 0, 0, INT, |_, _| Ok(Value::Int(0))),
    row("@@PACK_SENT", 0, 0, INT, |_, _| Ok(Value::Int(0))),
    row("@@PACKET_ERRORS", 0, 0, INT, |_, _| Ok(Value::Int(0))),
    row("@@MAX_CONNECTIONS", 0, 0, INT, |_, _| {
        Ok(Value::Int(MOST_CONNECTIONS))
    }),
    // No other server calls procedures here.
    row("@@REMSERVER", 0, 0, SYSNAME, |_, _| Ok(Value::Null)),
];

/// Processor time of the process, in microseconds.
fn busy_us() -> u64 {
    cpu_times().total_ns / 1000
}

fn number(n: u64) -> Value {
    value::int(i32::try_from(n).unwrap_or(i32::MAX))
}

fn ticks(us: u64) -> Value {
    number(us / TICK_US as u64)
}

/// The sum of a figure over all open files.
fn files(cx: &Context, of: impl Fn(&FileSnapshot) -> u64) -> u64 {
    let instruments = cx.server.instance().instruments();
    instruments.files.snapshot().iter().map(of).sum()
}
