//! Runs by the thousand: several at a time, with a line now and then, up to the first finding.

use crate::Finding;
use crate::crash::Figures;
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::Moment;
use parking_lot::Mutex;

const LINE_EVERY_MS: u64 = 5_000;

struct Progress {
    figures: Figures,
    next_seed: u64,
    finding: Option<Box<Finding>>,
    began: Moment,
    told: Moment,
}

impl Progress {
    fn line(&self) -> String {
        let seconds = self.began.elapsed_us() as f64 / 1e6;
        let f = &self.figures;
        format!(
            "{seconds:6.0} s: {} power losses ({:.0} a minute), {} while recovering; {} commits; unanswered \
             ones: {} there, {} not",
            f.crashes,
            f.crashes as f64 * 60.0 / seconds.max(0.001),
            f.in_recovery,
            f.tally.commits,
            f.happened,
            f.vanished
        )
    }
}

/// Does runs of seeds from `first` on until they came to `crashes` power losses.
pub fn soak(
    first: u64,
    crashes: u64,
    jobs: usize,
    run: &(dyn Fn(u64) -> Result<Figures, Box<Finding>> + Sync),
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Figures, Box<Finding>> {
    let now = Moment::now();
    let progress = Mutex::new(Progress {
        figures: Figures::default(),
        next_seed: first,
        finding: None,
        began: now,
        told: now,
    });
    let work = || {
        loop {
            let seed = {
                let mut progress = progress.lock();
                if progress.finding.is_some() || progress.figures.crashes >= crashes {
                    return;
                }
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
            if progress.told.elapsed_us() > LINE_EVERY_MS * 1_000 {
                progress.told = Moment::now();
                tell(&progress.line());
            }
        }
    };
    scope(|threads| {
        for job in 1..jobs {
            if let Err(error) = spawn_scoped(threads, format!("soak {job}"), work) {
                tell(&format!("fewer at a time: {error}"));
            }
        }
        work();
    });
    let progress = progress.into_inner();
    tell(&progress.line());
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
        let figures = soak(100, 40, 2, &run, &|_| {}).unwrap();
        assert!(figures.crashes >= 40 && figures.crashes < 48);
        assert!(
            seen.into_inner()
                .iter()
                .copied()
                .eq(100..100 + figures.crashes / 4)
        );
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
        let finding = soak(0, 1, 2, &run, &|_| {}).unwrap_err();
        assert!((5..8).contains(&finding.seed));
    }
}
