//! Whether arms scatter alike, and how much each one scatters by itself.
//!
//! One noise for all levels is wrong where the spread grows with the level: the quiet levels then get
//! intervals that are too wide, and the loud ones intervals that are too narrow, with a family-wise error
//! of 10 to 18% instead of 5%. A variance of each level alone has five degrees of freedom at six blocks and
//! makes every interval too wide. Between these two lies the moderated variance (Smyth 2004): the variance of
//! an arm is drawn towards the common one with the weight of `prior` degrees of freedom. `prior` is estimated
//! from how much the logarithms of the variances differ beyond chance. Where they do not, it is infinite, and
//! the common variance stands alone.

/// How the arms of a model scatter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    /// Degrees of freedom that the common variance counts for; infinite where the arms scatter alike.
    pub(crate) prior: f64,
    /// Standard deviation of each arm over the common one.
    pub(crate) scales: Vec<f64>,
}

impl Spread {
    /// From the sum of squared residuals and the number of runs of each arm, `common` being the variance of
    /// the whole model.
    pub(crate) fn of(arms: &[(f64, usize)], common: f64) -> Spread {
        let alike = Spread {
            prior: f64::INFINITY,
            scales: vec![1.0; arms.len()],
        };
        let present = arms.iter().filter(|arm| arm.1 > 0).count();
        let runs: usize = arms.iter().map(|arm| arm.1).sum();
        // Two arms have the same residuals but for the sign.
        if present < 3 || common <= 0.0 {
            return alike;
        }
        // An arm of n runs has lost one degree of freedom to its mean and a share to the blocks' effects.
        let share = (present - 1) as f64 / present as f64;
        let freedom = |n: usize| (n as f64 - 1.0).max(0.0) * share;
        let usual = (runs as f64 / present as f64 - 1.0) * share;
        let variance = |arm: &(f64, usize)| match freedom(arm.1) {
            nu if nu > 0.0 => Some((arm.0 / nu).max(1e-6 * common)),
            _ => None,
        };
        let logs: Vec<f64> = arms.iter().filter_map(variance).map(f64::ln).collect();
        if logs.len() < 3 {
            return alike;
        }
        let beyond_chance = super::std_dev(&logs).powi(2) - trigamma(0.5 * usual);
        if beyond_chance <= 0.0 {
            return alike;
        }
        let prior = 2.0 * trigamma_inverse(beyond_chance);
        let scale = |arm: &(f64, usize)| {
            let nu = freedom(arm.1);
            let own = variance(arm).unwrap_or(common);
            ((prior * common + nu * own) / ((prior + nu) * common)).sqrt()
        };
        Spread {
            prior,
            scales: arms.iter().map(scale).collect(),
        }
    }
}

/// The variance of the logarithm of a chi-square variable with `2 x` degrees of freedom.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    sum + 1.0 / x + 0.5 / (x * x) + 1.0 / (6.0 * x.powi(3)) - 1.0 / (30.0 * x.powi(5))
}

fn trigamma_inverse(y: f64) -> f64 {
    let (mut low, mut high) = (1e-3_f64, 1e6_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        match trigamma(middle) > y {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_has_its_known_values() {
        let pi2 = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi2 / 6.0).abs() < 1e-8);
        assert!((trigamma(0.5) - pi2 / 2.0).abs() < 1e-8);
        for x in [0.2, 1.0, 7.0, 300.0] {
            assert!(
                (trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-6,
                "{x}"
            );
        }
    }

    #[test]
    fn arms_that_scatter_alike_share_one_variance_and_others_do_not() {
        let alike = Spread::of(&[(5.0, 6), (4.0, 6), (6.0, 6), (5.5, 6)], 1.2);
        assert_eq!((alike.prior, alike.scales), (f64::INFINITY, vec![1.0; 4]));
        let grows = Spread::of(&[(0.1, 6), (0.4, 6), (1.6, 6), (6.4, 6), (25.0, 6)], 1.5);
        assert!(grows.prior < 5.0, "{grows:?}");
        assert!(
            grows.scales.windows(2).all(|pair| pair[0] < pair[1]),
            "{grows:?}"
        );
        assert!(grows.scales[0] < 0.8 && grows.scales[4] > 1.3, "{grows:?}");
        // There is nothing to find in two arms, or in arms without scatter.
        assert!(Spread::of(&[(1.0, 6), (1.0, 6)], 0.2).prior.is_infinite());
        assert!(Spread::of(&[(0.0, 6); 4], 0.0).prior.is_infinite());
    }
}
