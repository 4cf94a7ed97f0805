//! What the runs of a level used of each bound that they run into: the one judgement behind the table of
//! ceilings, the cause of a difference and "What limits the backup".
//!
//! A use is the geometric mean of the runs, as the table of levels has it.

use super::bounds::{self, FILES, reading_of};
use furrow_lab::journal::History;
use furrow_lab::results::{Ceiling, Run};
use furrow_stats::geometric_mean;

/// Names of figures.
pub(super) const RATE: &str = "backed up";
pub(super) const WRITTEN: &str = "written";
/// Records of a run: the bounds that it runs into.
pub(super) const WRITES_TO: &str = "writes to";
pub(super) const COMPRESSES_BY: &str = "compresses by";

/// A level by its runs: its rate, and its use of each bound that it runs into.
pub(super) struct Row {
    pub(super) level: String,
    pub(super) rate: f64,
    /// Whether its backups are files: NUL keeps none.
    pub(super) has_files: bool,
    pub(super) uses: Vec<Ceiling>,
}

impl Row {
    /// The bound that the level comes closest to.
    pub(super) fn closest(&self) -> Option<&Ceiling> {
        let share = |of: &Ceiling| of.share().unwrap_or(0.0);
        let mut uses = self.uses.iter();
        let first = uses.next()?;
        Some(
            uses.fold(first, |most, next| match share(next) > share(most) {
                true => next,
                false => most,
            }),
        )
    }
}

fn figure(runs: &[&Run], name: &str) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.figures.iter().find(|figure| figure.name == name))
        .map(|figure| figure.value)
        .collect();
    geometric_mean(&values)
}

/// The row of a level by its good runs; `None` without one. `bounds` are the measured ones.
pub(super) fn row(level: &str, runs: &[&Run], bounds: &[Ceiling]) -> Option<Row> {
    let first = runs.first()?;
    let rate = figure(runs, RATE)?;
    let of_record = |record: &str| {
        let value = first.extra.get(record).and_then(|value| value.as_str());
        value.map(str::to_owned)
    };
    let files = first.cell.get(FILES).and_then(|files| files.parse().ok());
    let bounds_of = [
        (Some(reading_of(files)), Some(rate)),
        (of_record(COMPRESSES_BY), Some(rate)),
        (of_record(WRITES_TO), figure(runs, WRITTEN)),
    ];
    let used = |(name, used): (Option<String>, Option<f64>)| {
        let name = name?;
        let bound = bounds.iter().find(|bound| bound.name == name)?;
        let of_level = Ceiling {
            used,
            level: level.to_owned(),
            ..bound.clone()
        };
        of_level.share().is_some().then_some(of_level)
    };
    Some(Row {
        level: level.to_owned(),
        rate,
        has_files: first.extra.contains_key(WRITES_TO),
        uses: bounds_of.into_iter().filter_map(used).collect(),
    })
}

/// The row of a level by the runs in the journal.
fn row_of(level: &str, history: &History, bounds: &[Ceiling]) -> Option<Row> {
    let good = history.runs.values().filter(|run| run.status().is_good());
    let records = good.filter_map(|run| run.record.as_ref());
    let runs: Vec<&Run> = records.filter(|run| run.level == level).collect();
    row(level, &runs, bounds)
}

/// Every bound with its use at the level that came closest to it.
pub(super) fn ceilings(history: &History) -> Vec<Ceiling> {
    let bounds = bounds::measured(history);
    let cells = history.plan.cells();
    let levels = cells.iter().map(|cell| cell.key(&history.plan.factors));
    let rows: Vec<Row> = levels
        .filter_map(|level| row_of(&level, history, &bounds))
        .collect();
    let closest = |bound: &Ceiling| {
        let uses = rows.iter().flat_map(|row| &row.uses);
        let uses = uses.filter(|used| used.name == bound.name);
        let most = uses.max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)));
        most.unwrap_or(bound).clone()
    };
    bounds.iter().map(closest).collect()
}

/// The bounds of the runs of a level, with their use of each.
pub(super) fn limits_of(level: &str, history: &History) -> Vec<Ceiling> {
    let bounds = bounds::measured(history);
    row_of(level, history, &bounds).map_or_else(Vec::new, |row| row.uses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::ceilings::tests::history_of;
    use furrow_lab::design::Factor;
    use furrow_lab::journal::{CeilingProbe, Event, Outcome};
    use furrow_lab::plan::Plan;
    use furrow_lab::results::Figure;

    /// One reader reads 100 MB/s, eight of them 700; the backups reach 90 and 140.
    fn history() -> History {
        let factors = vec![
            Factor::counts("stripes", &[1]),
            Factor::counts(FILES, &[1, 8]),
        ];
        let plan = Plan::new("t", "t?", factors, 1);
        let planned = plan.runs();
        let mut history = history_of(plan.clone());
        for (files, limit, reached) in [(1, 100.0, 90.0), (8, 700.0, 140.0)] {
            let mut mine = planned.iter().filter(|run| run.block == 1);
            let found = mine.find(|run| run.cell.count(FILES) == Some(files));
            let run = found.unwrap().id;
            let probe = CeilingProbe {
                name: "reading the data files".to_owned(),
                write_bytes: 1 << 20,
                writers: files as u32,
                bytes_per_s: limit * 1024.0 * 1024.0,
            };
            history.take(1, &Event::Ceiling { run, probe });
            let record = Run {
                id: run,
                level: files.to_string(),
                cell: [(FILES.to_owned(), files.to_string())].into(),
                figures: vec![Figure::higher(RATE, "MB/s", reached)],
                ..Run::default()
            };
            let (attempt, outcome) = (1, Outcome::Done);
            let record = Box::new(record);
            history.take(
                2,
                &Event::Metric {
                    run,
                    attempt,
                    record,
                },
            );
            let reason = String::new();
            let end = Event::RunEnd {
                run,
                attempt,
                outcome,
                reason,
            };
            history.take(3, &end);
        }
        history
    }

    #[test]
    fn a_level_is_held_against_the_reading_of_as_many_files() {
        let history = history();
        let found = ceilings(&history);
        let figures = |ceiling: &Ceiling| (ceiling.limit, ceiling.level.clone());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "reading 1 data file");
        assert_eq!(figures(&found[0]), (Some(100.0), "1".to_owned()));
        assert_eq!(found[1].name, "reading 8 data files");
        assert_eq!(figures(&found[1]), (Some(700.0), "8".to_owned()));
        for (ceiling, share) in found.iter().zip([0.9, 0.2]) {
            assert!(
                (ceiling.share().unwrap() - share).abs() < 1e-9,
                "{ceiling:?}"
            );
        }
        let limit = |level: &str| limits_of(level, &history).remove(0);
        assert_eq!(
            [limit("1"), limit("8")],
            [found[0].clone(), found[1].clone()]
        );
        assert!(limit("1").is_reached() && !limit("8").is_reached());
    }
}
