//! Sessions without an engine: sleep, panics, shares.

use super::session::{Tally, share_of, wait_until};
use super::*;
use crate::targets::Value;
use furrow_io::time::sleep;

#[test]
fn a_session_counts_how_long_it_slept_until_work_was_due() {
    let load = Load {
        database: String::new(),
        sessions: 1,
        end: End::Seconds(3_600.0),
        rate: Some(1.0),
        unit: "rows",
        looks_at_extents: false,
    };
    let cancel = AtomicBool::new(false);
    let shared = Shared::new(&load, &cancel).unwrap();
    let now = Moment::now();
    let over = Some(now.after(Duration::from_secs(3_600)));
    let slept = |due: Moment| {
        let mut tally = Tally::default();
        let is_due = wait_until(due, over, &shared, &mut tally);
        (is_due, tally.paused_us)
    };
    assert_eq!(
        slept(now),
        (true, 0),
        "due already: the session did not sleep"
    );
    let (is_due, us) = slept(Moment::now().after(Duration::from_millis(5)));
    assert!(is_due && us >= 5_000, "{us}");
    // Nothing more is due before the load ends: the session leaves without sleeping.
    let (is_due, us) = slept(now.after(Duration::from_secs(7_200)));
    assert!(!is_due && us < 3_600_000_000, "{us}");
    cancel.store(true, Ordering::Relaxed);
    assert!(!slept(now).0);
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

    fn next(&mut self, _session: &mut dyn Session, _most: u64) -> Result<u64, TargetError> {
        sleep(Duration::from_millis(1));
        Ok(1)
    }
}

/// The sessions of these jobs, one after the other from the same start, as a whole.
fn work_of(jobs: Vec<Paced>, end: End) -> Worked {
    let load = Load {
        database: String::new(),
        sessions: jobs.len() as u32,
        end,
        rate: None,
        unit: "rows",
        looks_at_extents: false,
    };
    let cancel = AtomicBool::new(false);
    let shared = Shared::new(&load, &cancel).unwrap();
    let start = Moment::now();
    *shared.start.lock() = Some(start);
    shared.go();
    let ended = jobs.into_iter().enumerate();
    let ended = ended.map(|(place, job)| worker(Box::new(Mute), Box::new(job), place, &shared));
    let ended: Vec<Ended> = ended.map(Option::unwrap).collect();
    gather(&ended, &shared, start).unwrap()
}

#[test]
fn a_session_that_leaves_early_rests_until_the_planned_end_of_the_load() {
    let long = Duration::from_secs(36_000);
    let paced = |first_ms: u64| Paced(vec![long, Duration::from_millis(first_ms)]);
    // The only session leaves long before the planned end; its rate is that of the whole time.
    let one = work_of(vec![paced(50)], End::Seconds(3_600.0));
    assert!(one.seconds >= 3_600.0 && one.pieces == 1, "{one:?}");
    let slept_us = 3_000_000_000..=(one.seconds * 1e6).round() as u64;
    assert!(slept_us.contains(&one.paused_us), "{one:?}");
    // Another one that has done its share does not end the load for it.
    let jobs = vec![Paced(vec![long]), Paced(vec![Duration::from_millis(50)])];
    let both = work_of(
        jobs,
        End::Within {
            seconds: 3_600.0,
            units: 2,
        },
    );
    assert!(both.seconds >= 3_600.0 && both.pieces == 1, "{both:?}");
    assert!(both.paused_us >= 3_000_000_000, "{both:?}");
    assert!(
        both.paused_us as f64 <= 2.0 * both.seconds * 1e6 + 1.0,
        "{both:?}"
    );
    // Where all have done their share the load ends with the last one.
    let jobs = vec![paced(5), paced(5)];
    let done = work_of(
        jobs,
        End::Within {
            seconds: 3_600.0,
            units: 2,
        },
    );
    assert!(done.seconds < 3_600.0 && done.pieces == 2, "{done:?}");
}

/// Panics at its first piece of work.
struct Panics;

impl Job for Panics {
    fn next(&mut self, _session: &mut dyn Session, _most: u64) -> Result<u64, TargetError> {
        panic!("this job panics on purpose");
    }
}

#[test]
fn a_session_that_panics_ends_the_load_and_is_named() {
    let load = Load {
        database: String::new(),
        sessions: 2,
        end: End::Seconds(0.2),
        rate: None,
        unit: "rows",
        looks_at_extents: false,
    };
    let cancel = AtomicBool::new(false);
    let shared = &Shared::new(&load, &cancel).unwrap();
    *shared.start.lock() = Some(Moment::now());
    shared.go();
    let jobs: [Box<dyn Job>; 2] = [Box::new(Panics), Box::new(Paced(Vec::new()))];
    let ended = thread::scope(|scope| {
        let spawn = |(place, job)| {
            let body = move || worker(Box::new(Mute), job, place, shared).is_some();
            thread::spawn_scoped(scope, format!("load {place}"), body).unwrap()
        };
        let handles: Vec<_> = jobs.into_iter().enumerate().map(spawn).collect();
        let joined = handles.into_iter().map(|handle| handle.join().ok());
        joined.collect::<Vec<_>>()
    });
    assert_eq!(ended, [None, Some(true)]);
    // The observer looks on until none is running.
    assert_eq!(shared.running.load(Ordering::Acquire), 0);
    assert!(shared.must_stop(), "the others end with it");
    let failure = shared.failure.lock().take();
    assert_eq!(failure.as_deref(), Some("a session of the load panicked"));
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
