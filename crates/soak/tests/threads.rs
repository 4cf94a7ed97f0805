//! The engine under power losses while many threads work.

use furrow_io::random::test_seed;
use furrow_soak::crash::Figures;
use furrow_soak::engine::Engine;
use furrow_soak::threads::run;

#[test]
fn threads_cut_off_in_the_middle_lose_nothing_and_tear_nothing() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for (n, threads) in (0..).zip([2, 4, 16]) {
        let done = run(&Engine::default(), seed.wrapping_add(n), threads, 12);
        all.add(&done.unwrap_or_else(|finding| panic!("{finding}")));
    }
    println!("{all:?}");
    assert!(all.crashes + all.closes == 36 && all.crashes > 15 && all.with_unanswered > 3);
    assert!(all.tally.commits > 200 && all.tally.rollbacks > 20);
}
