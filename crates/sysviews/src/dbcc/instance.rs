//! Commands about the instance and the session: SQLPERF, ERRORLOG, caches, USEROPTIONS.

use super::call::bad;
use super::{Call, Command, INFO};
use crate::procs::cycle_error_log;
use crate::value::{INT, REAL, SMALLINT, SYSNAME, int, nvarchar, small, text};
use crate::views::date_format;
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, nullable};
use furrow_engine::{Isolation, Timeout};
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_types::Value;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[
    Command {
        name: "SQLPERF",
        syntax: "DBCC SQLPERF (LOGSPACE | 'sys.dm_os_wait_stats', CLEAR | 'sys.dm_os_latch_stats', CLEAR | \
            'sys.dm_os_spinlock_stats', CLEAR) [WITH NO_INFOMSGS]",
        text: "Shows how full the logs are, or clears wait, latch or spinlock statistics.",
        options: INFO,
        run: sqlperf,
    },
    Command {
        name: "ERRORLOG",
        syntax: "DBCC ERRORLOG [WITH NO_INFOMSGS]",
        text: "Closes the error log's file and begins a new one.",
        options: INFO,
        run: |run, call| {
            call.takes(0..=0)?;
            cycle_error_log(run)
        },
    },
    Command {
        name: "DROPCLEANBUFFERS",
        syntax: "DBCC DROPCLEANBUFFERS [WITH NO_INFOMSGS]",
        text: "Empties the buffer pool of all pages that need not be written.",
        options: INFO,
        run: |run, call| {
            call.takes(0..=0)?;
            run.cx.server.instance().pool().drop_clean_buffers();
            Ok(())
        },
    },
    Command {
        name: "FREEPROCCACHE",
        syntax: "DBCC FREEPROCCACHE [WITH NO_INFOMSGS]",
        text: "Empties the caches of parsed batches, of all connections.",
        options: INFO,
        run: |run, call| {
            call.takes(0..=0)?;
            run.cx.server.forget_texts();
            Ok(())
        },
    },
    Command {
        name: "FREESYSTEMCACHE",
        syntax: "DBCC FREESYSTEMCACHE ('ALL' | 'SQL Plans' | 'Object Plans') \
            [WITH MARK_IN_USE_FOR_REMOVAL, NO_INFOMSGS]",
        text: "As DBCC FREEPROCCACHE: empties the caches of batches that have been read, of all connections.",
        options: &["MARK_IN_USE_FOR_REMOVAL", "NO_INFOMSGS"],
        run: free_system_cache,
    },
    Command {
        name: "INPUTBUFFER",
        syntax: "DBCC INPUTBUFFER (session_id [, 0]) [WITH NO_INFOMSGS]",
        text: "Shows the last batch that a session has sent.",
        options: INFO,
        run: input_buffer,
    },
    Command {
        name: "USEROPTIONS",
        syntax: "DBCC USEROPTIONS [WITH NO_INFOMSGS]",
        text: "Shows the session's SET options.",
        options: INFO,
        run: user_options,
    },
];

/// The caches of SQL Server that exist here: one of them.
const CACHES: &[&str] = &["ALL", "SQL Plans", "Object Plans"];

fn free_system_cache(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=1)?;
    let name = call.text(0)?;
    if !CACHES.iter().any(|cache| cache.eq_ignore_ascii_case(name)) {
        return bad(0);
    }
    run.cx.server.forget_texts();
    Ok(())
}

static LOGSPACE: &[ViewColumn] = &[
    nullable("Database Name", SYSNAME),
    nullable("Log Size (MB)", REAL),
    nullable("Log Space Used (%)", REAL),
    nullable("Status", INT),
];

fn sqlperf(run: &mut Run<'_>, call: &Call) -> Result<()> {
    let unknown = |state| -> Result<()> { Err(Message::new(2526, &[]).with_state(state).into()) };
    call.takes(1..=2)?;
    let what = call.text(0)?.to_lowercase();
    let clear = call.args.get(1).is_some_and(|a| a.is_word("CLEAR"));
    let instance = Arc::clone(run.cx.server.instance());
    let instruments = instance.instruments();
    match what.strip_prefix("sys.").unwrap_or(&what) {
        "logspace" if call.args.len() == 1 => {
            let mut rows = Vec::new();
            for view in instance.databases() {
                let Some(db) = instance.database_by_id(view.id) else {
                    continue;
                };
                let usage = db.log_view().usage;
                // As in SQL Server, the header of 8 KB before the virtual log files is left out.
                let size = usage.total_bytes as f64;
                let used = usage.used_bytes as f64;
                rows.push(vec![
                    text(view.name),
                    Value::Real((size / 1_048_576.0) as f32),
                    Value::Real((100.0 * used / size.max(1.0)) as f32),
                    int(0),
                ]);
            }
            run.show(LOGSPACE, rows);
            return Ok(());
        }
        "dm_os_wait_stats" | "waitstats" if clear => instruments.waits.clear(),
        "dm_os_latch_stats" if clear => instruments.latches.clear(),
        "dm_os_spinlock_stats" if clear => instruments.spinlocks.clear(),
        "dm_os_wait_stats" | "dm_os_latch_stats" | "dm_os_spinlock_stats" => return unknown(15),
        _ => return unknown(12),
    }
    Ok(())
}

static INPUT: &[ViewColumn] = &[
    nullable("EventType", nvarchar(30)),
    nullable("Parameters", SMALLINT),
    nullable("EventInfo", nvarchar(4000)),
];

fn input_buffer(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=2)?;
    let session = call.number(0)?;
    let request = match call.args.len() {
        2 => call.number(1)?,
        _ => 0,
    };
    let known = run.cx.server.connections();
    let Some(found) = known.into_iter().find(|a| i64::from(a.id) == session) else {
        return refuse(7955, &[session.into()]);
    };
    if request != 0 {
        return refuse(7960, &[session.into(), request.into()]);
    }
    let sent: String = found.text.chars().take(4000).collect();
    run.show(
        INPUT,
        vec![vec![text("Language Event"), small(0), text(sent)]],
    );
    Ok(())
}

static OPTIONS: &[ViewColumn] = &[
    nullable("Set Option", nvarchar(128)),
    nullable("Value", nvarchar(128)),
];

fn user_options(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=0)?;
    let isolation = match run.cx.sessions.session().isolation() {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
        Isolation::Snapshot => "snapshot",
    };
    let timeout = match run.cx.sessions.lock_timeout() {
        Timeout::Forever => "-1".to_owned(),
        Timeout::NoWait => "0".to_owned(),
        Timeout::Millis(ms) => ms.to_string(),
    };
    let set = run.cx.set.clone();
    let mut rows = vec![
        ("textsize", "2147483647".to_owned()),
        ("language", "us_english".to_owned()),
        (
            "dateformat",
            date_format(set.settings.date_order).to_owned(),
        ),
        ("datefirst", set.settings.date_first.to_string()),
        ("lock_timeout", timeout),
    ];
    let switches = [
        ("quoted_identifier", Switches::QUOTED_IDENTIFIER),
        ("nocount", Switches::NOCOUNT),
        ("arithabort", Switches::ARITHABORT),
        ("arithignore", Switches::ARITHIGNORE),
        ("ansi_null_dflt_on", Switches::ANSI_NULL_DFLT_ON),
        ("ansi_null_dflt_off", Switches::ANSI_NULL_DFLT_OFF),
        ("ansi_warnings", Switches::ANSI_WARNINGS),
        ("ansi_padding", Switches::ANSI_PADDING),
        ("ansi_nulls", Switches::ANSI_NULLS),
        ("concat_null_yields_null", Switches::CONCAT_NULL_YIELDS_NULL),
        ("numeric_roundabort", Switches::NUMERIC_ROUNDABORT),
        ("cursor_close_on_commit", Switches::CURSOR_CLOSE_ON_COMMIT),
        ("implicit_transactions", Switches::IMPLICIT_TRANSACTIONS),
        ("xact_abort", Switches::XACT_ABORT),
    ];
    let on = switches.iter().filter(|(_, these)| set.has(*these));
    rows.extend(on.map(|(name, _)| (*name, "SET".to_owned())));
    rows.push(("isolation level", isolation.to_owned()));
    let rows = rows
        .into_iter()
        .map(|(name, value)| vec![text(name), text(value)]);
    run.show(OPTIONS, rows.collect());
    Ok(())
}
