//! How often the analysis is right, question by question.

use crate::trial::{Noise, Trial};
use furrow_lab::design::Factor;
use furrow_lab::results::{Badge, Results, Verdict};
use furrow_stats::Stream;
use furrow_stats::noise::alarm_chance;
use std::fmt;

/// The limit of a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// How often something was seen, and how often it may be.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) what: String,
    pub(crate) seen: usize,
    pub(crate) of: usize,
    pub(crate) limit: Limit,
}

impl Share {
    /// Whether chance alone explains what lies beyond the limit: a share at the limit passes 99 times in 100.
    pub(crate) fn holds(&self) -> bool {
        match self.limit {
            Limit::AtMost(share) => alarm_chance(self.seen, self.of, share) > 0.01,
            Limit::AtLeast(share) => alarm_chance(self.of - self.seen, self.of, 1.0 - share) > 0.01,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.seen as f64 / self.of.max(1) as f64;
        let (word, limit) = match self.limit {
            Limit::AtMost(share) => ("at most", share),
            Limit::AtLeast(share) => ("at least", share),
        };
        let verdict = if self.holds() { "" } else { "  FAILS" };
        write!(
            f,
            "{:<58} {:>5} of {:>5} = {percent:>5.1}%  ({word} {:.0}%){verdict}",
            self.what,
            self.seen,
            self.of,
            100.0 * limit
        )
    }
}

/// What `one` gives for each seed, in their order; all processors take part.
fn over_seeds<T: Send>(trials: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut found: Vec<(u64, Option<T>)> = (0..trials).map(|seed| (seed, None)).collect();
    let share = found.len().div_ceil(workers).max(1);
    furrow_io::thread::scope(|scope| {
        for part in found.chunks_mut(share) {
            let one = &one;
            scope.spawn(move || {
                part.iter_mut()
                    .for_each(|(seed, it)| *it = Some(one(*seed)));
            });
        }
    });
    found.into_iter().filter_map(|(_, it)| it).collect()
}

/// Counts trials over seeds; `judge` gives `None` for a trial that does not count.
fn count(
    what: String,
    limit: Limit,
    trial: &Trial,
    trials: u64,
    judge: impl Fn(&Results) -> Option<bool> + Sync,
) -> Share {
    let judged = over_seeds(trials, |seed| judge(&trial.run(20_000 + seed)));
    let judged: Vec<bool> = judged.into_iter().flatten().collect();
    Share {
        what,
        seen: judged.iter().filter(|&&seen| seen).count(),
        of: judged.len(),
        limit,
    }
}

fn names_a_difference(results: &Results) -> bool {
    let mut verdicts = results.levels.iter().filter_map(|level| level.verdict);
    verdicts.any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
}

/// Whether the interval of any level leaves out a ratio of 1.
fn an_interval_misses_one(results: &Results) -> bool {
    let mut intervals = results.levels.iter().filter_map(|level| level.interval);
    intervals.any(|interval| !interval.contains(1.0))
}

/// Whether any difference of the curves is called shown.
fn curves_show(results: &Results) -> bool {
    let tables = results.sections.iter().flat_map(|section| &section.tables);
    let mut rows = tables.flat_map(|table| &table.rows);
    rows.any(|row| row.last().is_some_and(|cell| cell == "shown"))
}

/// Experiments without any effect, in every design and with every noise.
pub(crate) fn false_alarms(trials: u64) -> Vec<Share> {
    let flat = [100.0; 6];
    let designs = [
        (
            "five levels",
            Trial::files(&flat[..5], Noise::Independent, 0.02),
        ),
        (
            "A/B",
            Trial {
                factors: vec![Factor::words("setting", &["a", "b"])],
                ..Trial::files(&flat[..2], Noise::Independent, 0.02)
            },
        ),
        (
            "two factors",
            Trial {
                factors: vec![
                    Factor::counts("files", &[1, 2, 4]),
                    Factor::counts("users", &[1, 8]),
                ],
                ..Trial::files(&flat, Noise::Independent, 0.02)
            },
        ),
    ];
    let mut shares = Vec::new();
    for (name, design) in designs {
        for noise in Noise::LEVEL {
            let trial = Trial {
                noise,
                ..design.clone()
            };
            let what = |which: &str| format!("A/A, {name}, {noise:?}: {which}");
            let limit = Limit::AtMost(0.05);
            shares.push(count(
                what("a difference is named"),
                limit,
                &trial,
                trials,
                |r| Some(names_a_difference(r)),
            ));
            if trial.factors.len() > 1 {
                shares.push(count(
                    what("the curves show one"),
                    limit,
                    &trial,
                    trials,
                    |r| Some(curves_show(r)),
                ));
            }
        }
    }
    shares
}

/// The family-wise error of the intervals where the spread grows with the level, and where it does not.
pub(crate) fn growing_spread(trials: u64) -> Vec<Share> {
    let kinds = [(Noise::Independent, 0.06), (Noise::Growing, 0.08)];
    let share = |(noise, most): (Noise, f64)| {
        let trial = Trial::files(&[100.0; 5], noise, 0.02);
        let what = format!("{noise:?} noise: an interval misses the truth");
        count(what, Limit::AtMost(most), &trial, trials, |r| {
            Some(an_interval_misses_one(r))
        })
    };
    kinds.map(share).to_vec()
}

/// Of the experiments that promised to see 5%, how many name the level that has it.
pub(crate) fn planted(trials: u64) -> Vec<Share> {
    let mut shares = Vec::new();
    for (effect, noise) in [
        (0.95, Noise::Independent),
        (1.05, Noise::Independent),
        (1.05, Noise::Alike),
        (0.95, Noise::HeavyTailed),
        (1.05, Noise::Recorded),
        (0.95, Noise::Growing),
    ] {
        let found = |results: &Results| {
            let promised = results.noise.mde_after?.effect <= 0.05;
            let verdict = results.level("4").and_then(|level| level.verdict);
            let wanted = if effect < 1.0 {
                Verdict::Better
            } else {
                Verdict::Worse
            };
            promised.then_some(verdict == Some(wanted))
        };
        let mut all = Share {
            what: format!(
                "planted {:+.0}%, {noise:?}: found where promised",
                100.0 * (effect - 1.0)
            ),
            seen: 0,
            of: 0,
            limit: Limit::AtLeast(0.9),
        };
        // Many of the noisier experiments have no promised verdict; few of those that have one are far from
        // the edge.
        for cv in [0.008, 0.013, 0.018, 0.023] {
            let truth = [100.0, 100.0, 100.0 * effect, 100.0, 100.0];
            let trial = Trial::files(&truth, noise, cv);
            let share = count(String::new(), all.limit, &trial, trials.div_ceil(4), found);
            all.seen += share.seen;
            all.of += share.of;
        }
        shares.push(all);
    }
    shares
}

/// Truths with the level that is the fewest as good as the best.
const KNEES: [([f64; 5], &str); 5] = [
    ([100.0, 95.0, 90.0, 90.0, 90.0], "4"),
    ([100.0, 94.0, 94.0, 94.0, 97.0], "2"),
    ([100.0, 97.0, 94.0, 94.0, 94.0], "4"),
    ([100.0, 90.0, 80.0, 70.0, 75.0], "8"),
    ([100.0, 100.0, 100.0, 100.0, 100.0], "1"),
];

/// Of the experiments that name a knee, how many name the right one.
pub(crate) fn knees(trials: u64) -> Vec<Share> {
    let mut shares = Vec::new();
    for noise in [
        Noise::Independent,
        Noise::Alike,
        Noise::HeavyTailed,
        Noise::Growing,
    ] {
        for (truth, knee) in KNEES {
            let trial = Trial::files(&truth, noise, 0.012);
            let what = format!("knee at {knee} of {truth:?}, {noise:?}");
            let right = |results: &Results| {
                let named = results.answer.recommended.as_deref();
                named.map(|named| named == knee)
            };
            shares.push(count(
                what,
                Limit::AtLeast(0.9),
                &trial,
                trials.div_ceil(2),
                right,
            ));
        }
    }
    shares
}

/// Experiments that are called conclusive and recommend another level than the fewest needed, after the
/// advice was followed.
pub(crate) fn needless(trials: u64) -> Vec<Share> {
    let mut shares = Vec::new();
    for noise in [Noise::Independent, Noise::Alike, Noise::HeavyTailed] {
        for (truth, needed) in [
            ([100.0, 100.0, 100.0, 100.0, 100.0], "1"),
            ([100.0, 95.0, 95.0, 95.0, 95.0], "2"),
            ([100.0, 97.0, 94.0, 94.0, 94.0], "4"),
            ([100.0, 99.0, 99.0, 99.0, 99.0], "1"),
        ] {
            let trial = Trial {
                follows_advice: true,
                ..Trial::files(&truth, noise, 0.02)
            };
            let what = format!("needless recommendation, {truth:?}, {noise:?}");
            let wrong = |results: &Results| {
                let named = results.answer.recommended.as_deref();
                Some(results.answer.badge == Badge::Conclusive && named != Some(needed))
            };
            shares.push(count(
                what,
                Limit::AtMost(0.1),
                &trial,
                trials.div_ceil(2),
                wrong,
            ));
        }
    }
    shares
}

/// Of the searches, how many name a configuration within the margin of the best, and how many take more than
/// a third of the full factorial's runs.
pub(crate) fn searches(trials: u64) -> Vec<Share> {
    let factors = vec![
        Factor::counts("files", &[1, 2, 4, 8]),
        Factor::counts("rows", &[1, 10, 100]),
        Factor::words("layout", &["sequential", "random-key"]),
    ];
    let cells = 24;
    let mut shares = Vec::new();
    for noise in [
        Noise::Independent,
        Noise::Alike,
        Noise::HeavyTailed,
        Noise::Recorded,
    ] {
        for (name, step) in [("wide", 0.1), ("narrow", 0.025)] {
            let found = over_seeds(trials, |seed| {
                let mut stream = Stream::named(seed, "search");
                let truth: Vec<f64> = (0..cells)
                    .map(|_| 100.0 * (step * stream.normal()).exp())
                    .collect();
                let trial = Trial {
                    factors: factors.clone(),
                    search: true,
                    ..Trial::files(&truth, noise, 0.02)
                };
                let results = trial.run(40_000 + seed);
                let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
                let leader = leader(&results).unwrap_or(0);
                let is_good = truth[leader] <= 1.02 * best;
                (is_good, 3 * results.runs.len() > cells * 6)
            });
            shares.push(Share {
                what: format!("search, {name}, {noise:?}: within 2% of the best"),
                seen: found.iter().filter(|search| search.0).count(),
                of: found.len(),
                limit: Limit::AtLeast(0.9),
            });
            shares.push(Share {
                what: format!("search, {name}, {noise:?}: more than a third of the runs"),
                seen: found.iter().filter(|search| search.1).count(),
                of: found.len(),
                limit: Limit::AtMost(0.0),
            });
        }
    }
    shares
}

/// The configuration in the first row of the table of a search.
fn leader(results: &Results) -> Option<usize> {
    let key = results
        .sections
        .first()?
        .tables
        .first()?
        .rows
        .first()?
        .get(1)?;
    results.levels.iter().position(|level| level.level == *key)
}
