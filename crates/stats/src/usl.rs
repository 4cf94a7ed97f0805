//! The universal scalability law, and the right to refuse it.
//!
//! `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))` fits many curves of users and of degrees
//! of parallelism. It is linear in its reciprocal, `N / X = a + b (N - 1) + c N (N - 1)`, which gives
//! the start; Gauss-Newton on X itself finishes. A fit with a negative contention or coherence term, or
//! one that misses the points, is refused with its reason.

use super::linear::least_squares;

/// The fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// Throughput of one.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherence.
    pub kappa: f64,
    /// Where throughput peaks, 1 at least: the law falls from there on. `None` when it keeps rising.
    pub peak: Option<f64>,
    /// Root mean square of the relative misfit.
    pub misfit: f64,
}

/// Why the law was refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UslRefusal {
    /// Fewer than four different N.
    TooFewPoints,
    /// A throughput or an N that is not positive.
    NotPositive,
    /// Better than linear at the start: contention below zero.
    NegativeContention(f64),
    /// The curve bends upwards: coherence below zero.
    NegativeCoherence(f64),
    /// The points lie this far from the curve (relative).
    Misfit(f64),
}

/// Fits the law to (N, throughput) pairs; refuses a misfit above 10%.
pub fn fit_usl(points: &[(f64, f64)]) -> Result<Usl, UslRefusal> {
    if points
        .iter()
        .any(|&(n, x)| !(n > 0.0 && x > 0.0 && n.is_finite() && x.is_finite()))
    {
        return Err(UslRefusal::NotPositive);
    }
    let mut distinct: Vec<f64> = points.iter().map(|p| p.0).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < 4 {
        return Err(UslRefusal::TooFewPoints);
    }
    let (lambda, sigma, kappa) = gauss_newton(points, start(points)?);
    const NOISE: f64 = 1e-9;
    if sigma < -NOISE {
        return Err(UslRefusal::NegativeContention(sigma));
    }
    if kappa < -NOISE {
        return Err(UslRefusal::NegativeCoherence(kappa));
    }
    let squares: f64 = points
        .iter()
        .map(|&(n, x)| (law(lambda, sigma, kappa, n) / x - 1.0).powi(2))
        .sum();
    let misfit = (squares / points.len() as f64).sqrt();
    if misfit > 0.1 {
        return Err(UslRefusal::Misfit(misfit));
    }
    Ok(Usl {
        lambda,
        sigma: sigma.max(0.0),
        kappa: kappa.max(0.0),
        peak: peak(sigma, kappa, NOISE),
        misfit,
    })
}

/// Where the law has its maximum, at 1 at least: with a contention of 1 or more each further one only takes
/// from the others. `None` where it rises without end.
fn peak(sigma: f64, kappa: f64, noise: f64) -> Option<f64> {
    if sigma >= 1.0 - noise {
        return Some(1.0);
    }
    (kappa > noise).then(|| ((1.0 - sigma) / kappa).sqrt().max(1.0))
}

fn law(lambda: f64, sigma: f64, kappa: f64, n: f64) -> f64 {
    lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

fn start(points: &[(f64, f64)]) -> Result<(f64, f64, f64), UslRefusal> {
    // Weights make relative errors equal.
    let rows: Vec<Vec<f64>> = points
        .iter()
        .map(|&(n, x)| vec![x / n, x / n * (n - 1.0), x * (n - 1.0)])
        .collect();
    let right = vec![1.0; points.len()];
    let (c, _, _) = least_squares(&rows, &right).ok_or(UslRefusal::TooFewPoints)?;
    if c[0] <= 0.0 {
        return Err(UslRefusal::NegativeContention(c[1]));
    }
    Ok((1.0 / c[0], c[1] / c[0], c[2] / c[0]))
}

/// A few damped steps on relative residuals.
fn gauss_newton(points: &[(f64, f64)], mut at: (f64, f64, f64)) -> (f64, f64, f64) {
    let rss = |(l, s, k): (f64, f64, f64)| -> f64 {
        let sum = points
            .iter()
            .map(|&(n, x)| (law(l, s, k, n) / x - 1.0).powi(2))
            .sum::<f64>();
        if sum.is_finite() { sum } else { f64::INFINITY }
    };
    let mut best = rss(at);
    for _ in 0..50 {
        let (l, s, k) = at;
        let rows: Vec<Vec<f64>> = points
            .iter()
            .map(|&(n, x)| {
                let bottom = 1.0 + s * (n - 1.0) + k * n * (n - 1.0);
                let value = l * n / bottom;
                let slope = -value / bottom / x;
                vec![value / l / x, slope * (n - 1.0), slope * n * (n - 1.0)]
            })
            .collect();
        let misses: Vec<f64> = points
            .iter()
            .map(|&(n, x)| 1.0 - law(l, s, k, n) / x)
            .collect();
        let Some((step, _, _)) = least_squares(&rows, &misses) else {
            break;
        };
        let mut length = 1.0;
        let mut moved = false;
        while length > 1e-4 {
            let next = (
                l + length * step[0],
                s + length * step[1],
                k + length * step[2],
            );
            let score = rss(next);
            if next.0 > 0.0 && score < best {
                moved = best - score > 1e-14;
                (at, best) = (next, score);
                break;
            }
            length *= 0.5;
        }
        if !moved {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_true_law_comes_back() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
            .into_iter()
            .map(|n| (n, law(1000.0, 0.05, 0.002, n)))
            .collect();
        let usl = fit_usl(&points).unwrap();
        assert!((usl.lambda - 1000.0).abs() < 1e-3 && (usl.sigma - 0.05).abs() < 1e-6);
        assert!((usl.peak.unwrap() - (0.95_f64 / 0.002).sqrt()).abs() < 1e-3);
    }

    #[test]
    fn a_curve_that_falls_from_the_start_peaks_at_one() {
        let fit = |sigma: f64, kappa: f64| {
            let at = |n: f64| (n, law(1000.0, sigma, kappa, n));
            let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().map(at).collect();
            fit_usl(&points).unwrap().peak
        };
        assert_eq!(fit(1.2, 1e-4), Some(1.0));
        assert_eq!(fit(1.2, 0.0), Some(1.0));
        // The root lies below one session.
        assert_eq!(fit(0.5, 0.8), Some(1.0));
        // Contention alone slows the rise and does not end it.
        assert_eq!(fit(0.5, 0.0), None);
    }

    #[test]
    fn published_backup_times_to_nul_refuse_the_law() {
        // 9.4, 6.8, 4.3 and 2.9 minutes with 1, 2, 4 and 8 files: speed-ups 1, 1.38, 2.19, 3.24.
        let points: Vec<(f64, f64)> = [(1.0, 9.4), (2.0, 6.8), (4.0, 4.3), (8.0, 2.9)]
            .into_iter()
            .map(|(n, minutes)| (n, 9.4 / minutes))
            .collect();
        assert!(matches!(fit_usl(&points), Err(UslRefusal::NegativeCoherence(k)) if k < 0.0));
    }

    #[test]
    fn points_that_follow_no_law_are_refused() {
        let jagged = [(1.0, 1.0), (2.0, 3.0), (4.0, 1.5), (8.0, 6.0), (16.0, 2.0)];
        assert!(fit_usl(&jagged).is_err());
        assert_eq!(
            fit_usl(&[(1.0, 1.0), (2.0, 2.0)]),
            Err(UslRefusal::TooFewPoints)
        );
        assert_eq!(fit_usl(&[(1.0, 0.0)]), Err(UslRefusal::NotPositive));
    }
}
