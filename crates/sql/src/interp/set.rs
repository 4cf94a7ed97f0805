//! SET: options of the connection. A value that this engine does not support is refused by name, before the
//! batch or procedure with the SET runs.

use super::{cursor, flow, transaction};
use crate::ddl;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::switches::switch;
use furrow_engine::Timeout;
use furrow_scalar::{Settings, Switches};
use furrow_tsql::ast::expr::{Expr, ExprKind};
use furrow_tsql::ast::flow::Set;
use furrow_types::{DateOrder, Value};

/// Runs SET.
pub(super) fn run(run: &mut Run<'_>, set: &Set) -> Result<()> {
    match set {
        Set::Variable(name, op, expr) => flow::set_variable(run, &name.value, *op, expr)?,
        Set::Isolation(level) => transaction::set_isolation(run, *level),
        Set::Options(names, on) => {
            for name in names {
                option(run, name, *on)?;
            }
        }
        Set::Value(name, expr) => value(run, name, expr)?,
        Set::IdentityInsert(table, on) => ddl::identity_insert(run, table, *on)?,
        Set::Statistics(names, on) => {
            for name in names {
                statistics(run, name, *on)?;
            }
        }
        Set::Cursor(written) => return cursor::set_new(run, written),
        Set::Method(..) => return Err(unsupported("a method of a variable")),
    }
    run.done(None);
    Ok(())
}

fn statistics(run: &mut Run<'_>, name: &str, on: bool) -> Result<()> {
    match name {
        "IO" => run.cx.set.statistics_io = on,
        "TIME" => run.cx.set.statistics_time = on,
        _ if !on => {}
        other => return Err(unsupported(&format!("SET STATISTICS {other} ON"))),
    }
    Ok(())
}

/// The value of an option: a word, or a number.
fn word(run: &mut Run<'_>, expr: &Expr) -> Result<Value> {
    match &expr.kind {
        ExprKind::Column(bare) => Ok(Value::NVarChar(bare.name().to_owned())),
        _ => Ok(furrow_bind::evaluate(run, expr)?.0),
    }
}

fn value(run: &mut Run<'_>, name: &str, expr: &Expr) -> Result<()> {
    let value = word(run, expr)?;
    let number = value.as_i64();
    let text = value.as_str().unwrap_or("").to_lowercase();
    match name {
        "LOCK_TIMEOUT" | "ROWCOUNT" if number.is_none() && !value.is_null() => {
            let word = value.as_str().unwrap_or(name);
            return refuse(102, &[word.into()]);
        }
        "LOCK_TIMEOUT" => {
            run.cx.sessions.set_lock_timeout(match number {
                Some(0) => Timeout::NoWait,
                Some(ms) if ms > 0 => Timeout::Millis(u32::try_from(ms).unwrap_or(u32::MAX)),
                _ => Timeout::Forever,
            });
        }
        "ROWCOUNT" => run.cx.set.row_count = number.unwrap_or(0).max(0),
        "DATEFIRST" => match number.and_then(|n| u8::try_from(n).ok()) {
            Some(day @ 1..=7) => run.cx.set.settings.date_first = day,
            _ => return refuse(2742, &[number.unwrap_or(0).into()]),
        },
        "DATEFORMAT" => {
            run.cx.set.settings.date_order = match &*text {
                "mdy" => DateOrder::Mdy,
                "dmy" => DateOrder::Dmy,
                "ymd" => DateOrder::Ymd,
                "ydm" => DateOrder::Ydm,
                "myd" => DateOrder::Myd,
                "dym" => DateOrder::Dym,
                _ => return refuse(2741, &[text.into()]),
            };
        }
        "LANGUAGE" if matches!(&*text, "us_english" | "english") => {
            run.cx.set.settings = Settings {
                switches: run.cx.set.settings.switches,
                ..Settings::US_ENGLISH
            };
        }
        "DEADLOCK_PRIORITY" => {
            let priority = match (&*text, number) {
                ("low", _) => -5,
                ("normal", _) => 0,
                ("high", _) => 5,
                (_, Some(n @ -10..=10)) => n as i32,
                _ => return refuse(102, &[text.into()]),
            };
            run.cx.sessions.set_deadlock_priority(priority);
        }
        // TEXTSIZE limits the large values that a client reads.
        "TEXTSIZE" if number.is_some_and(|n| n < 0 || n >= i64::from(i32::MAX)) => {}
        "QUERY_GOVERNOR_COST_LIMIT" if number == Some(0) => {}
        other => return Err(unsupported(&format!("SET {other}"))),
    }
    Ok(())
}

/// Refuses a setting that is not supported (40514).
fn can_be(name: &str, on: bool) -> Result<()> {
    let known = match name {
        "FMTONLY" | "PARSEONLY" | "REMOTE_PROC_TRANSACTIONS" => !on,
        "SHOWPLAN_ALL" | "SHOWPLAN_TEXT" | "SHOWPLAN_XML" => !on,
        "FORCEPLAN" | "NOEXEC" => true,
        name => switch(name).is_some(),
    };
    if known {
        return Ok(());
    }
    let value = if on { "ON" } else { "OFF" };
    Err(unsupported(&format!("SET {name} {value}")))
}

pub(super) fn option(run: &mut Run<'_>, name: &str, on: bool) -> Result<()> {
    can_be(name, on)?;
    if name == "NOEXEC" {
        run.cx.set.no_exec = on;
    }
    let Some(mut these) = switch(name) else {
        return Ok(());
    };
    let mut now = run.cx.set.settings.switches;
    // A module uses the setting under which it was created.
    if run.cx.module != 0 {
        let fixed = Switches::QUOTED_IDENTIFIER.and(Switches::ANSI_NULLS);
        these.set(fixed, false);
    }
    now.set(these, on);
    // At most one of the two options for nullability of columns is ON.
    if on && these.has_any(Switches::ANSI_NULL_DFLT_ON) {
        now.set(Switches::ANSI_NULL_DFLT_OFF, false);
    }
    if on && these.has_any(Switches::ANSI_NULL_DFLT_OFF) {
        now.set(Switches::ANSI_NULL_DFLT_ON, false);
    }
    run.cx.set.settings.switches = now;
    Ok(())
}
