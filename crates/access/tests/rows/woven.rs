//! Trees and checkpoints under drawn schedules (`furrow_io::weave`).

use crate::ground::Size;
use crate::kinds::{Kind, Long, Text};
use crate::tree_threads::{Arena, Model};
use furrow_access::Direction;
use furrow_format::Lsn;
use furrow_io::random::seeded;
use furrow_io::sync::Mutex;
use furrow_io::weave::{explore, together};
use std::sync::Arc;

const SCHEDULES: u64 = 500;
const WRITERS: usize = 2;

/// What goes on beside the writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// Scans both ways, and the purge of ghosts, which empties and frees leaves.
    ScansAndPurges,
    /// Checkpoints, and the same purge.
    Checkpoints,
}

fn weave<K: Kind>(seed: u64, span: u64, txns: u32, frames: usize, beside: Beside) {
    let size = Size {
        files: 2,
        file_pages: 256,
        frames,
    };
    let arena = Arena::<K>::new(span, WRITERS, size, 2 << 20, &mut seeded(seed));
    let arena = Arc::new(arena);
    let expected: Arc<Mutex<Model<K>>> = Arc::new(Mutex::new(arena.fixed.clone()));
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for me in 0..WRITERS {
        let (arena, expected) = (Arc::clone(&arena), Arc::clone(&expected));
        bodies.push(Box::new(move || {
            let mut rng = seeded(seed ^ (me as u64 + 1) << 40);
            let model = arena.write(me, WRITERS, txns, span, &mut rng);
            expected.lock().extend(model);
        }));
    }
    let purger = Arc::clone(&arena);
    bodies.push(Box::new(move || {
        let mut rng = seeded(seed ^ 99 << 40);
        for _ in 0..12 {
            purger.purge(span, &mut rng);
        }
    }));
    let other = Arc::clone(&arena);
    bodies.push(match beside {
        Beside::ScansAndPurges => Box::new(move || {
            for direction in [Direction::Forward, Direction::Backward, Direction::Forward] {
                other.scan(direction);
            }
        }),
        Beside::Checkpoints => Box::new(move || {
            let mut redo_point = Lsn::ZERO;
            for _ in 0..15 {
                let next = other.ground.checkpoint();
                // The log before it may be gone since.
                assert!(next >= redo_point, "redo moved back to {next}");
                redo_point = next;
            }
        }),
    });
    together(bodies);
    let mut expected = std::mem::take(&mut *expected.lock());
    let mut arena = Arc::into_inner(arena).unwrap();
    if beside == Beside::Checkpoints {
        // What the checkpoints took for done is in the files, or is lost now.
        arena.first = arena.ground.data_images();
        arena.forget_one(&mut expected);
    }
    arena.check(&expected);
}

#[test]
fn woven_splits_of_long_rows_beside_scans_and_purges() {
    explore("a tree of long rows", SCHEDULES, |seed| {
        weave::<Long>(seed, 30, 8, 256, Beside::ScansAndPurges);
    });
}

#[test]
fn woven_splits_of_a_high_tree_beside_scans_and_purges() {
    explore("a high tree", SCHEDULES, |seed| {
        weave::<Text>(seed, 60, 8, 256, Beside::ScansAndPurges);
    });
}

#[test]
fn woven_scans_with_most_pages_out_of_memory() {
    explore("a tree and few frames", SCHEDULES, |seed| {
        weave::<Long>(seed, 60, 6, 40, Beside::ScansAndPurges);
    });
}

#[test]
fn woven_checkpoints_beside_writers_lose_nothing() {
    explore("checkpoints", SCHEDULES, |seed| {
        weave::<Long>(seed, 60, 6, 64, Beside::Checkpoints);
    });
}
