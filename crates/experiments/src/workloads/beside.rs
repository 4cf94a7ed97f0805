//! A long statement, and users who go on working beside it: how long it takes, and what they notice.
//!
//! Users work in a closed loop: they change rows of [`BUSY`], one durable commit each ([`BusyRows`]), or do
//! what another [`Work`] has. They work alone first, so that their rate beside the statement has something to
//! be held against. A transaction counts as one beside the statement where it begins while a session runs it:
//! opening the sessions and reading counters belong to neither time.

use super::figures;
use super::load::{self, End, Job, Load, Piece, Work};
use super::place::failed;
use super::prepared::{BUSY, BUSY_ROWS, session_in};
use super::script::Script;
use crate::targets::{Session, StatementId, Target, TargetError, Value};
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_lab::experiment::{RunContext, StepError, new_histogram};
use furrow_lab::results::{Figure, Run};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Users alone, and users beside the statement; any other phase counts for neither.
const PHASES: usize = 2;
const ALONE: usize = 0;
const BESIDE: usize = 1;
const UNCOUNTED: usize = PHASES;

/// Seconds that users work alone at most before one of their transactions counts.
const MOST_ALONE_S: f64 = 60.0;

/// The rows that the statement gave, those of each session.
pub(crate) type Answers = Arc<Mutex<Vec<Vec<Vec<Value>>>>>;

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
    /// What an error of the statement is to the run: `failed`, or `wrong` where the statement checks data.
    pub(crate) failure: fn(TargetError) -> StepError,
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
    fn next(&mut self, session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        session.execute(self.update, std::slice::from_ref(&self.row))?;
        Ok(1)
    }
}

struct Shared {
    stop: AtomicBool,
    phase: AtomicUsize,
    /// Transactions of users that count as alone.
    alone: AtomicU64,
    /// Whether a user has ended with an error.
    has_failed: AtomicBool,
    /// Sessions that have not run the statement to its end.
    left: AtomicUsize,
    /// When the first session began the statement, and when the last one had ended it.
    span: Mutex<(Option<Moment>, Option<Moment>)>,
    /// The first error of the statement.
    error: Mutex<Option<TargetError>>,
}

impl Shared {
    fn new(sessions: u32) -> Shared {
        Shared {
            stop: AtomicBool::new(false),
            phase: AtomicUsize::new(UNCOUNTED),
            alone: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            left: AtomicUsize::new(sessions as usize),
            span: Mutex::new((None, None)),
            error: Mutex::new(None),
        }
    }

    /// A session begins the statement.
    fn begin(&self) {
        let mut span = self.span.lock();
        if span.0.is_none() {
            span.0 = Some(Moment::now());
            self.phase.store(BESIDE, Ordering::Relaxed);
        }
    }

    /// A session has ended it.
    fn end(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.phase.store(UNCOUNTED, Ordering::Relaxed);
            self.span.lock().1 = Some(Moment::now());
        }
    }

    /// Seconds in which sessions ran it.
    fn seconds(&self) -> f64 {
        match *self.span.lock() {
            (Some(begun), Some(ended)) => ended.since_us(begun) as f64 / 1e6,
            _ => 0.0,
        }
    }
}

/// The statement, which each session runs once: users beside it count from the first one's beginning to the
/// last one's end.
struct Timed {
    script: Script,
    shared: Arc<Shared>,
    /// Where its rows go; they are thrown away without.
    answers: Option<Answers>,
}

impl Work for Timed {
    fn open(&self, place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
        let job: Box<dyn Job> = match &self.answers {
            None => self.script.open(place, session)?,
            Some(answers) => Box::new(Asking {
                statement: session.prepare(&self.script.text, "")?,
                answers: Arc::clone(answers),
            }),
        };
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(TimedJob { job, shared }))
    }
}

struct TimedJob {
    job: Box<dyn Job>,
    shared: Arc<Shared>,
}

impl Job for TimedJob {
    fn next(&mut self, session: &mut dyn Session, piece: Piece) -> Result<u64, TargetError> {
        self.shared.begin();
        let done = self.job.next(session, piece);
        if let Err(error) = &done {
            let mut first = self.shared.error.lock();
            first.get_or_insert_with(|| error.clone());
        }
        self.shared.end();
        done
    }
}

/// Keeps the rows of a statement.
struct Asking {
    statement: StatementId,
    answers: Answers,
}

impl Job for Asking {
    fn next(&mut self, session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
        let reply = session.query(self.statement, &[])?;
        self.answers.lock().push(reply.rows);
        Ok(1)
    }
}

type Latencies = [Histogram<u64>; PHASES];

/// Works until the users are to end; the latencies by phase.
fn work_as_user(
    session: &mut dyn Session,
    job: &mut dyn Job,
    shared: &Shared,
) -> Result<Latencies, TargetError> {
    let other = |e: hdrhistogram::CreationError| TargetError::other(e.to_string());
    let mut latencies = [
        new_histogram().map_err(other)?,
        new_histogram().map_err(other)?,
    ];
    while !shared.stop.load(Ordering::Relaxed) {
        let (piece, phase) = (Piece::now(1), shared.phase.load(Ordering::Relaxed));
        job.next(session, piece)?;
        if let Some(of_phase) = latencies.get_mut(phase) {
            of_phase.saturating_record(piece.from.elapsed_us().max(1));
        }
        if phase == ALONE {
            shared.alone.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(latencies)
}

struct Users {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<Latencies, TargetError>>>,
}

impl Users {
    fn start(target: &dyn Target, statement: &Statement<'_>) -> Result<Users, TargetError> {
        let mut users = Users {
            shared: Arc::new(Shared::new(statement.sessions)),
            threads: Vec::new(),
        };
        for user in 0..statement.users {
            let mut session = session_in(target, statement.database)?;
            let mut job = statement.work.open(user, session.as_mut())?;
            let shared = Arc::clone(&users.shared);
            let body = move || {
                let worked = work_as_user(session.as_mut(), job.as_mut(), &shared);
                if worked.is_err() {
                    shared.has_failed.store(true, Ordering::Relaxed);
                }
                worked
            };
            let thread = spawn_named(format!("user {user}"), body);
            users
                .threads
                .push(thread.map_err(|e| TargetError::other(e.to_string()))?);
        }
        Ok(users)
    }

    /// Lets users work alone: for so many seconds, and until one of their transactions counts, so that there
    /// is a rate to compare with. Gives the seconds that it took.
    fn alone(&self, least_s: f64, is_cancelled: &dyn Fn() -> bool) -> Result<f64, StepError> {
        let begun = Moment::now();
        let took_s = || begun.elapsed_us() as f64 / 1e6;
        self.shared.phase.store(ALONE, Ordering::Relaxed);
        let is_enough = || {
            let has_rate = self.shared.alone.load(Ordering::Relaxed) > 0;
            let has_failed = self.shared.has_failed.load(Ordering::Relaxed);
            took_s() >= least_s && (has_rate || has_failed || took_s() >= MOST_ALONE_S)
        };
        while !self.threads.is_empty() && !is_enough() {
            if is_cancelled() {
                return Err(StepError::Cancelled);
            }
            sleep(Duration::from_millis(10));
        }
        let alone_s = took_s();
        self.shared.phase.store(UNCOUNTED, Ordering::Relaxed);
        Ok(alone_s)
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

/// The 99th percentile in milliseconds; `None` of fewer than a hundred transactions, which have none.
fn p99_ms(latency: &Histogram<u64>) -> Option<f64> {
    (latency.len() >= 100).then(|| latency.value_at_quantile(0.99) as f64 / 1e3)
}

/// The processor seconds of other programs while the statement ran, by those of the whole load.
fn cpu_of_others(of_load_s: f64, (load_s, statement_s): (f64, f64)) -> f64 {
    of_load_s * (statement_s / load_s.max(1e-9)).min(1.0)
}

/// Runs the statement once in each session; the response is the seconds from when the first session begins it
/// until the last has ended it.
pub(crate) fn run(
    target: &dyn Target,
    statement: &Statement<'_>,
    word: &'static str,
    context: &mut RunContext<'_>,
) -> Result<Run, StepError> {
    run_keeping(target, statement, (word, None), context)
}

/// The same; the rows that it gives go to `answers`.
pub(crate) fn run_keeping(
    target: &dyn Target,
    statement: &Statement<'_>,
    (word, answers): (&'static str, Option<Answers>),
    context: &mut RunContext<'_>,
) -> Result<Run, StepError> {
    let users = Users::start(target, statement).map_err(failed)?;
    let shared = Arc::clone(&users.shared);
    let alone_s = users.alone(statement.alone_s, &|| context.is_cancelled())?;
    let load = Load {
        database: statement.database.to_owned(),
        sessions: statement.sessions,
        end: End::Units(u64::from(statement.sessions)),
        rate: None,
        unit: word,
        looks_at_extents: false,
    };
    let timed = Timed {
        script: Script {
            text: statement.text.clone(),
        },
        shared: Arc::clone(&shared),
        answers,
    };
    let worked = load::run(target, &load, &timed, context);
    let latencies = users.end();
    let error = shared.error.lock().take();
    // Where users met want of a resource, such as a failed log, that is why the statement failed, too.
    let of_users = latencies.as_ref().err();
    let of_users = of_users.filter(|e| worked.is_err() && e.is_of_resources());
    if let Some(cause) = of_users {
        return Err(failed(cause.clone()));
    }
    let mut worked = match (worked, error) {
        // The load has the text of the error alone.
        (Err(StepError::Failed(_)), Some(error)) => return Err((statement.failure)(error)),
        (worked, _) => worked?,
    };
    let latencies = latencies.map_err(failed)?;
    // Starting the threads of the sessions takes several times as long as a short statement.
    let statement_s = shared.seconds().max(1e-6);
    let times = (worked.seconds, statement_s);
    worked.cpu_other_s = worked.cpu_other_s.map(|s| cpu_of_others(s, times));
    worked.seconds = statement_s;
    let mut run = Run::default();
    figures::fill(&mut run, &worked, word, word, statement.volumes);
    run.response = Some(worked.seconds);
    if statement.users > 0 {
        let [alone, beside] = &latencies;
        let rate = alone.len() as f64 / alone_s.max(1e-6);
        let kept = beside.len() as f64 / shared.seconds().max(1e-6);
        run.commits_per_s = Some(kept);
        // Users that did nothing alone have no rate of which a part could be kept.
        let share = (rate > 0.0).then(|| 100.0 * kept / rate);
        run.figures
            .extend(share.map(|share| Figure::higher("users' commits kept", "%", share)));
        let rate = Figure::neutral("users' commits alone", "commits/s", rate);
        run.figures.push(rate);
        let p99 = p99_ms(beside).map(|ms| Figure::lower("users' p99", "ms", ms));
        let p99_alone = p99_ms(alone).map(|ms| Figure::neutral("users' p99 alone", "ms", ms));
        run.figures.extend(p99.into_iter().chain(p99_alone));
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::recorded::Recorded;

    #[test]
    fn a_percentile_that_few_transactions_do_not_have_is_left_out() {
        let of = |transactions: u64| {
            let mut latency = new_histogram().unwrap();
            (1..=transactions).for_each(|n| latency.saturating_record(1_000 * n));
            p99_ms(&latency)
        };
        assert_eq!((of(0), of(99)), (None, None));
        assert!((of(100).unwrap() - 99.0).abs() < 0.2, "{:?}", of(100));
    }

    /// Notes the phase that users are in while the statement runs.
    struct Looks(Arc<Shared>, Arc<Mutex<Vec<usize>>>);

    impl Job for Looks {
        fn next(&mut self, _session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
            self.1.lock().push(self.0.phase.load(Ordering::Relaxed));
            sleep(Duration::from_millis(2));
            Ok(1)
        }
    }

    /// A transaction that takes longer than users are to be alone, or fails.
    struct Slow {
        is_broken: bool,
    }

    impl Work for Slow {
        fn open(&self, _place: u32, _: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
            let is_broken = self.is_broken;
            Ok(Box::new(Slow { is_broken }))
        }
    }

    impl Job for Slow {
        fn next(&mut self, _session: &mut dyn Session, _piece: Piece) -> Result<u64, TargetError> {
            sleep(Duration::from_millis(60));
            match self.is_broken {
                true => Err(TargetError::other("broken")),
                false => Ok(1),
            }
        }
    }

    #[test]
    fn users_are_alone_until_one_of_their_transactions_counts_or_one_has_failed() {
        for is_broken in [false, true] {
            let target = Recorded::default();
            let statement = Statement {
                text: String::new(),
                database: "d",
                users: 1,
                alone_s: 0.001,
                volumes: &[],
                sessions: 1,
                work: &Slow { is_broken },
                failure: failed,
            };
            let users = Users::start(&target, &statement).unwrap();
            let (cancel, shared) = (AtomicBool::new(false), Arc::clone(&users.shared));
            let alone_s = users.alone(statement.alone_s, &|| cancel.load(Ordering::Relaxed));
            let alone_s = alone_s.unwrap();
            assert!(alone_s < MOST_ALONE_S, "{alone_s}");
            assert_eq!(shared.alone.load(Ordering::Relaxed) > 0, !is_broken);
            assert_eq!(users.end().is_err(), is_broken);
        }
    }

    #[test]
    fn others_have_their_part_of_the_time_of_the_statement() {
        // Two processors' worth before and after.
        let other_s = cpu_of_others(0.04, (0.02, 0.002));
        assert!((other_s - 0.004).abs() < 1e-12, "{other_s}");
        assert_eq!(cpu_of_others(0.04, (0.02, 0.03)), 0.04);
    }

    #[test]
    fn users_count_while_a_session_runs_the_statement_and_no_longer() {
        let shared = Arc::new(Shared::new(2));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let phase = || shared.phase.load(Ordering::Relaxed);
        let mut session = Recorded::default().connect().unwrap();
        let job = || TimedJob {
            job: Box::new(Looks(Arc::clone(&shared), Arc::clone(&seen))),
            shared: Arc::clone(&shared),
        };
        let (mut first, mut second) = (job(), job());
        assert_eq!(phase(), UNCOUNTED, "sessions are being opened");
        let begun = Moment::now();
        first.next(session.as_mut(), Piece::now(1)).unwrap();
        assert_eq!(phase(), BESIDE, "one has not run it yet");
        second.next(session.as_mut(), Piece::now(1)).unwrap();
        let most_s = begun.elapsed_us() as f64 / 1e6;
        assert_eq!(phase(), UNCOUNTED, "counters are being read");
        assert_eq!(*seen.lock(), [BESIDE, BESIDE]);
        let seconds = shared.seconds();
        sleep(Duration::from_millis(5));
        assert!(
            (0.004..=most_s + 1e-6).contains(&seconds),
            "{seconds} of {most_s}"
        );
        assert_eq!(shared.seconds(), seconds, "what follows is not in it");
    }
}
