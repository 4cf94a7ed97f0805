//! A rollback in a full log: it has what it needs from the start, and asks for nothing.

use crate::ground::{
    DB, Entry, Ground, HeapEntry, Size, Structures, all_heap_rows, all_rows, heap_row, heap_shape,
};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, By, Direction, Heap, RowBatch, Tree};
use furrow_format::{Lsn, RowId};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_log::{LogError, OwnedRecord, ReuseWait};
use furrow_txn::{ActiveTxn, LogRelief, Transaction, TxnError, Undo};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Few frames, so that pages leave memory all the time and take the log along.
const SIZE: Size = Size {
    files: 2,
    file_pages: 4096,
    frames: 80,
};

const LOG_BYTES: u64 = 3 << 20;

/// Has no help to give, and counts who asks.
#[derive(Debug, Default)]
struct NoRelief(AtomicU64);

impl LogRelief for NoRelief {
    fn relieve(&self, _: u64) -> Result<(), LogError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(LogError::Full(ReuseWait::ActiveTransaction))
    }
}

/// Undoes; ends the log's open block now and then, as others do; and writes pages behind each step, as the
/// lazy writer does whenever it gets its turn.
struct WithFlushes<'a>(Structures<'a>, AtomicU64, &'a Ground);

impl Undo for WithFlushes<'_> {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        self.0.undo(txn, next, record)?;
        let _held_back = self.2.store.pool().write_oldest(DB, SIZE.frames);
        if self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(40) {
            self.2.store.log().flush_all()?;
        }
        Ok(())
    }
}

fn bytes(rng: &mut SeededRng) -> Vec<u8> {
    let most = [8, 60, 300, 3000][rng.random_range(0..4)];
    vec![rng.random(); rng.random_range(1..=most)]
}

/// Where a transaction works that fills the log.
struct Place {
    ground: Ground,
    relief: Arc<NoRelief>,
    tree: Tree,
    heap: Heap,
    rids: Vec<RowId>,
}

fn place(rng: &mut SeededRng, ground: Ground) -> Place {
    let relief = Arc::new(NoRelief::default());
    ground.store.set_relief(Arc::clone(&relief) as _);
    let (tree, heap) = (ground.tree(7, Big::shape()), ground.heap(9, heap_shape()));
    let (mut txn, mut rids) = (ground.begin(), Vec::new());
    for id in 0..200 {
        let by = &mut By::Txn(&mut txn);
        let row = Big::row(&id, &bytes(rng));
        tree.insert(by, &Big::key(&id), &row).unwrap();
        let rid = heap.insert(by, &heap_row(&bytes(rng)), &mut |_| true);
        rids.push(rid.unwrap());
    }
    txn.commit().unwrap();
    ground.checkpoint();
    Place {
        ground,
        relief,
        tree,
        heap,
        rids,
    }
}

impl Place {
    /// One operation; with `loads` rows are loaded in bulk, too, behind `next`.
    fn step(
        &self,
        txn: &mut Transaction,
        rng: &mut SeededRng,
        loads: Option<&mut i64>,
    ) -> Result<(), AccessError> {
        let by = &mut By::Txn(txn);
        let id = rng.random_range(0..400);
        let (key, row) = (Big::key(&id), Big::row(&id, &bytes(rng)));
        let done = match (rng.random_range(0..10), loads) {
            (0..3, _) => self.tree.insert(by, &key, &row),
            (3..5, _) => self.tree.update(by, &key, &row),
            (5, _) => self.tree.delete(by, &key),
            (6, Some(next)) => {
                let mut batch = RowBatch::new();
                for _ in 0..rng.random_range(1..200) {
                    *next += 1;
                    let row = Big::row(next, &bytes(rng));
                    let add = |out: &mut Vec<u8>| -> Result<(), AccessError> {
                        out.extend_from_slice(&row);
                        Ok(())
                    };
                    batch.push_with(add)?;
                }
                self.tree.append_batch(by, &batch).map(|_| ())
            }
            (6..8, _) => {
                let row = heap_row(&bytes(rng));
                self.heap.insert(by, &row, &mut |_| true).map(|_| ())
            }
            _ => {
                let rid = self.rids[rng.random_range(0..self.rids.len())];
                self.heap.update(by, rid, &heap_row(&bytes(rng)))
            }
        };
        match done {
            Err(AccessError::NotFound | AccessError::DuplicateKey { .. }) => Ok(()),
            other => other,
        }
    }

    fn rows(&self) -> (Vec<Vec<u8>>, BTreeMap<RowId, Vec<u8>>) {
        let rows = all_rows(&self.tree, Direction::Forward);
        (rows, all_heap_rows(&self.heap))
    }
}

/// A transaction that has filled the log.
fn filled(place: &Place, rng: &mut SeededRng) -> Transaction {
    let mut txn = place.ground.begin();
    let mut next = rng.random_ratio(1, 3).then_some(1_000_000);
    let full = loop {
        if let Err(error) = place.step(&mut txn, rng, next.as_mut()) {
            break error;
        }
    };
    assert!(full.to_string().contains("log is full"), "{full}");
    txn
}

fn fills_the_log(seed: u64, ground: Ground) {
    let rng = &mut seeded(seed);
    let place = place(rng, ground);
    let before = place.rows();
    let ground = &place.ground;
    let txn = filled(&place, rng);
    // Another user of the log takes what is left, to the last byte.
    let log = ground.store.log();
    let mut taken = 0;
    for bytes in [4096, 64, 1] {
        while log.promise(bytes).is_ok() {
            taken += bytes;
        }
    }
    let asked = place.relief.0.load(Ordering::Relaxed);
    let structures = Structures {
        trees: &[&place.tree],
        heaps: &[&place.heap],
    };
    let undo = WithFlushes(structures, AtomicU64::new(0), ground);
    txn.rollback(&undo).unwrap();
    let since = place.relief.0.load(Ordering::Relaxed) - asked;
    assert_eq!(since, 0, "log space was asked for");
    log.give_back(taken);
    assert_eq!(place.rows(), before);
    let audit = place.tree.audit().unwrap();
    ground.check_pages(&place.tree, &audit);
    assert_eq!(log.usage().promised_bytes, 0);
}

/// The same, but the power fails before the rollback, and the restart does it.
fn fills_the_log_and_restarts(seed: u64) {
    let rng = &mut seeded(seed);
    let place = place(rng, Ground::alone(SIZE, LOG_BYTES));
    let before = place.rows();
    std::mem::forget(filled(&place, rng));
    let entry = Entry {
        number: 7,
        first_iam: place.tree.unit().first_iam(),
        root: place.tree.root(),
        shape: Big::shape(),
    };
    let heap = HeapEntry {
        number: 9,
        first_iam: place.heap.unit().first_iam(),
        shape: heap_shape(),
    };
    let images = place.ground.data_images();
    drop((place.tree, place.heap));
    let (ground, trees, heaps) = place.ground.crash(&images, &[entry], &[heap]);
    assert_eq!(all_rows(&trees[0], Direction::Forward), before.0);
    assert_eq!(all_heap_rows(&heaps[0]), before.1);
    let audit = trees[0].audit().unwrap();
    ground.check_pages(&trees[0], &audit);
}

fn seeds() -> impl Iterator<Item = u64> {
    let seed = test_seed();
    (seed..seed + 10).inspect(|seed| println!("FURROW_SEED={seed}"))
}

#[test]
fn a_rollback_in_a_full_log_asks_for_nothing_and_ends() {
    for seed in seeds() {
        fills_the_log(seed, Ground::alone(SIZE, LOG_BYTES));
    }
}

#[test]
fn so_it_does_while_a_lazy_writer_of_its_own_writes_pages() {
    for seed in seeds() {
        fills_the_log(seed, Ground::with_log(SIZE, LOG_BYTES));
    }
}

#[test]
fn a_restart_in_a_full_log_rolls_back_with_what_was_promised() {
    for seed in seeds() {
        fills_the_log_and_restarts(seed);
    }
}
