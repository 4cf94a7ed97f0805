//! The answer: which level is named, how certain that is, and the next step.
//!
//! A level is named only where the runs rule out, with 95%, that a smaller one does as well: the chance of
//! the smaller ones to be the knee is at most [`FEWER_MAY_DO`]. A level that is merely shown to be better
//! than the baseline appears in the sentence and is not recommended, because a smaller one may do as well.
//! A level is also named only where the table of levels decides how it compares with the baseline, by means
//! and by medians. Nothing is recommended where the baseline differs from itself or too little was run.
//! Where sessions are counted and something else varies, levels are compared under the same load alone
//! (`under_load`).

mod sentences;
mod under_load;

use super::Analysis;
use super::curves::Curves;
use super::facts::Facts;
use super::levels::Judged;
use super::noise::{blocks_used, design};
use super::search::Outcome;
use crate::plan::PROMISED_POWER;
use crate::report::words::{round_percent, shell_word};
use crate::results::{Answer, Badge, Comparability, Knee, KneeShare, Verdict};
use furrow_stats::knee::{self, Knee as Found};
use furrow_stats::noise::aa_check;
use sentences::Sentences;
use std::path::Path;

/// The largest chance of smaller levels to do as well with which a level is still named.
const FEWER_MAY_DO: f64 = 0.05;

/// The knee along the one ordered factor, with the cells it was looked for among.
pub(super) struct Ladder {
    cells: Vec<usize>,
    found: Found,
}

impl Ladder {
    /// The place of the smallest level that is as good as the best, where no smaller one may do as well.
    fn certain(&self) -> Option<usize> {
        let place = self.found.level?;
        let smaller: f64 = self.found.probability[..place].iter().sum();
        (smaller <= FEWER_MAY_DO).then_some(place)
    }

    /// The smallest level with a real chance to be the knee.
    fn fewest_likely(&self) -> Option<usize> {
        let mut chances = self.found.probability.iter();
        chances.position(|&p| p >= FEWER_MAY_DO)
    }
}

/// Looks for the knee. `None` without exactly one varying factor of rising numbers, or without a model.
fn find_knee(facts: &Facts<'_>) -> Option<Ladder> {
    if facts.plan.search {
        return None;
    }
    let varying: Vec<_> = facts
        .plan
        .factors
        .iter()
        .filter(|f| f.levels.len() > 1)
        .collect();
    let [factor] = varying.as_slice() else {
        return None;
    };
    let values: Option<Vec<f64>> = factor.levels.iter().map(|level| level.value).collect();
    let values = values?;
    let losses = facts.losses();
    let model = furrow_stats::TwoWay::fit(&losses).ok()?;
    // A level that failed throughout cannot be the knee; the others are still compared.
    let mut cells: Vec<usize> = (0..facts.keys.len())
        .filter(|&cell| {
            facts
                .arms_of(cell)
                .iter()
                .any(|&arm| model.arm_effect(arm).is_some())
        })
        .collect();
    // The fewest come first, in whatever order they were typed.
    cells.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let ladder: Vec<Vec<usize>> = cells.iter().map(|&cell| facts.arms_of(cell)).collect();
    let margin = facts.plan.delta.ln_1p();
    let found = knee::find(&losses, &model, &ladder, margin, 10_000, facts.plan.seed).ok()?;
    Some(Ladder { cells, found })
}

/// The answer, and the knee as the report shows it.
pub(super) fn answer(
    facts: &Facts<'_>,
    judged: &[Judged],
    curves: Option<&Curves>,
    analysis: &Analysis<'_>,
) -> (Answer, Option<Knee>) {
    let experiment = analysis.experiment;
    let ladder = find_knee(facts);
    // Without a baseline nothing is compared, also not the others among each other.
    let ladder = ladder.filter(|_| !comparability(judged).is_impossible());
    // The fewest of levels of which none may be the answer are no answer either.
    let ladder = ladder.filter(|ladder| ladder.cells.iter().all(|&cell| facts.may_win(cell)));
    let subject = experiment.subject();
    let sentences = Sentences {
        facts,
        judged,
        subject: &subject,
        more: more_blocks(facts),
    };
    let rivals = curves.and_then(|curves| curves.rivals(facts));
    let rivals = rivals.filter(|_| !comparability(judged).is_impossible());
    let named = match &rivals {
        Some(rivals) => under_load::named(facts, rivals),
        None => named(facts, judged, ladder.as_ref()),
    };
    let badge = badge(facts, named.is_some());
    let recommended = named.filter(|_| badge.has_verdict());
    let mut answer = Answer {
        badge,
        sentence: match &rivals {
            Some(rivals) => sentences.under_load(named, rivals, badge),
            None => sentences.headline(named, ladder.as_ref(), badge),
        },
        // Without a verdict no level has a chance.
        detail: sentences.detail(ladder.as_ref().filter(|_| badge.has_verdict())),
        recommended: recommended.map(|cell| facts.keys[cell].clone()),
        is_under_load: rivals.is_some(),
        ..Answer::default()
    };
    if let Some(cell) = recommended {
        (answer.apply, answer.undo) = experiment.apply(&facts.plan.cells()[cell]);
    }
    if badge != Badge::Conclusive {
        // More blocks do not settle what depends on the load.
        let depends = rivals.is_some_and(|rivals| under_load::depends(facts, &rivals));
        let next = next_step(facts, judged, analysis.out_dir);
        answer.next_step = next.filter(|_| !depends);
    }
    debug_assert!(badge != Badge::Conclusive || answer.recommended.is_some());
    let knee = ladder.map(|ladder| {
        let mut knee = shown(facts, judged, &ladder);
        // The charts name no level that the answer does not stand by.
        knee.level = knee.level.filter(|_| badge.has_verdict());
        knee
    });
    (answer, knee)
}

/// The answer of a search, with the command that spends more runs on it.
pub(super) fn of_search(
    facts: &Facts<'_>,
    judged: &[Judged],
    found: &Outcome,
    analysis: &Analysis<'_>,
) -> Answer {
    let mut answer = found.answer(facts, judged);
    match answer.recommended {
        // To set a leader that is not shown to differ from the baseline would be a change for nothing.
        Some(_) if found.is_worth_setting(facts, judged) => {
            let cell = &facts.plan.cells()[found.leader()];
            (answer.apply, answer.undo) = analysis.experiment.apply(cell);
        }
        Some(_) => {}
        None => {
            let dir = shell_word(&analysis.out_dir.display().to_string());
            let more = match facts.history.search_over {
                true => format!(
                    " --blocks {}",
                    facts.plan.blocks + facts.plan.blocks.div_ceil(2)
                ),
                false => String::new(),
            };
            answer.next_step = Some(format!("furrow lab run --resume {dir}{more}"));
        }
    }
    answer
}

/// Whether levels were compared with the baseline.
fn comparability(judged: &[Judged]) -> Comparability {
    Comparability::of(judged.iter().map(|j| &j.result))
}

/// The level to use, where the runs settle it.
fn named(facts: &Facts<'_>, judged: &[Judged], ladder: Option<&Ladder>) -> Option<usize> {
    let better = best_shown(facts, judged);
    let Some(ladder) = ladder else {
        // Without an order no level is fewer than another: the best one shown is the answer.
        let enough = facts.may_win(facts.baseline) && all_decided(facts, judged);
        return better.or_else(|| enough.then_some(facts.baseline));
    };
    if ladder.certain().is_some() {
        return supported(facts, judged, ladder).map(|place| ladder.cells[place]);
    }
    let baseline_is_fewest = ladder.cells.first() == Some(&facts.baseline);
    let none_better = better.is_none() && all_decided(facts, judged);
    (baseline_is_fewest && none_better).then_some(facts.baseline)
}

/// The place of the knee, where the table of levels decides how it compares with the baseline. The rule of
/// the knee is one-sided, and so is satisfied a little earlier.
fn supported(facts: &Facts<'_>, judged: &[Judged], ladder: &Ladder) -> Option<usize> {
    let place = ladder.certain()?;
    let cell = *ladder.cells.get(place)?;
    let is_decided = |j: &Judged| j.verdict().is_some_and(|v| v != Verdict::CannotTell);
    let is_supported =
        cell == facts.baseline || judged.iter().any(|j| j.cell == cell && is_decided(j));
    is_supported.then_some(place)
}

/// The level that was shown to be better and has the best estimate, of those that may be the answer.
fn best_shown(facts: &Facts<'_>, judged: &[Judged]) -> Option<usize> {
    judged
        .iter()
        .filter(|j| j.verdict() == Some(Verdict::Better) && facts.may_win(j.cell))
        .filter_map(|j| Some((j.cell, facts.loss(j.comparison?.estimate.value))))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(cell, _)| cell)
}

/// Whether every other level that ran and may be the answer is decided, and one at least. Nothing is claimed
/// about levels without a good run: the sentence lists them. Where no other level may be the answer, nothing
/// is left to decide.
fn all_decided(facts: &Facts<'_>, judged: &[Judged]) -> bool {
    if !has_rivals(facts) {
        return !comparability(judged).is_impossible();
    }
    let others = judged
        .iter()
        .filter(|j| j.cell != facts.baseline && facts.may_win(j.cell));
    let mut verdicts = others.filter(|j| j.result.n > 0).map(Judged::verdict);
    let is_decided = |v: Option<Verdict>| matches!(v, Some(v) if v != Verdict::CannotTell);
    verdicts.next().is_some_and(is_decided) && verdicts.all(is_decided)
}

/// Whether a level other than the baseline may be the answer.
fn has_rivals(facts: &Facts<'_>) -> bool {
    (0..facts.keys.len()).any(|cell| cell != facts.baseline && facts.may_win(cell))
}

fn badge(facts: &Facts<'_>, known: bool) -> Badge {
    let (Some(model), true) = (&facts.model, blocks_used(facts) >= 2) else {
        return Badge::Aborted;
    };
    let arms = facts.arms_of(facts.baseline);
    let control = arms
        .get(1)
        .and_then(|&second| aa_check(model, (arms[0], second), facts.plan.delta.ln_1p()));
    if control.is_some_and(|check| !check.passed) {
        return Badge::Noisy;
    }
    if facts.plan.blocks < 5 {
        return Badge::Screening;
    }
    if blocks_used(facts) < 5 {
        return Badge::Aborted;
    }
    if known {
        Badge::Conclusive
    } else {
        Badge::CannotTell
    }
}

fn shown(facts: &Facts<'_>, judged: &[Judged], ladder: &Ladder) -> Knee {
    let key = |place: usize| facts.keys[ladder.cells[place]].clone();
    let margin = round_percent(facts.plan.delta);
    let mut unimodal = vec![0.0; facts.keys.len()];
    for (&cell, &loss) in ladder.cells.iter().zip(&ladder.found.unimodal) {
        unimodal[cell] = facts.loss(loss).exp();
    }
    Knee {
        level: supported(facts, judged, ladder).map(key),
        rule: format!(
            "the smallest level whose 95% upper bound lies within {margin} of the best, where no smaller \
             one may do as well and the verdict against the baseline is not \"cannot tell\""
        ),
        shares: ladder
            .found
            .probability
            .iter()
            .enumerate()
            .map(|(place, &probability)| KneeShare {
                level: key(place),
                probability,
            })
            .collect(),
        // The fit has a value for each level of the plan or is not shown.
        unimodal_fit: if ladder.cells.len() == facts.keys.len() {
            unimodal
        } else {
            Vec::new()
        },
        rise_after_p: ladder.found.rise_after_p,
    }
}

/// What it would take.
#[derive(Debug, Clone, Copy)]
enum More {
    Blocks { more: u32, effect: f64 },
    Hopeless { cv: f64 },
}

/// The smallest round effect, from the margin up, that a plan of up to 15 blocks would see.
fn more_blocks(facts: &Facts<'_>) -> Option<More> {
    const MOST: usize = 15;
    let model = facts.model.as_ref()?;
    // By the level that scatters most.
    let arms = (0..facts.logs.arms()).map(|arm| model.scale(arm));
    let cv = model.cv() * arms.fold(1.0, f64::max);
    let done = blocks_used(facts);
    let most = MOST.max(done as usize + 4);
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 10.0];
    for effect in steps.map(|step| step * facts.plan.delta) {
        if let Some(needed) = design(facts).blocks_needed(cv, effect, PROMISED_POWER, most) {
            // Two are added where the number would do on average and chance was against it; a screening
            // becomes an experiment.
            let least = 6_u32.saturating_sub(done).max(2);
            let more = (needed as u32).saturating_sub(done).max(least);
            return Some(More::Blocks { more, effect });
        }
    }
    // The figure that the panel of the noise shows.
    Some(More::Hopeless { cv: model.cv() })
}

/// One command: the rest of the plan, or as many blocks on top of it as would be enough for an answer. The
/// blocks of the plan are not always those that were used: runs that failed for good are not run again.
fn next_step(facts: &Facts<'_>, judged: &[Judged], out_dir: &Path) -> Option<String> {
    let resume = format!(
        "furrow lab run --resume {}",
        shell_word(&out_dir.display().to_string())
    );
    if facts.history.has_open_run(&facts.planned) {
        return Some(resume);
    }
    if comparability(judged).is_impossible() {
        // More blocks of runs that fail would compare nothing either.
        return None;
    }
    match more_blocks(facts)? {
        More::Blocks { more, .. } => {
            let blocks = facts.plan.blocks + more;
            Some(format!("{resume} --blocks {blocks}"))
        }
        More::Hopeless { .. } => None,
    }
}
