//! The schedules find the faults that are there, and none where there is none.

use super::{together, try_explore};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use crate::sync::{Condvar, Mutex, RwLock, futex};
use crate::thread::{scope, spawn_scoped, yield_now};
use crate::time::{Duration, Moment, sleep};
use std::sync::Arc;

fn twice(body: impl Fn() + Send + Sync + 'static) {
    let body = Arc::new(body);
    let one = |body: &Arc<_>| -> Box<dyn FnOnce() + Send> {
        let body: Arc<dyn Fn() + Send + Sync> = Arc::<_>::clone(body);
        Box::new(move || body())
    };
    let body: Arc<dyn Fn() + Send + Sync> = body;
    together(vec![one(&body), one(&body)]);
}

fn finding(body: impl Fn(u64) + Send + Sync + 'static) -> String {
    try_explore(1, 200, body).unwrap_err().text
}

#[test]
fn an_update_between_a_load_and_a_store_is_lost_under_some_schedule() {
    let text = finding(|_| {
        let cell = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&cell);
        twice(move || {
            let seen = shared.load(SeqCst);
            shared.store(seen + 1, SeqCst);
        });
        assert_eq!(cell.load(SeqCst), 2, "one was lost");
    });
    assert!(text.contains("one was lost"), "{text}");
}

#[test]
fn locks_taken_in_two_orders_end_in_a_standstill() {
    let text = finding(|_| {
        let locks = Arc::new((Mutex::new(0), RwLock::new(0)));
        let (one, other) = (Arc::clone(&locks), locks);
        together(vec![
            Box::new(move || drop((one.0.lock(), one.1.write()))),
            Box::new(move || drop((other.1.read(), other.0.lock()))),
        ]);
    });
    assert!(text.contains("all wait"), "{text}");
}

#[test]
fn a_wake_up_before_the_sleep_is_missed_under_some_schedule() {
    let text = finding(|_| {
        let bell = Arc::new((Mutex::new(false), Condvar::new()));
        let (ringer, sleeper) = (Arc::clone(&bell), bell);
        together(vec![
            Box::new(move || {
                *ringer.0.lock() = true;
                ringer.1.notify_one();
            }),
            Box::new(move || {
                let rung = *sleeper.0.lock();
                if !rung {
                    sleeper.1.wait(&mut sleeper.0.lock());
                }
            }),
        ]);
    });
    assert!(text.contains("all wait"), "{text}");
}

#[test]
fn sound_code_passes_every_schedule_and_a_seed_decides_it() {
    let body = |_| {
        let count = Arc::new(Mutex::new(0));
        let event = Arc::new(AtomicU32::new(0));
        let (add, rung) = (Arc::clone(&count), Arc::clone(&event));
        twice(move || {
            *add.lock() += 1;
            rung.fetch_add(1, SeqCst);
            futex::wake_all(&rung);
            while rung.load(SeqCst) < 2 {
                futex::wait(&rung, 1);
            }
            yield_now();
        });
        scope(|s| {
            spawn_scoped(s, "third", || {
                let before = Moment::now();
                sleep(Duration::from_secs(3600));
                assert!(before.elapsed() >= Duration::from_secs(3600));
            })
            .unwrap();
        });
        assert_eq!(*count.lock(), 2);
    };
    let tried = try_explore(7, 300, body).unwrap();
    assert_eq!(tried.schedules, 300);
    assert!(tried.distinct > 30, "{tried:?}");
    assert_eq!(try_explore(7, 300, body).unwrap(), tried);
}
