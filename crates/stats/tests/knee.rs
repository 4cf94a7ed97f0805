//! How often the right level is found: least mean against the smallest level within the margin.
//!
//! True times 100, 97, 94.5, 94 and 95 for 1, 2, 4, 8 and 16 files, five randomised blocks, a mild drift. The
//! right answer is 4: the fewest files that are as good as the best.

use furrow_stats::knee::{find, smallest, within_margin};
use furrow_stats::{Stream, Table, TwoWay, mean};

const TRUTH: [f64; 5] = [100.0, 97.0, 94.5, 94.0, 95.0];
const BLOCKS: usize = 5;
const EXPERIMENTS: usize = 2_000;

fn experiment(cv: f64, stream: &mut Stream) -> Table {
    let mut logs = Table::new(5, BLOCKS);
    for block in 0..BLOCKS {
        let mut order = [0, 1, 2, 3, 4];
        stream.shuffle(&mut order);
        for (position, level) in order.into_iter().enumerate() {
            let drift = 0.02 * (block * 5 + position) as f64 / 24.0;
            logs.set(
                level,
                block,
                TRUTH[level].ln() + drift + cv * stream.normal(),
            );
        }
    }
    logs
}

fn shares(cv: f64, rule: impl Fn(&[f64]) -> usize) -> [f64; 5] {
    let mut stream = Stream::named(42, "knee shares");
    let mut counts = [0_usize; 5];
    for _ in 0..EXPERIMENTS {
        let logs = experiment(cv, &mut stream);
        let means: Vec<f64> = (0..5).map(|level| mean(&logs.arm(level))).collect();
        counts[rule(&means)] += 1;
    }
    counts.map(|count| count as f64 / EXPERIMENTS as f64)
}

#[test]
fn the_least_mean_buys_too_many_files() {
    for (cv, eight, sixteen) in [(0.01, 0.80, 0.03), (0.02, 0.61, 0.11), (0.03, 0.52, 0.16)] {
        let got = shares(cv, smallest);
        assert!((got[3] - eight).abs() < 0.06, "CV {cv}: {got:?}");
        assert!((got[4] - sixteen).abs() < 0.04, "CV {cv}: {got:?}");
    }
}

#[test]
fn the_smallest_level_within_two_percent_finds_four() {
    for (cv, four) in [(0.01, 0.98), (0.02, 0.80), (0.03, 0.65)] {
        let got = shares(cv, |means| within_margin(means, 0.02_f64.ln_1p()));
        assert!((got[2] - four).abs() < 0.06, "CV {cv}: {got:?} for {four}");
    }
}

#[test]
fn the_rule_with_a_bound_rarely_names_too_few_files() {
    // With the upper bound required, a level that is 3.2% worse than the best may be named in at most about
    // one experiment in twenty.
    let mut stream = Stream::named(43, "bounded knee");
    let ladder: Vec<Vec<usize>> = (0..5).map(|arm| vec![arm]).collect();
    let mut named = [0_usize; 6];
    for seed in 0..200 {
        let logs = experiment(0.01, &mut stream);
        let model = TwoWay::fit(&logs).unwrap();
        let knee = find(&logs, &model, &ladder, 0.02_f64.ln_1p(), 400, seed).unwrap();
        named[knee.level.unwrap_or(5)] += 1;
    }
    assert!(named[0] + named[1] <= 16, "{named:?}");
    assert!(named[2] >= 60, "{named:?}");
}
