//! The engine in processes that are really killed.

use furrow_io::random::test_seed;
use furrow_soak::kill::{Rounds, run};

#[test]
fn processes_killed_under_sixteen_writers_lose_nothing_and_tear_nothing() {
    let seed = test_seed();
    println!("seed {seed}");
    let dir = tempfile::tempdir().unwrap();
    let rounds = Rounds {
        program: env!("CARGO_BIN_EXE_furrow-soak").into(),
        home: dir.path().to_path_buf(),
        seed,
        rounds: 20,
        threads: 16,
    };
    let figures = run(&rounds, &|line| println!("{line}"));
    let figures = figures.unwrap_or_else(|finding| panic!("{finding}"));
    println!("{figures:?}");
    assert!(figures.kills == 20 && figures.with_unanswered > 3 && figures.tally.commits > 100);
}
