//! Tests of the lock manager, one behaviour a file.

mod cost;
mod deadlocks;
mod early;
mod escalation;
mod held;
mod queue;
mod ranges;
mod resources;
mod stress;
mod tables;
mod waits;
mod weak;
mod witness;
mod woven;

use std::time::Duration;

use furrow_format::{DatabaseId, ObjectId, RowsetId, TxnId};
use furrow_io::random::{self, RngCore, SeededRng};
use furrow_io::time::{Moment, sleep};

use super::{Isolation, LockManager, LockOwner, LockStatus, Resource};

/// Random choices that a seed replays.
struct Dice(SeededRng);

impl Dice {
    /// Seeded by FURROW_SEED or at random; the seed is printed.
    fn new(test: &str) -> Dice {
        let seed = random::test_seed();
        println!("{test}: FURROW_SEED={seed}");
        Dice::seeded(seed)
    }

    fn seeded(seed: u64) -> Dice {
        Dice(random::seeded(seed))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

fn key(n: u64) -> Resource {
    Resource::key(DatabaseId(1), RowsetId(72_057_594_037_927_936), n)
}

fn table(n: i32) -> Resource {
    Resource::Object(DatabaseId(1), ObjectId(n))
}

/// An owner whose session is `session` and whose transaction has the same number.
fn owner(manager: &LockManager, session: i32) -> LockOwner {
    let owner = manager.owner(session);
    owner.begin(TxnId(session as u64), Isolation::ReadCommitted);
    owner
}

/// A lock manager, and owners of the sessions 51, 52 and so on.
fn parties<const COUNT: usize>() -> (LockManager, [LockOwner; COUNT]) {
    let manager = LockManager::default();
    let owners = std::array::from_fn(|n| owner(&manager, 51 + n as i32));
    (manager, owners)
}

/// Waits for `done`; ten seconds are a failure.
fn eventually(what: &str, done: impl Fn() -> bool) {
    let began = Moment::now();
    while !done() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "never came: {what}"
        );
        sleep(Duration::from_millis(1));
    }
}

/// Waits until `session` is queued for `resource`.
fn queued(manager: &LockManager, session: i32, resource: Resource) {
    eventually("the session is queued", || {
        manager.snapshot().iter().any(|row| {
            row.session_id == session && row.resource == resource && row.status != LockStatus::Grant
        })
    });
}

/// Every shard holds its invariants, and what owners have noted goes with it.
fn check(manager: &LockManager) {
    let shards = manager.table.all_shards();
    for shard in &shards {
        shard.check();
    }
    manager.table.check_notes(&shards);
}

/// Whether nothing is locked and no owner waits.
fn is_empty(manager: &LockManager) -> bool {
    check(manager);
    let stats = manager.stats();
    let counted = manager.table.strong.sum() + manager.table.writers.sum();
    stats.locks == 0 && stats.resources == 0 && counted == 0
}
