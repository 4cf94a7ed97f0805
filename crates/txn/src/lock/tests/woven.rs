//! The lock manager under drawn schedules (`furrow_io::weave`): grants, waits, detection, kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use furrow_format::{Lsn, ObjectId, TxnId};
use furrow_io::sync::Mutex;
use furrow_io::time::Moment;
use furrow_io::weave::{explore, together};

use super::super::LockMode::{self, *};
use super::super::{Isolation, LockConfig, LockError, LockManager, LockOwner, Timeout, Watch};
use super::witness::{KEEPER, KEPT, Objects, look};
use super::{Dice, check, is_empty, key, owner, table};

const SCHEDULES: u64 = 2_000;
const KEYS: u64 = 3;
/// Sleepers look for deadlocks so late that only the walk of a new waiter can find one in time.
const NEVER: Duration = Duration::from_secs(1_000_000);

/// The owners inside, counted by themselves: 1 for a reader, 2^32 for a writer.
#[derive(Default)]
struct Room {
    keys: [AtomicI64; KEYS as usize],
    commits: AtomicU64,
    victims: AtomicU64,
}

impl Room {
    fn enter(&self, n: u64, mode: LockMode) -> i64 {
        let step = if mode == X { 1 << 32 } else { 1 };
        let before = self.keys[n as usize].fetch_add(step, Ordering::SeqCst);
        let alone = before == 0 || (mode != X && before < 1 << 32);
        assert!(alone, "key {n}: {before:x} inside when {mode:?} came");
        step
    }

    /// One transaction: each key once, in order or not, readers before they write.
    fn transaction(&self, manager: &LockManager, me: &LockOwner, ordered: bool, dice: &mut Dice) {
        let mut inside: Vec<(u64, i64)> = Vec::new();
        let mut ok = manager.lock(me, table(1), IX, Timeout::Forever).is_ok();
        let first = dice.below(KEYS);
        let keys = (0..KEYS).map(|n| if ordered { n } else { (n + first) % KEYS });
        for n in keys.filter(|_| dice.below(4) > 0).collect::<Vec<_>>() {
            let mode = if ordered {
                [S, X][dice.below(2) as usize]
            } else {
                [S, U, X][dice.below(3) as usize]
            };
            let taken = match dice.below(2) {
                0 => manager.lock_at_once(me, ObjectId(1), key(n), mode),
                _ => Ok(None),
            };
            let granted = match taken {
                Ok(Some(granted)) => Ok(granted),
                Ok(None) => manager.lock(me, key(n), mode, Timeout::Forever),
                Err(error) => Err(error),
            };
            match granted {
                Ok(_) => inside.push((n, self.enter(n, mode))),
                Err(LockError::Deadlock { .. } | LockError::Cancelled) => ok = false,
                Err(other) => panic!("{other:?}"),
            }
            if !ok {
                break;
            }
        }
        for (n, step) in inside {
            self.keys[n as usize].fetch_sub(step, Ordering::SeqCst);
        }
        manager.release_all(me);
        let counter = if ok { &self.commits } else { &self.victims };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// Sessions that lock side by side; commits and victims.
fn sessions(seed: u64, ordered: bool, manager: &Arc<LockManager>, kills: bool) -> (u64, u64) {
    const EACH: u64 = 2;
    let room = Arc::new(Room::default());
    let began = Moment::now();
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for n in 0..3 {
        let (manager, room) = (Arc::clone(manager), Arc::clone(&room));
        let me = owner(&manager, 51 + n as i32);
        let mut dice = Dice::seeded(seed ^ n << 48);
        if kills && n == 0 {
            let canceller = me.canceller();
            bodies.push(Box::new(move || canceller.cancel()));
        }
        bodies.push(Box::new(move || {
            for round in 0..EACH {
                me.begin(TxnId(n << 32 | round), Isolation::ReadCommitted);
                room.transaction(&manager, &me, ordered, &mut dice);
            }
        }));
    }
    together(bodies);
    check(manager);
    assert!(is_empty(manager));
    assert!(
        began.elapsed() < NEVER,
        "a deadlock was found only by a sleeper"
    );
    let (commits, victims) = (
        room.commits.load(Ordering::SeqCst),
        room.victims.load(Ordering::SeqCst),
    );
    assert_eq!(commits + victims, 3 * EACH);
    (commits, victims)
}

fn config() -> LockConfig {
    LockConfig {
        shards: 2,
        first_probe: NEVER,
        longest_probe: NEVER,
        ..LockConfig::default()
    }
}

#[test]
fn woven_sessions_in_one_order_have_no_victims() {
    explore("locks in one order", SCHEDULES, |seed| {
        let report = |report: &_| panic!("a false deadlock:\n{report}");
        let manager = Arc::new(LockManager::new(config(), report));
        assert_eq!(sessions(seed, true, &manager, false).1, 0);
    });
}

#[test]
fn woven_deadlocks_are_found_by_who_closes_them() {
    explore("locks in any order", SCHEDULES, |seed| {
        let manager = Arc::new(LockManager::new(config(), |report| {
            assert!(report.victim().is_some() && report.processes.len() > 1);
        }));
        let (_, victims) = sessions(seed, false, &manager, false);
        assert_eq!(manager.stats().deadlocks, victims);
    });
}

#[test]
fn woven_kills_leave_nothing_behind() {
    explore("locks and a kill", SCHEDULES, |seed| {
        let manager = Arc::new(LockManager::new(config(), |_| {}));
        sessions(seed, false, &manager, true);
    });
}

#[test]
fn woven_weak_grants_meet_strong_requests() {
    explore("weak against strong", SCHEDULES, |seed| {
        let manager = Arc::new(LockManager::new(config(), |_| {}));
        let objects = Arc::new(Objects::default());
        let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        for n in 0..3 {
            let (manager, objects) = (Arc::clone(&manager), Arc::clone(&objects));
            let mut dice = Dice::seeded(seed ^ n << 48);
            bodies.push(Box::new(move || {
                let me = owner(&manager, 51 + n as i32);
                for round in 0..2 {
                    me.begin(TxnId(n << 32 | round), Isolation::ReadCommitted);
                    let bounds = (3, Timeout::Forever);
                    objects.transaction(&manager, &me, bounds, &mut dice);
                }
            }));
        }
        together(bodies);
        assert!(is_empty(&manager));
    });
}

#[test]
fn woven_views_show_a_lock_that_moves_once() {
    explore("views of locks that move", SCHEDULES, |_| {
        let manager = Arc::new(LockManager::new(config(), |_| {}));
        let keeper = owner(&manager, KEEPER);
        manager
            .lock(&keeper, table(KEPT), IS, Timeout::Forever)
            .unwrap();
        let mover = {
            let manager = Arc::clone(&manager);
            move || {
                let me = owner(&manager, 51);
                for mode in [SchM, S] {
                    drop(manager.lock(&me, table(KEPT), mode, Timeout::NoWait));
                }
            }
        };
        let viewer = {
            let manager = Arc::clone(&manager);
            move || look(&manager)
        };
        together(vec![Box::new(mover), Box::new(viewer)]);
        drop(keeper);
        assert!(is_empty(&manager));
    });
}

#[test]
fn woven_readers_of_whole_pages_see_nothing_that_is_not_committed() {
    explore("readers of whole pages", SCHEDULES, |_| {
        let manager = Arc::new(LockManager::new(config(), |_| {}));
        // A page: whether an owner has changed it and has not committed.
        let page = Arc::new(Mutex::new(false));
        let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        for session in [51, 52] {
            let (manager, page) = (Arc::clone(&manager), Arc::clone(&page));
            bodies.push(Box::new(move || {
                let me = owner(&manager, session);
                for first in [IX, IS] {
                    drop(manager.lock(&me, table(1), first, Timeout::Forever));
                    drop(manager.lock(&me, table(1), IX, Timeout::Forever));
                    drop(manager.lock(&me, key(1), X, Timeout::Forever));
                    *page.lock() = true;
                    *page.lock() = false;
                    manager.release_all(&me);
                }
            }));
        }
        let mover = Arc::clone(&manager);
        bodies.push(Box::new(move || {
            let me = owner(&mover, 53);
            for mode in [S, X, S] {
                drop(mover.lock(&me, table(1), mode, Timeout::NoWait));
                mover.release_all(&me);
            }
        }));
        let (reader, read) = (Arc::clone(&manager), page);
        bodies.push(Box::new(move || {
            let me = owner(&reader, 54);
            let mut watch = Watch::new(table(1));
            for own in [None, Some(IS), Some(IX)] {
                if let Some(mode) = own {
                    drop(reader.lock(&me, table(1), mode, Timeout::Forever));
                }
                for _ in 0..3 {
                    let changed = read.lock();
                    let free = reader.is_unwritten(&me, &mut watch);
                    assert!(!(free && *changed), "what is not committed was read");
                }
            }
        }));
        together(bodies);
        assert!(is_empty(&manager));
    });
}

/// A row and a log: numbers of commits in place of both.
#[derive(Default)]
struct Ledger {
    /// The last commit, or the change under way, of the row.
    row: AtomicU64,
    tail: AtomicU64,
    durable: Mutex<u64>,
}

impl Ledger {
    fn flush_to(&self, lsn: u64) {
        let mut durable = self.durable.lock();
        *durable = lsn.max(*durable);
    }

    fn is_durable(&self, lsn: u64) -> bool {
        lsn <= *self.durable.lock()
    }

    fn write(&self, manager: &LockManager, me: &LockOwner, dice: &mut Dice) {
        if dice.below(2) == 0 {
            drop(manager.lock(me, key(1), U, Timeout::Forever));
        }
        let taken = manager.lock_at_once(me, ObjectId(1), key(1), X);
        if taken.unwrap().is_none() {
            drop(manager.lock(me, key(1), X, Timeout::Forever));
        }
        let before = self.row.load(Ordering::SeqCst);
        let followed = me.followed().map_or(0, |lsn| lsn.0);
        assert!(
            before <= followed || self.is_durable(before),
            "commit {before} is followed or durable"
        );
        if dice.below(3) == 0 {
            // A rollback: what is restored was durable before.
            self.row.store(u64::MAX, Ordering::SeqCst);
            self.flush_to(followed);
            self.row.store(before, Ordering::SeqCst);
        } else {
            let lsn = self.tail.fetch_add(1, Ordering::SeqCst) + 1;
            self.row.store(lsn, Ordering::SeqCst);
            manager.leave(me, Lsn(lsn));
            self.flush_to(lsn);
        }
        manager.release_all(me);
    }

    fn read(&self, manager: &LockManager, me: &LockOwner) {
        let taken = manager.lock_at_once(me, ObjectId(1), key(1), S);
        if taken.unwrap().is_none() {
            drop(manager.lock(me, key(1), S, Timeout::Forever));
        }
        let seen = self.row.load(Ordering::SeqCst);
        assert!(self.is_durable(seen), "commit {seen} was read too early");
        assert_eq!(me.followed(), None, "readers follow no commit");
        manager.release_all(me);
    }
}

#[test]
fn woven_writers_pass_owners_that_leave_and_readers_do_not() {
    explore("owners that leave", SCHEDULES, |seed| {
        let report = |report: &_| panic!("a false deadlock:\n{report}");
        let manager = Arc::new(LockManager::new(config(), report));
        let ledger = Arc::new(Ledger::default());
        let began = Moment::now();
        let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        for n in 0..4 {
            let (manager, ledger) = (Arc::clone(&manager), Arc::clone(&ledger));
            let mut dice = Dice::seeded(seed ^ n << 48);
            bodies.push(Box::new(move || {
                let me = owner(&manager, 51 + n as i32);
                for round in 0..2 {
                    me.begin(TxnId(n << 32 | round), Isolation::ReadCommitted);
                    match n {
                        3 => ledger.read(&manager, &me),
                        _ => ledger.write(&manager, &me, &mut dice),
                    }
                }
            }));
        }
        together(bodies);
        assert!(is_empty(&manager));
        assert!(began.elapsed() < NEVER, "no request waits for a sleeper");
    });
}
