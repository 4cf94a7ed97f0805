//! `--fail-if`: a condition on the ratio to the baseline, for scripts that watch for regressions.

use super::super::Failure;
use furrow_lab::results::{LevelResult, Results};
use std::fmt;

/// The exit code if the condition is true.
const HOLDS: u8 = 4;

/// The figure of a level that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Ratio,
    Low,
    High,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    part: Part,
    is_above: bool,
    bound: f64,
    text: String,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Parses `ratio>1.05`, `low > 1`, `high<0.95`.
    pub(super) fn parse(text: &str) -> Result<Condition, String> {
        let wrong =
            || format!("'{text}' is not a condition; write it as ratio>1.05, low>1, high<0.95");
        let (part, is_above, bound) = match (text.split_once('>'), text.split_once('<')) {
            (Some((part, bound)), None) => (part, true, bound),
            (None, Some((part, bound))) => (part, false, bound),
            _ => return Err(wrong()),
        };
        let part = match part.trim() {
            "ratio" => Part::Ratio,
            "low" => Part::Low,
            "high" => Part::High,
            _ => return Err(wrong()),
        };
        let bound: f64 = bound.trim().parse().map_err(|_| wrong())?;
        if !(bound.is_finite() && bound > 0.0) {
            return Err(wrong());
        }
        Ok(Condition {
            part,
            is_above,
            bound,
            text: text.to_owned(),
        })
    }

    fn holds(&self, level: &LevelResult) -> Option<bool> {
        let value = match self.part {
            Part::Ratio => level.ratio,
            Part::Low => level.interval.map(|interval| interval.low),
            Part::High => level.interval.map(|interval| interval.high),
        }?;
        Some(match self.is_above {
            true => value > self.bound,
            false => value < self.bound,
        })
    }

    /// A failure if the condition is true for any level, or cannot be evaluated for any level.
    pub(super) fn judge(&self, results: &Results) -> Result<(), Failure> {
        let others = || results.levels.iter().filter(|level| !level.is_baseline);
        if let Some(level) = others().find(|level| self.holds(level) == Some(true)) {
            let interval = level.interval.map_or_else(String::new, |interval| {
                format!(" ({:.3} to {:.3})", interval.low, interval.high)
            });
            let text = format!(
                "--fail-if {self} holds: the ratio of '{}' to the baseline is {:.3}{interval}",
                level.level,
                level.ratio.unwrap_or_default()
            );
            return Err(Failure::new(HOLDS, text));
        }
        match others().all(|level| self.holds(level).is_none()) {
            true => {
                let text = format!("--fail-if {self} cannot be judged: no level has a ratio");
                Err(Failure::new(HOLDS, text))
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_lab::results::Interval;

    fn results(ratio: Option<f64>) -> Results {
        let level = |key: &str, ratio: Option<f64>| LevelResult {
            level: key.to_owned(),
            is_baseline: key == "a",
            ratio,
            interval: ratio.map(|ratio| Interval {
                low: ratio - 0.1,
                high: ratio + 0.1,
                confidence: 0.95,
            }),
            ..LevelResult::default()
        };
        Results {
            levels: vec![level("a", None), level("b", ratio)],
            ..Results::default()
        }
    }

    #[test]
    fn a_condition_holds_for_a_level_or_the_program_ends_well() {
        let judge = |text: &str, ratio| Condition::parse(text).unwrap().judge(&results(ratio));
        assert!(judge("ratio>1.05", Some(1.04)).is_ok());
        let failure = judge("ratio > 1.05", Some(1.06)).unwrap_err();
        assert!(failure.text.contains("'b'") && failure.text.contains("1.060"));
        assert!(judge("low>1", Some(1.06)).is_ok());
        assert!(judge("high<0.95", Some(0.8)).is_err());
        assert!(judge("ratio>1.05", None).is_err(), "nothing was measured");
        for wrong in [
            "ratio",
            "ratio=1",
            "mean>1",
            "ratio>x",
            "ratio>0",
            "ratio>1<2",
        ] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
