//! Trace flags: TRACEON, TRACEOFF, TRACESTATUS.

use super::{Arg, Call, Command, INFO, bad};
use crate::value::{SMALLINT, small};
use furrow_context::error::Result;
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, column};
use furrow_observe::errorlog::Source;
use furrow_observe::traceflags::{Target, TraceFlag, effect_note, info, log_line};

pub(super) static COMMANDS: &[Command] = &[
    Command {
        name: "TRACEON",
        syntax: "DBCC TRACEON (flag [, ...] [, -1]) [WITH NO_INFOMSGS]",
        text: "Turns trace flags on, for the session or, with -1, for the instance. The error log names \
               those that Furrow does not act on.",
        options: INFO,
        run: |run, call| switch(run, call, true),
    },
    Command {
        name: "TRACEOFF",
        syntax: "DBCC TRACEOFF (flag [, ...] [, -1]) [WITH NO_INFOMSGS]",
        text: "Turns trace flags off, for the session or, with -1, for the instance.",
        options: INFO,
        run: |run, call| switch(run, call, false),
    },
    Command {
        name: "TRACESTATUS",
        syntax: "DBCC TRACESTATUS [([flag [, ...]] [, -1])] [WITH NO_INFOMSGS]",
        text: "Shows the trace flags named, or all that are on.",
        options: INFO,
        run: status,
    },
];

/// The numbers of the call, and whether it has a -1.
fn numbers(call: &Call) -> Result<(Vec<i64>, bool)> {
    let mut flags = Vec::new();
    let mut global = false;
    for (at, arg) in call.args.iter().enumerate() {
        match Arg::number(arg) {
            Some(-1) => global = true,
            Some(flag) => flags.push(flag),
            None => return bad(at),
        }
    }
    Ok((flags, global))
}

fn switch(run: &mut Run<'_>, call: &Call, on: bool) -> Result<()> {
    call.takes(1..=usize::MAX)?;
    let (flags, global) = numbers(call)?;
    let instance = std::sync::Arc::clone(run.cx.server.instance());
    let task = std::sync::Arc::clone(run.cx.sessions.task());
    let target = match global {
        true => Target::Global,
        false => Target::Session(task.session_flags()),
    };
    let all = &instance.instruments().trace_flags;
    let notices = match on {
        true => all.turn_on(&flags, target)?,
        false => {
            all.turn_off(&flags, target)?;
            Vec::new()
        }
    };
    for notice in notices {
        run.inform(notice);
    }
    let mut logged = flags.clone();
    if global {
        logged.push(-1);
    }
    let session = run.cx.sessions.id();
    let log = instance.error_log();
    log.write(Source::Spid(session), &log_line(on, &logged, session));
    if on {
        // A flag that can only be set at the start is refused above, with a notice.
        let refused = |flag: &TraceFlag| info(*flag).is_some_and(|info| info.startup_only);
        let set = flags.iter().filter_map(|number| TraceFlag::new(*number));
        for note in set
            .filter(|flag| !refused(flag))
            .filter_map(|flag| effect_note(flag, global))
        {
            log.write(Source::Spid(session), &note);
        }
    }
    Ok(())
}

static COLUMNS: &[ViewColumn] = &[
    column("TraceFlag", SMALLINT),
    column("Status", SMALLINT),
    column("Global", SMALLINT),
    column("Session", SMALLINT),
];

fn status(run: &mut Run<'_>, call: &Call) -> Result<()> {
    let (flags, _) = numbers(call)?;
    let instance = std::sync::Arc::clone(run.cx.server.instance());
    let task = std::sync::Arc::clone(run.cx.sessions.task());
    let all = &instance.instruments().trace_flags;
    let rows: Vec<_> = all
        .status(&flags, Some(task.session_flags()))
        .into_iter()
        .map(|row| {
            vec![
                small(row.flag.number()),
                small(i16::from(row.status)),
                small(i16::from(row.global)),
                small(i16::from(row.session)),
            ]
        })
        .collect();
    // Without rows there is no result set.
    if !rows.is_empty() {
        run.show(COLUMNS, rows);
    }
    Ok(())
}
