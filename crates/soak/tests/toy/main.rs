//! The driver tried on a toy: a right store passes, each planted bug is caught.

mod store;

use furrow_io::random::test_seed;
use furrow_soak::crash::{Figures, Length, run};
use store::{Bug, Toy};

/// The runs that a right store has to pass.
const RUNS: u64 = 60;

/// The runs that a bug has to show itself in: most do in the first few, but a torn record is rare among so
/// small ones.
const LONG_RUNS: u64 = 1_200;

fn runs(bug: Bug, seed: u64) -> Result<Figures, String> {
    let mut all = Figures::default();
    let runs = match bug {
        Bug::None => RUNS,
        _ => LONG_RUNS,
    };
    for n in 0..runs {
        let length = Length {
            cycles: 6,
            steps: 300,
            loads: n % 2 == 1,
        };
        all.add(&run(&Toy { bug }, seed.wrapping_add(n), length).map_err(|e| e.to_string())?);
    }
    Ok(all)
}

#[test]
fn a_right_store_passes_and_is_really_tried() {
    let seed = test_seed();
    println!("seed {seed}");
    let all = runs(Bug::None, seed).unwrap();
    println!("{all:?}");
    assert!(all.crashes > 300 && all.in_recovery > 50 && all.closes > 5);
    assert!(all.with_unanswered > 30 && all.happened > 5 && all.vanished > 5);
    let tally = all.tally;
    assert!(tally.commits > 1_000 && tally.rollbacks > 200 && tally.partial_rollbacks > 100);
    assert!(tally.locked > 100 && tally.duplicates > 100 && tally.missing > 100);
    assert!(tally.checkpoints > 100 && tally.files > 5 && tally.tables > 50);
}

#[test]
fn each_planted_bug_is_caught() {
    let seed = test_seed();
    println!("seed {seed}");
    for bug in Bug::ALL {
        let found = runs(bug, seed);
        let found = found.expect_err(&format!("{bug:?} escaped"));
        println!("{bug:?}: {}", found.lines().next().unwrap());
        assert!(
            found.contains("seed") && found.contains("last steps"),
            "{found}"
        );
    }
}

#[test]
fn a_seed_replays_a_run_to_the_last_step() {
    let seed = test_seed();
    println!("seed {seed}");
    let length = Length {
        cycles: 6,
        steps: 300,
        loads: true,
    };
    for bug in [Bug::None, Bug::NotDurable] {
        for seed in (0..10).map(|n| seed.wrapping_add(n)) {
            assert_eq!(
                run(&Toy { bug }, seed, length),
                run(&Toy { bug }, seed, length)
            );
        }
    }
}
