//! What the runs of a check measured, by degree and mode.

use super::options::Mode;
use crate::workloads::paired;
use furrow_lab::results::{Results, Run};
use furrow_stats::geometric_mean;
use serde::{Deserialize, Serialize};

/// The name under which a run keeps its record.
const RECORD: &str = "check";

/// What a run was, and what came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    dop: u64,
    mode: String,
    seconds: f64,
    rate: f64,
    /// Seconds of waits and latches that are no background work, by name.
    waits: Vec<(String, f64)>,
}

/// Keeps the record of a run with it.
pub(super) fn keep(run: &mut Run, (dop, mode): (u64, Mode), seconds: f64, rate: f64) {
    let waits = run.waits.iter().chain(&run.background_waits);
    let waits = waits
        .filter(|wait| !wait.benign)
        .map(|wait| (&wait.wait_type, wait.total_us));
    let latches = run
        .latches
        .iter()
        .map(|latch| (&latch.class, latch.total_us));
    let all = waits.chain(latches).filter(|(_, total_us)| *total_us > 0);
    let record = Record {
        dop,
        mode: mode.word().to_owned(),
        seconds,
        rate,
        waits: all
            .map(|(name, us)| (name.clone(), us as f64 / 1e6))
            .collect(),
    };
    if let Ok(value) = serde_json::to_value(&record) {
        run.extra.insert(RECORD.to_owned(), value);
    }
}

/// Geometric means of the runs of one degree in one mode, as the table of levels has them; of waits, which
/// may be 0 and add up, the arithmetic ones.
pub(super) struct CellMeans {
    pub(super) dop: u64,
    pub(super) seconds: f64,
    pub(super) rate: f64,
    pub(super) waits: Vec<(String, f64)>,
}

#[cfg(test)]
impl CellMeans {
    /// A degree with this time.
    pub(super) fn of(dop: u64, seconds: f64) -> CellMeans {
        CellMeans {
            dop,
            seconds,
            rate: 1.0 / seconds,
            waits: Vec::new(),
        }
    }
}

pub(super) fn records(results: &Results) -> Vec<Record> {
    let good = results.runs.iter().filter(|run| run.status.is_good());
    good.filter_map(|run| serde_json::from_value(run.extra.get(RECORD)?.clone()).ok())
        .collect()
}

/// Cells of a mode by degree.
pub(super) fn cells(records: &[Record], mode: &str) -> Vec<CellMeans> {
    let mine: Vec<&Record> = records
        .iter()
        .filter(|record| record.mode == mode)
        .collect();
    let mut dops: Vec<u64> = mine.iter().map(|record| record.dop).collect();
    dops.sort_unstable();
    dops.dedup();
    let cell = |&dop: &u64| {
        let runs: Vec<&Record> = mine.iter().filter(|r| r.dop == dop).copied().collect();
        let of = |part: fn(&Record) -> f64| {
            let values: Vec<f64> = runs.iter().map(|record| part(record)).collect();
            geometric_mean(&values).unwrap_or(0.0)
        };
        let mut waits: Vec<(String, f64)> = Vec::new();
        for (name, seconds) in runs.iter().flat_map(|record| &record.waits) {
            let share = seconds / runs.len() as f64;
            match waits.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += share,
                None => waits.push((name.clone(), share)),
            }
        }
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        CellMeans {
            dop,
            seconds: of(|record| record.seconds),
            rate: of(|record| record.rate),
            waits,
        }
    };
    dops.iter().map(cell).collect()
}

pub(super) fn modes(records: &[Record]) -> Vec<String> {
    let mut modes: Vec<String> = Vec::new();
    for record in records {
        if !modes.contains(&record.mode) {
            modes.push(record.mode.clone());
        }
    }
    modes.sort();
    modes
}

/// Degree and mode of a level.
pub(super) fn parsed(level: &str) -> Option<(u64, &str)> {
    let (dop, mode) = level.split_once(" / ").unwrap_or((level, ""));
    Some((dop.parse().ok()?, mode))
}

/// The level of a degree in a mode.
pub(super) fn level_of(results: &Results, dop: u64, mode: &str) -> String {
    paired::key_of_two(results, &dop.to_string(), mode)
}
