//! One session of a load: its pieces of work, its pauses, its end.

use super::{Job, Shared};
use crate::targets::{Session, TargetError};
use furrow_io::time::{Duration, Moment, sleep};
use std::sync::atomic::Ordering;

/// The pieces of work of one session, and the time in which it did none because the load asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) pieces: u64,
    /// Slept before a piece: its pause, or until it was due.
    pub(super) paused_us: u64,
    /// From when each piece was due until it was begun.
    pub(super) queued_us: u64,
    /// Left before the load ended, because nothing more was due until then.
    pub(super) is_idle: bool,
}

/// A session that has ended, and what it did.
pub(super) struct Ended {
    pub(super) end: Moment,
    pub(super) tally: Tally,
    #[expect(
        dead_code,
        reason = "a session stays open until its waits have been read"
    )]
    session: Box<dyn Session>,
}

/// A session that is counted as running until its thread ends, by a panic too: the load waits for all of
/// them.
struct Running<'a>(&'a Shared<'a>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("a session of the load panicked".to_owned());
        }
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}

/// The units of one of `sessions` sessions; the first ones take what does not divide.
pub(super) fn share_of(units: u64, sessions: u32, place: usize) -> u64 {
    let sessions = u64::from(sessions.max(1));
    units / sessions + u64::from((place as u64) < units % sessions)
}

/// Works until the load ends; `None` after an error, which is in `shared` then.
pub(super) fn worker(
    mut session: Box<dyn Session>,
    mut job: Box<dyn Job>,
    place: usize,
    shared: &Shared<'_>,
) -> Option<Ended> {
    let _running = Running(shared);
    let result = work_on(session.as_mut(), job.as_mut(), place, shared);
    let end = Moment::now();
    match &result {
        Err(error) => shared.fail(error.full()),
        Ok(_) => {
            let mut first = shared.first_end.lock();
            first.get_or_insert_with(|| shared.units());
        }
    }
    let tally = result.ok()?;
    Some(Ended {
        end,
        tally,
        session,
    })
}

/// Works until the load ends; gives what was done.
fn work_on(
    session: &mut dyn Session,
    job: &mut dyn Job,
    place: usize,
    shared: &Shared<'_>,
) -> Result<Tally, TargetError> {
    shared.wait_for_go();
    let start = shared.start.lock().unwrap_or_else(Moment::now);
    let load = shared.load;
    let units = load.end.units();
    let mut left = units.map_or(u64::MAX, |units| share_of(units, load.sessions, place));
    let seconds = load.end.seconds();
    let over = seconds.map(|seconds| start.after(Duration::from_secs_f64(seconds.max(0.0))));
    let mut tally = Tally::default();
    while left > 0 && !shared.must_stop() && over.is_none_or(|over| Moment::now() < over) {
        let from = match load.rate {
            None => match job.pause() {
                Duration::ZERO => Moment::now(),
                pause if !wait_until(Moment::now().after(pause), over, shared, &mut tally) => break,
                _ => Moment::now(),
            },
            Some(rate) => {
                let before = tally.pieces * u64::from(load.sessions) + place as u64;
                let due = start.after(Duration::from_secs_f64(before as f64 / rate.max(1e-9)));
                if !wait_until(due, over, shared, &mut tally) {
                    break;
                }
                tally.queued_us += due.elapsed_us();
                due
            }
        };
        let done = job.next(session, left)?.max(1);
        shared.record(place, from.elapsed_us());
        left = left.saturating_sub(done);
        tally.pieces += 1;
        if let Some(all) = shared.done.get(place) {
            all.fetch_add(done, Ordering::Relaxed);
        }
    }
    Ok(tally)
}

/// Sleeps until a unit is due; `false` where the load ends before. The session then leaves without sleeping.
pub(super) fn wait_until(
    due: Moment,
    over: Option<Moment>,
    shared: &Shared<'_>,
    tally: &mut Tally,
) -> bool {
    let begun = Moment::now();
    if due <= begun {
        return over.is_none_or(|over| begun < over) && !shared.must_stop();
    }
    let is_due = sleep_until(due, over, shared);
    tally.paused_us += begun.elapsed_us();
    tally.is_idle = !is_due;
    is_due
}

fn sleep_until(due: Moment, over: Option<Moment>, shared: &Shared<'_>) -> bool {
    loop {
        let now = Moment::now();
        if shared.must_stop() || over.is_some_and(|over| now >= over || due >= over) {
            return false;
        }
        if now >= due {
            return true;
        }
        sleep(due.since(now).min(Duration::from_millis(50)));
    }
}
