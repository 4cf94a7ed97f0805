//! Sessions without an engine: sleep, panics, shares.

use super::session::share_of;
use super::*;
use crate::targets::Value;
use furrow_io::time::sleep;
use std::sync::Arc;

fn load_of(sessions: usize, end: End, rate: Option<f64>) -> Load {
    Load {
        database: String::new(),
        sessions: u32::try_from(sessions).unwrap(),
        end,
        rate,
        unit: "rows",
        looks_at_extents: false,
    }
}

struct Mute;

impl Session for Mute {
    fn batch(&mut self, _text: &str) -> Result<crate::targets::Reply, TargetError> {
        unreachable!("these jobs send nothing")
    }

    fn prepare(
        &mut self,
        _text: &str,
        _parameters: &str,
    ) -> Result<crate::targets::StatementId, TargetError> {
        unreachable!("these jobs send nothing")
    }

    fn execute(
        &mut self,
        _statement: crate::targets::StatementId,
        _values: &[Value],
    ) -> Result<u64, TargetError> {
        unreachable!("these jobs send nothing")
    }

    fn query(
        &mut self,
        _statement: crate::targets::StatementId,
        _values: &[Value],
    ) -> Result<crate::targets::Reply, TargetError> {
        unreachable!("these jobs send nothing")
    }

    fn canceller(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| {})
    }
}

/// Pauses so long before each piece, in turn; each piece takes a millisecond.
struct Paced(Vec<Duration>);

impl Job for Paced {
    fn pause(&mut self) -> Duration {
        self.0.pop().unwrap_or(Duration::ZERO)
    }

    fn next(&mut self, _session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        sleep(Duration::from_millis(1));
        Ok(1)
    }
}

/// The work of these jobs by so many threads.
fn work_of(jobs: Vec<Box<dyn Job>>, threads: u32, load: &Load) -> Worked {
    let cancel = AtomicBool::new(false);
    let shared = &Shared::new(load, threads, &cancel).unwrap();
    let members = jobs.into_iter().enumerate();
    let members = members.map(|(place, job)| Member::new(Box::new(Mute), job, place, shared));
    let queues = queues(members.collect(), threads);
    let start = thread::scope(|scope| {
        for (number, queue) in (0..threads).zip(queues.iter().cycle()) {
            spawn(scope, (number, queue), shared).unwrap();
        }
        shared.start()
    });
    assert_eq!(shared.running.load(Ordering::Acquire), 0);
    let ended: Vec<Ended> = queues.into_iter().flat_map(Queue::into_ended).collect();
    assert_eq!(ended.len(), load.sessions as usize, "every session ends");
    gather(&ended, shared, start).unwrap()
}

fn paced(jobs: Vec<Vec<Duration>>) -> Vec<Box<dyn Job>> {
    let jobs = jobs.into_iter();
    jobs.map(|pauses| Box::new(Paced(pauses)) as Box<dyn Job>)
        .collect()
}

const LONG: Duration = Duration::from_secs(36_000);

#[test]
fn a_session_counts_how_long_it_rested_until_work_was_due() {
    // Three pieces are due at 0, 20 and 40 ms; the one after them long after the end.
    let load = load_of(
        1,
        End::Within {
            seconds: 10.0,
            units: 3,
        },
        Some(50.0),
    );
    let worked = work_of(paced(vec![Vec::new()]), 1, &load);
    assert_eq!(worked.pieces, 3);
    assert!((1_000..=40_000).contains(&worked.paused_us), "{worked:?}");
    assert!(
        worked.queued.count > 0,
        "with a rate nothing is left out: {worked:?}"
    );
    // Nothing more is due before the load ends: the session leaves without sleeping.
    let load = load_of(1, End::Seconds(3_600.0), Some(0.000_1));
    let worked = work_of(paced(vec![Vec::new()]), 1, &load);
    assert!(
        worked.pieces == 1 && worked.seconds >= 3_600.0,
        "{worked:?}"
    );
}

#[test]
fn sessions_that_share_threads_take_turns_and_wait_for_them() {
    let load = load_of(12, End::Seconds(0.3), None);
    let worked = work_of(paced(vec![Vec::new(); 12]), 3, &load);
    // A piece takes a millisecond of one of three threads; every session gets the same share of them.
    assert!((12..=900).contains(&worked.pieces), "{worked:?}");
    assert!(worked.spread.1 - worked.spread.0 <= 2, "{worked:?}");
    assert_eq!(worked.paused_us, 0);
    // Nine of twelve sessions wait at any time, and a latency counts from the end of the piece before.
    let waited_s = worked.queued.total_us as f64 / 1e6;
    let all_s = 12.0 * worked.seconds;
    assert!((0.4..=0.76).contains(&(waited_s / all_s)), "{worked:?}");
    assert!(worked.latency.value_at_quantile(0.5) >= 3_500, "{worked:?}");
    assert!(worked.queued.max_us >= 2_500, "{worked:?}");

    // With a thread for each none waits.
    let worked = work_of(
        paced(vec![Vec::new(); 3]),
        3,
        &load_of(3, End::Units(9), None),
    );
    assert_eq!((worked.pieces, worked.queued), (9, Queued::default()));
}

/// Rests, and says when it begins its only piece.
struct Noting(Option<Duration>, usize, Arc<Mutex<Vec<usize>>>);

impl Job for Noting {
    fn pause(&mut self) -> Duration {
        self.0.take().unwrap_or(LONG)
    }

    fn next(&mut self, _session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        self.2.lock().push(self.1);
        Ok(1)
    }
}

#[test]
fn sessions_that_share_a_thread_begin_in_the_order_in_which_they_are_due() {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let job = |place: usize| {
        let rest = Duration::from_millis(50 - 10 * place as u64);
        Box::new(Noting(Some(rest), place, Arc::clone(&begun))) as Box<dyn Job>
    };
    let load = load_of(5, End::Seconds(3_600.0), None);
    let worked = work_of((0..5).map(job).collect(), 1, &load);
    assert_eq!(*begun.lock(), [4, 3, 2, 1, 0]);
    assert_eq!(worked.pieces, 5);
}

#[test]
fn a_session_that_leaves_early_rests_until_the_planned_end_of_the_load() {
    let first = |ms: u64| vec![LONG, Duration::from_millis(ms)];
    // The only session leaves long before the planned end; its rate is that of the whole time.
    let load = load_of(1, End::Seconds(3_600.0), None);
    let one = work_of(paced(vec![first(50)]), 1, &load);
    assert!(one.seconds >= 3_600.0 && one.pieces == 1, "{one:?}");
    let slept_us = 3_000_000_000..=(one.seconds * 1e6).round() as u64;
    assert!(slept_us.contains(&one.paused_us), "{one:?}");
    // Another one that has done its share does not end the load for it.
    let end = End::Within {
        seconds: 3_600.0,
        units: 2,
    };
    let load = load_of(2, end, None);
    let jobs = vec![vec![LONG], vec![Duration::from_millis(50)]];
    let both = work_of(paced(jobs), 2, &load);
    assert!(both.seconds >= 3_600.0 && both.pieces == 1, "{both:?}");
    assert!(both.paused_us >= 3_000_000_000, "{both:?}");
    assert!(
        both.paused_us as f64 <= 2.0 * both.seconds * 1e6 + 1.0,
        "{both:?}"
    );
    // Where all have done their share the load ends with the last one.
    let done = work_of(paced(vec![first(5), first(5)]), 1, &load);
    assert!(done.seconds < 3_600.0 && done.pieces == 2, "{done:?}");
}

/// Panics at its first piece of work.
struct Panics;

impl Job for Panics {
    fn next(&mut self, _session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        panic!("this job panics on purpose");
    }
}

#[test]
fn a_session_that_panics_ends_the_load_and_is_named() {
    for threads in [2, 3] {
        let load = load_of(3, End::Seconds(3_600.0), None);
        let cancel = AtomicBool::new(false);
        let shared = &Shared::new(&load, threads, &cancel).unwrap();
        let mut jobs = paced(vec![Vec::new(); 2]);
        jobs.insert(1, Box::new(Panics));
        let members = jobs.into_iter().enumerate();
        let members = members.map(|(place, job)| Member::new(Box::new(Mute), job, place, shared));
        let queue = &Queue::new(members.collect());
        let ended = thread::scope(|scope| {
            let spawned = (0..threads).map(|number| spawn(scope, (number, queue), shared).unwrap());
            let handles: Vec<_> = spawned.collect();
            shared.start();
            let joined = handles.into_iter().map(|handle| handle.join().is_ok());
            joined.collect::<Vec<_>>()
        });
        let panicked = ended.iter().filter(|is_ok| !**is_ok).count();
        assert_eq!(panicked, 1, "the other threads end with it: {ended:?}");
        // The observer looks on until none is running.
        assert_eq!(shared.running.load(Ordering::Acquire), 0);
        assert!(shared.must_stop());
        let failure = shared.failure.lock().take();
        assert_eq!(failure.as_deref(), Some("a session of the load panicked"));
    }
}

#[test]
fn shares_add_up_to_all_units() {
    for (units, sessions) in [(100, 16), (7, 3), (5, 8), (0, 4)] {
        let all: u64 = (0..sessions as usize)
            .map(|place| share_of(units, sessions, place))
            .sum();
        assert_eq!(all, units);
    }
}
