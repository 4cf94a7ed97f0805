//! Where the time went, and whether that explains the difference.
//!
//! Waits are counted as seconds per worker; together with the time not spent waiting they make up the elapsed
//! time. The change of each category between the baseline and the level recommended (else the one that is
//! shown to differ most) is compared with the change of the elapsed time, both in the blocks that have runs
//! of the two levels. A category that carries 60% of it is `likely`; `attributed` also needs a measured
//! ceiling that is used to 85%. A category whose share of the time barely changes explains nothing, unless it
//! is nearly all of the time: it merely shrank along with everything else.
//!
//! Time in which a session slept because the load asks for it, and time in which a piece of work that was due
//! waited for a session, are categories of their own: neither is running.
//!
//! Where no difference is to be explained, each level is described by what filled its time.

mod budget;
mod cause;
mod classes;
mod fills;
mod limits;
mod outside;

use super::Analysis;
use super::facts::Facts;
use super::levels::Judged;
use crate::report::words::figure;
use crate::results::{Answer, Attribution, Confidence, LevelResult, Run, has_think_times};
use budget::{Basis, Budget};
use cause::{changed, hold_against, unchanged};

/// Why no cause is sought where levels were compared, and none that differs has as many sessions as the
/// baseline.
const OTHER_SESSIONS: &str = "no level with as many sessions as the baseline is shown to differ, and with \
    more sessions a piece of work takes longer, whatever they wait for";

/// The cause of a difference, or what filled the time where none is to be explained.
pub(super) fn attribute(
    facts: &Facts<'_>,
    judged: &[Judged],
    answer: &Answer,
    analysis: &Analysis<'_>,
) -> Attribution {
    // Sessions that never waited are something else than waits that were not measured.
    let mut runs = (0..facts.keys.len()).flat_map(|cell| facts.good(cell));
    if !runs.any(Run::has_read_waits) {
        return Attribution::default();
    }
    let basis = Basis::of(facts);
    let alike = judged.iter().filter(|j| is_alike(facts, basis, j.cell));
    let levels = alike.map(|j| &j.result);
    let recommended = answer.recommended.as_deref();
    let explained = LevelResult::to_explain(levels, recommended, facts.plan.delta);
    let place = |level: &LevelResult| facts.keys.iter().position(|key| *key == level.level);
    // A difference that the badge takes back has no cause.
    let explained = explained.filter(|_| answer.badge.has_verdict());
    // A level that is not shown to differ needs no cause where levels of other loads do differ.
    let delta = facts.plan.delta;
    let explained =
        explained.filter(|level| !answer.is_under_load || level.is_shown_to_differ(delta));
    match explained.and_then(|level| Some((place(level)?, level))) {
        Some(explained) => explain(facts, explained, analysis),
        None => Attribution {
            summary: other_sessions(judged, answer),
            fills: Some(fills::of(facts, answer.badge)),
            ..Attribution::default()
        },
    }
}

/// [`OTHER_SESSIONS`], where levels were compared.
fn other_sessions(judged: &[Judged], answer: &Answer) -> String {
    let compared = judged.iter().any(|j| j.comparison.is_some());
    if compared && answer.badge.has_verdict() {
        return OTHER_SESSIONS.to_owned();
    }
    String::new()
}

/// The cause of the difference between a level and the baseline.
fn explain(
    facts: &Facts<'_>,
    (cell, explained): (usize, &LevelResult),
    analysis: &Analysis<'_>,
) -> Attribution {
    let basis = Basis::of(facts);
    let thinks = has_think_times(&facts.plan.settings);
    let names = (
        facts.keys[facts.baseline].as_str(),
        explained.level.as_str(),
    );
    let (runs, blocks) = in_shared_blocks(facts, cell, basis);
    let (Some(base), Some(level)) = (
        Budget::of(&runs.0, basis, thinks),
        Budget::of(&runs.1, basis, thinks),
    ) else {
        return no_blocks(names);
    };
    let change = level.elapsed - base.elapsed;
    // A change that was not shown is noise; the only thing to explain is where the time goes.
    let delta = facts.plan.delta;
    if !explained.is_shown_to_differ(delta) || (change / base.elapsed).abs() < delta {
        let mut found = unchanged((&runs.0, &runs.1), names, basis, thinks);
        note_blocks(&mut found, blocks);
        classes::name(&mut found, &runs.1);
        return found;
    }
    let loss = explained.ratio.map(|ratio| facts.loss(ratio.ln()));
    if loss.is_some_and(|loss| loss * change <= 0.0) {
        return contrary((&base, &level), names, basis);
    }
    let cpus = analysis.environment.cpu_count.unwrap_or(1);
    let (slower, faster, slower_name, faster_name) = if change > 0.0 {
        (&runs.1, &runs.0, names.1, names.0)
    } else {
        (&runs.0, &runs.1, names.0, names.1)
    };
    let limits = |level: &str| analysis.experiment.limits_of(level, analysis.history);
    let slow_limit = limits::reached(limits(slower_name));
    if let Some(slow_limit) = &slow_limit {
        let of_faster = limits(faster_name);
        let same = of_faster.iter().find(|limit| limit.name == slow_limit.name);
        if let Some(mut found) = limits::at_limit(slow_limit, same, faster_name) {
            let shares = outside::shares_beside(&runs, change, cpus, names);
            found.evidence_against.extend(shares);
            return found;
        }
    }
    // Other programs do not slow a level that reaches what a device does.
    let others = outside::busy_neighbour(&runs, change, cpus, names);
    if let Some(mut found) = others.filter(|_| slow_limit.is_none()) {
        note_blocks(&mut found, blocks);
        return found;
    }
    let mut found = changed((&base, &level), change, names, basis);
    note_blocks(&mut found, blocks);
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

/// No cause, where no block has runs of both levels.
fn no_blocks(names: (&str, &str)) -> Attribution {
    Attribution {
        summary: format!(
            "No block has runs of both {} and {} whose time can be divided into waits, so no cause can be \
             named.",
            names.0, names.1
        ),
        ..Attribution::default()
    }
}

/// Whether the time of a level can be compared with that of the baseline. With more sessions a piece of work
/// takes longer, because more are under way, whatever they wait for; not where a rate is given.
fn is_alike(facts: &Facts<'_>, basis: Basis, cell: usize) -> bool {
    let workers = |cell: usize| facts.good(cell).first().map(|run| run.workers);
    let is_open = facts.good(cell).iter().any(|run| run.is_open());
    basis == Basis::Worker || is_open || workers(cell) == workers(facts.baseline)
}

/// Runs of the baseline, and of a level.
type Pair<'a> = (Vec<&'a Run>, Vec<&'a Run>);

/// The runs of the baseline and of a level in the blocks that have both, and the number of these blocks where
/// they leave out good runs. The means of other runs differ by the effects of their blocks, too: in a search
/// most of the baseline's rounds are others than the leader's.
fn in_shared_blocks<'a>(
    facts: &'a Facts<'_>,
    cell: usize,
    basis: Basis,
) -> (Pair<'a>, Option<usize>) {
    let of = |cell: usize| {
        let mut runs = facts.good(cell);
        runs.retain(|run| basis.scale(run).is_some());
        runs
    };
    let (mut base, mut level) = (of(facts.baseline), of(cell));
    let all = base.len() + level.len();
    let has = |runs: &[&Run], block: u32| runs.iter().any(|run| run.block == block);
    base.retain(|run| has(&level, run.block));
    level.retain(|run| has(&base, run.block));
    let mut blocks: Vec<u32> = level.iter().map(|run| run.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let is_part = base.len() + level.len() < all;
    ((base, level), is_part.then_some(blocks.len()))
}

/// Ends the first figures of a cause with the blocks that they are from, where these are not those of all
/// good runs: the chart and the tables have the means of all.
fn note_blocks(found: &mut Attribution, blocks: Option<usize>) {
    let words = match blocks {
        None => return,
        Some(1) => " (in the 1 block that has both)".to_string(),
        Some(blocks) => format!(" (in the {blocks} blocks that have both)"),
    };
    let mut lists = [&mut found.evidence_for, &mut found.evidence_against].into_iter();
    if let Some(first) = lists.find_map(|list| list.first_mut()) {
        first.push_str(&words);
    }
}

/// No cause, where the time of the runs changed the other way than the table shows.
fn contrary((base, level): (&Budget, &Budget), names: (&str, &str), basis: Basis) -> Attribution {
    let (unit, _, whole) = basis.words();
    Attribution {
        summary: "In the blocks that have runs of both levels the time changed the other way than the table \
                  shows: the waits of these runs do not follow the difference, so no cause can be named."
            .to_string(),
        evidence_against: vec![format!(
            "{whole}: {} {unit} at {}, {} {unit} at {} in these blocks",
            figure(base.elapsed),
            names.0,
            figure(level.elapsed),
            names.1
        )],
        ..Attribution::default()
    }
}

/// Adds the latches and the volume that a category of waits is about. The category is the key of the
/// ceilings, so this comes last.
fn name_closer(found: &mut Attribution, slower: &[&Run], faster: &[&Run]) {
    let category = found.resource.clone();
    classes::name(found, slower);
    outside::name_slow_volume(found, &category, slower, faster);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Ceiling;

    #[test]
    fn a_time_that_changes_the_other_way_than_the_table_has_no_cause() {
        let budget = |elapsed| Budget {
            seconds: [("Tran Log IO".to_owned(), elapsed)].into(),
            elapsed,
        };
        let (base, level) = (budget(10.0), budget(11.2));
        let found = contrary((&base, &level), ("1", "8"), Basis::Worker);
        assert_eq!(found.confidence, Confidence::Unknown);
        let text = "the elapsed time: 10.0 s at 1, 11.2 s at 8 in these blocks";
        assert_eq!(found.evidence_against, [text]);
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
}
