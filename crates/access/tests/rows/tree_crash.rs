//! Crashes: the log alone, or the log and whatever pages had been written, give the committed rows back.

use crate::ground::{Entry, Ground, Size};
use crate::kinds::{Big, Kind, Long, Many, Text};
use crate::tree_model::{check_whole, operate};
use furrow_access::By;
use furrow_io::random::{Rng, seeded, test_seed};
use std::collections::BTreeMap;

/// Which pages outlive a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlives {
    /// What the files held at first, and the log.
    LogOnly,
    /// What had been written to the files, and the log.
    Written,
}

fn run<K: Kind>(name: &str, outlives: Outlives, txns: u32, span: u64) {
    let seed = test_seed();
    println!("{name}, {outlives:?}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    // Few frames, so that pages are written and read again all the time.
    let mut ground = Ground::new(Size {
        files: 2,
        file_pages: 2048,
        frames: 128,
    });
    let first = ground.data_images();
    let mut tree = ground.tree(7, K::shape());
    let entry = Entry {
        number: 7,
        first_iam: tree.unit().first_iam(),
        root: tree.root(),
        shape: K::shape(),
    };
    let mut model = BTreeMap::new();
    for round in 0..4 {
        for _ in 0..txns {
            let mut txn = ground.begin();
            for _ in 0..rng.random_range(1..12) {
                operate::<K>(&tree, &mut By::Txn(&mut txn), &mut model, &mut rng, span);
            }
            txn.commit_delayed().unwrap();
            if rng.random_bool(0.2) {
                tree.purge_ghosts(&K::key(&K::id(&mut rng, span)), &|_, _| true)
                    .unwrap();
            }
            if outlives == Outlives::Written && rng.random_bool(0.01) {
                ground.checkpoint();
            }
        }
        // One that never ends, its records in the log.
        let mut lost = ground.begin();
        let mut scratch = model.clone();
        for _ in 0..rng.random_range(1..200) {
            operate::<K>(&tree, &mut By::Txn(&mut lost), &mut scratch, &mut rng, span);
        }
        ground.store.log().flush_all().unwrap();
        let images = match outlives {
            Outlives::LogOnly => first.clone(),
            Outlives::Written => ground.data_images(),
        };
        let (after, mut trees, _) = ground.crash(&images, std::slice::from_ref(&entry), &[]);
        drop(lost);
        (ground, tree) = (after, trees.remove(0));
        check_whole::<K>(&tree, &model);
        ground.check_pages(&tree, &tree.audit().unwrap());
        println!("round {round}: {} rows", model.len());
    }
}

#[test]
fn the_log_alone_gives_the_rows_back() {
    run::<Big>("bigint", Outlives::LogOnly, 300, 3000);
    run::<Text>("text", Outlives::LogOnly, 200, 2000);
}

#[test]
fn the_log_alone_gives_long_and_equal_keys_back() {
    run::<Long>("long", Outlives::LogOnly, 100, 500);
    run::<Many>("many", Outlives::LogOnly, 200, 2000);
}

#[test]
fn the_log_and_the_pages_written_give_the_rows_back() {
    run::<Big>("bigint", Outlives::Written, 300, 3000);
    run::<Text>("text", Outlives::Written, 200, 2000);
    run::<Long>("long", Outlives::Written, 100, 500);
}
