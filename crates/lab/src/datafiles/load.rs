//! The load of one run: sessions that insert side by side, and somebody who looks on.

pub(crate) use super::options::Load;
use super::target::{Connection, Counters, Pulse, Target};
use crate::experiment::new_histogram;
use furrow_io::thread;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_observe::waits::WaitSnapshot;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Between two looks.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// What the sessions did.
pub(crate) struct Worked {
    /// From the start of the first to the end of the last.
    pub(crate) seconds: f64,
    pub(crate) rows: u64,
    pub(crate) commits: u64,
    pub(crate) latency: Histogram<u64>,
    /// Waits of all sessions together, during the load alone.
    pub(crate) waits: Vec<WaitSnapshot>,
    /// Rows of the least and the most served session at the moment the first one ended.
    pub(crate) spread: (u64, u64),
    /// What was seen, tick by tick, the first one at the start.
    pub(crate) looks: Vec<Look>,
    /// Everything that is counted, before and after.
    pub(crate) counters: (Counters, Counters),
}

/// The state of things at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) at_s: f64,
    pub(crate) rows: u64,
    pub(crate) pulse: Pulse,
}

/// Why the load did not come to its end.
#[derive(Debug)]
pub(crate) enum LoadError {
    Cancelled,
    Failed(String),
}

struct Shared<'a> {
    go: AtomicBool,
    stop: AtomicBool,
    cancel: &'a AtomicBool,
    /// Rows committed, by session.
    done: Vec<AtomicU64>,
    running: AtomicU64,
    failure: Mutex<Option<String>>,
    /// Rows of each session when the first one had done its share.
    first_end: Mutex<Option<Vec<u64>>>,
}

impl Shared<'_> {
    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }

    fn rows(&self) -> Vec<u64> {
        self.done
            .iter()
            .map(|rows| rows.load(Ordering::Relaxed))
            .collect()
    }
}

struct Session {
    end: Moment,
    commits: u64,
    latency: Histogram<u64>,
    waits: Option<WaitSnapshot>,
}

/// Runs the load to its end. `look` is called every [`TICK`] with what was seen and the share done.
pub(crate) fn run(
    target: &dyn Target,
    load: Load,
    connections: u32,
    cancel: &AtomicBool,
    look: &mut dyn FnMut(&Look),
) -> Result<Worked, LoadError> {
    let fail = |e: String| LoadError::Failed(e);
    let mut sessions = Vec::new();
    for place in 0..connections {
        sessions.push(target.connect(place).map_err(fail)?);
    }
    let shared = Shared {
        go: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        cancel,
        done: (0..connections).map(|_| AtomicU64::new(0)).collect(),
        running: AtomicU64::new(u64::from(connections)),
        failure: Mutex::new(None),
        first_end: Mutex::new(None),
    };
    let shared = &shared;
    let before = target.counters();
    let (ended, looks, start) = thread::scope(|scope| {
        let mut handles = Vec::new();
        for (place, session) in sessions.into_iter().enumerate() {
            let share = share_of(load.rows, connections, place as u32);
            let body = move || work(session, share, load.rows_per_commit, place, shared);
            match thread::spawn_scoped(scope, format!("load {place}"), body) {
                Ok(handle) => handles.push(handle),
                Err(e) => {
                    shared
                        .failure
                        .lock()
                        .get_or_insert(format!("cannot start a thread: {e}"));
                    shared.stop.store(true, Ordering::Relaxed);
                    shared.running.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        let start = Moment::now();
        shared.go.store(true, Ordering::Release);
        let looks = look_on(target, shared, start, look);
        let ended: Vec<Option<Session>> = handles
            .into_iter()
            .map(|handle| handle.join().ok().flatten())
            .collect();
        (ended, looks, start)
    });
    if let Some(text) = shared.failure.lock().take() {
        return Err(LoadError::Failed(text));
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(LoadError::Cancelled);
    }
    let sessions: Option<Vec<Session>> = ended.into_iter().collect();
    let sessions = sessions.ok_or_else(|| fail("a session of the load panicked".into()))?;
    let counters = (before, target.counters());
    gather(&sessions, shared, (looks, counters), start).map_err(fail)
}

/// The rows of one of `connections` sessions; the first ones take what does not divide.
fn share_of(rows: u64, connections: u32, place: u32) -> u64 {
    let connections = u64::from(connections.max(1));
    rows / connections + u64::from(u64::from(place) < rows % connections)
}

fn work(
    mut session: Box<dyn Connection>,
    share: u64,
    rows_per_commit: u64,
    place: usize,
    shared: &Shared<'_>,
) -> Option<Session> {
    let result = insert_all(session.as_mut(), share, rows_per_commit, place, shared);
    if let Err(text) = &result {
        shared.failure.lock().get_or_insert_with(|| text.clone());
        shared.stop.store(true, Ordering::Relaxed);
    } else {
        let mut first = shared.first_end.lock();
        first.get_or_insert_with(|| shared.rows());
    }
    shared.running.fetch_sub(1, Ordering::Release);
    result.ok()
}

fn insert_all(
    session: &mut dyn Connection,
    share: u64,
    rows_per_commit: u64,
    place: usize,
    shared: &Shared<'_>,
) -> Result<Session, String> {
    let mut latency = new_histogram().map_err(|e| e.to_string())?;
    while !shared.go.load(Ordering::Acquire) {
        sleep(Duration::from_micros(200));
    }
    let before = session.waits();
    let (mut left, mut commits) = (share, 0);
    while left > 0 && !shared.must_stop() {
        let rows = left.min(rows_per_commit);
        let from = Moment::now();
        session.insert(rows)?;
        latency.saturating_record(from.elapsed_us().max(1));
        left -= rows;
        commits += 1;
        if let Some(done) = shared.done.get(place) {
            done.fetch_add(rows, Ordering::Relaxed);
        }
    }
    let end = Moment::now();
    let waits = match (before, session.waits()) {
        (Some(before), Some(after)) => Some(WaitSnapshot::delta(&before, &after)),
        _ => None,
    };
    Ok(Session {
        end,
        commits,
        latency,
        waits,
    })
}

fn look_on(
    target: &dyn Target,
    shared: &Shared<'_>,
    start: Moment,
    look: &mut dyn FnMut(&Look),
) -> Vec<Look> {
    let mut looks = Vec::new();
    loop {
        let running = shared.running.load(Ordering::Acquire) > 0;
        let seen = Look {
            at_s: start.elapsed_us() as f64 / 1e6,
            rows: shared.rows().iter().sum(),
            pulse: target.pulse(),
        };
        look(&seen);
        looks.push(seen);
        if !running {
            return looks;
        }
        let next = start.after(TICK * looks.len() as u32);
        while Moment::now() < next && shared.running.load(Ordering::Acquire) > 0 {
            sleep(next.since(Moment::now()).min(Duration::from_millis(10)));
        }
    }
}

fn gather(
    sessions: &[Session],
    shared: &Shared<'_>,
    (looks, counters): (Vec<Look>, (Counters, Counters)),
    start: Moment,
) -> Result<Worked, String> {
    let mut latency = new_histogram().map_err(|e| e.to_string())?;
    for session in sessions {
        latency.add(&session.latency).map_err(|e| e.to_string())?;
    }
    let end = sessions
        .iter()
        .map(|session| session.end)
        .max()
        .unwrap_or(start);
    let first_end = shared.first_end.lock().take().unwrap_or_default();
    let spread = (
        first_end.iter().copied().min().unwrap_or(0),
        first_end.iter().copied().max().unwrap_or(0),
    );
    Ok(Worked {
        seconds: end.since_us(start).max(1) as f64 / 1e6,
        rows: shared.rows().iter().sum(),
        commits: sessions.iter().map(|session| session.commits).sum(),
        latency,
        waits: sessions
            .iter()
            .filter_map(|session| session.waits.clone())
            .collect(),
        spread,
        looks,
        counters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_all_rows() {
        for (rows, connections) in [(100, 16), (7, 3), (5, 8), (0, 4)] {
            let all: u64 = (0..connections)
                .map(|place| share_of(rows, connections, place))
                .sum();
            assert_eq!(all, rows);
        }
    }
}
