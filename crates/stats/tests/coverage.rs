//! What intervals of few runs really cover.
//!
//! Three kinds of noise: normal, lognormal with sigma 0.3, and spiky (one run in ten is hit by an outside
//! event of up to +30%). The published table has an error of 0.008; this test has fewer repetitions, and its
//! tolerance allows for that.

use furrow_stats::special::t_quantile;
use furrow_stats::{Bootstrap, Stream, mean, median, std_dev};

const REPETITIONS: usize = 1_000;
const DRAWS: usize = 399;
const SIZES: [usize; 4] = [5, 7, 10, 20];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    Normal,
    Lognormal,
    Spiky,
}

impl Noise {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Noise::Normal => 100.0 + 2.0 * stream.normal(),
            Noise::Lognormal => (0.3 * stream.normal()).exp(),
            Noise::Spiky => {
                let base = 100.0 * (1.0 + SPIKY_CV * stream.normal());
                if stream.unit() < 0.1 {
                    base * (1.0 + 0.3 * stream.unit())
                } else {
                    base
                }
            }
        }
    }

    fn mean(self) -> f64 {
        match self {
            Noise::Normal => 100.0,
            Noise::Lognormal => 0.045_f64.exp(),
            Noise::Spiky => 101.5,
        }
    }
}

const SPIKY_CV: f64 = 0.02;

/// Shares of intervals that hold the truth, by sample size.
fn coverage(
    noise: Noise,
    truth: f64,
    repetitions: usize,
    interval: impl Fn(&[f64], u64) -> (f64, f64),
) -> [f64; 4] {
    let mut stream = Stream::named(5, &format!("{noise:?}"));
    SIZES.map(|n| {
        let held = (0..repetitions)
            .filter(|&repetition| {
                let values: Vec<f64> = (0..n).map(|_| noise.draw(&mut stream)).collect();
                let (low, high) = interval(&values, repetition as u64);
                low <= truth && truth <= high
            })
            .count();
        held as f64 / repetitions as f64
    })
}

fn check(what: &str, got: [f64; 4], want: [f64; 4], repetitions: usize) {
    for ((n, got), want) in SIZES.into_iter().zip(got).zip(want) {
        let error = (want * (1.0 - want) / repetitions as f64).sqrt();
        let tolerance = 3.5 * error + 0.015;
        assert!(
            (got - want).abs() <= tolerance,
            "{what}, n={n}: {got:.3} for {want}"
        );
    }
}

fn student(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let half = t_quantile(0.975, n - 1.0) * std_dev(values) / n.sqrt();
    (mean(values) - half, mean(values) + half)
}

/// The median of the spiky noise, by bisection of a large sample.
fn median_of(noise: Noise) -> f64 {
    match noise {
        Noise::Normal => 100.0,
        Noise::Lognormal => 1.0,
        Noise::Spiky => {
            let mut stream = Stream::new(77);
            let values: Vec<f64> = (0..200_000).map(|_| noise.draw(&mut stream)).collect();
            median(&values)
        }
    }
}

#[test]
fn percentile_bootstrap_of_a_mean_of_five_is_far_too_short() {
    let want = [
        (Noise::Normal, [0.84, 0.87, 0.90, 0.93]),
        (Noise::Lognormal, [0.82, 0.87, 0.90, 0.92]),
        (Noise::Spiky, [0.66, 0.67, 0.71, 0.80]),
    ];
    for (noise, want) in want {
        let got = coverage(noise, noise.mean(), REPETITIONS, |values, seed| {
            Bootstrap::new(values, DRAWS, seed)
                .percentile(mean, 0.05)
                .unwrap()
        });
        check(
            &format!("bootstrap mean, {noise:?}"),
            got,
            want,
            REPETITIONS,
        );
    }
}

#[test]
fn student_holds_until_outside_events_hit() {
    let want = [
        (Noise::Normal, [0.95, 0.94, 0.95, 0.95]),
        (Noise::Lognormal, [0.93, 0.94, 0.94, 0.94]),
        (Noise::Spiky, [0.84, 0.79, 0.78, 0.82]),
    ];
    for (noise, want) in want {
        let got = coverage(noise, noise.mean(), 3_000, |values, _| student(values));
        check(&format!("Student, {noise:?}"), got, want, 3_000);
    }
}

#[test]
fn percentile_bootstrap_of_a_median_is_worse_at_seven_than_at_five() {
    let want = [
        (Noise::Normal, [0.94, 0.88, 0.94, 0.95]),
        (Noise::Lognormal, [0.93, 0.88, 0.94, 0.94]),
        (Noise::Spiky, [0.93, 0.88, 0.94, 0.94]),
    ];
    for (noise, want) in want {
        let got = coverage(noise, median_of(noise), REPETITIONS, |values, seed| {
            Bootstrap::new(values, DRAWS, seed)
                .percentile(median, 0.05)
                .unwrap()
        });
        check(
            &format!("bootstrap median, {noise:?}"),
            got,
            want,
            REPETITIONS,
        );
    }
}

#[test]
fn smallest_to_largest_covers_the_median_whatever_the_noise() {
    for noise in [Noise::Normal, Noise::Lognormal, Noise::Spiky] {
        let got = coverage(noise, median_of(noise), 3_000, |values, _| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high)
        });
        check(
            &format!("[min, max], {noise:?}"),
            got,
            [0.9375, 0.984, 0.998, 1.0],
            3_000,
        );
    }
}
