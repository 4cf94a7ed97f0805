//! Transactions as statements.

use super::Run;
use crate::error::{Result, refuse, unsupported};
use furrow_engine::Isolation;
use furrow_tsql::ast::database::NameOrVariable;
use furrow_tsql::ast::flow::{IsolationLevel, Transaction};

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

/// BEGIN, COMMIT, ROLLBACK, SAVE.
pub(super) fn run(run: &mut Run<'_>, written: &Transaction) -> Result<()> {
    match written {
        Transaction::Begin { distributed, .. } => {
            if *distributed {
                return Err(unsupported("BEGIN DISTRIBUTED TRANSACTION"));
            }
            run.cx.sessions.begin()?;
        }
        Transaction::Commit { options, .. } => {
            if !options.is_empty() {
                return Err(unsupported("COMMIT WITH"));
            }
            run.cx.sessions.commit()?;
        }
        Transaction::Rollback(None) => run.cx.sessions.rollback()?,
        Transaction::Rollback(Some(name)) => {
            let name = name_of(run, name)?;
            if run.cx.sessions.count() == 0 {
                return refuse(3903, &[]);
            }
            if !run.cx.sessions.rollback_to(&name)? {
                return refuse(6401, &[name.into()]);
            }
        }
        Transaction::Save(name) => {
            let name = name_of(run, name)?;
            run.cx.sessions.save(&name)?;
        }
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
