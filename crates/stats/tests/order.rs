//! What the order of runs does to an honest test: the Monte Carlo behind randomised blocks.
//!
//! Five levels, five replicates, a run with 2% noise, no true effect. Grouped and fully random orders are
//! judged by one-way analysis, rotation and randomised blocks by the blocked model, each with Dunnett's
//! critical value at 5%. The published figures come from 4,000 repetitions; so do these.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use furrow_stats::{Dunnett, Stream, Table, TwoWay, dunnett_critical, mean};

const LEVELS: usize = 5;
const BLOCKS: usize = 5;
const RUNS: usize = LEVELS * BLOCKS;
const CV: f64 = 0.02;
const REPETITIONS: usize = 4_000;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Order {
    Grouped,
    Rotated,
    Random,
    Blocks,
}

impl Order {
    fn levels(self, stream: &mut Stream) -> Vec<usize> {
        let mut order: Vec<usize> = match self {
            Order::Grouped => (0..RUNS).map(|run| run / BLOCKS).collect(),
            _ => (0..RUNS).map(|run| run % LEVELS).collect(),
        };
        match self {
            Order::Random => stream.shuffle(&mut order),
            Order::Blocks => order
                .chunks_mut(LEVELS)
                .for_each(|block| stream.shuffle(block)),
            Order::Grouped | Order::Rotated => {}
        }
        order
    }

    fn is_blocked(self) -> bool {
        matches!(self, Order::Rotated | Order::Blocks)
    }
}

/// What the disk does during the session.
#[derive(Clone, Copy)]
struct Session {
    drift: f64,
    rho: f64,
}

fn noise(session: Session, stream: &mut Stream) -> Vec<f64> {
    let fresh = (1.0 - session.rho * session.rho).sqrt();
    let mut state = stream.normal();
    (0..RUNS)
        .map(|run| {
            if run > 0 {
                state = session.rho * state + fresh * stream.normal();
            }
            session.drift * run as f64 / (RUNS - 1) as f64 + CV * state
        })
        .collect()
}

/// Largest |t| of levels 1..5 against level 0, and |t| of `watched` alone.
fn statistics(order: Order, session: Session, gain: f64, stream: &mut Stream) -> (f64, f64) {
    const WATCHED: usize = 4;
    let levels = order.levels(stream);
    let mut samples = vec![Vec::new(); LEVELS];
    for (level, noise) in levels.into_iter().zip(noise(session, stream)) {
        samples[level].push(noise - if level == WATCHED { gain } else { 0.0 });
    }
    let t = |level: usize, variance: f64| {
        let difference = mean(&samples[level]) - mean(&samples[0]);
        difference / (variance * 2.0 / BLOCKS as f64).sqrt()
    };
    let variance = if order.is_blocked() {
        // Each level runs once in each stretch of five runs, in the order of the blocks.
        TwoWay::fit(&Table::from_rows(&samples)).unwrap().variance()
    } else {
        let squares: f64 = samples
            .iter()
            .flat_map(|sample| sample.iter().map(|y| (y - mean(sample)).powi(2)))
            .sum();
        squares / (RUNS - LEVELS) as f64
    };
    let largest = (1..LEVELS)
        .map(|level| t(level, variance).abs())
        .fold(0.0, f64::max);
    (largest, t(WATCHED, variance))
}

fn critical(order: Order) -> f64 {
    let nu = if order.is_blocked() {
        (LEVELS - 1) * (BLOCKS - 1)
    } else {
        RUNS - LEVELS
    };
    let family = Dunnett {
        comparisons: LEVELS - 1,
        nu: nu as f64,
        correlation: 0.5,
    };
    dunnett_critical(family, 0.05)
}

fn alarm_rate(order: Order, session: Session) -> f64 {
    let mut stream = Stream::named(20_260_101, &format!("{order:?}"));
    let critical = critical(order);
    let alarms = (0..REPETITIONS)
        .filter(|_| statistics(order, session, 0.0, &mut stream).0 > critical)
        .count();
    alarms as f64 / REPETITIONS as f64
}

fn power(order: Order, session: Session) -> f64 {
    let mut stream = Stream::named(7, &format!("power {order:?}"));
    let critical = critical(order);
    let seen = (0..REPETITIONS / 4)
        .filter(|_| statistics(order, session, 0.06, &mut stream).1 < -critical)
        .count();
    seen as f64 / (REPETITIONS / 4) as f64
}

const SESSIONS: [Session; 6] = [
    Session {
        drift: 0.0,
        rho: 0.0,
    },
    Session {
        drift: 0.02,
        rho: 0.0,
    },
    Session {
        drift: 0.05,
        rho: 0.0,
    },
    Session {
        drift: 0.10,
        rho: 0.0,
    },
    Session {
        drift: 0.0,
        rho: 0.6,
    },
    Session {
        drift: 0.05,
        rho: 0.6,
    },
];

fn check(order: Order, want: [f64; 6]) {
    for (session, want) in SESSIONS.into_iter().zip(want) {
        let got = alarm_rate(order, session);
        // Two Monte Carlo errors (theirs and ours) of 4,000 repetitions, and a hair for how the drift
        // is laid over the runs.
        let error = 3.5 * (2.0 * want * (1.0 - want) / REPETITIONS as f64).sqrt();
        let tolerance = error.max(0.012) + 0.06 * want;
        assert!(
            (got - want).abs() <= tolerance,
            "{order:?}, drift {}, rho {}: {got:.3} for {want} +- {tolerance:.3}",
            session.drift,
            session.rho
        );
    }
}

#[test]
fn grouped_runs_report_drift_as_a_difference() {
    check(Order::Grouped, [0.052, 0.164, 0.739, 1.000, 0.481, 0.869]);
}

#[test]
fn a_fixed_rotation_is_nearly_as_good_as_chance() {
    check(Order::Rotated, [0.050, 0.048, 0.071, 0.150, 0.032, 0.067]);
}

#[test]
fn a_wholly_random_order_keeps_its_promise() {
    check(Order::Random, [0.047, 0.053, 0.050, 0.049, 0.051, 0.054]);
}

#[test]
fn randomised_blocks_keep_their_promise_under_every_drift() {
    check(Order::Blocks, [0.049, 0.051, 0.049, 0.050, 0.044, 0.050]);
}

#[test]
fn randomised_blocks_keep_their_power_where_others_lose_it() {
    let drifting = Session {
        drift: 0.10,
        rho: 0.0,
    };
    let blocks = power(Order::Blocks, drifting);
    assert!(blocks > 0.92, "blocks {blocks}");
    let random = power(Order::Random, drifting);
    assert!((0.40..0.75).contains(&random), "random {random}");
    // Grouped, the drift of the last group hides the gain wholly.
    let grouped = power(Order::Grouped, drifting);
    assert!(grouped < 0.2, "grouped {grouped}");
}
