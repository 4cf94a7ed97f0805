//! The answer where sessions are counted and something else varies: users and files.
//!
//! How many users there are is not chosen, so a level is compared with the first one under the same load
//! alone. More users than the baseline has do more in any case: that they do is said behind, and decides
//! nothing.

use super::sentences::{LISTED_OF_MANY, MOST_LISTED, Sentences};
use crate::results::Badge;
use crate::runner::analysis::curves::Compared;
use crate::runner::analysis::facts::Facts;

/// The level to use: of the curves that are shown to be better under some load and worse under none, the one
/// with the greatest gain, there; else the baseline, where no level gains more than the margin under any.
pub(super) fn named(facts: &Facts<'_>, rivals: &[&Compared]) -> Option<usize> {
    let is_gain = |c: &Compared| facts.loss(c.value) < 0.0;
    let is_worse = |curve: &str| {
        let mut shown = rivals
            .iter()
            .filter(|c| c.is_shown && c.pair.curve == curve);
        shown.any(|c| !is_gain(c))
    };
    let better = rivals
        .iter()
        .filter(|c| c.is_shown && is_gain(c))
        .filter(|c| !is_worse(&c.pair.curve));
    let greatest = better.min_by(|a, b| facts.loss(a.value).total_cmp(&facts.loss(b.value)));
    let margin = facts.plan.delta.ln_1p();
    let gain = |c: &Compared| -facts.loss(c.interval.0).min(facts.loss(c.interval.1));
    let no_gain = rivals.iter().all(|c| gain(c) <= margin);
    match greatest {
        Some(found) => Some(found.pair.cells.0),
        None => no_gain.then_some(facts.baseline),
    }
}

impl Sentences<'_> {
    /// The sentence: which levels differ from the first one with the same number of sessions, and how the
    /// load itself changes the response.
    pub(super) fn under_load(
        &self,
        named: Option<usize>,
        rivals: &[&Compared],
        badge: Badge,
    ) -> String {
        let first = rivals.first().map_or("", |c| c.pair.against.as_str());
        let mut shown: Vec<&Compared> = rivals.iter().copied().filter(|c| c.is_shown).collect();
        shown.sort_by(|a, b| {
            let is_named = |c: &Compared| Some(c.pair.cells.0) == named;
            let by_name = is_named(b).cmp(&is_named(a));
            by_name.then(b.value.abs().total_cmp(&a.value.abs()))
        });
        let listed = match shown.len() {
            few if few <= MOST_LISTED => few,
            _ => LISTED_OF_MANY,
        };
        let more = match shown.len() - listed {
            0 => String::new(),
            more => format!(", and {more} more in the table of curves"),
        };
        let words: Vec<String> = shown.iter().take(listed).map(|c| self.rival(c)).collect();
        let same = match (shown.is_empty(), named) {
            (false, _) => format!(
                "with the same number of sessions {}{more}",
                words.join(", ")
            ),
            (true, Some(_)) => format!(
                "with the same number of sessions no level is better than {first} by more than {}",
                self.margin()
            ),
            (true, None) => {
                format!("with the same number of sessions no level is shown to differ from {first}")
            }
        };
        let base = &self.facts.keys[self.facts.baseline];
        let is_of_first = |cell: usize| rivals.iter().all(|c| c.pair.cells.0 != cell);
        let load = self.shown(&is_of_first);
        let load = load.map_or(String::new(), |load| format!("; against {base}: {load}"));
        let text = format!("{same}{load}{}", self.not_measured());
        let sentence = match named {
            Some(_) => text,
            None => format!("{text}. {}", self.next(badge)),
        };
        self.with_badge(
            sentence,
            badge,
            named.is_some() || !shown.is_empty() || self.differs(),
        )
    }

    /// `files 4 is 12.0% faster than files 1 at 600 (3.0 to 21.0%)`.
    fn rival(&self, c: &Compared) -> String {
        let change = self.change(c.value);
        format!(
            "{} is {change} {} {} at {} ({})",
            c.pair.curve,
            change.joint(),
            c.pair.against,
            c.pair.at(),
            self.range(c.interval)
        )
    }
}
