//! The engine under power losses, decided by a seed.

use furrow_io::random::test_seed;
use furrow_soak::crash::{Figures, Length, run};
use furrow_soak::engine::Engine;

#[test]
fn hundreds_of_power_losses_lose_nothing_and_tear_nothing() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for n in 0..30 {
        let done = run(&Engine::default(), seed.wrapping_add(n), Length::default());
        all.add(&done.unwrap_or_else(|finding| panic!("{finding}")));
    }
    println!("{all:?}");
    assert!(all.crashes > 200 && all.in_recovery > 20 && all.closes > 3);
    assert!(all.happened > 0 && all.vanished > 0);
    assert!(all.tally.loads > 200 && all.tally.loaded_rows > 10_000);
}

#[test]
fn a_seed_decides_a_run_of_the_engine() {
    let seed = test_seed();
    println!("seed {seed}");
    for seed in (0..6).map(|n| seed.wrapping_add(n)) {
        let length = Length {
            cycles: 4,
            steps: 200,
            loads: true,
        };
        // To the last operation of the disks.
        let one = run(&Engine::default(), seed, length);
        assert_eq!(one, run(&Engine::default(), seed, length), "seed {seed}");
    }
}

#[test]
fn a_unit_whose_making_was_interrupted_is_freed_at_the_next_open() {
    // The run that found pages of a unit that no row named.
    let length = Length {
        loads: false,
        ..Length::default()
    };
    let done = run(&Engine::default(), 5996087194319129051, length);
    done.unwrap_or_else(|finding| panic!("{finding}"));
}
