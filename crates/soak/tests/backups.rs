//! Backups and restores under writers and power losses.

use furrow_io::random::test_seed;
use furrow_soak::backups::{Figures, run};

#[test]
fn backups_under_writers_and_power_losses_restore_what_was_acknowledged() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for n in 0..8 {
        let done = run(seed.wrapping_add(n)).unwrap_or_else(|finding| panic!("{finding}"));
        all.add(&done);
    }
    println!("{all:?}");
    assert!(
        all.backups > 8 && all.restores > 8,
        "too little was done: {all:?}"
    );
}
