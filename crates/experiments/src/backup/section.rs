//! Which of reading, compressing and writing limits the fastest backup, and by how much.

use super::bounds::READING;
use super::options::Options;
use super::{COMPRESSES_BY, RATE, WRITES_TO, WRITTEN};
use furrow_lab::results::{Results, Run, Section, SheetTable};
use furrow_stats::mean;

/// A share of a bound from which on it counts as the limit.
const LIMIT: f64 = 0.85;

/// A level by its runs: its rate, and its share of each bound that it runs into.
struct Row {
    level: String,
    rate: f64,
    shares: Vec<(String, f64)>,
}

fn figure(runs: &[&Run], name: &str) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.figures.iter().find(|figure| figure.name == name))
        .map(|figure| figure.value)
        .collect();
    (!values.is_empty()).then(|| mean(&values))
}

fn row(results: &Results, level: &str) -> Option<Row> {
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
    if let Some(limit) = limit(READING) {
        shares.push((READING.to_owned(), rate / limit));
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
        shares,
    })
}

pub(super) fn sections(options: &Options, results: &Results) -> Vec<Section> {
    let levels = results.levels.iter();
    let rows: Vec<Row> = levels
        .filter_map(|level| row(results, &level.level))
        .collect();
    let Some(best) = rows.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else {
        return Vec::new();
    };
    let closest = best.shares.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let finding = match closest {
        Some((name, share)) if *share >= LIMIT => format!(
            "The fastest ({}) backs up {:.0} MB/s; its limit is {name}: {:.0}% of what this machine does \
             without an engine.",
            best.level,
            best.rate,
            100.0 * share
        ),
        Some((name, share)) => format!(
            "The fastest ({}) backs up {:.0} MB/s and reaches no bound: it is closest to {name}, with {:.0}% \
             of it.",
            best.level,
            best.rate,
            100.0 * share
        ),
        None => format!(
            "The fastest ({}) backs up {:.0} MB/s.",
            best.level, best.rate
        ),
    };
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
