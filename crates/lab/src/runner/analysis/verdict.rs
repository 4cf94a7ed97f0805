//! The verdict of a comparison.
//!
//! | word | condition |
//! |---|---|
//! | `better` | the whole simultaneous interval lies on the good side of 0 and the estimate is beyond delta |
//! | `worse` | the same on the bad side: a slower level is worded as firmly as a faster one |
//! | `tiny` | the interval excludes 0 but the estimate lies within delta |
//! | `same` | the 90% interval lies within +-delta (two one-sided tests at 5%) |
//! | `cannot tell` | anything else |
//!
//! They are tested in this order, so that a difference which is shown and negligible is `tiny`.

use crate::results::{Better, Verdict};

/// `value` turned so that a negative one is an improvement.
pub(super) fn as_loss(value: f64, better: Better) -> f64 {
    match better {
        Better::Lower => value,
        Better::Higher => -value,
    }
}

/// The verdict for an estimate on the log scale.
///
/// `interval` is the simultaneous 95% interval, `interval_90` the one of the equivalence test, `delta`
/// the margin as a share (0.02 is two percent).
pub(super) fn judge(
    estimate: f64,
    interval: (f64, f64),
    interval_90: (f64, f64),
    delta: f64,
    better: Better,
) -> Verdict {
    let margin = delta.ln_1p();
    let excludes_zero = interval.0 > 0.0 || interval.1 < 0.0;
    if excludes_zero && estimate.abs() > margin {
        return if as_loss(estimate, better) < 0.0 {
            Verdict::Better
        } else {
            Verdict::Worse
        };
    }
    if excludes_zero {
        return Verdict::Tiny;
    }
    if interval_90.0 > -margin && interval_90.1 < margin {
        return Verdict::Same;
    }
    Verdict::CannotTell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(estimate: f64, half: f64, half_90: f64) -> Verdict {
        let around = |half: f64| (estimate - half, estimate + half);
        judge(estimate, around(half), around(half_90), 0.02, Better::Lower)
    }

    #[test]
    fn each_word_has_its_place() {
        assert_eq!(word(-0.05, 0.01, 0.007), Verdict::Better);
        assert_eq!(word(0.05, 0.01, 0.007), Verdict::Worse);
        assert_eq!(word(-0.01, 0.005, 0.003), Verdict::Tiny);
        assert_eq!(word(0.001, 0.012, 0.009), Verdict::Same);
        assert_eq!(word(0.001, 0.05, 0.03), Verdict::CannotTell);
        // Beyond delta, but the interval reaches 0.
        assert_eq!(word(-0.03, 0.04, 0.03), Verdict::CannotTell);
        // Excludes 0 with the estimate inside delta, though the interval reaches beyond.
        assert_eq!(word(-0.018, 0.017, 0.012), Verdict::Tiny);
    }

    #[test]
    fn throughput_is_judged_the_other_way_round() {
        let word = |better| judge(0.05, (0.04, 0.06), (0.045, 0.055), 0.02, better);
        assert_eq!(word(Better::Higher), Verdict::Better);
        assert_eq!(word(Better::Lower), Verdict::Worse);
    }
}
