//! Weak locks of objects that their owners note, and strong ones that must take them into account.

use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::thread::scope;
use std::time::Duration;

use furrow_format::TxnId;

use super::super::LockMode::{self, *};
use super::super::notes::{NOTES, is_weak};
use super::super::{
    Granted, Isolation, LockConfig, LockError, LockManager, LockStatus, Timeout, Watch,
};
use super::witness::{KEEPER, KEPT, Objects, look};
use super::{Dice, check, is_empty, key, owner, parties, queued, table};

const NOW: Timeout = Timeout::NoWait;
/// Longer than anything here takes: an owner that waits so long was forgotten.
const LONG: Timeout = Timeout::Millis(20_000);

fn weak_modes() -> Vec<LockMode> {
    let weak = |mode: &LockMode| is_weak(&table(1), *mode);
    LockMode::ALL.into_iter().filter(weak).collect()
}

#[test]
fn any_two_weak_modes_go_together_and_joined_are_weak() {
    let weak = weak_modes();
    assert_eq!(weak, [SchS, IS, IU, IX]);
    for &a in &weak {
        for &b in &weak {
            assert!(a.compatible(b) && weak.contains(&a.supremum(b)), "{a} {b}");
        }
        for strong in LockMode::ALL {
            let joined = weak.contains(&a.supremum(strong));
            assert!(
                !joined || weak.contains(&strong),
                "{strong} hides behind {a}"
            );
        }
    }
    assert!(LockMode::ALL.iter().all(|mode| !is_weak(&key(1), *mode)));
}

#[test]
fn weak_locks_of_an_object_are_noted_and_show_in_the_views() {
    let (manager, [a, b]) = parties();
    assert_eq!(manager.lock(&a, table(1), IS, NOW).unwrap(), Granted::New);
    assert_eq!(
        manager.lock(&a, table(1), IX, NOW).unwrap(),
        Granted::Converted
    );
    assert_eq!(manager.lock(&a, table(1), IS, NOW).unwrap(), Granted::Held);
    manager.lock(&b, table(1), SchS, NOW).unwrap();
    manager.lock(&b, table(2), IU, NOW).unwrap();
    manager.lock(&b, key(1), X, NOW).unwrap();
    assert_eq!(manager.table.notes(), 3);
    assert_eq!((manager.stats().locks, manager.stats().resources), (4, 3));
    assert_eq!(manager.requests(), 5);
    let mut seen: Vec<_> = manager.snapshot().into_iter().collect();
    seen.sort_by_key(|row| (row.session_id, row.resource));
    let seen: Vec<_> = seen
        .iter()
        .map(|row| (row.session_id, row.resource, row.mode, row.status))
        .collect();
    let held = LockStatus::Grant;
    assert_eq!(
        seen,
        [
            (51, table(1), IX, held),
            (52, table(1), SchS, held),
            (52, table(2), IU, held),
            (52, key(1), X, held),
        ]
    );
    drop(a);
    manager.release_all(&b);
    assert!(is_empty(&manager));
    assert_eq!(
        manager.requests(),
        5,
        "those of an owner that is gone count"
    );
}

#[test]
fn a_strong_request_finds_the_notes_of_all_owners() {
    for (weak, strong, blocked) in [
        (IX, S, true),
        (IS, X, true),
        (SchS, SchM, true),
        (IX, BU, true),
        (IS, S, false),
        (SchS, X, false),
        (IU, U, true),
        (IS, SIX, false),
    ] {
        let (manager, [a, b, c]) = parties();
        manager.lock(&a, table(1), weak, NOW).unwrap();
        manager.lock(&b, table(1), weak, NOW).unwrap();
        manager.lock(&b, table(2), weak, NOW).unwrap();
        let got = manager.lock(&c, table(1), strong, NOW);
        assert_eq!(got.is_err(), blocked, "{strong} beside {weak}");
        assert_eq!(manager.try_instant(&c, table(1), strong), !blocked);
        assert_eq!(
            manager.table.notes(),
            1,
            "only that of the other object stays a note"
        );
        check(&manager);
        let rows = manager.snapshot();
        assert_eq!(rows.len(), 3 + usize::from(!blocked), "{rows:?}");
        // Where the strong one was refused it left nothing behind: notes are taken again.
        manager.release_all(&a);
        manager.lock(&a, table(1), weak, NOW).unwrap();
        assert_eq!(manager.table.notes(), 1 + usize::from(blocked));
        drop((a, b, c));
        assert!(is_empty(&manager));
    }
}

#[test]
fn a_strong_request_waits_for_who_holds_a_note_and_is_woken() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, table(1), IX, NOW).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, table(1), X, LONG).unwrap());
        queued(&manager, 52, table(1));
        // Weak ones queue behind it, and are not noted past it.
        assert!(manager.lock(&c, table(1), IS, NOW).is_err());
        // Its own stays what it was, and may be strengthened past owners that wait.
        assert_eq!(manager.lock(&a, table(1), IS, NOW).unwrap(), Granted::Held);
        manager.release_all(&a);
    });
    assert_eq!(b.held(&table(1)), Some(X));
    manager.release_all(&b);
    assert!(is_empty(&manager));
}

#[test]
fn who_strengthens_its_own_note_meets_the_notes_of_others() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, table(1), IS, NOW).unwrap();
    manager.lock(&b, table(1), IX, NOW).unwrap();
    assert!(manager.lock(&a, table(1), S, NOW).is_err());
    assert_eq!(a.held(&table(1)), Some(IS));
    manager.release_all(&b);
    assert_eq!(
        manager.lock(&a, table(1), S, NOW).unwrap(),
        Granted::Converted
    );
    assert_eq!(
        manager.lock(&a, table(1), IX, NOW).unwrap(),
        Granted::Converted
    );
    assert_eq!(a.held(&table(1)), Some(SIX));
    assert!(manager.lock(&b, table(1), IX, NOW).is_err());
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn two_that_hold_intents_and_both_want_the_table_are_a_deadlock() {
    let config = LockConfig {
        first_probe: Duration::from_secs(600),
        longest_probe: Duration::from_secs(600),
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let (a, b) = (owner(&manager, 51), owner(&manager, 52));
    manager.lock(&a, table(1), IX, NOW).unwrap();
    manager.lock(&b, table(1), IX, NOW).unwrap();
    scope(|s| {
        let first = s.spawn(|| {
            let got = manager.lock(&a, table(1), X, LONG);
            manager.release_all(&a);
            got
        });
        queued(&manager, 51, table(1));
        let second = manager.lock(&b, table(1), X, LONG);
        manager.release_all(&b);
        let victims = [first.join().unwrap(), second]
            .into_iter()
            .filter(|got| matches!(got, Err(LockError::Deadlock { .. })));
        assert_eq!(victims.count(), 1);
    });
    assert_eq!(manager.stats().deadlocks, 1);
    assert!(is_empty(&manager));
}

#[test]
fn notes_and_what_became_of_them_are_given_back_in_every_way() {
    for moved in [false, true] {
        let (manager, [a, b]) = parties();
        let disturb = || {
            if moved {
                let _refused = manager.lock(&b, table(1), X, NOW);
                let noted = manager.table.noted();
                assert!(noted.iter().all(|seen| seen.resource != table(1)));
            }
            check(&manager);
        };
        manager.lock(&a, table(1), IX, NOW).unwrap();
        disturb();
        assert!(manager.downgrade(&a, &table(1), IS));
        assert!(!manager.downgrade(&a, &table(1), IX));
        assert_eq!(manager.snapshot()[0].mode, IS);
        assert!(manager.unlock(&a, &table(1)) && !manager.unlock(&a, &table(1)));
        assert!(is_empty(&manager));

        let mark = manager.mark(&a);
        manager.lock(&a, table(1), IS, NOW).unwrap();
        disturb();
        manager.lock(&a, table(1), IX, NOW).unwrap();
        let after = manager.mark(&a);
        manager.release_to(&a, after);
        assert_eq!(a.held(&table(1)), Some(IX));
        assert!(!manager.unlock_taken(&a, &table(1), IS, mark..after));
        assert!(manager.unlock_taken(&a, &table(1), IX, mark..after));
        assert!(is_empty(&manager));

        manager.lock(&a, table(1), IS, NOW).unwrap();
        assert!(manager.lock_like(&a, &table(1), table(2)));
        disturb();
        assert!(manager.keep_for_session(&a, &table(1)));
        manager.release_all(&a);
        assert_eq!(manager.held_by(&a), [(table(1), IS)]);
        manager.release_session(&a);
        assert!(is_empty(&manager));

        manager.lock(&a, table(1), IS, NOW).unwrap();
        disturb();
        manager.lock_instant(&a, table(1), S, NOW).unwrap();
        manager.lock_instant(&a, table(1), IX, NOW).unwrap();
        assert!(manager.try_instant(&a, table(1), X));
        drop(a);
        assert!(is_empty(&manager));
    }
}

#[test]
fn who_reads_all_of_an_object_hears_of_each_intent_to_write_and_disturbs_nobody() {
    for own in [None, Some(IS), Some(IU), Some(IX)] {
        for other in weak_modes() {
            for moved in [false, true] {
                let (manager, [a, b, c]) = parties();
                manager.lock(&c, table(1), IS, NOW).unwrap();
                manager.lock(&b, table(1), other, NOW).unwrap();
                if moved {
                    manager.try_instant(&a, table(1), S);
                }
                let others = manager.table.notes();
                if let Some(mode) = own {
                    manager.lock(&a, table(1), mode, NOW).unwrap();
                }
                let free = manager.is_unwritten(&a, &mut Watch::new(table(1)));
                assert_eq!(free, other != IX, "{own:?} beside {other}, moved: {moved}");
                let mine = own.is_some_and(|own| own != IX);
                assert_eq!(manager.table.notes(), others + usize::from(mine));
                check(&manager);
                manager.release_all(&b);
                assert!(manager.is_unwritten(&a, &mut Watch::new(table(1))));
                drop((a, b, c));
                assert!(is_empty(&manager));
            }
        }
    }
}

#[test]
fn a_reader_that_looks_again_hears_of_writers_that_came_to_a_shard() {
    for held in [None, Some(IS)] {
        let (manager, [a, b, _c]) = parties();
        // More locks than an owner notes: the next go to the shards.
        for other in 0..NOTES as i32 {
            manager.lock(&b, table(100 + other), IS, NOW).unwrap();
        }
        if let Some(mode) = held {
            manager.lock(&b, table(1), mode, NOW).unwrap();
        }
        let mut watch = Watch::new(table(1));
        assert!(manager.is_unwritten(&a, &mut watch));
        manager.lock(&b, table(1), IX, NOW).unwrap();
        assert!(!manager.is_unwritten(&a, &mut watch), "{held:?}");
        manager.release_all(&b);
        assert!(manager.is_unwritten(&a, &mut watch));
    }
}

#[test]
fn a_reader_that_looks_again_hears_of_a_writer_that_waited_meanwhile() {
    for held in [None, Some(IS)] {
        let (manager, [a, b, c]) = parties();
        if let Some(mode) = held {
            manager.lock(&b, table(1), mode, NOW).unwrap();
        }
        manager.lock(&c, table(1), S, NOW).unwrap();
        let mut watches = [&a, &c].map(|reader| (reader, Watch::new(table(1))));
        scope(|s| {
            s.spawn(|| manager.lock(&b, table(1), IX, LONG).unwrap());
            queued(&manager, 52, table(1));
            for (reader, watch) in &mut watches {
                manager.is_unwritten(reader, watch);
            }
            manager.release_all(&c);
        });
        for (reader, watch) in &mut watches {
            assert!(!manager.is_unwritten(reader, watch), "{held:?}");
        }
    }
}

#[test]
fn each_way_in_which_an_intent_to_write_comes_and_goes_is_counted() {
    let (manager, [a, b]) = parties();
    let writers = || manager.table.writers.sum();
    manager.lock(&a, table(1), IS, NOW).unwrap();
    assert_eq!(writers(), 0);
    manager.lock(&a, table(1), IX, NOW).unwrap();
    manager.lock(&b, table(1), IX, NOW).unwrap();
    assert_eq!(writers(), 2, "taken, and strengthened to");
    manager.release_all(&b);
    assert_eq!(writers(), 1, "given back");
    assert!(manager.lock(&b, table(1), S, NOW).is_err());
    assert_eq!(writers(), 0, "moved");
    manager.lock(&a, table(2), IX, NOW).unwrap();
    assert!(manager.downgrade(&a, &table(2), IS));
    assert_eq!(writers(), 0, "weakened, which the shard does");
    manager.lock(&a, table(3), IX, NOW).unwrap();
    manager.lock(&a, table(3), X, NOW).unwrap();
    assert_eq!(writers(), 0, "strengthened");
    assert!(
        !manager.is_unwritten(&b, &mut Watch::new(table(3)))
            && manager.is_unwritten(&b, &mut Watch::new(table(2)))
    );
    drop((a, b));
    assert!(is_empty(&manager));
}

#[test]
fn every_end_of_a_strong_request_is_counted_out() {
    let (manager, [a, b]) = parties();
    let strong = || manager.table.strong.sum();
    manager.lock(&a, table(1), IX, NOW).unwrap();
    manager.lock(&b, table(2), X, NOW).unwrap();
    manager.lock(&b, table(2), SchM, NOW).unwrap();
    assert_eq!(
        strong(),
        1,
        "once for a lock, however often it is strengthened"
    );
    assert!(manager.lock(&b, table(1), X, NOW).is_err());
    let short = Timeout::Millis(1);
    assert!(manager.lock(&b, table(1), X, short).is_err());
    assert!(manager.lock_instant(&b, table(1), X, short).is_err());
    assert!(!manager.try_instant(&b, table(1), X));
    b.canceller().cancel();
    let killed = manager.lock(&b, table(1), X, LONG);
    assert!(matches!(killed, Err(LockError::Cancelled)));
    b.rearm();
    assert_eq!(strong(), 1);
    assert!(manager.downgrade(&b, &table(2), X));
    assert_eq!(strong(), 1);
    assert!(manager.downgrade(&b, &table(2), IX));
    assert_eq!(strong(), 0);
    manager.lock(&b, table(2), S, NOW).unwrap();
    manager.lock_instant(&b, table(2), X, NOW).unwrap();
    assert_eq!((b.held(&table(2)), strong()), (Some(SIX), 1));
    drop(b);
    assert_eq!(strong(), 0);
    drop(a);
    assert!(is_empty(&manager));
}

#[test]
fn a_full_lock_table_refuses_the_strong_and_keeps_the_weak() {
    let config = LockConfig {
        shards: 1,
        max_locks: 2,
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let owners: Vec<_> = (0..4).map(|n| owner(&manager, 51 + n)).collect();
    for me in &owners {
        manager.lock(me, table(1), IS, NOW).unwrap();
    }
    assert_eq!(manager.stats().locks, 4);
    let me = owner(&manager, 60);
    let refused = manager.lock(&me, table(1), S, NOW);
    assert!(matches!(refused, Err(LockError::OutOfLocks)));
    assert_eq!((manager.stats().locks, manager.table.strong.sum()), (4, 0));
    check(&manager);
    drop(owners);
    manager.lock(&me, table(1), S, NOW).unwrap();
    drop(me);
    assert!(is_empty(&manager));
}

#[test]
fn more_objects_than_can_be_noted_go_to_the_lock_table() {
    let (manager, [a, b]) = parties();
    for n in 0..100 {
        manager.lock(&a, table(n), IX, NOW).unwrap();
    }
    assert!(manager.table.notes() < 100);
    assert_eq!(
        (manager.stats().locks, manager.stats().resources),
        (100, 100)
    );
    assert_eq!((manager.snapshot().len(), manager.requests()), (100, 100));
    for n in 0..100 {
        assert!(manager.lock(&b, table(n), S, NOW).is_err());
    }
    assert_eq!((manager.stats().locks, manager.table.notes()), (100, 0));
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

/// Counts a thread's end, also by a panic, so that no other thread waits for ever.
struct End<'a>(&'a AtomicU64);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn many_threads_never_hold_what_conflicts() {
    const THREADS: u64 = 16;
    let config = LockConfig {
        shards: 2,
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let seed = furrow_io::random::test_seed();
    println!("weak and strong: FURROW_SEED={seed}");
    let objects = Objects::default();
    let (ends, done) = (AtomicU64::new(0), AtomicU64::new(0));
    scope(|s| {
        for n in 0..THREADS {
            let (manager, objects, ends, done) = (&manager, &objects, &ends, &done);
            s.spawn(move || {
                let _end = End(done);
                let mut dice = Dice::seeded(seed.wrapping_add(n));
                for round in 0..300 {
                    let me = owner(manager, 51 + n as i32);
                    me.begin(TxnId(round), Isolation::ReadCommitted);
                    let bounds = (1 + dice.below(6), LONG);
                    let all = objects.transaction(manager, &me, bounds, &mut dice);
                    ends.fetch_add(u64::from(all), Ordering::Relaxed);
                }
            });
        }
        s.spawn(|| {
            // What is looked for is moved at any moment.
            let mover = owner(&manager, 49);
            while done.load(Ordering::Relaxed) < THREADS {
                drop(manager.lock(&mover, table(KEPT), S, NOW));
                manager.release_all(&mover);
            }
        });
        let keeper = owner(&manager, KEEPER);
        while done.load(Ordering::Relaxed) < THREADS {
            manager.lock(&keeper, table(KEPT), IS, LONG).unwrap();
            look(&manager);
            manager.release_all(&keeper);
        }
    });
    assert!(ends.into_inner() > THREADS * 30, "hardly any came through");
    assert!(is_empty(&manager));
}
