//! Transaction statements.

use furrow_bind::evaluate;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::{Isolation, TxnMark};
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_tsql::ast::database::NameOrVariable;
use furrow_tsql::ast::expr::Expr;
use furrow_tsql::ast::flow::{IsolationLevel, Transaction};
use furrow_tsql::ast::option::Opt;
use furrow_types::Value;

fn name_of(run: &Run<'_>, name: &NameOrVariable) -> Result<String> {
    match name {
        NameOrVariable::Name(name) => Ok(name.value.to_string()),
        NameOrVariable::Variable(variable) => {
            let place = run.cx.scope.find(&variable.value);
            let value = place.and_then(|at| run.cx.scope.get(at));
            match value {
                Some(value) => Ok(value.value.as_str().unwrap_or("").to_owned()),
                None => refuse(137, &[(*variable.value).into()]),
            }
        }
    }
}

/// Most UTF-16 units of a mark's description.
const MARK_UNITS: usize = 255;

/// The mark of a transaction with this name.
fn mark_of(run: &mut Run<'_>, name: Option<&str>, text: Option<&Expr>) -> Result<TxnMark> {
    let description = match text {
        Some(text) => evaluate(run, text)?.0,
        None => Value::Null,
    };
    let units = description
        .as_str()
        .unwrap_or("")
        .encode_utf16()
        .take(MARK_UNITS);
    let units: Vec<u16> = units.collect();
    Ok(TxnMark {
        name: name.unwrap_or("").to_owned(),
        description: String::from_utf16_lossy(&units),
    })
}

/// Refuses the end of a transaction that contains a running INSERT ... EXEC.
fn not_captured(run: &Run<'_>, written: &Transaction) -> Result<()> {
    let Some(outer) = run.cx.capturing else {
        return Ok(());
    };
    match written {
        Transaction::Rollback(None) => refuse(3915, &[]),
        Transaction::Commit { .. } if run.cx.sessions.count() <= outer => refuse(3916, &[]),
        _ => Ok(()),
    }
}

/// BEGIN, COMMIT, ROLLBACK, SAVE.
pub(super) fn run(run: &mut Run<'_>, written: &Transaction) -> Result<()> {
    not_captured(run, written)?;
    match written {
        Transaction::Begin {
            distributed,
            name,
            mark,
        } => {
            if *distributed {
                return Err(unsupported("BEGIN DISTRIBUTED TRANSACTION"));
            }
            let name = name.as_ref().map(|n| name_of(run, n)).transpose()?;
            let mark = match mark {
                Some(text) => Some(mark_of(run, name.as_deref(), text.as_ref())?),
                None => None,
            };
            run.cx.sessions.begin(name)?;
            if let Some(mark) = mark
                && !run.cx.sessions.set_mark(mark)?
            {
                run.inform(Message::new(3920, &[]));
            }
        }
        Transaction::Commit { options, .. } => {
            // DELAYED_DURABILITY is the only option.
            let delayed = options.iter().any(Opt::is_on);
            run.cx.sessions.commit_with(delayed)?;
        }
        Transaction::Rollback(None) => run.cx.sessions.rollback()?,
        Transaction::Rollback(Some(name)) => {
            let name = name_of(run, name)?;
            run.cx.sessions.rollback_named(&name)?;
        }
        Transaction::Save(name) => {
            let name = name_of(run, name)?;
            run.cx.sessions.save(&name)?;
        }
    }
    let ends = matches!(
        written,
        Transaction::Commit { .. } | Transaction::Rollback(_)
    );
    let closes = run.cx.set.has(Switches::CURSOR_CLOSE_ON_COMMIT);
    if ends && closes && run.cx.sessions.count() == 0 {
        run.cx.cursors.close_all();
    }
    run.done(None);
    Ok(())
}

/// SET TRANSACTION ISOLATION LEVEL.
pub(super) fn set_isolation(run: &mut Run<'_>, level: IsolationLevel) {
    run.cx.sessions.set_isolation(match level {
        IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Snapshot => Isolation::Snapshot,
        IsolationLevel::Serializable => Isolation::Serializable,
    });
}
