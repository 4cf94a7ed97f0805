//! Loads in the orders that users load in, and how full they leave the pages.

use crate::ground::{Ground, Size, all_rows};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, By, Direction, RowBatch, Tree, TreeAudit};
use furrow_io::random::{SliceRandom, seeded, test_seed};
use furrow_io::thread;

/// Rows of 160 bytes and their keys, in this order; gives the audit of the tree.
fn load(keys: impl Iterator<Item = i64>) -> TreeAudit {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    let mut rows = 0;
    for id in keys {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[7; 141]),
        )
        .unwrap();
        rows += 1;
    }
    txn.commit().unwrap();
    let audit = tree.audit().unwrap();
    assert_eq!((audit.rows, audit.row_bytes), (rows, rows * 160));
    assert_eq!(all_rows(&tree, Direction::Forward).len() as u64, rows);
    ground.check_pages(&tree, &audit);
    audit
}

/// Bytes of rows and slots as a share of the leaves' bodies.
fn filled(audit: &TreeAudit) -> f64 {
    (audit.row_bytes + 2 * audit.rows) as f64 / (audit.levels[0].len() * 8096) as f64
}

#[test]
fn an_ascending_load_leaves_full_pages() {
    let audit = load(0..40_000);
    assert!(filled(&audit) > 0.97, "{}", filled(&audit));
    assert_eq!(audit.levels.len(), 3);
}

#[test]
fn a_descending_load_leaves_half_full_pages_at_least() {
    let audit = load((0..20_000).rev());
    assert!(filled(&audit) > 0.45, "{}", filled(&audit));
}

#[test]
fn random_keys_leave_pages_two_thirds_full() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut keys: Vec<i64> = (0..40_000).collect();
    keys.shuffle(&mut seeded(seed));
    let audit = load(keys.into_iter());
    assert!((0.6..0.8).contains(&filled(&audit)), "{}", filled(&audit));
}

#[test]
fn sixteen_interleaved_ascending_runs_leave_full_pages() {
    let audit = load((0..2500).flat_map(|i| (0..16).map(move |run| run * 1_000_000 + i)));
    assert!(filled(&audit) > 0.95, "{}", filled(&audit));
}

#[test]
fn ascending_runs_of_many_threads_leave_full_pages() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    thread::scope(|s| {
        for run in 0..8_i64 {
            let (ground, tree) = (&ground, &tree);
            s.spawn(move || {
                for i in 0..4000 {
                    let id = run * 1_000_000 + i;
                    let mut txn = ground.begin();
                    let row = Big::row(&id, &[7; 141]);
                    tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
                        .unwrap();
                    txn.commit_delayed().unwrap();
                }
            });
        }
    });
    let audit = tree.audit().unwrap();
    assert_eq!(audit.rows, 32_000);
    assert!(filled(&audit) > 0.9, "{}", filled(&audit));
    ground.check_pages(&tree, &audit);
}

/// One thread of many loads that each want more frames than there are for all of them.
fn load_in_bulk(ground: &Ground, tree: &Tree) {
    let mut txn = ground.begin();
    for batch in 0..6 {
        let mut rows = RowBatch::new();
        for id in batch * 120..(batch + 1) * 120 {
            let row = Big::row(&id, &[7; 3000]);
            let add = |out: &mut Vec<u8>| -> Result<(), AccessError> {
                out.extend_from_slice(&row);
                Ok(())
            };
            rows.push_with(add).unwrap();
        }
        // Where the tree needs another level, rows go in one by one.
        let done = tree.fill_batch(&mut By::Txn(&mut txn), &rows).unwrap();
        assert_eq!(done, 120);
    }
    txn.commit().unwrap();
}

#[test]
fn sixteen_loads_side_by_side_get_on_in_a_small_pool() {
    let ground = Ground::new(Size {
        files: 2,
        file_pages: 8192,
        frames: 64,
    });
    let trees: Vec<Tree> = (0..16).map(|n| ground.tree(20 + n, Big::shape())).collect();
    thread::scope(|s| {
        for tree in &trees {
            let ground = &ground;
            s.spawn(move || load_in_bulk(ground, tree));
        }
    });
    for tree in &trees {
        let audit = tree.audit().unwrap();
        assert_eq!(audit.rows, 720);
        ground.check_pages(tree, &audit);
    }
}
