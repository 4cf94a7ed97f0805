//! The knee, the sentence and the badge.

use super::Analysis;
use super::facts::Facts;
use super::levels::Judged;
use super::noise::{blocks_used, design};
use crate::plan::minutes;
use crate::report::words::{round_percent, shell_word};
use crate::results::{Answer, Badge, Knee, KneeShare, Verdict};
use furrow_stats::knee::{self, Knee as Found};
use furrow_stats::noise::aa_check;
use std::path::Path;

/// The knee along the one ordered factor, with the cells it was looked for among.
pub(super) struct Ladder {
    cells: Vec<usize>,
    found: Found,
}

/// Looks for the knee. `None` without exactly one varying factor of rising numbers, or without a model.
pub(super) fn find_knee(facts: &Facts<'_>) -> Option<Ladder> {
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

/// The words, and the knee as the report shows it.
pub(super) fn answer(
    facts: &Facts<'_>,
    judged: &[Judged],
    ladder: Option<Ladder>,
    analysis: &Analysis<'_>,
) -> (Answer, Option<Knee>) {
    let experiment = analysis.experiment;
    let subject = experiment.subject();
    let teller = Teller {
        facts,
        judged,
        subject: &subject,
    };
    let mut answer = teller.tell(ladder.as_ref());
    if let Some(cell) = answer.recommended.as_ref().and_then(|key| teller.cell(key)) {
        (answer.apply, answer.undo) = experiment.apply(&facts.plan.cells()[cell]);
    }
    if answer.badge != Badge::Conclusive {
        answer.next_step = next_step(facts, analysis.out_dir);
    }
    (answer, ladder.map(|ladder| shown(facts, &ladder)))
}

fn shown(facts: &Facts<'_>, ladder: &Ladder) -> Knee {
    let key = |place: usize| facts.keys[ladder.cells[place]].clone();
    let margin = round_percent(facts.plan.delta);
    let mut unimodal = vec![0.0; facts.keys.len()];
    for (&cell, &loss) in ladder.cells.iter().zip(&ladder.found.unimodal) {
        unimodal[cell] = facts.loss(loss).exp();
    }
    Knee {
        level: ladder.found.level.map(key),
        rule: format!("the smallest level whose 95% upper bound lies within {margin} of the best"),
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

struct Teller<'a> {
    facts: &'a Facts<'a>,
    judged: &'a [Judged],
    subject: &'a crate::results::Experiment,
}

impl Teller<'_> {
    fn cell(&self, key: &str) -> Option<usize> {
        self.facts.keys.iter().position(|k| k == key)
    }

    fn tell(&self, ladder: Option<&Ladder>) -> Answer {
        let knee = ladder.and_then(|l| l.found.level.map(|place| l.cells[place]));
        let (recommended, sentence) = match (knee, self.best_shown()) {
            (Some(cell), _) => (Some(cell), self.knee_sentence(cell, ladder)),
            (None, Some(cell)) => (Some(cell), self.shown_sentence(cell, ladder.is_some())),
            (None, None) if self.all_decided() => (Some(self.facts.baseline), self.none_better()),
            (None, None) => (None, format!("cannot tell: {}", self.what_would_tell())),
        };
        let badge = self.badge(recommended.is_some());
        // The badge says what kind of answer it is; the sentence need not say so again.
        let sentence = match badge {
            Badge::Screening if recommended.is_some() => {
                format!("{} blocks suggest: {sentence}", self.facts.plan.blocks)
            }
            Badge::Noisy => {
                format!("the baseline differs from itself, so this is no verdict: {sentence}")
            }
            _ => sentence,
        };
        Answer {
            badge,
            sentence,
            detail: self.detail(knee, ladder),
            recommended: recommended.map(|cell| self.facts.keys[cell].clone()),
            ..Answer::default()
        }
    }

    /// The level that was shown to be better and has the best estimate.
    fn best_shown(&self) -> Option<usize> {
        self.judged
            .iter()
            .filter(|j| j.verdict() == Some(Verdict::Better))
            .filter_map(|j| Some((j.cell, self.facts.loss(j.comparison?.estimate.value))))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(cell, _)| cell)
    }

    fn all_decided(&self) -> bool {
        let mut others = self.judged.iter().filter(|j| j.cell != self.facts.baseline);
        others.all(|j| matches!(j.verdict(), Some(v) if v != Verdict::CannotTell))
    }

    /// `4 files`, `1 file`, or the word itself.
    fn name(&self, cell: usize) -> String {
        let key = &self.facts.keys[cell];
        let factor = &self.subject.factor;
        match key.as_str() {
            "1" if !factor.singular.is_empty() => format!("1 {}", factor.singular),
            _ if key.parse::<f64>().is_ok() && !factor.plural.is_empty() => {
                format!("{key} {}", factor.plural)
            }
            _ => key.clone(),
        }
    }

    /// `4 files: 5.1% faster than 1 (3.9 to 6.3)`.
    fn against_baseline(&self, cell: usize) -> Option<String> {
        let comparison = self.judged.iter().find(|j| j.cell == cell)?.comparison?;
        let estimate = comparison.estimate.value;
        let share = |log: f64| (100.0 * log.exp_m1()).abs();
        let (mut low, mut high) = (share(comparison.interval.0), share(comparison.interval.1));
        if low > high {
            (low, high) = (high, low);
        }
        let good = self.facts.loss(estimate) < 0.0;
        let word = match (self.facts.is_speed(), good) {
            (true, true) => "faster",
            (true, false) => "slower",
            (false, true) => "better",
            (false, false) => "worse",
        };
        Some(format!(
            "{}: {:.1}% {word} than {} ({low:.1} to {high:.1})",
            self.name(cell),
            share(estimate),
            self.facts.keys[self.facts.baseline],
        ))
    }

    fn margin(&self) -> String {
        round_percent(self.facts.plan.delta)
    }

    fn knee_sentence(&self, cell: usize, ladder: Option<&Ladder>) -> String {
        let beyond = ladder.and_then(|l| self.beyond(cell, l));
        let beyond = beyond.map_or(String::new(), |other| {
            let key = &self.facts.keys[other];
            format!("; {key} is not better by more than {}", self.margin())
        });
        if cell == self.facts.baseline {
            let tail = if beyond.is_empty() {
                String::new()
            } else {
                self.none_better_tail()
            };
            return format!("{} is enough{tail}", self.name(cell));
        }
        let verdict = self
            .judged
            .iter()
            .find(|j| j.cell == cell)
            .and_then(Judged::verdict);
        match (verdict, self.against_baseline(cell)) {
            (Some(Verdict::Better), Some(text)) => format!("{text}{beyond}"),
            (_, Some(text)) => format!(
                "{} is as good as the best{beyond}; against {} it cannot be told ({text})",
                self.name(cell),
                self.facts.keys[self.facts.baseline]
            ),
            (_, None) => format!("{} is as good as the best{beyond}", self.name(cell)),
        }
    }

    /// The level to name behind the knee: the least mean if it lies beyond, else the next one.
    fn beyond(&self, cell: usize, ladder: &Ladder) -> Option<usize> {
        let place = ladder.cells.iter().position(|&c| c == cell)?;
        let least = ladder.found.least;
        ladder
            .cells
            .get(if least > place { least } else { place + 1 })
            .copied()
    }

    fn none_better_tail(&self) -> String {
        let worst = self
            .judged
            .iter()
            .filter(|j| j.verdict() == Some(Verdict::Worse))
            .filter_map(|j| Some((j.cell, self.facts.loss(j.comparison?.estimate.value))))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .and_then(|(cell, _)| self.against_baseline(cell))
            .map_or(String::new(), |text| format!("; {text}"));
        format!(
            ": no other level is better by more than {}{worst}",
            self.margin()
        )
    }

    fn none_better(&self) -> String {
        format!(
            "{}{}",
            self.name(self.facts.baseline),
            self.none_better_tail()
        )
    }

    fn shown_sentence(&self, cell: usize, ordered: bool) -> String {
        let text = self
            .against_baseline(cell)
            .unwrap_or_else(|| self.name(cell));
        match ordered {
            true => format!("{text}; the fewest that are as good cannot be told"),
            false => text,
        }
    }

    /// `4 more blocks (9 minutes) would see 3%`.
    fn what_would_tell(&self) -> String {
        match more_blocks(self.facts) {
            None => "too few runs were finished".to_string(),
            Some(More::Hopeless { cv }) => {
                format!(
                    "runs vary by {}%, too much for any sensible number of blocks",
                    number(100.0 * cv)
                )
            }
            Some(More::Blocks { more, effect }) => {
                let time = minutes(f64::from(more) * self.facts.block_seconds());
                let noun = if more == 1 { "block" } else { "blocks" };
                format!(
                    "{more} more {noun} ({time}) would see {}%",
                    number(100.0 * effect)
                )
            }
        }
    }

    fn badge(&self, known: bool) -> Badge {
        let facts = self.facts;
        let (Some(model), true) = (&facts.model, blocks_used(facts) >= 2) else {
            return Badge::Aborted;
        };
        if facts.plan.blocks < 5 {
            return Badge::Screening;
        }
        let arms = facts.arms_of(facts.baseline);
        let control = arms
            .get(1)
            .and_then(|&second| aa_check(model, arms[0], second));
        if control.is_some_and(|check| !check.passed) {
            return Badge::Noisy;
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

    /// How likely each level is to be the knee, the likeliest first, those under 5% left out.
    fn chances(&self, named: usize, ladder: &Ladder) -> String {
        let probability = &ladder.found.probability;
        let mut places: Vec<usize> = (0..probability.len())
            .filter(|&place| probability[place] >= 0.05)
            .collect();
        places.sort_by(|&a, &b| probability[b].total_cmp(&probability[a]));
        let key = |place: usize| &self.facts.keys[ladder.cells[place]];
        let told: Vec<String> = places
            .iter()
            .map(|&place| format!("{} {:.0}%", key(place), 100.0 * probability[place]))
            .collect();
        let mut text = format!(
            "Chance to be the fewest that are as good as the best: {}.",
            told.join(", ")
        );
        if let Some(&likeliest) = places.first().filter(|&&place| place < named) {
            text.push_str(&format!(
                " {} may do as well; {} is named because that is sure.",
                key(likeliest),
                key(named)
            ));
        }
        text
    }

    fn detail(&self, knee: Option<usize>, ladder: Option<&Ladder>) -> String {
        let mut parts = Vec::new();
        if let (Some(cell), Some(ladder)) = (knee, ladder)
            && let Some(place) = ladder.cells.iter().position(|&c| c == cell)
        {
            parts.push(self.chances(place, ladder));
        }
        let disagree = self
            .judged
            .iter()
            .filter(|j| j.result.robust.is_some_and(|robust| !robust.agrees));
        let keys: Vec<&str> = disagree.map(|j| j.result.level.as_str()).collect();
        if !keys.is_empty() {
            parts.push(format!(
                "Mean and median disagree at {}: outside events hit some runs.",
                keys.join(", ")
            ));
        }
        parts.join(" ")
    }
}

/// What it would take.
enum More {
    Blocks { more: u32, effect: f64 },
    Hopeless { cv: f64 },
}

/// The smallest round effect, from the margin up, that a plan of up to 15 blocks would see.
fn more_blocks(facts: &Facts<'_>) -> Option<More> {
    const MOST: usize = 15;
    let model = facts.model.as_ref()?;
    let done = blocks_used(facts);
    let most = MOST.max(done as usize + 4);
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 10.0];
    for effect in steps.map(|step| step * facts.plan.delta) {
        if let Some(needed) = design(facts).blocks_needed(model.cv(), effect, 0.8, most) {
            // Two are added where the number would do on average and chance was against it; a screening
            // becomes an experiment.
            let least = 6_u32.saturating_sub(done).max(2);
            let more = (needed as u32).saturating_sub(done).max(least);
            return Some(More::Blocks { more, effect });
        }
    }
    Some(More::Hopeless { cv: model.cv() })
}

/// One command: the rest of the plan, or as many blocks on top of it as would tell.
fn next_step(facts: &Facts<'_>, out_dir: &Path) -> Option<String> {
    let resume = format!(
        "furrow lab run --resume {}",
        shell_word(&out_dir.display().to_string())
    );
    let done = blocks_used(facts);
    if done < facts.plan.blocks {
        return Some(resume);
    }
    match more_blocks(facts)? {
        More::Blocks { more, .. } => Some(format!("{resume} --blocks {}", done + more)),
        More::Hopeless { .. } => None,
    }
}

/// At most one decimal, none where it is zero.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}
