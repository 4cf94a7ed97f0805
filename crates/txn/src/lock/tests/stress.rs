//! Many threads: no conflicting grants, no thread that hangs, no victim without a cycle, no lock left.

use furrow_io::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use furrow_format::{ObjectId, TxnId};
use furrow_io::random::test_seed;
use furrow_io::thread::{scope, yield_now};
use furrow_io::time::Moment;

use super::super::LockMode::{self, *};
use super::super::{Isolation, LockConfig, LockError, LockManager, LockOwner, Timeout};
use super::{Dice, check, is_empty, key, owner, table};

const THREADS: u64 = 32;
const KEYS: u64 = 24;

fn taken_at_once(manager: &LockManager, me: &LockOwner, n: u64, mode: LockMode) -> bool {
    let taken = manager.lock_at_once(me, ObjectId(1), key(n), mode);
    taken.unwrap().is_some()
}

/// For each key, how many readers and writers are inside, counted by themselves: independent of the manager.
struct Witness([AtomicI64; KEYS as usize]);

impl Witness {
    const WRITER: i64 = 1 << 32;

    fn new() -> Witness {
        Witness([const { AtomicI64::new(0) }; KEYS as usize])
    }

    fn enter(&self, n: u64, exclusive: bool) {
        let step = if exclusive { Self::WRITER } else { 1 };
        let before = self.0[n as usize].fetch_add(step, Ordering::SeqCst);
        let alone = before == 0 || (!exclusive && before < Self::WRITER);
        assert!(alone, "key {n}: {before:x} inside when {step:x} came");
    }

    fn leave(&self, n: u64, exclusive: bool) {
        let step = if exclusive { Self::WRITER } else { 1 };
        self.0[n as usize].fetch_sub(step, Ordering::SeqCst);
    }
}

struct Load<'a> {
    manager: &'a LockManager,
    witness: &'a Witness,
    ordered: bool,
    victims: &'a AtomicU64,
    commits: &'a AtomicU64,
}

impl Load<'_> {
    /// One transaction of a few keys. `false`: it was a victim.
    fn transaction(&self, me: &LockOwner, dice: &mut Dice) -> bool {
        let intent = if dice.below(2) == 0 { IS } else { IX };
        let mut ok = self
            .manager
            .lock(me, table(1), intent, Timeout::Forever)
            .is_ok();
        let mut keys: Vec<u64> = (0..=dice.below(5)).map(|_| dice.below(KEYS)).collect();
        if self.ordered {
            keys.sort_unstable();
        }
        keys.dedup();
        let mut inside: Vec<(u64, bool)> = Vec::new();
        for n in keys {
            let mode = [S, S, U, X][dice.below(4) as usize];
            let at_once = dice.below(2) == 0 && taken_at_once(self.manager, me, n, mode);
            ok = ok && (at_once || self.lock(me, n, mode));
            if !ok {
                break;
            }
            let exclusive = me.held(&key(n)) == Some(X);
            if !inside.iter().any(|&(known, _)| known == n) {
                self.witness.enter(n, exclusive);
                inside.push((n, exclusive));
            }
            if dice.below(8) == 0 {
                yield_now();
            }
        }
        for (n, exclusive) in inside {
            self.witness.leave(n, exclusive);
        }
        self.manager.release_all(me);
        let counter = if ok { self.commits } else { self.victims };
        counter.fetch_add(1, Ordering::Relaxed);
        ok
    }

    fn lock(&self, me: &LockOwner, n: u64, mode: LockMode) -> bool {
        match self.manager.lock(me, key(n), mode, Timeout::Forever) {
            Ok(_) => true,
            Err(LockError::Deadlock { .. }) => false,
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Runs `each` transactions on every thread; gives commits and victims.
fn run(manager: &LockManager, ordered: bool, each: u64) -> (u64, u64) {
    let seed = test_seed();
    println!("lock stress, ordered={ordered}: FURROW_SEED={seed}");
    let witness = Witness::new();
    let (victims, commits) = (AtomicU64::new(0), AtomicU64::new(0));
    let load = Load {
        manager,
        witness: &witness,
        ordered,
        victims: &victims,
        commits: &commits,
    };
    scope(|s| {
        for thread in 0..THREADS {
            let load = &load;
            s.spawn(move || {
                let mut dice = Dice::seeded(seed.wrapping_add(thread));
                let me = owner(manager, 51 + thread as i32);
                for n in 0..each {
                    me.begin(TxnId(thread << 32 | n), Isolation::ReadCommitted);
                    load.transaction(&me, &mut dice);
                    if n % 64 == 0 {
                        check(manager);
                    }
                }
            });
        }
    });
    assert!(is_empty(manager));
    (commits.into_inner(), victims.into_inner())
}

#[test]
fn ordered_locking_never_has_a_victim() {
    let manager = LockManager::new(
        LockConfig {
            first_probe: Duration::from_micros(200),
            ..LockConfig::default()
        },
        |report| panic!("a false deadlock:\n{report}"),
    );
    let (commits, victims) = run(&manager, true, 400);
    assert_eq!((commits, victims), (THREADS * 400, 0));
    assert!(
        manager.stats().waits > 0,
        "nobody ever waited: the test tests nothing"
    );
}

#[test]
fn unordered_locking_always_finds_its_victims_and_goes_on() {
    let manager = LockManager::default();
    let began = Moment::now();
    let (commits, victims) = run(&manager, false, 150);
    assert_eq!(commits + victims, THREADS * 150);
    assert!(victims > 0, "no deadlock: the test tests nothing");
    assert!(
        commits > THREADS * 15,
        "only {commits} of {} came through",
        THREADS * 150
    );
    assert_eq!(manager.stats().deadlocks, victims);
    assert!(
        began.elapsed() < Duration::from_secs(120),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn time_outs_and_kills_amid_the_stress_leave_nothing_behind() {
    let manager = LockManager::new(
        LockConfig {
            shards: 2,
            ..LockConfig::default()
        },
        |_| {},
    );
    let seed = test_seed();
    println!("lock stress with kills: FURROW_SEED={seed}");
    let owners: Vec<_> = (0..16).map(|n| owner(&manager, 51 + n)).collect();
    let done = AtomicU64::new(0);
    scope(|s| {
        for (n, me) in owners.iter().enumerate() {
            let (manager, done) = (&manager, &done);
            s.spawn(move || {
                let mut dice = Dice::seeded(seed.wrapping_add(n as u64));
                for _ in 0..300 {
                    me.begin(TxnId(1), Isolation::ReadCommitted);
                    for _ in 0..3 {
                        let mode = [S, U, X][dice.below(3) as usize];
                        let timeout = Timeout::Millis(dice.below(3) as u32);
                        let row = key(dice.below(4));
                        let result = match dice.below(3) {
                            0 => manager.lock_instant(me, row, mode, timeout),
                            _ => manager.lock(me, row, mode, timeout).map(|_| ()),
                        };
                        match (result, dice.below(3)) {
                            (Err(_), _) => break,
                            (Ok(()), 0) => drop(manager.unlock(me, &row)),
                            (Ok(()), 1) => drop(manager.downgrade(me, &row, S)),
                            _ => {}
                        }
                    }
                    manager.release_all(me);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let mut dice = Dice::seeded(seed);
        while done.load(Ordering::Relaxed) < 16 {
            owners[dice.below(16) as usize].canceller().cancel();
            check(&manager);
            yield_now();
        }
    });
    assert!(is_empty(&manager));
}
