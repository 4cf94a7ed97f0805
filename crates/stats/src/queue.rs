//! The mean waiting time at one server, after the Pollaczek-Khinchine formula.
//!
//! Requests come at random (a Poisson stream) and are served one at a time in the order of their arrival:
//! `W = rate E[S^2] / (2 (1 - rate E[S]))` for any distribution of the service time S (the queue M/G/1), and
//! with `E[S^2] = E[S]^2` where every service takes the same time (M/D/1). Source: L. Kleinrock, Queueing
//! Systems, volume 1 (1975), chapter 5.

/// The mean wait in a queue M/G/1, in the unit of `mean`: `rate` arrivals in that unit, the first two
/// moments of the service time. `None` where the server cannot keep up, or where the arguments are no moments
/// of a time.
pub fn mg1_wait(rate: f64, mean: f64, mean_square: f64) -> Option<f64> {
    let are_moments = rate >= 0.0 && mean >= 0.0 && mean_square >= mean * mean * (1.0 - 1e-9);
    let utilisation = rate * mean;
    // A comparison that fails for NaN, too.
    let is_stable = utilisation < 1.0;
    (are_moments && is_stable).then(|| rate * mean_square / (2.0 * (1.0 - utilisation)))
}

/// The mean wait in a queue M/D/1.
pub fn md1_wait(rate: f64, service: f64) -> Option<f64> {
    mg1_wait(rate, service, service * service)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn a_server_at_half_of_its_rate_has_the_textbook_waits() {
        // Exponential services have twice the square of the mean: M/M/1 waits rho / (1 - rho) services.
        assert!((mg1_wait(0.5, 1.0, 2.0).unwrap() - 1.0).abs() < 1e-12);
        assert!((md1_wait(0.5, 1.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(md1_wait(0.0, 1.0), Some(0.0));
        for (rate, service) in [(1.0, 1.0), (3.0, 1.0), (f64::NAN, 1.0), (-1.0, 1.0)] {
            assert_eq!(md1_wait(rate, service), None);
        }
        assert_eq!(
            mg1_wait(0.5, 1.0, 0.5),
            None,
            "less than the square of the mean"
        );
    }

    #[test]
    fn a_simulated_queue_waits_as_long_as_the_formula_has_it() {
        // Services of 1 or 5, nine to one; arrivals at random at 60% of what the server can do.
        let (mean, square) = (0.9 + 0.5, 0.9 + 2.5);
        let rate = 0.6 / mean;
        let mut stream = Stream::new(7);
        let (mut waits, mut backlog) = (0.0, 0.0_f64);
        let services = 400_000;
        for _ in 0..services {
            waits += backlog;
            let service = if stream.unit() < 0.9 { 1.0 } else { 5.0 };
            let gap = -(1.0 - stream.unit()).ln() / rate;
            backlog = (backlog + service - gap).max(0.0);
        }
        let (simulated, formula) = (
            waits / f64::from(services),
            mg1_wait(rate, mean, square).unwrap(),
        );
        assert!(
            (simulated / formula - 1.0).abs() < 0.05,
            "{simulated} {formula}"
        );
    }
}
