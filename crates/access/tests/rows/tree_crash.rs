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
    let mut redone = 0;
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
        let restarted = ground.try_crash(&images, std::slice::from_ref(&entry), &[]);
        let (after, mut trees, _) = restarted.unwrap();
        drop(lost);
        (ground, tree) = (after, trees.remove(0));
        redone += ground.redone;
        check_whole::<K>(&tree, &model);
        ground.check_pages(&tree, &tree.audit().unwrap());
        println!("round {round}: {} rows", model.len());
    }
    // After a checkpoint one round may have nothing to repeat.
    assert!(redone > 0, "nothing to repeat");
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

/// A page that the log rebuilds is written without an image in the double-write file. Torn, it gets back the
/// image of an earlier life, if that is still there: a whole page, too old for the changes that come before
/// the rebuilding.
#[test]
fn a_page_from_an_earlier_life_is_no_harm_when_the_log_rebuilds_it() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let entry = Entry {
        number: 7,
        first_iam: tree.unit().first_iam(),
        root: tree.root(),
        shape: Big::shape(),
    };
    let mut model = BTreeMap::new();
    let mut txn = ground.begin();
    let mut put = |by: &mut By<'_>, id: i64, len: usize| {
        let row = Big::row(&id, &vec![id as u8; len]);
        tree.insert(by, &Big::key(&id), &row).unwrap();
        model.insert(id, row);
    };
    for id in (0..400).step_by(4) {
        put(&mut By::Txn(&mut txn), id, 700);
    }
    ground.checkpoint();
    let early = ground.data_images();
    // More rows on the same pages, which are on the disk.
    for id in (0..400).filter(|id| id % 4 == 1) {
        put(&mut By::Txn(&mut txn), id, 20);
    }
    ground.checkpoint();
    // Changes of these; then the pages go, and come back as others.
    for id in (0..400).filter(|id| id % 4 < 2) {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(&id)).unwrap();
    }
    txn.commit().unwrap();
    let before: Vec<_> = tree.audit().unwrap().pages().collect();
    for id in (0..400).filter(|id| id % 4 < 2) {
        tree.purge_ghosts(&Big::key(&id), &|_, _| true).unwrap();
        model.remove(&id);
    }
    let between: Vec<_> = tree.audit().unwrap().pages().collect();
    let mut txn = ground.begin();
    for id in 1000..1400 {
        let row = Big::row(&id, &[9; 500]);
        tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
            .unwrap();
        model.insert(id, row);
    }
    txn.commit().unwrap();
    let after: Vec<_> = tree.audit().unwrap().pages().collect();
    ground.store.log().flush_all().unwrap();
    // All pages that have two lives are as they were in the first.
    let mut images = ground.data_images();
    let mut set_back = 0;
    let gone = before.iter().filter(|page| !between.contains(page));
    for page in gone.filter(|page| after.contains(page)) {
        let at = page.page.0 as usize * 8192;
        let file = page.file.0 as usize - 1;
        images[file][at..at + 8192].copy_from_slice(&early[file][at..at + 8192]);
        set_back += 1;
    }
    assert!(set_back > 3, "{set_back}");
    let (ground, trees, _) = ground.crash(&images, &[entry], &[]);
    check_whole::<Big>(&trees[0], &model);
    ground.check_pages(&trees[0], &trees[0].audit().unwrap());
}
