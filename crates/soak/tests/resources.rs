//! Nothing leaks. This is a test program of its own, because open files and memory are counted for the whole
//! process.

use furrow_io::random::test_seed;
use furrow_soak::resources::{Order, run};

#[test]
fn thousands_of_transactions_and_sessions_leave_nothing_behind() {
    let seed = test_seed();
    println!("seed {seed}");
    let dir = tempfile::tempdir().unwrap();
    let order = Order {
        home: dir.path().to_path_buf(),
        txns: 12_000,
        sessions: 2_000,
        threads: 3,
        seed,
    };
    let figures = run(&order, &|line| println!("{line}"));
    let figures = figures.unwrap_or_else(|what| panic!("{what}"));
    // The log was used again, though the reader stayed.
    assert!(figures.vlfs > 2, "{figures:?}");
}
