//! What the allocation of a page costs besides its mini-transaction. Run by hand, in release:
//! `cargo test --release -p furrow-space --test cost -- --ignored --nocapture`.

mod common;

use common::{Make, fixed, make};
use furrow_io::time::Moment;

#[test]
#[ignore = "measures; says nothing on a busy machine"]
fn a_reservation_costs_far_less_than_a_row() {
    let frames = 16_384;
    let db = make(
        Make {
            frames,
            ..Make::default()
        },
        &[fixed(1, 64_000), fixed(3, 64_000)],
    );
    let unit = db.unit(100);
    db.space.preallocate(&unit, 1000).unwrap();
    let rounds = 1_000_000;
    let start = Moment::now();
    let mut near = None;
    for _ in 0..rounds {
        let mut held = db.space.reserve(&unit, 1, near).unwrap();
        near = Some(held.take().unwrap());
    }
    let reserve_ns = start.elapsed_us() as f64 * 1000.0 / f64::from(rounds);
    let rounds = 12_000;
    let start = Moment::now();
    for _ in 0..rounds {
        near = Some(db.allocate_one(&unit, near));
    }
    let all_ns = start.elapsed_us() as f64 * 1000.0 / f64::from(rounds);
    println!(
        "reserve, take, give back: {reserve_ns:.0} ns; with format, PFS and log: {all_ns:.0} ns"
    );
    assert!(reserve_ns < 2_000.0);
}
