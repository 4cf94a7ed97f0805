//! The statements that restore damaged pages, where the history of backups in `msdb` has what they need.
//!
//! 1. Pages that cannot be read, and that can be restored alone
//!    (`furrow_engine::Database::restorable_pages`).
//! 2. The last full backup of this database whose files are all there.
//! 3. The log backups from its end on, without a gap, up to the log that the database still has.
//!
//! Where one of these is missing there is no advice: no statement is printed that would be refused for a
//! reason that can be seen beforehand.

use furrow_check::Report;
use furrow_context::run::Run;
use furrow_engine::{
    Database, EngineError, Isolation, LockHints, MOST_RESTORED_PAGES, Row, ScanSpec, Session,
};
use furrow_format::{FileId, PageId};
use furrow_observe::task;
use furrow_types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Messages of a page that is not usable as a whole.
const UNUSABLE: &[u32] = &[8909, 8928, 8966];

/// A backup set of the history.
#[derive(Debug, Clone)]
struct Set {
    is_log: bool,
    position: i64,
    first_lsn: i128,
    last_lsn: i128,
    stripes: Vec<PathBuf>,
}

/// The statements, one a line; none where there is no usable backup.
pub(super) fn statements(run: &Run<'_>, db: &Arc<Database>, report: &Report) -> Vec<String> {
    let named = report.findings.iter();
    let named = named.filter(|f| UNUSABLE.contains(&f.number()));
    let wanted: BTreeSet<PageId> = named.filter_map(|f| f.page).collect();
    let Some((pages, chain)) = db.restorable_pages(&wanted) else {
        return Vec::new();
    };
    let mut by_file: BTreeMap<FileId, usize> = BTreeMap::new();
    for page in &pages {
        *by_file.entry(page.file).or_default() += 1;
    }
    let too_many = by_file.values().any(|count| *count > MOST_RESTORED_PAGES);
    if pages.is_empty() || too_many {
        return Vec::new();
    }
    // What cannot be read of the history is no advice.
    let Ok(sets) = history(run, db) else {
        return Vec::new();
    };
    let chain = i128::try_from(chain.to_numeric()).unwrap_or(i128::MAX);
    let Some((full, logs)) = usable(run, &sets, chain) else {
        return Vec::new();
    };
    let name = format!("[{}]", db.name().replace(']', "]]"));
    let pages: Vec<String> = pages.iter().map(ToString::to_string).collect();
    let pages: Vec<&str> = pages
        .iter()
        .map(|page| page.trim_matches(['(', ')']))
        .collect();
    let mut lines = vec![format!(
        "RESTORE DATABASE {name} PAGE = '{}' {};",
        pages.join(", "),
        from(full)
    )];
    let log = |log: &&Set| format!("RESTORE LOG {name} {};", from(log));
    lines.extend(logs.iter().map(log));
    lines.push(format!("RESTORE DATABASE {name} WITH RECOVERY;"));
    lines
}

fn from(set: &Set) -> String {
    let disk = |path: &PathBuf| {
        let path = path.display().to_string().replace('\'', "''");
        format!("DISK = N'{path}'")
    };
    let stripes: Vec<String> = set.stripes.iter().map(disk).collect();
    let file = match set.position {
        1 => String::new(),
        position => format!("FILE = {position}, "),
    };
    format!("FROM {} WITH {file}NORECOVERY", stripes.join(", "))
}

/// The last full backup that is there, and the log backups that lead from it to the log of the database.
fn usable<'s>(run: &Run<'_>, sets: &'s [Set], chain: i128) -> Option<(&'s Set, Vec<&'s Set>)> {
    let volume = run.cx.server.instance().volume();
    let there = |set: &&Set| {
        let is_there = |path: &PathBuf| volume.exists(Path::new(path)).unwrap_or(false);
        !set.stripes.is_empty() && set.stripes.iter().all(is_there)
    };
    let fulls = sets.iter().filter(|set| !set.is_log).filter(there);
    let full = fulls.max_by_key(|set| set.last_lsn)?;
    let mut logs: Vec<&Set> = sets
        .iter()
        .filter(|set| set.is_log && set.last_lsn > full.last_lsn)
        .filter(there)
        .collect();
    logs.sort_by_key(|set| (set.first_lsn, set.last_lsn));
    let (mut reached, mut taken) = (full.last_lsn, Vec::new());
    for log in logs {
        if log.first_lsn <= reached + 1 && log.last_lsn > reached {
            reached = log.last_lsn;
            taken.push(log);
        }
    }
    // The rest is in the log of the database.
    (reached + 1 >= chain).then_some((full, taken))
}

fn text(row: &Row<'_>, column: Option<usize>) -> Result<String, EngineError> {
    let Some(column) = column else {
        return Ok(String::new());
    };
    Ok(match row.value(column)? {
        Value::NVarChar(text) | Value::VarChar(text) => text,
        _ => String::new(),
    })
}

fn number(row: &Row<'_>, column: Option<usize>) -> Result<i128, EngineError> {
    let Some(column) = column else { return Ok(0) };
    Ok(match row.value(column)? {
        Value::Decimal(number) => number.unscaled,
        Value::Bit(set) => i128::from(set),
        other => other.as_i64().map_or(0, i128::from),
    })
}

/// The sets of this database in `msdb`, without those that are damaged.
fn history(run: &Run<'_>, db: &Arc<Database>) -> Result<Vec<Set>, EngineError> {
    let msdb = run.cx.server.instance().database("msdb")?;
    let mut session = Session::of_task(&msdb, &task::current())?;
    let hints = LockHints {
        isolation: Some(Isolation::ReadUncommitted),
        no_wait: true,
        ..LockHints::default()
    };
    session.hinted(hints, |session| {
        let stripes = stripes(session)?;
        let table = session.table("backupset")?;
        let place = |name: &str| table.columns().iter().position(|c| c.name == name);
        let (media, position) = (place("media_set_id"), place("position"));
        let (first, last) = (place("first_lsn"), place("last_lsn"));
        let (kind, damaged) = (place("type"), place("is_damaged"));
        let (name, binding) = (place("database_name"), place("database_guid"));
        let mut sets = Vec::new();
        let scan = session.scan(&table, &ScanSpec::default())?;
        scan.for_each(|row| {
            let kind = text(&row, kind)?;
            let of_us = text(&row, name)?.eq_ignore_ascii_case(db.name())
                && binding.map(|column| row.value(column)).transpose()?
                    == Some(Value::Guid(db.binding()));
            if of_us && matches!(&*kind, "D" | "L") && number(&row, damaged)? == 0 {
                let media = number(&row, media)?;
                sets.push(Set {
                    is_log: kind == "L",
                    position: i64::try_from(number(&row, position)?).unwrap_or(1),
                    first_lsn: number(&row, first)?,
                    last_lsn: number(&row, last)?,
                    stripes: stripes.get(&media).cloned().unwrap_or_default(),
                });
            }
            Ok(())
        })?;
        Ok(sets)
    })
}

/// Paths of media sets by their numbers, in the order of families.
fn stripes(session: &mut Session) -> Result<BTreeMap<i128, Vec<PathBuf>>, EngineError> {
    let table = session.table("backupmediafamily")?;
    let place = |name: &str| table.columns().iter().position(|c| c.name == name);
    let (media, path) = (place("media_set_id"), place("physical_device_name"));
    let family = place("family_sequence_number");
    let mut found: BTreeMap<(i128, i128), PathBuf> = BTreeMap::new();
    let scan = session.scan(&table, &ScanSpec::default())?;
    scan.for_each(|row| {
        let key = (number(&row, media)?, number(&row, family)?);
        found.insert(key, PathBuf::from(text(&row, path)?));
        Ok(())
    })?;
    let mut stripes: BTreeMap<i128, Vec<PathBuf>> = BTreeMap::new();
    for ((media, _), path) in found {
        stripes.entry(media).or_default().push(path);
    }
    Ok(stripes)
}
