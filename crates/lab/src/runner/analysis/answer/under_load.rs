//! The answer where sessions are counted and something else varies: users and files.
//!
//! How many users there are is not chosen, so a level is compared with the first one under the same load
//! alone. More users than the baseline has do more in any case: the sentence ends with that, and it decides
//! nothing.

use super::sentences::{LISTED_OF_MANY, MOST_LISTED, Sentences};
use crate::results::{Badge, DEPENDS};
use crate::runner::analysis::curves::Compared;
use crate::runner::analysis::facts::Facts;

/// The gain of a rival, as a logarithm.
fn gain(facts: &Facts<'_>, c: &Compared) -> f64 {
    -facts.loss(c.value)
}

/// Whether a difference beyond the margin is shown.
fn counts(facts: &Facts<'_>, c: &Compared) -> bool {
    c.is_shown && c.value.abs() > facts.plan.delta.ln_1p()
}

/// Whether a level is shown to be better with some number of sessions and worse with another one, so that no
/// further run settles which to use.
pub(super) fn depends(facts: &Facts<'_>, rivals: &[&Compared]) -> bool {
    let has = |curve: &str, is_gain: bool| {
        let mut all = rivals.iter().filter(|c| c.pair.curve == curve);
        all.any(|c| counts(facts, c) && (gain(facts, c) > 0.0) == is_gain)
    };
    let mut curves = rivals.iter().map(|c| &*c.pair.curve);
    curves.any(|curve| has(curve, true) && has(curve, false))
}

/// The level to use: of the curves that are shown to be better by more than the margin under some load and
/// worse under none, the one with the greatest gain, there; else the baseline, where no level gains more than
/// the margin under any.
pub(super) fn named(facts: &Facts<'_>, rivals: &[&Compared]) -> Option<usize> {
    let loses = |curve: &str| {
        let mut all = rivals.iter().filter(|c| c.pair.curve == curve);
        all.any(|c| counts(facts, c) && gain(facts, c) < 0.0)
    };
    let better = rivals
        .iter()
        .filter(|c| counts(facts, c) && gain(facts, c) > 0.0 && !loses(&c.pair.curve));
    let greatest = better.max_by(|a, b| gain(facts, a).total_cmp(&gain(facts, b)));
    let most = |c: &Compared| -facts.loss(c.interval.0).min(facts.loss(c.interval.1));
    let margin = facts.plan.delta.ln_1p();
    let no_gain = !rivals.is_empty() && rivals.iter().all(|c| most(c) <= margin);
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
        let mut shown: Vec<&Compared> = rivals.iter().copied().filter(|c| c.is_shown).collect();
        shown.sort_by(|a, b| {
            let is_named = |c: &Compared| Some(c.pair.cells.0) == named;
            let by_name = is_named(b).cmp(&is_named(a));
            by_name.then(b.value.abs().total_cmp(&a.value.abs()))
        });
        let same = match rivals.first() {
            Some(first) => self.same_load(named, &shown, &first.pair.against),
            None => "no two levels were compared under the same load".to_owned(),
        };
        let base = &self.facts.keys[self.facts.baseline];
        let is_of_first = |cell: usize| rivals.iter().all(|c| c.pair.cells.0 != cell);
        let load = self.shown(&is_of_first);
        let load = load.map_or(String::new(), |load| format!("; against {base}: {load}"));
        let text = format!("{same}{load}{}", self.not_measured());
        let sentence = match named {
            Some(_) => text,
            None if depends(self.facts, rivals) => {
                format!("{text}. {DEPENDS}")
            }
            None => format!("{text}. {}", self.next(badge)),
        };
        let says = named.is_some() || !shown.is_empty() || self.differs();
        self.with_badge(sentence, badge, says)
    }

    /// What the levels do with the same number of sessions.
    fn same_load(&self, named: Option<usize>, shown: &[&Compared], first: &str) -> String {
        let listed = match shown.len() {
            few if few <= MOST_LISTED => few,
            _ => LISTED_OF_MANY,
        };
        let more = match shown.len() - listed {
            0 => String::new(),
            more => format!(", and {more} more in the table of curves"),
        };
        let words: Vec<String> = shown.iter().take(listed).map(|c| self.rival(c)).collect();
        let no_gain = format!(
            "no level that was compared is better than {first} by more than {}",
            self.margin()
        );
        let said = match (shown.is_empty(), named == Some(self.facts.baseline)) {
            (false, false) => format!("{}{more}", words.join(", ")),
            (false, true) => format!("{no_gain}; shown: {}{more}", words.join(", ")),
            (true, true) => no_gain,
            (true, false) => format!("no level is shown to differ from {first}"),
        };
        format!("with the same number of sessions {said}")
    }

    /// `files 4 12.0% faster than files 1 at 600 (3.0 to 21.0%)`.
    fn rival(&self, c: &Compared) -> String {
        let change = self.change(c.value);
        format!(
            "{} {change} {} {} at {} ({})",
            c.pair.curve,
            change.joint(),
            c.pair.against,
            c.pair.at(),
            self.range(c.interval)
        )
    }
}
