//! Distribution functions: normal, Student's t, chi-square, F, and Gauss-Legendre nodes.
//!
//! `erfc` and `lgamma` come from `libm`; the incomplete beta and gamma functions are continued
//! fractions and series, good to about 1e-12 in the range that experiments use.

use libm::{erfc, lgamma};
use std::f64::consts::{PI, SQRT_2};

/// P(Z <= x) of a standard normal Z.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// The density of a standard normal at `x`.
pub fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The x with `normal_cdf(x) = p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    invert(normal_cdf, p, -39.0, 9.0)
}

/// P(T <= x) of Student's t with `nu` degrees of freedom.
pub fn t_cdf(x: f64, nu: f64) -> f64 {
    let tail = 0.5 * beta_regularised(nu / 2.0, 0.5, nu / (nu + x * x));
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// The quantile of Student's t.
pub fn t_quantile(p: f64, nu: f64) -> f64 {
    let mut bound = 10.0;
    let tail = p.min(1.0 - p).max(f64::MIN_POSITIVE);
    while t_cdf(-bound, nu) > tail && bound < 1e12 {
        bound *= 4.0;
    }
    invert(|x| t_cdf(x, nu), p, -bound, bound)
}

/// P(X <= x) of chi-square with `nu` degrees of freedom.
pub fn chi2_cdf(x: f64, nu: f64) -> f64 {
    gamma_regularised(nu / 2.0, x / 2.0)
}

/// The quantile of chi-square.
pub fn chi2_quantile(p: f64, nu: f64) -> f64 {
    let mut bound = nu + 10.0 * (2.0 * nu).sqrt() + 20.0;
    while chi2_cdf(bound, nu) < p && bound < 1e9 {
        bound *= 2.0;
    }
    invert(|x| chi2_cdf(x, nu), p, 0.0, bound)
}

/// P(F <= x) of the F distribution with `nu1` and `nu2` degrees of freedom.
pub fn f_cdf(x: f64, nu1: f64, nu2: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    beta_regularised(nu1 / 2.0, nu2 / 2.0, nu1 * x / (nu1 * x + nu2))
}

/// The regularised incomplete beta function I_x(a, b).
pub fn beta_regularised(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast only on its own side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..=400 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The regularised lower incomplete gamma function P(a, x).
pub fn gamma_regularised(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - lgamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        let mut n = a;
        for _ in 0..10_000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (front * sum).min(1.0);
    }
    // Upper tail by Lentz's method.
    let mut b = x + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let term = -i * (i - a);
        b += 2.0;
        d = 1.0 / (term * d + b);
        c = b + term / c;
        let step = c * d;
        fraction *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    1.0 - front * fraction
}

/// Solves `rising(x) = p` by halving; good to the last few bits of the bracket.
pub(super) fn invert(rising: impl Fn(f64) -> f64, p: f64, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if rising(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-13 * (1.0 + low.abs()) {
            break;
        }
    }
    0.5 * (low + high)
}

/// Nodes and weights of the Gauss-Legendre rule of `n` points on `[low, high]`.
pub(super) fn gauss_legendre(n: usize, low: f64, high: f64) -> Vec<(f64, f64)> {
    let half = 0.5 * (high - low);
    let centre = 0.5 * (high + low);
    let count = n as f64;
    (0..n)
        .map(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (count + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..50 {
                let (mut before, mut value) = (1.0, x);
                for degree in 2..=n {
                    let degree = degree as f64;
                    let next =
                        ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree;
                    before = value;
                    value = next;
                }
                slope = count * (x * value - before) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (
                centre + half * x,
                half * 2.0 / ((1.0 - x * x) * slope * slope),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!(
            (got - want).abs() <= tolerance,
            "got {got}, want {want} +- {tolerance}"
        );
    }

    #[test]
    fn quantiles_agree_with_printed_tables() {
        close(normal_quantile(0.975), 1.959_963_984_540, 1e-9);
        close(normal_quantile(0.80), 0.841_621_233_573, 1e-9);
        close(t_quantile(0.975, 1.0), 12.706_204_736, 1e-6);
        close(t_quantile(0.975, 16.0), 2.119_905_299, 1e-7);
        close(t_quantile(0.95, 20.0), 1.724_718_243, 1e-7);
        close(chi2_quantile(0.975, 16.0), 28.845_350_7, 1e-5);
        close(chi2_quantile(0.025, 16.0), 6.907_664_4, 1e-5);
        close(chi2_quantile(0.95, 2.0), 5.991_464_547, 1e-7);
        close(f_cdf(2.866_081_4, 4.0, 20.0), 0.95, 1e-6);
    }

    #[test]
    fn functions_meet_their_closed_forms() {
        // t with one degree of freedom is Cauchy; chi-square with two is exponential.
        for x in [-40.0, -3.0, -0.2, 0.0, 0.7, 5.0, 100.0_f64] {
            close(t_cdf(x, 1.0), 0.5 + x.atan() / PI, 1e-12);
        }
        for x in [0.01, 0.5, 2.0, 9.0, 60.0_f64] {
            close(chi2_cdf(x, 2.0), 1.0 - (-x / 2.0).exp(), 1e-13);
        }
        close(
            beta_regularised(3.0, 2.0, 0.4),
            4.0 * 0.4_f64.powi(3) - 3.0 * 0.4_f64.powi(4),
            1e-13,
        );
    }

    #[test]
    fn gauss_legendre_integrates_polynomials_exactly() {
        let sum: f64 = gauss_legendre(8, 0.0, 2.0)
            .iter()
            .map(|(x, weight)| weight * x.powi(15))
            .sum();
        close(sum, 2.0_f64.powi(16) / 16.0, 1e-9);
    }
}
