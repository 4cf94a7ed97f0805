//! Rows of a range that are only counted: many leaves in a step, most of them before it is known that they
//! belong to the range.

use crate::ground::{Ground, Size};
use crate::kinds::{Big, Kind};
use furrow_access::{Bound, By, Direction, InPlace, RowCheck, Step, Tree, Visitor};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::thread;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts rows. Every `odd`-th leaf is one that others may have changed; 0: none.
struct Counter {
    odd: u32,
    leaves: u32,
    rows: u64,
}

impl Visitor for Counter {
    fn in_place(&self) -> InPlace {
        InPlace::Count
    }
    fn count(&mut self, rows: u64) {
        self.rows += rows;
    }
    fn wants_more(&self) -> bool {
        true
    }
    fn all_committed(&mut self) -> bool {
        self.leaves += 1;
        self.odd == 0 || !self.leaves.is_multiple_of(self.odd)
    }
    fn check(&mut self, _: &[u8], ghost: bool) -> RowCheck {
        if ghost {
            RowCheck::Skip
        } else {
            RowCheck::Take
        }
    }
}

fn count(tree: &Tree, low: Bound, high: Bound, odd: u32) -> u64 {
    let mut counter = Counter {
        odd,
        leaves: 0,
        rows: 0,
    };
    let mut cursor = tree.scan(low, high, Direction::Forward);
    while cursor.step(&mut counter).unwrap() != Step::End {}
    counter.rows
}

fn insert(ground: &Ground, tree: &Tree, ids: impl Iterator<Item = i64>, payload: &[u8]) {
    let mut txn = ground.begin();
    for id in ids {
        let row = Big::row(&id, payload);
        tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
            .unwrap();
    }
    txn.commit().unwrap();
}

fn delete(ground: &Ground, tree: &Tree, ids: impl Iterator<Item = i64>) {
    let mut txn = ground.begin();
    for id in ids {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(&id)).unwrap();
    }
    txn.commit().unwrap();
}

fn high(id: i64, rng: &mut SeededRng) -> (Bound, i64) {
    match rng.random() {
        true => (Bound::Included(Big::key(&id)), id),
        false => (Bound::Excluded(Big::key(&id)), id - 1),
    }
}

#[test]
fn a_count_of_a_range_ends_at_its_end() {
    let seed = test_seed();
    println!("a_count_of_a_range_ends_at_its_end: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    insert(&ground, &tree, 0..4000, &[3; 500]);
    // Ghosts on some leaves, and leaves without a live row.
    let gone: BTreeSet<i64> = (900..1000).chain((2000..4000).step_by(97)).collect();
    delete(&ground, &tree, gone.iter().copied());
    for _ in 0..600 {
        let from = rng.random_range(-5..4000_i64);
        let (low, first) = match rng.random_range(0..3) {
            0 => (Bound::Open, 0),
            1 => (Bound::Included(Big::key(&from)), from),
            _ => (Bound::Excluded(Big::key(&from)), from + 1),
        };
        let to = rng.random_range(first.max(0)..4010);
        let (high, last) = high(to, &mut rng);
        let expected = (first.max(0)..=last.min(3999)).filter(|id| !gone.contains(id));
        let expected = expected.count() as u64;
        let odd = rng.random_range(0..20);
        let found = count(&tree, low.clone(), high.clone(), odd);
        assert_eq!(
            found, expected,
            "{low:?} {high:?}, every {odd}th leaf is looked at"
        );
    }
}

#[test]
fn a_count_of_a_range_is_right_while_rows_around_it_come_and_go() {
    let seed = test_seed();
    println!("a_count_of_a_range_is_right_while_rows_around_it_come_and_go: FURROW_SEED={seed}");
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    insert(&ground, &tree, 1000..3000, &[3; 500]);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for beside in [990, 3000] {
            let (ground, tree, done) = (&ground, &tree, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    insert(ground, tree, beside..beside + 10, &[5; 2000]);
                    delete(ground, tree, beside..beside + 10);
                    for id in beside..beside + 10 {
                        tree.purge_ghosts(&Big::key(&id), &|_, _| true).unwrap();
                    }
                }
            });
        }
        let mut rng = seeded(seed);
        for _ in 0..400 {
            let to = rng.random_range(2900..3000);
            let (high, last) = high(to, &mut rng);
            let found = count(&tree, Bound::Included(Big::key(&1000)), high, 0);
            assert_eq!(found, (last - 999) as u64, "up to {last}");
        }
        done.store(true, Ordering::Relaxed);
    });
}
