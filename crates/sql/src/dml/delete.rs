//! DELETE.

use super::rules::{Rules, Verb, tell};
use super::target::{sources, topped};
use crate::bind::Binder;
use crate::error::Result;
use crate::interp::Run;
use furrow_engine::RowKey;
use furrow_format::types::Value;
use furrow_tsql::ast::dml::Delete;

/// Runs a DELETE.
pub(crate) fn delete(run: &mut Run<'_>, written: &Delete) -> Result<()> {
    let (rows, told) = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let found = sources(
            &mut binder,
            &written.target,
            &written.from,
            written.filter.as_ref(),
        )?;
        let target = found.target.clone();
        let mut rules = Rules::bind(&mut binder, Verb::Delete, &target, &written.output)?;
        let whole = rules.whole();
        let row_at = found.start..found.name_at;
        if whole {
            binder.use_all(row_at.clone());
        }
        let name_at = found.name_at;
        let plan = binder.place(found.node, found.conds);
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        let mut keys = Vec::new();
        plan.for_each(cx, &mut |_, row| {
            if let Some(Value::Binary(bytes)) = row.get(name_at)
                && let Some(key) = RowKey::from_bytes(bytes)
            {
                let old = row.get(row_at.clone()).filter(|_| whole);
                keys.push((key, old.unwrap_or(&[]).to_vec()));
            }
            Ok(())
        })?;
        let mut rows = 0_u64;
        for (key, old) in &keys {
            let session = cx.sessions.of(&target.db)?;
            let gone = session.hinted(target.hints, |s| s.delete(&target.table, key))?;
            rows += u64::from(gone);
            if gone && whole {
                rules.put_out(cx, old)?;
            }
        }
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}
