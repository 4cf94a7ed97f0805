//! A share of the small worlds: every so-manieth power loss and failure, another share each time.

use furrow_io::random::test_seed;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicUsize, Ordering};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_soak::worlds::boundary::{Explored, Share, explore};
use furrow_soak::worlds::{all, nth};

#[test]
fn power_lost_at_any_sync_of_a_small_world_leaves_what_was_acknowledged() {
    let seed = test_seed();
    println!("seed {seed}");
    let worlds = all();
    let of = |number: usize, world| {
        let share = Share {
            stride: 12,
            first: (seed % 12) as usize,
            // Recovery is interrupted in one world after the other.
            twice: number == seed as usize % worlds.len(),
        };
        explore(world, share).unwrap_or_else(|finding| panic!("{finding}"))
    };
    let (next, explored) = (AtomicUsize::new(0), Mutex::new(Explored::default()));
    let work = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        for (number, world) in numbers.map_while(|number| Some((number, worlds.get(number)?))) {
            let done = of(number, world);
            explored.lock().add(&done);
        }
    };
    scope(|scope| {
        spawn_scoped(scope, "worlds", work).unwrap();
        work();
    });
    let explored = explored.into_inner();
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
