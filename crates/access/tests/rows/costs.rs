//! What row operations cost, in nanoseconds, with everything in memory: to be run in release mode, by name,
//! with `--ignored --nocapture`. A measurement, not a check.

use crate::ground::{Everything, Ground, Size, heap_row};
use crate::kinds::{Big, Kind};
use furrow_access::{Bound, By, Direction, HeapStep, Key, Step, Tree};
use furrow_format::RowId;
use furrow_io::random::{Rng, SliceRandom, seeded};
use furrow_io::thread;
use furrow_io::time::Moment;

const ROWS: i64 = 300_000;
const A_TXN: usize = 1000;

fn ground() -> Ground {
    Ground::new(Size {
        files: 2,
        file_pages: 16_384,
        frames: 32_768,
    })
}

fn measured(what: &str, count: usize, work: impl FnOnce()) {
    let begin = Moment::now();
    work();
    println!("{what:<40} {:>8} ns", begin.elapsed_ns() / count as u64);
}

fn insert_all(ground: &Ground, tree: &Tree, keys: &[i64]) {
    for chunk in keys.chunks(A_TXN) {
        let mut txn = ground.begin();
        for id in chunk {
            let row = Big::row(id, &[7; 141]);
            tree.insert(&mut By::Txn(&mut txn), &Big::key(id), &row)
                .unwrap();
        }
        txn.commit_delayed().unwrap();
    }
}

fn scan(tree: &Tree) {
    let mut cursor = tree.scan(Bound::Open, Bound::Open, Direction::Forward);
    let mut rows = 0;
    while cursor.step(&mut Everything).unwrap() == Step::Rows {
        while let Some(row) = cursor.next_in_batch() {
            rows += i64::from(!row.is_empty());
        }
    }
    assert_eq!(rows, ROWS);
}

#[test]
#[ignore = "a measurement"]
fn trees() {
    let ascending: Vec<i64> = (0..ROWS).collect();
    let mut random = ascending.clone();
    random.shuffle(&mut seeded(1));
    let count = ROWS as usize;
    for (name, keys) in [("ascending", &ascending), ("random", &random)] {
        let rows: usize = keys.iter().map(|id| Big::row(id, &[7; 141]).len()).sum();
        measured("encoding a row, for comparison", count, || {
            let again: usize = keys.iter().map(|id| Big::row(id, &[7; 141]).len()).sum();
            assert_eq!(rows, again);
        });
        let ground = ground();
        let tree = ground.tree(7, Big::shape());
        measured(&format!("insert, {name}"), count, || {
            insert_all(&ground, &tree, keys);
        });
        measured("get, random", count, || {
            for id in &random {
                assert!(
                    tree.get(&Big::key(id), |row| row.len() > 100)
                        .unwrap()
                        .unwrap()
                );
            }
        });
        measured("scan, a row", count, || scan(&tree));
        measured("update in place, random", count, || {
            for chunk in random.chunks(A_TXN) {
                let mut txn = ground.begin();
                for id in chunk {
                    let row = Big::row(id, &[8; 141]);
                    tree.update(&mut By::Txn(&mut txn), &Big::key(id), &row)
                        .unwrap();
                }
                txn.commit_delayed().unwrap();
            }
        });
        measured("delete, random", count, || {
            for chunk in random.chunks(A_TXN) {
                let mut txn = ground.begin();
                for id in chunk {
                    tree.delete(&mut By::Txn(&mut txn), &Big::key(id)).unwrap();
                }
                txn.commit_delayed().unwrap();
            }
        });
        let steps: Vec<Key> = ascending.iter().step_by(20).map(Big::key).collect();
        measured("purge, a row", count, || {
            for key in &steps {
                tree.purge_ghosts(key, &|_, _| true).unwrap();
            }
        });
    }
}

/// Reads of random rows by several threads at a time: what each read takes of a thread's time.
#[test]
#[ignore = "a measurement"]
fn descents_side_by_side() {
    const READS: u64 = 2_000_000;
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let ascending: Vec<i64> = (0..ROWS).collect();
    insert_all(&ground, &tree, &ascending);
    // All rows, and few enough that their leaves stay in the nearest cache.
    for rows in [ROWS, 2000] {
        for threads in [1, 2] {
            let what = format!("get, {rows} rows, {threads} threads");
            measured(&what, READS as usize, || {
                thread::scope(|s| {
                    for me in 0..threads {
                        let (tree, mut rng) = (&tree, seeded(me));
                        s.spawn(move || {
                            for _ in 0..READS {
                                let id = rng.random_range(0..rows);
                                let found = tree.get(&Big::key(&id), |row| row.len() > 100);
                                assert_eq!(found.unwrap(), Some(true));
                            }
                        });
                    }
                });
            });
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn heaps() {
    let ground = ground();
    let heap = ground.heap(9, crate::ground::heap_shape());
    let row = heap_row(&[7; 141]);
    let count = ROWS as usize;
    let mut rids: Vec<RowId> = Vec::with_capacity(count);
    measured("heap insert", count, || {
        for _ in 0..count / A_TXN {
            let mut txn = ground.begin();
            for _ in 0..A_TXN {
                rids.push(
                    heap.insert(&mut By::Txn(&mut txn), &row, &mut |_| true)
                        .unwrap(),
                );
            }
            txn.commit_delayed().unwrap();
        }
    });
    rids.shuffle(&mut seeded(1));
    measured("heap get, random", count, || {
        for &rid in &rids {
            assert!(heap.get(rid, |row| row.len() > 100).unwrap().unwrap());
        }
    });
    measured("heap scan, a row", count, || {
        let (mut cursor, mut rows) = (heap.scan().unwrap(), 0);
        while cursor.step(&mut Everything).unwrap() == HeapStep::Rows {
            while let Some((_, row)) = cursor.next_in_batch() {
                rows += usize::from(!row.is_empty());
            }
        }
        assert_eq!(rows, count);
    });
    measured("heap update in place, random", count, || {
        for chunk in rids.chunks(A_TXN) {
            let mut txn = ground.begin();
            for &rid in chunk {
                heap.update(&mut By::Txn(&mut txn), rid, &row).unwrap();
            }
            txn.commit_delayed().unwrap();
        }
    });
}
