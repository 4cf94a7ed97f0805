//! The cause of a change between two levels, by their budgets of time.

use super::budget::{Basis, Budget, RUNNING, UNSLEPT, is_undivided};
use crate::report::words::figure;
use crate::results::{Attribution, Ceiling, Confidence, FOR_TURN, Fill, OWN_THREADS, Run};
use furrow_stats::median;

/// Share of the change that a category must carry.
const ENOUGH: f64 = 0.6;
/// A share that changes by less than this has not changed.
const BARELY: f64 = 0.02;
/// A category with this part of all seconds at both levels leaves nothing that it could shrink or grow with.
const NEARLY_ALL: f64 = 0.95;

/// By category the change of its time, the one that carries most of the whole change first. What a session
/// waited for its own statement is no category that could.
fn deltas<'a>(base: &'a Budget, level: &'a Budget, change: f64) -> Vec<(&'a String, f64)> {
    let seconds = |budget: &Budget, key: &str| budget.seconds.get(key).copied().unwrap_or(0.0);
    let new = level.seconds.keys();
    let new = new.filter(|key| !base.seconds.contains_key(*key));
    let keys = base.seconds.keys().chain(new);
    let mut deltas: Vec<(&String, f64)> = keys
        .filter(|key| *key != OWN_THREADS)
        .map(|key| (key, seconds(level, key) - seconds(base, key)))
        .collect();
    deltas.sort_by(|a, b| (b.1 / change).total_cmp(&(a.1 / change)));
    deltas
}

/// The category that carries the change of the time between two levels, if one does.
pub(super) fn changed(
    (base, level): (&Budget, &Budget),
    change: f64,
    names: (&str, &str),
    basis: Basis,
) -> Attribution {
    let deltas = deltas(base, level, change);
    let Some(&(category, delta)) = deltas.first() else {
        return Attribution::default();
    };
    let share = delta / change;
    let (before, after) = (base.share(category), level.share(category));
    let (unit, of, whole) = basis.words();
    let of_budget = |budget: &Budget| figure(budget.seconds.get(category).copied().unwrap_or(0.0));
    let sign = if change < 0.0 { "\u{2212}" } else { "+" };
    let reported = format!(
        "{category}: {} {unit} {of} at {}, {} {unit} at {}; {whole} changed by {sign}{} {unit}",
        of_budget(base),
        names.0,
        of_budget(level),
        names.1,
        figure(change.abs())
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
    if category == FOR_TURN {
        result.evidence_against.push(reported);
        result.evidence_against.push(DECIDED_BY_OTHERS.to_owned());
        return result;
    }
    if is_along(base, level, category) {
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

/// Whether a category only shrank or grew along with everything else.
fn is_along(base: &Budget, level: &Budget, category: &str) -> bool {
    let is_nearly_all = base.share(category).min(level.share(category)) >= NEARLY_ALL;
    (level.share(category) - base.share(category)).abs() < BARELY && !is_nearly_all
}

fn barely(category: &str, before: f64, after: f64) -> String {
    format!(
        "its share of the time barely changed ({:.0}% to {:.0}%): it shrank or grew with everything else, so \
         {category} cannot be what made the difference",
        100.0 * before,
        100.0 * after
    )
}

/// Why [`FOR_TURN`] is no cause.
const DECIDED_BY_OTHERS: &str = "as many batches run at once as the processors take: what those wait for \
                                 decides how long the others wait for their turn";

fn undivided(category: &str) -> String {
    let what = match category {
        UNSLEPT => "sessions keyed and thought",
        _ => "work waited for its turn",
    };
    format!("these runs did not record how long {what}, so it is not separate from running")
}

/// A level that makes no difference is explained when the same resource fills the time at both: of the runs
/// together, as the table of times has it, and of most runs each by itself.
pub(super) fn unchanged(
    runs: (&[&Run], &[&Run]),
    names: (&str, &str),
    basis: Basis,
    thinks: bool,
) -> Attribution {
    // The time of a piece is long in a run that stalled, and such a run would count more than others.
    let is_open = runs.0.iter().chain(runs.1).any(|run| run.is_open());
    let basis = if is_open { basis } else { Basis::Worker };
    let (Some(base), Some(level)) = (
        Budget::of(runs.0, basis, thinks),
        Budget::of(runs.1, basis, thinks),
    ) else {
        return Attribution::default();
    };
    let is_usual = |category: &str| {
        [runs.0, runs.1].into_iter().all(|runs| {
            let of_run = |run: &&Run| Budget::of(&[*run], basis, thinks);
            let shares: Vec<f64> = runs
                .iter()
                .filter_map(of_run)
                .map(|budget| budget.share(category))
                .collect();
            median(&shares) >= Fill::LEAST
        })
    };
    filled((&base, &level), names, &is_usual)
}

/// The category that fills the time of two budgets, where it is usual among their runs.
fn filled(
    (base, level): (&Budget, &Budget),
    names: (&str, &str),
    is_usual: &dyn Fn(&str) -> bool,
) -> Attribution {
    let Some(category) = base.largest() else {
        return Attribution::default();
    };
    let (before, after) = (base.share(category), level.share(category));
    let overlaps = [base, level].iter().any(|budget| budget.overlaps());
    let time = match overlaps {
        true => "the time of all threads",
        false => "the time",
    };
    let reported = format!(
        "{category}: {:.0}% of {time} at {}, {:.0}% at {}",
        100.0 * before,
        names.0,
        100.0 * after,
        names.1
    );
    let is_large = before >= Fill::LEAST && after >= Fill::LEAST;
    let names_a_resource = !is_undivided(category) && category != FOR_TURN;
    let fills = is_large && names_a_resource && is_usual(category);
    Attribution {
        resource: if fills {
            category.to_owned()
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
        evidence_for: if fills {
            vec![reported.clone()]
        } else {
            Vec::new()
        },
        evidence_against: if fills {
            Vec::new()
        } else if is_undivided(category) {
            vec![reported, undivided(category)]
        } else if category == FOR_TURN {
            vec![reported, DECIDED_BY_OTHERS.to_owned()]
        } else {
            vec![
                reported,
                match is_large {
                    true => "it fills most of the time of some runs alone",
                    false => "no category fills most of the time at both levels",
                }
                .to_string(),
            ]
        },
        ..Attribution::default()
    }
}

/// A likely cause is attributed when the slower level nearly uses up its ceiling.
pub(super) fn hold_against(found: &mut Attribution, ceiling: Option<&Ceiling>) {
    let Some((ceiling, used)) = ceiling.and_then(|c| Some((c, c.share()?))) else {
        let text = "no ceiling of this category of waits was measured, so it is not known how much of the \
                    resource was used";
        found.evidence_against.push(text.to_string());
        return;
    };
    let reported = format!(
        "{}: {:.0}% of its ceiling is used at {}",
        ceiling.name,
        100.0 * used,
        ceiling.level
    );
    if ceiling.is_reached() {
        found.confidence = Confidence::Attributed;
        found.evidence_for.push(reported);
    } else {
        found.evidence_against.push(reported);
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::{QUEUED, UNDIVIDED};
    use super::*;
    use crate::results::THINKING;

    fn budget(elapsed: f64, waits: &[(&str, f64)]) -> Budget {
        let seconds = waits
            .iter()
            .map(|(name, s)| ((*name).to_string(), *s))
            .collect();
        Budget { seconds, elapsed }
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
    fn batches_that_wait_for_a_turn_wait_for_what_others_do() {
        let waits = |turn, lock| [(FOR_TURN, turn), ("Lock", lock), (RUNNING, 10.0)];
        let (base, level) = (
            budget(100.0, &waits(70.0, 20.0)),
            budget(200.0, &waits(170.0, 20.0)),
        );
        let found = changed((&base, &level), 100.0, ("32", "600"), Basis::Piece);
        assert_eq!(found.confidence, Confidence::Unknown, "{found:?}");
        assert_eq!(found.evidence_against[1], DECIDED_BY_OTHERS);
        let found = filled((&base, &level), ("32", "600"), &|_| true);
        assert_eq!(found.confidence, Confidence::Unknown, "{found:?}");
        assert_eq!(found.evidence_against[1], DECIDED_BY_OTHERS);
    }

    #[test]
    fn waits_of_several_threads_that_shrink_alike_are_no_cause() {
        let waits = |s| [("Buffer IO", s), ("Parallelism", s)];
        let (base, level) = (budget(100.0, &waits(150.0)), budget(50.0, &waits(75.0)));
        let found = changed((&base, &level), -50.0, ("1", "2"), Basis::Worker);
        assert_eq!(found.confidence, Confidence::Unknown, "{found:?}");
    }

    #[test]
    fn a_category_that_is_nearly_all_of_the_time_at_both_levels_carries_its_change() {
        // A query that computes twenty times as much, by sessions that hardly ever wait.
        let base = budget(3.61, &[(RUNNING, 3.60), ("Tran Log IO", 0.01)]);
        let level = budget(83.2, &[(RUNNING, 83.11), ("Tran Log IO", 0.09)]);
        let found = changed((&base, &level), 79.59, ("a", "b"), Basis::Piece);
        assert_eq!(
            (found.resource.as_str(), found.confidence),
            (RUNNING, Confidence::Likely)
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
    fn a_flat_curve_is_explained_by_what_fills_the_time() {
        let base = budget(100.0, &[("Tran Log IO", 90.0), (RUNNING, 10.0)]);
        assert_eq!(
            filled((&base, &base), ("1", "8"), &|_| true).resource,
            "Tran Log IO"
        );
        let mixed = budget(100.0, &[("Tran Log IO", 50.0), (RUNNING, 50.0)]);
        assert_eq!(
            filled((&mixed, &mixed), ("1", "8"), &|_| true).confidence,
            Confidence::Unknown
        );
    }

    /// A second with one session that did so many pieces of work and waited for the log for a part of it.
    fn second(pieces: u64, part: f64) -> Run {
        Run {
            seconds: Some(1.0),
            workers: 1,
            latency: vec![crate::results::Latency {
                count: pieces,
                coordinated_omission_possible: true,
                ..Default::default()
            }],
            waits: vec![crate::results::WaitTotal {
                category: "Tran Log IO".to_string(),
                total_us: (1e6 * part) as u64,
                ..Default::default()
            }],
            ..Run::default()
        }
    }

    #[test]
    fn one_run_that_stalled_fills_no_level() {
        let mut runs = vec![second(1_000, 0.01); 5];
        runs.push(second(20, 0.96));
        let stalled: Vec<&Run> = runs.iter().collect();
        let others = second(1_000, 0.001);
        let level = [&others, &others];
        let found = unchanged((&stalled, &level), ("1", "8"), Basis::Piece, false);
        // As the table of times: 17% of the time at 1 is that of the log.
        let text = format!("{RUNNING}: 83% of the time at 1, 100% at 8");
        assert_eq!(
            (found.resource.as_str(), found.evidence_for),
            (RUNNING, vec![text])
        );
        // With fixed work the run that stalled is most of the time, and no other run is like it.
        let long = Run {
            seconds: Some(50.0),
            ..second(1_000, 48.0)
        };
        let (short, rest) = (second(1_000, 0.1), second(1_000, 0.9));
        let found = unchanged(
            (&[&long, &short, &short], &[&rest, &rest]),
            ("1", "8"),
            Basis::Worker,
            false,
        );
        assert!(found.resource.is_empty(), "{found:?}");
        let text = "it fills most of the time of some runs alone";
        assert_eq!(found.evidence_against[1], text);
    }

    #[test]
    fn the_wait_of_a_session_for_its_own_backup_is_no_cause() {
        let wait = |wait_type: &str, seconds: f64| crate::results::WaitTotal {
            wait_type: wait_type.to_string(),
            category: "Other Disk IO".to_string(),
            total_us: (seconds * 1e6) as u64,
            ..Default::default()
        };
        let backup = |seconds: f64| Run {
            seconds: Some(seconds),
            workers: 1,
            waits: vec![wait("ASYNC_IO_COMPLETION", seconds - 0.1)],
            ..Run::default()
        };
        let (slow, fast) = (backup(9.0), backup(4.0));
        let found = unchanged((&[&slow], &[&slow]), ("1", "8"), Basis::Worker, false);
        assert!(found.resource.is_empty(), "{found:?}");
        let budget = |run: &Run| Budget::of(&[run], Basis::Worker, false).unwrap();
        let found = changed(
            (&budget(&slow), &budget(&fast)),
            -5.0,
            ("1", "8"),
            Basis::Worker,
        );
        assert!(found.resource.is_empty(), "{found:?}");
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
        let found = filled((&base, &base), ("1", "8"), &|_| true);
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
        assert!(found.evidence_for[0].contains("5.00 ms per piece of work at a, 30.0 ms at b"));
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
            (changed, filled((&slow, &slow), ("1", "4"), &|_| true))
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
        let found = filled((&budget, &budget), ("1", "4"), &|_| true);
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
        for found in [changed, filled((&few, &many), ("1", "4"), &|_| true)] {
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
