//! A long statement, and users who go on working beside it: how long it takes, and what they notice.
//!
//! Users work in a closed loop: they change rows of [`BUSY`], one durable commit each ([`BusyRows`]), or do
//! what another [`Work`] has. They work alone first, so that their rate beside the statement has something to
//! be held against.

use super::figures;
use super::load::{self, End, Job, Load, Work};
use super::place::failed;
use super::prepared::{BUSY, BUSY_ROWS, session_in};
use super::script::Script;
use crate::targets::{Session, StatementId, Target, TargetError, Value};
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_lab::experiment::{RunContext, StepError, new_histogram};
use furrow_lab::results::{Figure, Run};
use hdrhistogram::Histogram;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Users alone, and users beside the statement.
const PHASES: usize = 2;
const BESIDE: usize = 1;

/// `, 16 users beside it`, for the description of a load; nothing where there are none.
pub(crate) fn users_text(users: u32) -> String {
    match users {
        0 => String::new(),
        1 => ", 1 user beside it".to_owned(),
        users => format!(", {users} users beside it"),
    }
}

/// How a statement is run.
#[derive(Clone)]
pub(crate) struct Statement<'a> {
    /// Its text.
    pub(crate) text: String,
    /// The database whose files are counted, and in which users work.
    pub(crate) database: &'a str,
    /// Users beside it.
    pub(crate) users: u32,
    /// Seconds in which users work alone before.
    pub(crate) alone_s: f64,
    /// Directories of files, for the report.
    pub(crate) volumes: &'a [PathBuf],
    /// Sessions that run the statement once each, at the same time.
    pub(crate) sessions: u32,
    /// What users do.
    pub(crate) work: &'a dyn Work,
}

/// Users add 1 to a row of [`BUSY`] again and again.
#[derive(Debug)]
pub(crate) struct BusyRows;

struct BusyRow {
    update: StatementId,
    row: Value,
}

impl Work for BusyRows {
    fn open(&self, place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
        let text = format!("UPDATE {BUSY} SET n = n + 1 WHERE id = @id;");
        Ok(Box::new(BusyRow {
            update: session.prepare(&text, "@id int")?,
            row: Value::Int(i64::from(place) % BUSY_ROWS as i64 + 1),
        }))
    }
}

impl Job for BusyRow {
    fn next(&mut self, session: &mut dyn Session, _most: u64) -> Result<u64, TargetError> {
        session.execute(self.update, std::slice::from_ref(&self.row))?;
        Ok(1)
    }
}

struct Shared {
    stop: AtomicBool,
    phase: AtomicUsize,
}

type Latencies = [Histogram<u64>; PHASES];

struct Users {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<Latencies, TargetError>>>,
}

impl Users {
    fn start(target: &dyn Target, statement: &Statement<'_>) -> Result<Users, TargetError> {
        let mut users = Users {
            shared: Arc::new(Shared {
                stop: AtomicBool::new(false),
                phase: AtomicUsize::new(0),
            }),
            threads: Vec::new(),
        };
        for user in 0..statement.users {
            let mut session = session_in(target, statement.database)?;
            let mut job = statement.work.open(user, session.as_mut())?;
            let shared = Arc::clone(&users.shared);
            let body = move || {
                let other = |e: hdrhistogram::CreationError| TargetError::other(e.to_string());
                let mut latencies = [
                    new_histogram().map_err(other)?,
                    new_histogram().map_err(other)?,
                ];
                while !shared.stop.load(Ordering::Relaxed) {
                    let (begun, phase) = (Moment::now(), shared.phase.load(Ordering::Relaxed));
                    job.next(session.as_mut(), 1)?;
                    if let Some(of_phase) = latencies.get_mut(phase) {
                        of_phase.saturating_record(begun.elapsed_us().max(1));
                    }
                }
                Ok(latencies)
            };
            let thread = spawn_named(format!("user {user}"), body);
            users
                .threads
                .push(thread.map_err(|e| TargetError::other(e.to_string()))?);
        }
        Ok(users)
    }

    /// Ends the users; their latencies by phase.
    fn end(mut self) -> Result<Latencies, TargetError> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let other = |e: hdrhistogram::CreationError| TargetError::other(e.to_string());
        let mut all = [
            new_histogram().map_err(other)?,
            new_histogram().map_err(other)?,
        ];
        for thread in std::mem::take(&mut self.threads) {
            let ended = thread.join();
            let mine = ended.map_err(|_| TargetError::other("a user's thread panicked"))??;
            for (sum, part) in all.iter_mut().zip(&mine) {
                sum.add(part)
                    .map_err(|e| TargetError::other(e.to_string()))?;
            }
        }
        Ok(all)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs the statement once in each session; the response is the time until the last has ended, in seconds.
pub(crate) fn run(
    target: &dyn Target,
    statement: &Statement<'_>,
    word: &'static str,
    context: &mut RunContext<'_>,
) -> Result<Run, StepError> {
    let users = Users::start(target, statement).map_err(failed)?;
    let begun = Moment::now();
    while statement.users > 0 && begun.elapsed_us() as f64 / 1e6 < statement.alone_s {
        if context.is_cancelled() {
            return Err(StepError::Cancelled);
        }
        sleep(Duration::from_millis(10));
    }
    let alone_s = begun.elapsed_us() as f64 / 1e6;
    users.shared.phase.store(BESIDE, Ordering::Relaxed);
    let load = Load {
        database: statement.database.to_owned(),
        sessions: statement.sessions,
        end: End::Units(u64::from(statement.sessions)),
        rate: None,
        unit: word,
        looks_at_extents: false,
    };
    let script = Script {
        text: statement.text.clone(),
    };
    let worked = load::run(target, &load, &script, context);
    let latencies = users.end();
    let (worked, latencies) = (worked?, latencies.map_err(failed)?);
    let mut run = Run::default();
    figures::fill(&mut run, &worked, word, word, statement.volumes);
    run.response = Some(worked.seconds);
    if statement.users > 0 {
        let [alone, beside] = &latencies;
        let rate = alone.len() as f64 / alone_s.max(1e-6);
        let kept = beside.len() as f64 / worked.seconds.max(1e-6);
        let p99 = |latency: &Histogram<u64>| latency.value_at_quantile(0.99) as f64 / 1e3;
        run.commits_per_s = Some(kept);
        run.figures.extend([
            Figure::higher("users' commits kept", "%", 100.0 * kept / rate.max(1e-6)),
            Figure::neutral("users' commits alone", "commits/s", rate),
            Figure::lower("users' p99", "ms", p99(beside)),
            Figure::neutral("users' p99 alone", "ms", p99(alone)),
        ]);
    }
    Ok(run)
}
