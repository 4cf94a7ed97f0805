//! Real processes, really killed: `kill -9` at any moment, real files, many writers.
//!
//! Files grow extent by extent all the time, and now and then one is added.
//!
//! # A round
//! 1. The parent starts a child, which opens the database and works on it with many threads. Before a commit
//!    the child writes a line to its standard output with the changes of the commit, and another line after
//!    it was acknowledged. The contents of the pipe outlive the child.
//! 2. After a time that the seed chose, often while the child still recovers, the parent kills it.
//! 3. The parent reads the lines into its own model, opens the database, compares, checks its structures, and
//!    either closes it or abandons it as a killed process would.
//!
//! The system itself keeps running, so that nothing written is lost. This tests the real thing instead of the
//! model of a disk: locks on files, direct I/O, io_uring, time.

mod journal;

use crate::Finding;
use crate::crash::Figures;
use crate::engine::Engine;
use crate::model::{Cell, Model};
use crate::subject::{Failure, FullBackups, Layout, Store, Subject};
use crate::threads::{Book, Entry, work};
use crate::work::{Ledger, Work};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::thread::{JoinHandle, scope, spawn_named, spawn_scoped};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{SystemVolume, Volume};
use journal::Reader;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signal that no process can catch.
const KILLED: i32 = 9;
/// A child that has not opened its database by then is a finding.
const PATIENCE: Duration = Duration::from_secs(60);
/// Data files that are added, one after the other.
const MOST_FILES: u16 = 12;

/// How it is done.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The program with the `child` command.
    pub program: PathBuf,
    /// An empty directory.
    pub home: PathBuf,
    /// Decides layouts and times; threads decide the rest.
    pub seed: u64,
    /// How many kills.
    pub rounds: u32,
    /// Writers in a child.
    pub threads: usize,
}

fn volume() -> Arc<dyn Volume> {
    Arc::new(SystemVolume::new())
}

fn layout_of(seed: u64) -> Layout {
    let drawn = Layout::draw(&mut seeded(seed));
    let pool_pages = drawn.pool_pages.max(160);
    Layout {
        pool_pages,
        waits_for_locks: true,
        full_backups: FullBackups::Never,
        background: true,
        ..drawn
    }
}

/// The child: works until it is killed. Returns only when something is wrong.
pub fn child(home: &Path, seed: u64, round: u32, threads: usize) -> Result<(), Failure> {
    let engine = Engine {
        home: home.to_path_buf(),
    };
    let store = engine.open(volume(), &layout_of(seed))?;
    let mut model = Model::new();
    model.adopt(store.read_all()?);
    say(&[b"R\n"]);
    let journal = |entry: Entry<'_>| say(&[journal::line(&entry).as_bytes()]);
    let book = Book::new(model, (u64::from(round) + 1) << 32, Some(&journal));
    let served = scope(|all| {
        let serving = spawn_scoped(all, "service", || serve(&store, &book, seed));
        work(&store, &book, threads, seed.wrapping_add(u64::from(round)));
        serving
            .map_err(|e| Failure::Wrong(e.to_string()))?
            .join()
            .unwrap_or(Ok(()))
    });
    served?;
    let verdict = book.verdict().unwrap_or("all threads ended".to_owned());
    Err(Failure::Wrong(format!(
        "{verdict}; first gone: {:?}",
        book.gone()
    )))
}

/// Checkpoints, clean-ups and new files, now and then.
fn serve(store: &impl Store, book: &Book<'_>, seed: u64) -> Result<(), Failure> {
    let mut rng = seeded(seed);
    while !book.is_stopped() {
        sleep(Duration::from_millis(rng.random_range(1..=60)));
        let done = match rng.random_range(0..8) {
            0..4 => store.checkpoint(),
            4..7 => store.clean(),
            _ => add_file(store, book),
        };
        if let Err(failure) = done {
            book.stop();
            return Err(failure);
        }
    }
    Ok(())
}

/// Adds the next data file, while there are not too many; the commit is reported to the parent before and
/// after.
fn add_file(store: &impl Store, book: &Book<'_>) -> Result<(), Failure> {
    let next = (1..=MOST_FILES).find(|n| book.settled(Cell::File(*n)).is_none());
    let Some(number) = next else { return Ok(()) };
    let commit = book.begin(&[(Cell::File(number), Some(u64::from(number)))]);
    store.add_file(number)?;
    book.acknowledge(commit);
    Ok(())
}

/// Writes to the parent; without a parent the process ends.
fn say(parts: &[&[u8]]) {
    let mut out = std::io::stdout().lock();
    let said = parts
        .iter()
        .try_for_each(|part| out.write_all(part))
        .and_then(|()| out.flush());
    if said.is_err() {
        std::process::exit(1);
    }
}

/// Starts, kills and looks, round after round.
pub fn run(rounds: &Rounds, report: &dyn Fn(&str)) -> Result<Figures, Box<Finding>> {
    let mut rng = seeded(rounds.seed);
    let mut figures = Figures::default();
    let found = |round: u32, place: &str, what: String| {
        let place = format!("kill {round} of {} writers, {place}", rounds.threads);
        Box::new(Finding {
            seed: rounds.seed,
            place,
            what,
            steps: Vec::new(),
        })
    };
    let mut model = create(rounds).map_err(|e| found(0, "creating", e.to_string()))?;
    for round in 1..=rounds.rounds {
        let said = one_child(rounds, round, &mut rng).map_err(|e| found(round, "the child", e))?;
        let read = Reader::new(&mut model).read(&said);
        let commits = read.map_err(|e| found(round, "reading the journal", e))?;
        figures.kills += 1;
        figures.tally.commits += commits;
        figures.with_unanswered += u64::from(model.unanswered() > 0);
        let orderly = rng.random_ratio(1, 2);
        look(rounds, &mut model, &mut figures, orderly)
            .map_err(|(place, e)| found(round, place, e.to_string()))?;
        if round.is_multiple_of(20) {
            report(&format!("{round} kills, {} commits", figures.tally.commits));
        }
    }
    Ok(figures)
}

fn create(rounds: &Rounds) -> Result<Model, Failure> {
    let engine = Engine {
        home: rounds.home.clone(),
    };
    let store = engine.create(volume(), &layout_of(rounds.seed))?;
    let mut ledger = Ledger::new(seeded(rounds.seed));
    Work::begin(&store, &mut ledger, 1)?.create_lasting_tables()?;
    store.close()?;
    Ok(ledger.model)
}

/// Opens the database here and compares it with the model.
fn look(
    rounds: &Rounds,
    model: &mut Model,
    figures: &mut Figures,
    orderly: bool,
) -> Result<(), (&'static str, Failure)> {
    let engine = Engine {
        home: rounds.home.clone(),
    };
    let store = engine
        .open(volume(), &layout_of(rounds.seed))
        .map_err(|e| ("opening", e))?;
    let state = store.read_all().map_err(|e| ("reading all", e))?;
    let outcome = model
        .check(&state)
        .map_err(|e| ("comparing", Failure::Wrong(e.0)))?;
    figures.happened += outcome.happened;
    figures.vanished += outcome.vanished;
    store.audit().map_err(|e| ("auditing", e))?;
    model.adopt(state);
    if orderly {
        store.close().map_err(|e| ("closing", e))
    } else {
        store.abandon();
        Ok(())
    }
}

/// The output of a child until it was killed.
fn one_child(rounds: &Rounds, round: u32, rng: &mut SeededRng) -> Result<Vec<u8>, String> {
    let waits_for_ready = rng.random_ratio(4, 5);
    let life = Duration::from_micros(rng.random_range(100..=400_000));
    let mut child = Command::new(&rounds.program)
        .arg("child")
        .args(["--seed", &rounds.seed.to_string()])
        .args(["--round", &round.to_string()])
        .args(["--threads", &rounds.threads.to_string()])
        .arg(&rounds.home)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", rounds.program.display()))?;
    let ready = Arc::new(AtomicBool::new(false));
    let listening = listen(&mut child, &ready)?;
    let began = Moment::now();
    while waits_for_ready && !ready.load(Ordering::Relaxed) && began.elapsed() < PATIENCE {
        if listening.is_finished() {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    let was_late = began.elapsed() >= PATIENCE;
    sleep(life);
    child.kill().map_err(|e| e.to_string())?;
    let status = child.wait().map_err(|e| e.to_string())?;
    let said = listening
        .join()
        .map_err(|_| "the listener panicked".to_owned())?;
    match status.signal() {
        Some(KILLED) if !was_late => Ok(said),
        Some(KILLED) => Err(format!("had not opened the database after {PATIENCE:?}")),
        _ => Err(format!("ended by itself: {status}; its words are above")),
    }
}

/// Collects the output of a child.
fn listen(child: &mut Child, ready: &Arc<AtomicBool>) -> Result<JoinHandle<Vec<u8>>, String> {
    let mut out: ChildStdout = child.stdout.take().ok_or("the child has no output")?;
    let ready = Arc::clone(ready);
    let body = move || {
        let (mut said, mut part) = (Vec::new(), [0_u8; 16 << 10]);
        while let Ok(read @ 1..) = out.read(&mut part) {
            said.extend_from_slice(&part[..read]);
            ready.store(true, Ordering::Relaxed);
        }
        said
    };
    spawn_named("listener", body).map_err(|e| e.to_string())
}
