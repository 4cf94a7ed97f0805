//! A share of the small worlds: every so-manieth power loss and failure, another share each time.

use furrow_io::random::test_seed;
use furrow_soak::worlds::boundary::{Explored, Share, explore};
use furrow_soak::worlds::{all, nth};

#[test]
fn power_lost_at_any_sync_of_a_small_world_leaves_what_was_acknowledged() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut explored = Explored::default();
    for (number, world) in all().iter().enumerate() {
        let share = Share {
            stride: 12,
            first: (seed % 12) as usize,
            // Recovery is interrupted in one world after the other.
            twice: number == seed as usize % all().len(),
        };
        let done = explore(world, share).unwrap_or_else(|finding| panic!("{finding}"));
        explored.add(&done);
    }
    println!("{explored:?}");
    assert!(explored.moments > 220 && explored.crashes > 300 && explored.in_recovery > 35);
}

#[test]
fn a_failure_at_any_operation_of_a_small_world_is_reported_or_does_no_harm() {
    let seed = test_seed();
    println!("seed {seed}");
    let (mut reported, mut unnoticed) = (0, 0);
    for world in all() {
        let done = nth::fail_everywhere(&world, 31, seed % 31);
        let done = done.unwrap_or_else(|finding| panic!("{finding}"));
        reported += done.reported;
        unnoticed += done.unnoticed;
    }
    println!("{reported} reported, {unnoticed} unnoticed");
    assert!(reported > 100);
}
