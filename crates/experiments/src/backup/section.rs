//! Which of reading, compressing and writing limits the backup with the highest rate, and by how much.

use super::options::{Options, Throttle};
use super::uses::{Row, row};
use furrow_lab::results::{Ceiling, Results, Run, Section, SheetTable};

/// The row with the highest mean rate, of those that write files where there are any.
fn best_of(rows: &[Row]) -> Option<&Row> {
    let has_files = rows.iter().any(|row| row.has_files);
    let rows = rows.iter().filter(|row| row.has_files || !has_files);
    rows.max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// What limits the level with the highest mean rate, which is not always one that is shown to be faster.
fn limited(best: &Row) -> String {
    let of_files = if best.has_files {
        " of those that write files"
    } else {
        ""
    };
    let highest = format!(
        "The highest mean{of_files} ({}) is {:.0} MB/s",
        best.level, best.rate
    );
    let Some((closest, share)) = best.closest().and_then(|c| Some((c, c.share()?))) else {
        return format!("{highest}.");
    };
    let (name, percent) = (&closest.name, 100.0 * share);
    match closest.is_reached() {
        true if share > 1.0 => format!(
            "{highest}; its limit is {name}: {percent:.0}% of what it did when it was measured; while the \
             engine ran it did more."
        ),
        true => format!(
            "{highest}; its limit is {name}: {percent:.0}% of what this machine does without an engine."
        ),
        false => format!(
            "{highest} and reaches no bound: it is closest to {name}, with {percent:.0}% of it."
        ),
    }
}

pub(super) fn sections(options: &Options, results: &Results) -> Vec<Section> {
    let levels = results.levels.iter();
    let rows: Vec<Row> = levels
        .filter_map(|level| {
            let runs: Vec<&Run> = results.good_runs(&level.level).collect();
            row(&level.level, &runs, &results.ceilings)
        })
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
        let share = |of: &Ceiling| Some(format!("{} {:.0}%", of.name, 100.0 * of.share()?));
        let shares = row.uses.iter().filter_map(share);
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
            caption: "Share of each bound, geometric means of the runs".to_owned(),
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
            uses: Vec::new(),
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
        let bound = |name: &str, used: f64| Ceiling {
            name: name.to_owned(),
            limit: Some(1.0),
            used: Some(used),
            ..Ceiling::default()
        };
        let with = |share: f64| {
            limited(&Row {
                level: "8".to_owned(),
                uses: vec![bound("a", 0.2), bound("b", share)],
                ..row(500.0, true)
            })
        };
        assert_eq!(
            with(1.3),
            "The highest mean of those that write files (8) is 500 MB/s; its limit is b: 130% of what it did \
             when it was measured; while the engine ran it did more."
        );
        assert_eq!(
            with(0.9),
            "The highest mean of those that write files (8) is 500 MB/s; its limit is b: 90% of what this \
             machine does without an engine."
        );
        assert_eq!(
            with(0.5),
            "The highest mean of those that write files (8) is 500 MB/s and reaches no bound: it is closest \
             to b, with 50% of it."
        );
    }
}
