//! Sessions that work side by side on a target, and an observer that looks on.
//!
//! A [`Work`] opens a [`Job`] in each session. A job does one unit at a time: a transaction, a script, a
//! scan. The load ends when all units are done ([`End::Units`]) or the time is over ([`End::Seconds`]). In a
//! closed loop a session starts the next unit when the last one has ended. With [`Load::rate`] units are due
//! at fixed times, and a latency counts from when its unit was due: what waits behind a stall is seen.

use super::place::failed;
use crate::targets::{
    Counters, Session, Target, TargetError, Value, WaitCounters, quoted, read_waits, session_id,
};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{host, process, thread};
use furrow_lab::experiment::{RunContext, StepError, new_histogram};
use furrow_lab::terminal::Live;
use hdrhistogram::Histogram;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Histograms of latency at most: more sessions share them, so that many sessions take no more memory.
const MOST_HISTOGRAMS: u32 = 32;

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
}

/// What one session does.
pub trait Job: Send {
    /// How long the session rests before its next piece of work; not counted as latency. Asked before each
    /// piece, unless the load has a rate.
    fn pause(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Does the next piece of work, of at most `most` units; gives how many it did, 1 at least.
    fn next(&mut self, session: &mut dyn Session, most: u64) -> Result<u64, TargetError>;
}

/// What the sessions did.
#[derive(Debug)]
pub struct Worked {
    /// From the start of the first session to the end of the last.
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
    /// until the last session ended where nothing more was due.
    pub paused_us: u64,
    /// Microseconds from when each piece was due until its session began it; 0 without a rate.
    pub queued_us: u64,
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
    go: Mutex<bool>,
    went: Condvar,
    stop: AtomicBool,
    cancel: &'a AtomicBool,
    /// When it went, in microseconds of the clock of this process.
    start: Mutex<Option<Moment>>,
    done: Vec<AtomicU64>,
    running: AtomicU64,
    failure: Mutex<Option<String>>,
    latencies: Vec<Mutex<Histogram<u64>>>,
    /// Units of each session when the first one had done its share.
    first_end: Mutex<Option<Vec<u64>>>,
}

impl<'a> Shared<'a> {
    fn new(load: &'a Load, cancel: &'a AtomicBool) -> Result<Shared<'a>, StepError> {
        Ok(Shared {
            load,
            go: Mutex::new(false),
            went: Condvar::new(),
            stop: AtomicBool::new(false),
            cancel,
            start: Mutex::new(None),
            done: (0..load.sessions).map(|_| AtomicU64::new(0)).collect(),
            running: AtomicU64::new(u64::from(load.sessions)),
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
    fn go(&self) {
        *self.go.lock() = true;
        self.went.notify_all();
    }

    /// Hundreds of threads that looked again and again would keep the processors from starting the others.
    fn wait_for_go(&self) {
        let mut go = self.go.lock();
        while !*go && !self.must_stop() {
            self.went.wait_for(&mut go, Duration::from_millis(100));
        }
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

/// The pieces of work of one session, and the time in which it did none because the load asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    pieces: u64,
    /// Slept before a piece: its pause, or until it was due.
    paused_us: u64,
    /// From when each piece was due until it was begun.
    queued_us: u64,
    /// Left before the load ended, because nothing more was due until then.
    is_idle: bool,
}

struct Ended {
    end: Moment,
    tally: Tally,
    #[expect(
        dead_code,
        reason = "a session stays open until its waits have been read"
    )]
    session: Box<dyn Session>,
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
    let shared = &Shared::new(load, context.cancel_flag())?;
    let before = observer.counters().map_err(failed)?;
    let waits = read_waits(observer.session.as_mut(), &ids).map_err(failed)?;
    // Before the load begins: what it takes is counted from here.
    let first = observer.look().map_err(failed)?;
    let (cpu, ticks) = (process::cpu_times(), host::cpu_ticks());
    let (ended, looks, start) = thread::scope(|scope| {
        let mut handles = Vec::new();
        for (place, (session, job, _)) in sessions.into_iter().enumerate() {
            let body = move || worker(session, job, place, shared);
            match thread::spawn_scoped(scope, format!("load {place}"), body) {
                Ok(handle) => handles.push(handle),
                Err(e) => {
                    shared.fail(format!("cannot start a thread: {e}"));
                    shared.running.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        let start = Moment::now();
        *shared.start.lock() = Some(start);
        shared.go();
        let looks = look_on(&mut observer, shared, &cancels, (start, first), context);
        let ended: Vec<Option<Ended>> = handles
            .into_iter()
            .map(|handle| handle.join().ok().flatten())
            .collect();
        (ended, looks, start)
    });
    if shared.cancel.load(Ordering::Relaxed) {
        return Err(StepError::Cancelled);
    }
    if let Some(text) = shared.failure.lock().take() {
        return Err(StepError::Failed(text));
    }
    let ended: Option<Vec<Ended>> = ended.into_iter().collect();
    let ended = ended.ok_or_else(|| StepError::Failed("a session of the load panicked".into()))?;
    let mut worked = gather(&ended, shared, start)?;
    // What reading the counters costs is no part of the load.
    worked.cpu_s = process::cpu_times().total_ns.saturating_sub(cpu.total_ns) as f64 / 1e9;
    let busy = ticks
        .zip(host::cpu_ticks())
        .and_then(|(a, b)| b.busy_percent_since(a));
    let after = observer.counters().map_err(failed)?;
    let later = read_waits(observer.session.as_mut(), &ids).map_err(failed)?;
    drop(ended);
    worked.waits = waits.into_iter().zip(later).collect();
    worked.cpu_other_s = busy.map(|percent| cpu_of_others(percent, &worked));
    worked.looks = looks;
    worked.counters = (before, after);
    Ok(worked)
}

/// Processor seconds of other programs while the machine was busy to so many percent.
fn cpu_of_others(busy_percent: f64, worked: &Worked) -> f64 {
    let cpus = thread::available_cpus() as f64;
    (busy_percent / 100.0 * cpus * worked.seconds - worked.cpu_s).max(0.0)
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

/// The units of one of `sessions` sessions; the first ones take what does not divide.
fn share_of(units: u64, sessions: u32, place: usize) -> u64 {
    let sessions = u64::from(sessions.max(1));
    units / sessions + u64::from((place as u64) < units % sessions)
}

fn worker(
    mut session: Box<dyn Session>,
    mut job: Box<dyn Job>,
    place: usize,
    shared: &Shared<'_>,
) -> Option<Ended> {
    let result = work_on(session.as_mut(), job.as_mut(), place, shared);
    let end = Moment::now();
    match &result {
        Err(error) => shared.fail(error.full()),
        Ok(_) => {
            let mut first = shared.first_end.lock();
            first.get_or_insert_with(|| shared.units());
        }
    }
    shared.running.fetch_sub(1, Ordering::Release);
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
fn wait_until(due: Moment, over: Option<Moment>, shared: &Shared<'_>, tally: &mut Tally) -> bool {
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

/// A session of its own that reads counters.
struct Observer<'a> {
    target: &'a dyn Target,
    load: &'a Load,
    session: Box<dyn Session>,
}

impl<'a> Observer<'a> {
    fn new(target: &'a dyn Target, load: &'a Load) -> Result<Observer<'a>, TargetError> {
        let mut session = target.connect()?;
        session.batch(&format!("USE {};", quoted(&load.database)))?;
        Ok(Observer {
            target,
            load,
            session,
        })
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        let session = self.session.as_mut();
        self.target.counters(session, &self.load.database)
    }

    /// The few figures that are looked at ten times a second.
    fn look(&mut self) -> Result<Look, TargetError> {
        let pages = self.session.batch(
            "SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters WHERE counter_name IN \
             (N'Checkpoint pages/sec', N'Background writer pages/sec', N'Lazy writes/sec');",
        )?;
        let mut look = Look::default();
        for row in &pages.rows {
            let [name, value] = row.as_slice() else {
                continue;
            };
            match name.to_string().as_str() {
                "Lazy writes/sec" => look.lazy_pages += value.count(),
                _ => look.checkpoint_pages += value.count(),
            }
        }
        let sizes = self.session.batch(
            "SELECT size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) ORDER BY file_id;",
        )?;
        let size = |row: &Vec<Value>| row.first().map_or(0, Value::count);
        look.sizes = sizes.rows.iter().map(size).collect();
        if self.load.looks_at_extents {
            let free = self.session.batch(
                "SELECT file_id, unallocated_extent_page_count / 8 FROM sys.dm_db_file_space_usage;",
            )?;
            let file = |row: &Vec<Value>| match row.as_slice() {
                [id, free] => Some((u32::try_from(id.count()).ok()?, free.count())),
                _ => None,
            };
            look.free_extents = free.rows.iter().filter_map(file).collect();
        }
        Ok(look)
    }
}

fn look_on(
    observer: &mut Observer<'_>,
    shared: &Shared<'_>,
    cancels: &[Box<dyn Fn() + Send + Sync>],
    (start, first): (Moment, Look),
    context: &mut RunContext<'_>,
) -> Vec<Look> {
    let mut looks: Vec<Look> = vec![first];
    loop {
        let next = start.after(TICK * looks.len() as u32);
        while Moment::now() < next && shared.running.load(Ordering::Acquire) > 0 {
            sleep(next.since(Moment::now()).min(Duration::from_millis(10)));
        }
        let running = shared.running.load(Ordering::Acquire) > 0;
        if shared.must_stop() {
            cancels.iter().for_each(|cancel| cancel());
        }
        match observer.look() {
            Ok(look) => looks.push(Look {
                at_s: start.elapsed_us() as f64 / 1e6,
                units: shared.units().iter().sum(),
                ..look
            }),
            Err(error) => shared.fail(format!("counters cannot be read: {}", error.full())),
        }
        show(&looks, shared.load, context);
        if !running {
            return looks;
        }
    }
}

/// Shows how far the load has come, with the rate of the last second.
fn show(looks: &[Look], load: &Load, context: &mut RunContext<'_>) {
    let Some(look) = looks.last() else { return };
    let before = looks.iter().rev().find(|b| look.at_s - b.at_s >= 1.0);
    let rate = before
        .or(looks.first())
        .map(|b| look.units.saturating_sub(b.units) as f64 / (look.at_s - b.at_s).max(1e-3));
    let of_units = load
        .end
        .units()
        .map(|units| look.units as f64 / units.max(1) as f64);
    let of_time = load
        .end
        .seconds()
        .map(|seconds| look.at_s / seconds.max(1e-3));
    let share = of_units.unwrap_or(0.0).max(of_time.unwrap_or(0.0));
    context.live(&Live {
        share: Some(share.min(1.0)),
        rate,
        rate_unit: format!("{}/s", load.unit),
        free_bytes: None,
    });
}

fn gather(ended: &[Ended], shared: &Shared<'_>, start: Moment) -> Result<Worked, StepError> {
    let other = |e: String| StepError::Failed(e);
    let mut latency = new_histogram().map_err(|e| other(e.to_string()))?;
    for shared in &shared.latencies {
        let added = latency.add(&*shared.lock());
        added.map_err(|e| other(e.to_string()))?;
    }
    let end = ended
        .iter()
        .map(|session| session.end)
        .max()
        .unwrap_or(start);
    // A session that left because nothing more was due has nothing to do until the last one ends.
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
        queued_us: ended.iter().map(|session| session.tally.queued_us).sum(),
        waits: Vec::new(),
        spread,
        looks: Vec::new(),
        counters: Default::default(),
        cpu_s: 0.0,
        cpu_other_s: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn sleep_is_counted_up_to_the_end_of_the_last_session() {
        let long = Duration::from_secs(3_600);
        let paced = |first_ms: u64| Paced(vec![long, Duration::from_millis(first_ms)]);
        // The only session leaves long before the planned end, and the load ends with it.
        let one = work_of(vec![paced(50)], End::Seconds(600.0));
        assert!(one.seconds < 600.0 && one.pieces == 1, "{one:?}");
        let slept_us = 50_000..=(one.seconds * 1e6).round() as u64;
        assert!(slept_us.contains(&one.paused_us), "{one:?}");
        // One that leaves while another works has nothing to do up to the end of the other.
        let jobs = vec![Paced(vec![long]), Paced(vec![Duration::from_millis(50)])];
        let both = work_of(
            jobs,
            End::Within {
                seconds: 600.0,
                units: 2,
            },
        );
        assert!(both.seconds < 600.0 && both.pieces == 1, "{both:?}");
        assert!(both.paused_us >= 100_000, "{both:?}");
        assert!(
            both.paused_us as f64 <= 2.0 * both.seconds * 1e6 + 1.0,
            "{both:?}"
        );
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
}
