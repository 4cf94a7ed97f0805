//! CHECKIDENT: reads and sets the current value of an identity column.

use super::table::table_of;
use super::{Arg, Call, Command, INFO};
use furrow_bind::evaluate;
use furrow_context::error::{Result, refuse};
use furrow_context::parse::expression;
use furrow_context::run::Run;
use furrow_engine::Table;
use furrow_messages::Message;
use furrow_types::{Decimal, TypeId, Value};
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[Command {
    name: "CHECKIDENT",
    syntax: "DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]]) [WITH NO_INFOMSGS]",
    text: "Prints the current identity value and the largest value in the column. Sets an identity value \
           that is too low to the largest value (not with NORESEED), or to the given value.",
    options: INFO,
    run: check_identity,
}];

fn shown(value: Option<i128>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |n| n.to_string())
}

/// The range of a type that an identity column can have.
fn range(id: TypeId, precision: u8) -> (i128, i128) {
    match id {
        TypeId::TinyInt => (0, 255),
        TypeId::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        TypeId::Int => (i128::from(i32::MIN), i128::from(i32::MAX)),
        TypeId::BigInt => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => {
            let most = 10_i128.pow(u32::from(precision.min(38))) - 1;
            (-most, most)
        }
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Decimal(Decimal { unscaled, scale: 0 }) => Some(*unscaled),
        other => other.as_i64().map(i128::from),
    }
}

/// The largest value in the column, or the smallest if the increment is negative.
fn extreme(run: &mut Run<'_>, table: &Table, column: &str, up: bool) -> Result<Option<i128>> {
    let bracketed = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let text = format!(
        "(SELECT {}({}) FROM {}.{})",
        if up { "MAX" } else { "MIN" },
        bracketed(column),
        bracketed(table.schema()),
        bracketed(table.name())
    );
    let (value, _) = evaluate(run, &expression(&text)?)?;
    Ok(whole(&value))
}

fn check_identity(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=3)?;
    let db = Arc::clone(run.cx.sessions.database());
    let table = table_of(&db, call, 0)?;
    let word = |word: &str| call.args.get(1).is_some_and(|a: &Arg| a.is_word(word));
    let (keep, reseed) = (word("NORESEED"), word("RESEED"));
    if (call.args.len() > 1 && !keep && !reseed) || (keep && call.args.len() > 2) {
        return Err(Message::new(2560, &[2.into()]).with_state(6).into());
    }
    let identity = table.columns().iter().find(|c| c.identity);
    let (Some(column), Some(state)) = (identity, table.identity_values()) else {
        return refuse(7997, &[table.name().into()]);
    };
    let current = state.issued.then_some(state.last);
    if call.args.len() == 3 {
        let wanted = call.number(2)?;
        if !call.no_infomsgs {
            run.inform(Message::new(7989, &[shown(current).into()]));
        }
        let (least, most) = range(column.data_type.id, column.data_type.precision);
        if !(least..=most).contains(&i128::from(wanted)) {
            return Err(Message::new(2560, &[3.into()]).with_state(14).into());
        }
        return set(run, &table, wanted);
    }
    let found = extreme(run, &table, &column.name, state.increment > 0)?;
    if !call.no_infomsgs {
        let values = [shown(current).into(), shown(found).into()];
        run.inform(Message::new(7998, &values));
    }
    let Some(bound) = found.filter(|_| !keep) else {
        return Ok(());
    };
    let behind = match (current, state.increment > 0) {
        (None, _) => true,
        (Some(current), true) => current < bound,
        (Some(current), false) => current > bound,
    };
    // If no value was used yet, the value that is set is the next one.
    let wanted = if state.issued {
        bound
    } else {
        bound + state.increment
    };
    match i64::try_from(wanted) {
        Ok(wanted) if behind => set(run, &table, wanted),
        _ => Ok(()),
    }
}

fn set(run: &mut Run<'_>, table: &Arc<Table>, value: i64) -> Result<()> {
    run.cx
        .statement(|cx| Ok(cx.sessions.session().reseed(table, value)?))
}
