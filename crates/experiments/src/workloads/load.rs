//! Sessions that work side by side on a target, and an observer that looks on.
//!
//! A [`Work`] opens a [`Job`] in each session. A job does one unit at a time: a transaction, a script, a
//! scan. The load ends when all units are done ([`End::Units`]) or the time is over ([`End::Seconds`]). In a
//! closed loop a session starts the next unit when the last one has ended. With [`Load::rate`] units are due
//! at fixed times, and a latency counts from when its unit was due: what waits behind a stall is seen.
//!
//! A session has a thread of its own, or shares few threads with others ([`Work::takes_turns`]), as the
//! connections of a server share its workers.

mod observer;
mod queue;
mod session;
#[cfg(test)]
mod tests;

use super::place::failed;
use crate::targets::{
    Counters, Session, Target, TargetError, WaitCounters, quoted, read_waits, session_id,
};
use furrow_io::time::{Duration, Moment};
use furrow_io::{host, process, thread};
use furrow_lab::experiment::{RunContext, StepError, new_histogram};
use hdrhistogram::Histogram;
use observer::{Observer, look_on};
use parking_lot::{Condvar, Mutex};
use queue::{Queue, queues, threads_for};
pub use session::Queued;
use session::{Ended, Member};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;

/// Histograms of latency at most: more sessions share them, so that many sessions take no more memory.
const MOST_HISTOGRAMS: u32 = 32;

/// Threads of sessions that share them, for each processor. Most of them wait for locks and for the log. With
/// more, what sessions use again and again (stacks, caches of the allocator) does not fit into the caches of
/// the processors: docs/performance.md, "Order entry".
pub(crate) const THREADS_PER_CPU: u32 = 12;

/// Memory that a session is thought to take: the stack that it touches, its plans, its statistics.
pub(crate) const ASSUMED_SESSION_BYTES: u64 = 1 << 20;

/// Between two looks.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// When a load ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// When so many units are done; each session does the same share.
    Units(u64),
    /// When so many seconds are over. A unit under way is finished and counts.
    Seconds(f64),
    /// When so many seconds are over, or so many units done before: what the files have space for.
    Within {
        /// The seconds.
        seconds: f64,
        /// The units.
        units: u64,
    },
}

impl End {
    fn units(self) -> Option<u64> {
        match self {
            End::Units(units) | End::Within { units, .. } => Some(units),
            End::Seconds(_) => None,
        }
    }

    fn seconds(self) -> Option<f64> {
        match self {
            End::Seconds(seconds) | End::Within { seconds, .. } => Some(seconds),
            End::Units(_) => None,
        }
    }
}

/// How a load is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The database that sessions work in.
    pub database: String,
    /// Sessions.
    pub sessions: u32,
    /// When it ends.
    pub end: End,
    /// Units a second that are due, of all sessions together; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Word for a unit: `rows`.
    pub unit: &'static str,
    /// Whether the free extents of each data file are looked at.
    pub looks_at_extents: bool,
}

/// What a load does.
pub trait Work: Sync {
    /// The part of one session; `place` counts from 0. Preparing statements belongs here.
    fn open(&self, place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError>;

    /// Whether sessions can share threads: a piece of work leaves no transaction open, so that none of them
    /// waits for a session that has no thread.
    fn takes_turns(&self) -> bool {
        false
    }
}

/// A piece of work that a session begins.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Its units, at most.
    pub most: u64,
    /// The moment from which its latency counts.
    pub from: Moment,
}

impl Piece {
    /// A piece that is due now.
    pub fn now(most: u64) -> Piece {
        Piece {
            most,
            from: Moment::now(),
        }
    }
}

/// What one session does.
pub trait Job: Send {
    /// How long the session rests before its next piece of work; not counted as latency. Asked before each
    /// piece, unless the load has a rate.
    fn pause(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Does the next piece of work; gives how many units it did, 1 at least.
    fn next(&mut self, session: &mut dyn Session, piece: Piece) -> Result<u64, TargetError>;
}

/// What the sessions did.
#[derive(Debug)]
pub struct Worked {
    /// From the start of the first session to the end of the last; to the planned end where a session left
    /// before it because nothing more was due.
    pub seconds: f64,
    /// Units done.
    pub units: u64,
    /// Pieces of work done: transactions, scripts.
    pub pieces: u64,
    /// Latency of the pieces; from when each was due, where the load has a rate.
    pub latency: Histogram<u64>,
    /// Whether sessions waited for each answer before the next request.
    pub is_closed: bool,
    /// Microseconds that all sessions slept because the load asks for it: pauses, until a piece was due, or
    /// until the load ended where nothing more was due.
    pub paused_us: u64,
    /// Pieces that waited from when they were due until they were begun: with a rate for their session,
    /// without one for a thread, then also until the load ended.
    pub queued: Queued,
    /// Waits of each session, during the load alone.
    pub waits: Vec<(Vec<WaitCounters>, Vec<WaitCounters>)>,
    /// Units of the least and the most served session at the moment the first one ended.
    pub spread: (u64, u64),
    /// What was seen, tick by tick, the first one at the start.
    pub looks: Vec<Look>,
    /// Everything that is counted, before and after.
    pub counters: (Counters, Counters),
    /// Processor seconds of this process.
    pub cpu_s: f64,
    /// Processor seconds that others took; `None` where the system does not say.
    pub cpu_other_s: Option<f64>,
}

/// The state of things at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Look {
    /// Seconds since the start.
    pub at_s: f64,
    /// Units done.
    pub units: u64,
    /// Pages that checkpoints wrote.
    pub checkpoint_pages: u64,
    /// Pages written to make room in the pool.
    pub lazy_pages: u64,
    /// Bytes of each file.
    pub sizes: Vec<u64>,
    /// Free extents of each data file, by file id; empty unless asked for.
    pub free_extents: Vec<(u32, u64)>,
}

struct Shared<'a> {
    load: &'a Load,
    /// When the sessions began; `None` before.
    start: Mutex<Option<Moment>>,
    started: Condvar,
    stop: AtomicBool,
    cancel: &'a AtomicBool,
    done: Vec<AtomicU64>,
    running: AtomicU64,
    failure: Mutex<Option<String>>,
    latencies: Vec<Mutex<Histogram<u64>>>,
    /// Units of each session when the first one had done its share.
    first_end: Mutex<Option<Vec<u64>>>,
}

impl<'a> Shared<'a> {
    fn new(load: &'a Load, threads: u32, cancel: &'a AtomicBool) -> Result<Shared<'a>, StepError> {
        Ok(Shared {
            load,
            start: Mutex::new(None),
            started: Condvar::new(),
            stop: AtomicBool::new(false),
            cancel,
            done: (0..load.sessions).map(|_| AtomicU64::new(0)).collect(),
            running: AtomicU64::new(u64::from(threads)),
            failure: Mutex::new(None),
            latencies: histograms(load.sessions)?,
            first_end: Mutex::new(None),
        })
    }

    fn record(&self, place: usize, latency_us: u64) {
        let shared = self.latencies.get(place % self.latencies.len().max(1));
        if let Some(histogram) = shared {
            histogram.lock().saturating_record(latency_us.max(1));
        }
    }

    /// Lets the sessions begin.
    fn start(&self) -> Moment {
        let now = Moment::now();
        *self.start.lock() = Some(now);
        self.started.notify_all();
        now
    }

    /// When the sessions began; `None` if they are not to begin. Hundreds of threads that looked again and
    /// again would keep the processors from starting the others.
    fn wait_for_start(&self) -> Option<Moment> {
        let mut start = self.start.lock();
        while start.is_none() && !self.must_stop() {
            self.started
                .wait_for(&mut start, Duration::from_millis(100));
        }
        *start
    }

    /// When a load of fixed time ends.
    fn over(&self, start: Moment) -> Option<Moment> {
        let seconds = self.load.end.seconds();
        seconds.map(|seconds| start.after(Duration::from_secs_f64(seconds.max(0.0))))
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }

    fn units(&self) -> Vec<u64> {
        let units = self.done.iter();
        units.map(|units| units.load(Ordering::Relaxed)).collect()
    }

    fn fail(&self, text: String) {
        self.failure.lock().get_or_insert(text);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs the load to its end.
pub fn run(
    target: &dyn Target,
    load: &Load,
    work: &dyn Work,
    context: &mut RunContext<'_>,
) -> Result<Worked, StepError> {
    let sessions = open_sessions(target, load, work).map_err(failed)?;
    let cancels: Vec<_> = sessions
        .iter()
        .map(|(session, ..)| session.canceller())
        .collect();
    let ids: Vec<u64> = sessions.iter().map(|(.., id)| *id).collect();
    let mut observer = Observer::new(target, load).map_err(failed)?;
    let threads = threads_for(load.sessions, work.takes_turns());
    let shared = &Shared::new(load, threads, context.cancel_flag())?;
    let before = observer.counters().map_err(failed)?;
    let waits = read_waits(observer.session.as_mut(), &ids).map_err(failed)?;
    // Before the load begins: what it takes is counted from here.
    let first = observer.look().map_err(failed)?;
    let (cpu, ticks) = (process::cpu_times(), host::cpu_ticks());
    let members = sessions.into_iter().enumerate();
    let members: Vec<Member> = members
        .map(|(place, (session, job, _))| Member::new(session, job, place, shared))
        .collect();
    let queues = queues(members, threads);
    let (looks, start) = thread::scope(|scope| {
        let spawned = (0..threads).zip(queues.iter().cycle());
        let spawned = spawned.map(|(number, queue)| spawn(scope, (number, queue), shared));
        let threads: Vec<_> = spawned.flatten().collect();
        let start = shared.start();
        let looks = look_on(&mut observer, shared, &cancels, (start, first), context);
        // A thread that panicked has said so.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        (looks, start)
    });
    if shared.cancel.load(Ordering::Relaxed) {
        return Err(StepError::Cancelled);
    }
    if let Some(text) = shared.failure.lock().take() {
        return Err(StepError::Failed(text));
    }
    let ended: Vec<Ended> = queues.into_iter().flat_map(Queue::into_ended).collect();
    debug_assert_eq!(ended.len(), load.sessions as usize, "every session ends");
    let mut worked = gather(&ended, shared, start)?;
    let real_s = start.elapsed_us() as f64 / 1e6;
    // What reading the counters costs is no part of the load.
    worked.cpu_s = process::cpu_times().total_ns.saturating_sub(cpu.total_ns) as f64 / 1e9;
    let busy = ticks
        .zip(host::cpu_ticks())
        .and_then(|(a, b)| b.busy_percent_since(a));
    let after = observer.counters().map_err(failed)?;
    let later = read_waits(observer.session.as_mut(), &ids).map_err(failed)?;
    drop(ended);
    worked.waits = waits.into_iter().zip(later).collect();
    worked.cpu_other_s = busy.map(|percent| cpu_of_others(percent, real_s, worked.cpu_s));
    worked.looks = looks;
    worked.counters = (before, after);
    Ok(worked)
}

/// Starts a thread; `None` if the system refuses, which ends the load.
fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    (number, queue): (u32, &'scope Queue),
    shared: &'scope Shared<'_>,
) -> Option<ScopedJoinHandle<'scope, ()>> {
    let body = move || queue.work(shared);
    let spawned = thread::spawn_scoped(scope, format!("load {number}"), body);
    let failed = |e| {
        shared.fail(format!("cannot start a thread: {e}"));
        shared.running.fetch_sub(1, Ordering::Relaxed);
    };
    spawned.map_err(failed).ok()
}

/// Processor seconds of other programs while the machine was busy to so many percent for so many seconds, of
/// which this process used its own.
fn cpu_of_others(busy_percent: f64, seconds: f64, own_s: f64) -> f64 {
    let cpus = thread::available_cpus() as f64;
    (busy_percent / 100.0 * cpus * seconds - own_s).max(0.0)
}

/// Where so many sessions count their latencies.
fn histograms(sessions: u32) -> Result<Vec<Mutex<Histogram<u64>>>, StepError> {
    let histograms = 0..sessions.clamp(1, MOST_HISTOGRAMS);
    let made: Result<Vec<_>, _> = histograms
        .map(|_| new_histogram().map(Mutex::new))
        .collect();
    made.map_err(|e| StepError::Failed(e.to_string()))
}

/// A session, what it is to do, and its number.
type Working = (Box<dyn Session>, Box<dyn Job>, u64);

/// The sessions of a load, each in the database with its job.
fn open_sessions(
    target: &dyn Target,
    load: &Load,
    work: &dyn Work,
) -> Result<Vec<Working>, TargetError> {
    let open = |place: u32| -> Result<Working, TargetError> {
        let mut session = target.connect()?;
        session.batch(&format!("USE {};", quoted(&load.database)))?;
        let job = work.open(place, session.as_mut())?;
        let id = session_id(session.as_mut())?;
        Ok((session, job, id))
    };
    (0..load.sessions).map(open).collect()
}

fn gather(ended: &[Ended], shared: &Shared<'_>, start: Moment) -> Result<Worked, StepError> {
    let other = |e: String| StepError::Failed(e);
    let mut latency = new_histogram().map_err(|e| other(e.to_string()))?;
    for shared in &shared.latencies {
        let added = latency.add(&*shared.lock());
        added.map_err(|e| other(e.to_string()))?;
    }
    let last = ended.iter().map(|session| session.end).max();
    let mut end = last.unwrap_or(start);
    // A session that left because nothing more was due belongs to the load until its planned end: without
    // that time the rate of few sessions would be that of the part in which they happened to be busy.
    if let Some(seconds) = shared.load.end.seconds()
        && ended.iter().any(|session| session.tally.is_idle)
    {
        end = end.max(start.after(Duration::from_secs_f64(seconds.max(0.0))));
    }
    let paused_us = |session: &Ended| match session.tally.is_idle {
        true => session.tally.paused_us + end.since_us(session.end),
        false => session.tally.paused_us,
    };
    let first_end = shared.first_end.lock().take().unwrap_or_default();
    let spread = (
        first_end.iter().copied().min().unwrap_or(0),
        first_end.iter().copied().max().unwrap_or(0),
    );
    Ok(Worked {
        seconds: end.since_us(start).max(1) as f64 / 1e6,
        units: shared.units().iter().sum(),
        pieces: ended.iter().map(|session| session.tally.pieces).sum(),
        latency,
        is_closed: shared.load.rate.is_none(),
        paused_us: ended.iter().map(paused_us).sum(),
        queued: ended.iter().fold(Queued::default(), |all, session| {
            all.with(session.tally.queued)
        }),
        waits: Vec::new(),
        spread,
        looks: Vec::new(),
        counters: Default::default(),
        cpu_s: 0.0,
        cpu_other_s: None,
    })
}
