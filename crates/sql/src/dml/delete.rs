//! DELETE.

use super::target::{no_output, sources, topped};
use crate::bind::Binder;
use crate::error::Result;
use crate::interp::Run;
use furrow_engine::RowKey;
use furrow_format::types::Value;
use furrow_tsql::ast::dml::Delete;

/// Runs a DELETE.
pub(crate) fn delete(run: &mut Run<'_>, written: &Delete) -> Result<()> {
    no_output(&written.output)?;
    let rows = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let found = sources(
            &mut binder,
            &written.target,
            &written.from,
            written.filter.as_ref(),
        )?;
        let plan = binder.place(found.node, found.conds);
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        let mut keys = Vec::new();
        plan.for_each(cx, &mut |_, row| {
            if let Some(Value::Binary(bytes)) = row.get(found.name_at) {
                keys.extend(RowKey::from_bytes(bytes));
            }
            Ok(())
        })?;
        let target = found.target;
        let session = cx.sessions.of(&target.db)?;
        let mut rows = 0_u64;
        let hints = target.hints;
        session.hinted(hints, |session| -> Result<()> {
            for key in &keys {
                rows += u64::from(session.delete(&target.table, key)?);
            }
            Ok(())
        })?;
        Ok(rows)
    })?;
    run.done(Some(rows));
    Ok(())
}
