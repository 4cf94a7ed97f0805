//! A share of the damaged inputs of each target, and the canary.

use furrow_io::random::test_seed;
use furrow_soak::fuzz::{CANARY, TARGETS, one, run};

#[test]
fn damaged_bytes_and_texts_are_read_or_refused_in_order() {
    let seed = test_seed();
    for kind in TARGETS {
        let done = run(&kind, seed, kind.share, 1, &|line| println!("{line}"));
        let took = done.unwrap_or_else(|caught| {
            let (name, input) = (kind.name, caught.input);
            panic!(
                "{}\nto see it again: furrow-soak fuzz --seed {seed} --input {input} {name}",
                caught.what
            )
        });
        println!("{}: {} inputs in {took:?}", kind.name, kind.share);
    }
}

#[test]
fn the_canary_is_found_out_and_its_input_shows_it_again() {
    let seed = test_seed();
    println!("seed {seed}");
    let caught = run(&CANARY, seed, CANARY.whole, 1, &|_| {});
    let caught = caught.expect_err("the fuzzer has gone blind");
    assert!(caught.what.contains("the canary sings"), "{}", caught.what);
    assert_eq!(one(&CANARY, seed, caught.input), Err(caught));
}
