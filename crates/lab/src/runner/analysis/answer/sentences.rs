//! The sentences of an answer. Each states only what the table beside it shows.

use super::{Ladder, More};
use crate::plan::minutes;
use crate::report::words::{chance, percent, round_percent};
use crate::results::{Badge, Comparability, Experiment, Verdict};
use crate::runner::analysis::facts::Facts;
use crate::runner::analysis::levels::Judged;
use std::fmt;

/// From this ratio on a change reads "2.5 times as long" instead of a percentage.
const LARGE_RATIO: f64 = 2.0;
/// Levels that one sentence lists.
pub(super) const MOST_LISTED: usize = 6;
/// The levels that may be the answer, where others do less than the baseline.
const ALIKE: &str = " that does the same work";
/// Levels that it lists where there are more.
pub(super) const LISTED_OF_MANY: usize = 4;

pub(super) struct Sentences<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) judged: &'a [Judged],
    pub(super) subject: &'a Experiment,
    pub(super) more: Option<More>,
}

/// A sentence with a capital letter at its beginning.
fn capitalized(sentence: String) -> String {
    let mut letters = sentence.chars();
    match letters.next().filter(char::is_ascii_lowercase) {
        Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
        None => sentence,
    }
}

impl Sentences<'_> {
    /// The one sentence of the answer: the named level, then every other level that was shown to differ.
    pub(super) fn headline(
        &self,
        named: Option<usize>,
        ladder: Option<&Ladder>,
        badge: Badge,
    ) -> String {
        let sentence = match named {
            Some(cell) if cell == self.facts.baseline => self.baseline_is_enough(ladder),
            Some(cell) => self.level_is_named(cell, ladder),
            None => self.nothing_is_named(ladder, badge),
        };
        self.with_badge(sentence, badge, named.is_some() || self.differs())
    }

    /// The sentence with what the badge takes back. `says`: whether it names a level or a difference. The
    /// badge shows what kind of answer it is; the sentence need not repeat that.
    pub(super) fn with_badge(&self, sentence: String, badge: Badge, says: bool) -> String {
        capitalized(match badge {
            Badge::Screening | Badge::Aborted if says => self.suggested(&sentence),
            Badge::Noisy => {
                format!("the baseline differs from itself, so this is no verdict: {sentence}")
            }
            _ => sentence,
        })
    }

    /// `3 blocks suggest: ...`: fewer blocks than a verdict needs.
    fn suggested(&self, sentence: &str) -> String {
        match super::blocks_used(self.facts) {
            1 => format!("1 block suggests: {sentence}"),
            blocks => format!("{blocks} blocks suggest: {sentence}"),
        }
    }

    /// Whether a level is shown to differ from the baseline.
    pub(super) fn differs(&self) -> bool {
        let delta = self.facts.plan.delta;
        let mut levels = self.judged.iter().map(|j| &j.result);
        levels.any(|level| level.is_shown_to_differ(delta))
    }

    /// `1 file is enough: no other level is better by more than 2%`.
    fn baseline_is_enough(&self, ladder: Option<&Ladder>) -> String {
        let baseline = self.facts.baseline;
        let name = self.name(baseline);
        let enough = match ladder {
            Some(_) if name.starts_with("1 ") => format!("{name} is enough"),
            Some(_) => format!("{name} are enough"),
            None => name,
        };
        let shown = if self.table_rules_out_gains() {
            ""
        } else {
            "shown to be "
        };
        let not_measured = self.not_measured();
        if !super::has_rivals(self.facts) {
            let also = self.also_shown(baseline);
            return format!("{enough}: no other level does the same work{not_measured}{also}");
        }
        let which = match (self.all_may_win(), not_measured.is_empty()) {
            (true, true) => "",
            (true, false) => " that ran",
            (false, true) => ALIKE,
            (false, false) => " that ran and does the same work",
        };
        format!(
            "{enough}: no other level{which} is {shown}better by more than {}{not_measured}{}",
            self.margin(),
            self.also_shown(baseline)
        )
    }

    /// Whether each level may be the answer.
    fn all_may_win(&self) -> bool {
        self.facts.contenders.iter().all(|may_win| *may_win)
    }

    /// Whether every interval of the table, of levels that may be the answer, ends before a gain beyond the
    /// margin.
    fn table_rules_out_gains(&self) -> bool {
        let margin = self.facts.plan.delta.ln_1p();
        let rivals = self.judged.iter().filter(|j| self.facts.may_win(j.cell));
        let others = rivals.filter_map(|j| j.comparison);
        let mut gains = others.map(|c| {
            let (low, high) = c.interval;
            -self.facts.loss(low).min(self.facts.loss(high))
        });
        gains.all(|gain| gain <= margin)
    }

    /// `4 files: 5.1% faster than 1 (3.9 to 6.3%); 8 is not better by more than 2%`.
    fn level_is_named(&self, cell: usize, ladder: Option<&Ladder>) -> String {
        let beyond = ladder.and_then(|ladder| beyond(cell, ladder));
        let beyond = beyond.map_or(String::new(), |other| {
            let key = &self.facts.keys[other];
            format!("; {key} is not better by more than {}", self.margin())
        });
        let text = self
            .against_baseline(cell)
            .unwrap_or_else(|| self.name(cell));
        let not_measured = self.not_measured();
        format!("{text}{beyond}{not_measured}{}", self.also_shown(cell))
    }

    /// `; 8, 16 were not measured`: the levels without a good run, about which nothing is claimed.
    pub(super) fn not_measured(&self) -> String {
        let missing = self.judged.iter().filter(|j| j.result.n == 0);
        let keys: Vec<&str> = missing.map(|j| j.result.level.as_str()).collect();
        match keys.as_slice() {
            [] => String::new(),
            [one] => format!("; {one} was not measured"),
            few if few.len() <= MOST_LISTED => {
                format!("; {} were not measured", few.join(", "))
            }
            many => format!("; {} levels were not measured", many.len()),
        }
    }

    /// What was shown, which fewer may do as well, and what would settle it.
    fn nothing_is_named(&self, ladder: Option<&Ladder>, badge: Badge) -> String {
        let missing = match super::comparability(self.judged) {
            Comparability::NoBaseline => {
                let base = &self.facts.keys[self.facts.baseline];
                Some(format!("{base} was not measured"))
            }
            Comparability::NoOther => Some(self.not_measured().replacen("; ", "", 1)),
            Comparability::Compared | Comparability::TooFew => None,
        };
        if let Some(missing) = missing {
            return format!("{missing}, so nothing can be compared");
        }
        let best = super::best_shown(self.facts, self.judged);
        let shown = match best.and_then(|cell| Some((cell, self.against_baseline(cell)?))) {
            Some((cell, text)) => format!("{text}{}", self.also_shown(cell)),
            None => {
                let others = self.also_shown(self.facts.baseline);
                let others = others.trim_start_matches("; ");
                let which = if self.all_may_win() { "" } else { ALIKE };
                match others.is_empty() {
                    true => "no difference shown".to_owned(),
                    false => format!("no level{which} is shown to be better; {others}"),
                }
            }
        };
        let fewest = ladder.and_then(|ladder| self.fewest(ladder, best));
        let fewest = fewest.unwrap_or_default();
        let not_measured = self.not_measured();
        format!("{shown}{fewest}{not_measured}. {}", self.next(badge))
    }

    /// What to do for an answer. How many blocks would be enough follows from a model that the control may
    /// have refused.
    pub(super) fn next(&self, badge: Badge) -> String {
        match badge {
            Badge::Noisy => "Find what changed, then begin again or add blocks".to_string(),
            _ => self.what_would_tell(),
        }
    }

    /// `; 1 file may do as well`, or the knee where it is certain: then no smaller level may do as well, and
    /// only its difference from the baseline is not shown.
    fn fewest(&self, ladder: &Ladder, best: Option<usize>) -> Option<String> {
        if let Some(place) = ladder.certain() {
            let name = self.name(*ladder.cells.get(place)?);
            let verb = if name.starts_with("1 ") { "is" } else { "are" };
            let base = &self.facts.keys[self.facts.baseline];
            return Some(format!(
                "; {name} {verb} likely the fewest that {verb} as good as the best, but the difference from \
                 {base} is not shown"
            ));
        }
        let cell = *ladder.cells.get(ladder.fewest_likely()?)?;
        (Some(cell) != best).then(|| format!("; {} may do as well", self.name(cell)))
    }

    /// `; also shown: 8 files 5.0% faster, 16 files 9.6 times as long`, but for the level already named.
    fn also_shown(&self, named: usize) -> String {
        let words = self.shown(&|cell| cell != named);
        words.map_or(String::new(), |words| format!("; also shown: {words}"))
    }

    /// `8 files 5.0% faster, 16 files 9.6 times as long`: of some levels those that differ from the baseline.
    /// Of many those that differ most, and how many more there are.
    pub(super) fn shown(&self, of: &dyn Fn(usize) -> bool) -> Option<String> {
        let mut others: Vec<(usize, f64)> = self
            .judged
            .iter()
            .filter(|j| of(j.cell))
            .filter(|j| matches!(j.verdict(), Some(Verdict::Better | Verdict::Worse)))
            .filter_map(|j| Some((j.cell, j.comparison?.estimate.value)))
            .collect();
        let more = match others.len() {
            0 => return None,
            few if few <= MOST_LISTED => String::new(),
            many => {
                others.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
                others.truncate(LISTED_OF_MANY);
                format!(", and {} more levels in the table", many - LISTED_OF_MANY)
            }
        };
        let words = others
            .iter()
            .map(|&(cell, estimate)| format!("{} {}", self.name(cell), self.change(estimate)));
        let words: Vec<String> = words.collect();
        Some(format!("{}{more}", words.join(", ")))
    }

    /// `4 files`, `1 file`, or the level as it is.
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

    /// `4 files: 1.3% faster than 1 (3.1% faster to 0.5% slower)`.
    fn against_baseline(&self, cell: usize) -> Option<String> {
        let comparison = self.judged.iter().find(|j| j.cell == cell)?.comparison?;
        let change = self.change(comparison.estimate.value);
        Some(format!(
            "{}: {change} {} {} ({})",
            self.name(cell),
            change.joint(),
            self.facts.keys[self.facts.baseline],
            self.range(comparison.interval)
        ))
    }

    /// A change of the response, given on the log scale.
    pub(super) fn change(&self, log: f64) -> Change {
        change_of(log, self.facts.loss(log), self.facts.is_speed())
    }

    /// The ends of an interval, with their directions where these differ. A gain comes before a loss,
    /// else the smaller change before the larger.
    pub(super) fn range(&self, (low, high): (f64, f64)) -> String {
        let is_mixed = low.signum() != high.signum();
        let swap = match is_mixed {
            true => self.facts.loss(low) > 0.0,
            false => low.abs() > high.abs(),
        };
        let (first, last) = if swap { (high, low) } else { (low, high) };
        let (first, last) = (self.change(first), self.change(last));
        match first.direction == last.direction {
            true => format!("{:.1} to {:.1}{}", first.amount, last.amount, last.unit()),
            false => format!("{first} to {last}"),
        }
    }

    pub(super) fn margin(&self) -> String {
        round_percent(self.facts.plan.delta)
    }

    /// `9 more blocks (85 s) would find a difference of 6% or more 9 times in 10`.
    fn what_would_tell(&self) -> String {
        match self.more {
            None => "Too few runs were finished".to_string(),
            Some(More::Hopeless { cv }) => {
                format!(
                    "Runs scatter by {} (CV), too much for any sensible number of blocks",
                    percent(cv)
                )
            }
            Some(More::Blocks { more, effect }) => {
                let time = minutes(f64::from(more) * self.facts.block_seconds());
                let noun = if more == 1 { "block" } else { "blocks" };
                format!(
                    "{more} more {noun} ({time}) would find a difference of {} or more 9 times in 10",
                    round_percent(effect)
                )
            }
        }
    }

    /// The second sentence: the chances, and where mean and median disagree.
    pub(super) fn detail(&self, ladder: Option<&Ladder>) -> String {
        let mut parts = Vec::new();
        parts.extend(ladder.and_then(|ladder| {
            let keys = ladder
                .cells
                .iter()
                .map(|&cell| self.facts.keys[cell].as_str());
            chances(keys.zip(ladder.found.probability.iter().copied()).collect())
        }));
        let disagree = self
            .judged
            .iter()
            .filter(|j| j.result.robust.is_some_and(|robust| !robust.agrees));
        let keys: Vec<&str> = disagree.map(|j| j.result.level.as_str()).collect();
        if !keys.is_empty() {
            parts.push(format!(
                "Mean and median disagree at {}: some runs lie far from the others.",
                keys.join(", ")
            ));
        }
        parts.join(" ")
    }
}

/// How likely each level is to be the knee, the likeliest first, those under 5% left out; `None` where all
/// are.
fn chances(mut levels: Vec<(&str, f64)>) -> Option<String> {
    levels.retain(|(_, probability)| *probability >= 0.05);
    levels.sort_by(|a, b| b.1.total_cmp(&a.1));
    let listed: Vec<String> = levels
        .iter()
        .map(|(key, probability)| format!("{key} {}", chance(*probability)))
        .collect();
    let listed = (!listed.is_empty()).then(|| listed.join(", "))?;
    Some(format!(
        "Chance to be the fewest that are as good as the best: {listed}."
    ))
}

/// An amount and its direction: `5.1% faster`, `9.6 times as long`.
pub(super) struct Change {
    amount: f64,
    /// A ratio, not a percentage.
    is_large: bool,
    direction: &'static str,
}

/// A change of the response by its logarithm and by that of the loss. Only a speed that falls is a multiple
/// of something, of the time.
fn change_of(log: f64, loss: f64, is_speed: bool) -> Change {
    let ratio = match is_speed {
        true => loss.abs().exp(),
        false => log.exp(),
    };
    let is_large = ratio >= LARGE_RATIO;
    Change {
        amount: match is_large {
            true => ratio,
            false => 100.0 * log.exp_m1().abs(),
        },
        is_large,
        direction: match (is_large, is_speed, loss < 0.0) {
            (true, true, true) => "as fast",
            (true, true, false) => "as long",
            (true, false, _) => "as much",
            (false, true, true) => "faster",
            (false, true, false) => "slower",
            (false, false, true) => "better",
            (false, false, false) => "worse",
        },
    }
}

impl Change {
    fn unit(&self) -> &'static str {
        if self.is_large { " times" } else { "%" }
    }

    /// The conjunction before the level that it is compared with.
    pub(super) fn joint(&self) -> &'static str {
        if self.is_large { "as" } else { "than" }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}{} {}", self.amount, self.unit(), self.direction)
    }
}

/// The level to name behind the knee: the least mean if it lies beyond, else the next one.
fn beyond(cell: usize, ladder: &Ladder) -> Option<usize> {
    let place = ladder.cells.iter().position(|&c| c == cell)?;
    let least = ladder.found.least;
    ladder
        .cells
        .get(if least > place { least } else { place + 1 })
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_change_is_a_multiple() {
        let said =
            |ratio: f64, loss: f64, is_speed| change_of(ratio.ln(), loss, is_speed).to_string();
        assert_eq!(said(4.892, -1.0, false), "4.9 times as much");
        assert_eq!(said(0.2, 1.0, false), "80.0% worse");
        assert_eq!(said(1.2, -0.1, false), "20.0% better");
        assert_eq!(said(0.2, 0.2_f64.ln(), true), "5.0 times as fast");
        assert_eq!(said(3.0, 3.0_f64.ln(), true), "3.0 times as long");
        assert_eq!(said(0.545, -0.6, true), "45.5% faster");
    }

    #[test]
    fn chances_below_one_in_twenty_are_left_out_and_none_is_called_certain() {
        let begin = "Chance to be the fewest that are as good as the best";
        let found = chances(vec![("4", 0.004), ("8", 0.996)]);
        assert_eq!(found, Some(format!("{begin}: 8 >99%.")));
        let found = chances(vec![("4", 0.3), ("8", 0.7)]);
        assert_eq!(found, Some(format!("{begin}: 8 70%, 4 30%.")));
        assert_eq!(chances(vec![("4", 0.04); 25]), None);
    }
}
