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
}
