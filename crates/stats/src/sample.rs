//! Centre and spread of one sample.

use super::special::chi2_quantile;

/// The arithmetic mean; 0 for an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// The geometric mean; `None` for an empty sample, and where a value is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let is_defined = !values.is_empty() && values.iter().all(|&value| value > 0.0);
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    is_defined.then(|| mean(&logs).exp())
}

/// The standard deviation with divisor n - 1; 0 below two values.
pub fn std_dev(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|x| (x - centre) * (x - centre)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The median; 0 for an empty sample.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    median_sorted(&sorted)
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(super) fn median_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The quantile at `p`, interpolated between order statistics (position `p (n - 1)`); 0 when empty.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    quantile_sorted(&sorted(values), p)
}

pub(super) fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let place = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = place - below as f64;
    sorted[below] * (1.0 - share) + sorted[above] * share
}

/// The median absolute deviation from the median, scaled to the standard deviation of a normal.
pub fn mad_scaled(values: &[f64]) -> f64 {
    let centre = median(values);
    let distances: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    1.482_602_218_505_602 * median(&distances)
}

/// The 1 - `alpha` interval of a standard deviation (or CV) estimated with `nu` degrees of freedom.
pub fn cv_interval(cv: f64, nu: f64, alpha: f64) -> (f64, f64) {
    let low = cv * (nu / chi2_quantile(1.0 - alpha / 2.0, nu)).sqrt();
    let high = cv * (nu / chi2_quantile(alpha / 2.0, nu)).sqrt();
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_experiment_tells_the_noise_within_a_factor_of_one_and_a_half() {
        let (low, high) = cv_interval(1.0, 16.0, 0.05);
        assert!((low - 0.745).abs() < 0.001, "{low}");
        assert!((high - 1.52).abs() < 0.003, "{high}");
    }

    #[test]
    fn centres_of_small_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert!((std_dev(&[1.0, 2.0, 3.0, 4.0]) - 1.290_994_448_735_8).abs() < 1e-12);
        // One wild value moves the standard deviation, not the MAD.
        assert!(mad_scaled(&[1.0, 2.0, 3.0, 4.0, 1000.0]) < 1.5);
    }
}
