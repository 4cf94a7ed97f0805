//! Keys that are spread unevenly are found, and those between them are not.

use crate::ground::{Ground, Size, drain};
use crate::kinds::{Big, Kind};
use furrow_access::{Bound, By, Direction, RowBatch};
use std::collections::BTreeSet;

#[test]
fn integers_of_any_spread_are_found_and_their_neighbours_are_not() {
    let cubes = |n: i64| (-n..n).map(|i| i * i * i).collect::<Vec<_>>();
    let doubling = (0..62).flat_map(|bit| [1_i64 << bit, -(1 << bit), (1 << bit) + 7]);
    let edges = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let spreads: [Vec<i64>; 4] = [
        (0..3000).map(|i| i * 2).collect(),
        cubes(2000),
        doubling.chain(edges).chain(1000..1400).collect(),
        (0..40).map(|i| i64::MAX - 3 * i).chain(edges).collect(),
    ];
    for spread in spreads {
        let keys: BTreeSet<i64> = spread.into_iter().collect();
        let ground = Ground::new(Size::default());
        let tree = ground.tree(7, Big::shape());
        let mut txn = ground.begin();
        let mut batch = RowBatch::new();
        for key in &keys {
            batch.push(&Big::row(key, b"some bytes")).unwrap();
        }
        let done = tree.append_batch(&mut By::Txn(&mut txn), &batch).unwrap();
        assert_eq!(done, keys.len());
        txn.commit().unwrap();
        for &key in &keys {
            for near in [key.wrapping_sub(1), key, key.wrapping_add(1)] {
                let found = tree.get(&Big::key(&near), <[u8]>::to_vec).unwrap();
                let expected = keys.contains(&near).then(|| Big::row(&near, b"some bytes"));
                assert_eq!(found, expected, "{near}");
            }
        }
        for &key in keys.iter().step_by(97) {
            let above = Bound::Excluded(Big::key(&key));
            let rows = drain(tree.scan(above, Bound::Open, Direction::Forward));
            assert_eq!(rows.len(), keys.range(key..).count() - 1);
            let below = Bound::Included(Big::key(&key));
            let rows = drain(tree.scan(Bound::Open, below, Direction::Backward));
            assert_eq!(rows.len(), keys.range(..=key).count());
        }
    }
}
