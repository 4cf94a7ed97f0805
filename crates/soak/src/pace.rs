//! Runs by the thousand: several at a time, with a line now and then, up to the first finding.

use crate::Finding;
use crate::crash::Figures;
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::Moment;
use parking_lot::Mutex;

const LINE_EVERY_MS: u64 = 5_000;

/// When it is enough, and how many runs are done at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// After so many power losses.
    pub crashes: u64,
    /// After so many runs.
    pub runs: u64,
    /// Runs at a time.
    pub jobs: usize,
}

struct Progress {
    figures: Figures,
    runs: u64,
    next_seed: u64,
    finding: Option<Box<Finding>>,
    began: Moment,
    reported: Moment,
}

impl Progress {
    fn line(&self) -> String {
        let seconds = self.began.elapsed_us() as f64 / 1e6;
        let f = &self.figures;
        format!(
            "{seconds:6.0} s: {} runs; {} power losses ({:.0} a minute), {} while recovering; {} faults; \
             {} commits; unanswered ones: {} there, {} not",
            self.runs,
            f.crashes,
            f.crashes as f64 * 60.0 / seconds.max(0.001),
            f.in_recovery,
            f.faults_reported + f.faults_unnoticed,
            f.tally.commits,
            f.happened,
            f.vanished
        )
    }
}

/// Does runs of seeds from `first` on until it is enough.
pub fn soak(
    first: u64,
    goal: &Goal,
    run: &(dyn Fn(u64) -> Result<Figures, Box<Finding>> + Sync),
    report: &(dyn Fn(&str) + Sync),
) -> Result<Figures, Box<Finding>> {
    let now = Moment::now();
    let progress = Mutex::new(Progress {
        figures: Figures::default(),
        runs: 0,
        next_seed: first,
        finding: None,
        began: now,
        reported: now,
    });
    let work = || {
        loop {
            let seed = {
                let mut progress = progress.lock();
                let enough = progress.figures.crashes >= goal.crashes || progress.runs >= goal.runs;
                if progress.finding.is_some() || enough {
                    return;
                }
                progress.runs += 1;
                progress.next_seed = progress.next_seed.wrapping_add(1);
                progress.next_seed.wrapping_sub(1)
            };
            let done = run(seed);
            let mut progress = progress.lock();
            match done {
                Ok(figures) => progress.figures.add(&figures),
                Err(finding) => {
                    progress.finding.get_or_insert(finding);
                }
            }
            if progress.reported.elapsed_us() > LINE_EVERY_MS * 1_000 {
                progress.reported = Moment::now();
                report(&progress.line());
            }
        }
    };
    scope(|threads| {
        for job in 1..goal.jobs {
            if let Err(error) = spawn_scoped(threads, format!("soak {job}"), work) {
                report(&format!("fewer at a time: {error}"));
            }
        }
        work();
    });
    let progress = progress.into_inner();
    report(&progress.line());
    progress.finding.map_or(Ok(progress.figures), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn seeds_follow_each_other_until_there_were_enough_crashes() {
        let seen = Mutex::new(BTreeSet::new());
        let run = |seed| {
            assert!(seen.lock().insert(seed));
            Ok(Figures {
                crashes: 4,
                ..Figures::default()
            })
        };
        let goal = Goal {
            crashes: 40,
            runs: u64::MAX,
            jobs: 2,
        };
        let figures = soak(100, &goal, &run, &|_| {}).unwrap();
        assert!(figures.crashes >= 40 && figures.crashes < 48);
        assert!(
            seen.into_inner()
                .iter()
                .copied()
                .eq(100..100 + figures.crashes / 4)
        );
    }

    #[test]
    fn so_many_runs_are_enough() {
        let goal = Goal {
            crashes: u64::MAX,
            runs: 7,
            jobs: 3,
        };
        let run = |_| {
            Ok(Figures {
                faults_reported: 1,
                ..Figures::default()
            })
        };
        assert_eq!(soak(0, &goal, &run, &|_| {}).unwrap().faults_reported, 7);
    }

    #[test]
    fn the_first_finding_ends_it() {
        let run = |seed| {
            let finding = Finding {
                seed,
                place: String::new(),
                what: String::new(),
                steps: Vec::new(),
            };
            if seed >= 5 {
                Err(Box::new(finding))
            } else {
                Ok(Figures::default())
            }
        };
        let goal = Goal {
            crashes: u64::MAX,
            runs: 100,
            jobs: 2,
        };
        let finding = soak(0, &goal, &run, &|_| {}).unwrap_err();
        assert!((5..8).contains(&finding.seed));
    }
}
