//! Repairs.
//!
//! # REPAIR_REBUILD
//! Nonclustered indexes with findings are rebuilt from their tables.
//!
//! 1. The check runs and reports its findings, as without a repair.
//! 2. All indexes whose findings can be repaired without loss are rebuilt in one transaction. Only the
//!    allocation maps of the old index are read, so that damaged pages of it do not matter.
//! 3. The check runs again, unless the caller has a transaction open, whose changes its snapshot would not
//!    contain. Findings that are gone count as repaired.
//!
//! Findings in heaps, clustered indexes, maps and the catalog stay.
//!
//! # REPAIR_ALLOW_DATA_LOSS
//! 1. The check runs and reports its findings.
//! 2. The session leaves the database, which is shut down; new contents of pages are computed from its files.
//! 3. The loss is reported: pages, and the rows that could be read, by key or address.
//! 4. If fewer errors would be left, all pages are written, or none
//!    (`furrow_engine::Instance::repair_database`). The database is opened again. Findings that are gone in
//!    the check of the new contents count as repaired.

use super::Request;
use furrow_check::{Finding, Options, Progress, Repair, Repaired, Report};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::{Database, DatabaseState, is_repair_written};
use furrow_format::{DatabaseId, ObjectId, PageId, UserAccess};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_observe::suspects::SuspectEvent;
use furrow_observe::task;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A repair that an argument requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// REPAIR_REBUILD
    Rebuild,
    /// REPAIR_ALLOW_DATA_LOSS
    DataLoss,
    /// REPAIR_FAST: kept by SQL Server for old scripts, repairs nothing.
    Nothing,
}

impl Order {
    /// The repair with this name, if there is one; 7919 if the database is not in SINGLE_USER.
    pub(super) fn of(word: &str, db: &Arc<Database>) -> Result<Option<Order>> {
        let order = match &*word.to_ascii_uppercase() {
            "REPAIR_REBUILD" => Order::Rebuild,
            "REPAIR_FAST" => Order::Nothing,
            "REPAIR_ALLOW_DATA_LOSS" => Order::DataLoss,
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

/// The indexes that a rebuild repairs, with their numbers of findings.
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

/// Rebuilds these indexes; returns the number of findings that are gone.
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
    let left = again.findings.iter().filter(stays).map(|f| f.errors).sum();
    Ok(before.saturating_sub(left))
}

/// Reports how many errors of allocation and of consistency were repaired.
pub(super) fn say(
    run: &mut Run<'_>,
    (command, database): (&'static str, &str),
    (allocation, consistency): (u64, u64),
) {
    let args = [
        command.into(),
        allocation.into(),
        consistency.into(),
        database.into(),
    ];
    run.inform(Message::new(8912, &args));
}

/// Findings of the boot page, the catalog and file headers: where a repair leaves them, none removes them.
const NO_REPAIR: &[u32] = &[5250, 8930, 8992];

fn sums(findings: &[Finding]) -> (u64, u64) {
    let (allocation, consistency): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|f| f.is_allocation());
    let errors = |some: Vec<&Finding>| some.iter().map(|f| f.errors).sum();
    (errors(allocation), errors(consistency))
}

/// Reports the findings that this level of repair does not change.
pub(super) fn say_bypassed(run: &mut Run<'_>, report: &Report) {
    let of_loss = |f: &&Finding| f.repair() == Repair::AllowDataLoss;
    let bypassed = report.findings.iter().filter(of_loss).count();
    if bypassed > 0 {
        let text = format!(
            "The repair level on the DBCC statement caused this repair to be bypassed: {bypassed} errors."
        );
        run.inform(Message::custom(0, 0, 1, &text));
    }
}

/// Repairs with loss of data; returns the number of findings that are gone.
pub(super) fn allow_data_loss(
    run: &mut Run<'_>,
    (command, db): (&'static str, Arc<Database>),
    options: Options,
) -> Result<u64> {
    if run.cx.sessions.count() > 0 {
        return Err(unsupported("REPAIR_ALLOW_DATA_LOSS in a transaction"));
    }
    if db.is_temporary() || db.name().eq_ignore_ascii_case("master") {
        return Err(unsupported("REPAIR_ALLOW_DATA_LOSS of a system database"));
    }
    let (name, id) = (db.name().to_owned(), db.id());
    let is_in_emergency = db.state() == DatabaseState::Emergency;
    let inside = run.cx.sessions.database().id() == db.id();
    if inside {
        run.cx.change_database("master")?;
        // Those of a text that is not stored, too: plans hold tables, and tables hold files open.
        run.plans.inspect(|plans| plans.forget());
    }
    drop(db);
    let instance = Arc::clone(run.cx.server.instance());
    let (options, scratch) = super::limits(run, options);
    let task = task::current();
    let listener = |_: Progress| !task.is_cancelled();
    let how = (
        &options,
        (
            Some(&scratch),
            Some(&listener as furrow_check::Listener<'_>),
        ),
    );
    let (mut agreed, mut events) = (false, Vec::new());
    let repaired = instance.repair_database_within(&name, how, &mut |repaired| {
        agreed = repaired.left.len() < repaired.found.len()
            || is_in_emergency && repaired.left.is_empty();
        match agreed {
            true => {
                events = events_of(repaired);
                say_losses(run, &name, repaired);
            }
            false => say_useless(run, &name, repaired),
        }
        agreed
    });
    // The result of the repair is reported even if the session cannot return to the database.
    let back = |run: &mut Run<'_>| match inside {
        true => run.cx.change_database(&name),
        false => Ok(()),
    };
    let repaired = match repaired {
        Ok(repaired) => repaired,
        Err(error) => {
            if is_repair_written(&error) {
                note_events(run, id, &events);
            }
            // The error of the repair is more important than an error of the return.
            let _back = back(run);
            return Err(error.into());
        }
    };
    let fixed = say_repaired(run, (command, &name, id), (&repaired, agreed));
    if is_in_emergency && let Ok(db) = run.cx.server.instance().database(&name) {
        for message in db.take_messages() {
            run.inform(message);
        }
    }
    back(run)?;
    Ok(fixed)
}

fn say_useless(run: &mut Run<'_>, name: &str, repaired: &Repaired) {
    for note in repaired.notes.iter().filter(|_| repaired.refused) {
        run.inform(Message::custom(0, 0, 1, note));
    }
    let text = format!(
        "Nothing was written: the repair of database \"{name}\" would leave as many errors as there are."
    );
    run.inform(Message::custom(0, 0, 1, &text));
}

/// Reports the result of a repair, and whether it was written; returns the number of findings that are gone.
fn say_repaired(
    run: &mut Run<'_>,
    (command, name, id): (&'static str, &str, DatabaseId),
    (repaired, written): (&Repaired, bool),
) -> u64 {
    for subject in repaired.rebuilt.iter().filter(|_| written) {
        let kind = match subject.index_id {
            0 => "Heap",
            1 => "Clustered index",
            _ => "Nonclustered index",
        };
        let text = format!(
            "Repair: The {kind} successfully rebuilt for the object \"{subject}\" in database \"{name}\"."
        );
        run.inform(Message::custom(8945, 10, 1, &text));
    }
    let (found, left) = (sums(&repaired.found), sums(&repaired.left));
    let gone = |found: u64, left: u64| match written {
        true => found.saturating_sub(left),
        false => 0,
    };
    let fixed = (gone(found.0, left.0), gone(found.1, left.1));
    let never = |f: &Finding| NO_REPAIR.contains(&f.number());
    if repaired.refused || repaired.left.iter().any(never) {
        let text = "The system cannot self repair this error: the catalog, the boot page or a file \
            header is damaged. Restore the database from a backup.";
        run.inform(Message::custom(0, 0, 1, text));
    } else if !repaired.left.is_empty() {
        let text = format!("{} errors are left.", repaired.left.len());
        run.inform(Message::custom(0, 0, 1, &text));
    }
    if written && !repaired.pages.is_empty() {
        note_events(run, id, &events_of(repaired));
        let text = "The repair is not in the log: take a full backup of the database now.";
        run.inform(Message::custom(0, 0, 1, text));
    }
    say(run, (command, name), fixed);
    fixed.0 + fixed.1
}

/// What happens to suspect pages by a repair.
fn events_of(repaired: &Repaired) -> Vec<(PageId, SuspectEvent)> {
    let lost: BTreeSet<PageId> = repaired
        .losses
        .iter()
        .flat_map(|loss| loss.pages.clone())
        .collect();
    let event = |page: &PageId| match lost.contains(page) {
        true => SuspectEvent::Deallocated,
        false => SuspectEvent::Repaired,
    };
    let pages = lost.iter().chain(repaired.pages.keys());
    pages.map(|page| (*page, event(page))).collect()
}

/// Records the repair of suspect pages.
fn note_events(run: &Run<'_>, id: DatabaseId, events: &[(PageId, SuspectEvent)]) {
    let suspects = &run.cx.server.instance().instruments().suspects;
    for (page, event) in events {
        suspects.note((id.0, page.file.0, page.page.0), *event);
    }
}

/// Most rows and pages that are listed for one table.
const NAMED: usize = 10;

/// The first of some pages, and how many more there are.
fn shown(pages: &BTreeSet<PageId>) -> String {
    let named: Vec<String> = pages.iter().take(NAMED).map(ToString::to_string).collect();
    match pages.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn say_losses(run: &mut Run<'_>, name: &str, repaired: &Repaired) {
    let text = match (repaired.loses_nothing(), repaired.pages.is_empty()) {
        (true, true) => return,
        (true, false) => format!("Repair of database \"{name}\" loses no row."),
        (false, _) => format!("Repair of database \"{name}\" loses:"),
    };
    say_loss(run, &text);
    for note in &repaired.notes {
        say_loss(run, &format!("- {note}"));
    }
    if repaired.new_log {
        let text = "- The changes that only the old log has: the log is replaced.";
        say_loss(run, text);
    }
    let unowned = repaired.lost_pages();
    if !unowned.is_empty() {
        let text = format!(
            "- Pages {}, whose table is not known: what only they hold.",
            shown(&unowned)
        );
        say_loss(run, &text);
    }
    for loss in &repaired.losses {
        let rows = match loss.row_count {
            0 => "what only they hold".to_owned(),
            count => {
                let named: Vec<&str> = loss.rows.iter().take(NAMED).map(String::as_str).collect();
                format!("{count} rows that break a rule ({})", named.join("; "))
            }
        };
        let text = format!("- {}: pages {}; {rows}.", loss.subject, shown(&loss.pages));
        say_loss(run, &text);
    }
}

/// Sends a line about a loss, and writes it to the error log: the session may end before it is read.
fn say_loss(run: &mut Run<'_>, text: &str) {
    let source = Source::Spid(run.cx.sessions.id());
    run.cx.server.instance().error_log().write(source, text);
    run.inform(Message::custom(0, 0, 1, text));
}
