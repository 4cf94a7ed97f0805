//! Random operations on one tree, step by step against a map.

use crate::ground::{Everything, Ground, Size, Trees, all_rows, drain};
use crate::kinds::{Big, Kind, Long, Many, Pair, Text};
use furrow_access::{AccessError, Bound, By, Direction, Gate, Key, Tree};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use std::collections::{BTreeMap, BTreeSet};
use std::ops;

pub type Model<K> = BTreeMap<<K as Kind>::Id, Vec<u8>>;

fn bounds<K: Kind>(id: Option<&K::Id>, rng: &mut SeededRng) -> (Bound, ops::Bound<K::Id>) {
    match id {
        None => (Bound::Open, ops::Bound::Unbounded),
        Some(id) if rng.random() => (
            Bound::Included(K::key(id)),
            ops::Bound::Included(id.clone()),
        ),
        Some(id) => (
            Bound::Excluded(K::key(id)),
            ops::Bound::Excluded(id.clone()),
        ),
    }
}

/// A range scan, either way, against the same range of the model.
fn check_range<K: Kind>(tree: &Tree, model: &Model<K>, rng: &mut SeededRng, span: u64) {
    let (mut a, mut b) = (K::id(rng, span), K::id(rng, span));
    if a > b {
        std::mem::swap(&mut a, &mut b);
    }
    let low = rng.random_bool(0.9).then_some(&a);
    let high = rng.random_bool(0.9).then_some(&b);
    let ((low, from), (high, to)) = (bounds::<K>(low, rng), bounds::<K>(high, rng));
    // A map refuses to walk between two exclusions of one key.
    let empty = a == b
        && !matches!(
            (&from, &to),
            (ops::Bound::Included(_), ops::Bound::Included(_))
        );
    let empty =
        empty && !matches!(from, ops::Bound::Unbounded) && !matches!(to, ops::Bound::Unbounded);
    let mut expected: Vec<Vec<u8>> = match empty {
        true => Vec::new(),
        false => model
            .range((from, to))
            .map(|(_, row)| row.clone())
            .collect(),
    };
    let forward = drain(
        tree.scan(low.clone(), high.clone(), Direction::Forward)
            .with_read_ahead(),
    );
    assert_eq!(forward, expected, "forward {low:?} .. {high:?}");
    let backward = drain(tree.scan(low, high, Direction::Backward));
    expected.reverse();
    assert_eq!(backward, expected);
}

pub fn check_whole<K: Kind>(tree: &Tree, model: &Model<K>) {
    let audit = tree.audit().unwrap();
    assert_eq!(audit.rows, model.len() as u64);
    assert!(all_rows(tree, Direction::Forward).iter().eq(model.values()));
    assert!(
        all_rows(tree, Direction::Backward)
            .iter()
            .eq(model.values().rev())
    );
}

/// A gate of a tree in which no session guards anything.
pub struct Free;

impl Gate for Free {
    fn guards_gaps(&self) -> bool {
        false
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }
}

/// Inserts new rows in the order of their keys, as many at a time as one leaf takes.
fn insert_several<K: Kind>(
    tree: &Tree,
    by: &mut By<'_>,
    model: &mut Model<K>,
    rng: &mut SeededRng,
    span: u64,
) {
    let drawn: BTreeSet<K::Id> = (0..40).map(|_| K::id(rng, span)).collect();
    let new = drawn.into_iter().filter(|id| !model.contains_key(id));
    let new: Vec<K::Id> = new.take(rng.random_range(1..20)).collect();
    let rows: Vec<Vec<u8>> = new.iter().map(|id| K::row(id, &K::payload(rng))).collect();
    let keys: Vec<Key> = new.iter().map(K::key).collect();
    let hints = rng.random::<bool>().then(|| tree.look_ahead(&keys));
    let mut done = 0;
    while done < keys.len() {
        let left = rows[done..].iter().map(Vec::as_slice);
        let hint = hints.as_ref().and_then(|hints| hints.get(done));
        let given = (&keys[done..], hint);
        match tree.insert_many(by, given, left, &Free).unwrap() {
            0 => tree.insert(by, &keys[done], &rows[done]).unwrap(),
            count => done += count - 1,
        }
        done += 1;
    }
    model.extend(new.into_iter().zip(rows));
}

/// One operation of a transaction, done to tree and model.
pub fn operate<K: Kind>(
    tree: &Tree,
    by: &mut By<'_>,
    model: &mut Model<K>,
    rng: &mut SeededRng,
    span: u64,
) {
    let id = K::id(rng, span);
    let key = K::key(&id);
    match rng.random_range(0..10) {
        0 if rng.random_bool(0.3) => insert_several::<K>(tree, by, model, rng, span),
        0..=4 => {
            let row = K::row(&id, &K::payload(rng));
            let done = tree.insert(by, &key, &row);
            match model.entry(id) {
                std::collections::btree_map::Entry::Occupied(_) => {
                    assert!(
                        matches!(done, Err(AccessError::DuplicateKey { index_id: 1 })),
                        "{done:?}"
                    );
                }
                std::collections::btree_map::Entry::Vacant(free) => {
                    done.unwrap();
                    free.insert(row);
                }
            }
        }
        5..=6 => {
            let done = tree.delete(by, &key);
            match model.remove(&id) {
                Some(_) => done.unwrap(),
                None => assert!(matches!(done, Err(AccessError::NotFound)), "{done:?}"),
            }
        }
        7..=8 => {
            let row = K::row(&id, &K::payload(rng));
            let done = tree.update(by, &key, &row);
            match model.get_mut(&id) {
                Some(old) => {
                    done.unwrap();
                    *old = row;
                }
                None => assert!(matches!(done, Err(AccessError::NotFound)), "{done:?}"),
            }
        }
        _ => {
            let found = tree.get(&key, <[u8]>::to_vec).unwrap();
            assert_eq!(found.as_ref(), model.get(&id));
        }
    }
}

fn run<K: Kind>(name: &str, steps: u32, span: u64) {
    let seed = test_seed();
    println!("{name}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, K::shape());
    let mut model = Model::<K>::new();
    for step in 0..steps {
        let before = rng.random_bool(0.2).then(|| model.clone());
        let mut txn = ground.begin();
        for _ in 0..rng.random_range(1..12) {
            operate::<K>(&tree, &mut By::Txn(&mut txn), &mut model, &mut rng, span);
        }
        match before {
            Some(before) => {
                txn.rollback(&Trees(&[&tree])).unwrap();
                model = before;
            }
            None => {
                txn.commit_delayed().unwrap();
            }
        }
        if rng.random_bool(0.1) {
            check_range::<K>(&tree, &model, &mut rng, span);
            tree.purge_ghosts(&K::key(&K::id(&mut rng, span)), &|_, _| true)
                .unwrap();
        }
        if step % 256 == 255 {
            check_whole::<K>(&tree, &model);
        }
    }
    check_whole::<K>(&tree, &model);
    // A reader that takes nothing comes to the end all the same.
    let mut cursor = tree.scan(
        Bound::Open,
        Bound::Excluded(K::key(&K::id(&mut rng, span))),
        Direction::Forward,
    );
    while cursor.step(&mut Everything).unwrap() != furrow_access::Step::End {}
    for (id, row) in &model {
        assert_eq!(
            tree.get(&K::key(id), <[u8]>::to_vec).unwrap().as_ref(),
            Some(row)
        );
    }
}

#[test]
fn bigint_keys_behave_like_a_map() {
    run::<Big>("bigint", 1500, 4000);
}

#[test]
fn few_bigint_keys_deleted_and_inserted_again_behave_like_a_map() {
    run::<Big>("few bigint", 1500, 60);
}

#[test]
fn two_nullable_columns_ascending_and_descending_behave_like_a_map() {
    run::<Pair>("pair", 1500, 3000);
}

#[test]
fn long_texts_as_keys_behave_like_a_map() {
    run::<Text>("text", 1500, 3000);
}

#[test]
fn equal_keys_distinguished_by_a_uniquifier_behave_like_a_map() {
    run::<Many>("uniquifier", 1500, 3000);
}

#[test]
fn rows_from_one_byte_to_a_whole_page_behave_like_a_map() {
    run::<Long>("long", 600, 800);
}
