//! Explanation of the findings: which tables and indexes are intact, and what to do next.

use furrow_check::{Finding, Repair, Report, Subject};
use furrow_format::PageId;
use std::collections::{BTreeMap, BTreeSet};

/// The message of a page that cannot be used.
const UNREAD: u32 = 8928;

/// Most pages that a sentence lists.
const NAMED_PAGES: usize = 8;

/// The sentences, one per line. `restore` has the statements that restore pages, where a backup has them.
pub(super) fn lines(database: &str, report: &Report, restore: &[String]) -> Vec<String> {
    let mut lines = vec!["What this means:".to_owned()];
    let mut by_index: BTreeMap<(i32, i32), Vec<&Finding>> = BTreeMap::new();
    let mut alone = 0;
    for finding in &report.findings {
        match &finding.subject {
            Some(s) => by_index
                .entry((s.object_id, s.index_id))
                .or_default()
                .push(finding),
            None => alone += finding.errors,
        }
    }
    // Tables that lose rows themselves.
    let damaged: BTreeSet<i32> = by_index
        .iter()
        .filter(|((_, index), found)| *index <= 1 && worst(found) == Some(Repair::AllowDataLoss))
        .map(|((object, _), _)| *object)
        .collect();
    for findings in by_index.values() {
        if let Some(subject) = findings.first().and_then(|f| f.subject.as_ref()) {
            let is_alone = !damaged.contains(&subject.object_id);
            lines.push(of_index((subject, is_alone), findings, report));
            lines.extend(ranges(findings));
        }
    }
    if alone > 0 {
        lines.push(format!(
            "- {alone} errors concern the allocation maps, the catalog or pages of no table."
        ));
    }
    let hit: BTreeSet<i32> = by_index.keys().map(|(object, _)| *object).collect();
    let sound = report
        .objects
        .iter()
        .filter(|o| !hit.contains(&o.object_id));
    lines.push(format!(
        "- {} of {} tables, those of the catalog included, have no finding of their own.",
        sound.count(),
        report.objects.len()
    ));
    if !restore.is_empty() {
        lines.push(
            "- Next: restore the pages that cannot be read, while others work in the database; no row is \
             lost. Check again afterwards."
                .to_owned(),
        );
        lines.extend(restore.iter().map(|statement| format!("    {statement}")));
        return lines;
    }
    lines.push(next(database, report));
    lines
}

/// The key ranges on unusable pages, as far as they are known from the pages above them.
fn ranges(findings: &[&Finding]) -> Vec<String> {
    let unread = findings.iter().filter(|f| f.number() == UNREAD);
    let lines = unread.map(|f| format!("  - {}", f.means));
    lines.take(NAMED_PAGES).collect()
}

fn worst(findings: &[&Finding]) -> Option<Repair> {
    findings.iter().map(|f| f.repair()).max()
}

/// `is_alone`: the table of the index loses no row itself.
fn of_index(
    (subject, is_alone): (&Subject, bool),
    findings: &[&Finding],
    report: &Report,
) -> String {
    let pages: BTreeSet<PageId> = findings.iter().filter_map(|f| f.page).collect();
    let named: Vec<String> = pages
        .iter()
        .take(NAMED_PAGES)
        .map(ToString::to_string)
        .collect();
    let more = match pages.len().saturating_sub(NAMED_PAGES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let place = format!("{}{more}", named.join(", "));
    let count: u64 = findings.iter().map(|f| f.errors).sum();
    let worst = worst(findings);
    let is_cut = findings.iter().any(|f| f.is_rest());
    let table = &subject.table;
    match (&subject.index, subject.index_id > 1) {
        (Some(index), true) if worst == Some(Repair::Rebuild) => format!(
            "- Index {index} of {table} cannot be trusted ({count} errors, pages {place}). {}",
            match is_alone {
                true => format!(
                    "The rows of the table are not affected: ALTER INDEX {index} ON {table} REBUILD."
                ),
                false => "It can be rebuilt once the table itself is put right.".to_owned(),
            }
        ),
        _ if worst == Some(Repair::Rebuild) => format!(
            "- Table {table}: its rows are sound, but {count} errors say that its indexes or maps do not \
             agree with them (pages {place})."
        ),
        _ => {
            let total = report
                .objects
                .iter()
                .find(|o| o.object_id == subject.object_id);
            let share = total.map_or(0, |o| o.rows * pages.len() as u64 / o.pages.max(1));
            let rest = match is_cut {
                true => format!("At least {share} rows lie on pages like these."),
                false => format!(
                    "About {share} rows lie on pages like these; the other pages were found sound."
                ),
            };
            format!(
                "- Table {table} cannot be trusted as a whole: {count} errors on pages {place}. {rest}"
            )
        }
    }
}

/// What to do next.
fn next(database: &str, report: &Report) -> String {
    let worst = report.findings.iter().map(Finding::repair).max();
    match worst {
        Some(Repair::Rebuild) | None => format!(
            "- Next: rebuild the indexes named above; {}.",
            cost(Repair::Rebuild)
        ),
        Some(repair) => format!(
            "- Next: put {database} back from a backup taken before the damage, with the log up to now. \
             Without one, copy what can be read; {} is the last resort, and {}.",
            repair.name().to_uppercase(),
            cost(repair)
        ),
    }
}

/// The loss that a level of repair causes, in plain words.
pub(super) fn cost(repair: Repair) -> &'static str {
    match repair {
        Repair::Rebuild => "no row is lost",
        Repair::AllowDataLoss => "rows on damaged pages are lost",
    }
}
