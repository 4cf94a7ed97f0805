//! Bits that rot at rest.

use furrow_io::random::test_seed;
use furrow_soak::rot::run;

#[test]
fn a_bit_that_flips_at_rest_is_reported_or_lies_where_nothing_is() {
    let seed = test_seed();
    println!("seed {seed}");
    let (mut reported, mut harmless) = (0, 0);
    for n in 0..5 {
        let done = run(seed.wrapping_add(n)).unwrap_or_else(|finding| panic!("{finding}"));
        reported += done.reported;
        harmless += done.harmless;
    }
    println!("{reported} reported, {harmless} harmless");
    assert!(reported > 25, "is anybody looking?");
}

/// The seed of a run in which an image older than its page was left beside a database that had been closed.
#[test]
fn an_image_from_before_the_close_is_not_put_back_over_a_page_that_rots() {
    let done = run(9_992_169_937_066_137_456).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(done.reported > 0);
}
