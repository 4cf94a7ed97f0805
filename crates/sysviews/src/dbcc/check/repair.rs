//! REPAIR_REBUILD: nonclustered indexes that a check found wrong are built again from their tables.
//!
//! 1. The check runs and says what it finds, as without a repair.
//! 2. All indexes with findings that need no loss are rebuilt in one transaction. Of an old index only the
//!    allocation maps are read, so that a damaged page of it does no harm.
//! 3. The check runs again, unless the caller has a transaction open, which its snapshot would not see. What
//!    it no longer finds is counted as repaired.
//!
//! Findings in heaps, clustered indexes, maps and the catalog stay as they are.

use super::Request;
use furrow_check::{Finding, Repair, Report};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::Database;
use furrow_format::{ObjectId, UserAccess};
use furrow_messages::Message;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A repair that an argument orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// REPAIR_REBUILD
    Rebuild,
    /// REPAIR_FAST: kept by SQL Server for old scripts, repairs nothing.
    Nothing,
}

impl Order {
    /// The order of a word, if it is one; refused where the database is not in SINGLE_USER (7919).
    pub(super) fn of(word: &str, db: &Arc<Database>) -> Result<Option<Order>> {
        let order = match &*word.to_ascii_uppercase() {
            "REPAIR_REBUILD" => Order::Rebuild,
            "REPAIR_FAST" => Order::Nothing,
            "REPAIR_ALLOW_DATA_LOSS" => {
                single(db)?;
                return Err(unsupported("REPAIR_ALLOW_DATA_LOSS"));
            }
            _ => return Ok(None),
        };
        single(db)?;
        Ok(Some(order))
    }
}

fn single(db: &Arc<Database>) -> Result<()> {
    match db.options().user_access {
        UserAccess::Single => Ok(()),
        _ => refuse(7919, &[]),
    }
}

/// An index by its table's object id and its own id.
type IndexKey = (i32, i32);

/// The indexes that a rebuild puts right, with how many findings they have.
fn rebuildable(report: &Report) -> BTreeMap<IndexKey, u64> {
    let mut indexes: BTreeMap<IndexKey, (u64, bool)> = BTreeMap::new();
    for finding in &report.findings {
        let Some(subject) = finding.subject.as_ref().filter(|s| s.index_id > 1) else {
            continue;
        };
        let key = (subject.object_id, subject.index_id);
        let (count, lossless) = indexes.entry(key).or_insert((0, true));
        *count += 1;
        *lossless &= finding.repair() == Repair::Rebuild;
    }
    let lossless = indexes.into_iter().filter(|(_, (_, lossless))| *lossless);
    lossless.map(|(key, (count, _))| (key, count)).collect()
}

/// Rebuilds what can be rebuilt; the number of findings that are gone.
pub(super) fn rebuild(run: &mut Run<'_>, request: &Request<'_>, report: &Report) -> Result<u64> {
    let wanted = rebuildable(report);
    let mut named = Vec::new();
    for (object, index) in wanted.keys() {
        let table = request.db.catalog().table_by_id(ObjectId(*object));
        let table = table.filter(|t| t.indexes().iter().any(|i| i.id() as i32 == *index));
        if let Some(table) = table {
            let index = table.indexes().iter().find(|i| i.id() as i32 == *index);
            let index = index.map_or_else(String::new, |i| i.name().to_owned());
            named.push((table.schema().to_owned(), table.name().to_owned(), index));
        }
    }
    if named.is_empty() {
        return Ok(0);
    }
    let db = Arc::clone(&request.db);
    run.cx.statement(|cx| {
        let session = cx.sessions.of(&db)?;
        for (schema, table, index) in &named {
            session.rebuild(schema, table, Some(index))?;
        }
        Ok(())
    })?;
    for (schema, table, index) in &named {
        let text = format!(
            "Repair: The Nonclustered index successfully rebuilt for the object \
             \"{schema}.{table}, {index}\" in database \"{}\".",
            db.name()
        );
        run.inform(Message::custom(8945, 10, 1, &text));
    }
    let before: u64 = wanted.values().sum();
    if run.cx.sessions.count() > 0 {
        return Ok(before);
    }
    let again = request.check(run)?.report;
    let stays = |finding: &&Finding| {
        let subject = finding.subject.as_ref();
        subject.is_some_and(|s| wanted.contains_key(&(s.object_id, s.index_id)))
    };
    let left = again.findings.iter().filter(stays).count() as u64;
    Ok(before.saturating_sub(left))
}

/// Says how much was repaired.
pub(super) fn say(run: &mut Run<'_>, request: &Request<'_>, fixed: u64) {
    let args = [
        request.command.into(),
        0.into(),
        fixed.into(),
        request.db.name().into(),
    ];
    run.inform(Message::new(8912, &args));
}
