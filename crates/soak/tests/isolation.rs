//! Histories of real threads under each level.

use furrow_engine::Isolation;
use furrow_io::random::test_seed;
use furrow_soak::isolation::{Anomaly, Figures, Shape, run};

fn histories(shape: &Shape) -> Figures {
    let seed = test_seed();
    println!("seed {seed}");
    let mut all = Figures::default();
    for n in 0..4 {
        let done = run(shape, seed.wrapping_add(n));
        all.add(&done.unwrap_or_else(|finding| panic!("{finding}")));
    }
    println!("{all:?}");
    assert!(all.committed > 500);
    all
}

#[test]
fn read_uncommitted_shows_what_is_rolled_back_and_never_mixes_writes() {
    let seen = histories(&Shape::of(Isolation::ReadUncommitted)).allowed;
    assert!(
        seen.contains_key(&Anomaly::AbortedRead),
        "is anybody looking?"
    );
}

#[test]
fn read_committed_shows_skew_and_nothing_that_is_not_committed() {
    let seen = histories(&Shape::of(Isolation::ReadCommitted)).allowed;
    assert!(seen.contains_key(&Anomaly::ReadSkew), "is anybody looking?");
}

#[test]
fn repeatable_read_shows_no_skew_of_rows_that_are_there() {
    let seen = histories(&Shape::of(Isolation::RepeatableRead)).allowed;
    assert!(seen.is_empty());
}

#[test]
fn serializable_shows_no_cycle_though_rows_come_and_ranges_are_read() {
    let seen = histories(&Shape::of(Isolation::Serializable)).allowed;
    assert!(seen.is_empty());
}
