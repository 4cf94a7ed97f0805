//! Tests of the admission of batches: order, what makes space, and schedules drawn by a seed.

use super::super::{end_turn, has_turn};
use super::*;
use crate::Instruments;
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::sleep;
use furrow_io::weave::{explore, together};
use std::sync::atomic::AtomicU32 as Count;

/// A turn that no test sees the end of.
const LONG: Duration = Duration::from_secs(100_000);

fn instruments(most: u32, turn: Duration) -> Arc<Instruments> {
    Arc::new(Instruments {
        admission: Admission::of(most, turn),
        ..Instruments::default()
    })
}

fn counting(instruments: &Instruments) -> u32 {
    instruments.admission.running.load(SeqCst)
}

/// A batch on a thread of its own, which waits already or has run.
fn begin(
    instruments: &Arc<Instruments>,
    id: i32,
    body: impl FnOnce(&Task) + Send + 'static,
) -> (Arc<Task>, JoinHandle<()>) {
    let task = Task::new(instruments, id, "test");
    let queued = instruments.admission.queued.load(SeqCst);
    let (mine, of) = (Arc::clone(&task), Arc::clone(instruments));
    let thread = spawn_named(format!("batch {id}"), move || {
        let admitted = mine.admit(Moment::now());
        body(&mine);
        drop(admitted);
    });
    let thread = thread.expect("a thread");
    while of.admission.queued.load(SeqCst) == queued && !thread.is_finished() {
        std::thread::yield_now();
    }
    (task, thread)
}

#[test]
fn batches_run_in_the_order_in_which_they_came() {
    let all = instruments(1, LONG);
    let first = Task::new(&all, 51, "test");
    let turn = first.admit(Moment::now());
    let order = Arc::new(Mutex::new(Vec::new()));
    let waiting: Vec<_> = (52..60)
        .map(|id| {
            let order = Arc::clone(&order);
            begin(&all, id, move |task| order.lock().push(task.session_id()))
        })
        .collect();
    let waits = all.tasks.waiting_tasks();
    assert!(order.lock().is_empty() && waits.iter().all(|w| w.wait_type == WaitType::ThreadPool));
    drop(turn);
    waiting
        .into_iter()
        .for_each(|(_, thread)| thread.join().expect("it ends"));
    assert_eq!(*order.lock(), (52..60).collect::<Vec<_>>());
    assert_eq!(counting(&all), 0);
}

#[test]
fn a_batch_that_waits_for_the_log_makes_space_and_one_that_waits_for_a_lock_does_not() {
    let all = instruments(1, LONG);
    let task = Task::new(&all, 51, "test");
    let _task = enter(&task);
    for kind in [WaitType::LckMX, WaitType::PageLatchEx, WaitType::LatchEx] {
        let turn = task.admit(Moment::now());
        wait(kind, Resource::None).finish();
        assert_eq!(counting(&all), 1, "{kind:?}");
        drop(turn);
    }
    for kind in [
        WaitType::WriteLog,
        WaitType::PageIoLatchSh,
        WaitType::AsyncNetworkIo,
    ] {
        let turn = task.admit(Moment::now());
        let (_, next) = begin(&all, 52, |_| {});
        wait(kind, Resource::None).finish();
        next.join().expect("it ends while the first one still runs");
        assert_eq!(counting(&all), 0, "{kind:?}");
        drop(turn);
        assert_eq!(counting(&all), 0, "{kind:?} does not end a turn twice");
    }
}

#[test]
fn a_batch_counts_no_longer_than_its_turn() {
    let all = instruments(1, Duration::from_millis(1));
    let first = Task::new(&all, 51, "test");
    let turn = first.admit(Moment::now());
    let (_, next) = begin(&all, 52, |_| {});
    next.join().expect("it ends while the first one still runs");
    drop(turn);
    assert_eq!(counting(&all), 0);
}

#[test]
fn a_batch_that_is_cancelled_while_it_waits_goes_on_without_a_turn() {
    let all = instruments(1, LONG);
    let first = Task::new(&all, 51, "test");
    let turn = first.admit(Moment::now());
    let counted = Arc::new(Count::new(99));
    let seen = Arc::clone(&counted);
    let (task, cancelled) = begin(&all, 52, move |task| {
        seen.store(counting(&task.instruments), SeqCst);
    });
    let (_, behind) = begin(&all, 53, |_| {});
    task.cancel();
    cancelled.join().expect("it ends");
    assert_eq!(counted.load(SeqCst), 1, "that of the first one");
    assert_eq!(all.admission.queued.load(SeqCst), 1);
    drop(turn);
    behind.join().expect("it ends");
    assert_eq!(counting(&all), 0);
}

#[test]
fn a_batch_that_ends_its_turn_makes_space() {
    let all = instruments(1, LONG);
    let task = Task::new(&all, 51, "test");
    let _task = enter(&task);
    let turn = task.admit(Moment::now());
    let (_, next) = begin(&all, 52, |_| {});
    assert!(has_turn());
    end_turn();
    assert!(!has_turn());
    next.join().expect("it ends while the first one still runs");
    drop(turn);
    assert_eq!(counting(&all), 0);
}

/// A batch waits for its turn only while as many others count; if one were forgotten, the clock would go on
/// to the end of its wait.
#[test]
fn woven_batches_are_not_forgotten_and_never_are_too_many_admitted() {
    explore("admission", 500, |seed| {
        let (most, batches) = (1 + (seed % 3) as u32, 2 + (seed / 3 % 4) as i32);
        let all = instruments(most, LONG);
        let inside = Arc::new(Count::new(0));
        let began = Moment::now();
        let bodies = (0..batches).map(|n| -> Box<dyn FnOnce() + Send> {
            let (task, inside) = (Task::new(&all, 51 + n, "test"), Arc::clone(&inside));
            Box::new(move || {
                let _task = enter(&task);
                for round in 0..3 {
                    let turn = task.admit(Moment::now());
                    let before = inside.fetch_add(1, SeqCst);
                    assert!(before < most, "{before} of {most} are inside");
                    sleep(Duration::from_micros(1));
                    inside.fetch_sub(1, SeqCst);
                    if (n + round) % 2 == 0 {
                        wait(WaitType::WriteLog, Resource::None).finish();
                    }
                    drop(turn);
                }
            })
        });
        together(bodies.collect());
        assert_eq!(counting(&all), 0);
        assert!(
            began.elapsed() < LONG,
            "a batch waited to the end of a turn"
        );
    });
}
