//! The sections of the report: throughput by users and files, latencies, page latches, input audit.

use super::options::{Options, Setting};
use crate::workloads::latch_model::{self, Modelled};
use crate::workloads::order_entry::{Asked, DISCLAIMER, Kind};
use crate::workloads::page_latches;
use furrow_lab::design::cells;
use furrow_lab::experiment::{StepError, histogram_of, new_histogram};
use furrow_lab::report::words::count;
use furrow_lab::results::{
    Bounds, Chart, Curve, LevelResult, Panel, Point, Results, Run, Section, SheetTable,
};
use hdrhistogram::Histogram;

/// The name of the record in `Run::extra`.
const RECORD: &str = "order entry";

/// Keeps what sessions asked for.
pub(super) fn keep(run: &mut Run, asked: &Asked) -> Result<(), StepError> {
    let record = serde_json::to_value(asked).map_err(|e| StepError::Failed(e.to_string()))?;
    run.extra.insert(RECORD.to_owned(), record);
    Ok(())
}

fn asked(run: &Run) -> Option<Asked> {
    serde_json::from_value(run.extra.get(RECORD)?.clone()).ok()
}

/// The sections; none where no run was finished.
pub(super) fn sections(options: &Options, results: &Results) -> Vec<Section> {
    if !results.runs.iter().any(|run| run.status.is_good()) {
        return Vec::new();
    }
    let chart = throughput(options, results);
    let most = options.users.iter().max().copied().unwrap_or(1);
    let mut text = vec![DISCLAIMER.to_owned()];
    text.push(format!(
        "How it differs: {}",
        options.deviations().join(" ")
    ));
    let modelled = latch_model::section(results, &modelled(options));
    let asked = asked_in(results.runs.iter());
    let mut found = vec![
        Section {
            heading: "Users and data files".to_owned(),
            finding: chart.finding.clone(),
            text,
            charts: vec![chart],
            tables: vec![latencies(results)],
        },
        Section {
            heading: "Latches of pages".to_owned(),
            finding: page_latches::finding(results),
            text: vec![
                "PFS, GAM and SGAM pages are named database:file:page, as in \
                 sys.dm_os_waiting_tasks.".to_owned(),
                format!("Up to {most} sessions wait at the same time: milliseconds a second may exceed \
                    1,000."),
            ],
            charts: Vec::new(),
            tables: vec![page_latches::table(results)],
        },
        Section {
            heading: "What was asked".to_owned(),
            finding: "After every run that counts, the 12 consistency conditions held, and the tables held \
                      what sessions had got"
                .to_owned(),
            text: skipped_note(results).into_iter().collect(),
            charts: Vec::new(),
            tables: vec![asked.table(options.scale.warehouses)],
        },
    ];
    // Behind the measured latches.
    let place = found.len() - 1;
    found.splice(place..place, modelled);
    found
}

/// Every number of files with each churn, at the most users.
fn modelled(options: &Options) -> Vec<Modelled> {
    let most = options.users.iter().max().copied().unwrap_or(1);
    let factors = options.factors();
    let mut found = Vec::new();
    for cell in cells(&factors) {
        let setting = options.of_cell(&cell);
        if setting.users == most {
            found.push(Modelled {
                panel: format!("churn {}", setting.churn.word()),
                curve: files_word(setting.files),
                level: cell.key(&factors),
                sessions: most,
            });
        }
    }
    found
}

fn files_word(files: u64) -> String {
    if files == 1 {
        "1 file".to_owned()
    } else {
        format!("{files} files")
    }
}

fn most_orders(most: f64, at: Setting) -> String {
    let users = if at.users == 1 { "user" } else { "users" };
    format!(
        "Most new orders per minute, by the means of the runs: {}, at {} {users} on {}, churn {}",
        count(most.round() as u64),
        at.users,
        files_word(at.files),
        at.churn.word()
    )
}

/// The geometric mean of a level, as the table of levels has it, and its least and greatest run.
fn mean_response(results: &Results, key: &str) -> Option<(f64, f64, f64)> {
    let mean = results.level(key)?.mean?;
    let runs = results.good_runs(key).filter_map(|run| run.response);
    let (low, high) = runs.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    Some((mean, low.min(mean), high.max(mean)))
}

/// New orders per minute by users, a curve for each number of files, a panel for each churn.
fn throughput(options: &Options, results: &Results) -> Chart {
    let factors = options.factors();
    let all = cells(&factors);
    let key = |wanted: Setting| {
        let cell = all.iter().find(|cell| options.of_cell(cell) == wanted)?;
        Some(cell.key(&factors))
    };
    let mut best: Option<(f64, Setting)> = None;
    let mut panels = Vec::new();
    for &churn in &options.churn {
        let mut curves = Vec::new();
        for &files in &options.files {
            let mut points = Vec::new();
            for &users in &options.users {
                let setting = Setting {
                    users,
                    files,
                    churn,
                };
                let Some((mean, low, high)) =
                    key(setting).and_then(|key| mean_response(results, &key))
                else {
                    continue;
                };
                if best.is_none_or(|(most, _)| mean > most) {
                    best = Some((mean, setting));
                }
                points.push(Point {
                    x: f64::from(users),
                    y: mean,
                    low: Some(low),
                    high: Some(high),
                });
            }
            curves.push(Curve {
                name: files_word(files),
                points,
            });
        }
        panels.push(Panel {
            title: format!("churn {}", churn.word()),
            curves,
            marks: Vec::new(),
        });
    }
    let finding = best.map_or_else(String::new, |(most, at)| most_orders(most, at));
    Chart {
        finding,
        description:
            "To the right users, upwards new orders per minute: geometric means of the runs, with the least \
             and the greatest of them. A curve for each number of data files."
                .to_owned(),
        x: "users".to_owned(),
        y: "new orders per minute".to_owned(),
        bounds: Bounds::Runs,
        x_by_powers: false,
        panels,
    }
}

/// `0.4 / 6.3 / 8.1`: median, 95th and 99th percentile in milliseconds, and `-` for one of too few operations
/// to have it.
fn percentiles(of: &Histogram<u64>) -> String {
    let at = |quantile: f64, least: u64| match of.len() >= least {
        true => format!("{:.1}", of.value_at_quantile(quantile) as f64 / 1e3),
        false => "-".to_owned(),
    };
    format!("{} / {} / {}", at(0.5, 1), at(0.95, 20), at(0.99, 100))
}

/// p50, p95 and p99 of each kind of transaction at each level, over all its runs.
fn latencies(results: &Results) -> SheetTable {
    let cell = |level: &str, kind: Kind| {
        let mut sum = new_histogram().ok()?;
        for run in results.good_runs(level) {
            let of_kind = run
                .latency
                .iter()
                .find(|latency| latency.operation == kind.name());
            let histogram = of_kind.and_then(histogram_of);
            sum.add(histogram?).ok()?;
        }
        (!sum.is_empty()).then(|| percentiles(&sum))
    };
    let rows = results.levels.iter().map(|level| {
        let cells =
            Kind::ALL.map(|kind| cell(&level.level, kind).unwrap_or_else(|| "-".to_owned()));
        [level.level.clone()].into_iter().chain(cells).collect()
    });
    let heads = Kind::ALL.map(|kind| kind.name().to_owned());
    SheetTable {
        caption: "Latency in ms: median / 95th / 99th percentile, of all runs of a level together; - where \
                  too few ran for it"
            .to_owned(),
        columns: [results.experiment.factor.plural.clone()]
            .into_iter()
            .chain(heads)
            .collect(),
        rows: rows.collect(),
    }
}

/// What sessions asked for in the good ones of these runs together.
fn asked_in<'a>(runs: impl Iterator<Item = &'a Run>) -> Asked {
    let mut sum = Asked::default();
    for run in runs.filter(|run| run.status.is_good()) {
        if let Some(asked) = asked(run) {
            sum.add(&asked);
        }
    }
    sum
}

/// The level at which the largest share of the districts had no order to deliver, in a sentence where that
/// share has to be reported. Other levels may have none: all runs together hide it.
pub(super) fn skipped_note(results: &Results) -> Option<String> {
    let of_level = |level: &LevelResult| {
        let asked = asked_in(results.good_runs(&level.level));
        (level.level.clone(), asked)
    };
    let levels = results.levels.iter().map(of_level);
    let share = |asked: &Asked| asked.skipped_share();
    let most = levels.max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    most.and_then(|(level, asked)| asked.skipped_note(&level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::order_entry::Churn;

    #[test]
    fn deliveries_without_orders_are_noted_with_their_level_although_all_runs_together_have_few() {
        let mut results = Results::default();
        for (level, delivered, skipped) in [("1", 5000, 0), ("600", 970, 30)] {
            let asked = Asked {
                delivered,
                skipped,
                ..Asked::default()
            };
            let mut run = Run {
                level: level.to_owned(),
                ..Run::default()
            };
            keep(&mut run, &asked).unwrap();
            results.runs.push(run);
            results.levels.push(LevelResult {
                level: level.to_owned(),
                ..LevelResult::default()
            });
        }
        assert!(asked_in(results.runs.iter()).skipped_share() < 0.01);
        let note = skipped_note(&results).unwrap();
        assert!(note.contains("3.0% of the districts at 600:"), "{note}");
        results.runs.pop();
        assert_eq!(skipped_note(&results), None);
    }

    #[test]
    fn percentiles_of_few_operations_are_left_out() {
        let of = |operations: u64| {
            let mut latency = new_histogram().unwrap();
            (1..=operations).for_each(|n| latency.saturating_record(1_000 * n));
            percentiles(&latency)
        };
        assert_eq!(
            (of(1), of(19)),
            ("1.0 / - / -".into(), "10.0 / - / -".into())
        );
        assert!(
            of(99).ends_with(" / -") && !of(100).contains('-'),
            "{}",
            of(100)
        );
    }

    #[test]
    fn one_user_is_not_called_users() {
        let at = |users, files| Setting {
            users,
            files,
            churn: Churn::Off,
        };
        assert_eq!(
            most_orders(1234.4, at(1, 1)),
            "Most new orders per minute, by the means of the runs: 1,234, at 1 user on 1 file, churn off"
        );
        assert_eq!(
            most_orders(1234.4, at(8, 4)),
            "Most new orders per minute, by the means of the runs: 1,234, at 8 users on 4 files, churn off"
        );
    }
}
