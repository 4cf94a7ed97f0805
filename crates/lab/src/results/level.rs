//! The statistics of each level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interval and its confidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, a fraction: 0.95.
    pub confidence: f64,
}

impl Interval {
    /// Whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The word for a level against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is on the good side, and the point is beyond the margin.
    Better,
    /// The whole interval is on the bad side, and the point is beyond the margin.
    Worse,
    /// A difference is shown, but it is smaller than the margin.
    Tiny,
    /// Equivalent within the margin.
    Same,
    /// None of these can be said with so many runs.
    CannotTell,
}

impl Verdict {
    /// The word as printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Tiny => "tiny",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
        }
    }
}

/// The comparison with the baseline that a single bad run can't carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RobustEffect {
    /// Median of the ratios within blocks.
    pub median_ratio: f64,
    /// Hodges-Lehmann value of the ratios within blocks.
    pub hodges_lehmann_ratio: f64,
    /// Order-statistic interval of the median with its exact confidence; `None` below six blocks.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// Whether it leads to the same verdict.
    pub agrees: bool,
}

/// One level: its runs summed up and compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// Key, as in [`super::Run::level`].
    pub level: String,
    /// The key as a number, where it is one; the chart's axis.
    #[serde(default)]
    pub value: Option<f64>,
    /// Whether everything is compared with this level.
    #[serde(default)]
    pub is_baseline: bool,
    /// Good runs.
    pub n: u32,
    /// Runs that failed or were interrupted.
    #[serde(default)]
    pub failed: u32,
    /// Geometric mean of the response over the good runs, block effects removed.
    #[serde(default)]
    pub mean: Option<f64>,
    /// Median of the response over the good runs.
    #[serde(default)]
    pub median: Option<f64>,
    /// Interval of the mean, in the response's unit; drawn on the chart.
    #[serde(default)]
    pub mean_interval: Option<Interval>,
    /// Coefficient of variation of the runs, a fraction.
    #[serde(default)]
    pub cv: Option<f64>,
    /// Response over the baseline's; `None` for the baseline and where nothing was compared.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// Simultaneous (Dunnett) interval of the ratio.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// The robust twin.
    #[serde(default)]
    pub robust: Option<RobustEffect>,
    /// The verdict; `None` for the baseline and where nothing was compared.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Rows a second, median of the runs.
    #[serde(default)]
    pub rows_per_s: Option<f64>,
    /// Commits a second, median of the runs.
    #[serde(default)]
    pub commits_per_s: Option<f64>,
    /// 99th percentile of the main operation's latency, median of the runs.
    #[serde(default)]
    pub p99_us: Option<f64>,
    /// Figures beside the response: processor time, and what the experiment names. In the file `cost`, as in
    /// the first version.
    #[serde(default, rename = "cost")]
    pub figures: Vec<super::LevelFigure>,
}

impl LevelResult {
    /// Whether a difference from the baseline beyond the margin is shown: by the verdict, and by the interval
    /// for a configuration of a search, which has no verdict.
    #[must_use]
    pub fn is_shown_to_differ(&self, delta: f64) -> bool {
        match (self.verdict, self.ratio, self.interval) {
            (Some(verdict), _, _) => matches!(verdict, Verdict::Better | Verdict::Worse),
            (None, Some(ratio), Some(interval)) => {
                !interval.contains(1.0) && ratio.ln().abs() > delta.ln_1p()
            }
            _ => false,
        }
    }

    /// The level whose difference from the baseline is explained: the recommended one, else the one that
    /// differs most among those that are shown to differ. An estimate alone may be the largest by chance; it
    /// counts only where nothing is shown. `None` where no level was compared.
    pub(crate) fn to_explain<'a>(
        levels: impl Iterator<Item = &'a LevelResult>,
        recommended: Option<&str>,
        delta: f64,
    ) -> Option<&'a LevelResult> {
        let size = |level: &'a LevelResult| {
            let is_shown = level.is_shown_to_differ(delta);
            Some((level, is_shown, level.ratio?.ln().abs()))
        };
        let mut compared = levels
            .filter(|level| !level.is_baseline)
            .filter_map(size)
            .collect::<Vec<_>>();
        compared.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)));
        let is_named = |found: &&(&'a LevelResult, bool, f64)| Some(&*found.0.level) == recommended;
        let found = compared.iter().find(is_named).or(compared.first());
        found.map(|(level, ..)| *level)
    }
}

/// Whether levels were compared with the baseline, and what stands against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparability {
    /// A level has a ratio to the baseline.
    Compared,
    /// The baseline has no good run.
    NoBaseline,
    /// No other level has a good run.
    NoOther,
    /// Too few runs were finished.
    TooFew,
}

impl Comparability {
    /// What holds for these levels.
    pub(crate) fn of<'a>(levels: impl IntoIterator<Item = &'a LevelResult>) -> Comparability {
        let (mut is_compared, mut has_baseline, mut has_other) = (false, false, false);
        for level in levels {
            is_compared |= level.ratio.is_some();
            match level.is_baseline {
                true => has_baseline |= level.n > 0,
                false => has_other |= level.n > 0,
            }
        }
        match (is_compared, has_baseline, has_other) {
            (true, ..) => Comparability::Compared,
            (false, false, _) => Comparability::NoBaseline,
            (false, true, false) => Comparability::NoOther,
            (false, true, true) => Comparability::TooFew,
        }
    }

    /// Whether there is nothing to compare: with more runs like these there is not either.
    pub(crate) fn is_impossible(self) -> bool {
        matches!(self, Comparability::NoBaseline | Comparability::NoOther)
    }
}

/// Where more stops to help: the smallest level that is as good as the best.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Key of the level; `None` when no level can be named.
    pub level: Option<String>,
    /// How it was found, in words.
    #[serde(default)]
    pub rule: String,
    /// Probability that each level is the knee.
    pub shares: Vec<KneeShare>,
    /// Fitted response at each level with one turn at most, in the response's unit, in the levels' order.
    #[serde(default)]
    pub unimodal_fit: Vec<f64>,
    /// Probability of a rise after the knee being chance; `None` when not tested.
    #[serde(default)]
    pub rise_after_p: Option<f64>,
}

/// How often a level came out as the knee.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeShare {
    /// Key of the level.
    pub level: String,
    /// Share of the bootstrap draws, a fraction.
    pub probability: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(key: &str, n: u32, ratio: Option<f64>, verdict: Option<Verdict>) -> LevelResult {
        LevelResult {
            level: key.to_owned(),
            is_baseline: key == "1",
            n,
            ratio,
            verdict,
            ..LevelResult::default()
        }
    }

    #[test]
    fn a_level_that_is_shown_to_differ_is_explained_before_a_larger_estimate() {
        let base = || level("1", 6, None, None);
        let eight = |verdict| level("8", 6, Some(0.9), Some(verdict));
        let sixteen = || level("16", 6, Some(0.85), Some(Verdict::CannotTell));
        let found = |levels: &[LevelResult], recommended| {
            let found = LevelResult::to_explain(levels.iter(), recommended, 0.02);
            found.map(|level| level.level.clone())
        };
        let shown = [base(), eight(Verdict::Better), sixteen()];
        assert_eq!(found(&shown, None).as_deref(), Some("8"));
        assert_eq!(found(&shown, Some("16")).as_deref(), Some("16"));
        assert_eq!(found(&shown, Some("1")).as_deref(), Some("8"));
        // Nothing is shown: the largest estimate.
        let open = [base(), eight(Verdict::CannotTell), sixteen()];
        assert_eq!(found(&open, None).as_deref(), Some("16"));
        // Without a ratio nothing was compared, also not a level that a search recommends.
        let alone = [base(), level("8", 6, None, None)];
        assert_eq!(found(&alone, Some("8")), None);
        assert_eq!(found(&[], None), None);
    }

    #[test]
    fn what_stands_against_a_comparison_is_named() {
        let of = |base: u32, other: u32, ratio: Option<f64>| {
            Comparability::of(&[level("1", base, None, None), level("8", other, ratio, None)])
        };
        assert_eq!(of(6, 6, Some(0.9)), Comparability::Compared);
        assert_eq!(of(0, 6, None), Comparability::NoBaseline);
        assert_eq!(of(6, 0, None), Comparability::NoOther);
        assert_eq!(of(1, 1, None), Comparability::TooFew);
        assert!(of(6, 0, None).is_impossible() && !of(1, 1, None).is_impossible());
    }
}
