//! Where the time went, and whether that explains the difference.
//!
//! Waits are counted as seconds per worker; together with the time not spent waiting they make up the elapsed
//! time. The change of each category between the baseline and the level recommended (else the best one) is
//! compared with the change of the elapsed time. A category that carries 60% of it is `likely`; `attributed`
//! also needs a measured ceiling that is used to 85%. A category whose share of the time barely changes
//! explains nothing: it merely shrank along with everything else.
//!
//! Time in which a session slept because the load asks for it, and time in which a piece of work that was due
//! waited for a session, are categories of their own: neither is running.

use super::Analysis;
mod classes;
mod outside;

pub(super) use outside::others_share;

use super::facts::Facts;
use super::levels::Judged;
use crate::results::{
    Answer, Attribution, Ceiling, Confidence, NOT_DUE, Run, THINKING, has_think_times,
};
use furrow_stats::mean;
use std::collections::BTreeMap;

/// The name of the time that was not waited.
const RUNNING: &str = "running, not waiting";
/// The name of the time between the moment at which a piece of work was due and its begin.
const QUEUED: &str = "waiting for its turn: more work was due than the sessions had done";
/// The rest of the time of a piece where the run did not record how long it waited for its turn.
const UNDIVIDED: &str = "running or waiting for its turn";
/// The rest of the time of sessions that key and think, where the run did not record how long.
const UNSLEPT: &str = "running, or keying and thinking";
/// Share of the change that a category must carry.
const ENOUGH: f64 = 0.6;
/// Use of a ceiling from which on it limits.
const CEILING: f64 = 0.85;
/// A share that changes by less than this has not changed.
const BARELY: f64 = 0.02;

/// What time is counted of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// Fixed work: seconds of a worker.
    Worker,
    /// Fixed time or rate: milliseconds of a piece of work, because a slower level does fewer of them.
    Piece,
}

impl Basis {
    fn of(facts: &Facts<'_>) -> Basis {
        match facts.plan.response.unit.as_str() {
            "s" => Basis::Worker,
            _ => Basis::Piece,
        }
    }

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Basis::Worker => ("s", "per worker", "the elapsed time"),
            Basis::Piece => ("ms", "per piece of work", "the time of one"),
        }
    }

    /// The time of a run, and what a microsecond that all workers waited together counts in it.
    fn scale(self, run: &Run) -> Option<(f64, f64)> {
        let seconds = run.seconds?;
        let workers = f64::from(run.workers);
        let pieces = run
            .latency
            .first()
            .map_or(0.0, |latency| latency.count as f64);
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
fn is_undivided(category: &str) -> bool {
    [UNDIVIDED, UNSLEPT].contains(&category)
}

/// Time by category, means over the good runs of a cell, and the whole time, by [`Basis`].
struct Budget {
    seconds: BTreeMap<String, f64>,
    elapsed: f64,
}

impl Budget {
    fn of(runs: &[&Run], basis: Basis, has_think_times: bool) -> Option<Budget> {
        let measured: Vec<(&Run, (f64, f64))> = runs
            .iter()
            .filter_map(|run| Some((*run, basis.scale(run)?)))
            .collect();
        if measured.is_empty() {
            return None;
        }
        let elapsed = mean(
            &measured
                .iter()
                .map(|(_, (whole, _))| *whole)
                .collect::<Vec<_>>(),
        );
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        for (run, (_, scale)) in &measured {
            for wait in run.waits.iter().filter(|wait| !wait.benign) {
                let entry = seconds.entry(wait.bucket().to_string()).or_insert(0.0);
                *entry += wait.total_us as f64 * scale / measured.len() as f64;
            }
            if let Some((name, us)) = basis.outside_the_engine(run) {
                let entry = seconds.entry(name.to_string()).or_insert(0.0);
                *entry += us as f64 * scale / measured.len() as f64;
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

    fn share(&self, category: &str) -> f64 {
        self.seconds.get(category).copied().unwrap_or(0.0) / self.elapsed.max(1e-12)
    }
}

pub(super) fn attribute(
    facts: &Facts<'_>,
    judged: &[Judged],
    answer: &Answer,
    analysis: &Analysis<'_>,
) -> Attribution {
    // A difference that the badge takes back has no cause.
    if !answer.badge.has_verdict() {
        return Attribution::default();
    }
    let delta = facts.plan.delta;
    let Some(target) = target(judged, answer.recommended.as_deref(), delta) else {
        return Attribution::default();
    };
    // Sessions that never waited are something else than waits that were not measured.
    let mut runs = (0..facts.keys.len()).flat_map(|cell| facts.good(cell));
    if runs.all(|run| run.waits.is_empty()) {
        return Attribution::default();
    }
    let basis = Basis::of(facts);
    let thinks = has_think_times(&facts.plan.settings);
    let (Some(base), Some(level)) = (
        Budget::of(&facts.good(facts.baseline), basis, thinks),
        Budget::of(&facts.good(target), basis, thinks),
    ) else {
        return Attribution::default();
    };
    let names = (
        facts.keys[facts.baseline].as_str(),
        facts.keys[target].as_str(),
    );
    let change = level.elapsed - base.elapsed;
    // A change that was not shown is noise; the only thing to explain is where the time goes.
    let mut compared = judged.iter().filter(|j| j.cell == target);
    let shown = compared.any(|j| j.result.is_shown_to_differ(delta));
    let runs = (facts.good(facts.baseline), facts.good(target));
    if !shown || (change / base.elapsed).abs() < delta {
        let mut found = unchanged(&base, &level, names);
        classes::name(&mut found, &runs.1);
        return found;
    }
    let cpus = analysis.environment.cpu_count.unwrap_or(1);
    if let Some(found) = outside::busy_neighbour(&runs, change, cpus, names) {
        return found;
    }
    let mut found = changed((&base, &level), change, names, basis);
    let (slower, faster, slower_name) = if change > 0.0 {
        (&runs.1, &runs.0, names.1)
    } else {
        (&runs.0, &runs.1, names.0)
    };
    if found.confidence == Confidence::Likely {
        let ceiling =
            analysis
                .experiment
                .ceiling_for(&found.resource, slower_name, analysis.history);
        hold_against(&mut found, ceiling.as_ref());
    }
    name_closer(&mut found, slower, faster);
    let possible = outside::possible_neighbour(&runs, change, cpus, names);
    found.evidence_against.extend(possible);
    found
}

/// Adds the latches and the volume that a category of waits is about. The category is the key of the
/// ceilings, so this comes last.
fn name_closer(found: &mut Attribution, slower: &[&Run], faster: &[&Run]) {
    let category = found.resource.clone();
    classes::name(found, slower);
    outside::name_slow_volume(found, &category, slower, faster);
}

/// A likely cause is attributed when the slower level nearly uses up its ceiling.
fn hold_against(found: &mut Attribution, ceiling: Option<&Ceiling>) {
    let bound = ceiling.and_then(|c| Some((c, c.used? / c.limit.filter(|&limit| limit > 0.0)?)));
    let Some((ceiling, used)) = bound else {
        let text = "none of the measured ceilings is the limit of this category of waits, so it is not \
                    known how much of the resource was used";
        found.evidence_against.push(text.to_string());
        return;
    };
    let reported = format!(
        "{}: {:.0}% of its ceiling is used at {}",
        ceiling.name,
        100.0 * used,
        ceiling.level
    );
    if used > CEILING {
        found.confidence = Confidence::Attributed;
        found.evidence_for.push(reported);
    } else {
        found.evidence_against.push(reported);
    }
}

/// The level to explain: the recommended one, else the one that differs most from the baseline among those
/// that are shown to differ. An estimate alone may be the largest by chance; it counts only where nothing is
/// shown.
fn target(judged: &[Judged], recommended: Option<&str>, delta: f64) -> Option<usize> {
    let others = judged.iter().filter(|j| !j.result.is_baseline);
    if let Some(named) = others
        .clone()
        .find(|j| recommended == Some(&j.result.level))
    {
        return Some(named.cell);
    }
    let size = |j: &Judged| {
        let is_shown = j.result.is_shown_to_differ(delta);
        Some((j.cell, is_shown, j.result.ratio?.ln().abs()))
    };
    others
        .filter_map(size)
        .max_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2)))
        .map(|(cell, _, _)| cell)
}

fn changed(
    (base, level): (&Budget, &Budget),
    change: f64,
    names: (&str, &str),
    basis: Basis,
) -> Attribution {
    let mut deltas: Vec<(&String, f64)> = base
        .seconds
        .keys()
        .chain(
            level
                .seconds
                .keys()
                .filter(|key| !base.seconds.contains_key(*key)),
        )
        .map(|key| {
            let seconds = |budget: &Budget| budget.seconds.get(key).copied().unwrap_or(0.0);
            (key, seconds(level) - seconds(base))
        })
        .collect();
    deltas.sort_by(|a, b| (b.1 / change).total_cmp(&(a.1 / change)));
    let Some(&(category, delta)) = deltas.first() else {
        return Attribution::default();
    };
    let share = delta / change;
    let (before, after) = (base.share(category), level.share(category));
    let (unit, of, whole) = basis.words();
    let reported = format!(
        "{category}: {:.2} {unit} {of} at {}, {:.2} {unit} at {}; {whole} changed by {change:+.2} {unit}",
        base.seconds.get(category).copied().unwrap_or(0.0),
        names.0,
        level.seconds.get(category).copied().unwrap_or(0.0),
        names.1,
    );
    let mut result = Attribution {
        share: Some(share),
        ..Attribution::default()
    };
    if share < ENOUGH {
        result.evidence_against.push(reported);
        let text = format!(
            "no category of waits carries {:.0}% of the change",
            100.0 * ENOUGH
        );
        result.evidence_against.push(text);
        return result;
    }
    // Where one level alone recorded it, what is called running there is in the undivided time of the other.
    let mut undivided_times = deltas
        .iter()
        .map(|(name, _)| name)
        .filter(|name| is_undivided(name));
    let hidden = undivided_times.next();
    if let Some(hidden) = hidden.filter(|_| category == RUNNING || is_undivided(category)) {
        result.evidence_against.push(reported);
        result.evidence_against.push(undivided(hidden));
        return result;
    }
    if (after - before).abs() < BARELY {
        result.evidence_against.push(reported);
        result
            .evidence_against
            .push(barely(category, before, after));
        return result;
    }
    result.resource.clone_from(category);
    result.confidence = Confidence::Likely;
    result.evidence_for.push(reported);
    result
}

fn barely(category: &str, before: f64, after: f64) -> String {
    format!(
        "its share of the time barely changed ({:.0}% to {:.0}%): it shrank or grew with everything else, so \
         {category} cannot be what made the difference",
        100.0 * before,
        100.0 * after
    )
}

fn undivided(category: &str) -> String {
    let what = match category {
        UNSLEPT => "sessions keyed and thought",
        _ => "work waited for its turn",
    };
    format!("these runs did not record how long {what}, so it is not separate from running")
}

/// A level that makes no difference is explained when the same resource fills the time at both.
fn unchanged(base: &Budget, level: &Budget, names: (&str, &str)) -> Attribution {
    let top = base.seconds.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let Some((category, _)) = top else {
        return Attribution::default();
    };
    let (before, after) = (base.share(category), level.share(category));
    // A statement that several threads work for can wait longer than it lasts. No thread sleeps for another.
    let is_sleep = [THINKING, NOT_DUE].contains(&category.as_str());
    let reported = match !is_sleep && (before > 1.0 || after > 1.0) {
        true => format!(
            "{category}: {before:.1} threads of a session wait in it at a time at {}, {after:.1} at {}",
            names.0, names.1
        ),
        false => format!(
            "{category}: {:.0}% of the time at {}, {:.0}% at {}",
            100.0 * before,
            names.0,
            100.0 * after,
            names.1
        ),
    };
    let fills = before >= ENOUGH && after >= ENOUGH && !is_undivided(category);
    Attribution {
        resource: if fills {
            category.clone()
        } else {
            String::new()
        },
        confidence: if fills {
            Confidence::Likely
        } else {
            Confidence::Unknown
        },
        // No change was shown that anything could have a share of.
        share: None,
        summary: String::new(),
        evidence_for: if fills {
            vec![reported.clone()]
        } else {
            Vec::new()
        },
        evidence_against: if fills {
            Vec::new()
        } else if is_undivided(category) {
            vec![reported, undivided(category)]
        } else {
            vec![
                reported,
                "no category fills most of the time at both levels".to_string(),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{LevelResult, Verdict};

    fn budget(elapsed: f64, waits: &[(&str, f64)]) -> Budget {
        let seconds = waits
            .iter()
            .map(|(name, s)| ((*name).to_string(), *s))
            .collect();
        Budget { seconds, elapsed }
    }

    #[test]
    fn a_level_that_is_shown_to_differ_is_explained_before_a_larger_estimate() {
        let judged = |(cell, level, ratio, verdict): (usize, &str, f64, Verdict)| Judged {
            cell,
            comparison: None,
            result: LevelResult {
                level: level.to_owned(),
                ratio: Some(ratio),
                verdict: Some(verdict),
                ..LevelResult::default()
            },
        };
        let eight = |verdict| judged((1, "8", 0.9, verdict));
        let sixteen = || judged((2, "16", 0.85, Verdict::CannotTell));
        let found = |levels: &[Judged], recommended| target(levels, recommended, 0.02);
        let shown = [eight(Verdict::Better), sixteen()];
        assert_eq!(found(&shown, None), Some(1));
        assert_eq!(found(&shown, Some("16")), Some(2));
        // Nothing is shown: the largest estimate.
        assert_eq!(
            found(&[eight(Verdict::CannotTell), sixteen()], None),
            Some(2)
        );
        assert_eq!(found(&[], None), None);
    }

    #[test]
    fn a_wait_that_shrinks_with_everything_else_is_not_the_cause() {
        // The published case: 38% and 39% of the time in one wait, while the time falls by 6%.
        let base = budget(100.0, &[("Buffer Latch", 80.0), (RUNNING, 20.0)]);
        let level = budget(94.0, &[("Buffer Latch", 75.2), (RUNNING, 18.8)]);
        let found = changed((&base, &level), -6.0, ("1", "8"), Basis::Worker);
        assert_eq!(found.confidence, Confidence::Unknown);
        assert!(
            found.evidence_against[1].contains("barely changed (80% to 80%)"),
            "{found:?}"
        );
    }

    #[test]
    fn a_wait_that_carries_the_change_is_likely_and_never_attributed_without_a_ceiling() {
        let base = budget(100.0, &[("Tran Log IO", 60.0), (RUNNING, 40.0)]);
        let level = budget(80.0, &[("Tran Log IO", 42.0), (RUNNING, 38.0)]);
        let found = changed((&base, &level), -20.0, ("1", "8"), Basis::Worker);
        assert_eq!(
            (found.resource.as_str(), found.confidence),
            ("Tran Log IO", Confidence::Likely)
        );
        assert!((found.share.unwrap() - 0.9).abs() < 1e-9);
        let ceiling = |used| Ceiling {
            limit: Some(100.0),
            used: Some(used),
            ..Ceiling::default()
        };
        for (bound, want) in [
            (None, Confidence::Likely),
            (Some(ceiling(80.0)), Confidence::Likely),
            (Some(ceiling(90.0)), Confidence::Attributed),
        ] {
            let mut held = found.clone();
            hold_against(&mut held, bound.as_ref());
            assert_eq!(held.confidence, want);
        }
    }

    #[test]
    fn a_cause_with_a_slow_volume_keeps_its_ceiling() {
        let file = |volume: &str, stall: u64| crate::results::FileIo {
            role: crate::results::FileRole::Log,
            volume: volume.to_owned(),
            writes: 100,
            write_stall_us: stall,
            ..Default::default()
        };
        let run = Run {
            files: vec![file("/fast", 200_000), file("/slow", 9_000_000)],
            ..Run::default()
        };
        let mut found = Attribution {
            resource: "Tran Log IO".to_owned(),
            confidence: Confidence::Likely,
            ..Attribution::default()
        };
        let ceiling = Ceiling {
            limit: Some(100.0),
            used: Some(97.0),
            ..Ceiling::default()
        };
        hold_against(&mut found, Some(&ceiling));
        name_closer(&mut found, &[&run], &[&run]);
        assert_eq!(found.confidence, Confidence::Attributed);
        assert_eq!(found.resource, "Tran Log IO: the volume /slow is slow");
    }

    #[test]
    fn latches_by_kind_of_page_do_not_hide_a_slow_volume() {
        let file = |volume: &str, stall: u64| crate::results::FileIo {
            role: crate::results::FileRole::Data,
            volume: volume.to_owned(),
            writes: 100,
            write_stall_us: stall,
            ..Default::default()
        };
        let latch = crate::results::LatchTotal {
            class: "PAGELATCH_EX (INDEX)".to_owned(),
            total_us: 1_000,
            ..Default::default()
        };
        let fast = Run {
            files: vec![file("/fast", 200_000)],
            latches: vec![latch],
            ..Run::default()
        };
        let slow = Run {
            files: vec![file("/fast", 200_000), file("/slow", 9_000_000)],
            ..fast.clone()
        };
        let mut found = Attribution {
            resource: "Buffer Latch".to_owned(),
            confidence: Confidence::Likely,
            ..Attribution::default()
        };
        name_closer(&mut found, &[&slow], &[&fast]);
        assert_eq!(
            found.resource,
            "Buffer Latch (INDEX pages): the volume /slow is slow"
        );
        assert_eq!(found.evidence_for.len(), 2);
    }

    #[test]
    fn a_flat_curve_is_explained_by_what_fills_the_time() {
        let base = budget(100.0, &[("Tran Log IO", 90.0), (RUNNING, 10.0)]);
        assert_eq!(unchanged(&base, &base, ("1", "8")).resource, "Tran Log IO");
        let mixed = budget(100.0, &[("Tran Log IO", 50.0), (RUNNING, 50.0)]);
        assert_eq!(
            unchanged(&mixed, &mixed, ("1", "8")).confidence,
            Confidence::Unknown
        );
    }

    #[test]
    fn sleep_that_an_old_journal_counts_past_the_end_is_no_more_than_the_run() {
        let run = Run {
            seconds: Some(3.0),
            workers: 2,
            paused_us: Some(8_000_000),
            ..Run::default()
        };
        assert_eq!(run.paused(), Some((THINKING, 6_000_000)));
        // The shares of means may come out a little above one; no threads wait there.
        let base = budget(100.0, &[(THINKING, 100.01)]);
        let found = unchanged(&base, &base, ("1", "8"));
        assert_eq!(found.resource, THINKING);
        let text = "keying and thinking: 100% of the time at 1, 100% at 8";
        assert_eq!(found.evidence_for, [text]);
    }

    #[test]
    fn time_that_is_fixed_is_counted_by_the_piece() {
        let run = |pieces: u64, log_us: u64, is_closed: bool| Run {
            seconds: Some(10.0),
            workers: 4,
            latency: vec![crate::results::Latency {
                count: pieces,
                mean_us: 50_000.0,
                coordinated_omission_possible: is_closed,
                ..Default::default()
            }],
            waits: vec![crate::results::WaitTotal {
                category: "Tran Log IO".to_string(),
                total_us: log_us,
                ..Default::default()
            }],
            ..Run::default()
        };
        // Forty seconds of sessions in either run: half of them for 4,000 pieces, all but ten for 1,000.
        let fast = Budget::of(&[&run(4_000, 20_000_000, true)], Basis::Piece, false).unwrap();
        let slow = Budget::of(&[&run(1_000, 30_000_000, true)], Basis::Piece, false).unwrap();
        assert!((fast.elapsed - 10.0).abs() < 1e-9 && (slow.elapsed - 40.0).abs() < 1e-9);
        let change = slow.elapsed - fast.elapsed;
        let found = changed((&fast, &slow), change, ("a", "b"), Basis::Piece);
        assert_eq!(found.resource, "Tran Log IO");
        assert!((found.share.unwrap() - 25.0 / 30.0).abs() < 1e-9);
        assert!(found.evidence_for[0].contains("5.00 ms per piece of work at a, 30.00 ms at b"));
        // With a rate sessions are idle in between: the latency is what is to be explained.
        let open = Budget::of(&[&run(1_000, 30_000_000, false)], Basis::Piece, false).unwrap();
        assert!((open.elapsed - 50.0).abs() < 1e-9);
    }

    /// A run of 10 s with 1,000 pieces in four sessions that waited so long in the engine.
    fn paced(mean_us: f64, wait_us: u64, is_open: bool) -> Run {
        Run {
            seconds: Some(10.0),
            workers: 4,
            latency: vec![crate::results::Latency {
                count: 1_000,
                mean_us,
                coordinated_omission_possible: !is_open,
                ..Default::default()
            }],
            waits: vec![crate::results::WaitTotal {
                category: "Tran Log IO".to_string(),
                total_us: wait_us,
                ..Default::default()
            }],
            ..Run::default()
        }
    }

    #[test]
    fn work_that_waits_for_its_turn_is_not_called_running() {
        let of = |queued| {
            let slow = Run {
                queued_us: queued,
                ..paced(5_000_000.0, 2_000_000, true)
            };
            let fast = Run {
                queued_us: queued.map(|_| 0),
                ..paced(4_000.0, 1_000_000, true)
            };
            let (slow, fast) = (
                Budget::of(&[&slow], Basis::Piece, false).unwrap(),
                Budget::of(&[&fast], Basis::Piece, false).unwrap(),
            );
            let change = slow.elapsed - fast.elapsed;
            let changed = changed((&fast, &slow), change, ("1", "4"), Basis::Piece);
            (changed, unchanged(&slow, &slow, ("1", "4")))
        };
        let (found, filled) = of(Some(4_990_000_000));
        assert_eq!(
            (found.resource.as_str(), filled.resource.as_str()),
            (QUEUED, QUEUED)
        );
        assert!((found.share.unwrap() - 4_990.0 / 4_996.0).abs() < 1e-9);
        // A journal from before the queue was recorded: no cause, and it says why.
        let (found, filled) = of(None);
        for found in [found, filled] {
            assert!(found.resource.is_empty(), "{found:?}");
            assert_eq!(found.evidence_against[1], undivided(UNDIVIDED));
        }
    }

    #[test]
    fn sessions_that_think_are_not_called_running() {
        // Four sessions think for 38 of 40 s.
        let run = Run {
            paused_us: Some(38_000_000),
            ..paced(1_000.0, 1_000_000, false)
        };
        let budget = Budget::of(&[&run], Basis::Piece, false).unwrap();
        let found = unchanged(&budget, &budget, ("1", "4"));
        assert_eq!(found.resource, THINKING);
        assert!(
            found.evidence_for[0].contains("95% of the time at 1"),
            "{found:?}"
        );
        assert!((budget.seconds[RUNNING] - 1.0).abs() < 1e-9);
        // In fixed work, too, by the worker. With a rate the time until work is due is no part of a latency.
        let budget = Budget::of(&[&run], Basis::Worker, false).unwrap();
        assert!((budget.seconds[RUNNING] - 0.25).abs() < 1e-9);
        let open = Run {
            paused_us: Some(38_000_000),
            queued_us: Some(0),
            ..paced(3_000.0, 1_000_000, true)
        };
        let budget = Budget::of(&[&open], Basis::Piece, false).unwrap();
        assert!((budget.seconds[RUNNING] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn think_times_that_an_old_journal_did_not_record_are_not_called_running() {
        let (few, many) = (
            paced(1_000.0, 1_000_000, false),
            paced(1_000.0, 9_000_000, false),
        );
        let slow = Run {
            seconds: Some(30.0),
            ..few.clone()
        };
        let budget = |run: &Run| Budget::of(&[run], Basis::Piece, true).unwrap();
        let (few, many, slow) = (budget(&few), budget(&many), budget(&slow));
        assert!((few.seconds[UNSLEPT] - 39.0).abs() < 1e-9);
        let change = slow.elapsed - few.elapsed;
        let changed = changed((&few, &slow), change, ("1", "4"), Basis::Piece);
        for found in [changed, unchanged(&few, &many, ("1", "4"))] {
            assert!(found.resource.is_empty(), "{found:?}");
            assert_eq!(found.evidence_against.last(), Some(&undivided(UNSLEPT)));
        }
        // Recorded at one level alone: running is not what changed.
        let recorded = Run {
            paused_us: Some(1),
            seconds: Some(30.0),
            ..paced(1_000.0, 1_000_000, false)
        };
        let recorded = budget(&recorded);
        let found = super::changed((&few, &recorded), change, ("1", "4"), Basis::Piece);
        assert!(found.resource.is_empty(), "{found:?}");
    }

    #[test]
    fn change_spread_over_many_waits_has_no_cause() {
        let base = budget(100.0, &[("a", 40.0), ("b", 40.0), (RUNNING, 20.0)]);
        let level = budget(80.0, &[("a", 30.0), ("b", 30.0), (RUNNING, 20.0)]);
        let found = changed((&base, &level), -20.0, ("1", "8"), Basis::Worker);
        assert!(found.resource.is_empty() && found.evidence_against.len() == 2);
    }
}
