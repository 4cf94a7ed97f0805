//! One session of a load: when its next piece of work is due, what it has done, its end.

use super::{Job, Piece, Shared};
use crate::targets::{Session, TargetError};
use furrow_io::time::{Duration, Moment};
use std::sync::atomic::Ordering;

/// The pieces of work of one session, and the time in which it did none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) pieces: u64,
    /// Rested before its pieces because the load asks for it.
    pub(super) paused_us: u64,
    /// From when pieces were due until they were begun, or the load ended.
    pub(super) queued: Queued,
    /// Left before the load ended, because nothing more was due until then.
    pub(super) is_idle: bool,
}

/// Pieces of work that were due and not begun, some of them not before the load ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queued {
    /// Pieces that waited.
    pub count: u64,
    /// How long, in microseconds.
    pub total_us: u64,
    /// The longest time of them.
    pub max_us: u64,
}

impl Queued {
    fn add(&mut self, us: u64) {
        self.count += u64::from(us > 0);
        self.total_us += us;
        self.max_us = self.max_us.max(us);
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Queued) -> Queued {
        Queued {
            count: self.count + other.count,
            total_us: self.total_us + other.total_us,
            max_us: self.max_us.max(other.max_us),
        }
    }
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

/// A session at work.
pub(super) struct Member {
    session: Box<dyn Session>,
    job: Box<dyn Job>,
    pub(super) place: usize,
    /// Units that it has still to do.
    left: u64,
    /// From when on it has been free for its next piece.
    free: Moment,
    /// From when on its next piece is due.
    pub(super) due: Moment,
    tally: Tally,
}

impl Member {
    pub(super) fn new(
        session: Box<dyn Session>,
        job: Box<dyn Job>,
        place: usize,
        shared: &Shared<'_>,
    ) -> Member {
        let load = shared.load;
        let units = load.end.units();
        Member {
            session,
            job,
            place,
            left: units.map_or(u64::MAX, |units| share_of(units, load.sessions, place)),
            free: Moment::default(),
            due: Moment::default(),
            tally: Tally::default(),
        }
    }

    /// It is free from now on; says when its next piece is due. `false` if it has no more before the load
    /// ends.
    pub(super) fn plan(&mut self, now: Moment, start: Moment, shared: &Shared<'_>) -> bool {
        let load = shared.load;
        self.free = now;
        self.due = match load.rate {
            None => match self.job.pause() {
                Duration::ZERO => now,
                pause => now.after(pause),
            },
            Some(rate) => {
                let before = self.tally.pieces * u64::from(load.sessions) + self.place as u64;
                start.after(Duration::from_secs_f64(before as f64 / rate.max(1e-9)))
            }
        };
        let over = shared.over(start);
        let is_over = |at: Moment| over.is_some_and(|over| at >= over);
        self.tally.is_idle = self.left > 0 && self.due > now && is_over(self.due) && !is_over(now);
        self.left > 0 && !is_over(now) && !is_over(self.due)
    }

    /// Its rest ended at `from`, or ends now if that is later, and the wait of its piece ends now.
    pub(super) fn rested(&mut self, now: Moment, from: Moment) {
        self.tally.paused_us += from.min(now).since_us(self.free);
        self.tally.queued.add(now.since_us(from));
    }

    /// Does the piece that was due at `from`.
    pub(super) fn work(&mut self, from: Moment, shared: &Shared<'_>) -> Result<(), TargetError> {
        let piece = Piece {
            most: self.left,
            from,
        };
        let done = self.job.next(self.session.as_mut(), piece)?.max(1);
        shared.record(self.place, from.elapsed_us());
        self.left = self.left.saturating_sub(done);
        self.tally.pieces += 1;
        if let Some(all) = shared.done.get(self.place) {
            all.fetch_add(done, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) fn end(self, end: Moment) -> Ended {
        Ended {
            end,
            tally: self.tally,
            session: self.session,
        }
    }
}

/// The units of one of `sessions` sessions; the first ones take what does not divide.
pub(super) fn share_of(units: u64, sessions: u32, place: usize) -> u64 {
    let sessions = u64::from(sessions.max(1));
    units / sessions + u64::from((place as u64) < units % sessions)
}
