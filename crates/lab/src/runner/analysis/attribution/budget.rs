//! The time of runs by category: waits, what sessions did outside of the engine, and the rest.

use crate::results::{OVERLAP, OWN_THREADS, Run};
use crate::runner::analysis::facts::Facts;
use std::collections::BTreeMap;

/// The name of the time that no wait accounts for: that of running, and of waiting for a processor or a
/// thread that counts its own waits.
pub(super) const RUNNING: &str = "running or not accounted for";
/// The name of the time between the moment at which a piece of work was due and its begin.
pub(super) const QUEUED: &str =
    "waiting for its turn: more work was due than the sessions had done";
/// The rest of the time of a piece where the run did not record how long it waited for its turn.
pub(super) const UNDIVIDED: &str = "running or waiting for its turn";
/// The rest of the time of sessions that key and think, where the run did not record how long.
pub(super) const UNSLEPT: &str = "running, or keying and thinking";

/// What time is counted of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// Fixed work: seconds of a worker.
    Worker,
    /// Fixed time or rate: milliseconds of a piece of work, because a slower level does fewer of them.
    Piece,
}

impl Basis {
    pub(super) fn of(facts: &Facts<'_>) -> Basis {
        match facts.plan.response.unit.as_str() {
            "s" => Basis::Worker,
            _ => Basis::Piece,
        }
    }

    pub(super) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Basis::Worker => ("s", "per worker", "the elapsed time"),
            Basis::Piece => ("ms", "per piece of work", "the time of one"),
        }
    }

    /// The time of a run, and what a microsecond that all workers waited together counts in it.
    pub(super) fn scale(self, run: &Run) -> Option<(f64, f64)> {
        let seconds = run.seconds?;
        let workers = f64::from(run.workers);
        // Of all kinds: the time of the others is in the sessions' time, too.
        let pieces: f64 = run.latency.iter().map(|kind| kind.count as f64).sum();
        match self {
            Basis::Worker if workers > 0.0 => Some((seconds, 1e-6 / workers)),
            Basis::Piece if pieces > 0.0 => {
                // With a rate the latency includes what waited for its turn, and no sleep of the session.
                let latency_ms = run.latency.first().map_or(0.0, |l| l.mean_us / 1e3);
                let session_ms = workers * seconds * 1e3 / pieces;
                let whole = if run.is_open() {
                    latency_ms
                } else {
                    session_ms
                };
                Some((whole, 1e-3 / pieces))
            }
            _ => None,
        }
    }

    /// Time of a run in which a session or a piece of work was in no wait of the engine and did not run: name
    /// and microseconds.
    fn outside_the_engine(self, run: &Run) -> Option<(&'static str, u64)> {
        if self == Basis::Piece && run.is_open() {
            return run.queued_us.filter(|us| *us > 0).map(|us| (QUEUED, us));
        }
        run.paused()
    }

    /// The name of the time that is left.
    fn rest(self, run: &Run, has_think_times: bool) -> &'static str {
        if self == Basis::Piece && run.is_open() && run.queued_us.is_none() {
            return UNDIVIDED;
        }
        if has_think_times && run.paused_us.is_none() {
            return UNSLEPT;
        }
        RUNNING
    }
}

/// Whether a category is running and something else, in an unknown proportion.
pub(super) fn is_undivided(category: &str) -> bool {
    [UNDIVIDED, UNSLEPT].contains(&category)
}

/// Time by category, means over the good runs of a cell, and the whole time, by [`Basis`].
pub(super) struct Budget {
    pub(super) seconds: BTreeMap<String, f64>,
    pub(super) elapsed: f64,
}

impl Budget {
    /// The mean of some runs, in which each block counts as much as any other.
    pub(super) fn of(runs: &[&Run], basis: Basis, has_think_times: bool) -> Option<Budget> {
        let measured: Vec<(&Run, (f64, f64))> = runs
            .iter()
            .filter_map(|run| Some((*run, basis.scale(run)?)))
            .collect();
        let mut blocks: BTreeMap<u32, f64> = BTreeMap::new();
        for (run, _) in &measured {
            *blocks.entry(run.block).or_insert(0.0) += 1.0;
        }
        if measured.is_empty() {
            return None;
        }
        let weight = |run: &Run| {
            let in_block = blocks.get(&run.block).copied().unwrap_or(1.0);
            1.0 / blocks.len() as f64 / in_block
        };
        let elapsed: f64 = measured
            .iter()
            .map(|(run, time)| time.0 * weight(run))
            .sum();
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        for (run, (_, scale)) in &measured {
            for wait in run.waits.iter().filter(|wait| !wait.benign) {
                let entry = seconds.entry(wait.bucket().to_string()).or_insert(0.0);
                *entry += wait.total_us as f64 * scale * weight(run);
            }
            if let Some((name, us)) = basis.outside_the_engine(run) {
                let entry = seconds.entry(name.to_string()).or_insert(0.0);
                *entry += us as f64 * scale * weight(run);
            }
        }
        let accounted: f64 = seconds.values().sum();
        let mut rests = measured
            .iter()
            .map(|(run, _)| basis.rest(run, has_think_times));
        let rest = rests.find(|name| is_undivided(name)).unwrap_or(RUNNING);
        seconds.insert(rest.to_string(), (elapsed - accounted).max(0.0));
        Some(Budget { seconds, elapsed })
    }

    /// The share of a category in the time of all threads: where several work for a session at a time, this
    /// is more than the time that passes. The shares of all categories are 1 together.
    pub(super) fn share(&self, category: &str) -> f64 {
        let all: f64 = self.seconds.values().sum();
        self.seconds.get(category).copied().unwrap_or(0.0) / all.max(self.elapsed).max(1e-12)
    }

    /// Whether several threads worked for a session at a time.
    pub(super) fn overlaps(&self) -> bool {
        self.seconds.values().sum::<f64>() > OVERLAP * self.elapsed
    }

    /// The category with the most time, but for the wait for the session's own statement.
    pub(super) fn largest(&self) -> Option<&str> {
        let may_explain = self.seconds.iter().filter(|(name, _)| *name != OWN_THREADS);
        let top = may_explain.max_by(|a, b| a.1.total_cmp(b.1));
        top.map(|(category, _)| category.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_counts_as_much_as_any_other() {
        let run = |block, seconds| Run {
            block,
            seconds: Some(seconds),
            workers: 1,
            ..Run::default()
        };
        // The baseline runs twice in a block; once one of the two failed in the slow one.
        let runs = [run(1, 10.0), run(1, 12.0), run(2, 21.0)];
        let runs: Vec<&Run> = runs.iter().collect();
        let budget = Budget::of(&runs, Basis::Worker, false).unwrap();
        assert!((budget.elapsed - 16.0).abs() < 1e-9);
        assert!((budget.seconds[RUNNING] - 16.0).abs() < 1e-9);
        assert_eq!(budget.largest(), Some(RUNNING));
    }

    #[test]
    fn shares_of_threads_that_overlap_add_up_to_the_whole() {
        let wait = |category: &str, seconds: u64| crate::results::WaitTotal {
            category: category.to_owned(),
            total_us: seconds * 1_000_000,
            ..Default::default()
        };
        // Threads of one session wait 16 seconds in 10.
        let run = Run {
            seconds: Some(10.0),
            workers: 1,
            waits: vec![wait("Backup IO", 12), wait("Memory", 4)],
            ..Run::default()
        };
        let budget = Budget::of(&[&run], Basis::Worker, false).unwrap();
        let share = |category: &str| budget.share(category);
        assert!((share("Backup IO") - 0.75).abs() < 1e-9);
        assert!((share("Memory") - 0.25).abs() < 1e-9);
        assert!(share(RUNNING).abs() < 1e-9);
    }
}
