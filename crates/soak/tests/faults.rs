//! The engine when the N-th read, write, sync or resize fails.

use furrow_io::random::test_seed;
use furrow_soak::engine::Engine;
use furrow_soak::faults::run;

#[test]
fn a_fault_is_reported_or_does_no_harm() {
    let seed = test_seed();
    println!("seed {seed}");
    let figures = run(&Engine::default(), seed, 7).unwrap_or_else(|finding| panic!("{finding}"));
    println!("{figures:?}");
    assert!(figures.faults_reported > 20);
}
