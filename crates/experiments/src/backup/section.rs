//! Which of reading, compressing and writing limits the backup with the highest rate, and by how much.

use super::bounds::{FILES, reading_of};
use super::options::{Options, Throttle};
use super::{COMPRESSES_BY, RATE, WRITES_TO, WRITTEN};
use furrow_lab::results::{Results, Run, Section, SheetTable};
use furrow_stats::mean;

/// A share of a bound from which on it counts as the limit.
const LIMIT: f64 = 0.85;

/// A level by its runs: its rate, and its share of each bound that it runs into.
pub(super) struct Row {
    level: String,
    rate: f64,
    /// Whether its backups are files: NUL keeps none.
    has_files: bool,
    pub(super) shares: Vec<(String, f64)>,
}

fn figure(runs: &[&Run], name: &str) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.figures.iter().find(|figure| figure.name == name))
        .map(|figure| figure.value)
        .collect();
    (!values.is_empty()).then(|| mean(&values))
}

/// The row of a level; `None` without a good run.
pub(super) fn row(results: &Results, level: &str) -> Option<Row> {
    let runs: Vec<&Run> = results.good_runs(level).collect();
    let first = runs.first()?;
    let rate = figure(&runs, RATE)?;
    let limit = |name: &str| {
        let ceiling = results
            .ceilings
            .iter()
            .find(|ceiling| ceiling.name == name)?;
        ceiling.limit.filter(|limit| *limit > 0.0)
    };
    let mut shares = Vec::new();
    let reading = reading_of(first.cell.get(FILES).and_then(|files| files.parse().ok()));
    if let Some(limit) = limit(&reading) {
        shares.push((reading, rate / limit));
    }
    for (record, of) in [
        (COMPRESSES_BY, Some(rate)),
        (WRITES_TO, figure(&runs, WRITTEN)),
    ] {
        let name = first.extra.get(record).and_then(|value| value.as_str());
        if let (Some(name), Some(of)) = (name, of)
            && let Some(limit) = limit(name)
        {
            shares.push((name.to_owned(), of / limit));
        }
    }
    Some(Row {
        level: level.to_owned(),
        rate,
        has_files: first.extra.contains_key(WRITES_TO),
        shares,
    })
}

/// The row with the highest mean rate, of those that write files where there are any.
fn best_of(rows: &[Row]) -> Option<&Row> {
    let has_files = rows.iter().any(|row| row.has_files);
    let rows = rows.iter().filter(|row| row.has_files || !has_files);
    rows.max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// What limits the level with the highest mean rate, which is not always one that is shown to be faster.
fn limited(best: &Row) -> String {
    let highest = format!("The highest mean ({}) is {:.0} MB/s", best.level, best.rate);
    let closest = best.shares.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match closest.map(|(name, share)| (name, *share, 100.0 * share)) {
        Some((name, share, percent)) if share > 1.0 => format!(
            "{highest}; its limit is {name}: {percent:.0}% of what it did when it was measured; while the \
             engine ran it did more."
        ),
        Some((name, share, percent)) if share >= LIMIT => format!(
            "{highest}; its limit is {name}: {percent:.0}% of what this machine does without an engine."
        ),
        Some((name, _, percent)) => format!(
            "{highest} and reaches no bound: it is closest to {name}, with {percent:.0}% of it."
        ),
        None => format!("{highest}."),
    }
}

pub(super) fn sections(options: &Options, results: &Results) -> Vec<Section> {
    let levels = results.levels.iter();
    let rows: Vec<Row> = levels
        .filter_map(|level| row(results, &level.level))
        .collect();
    let Some(best) = best_of(&rows) else {
        return Vec::new();
    };
    let mut finding = limited(best);
    if options.users > 0 && options.throttle != Throttle::MbPerS(0) {
        finding.push_str(
            " The backups were paced: beside users, a bound need not be reached (THROTTLE).",
        );
    }
    let cells = |row: &Row| {
        let shares = row.shares.iter();
        let shares = shares.map(|(name, share)| format!("{name} {:.0}%", 100.0 * share));
        vec![
            row.level.clone(),
            format!("{:.0} MB/s", row.rate),
            shares.collect::<Vec<_>>().join("; "),
        ]
    };
    let names: Vec<String> = options
        .factors()
        .into_iter()
        .map(|factor| factor.name)
        .collect();
    vec![Section {
        heading: "What limits the backup".to_owned(),
        finding,
        text: vec![
            "Reading, compressing and writing were measured without the engine between the runs, through the \
             same volumes; a backup does all three at once, on the same processors."
                .to_owned(),
        ],
        tables: vec![SheetTable {
            caption: "Share of each bound, means of the runs".to_owned(),
            columns: [names.join(" / ").as_str(), "backed up", "share of bounds"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.iter().map(cells).collect(),
        }],
        ..Section::default()
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rate: f64, has_files: bool) -> Row {
        Row {
            level: String::new(),
            rate,
            has_files,
            shares: Vec::new(),
        }
    }

    #[test]
    fn the_limit_is_that_of_a_backup_to_files_where_one_ran() {
        let best = |rows: &[Row]| best_of(rows).map(|row| row.rate);
        let both = [row(300.0, true), row(900.0, false), row(400.0, true)];
        assert_eq!(best(&both), Some(400.0));
        assert_eq!(best(&[row(800.0, false), row(900.0, false)]), Some(900.0));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn a_bound_that_was_passed_is_not_what_the_machine_does() {
        let with = |share: f64| {
            limited(&Row {
                level: "8".to_owned(),
                shares: vec![("a".to_owned(), 0.2), ("b".to_owned(), share)],
                ..row(500.0, true)
            })
        };
        assert_eq!(
            with(1.3),
            "The highest mean (8) is 500 MB/s; its limit is b: 130% of what it did when it was measured; \
             while the engine ran it did more."
        );
        assert_eq!(
            with(0.9),
            "The highest mean (8) is 500 MB/s; its limit is b: 90% of what this machine does without an \
             engine."
        );
        assert_eq!(
            with(0.5),
            "The highest mean (8) is 500 MB/s and reaches no bound: it is closest to b, with 50% of it."
        );
    }
}
