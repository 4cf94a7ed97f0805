//! Work by many threads at once, as users do it: they wait for each other's locks, deadlock, and are all
//! cut off in the middle.
//!
//! Keys have owners. The answer for a key that only one thread uses is predicted as exactly as on a single
//! thread. On shared keys a thread accepts the store's answers, and the locks that it holds until its commit
//! put the commits on a key in order. The [`Book`] records a commit before it is requested, and its answer
//! after.

mod worker;

use crate::Finding;
use crate::crash::{Figures, draw_outcome};
use crate::model::{Cell, Commit, Content, Model};
use crate::subject::{Failure, FullBackups, Layout, Store, Subject};
use crate::work::{Ledger, Tally, Work};
use furrow_io::SimVolume;
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sim::{Effect, Fault, Ops, SimOptions};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, sleep};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use worker::Worker;

/// Hears of commits, in the order in which the model does.
pub type Journal<'a> = &'a (dyn Fn(Entry<'_>) + Sync);

/// An entry of a journal.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A commit is about to be requested.
    Begun(Commit, &'a [(Cell, Content)]),
    /// It was acknowledged.
    Acknowledged(Commit),
}

/// What the threads share.
pub struct Book<'a> {
    model: Mutex<Model>,
    version: AtomicU64,
    stop: AtomicBool,
    wrong: Mutex<Option<String>>,
    gone: Mutex<Option<String>>,
    tally: Mutex<Tally>,
    journal: Option<Journal<'a>>,
}

impl std::fmt::Debug for Book<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Book(version {})", self.version.load(Ordering::Relaxed))
    }
}

impl<'a> Book<'a> {
    /// Of a store in the state of `model`; versions are given out behind `version`.
    pub fn new(model: Model, version: u64, journal: Option<Journal<'a>>) -> Book<'a> {
        Book {
            model: Mutex::new(model),
            version: AtomicU64::new(version),
            stop: AtomicBool::new(false),
            wrong: Mutex::new(None),
            gone: Mutex::new(None),
            tally: Mutex::new(Tally::default()),
            journal,
        }
    }

    /// Requests all threads to end after their present step.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether all threads are to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn settled(&self, cell: Cell) -> Content {
        self.model.lock().settled().get(&cell).copied()
    }

    pub(crate) fn begin(&self, effects: &[(Cell, Content)]) -> Commit {
        let mut model = self.model.lock();
        let commit = model.begin_commit(effects);
        if let Some(journal) = self.journal {
            journal(Entry::Begun(commit, effects));
        }
        commit
    }

    pub(crate) fn acknowledge(&self, commit: Commit) {
        let mut model = self.model.lock();
        model.acknowledge(commit);
        if let Some(journal) = self.journal {
            journal(Entry::Acknowledged(commit));
        }
    }

    /// What a thread has found wrong, if any has.
    pub fn verdict(&self) -> Option<String> {
        self.wrong.lock().clone()
    }

    /// Why the store is gone, as the first thread that noticed has it.
    pub fn gone(&self) -> Option<String> {
        self.gone.lock().clone()
    }

    fn find(&self, what: String) {
        self.stop();
        self.wrong.lock().get_or_insert(what);
    }
}

/// Lets so many threads work until they are stopped, the store is gone, or one finds something wrong.
pub fn work<S: Store>(store: &S, book: &Book<'_>, threads: usize, seed: u64)
where
    S::Session: Send,
{
    scope(|all| {
        for number in 0..threads {
            let body = move || {
                let rng = seeded(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
                let ended = store
                    .session()
                    .and_then(|session| Worker::new(session, book, rng, (number, threads)).work());
                match ended {
                    Ok(()) => {}
                    Err(Failure::Gone(why)) => {
                        book.gone.lock().get_or_insert(why);
                    }
                    Err(other) => book.find(format!("thread {number}: {other}")),
                }
            };
            if let Err(error) = spawn_scoped(all, format!("writer {number}"), body) {
                book.find(error.to_string());
            }
        }
    });
}

/// How many threads work in a cycle. Few as well: with many, some transaction is always open, and recovery
/// never meets a log without one.
fn some_of(rng: &mut SeededRng, threads: usize) -> usize {
    match rng.random_ratio(1, 3) {
        true => rng.random_range(1..=threads.min(2)),
        false => threads,
    }
}

/// Cycles of work by `threads` threads at the most, power loss and recovery, on a simulated machine.
pub fn run<S: Subject>(
    subject: &S,
    seed: u64,
    threads: usize,
    cycles: u32,
) -> Result<Figures, Box<Finding>> {
    let mut rng = seeded(seed);
    let layout = Layout {
        waits_for_locks: true,
        full_backups: FullBackups::Never,
        background: true,
        ..Layout::draw(&mut rng)
    };
    let mut volume = SimVolume::new(SimOptions {
        seed,
        ..SimOptions::default()
    });
    let found = |place: String, what: String| {
        Box::new(Finding {
            seed,
            place,
            what: format!("{what}\n{layout:?}"),
            steps: Vec::new(),
        })
    };
    let begun = begin(subject, &volume, &layout, seed);
    let (mut store, ledger) = begun.map_err(|e| found("creating".to_owned(), e.to_string()))?;
    let (mut model, mut version) = (ledger.model, ledger.version);
    let mut figures = Figures::default();
    for cycle in 1..=cycles {
        let book = Book::new(model, version, None);
        let orderly = rng.random_ratio(1, 4);
        let threads = some_of(&mut rng, threads);
        let healthy = match orderly {
            true => work_for_a_while(&store, &book, &mut rng, threads),
            false => cut_off(&store, &book, &volume, &mut rng, threads),
        };
        let place = |what: &str| format!("cycle {cycle} of {threads} threads, {what}");
        if let Some(what) = healthy.err().or(book.verdict()) {
            let what = format!("{what}\nfirst gone: {:?}", book.gone());
            return Err(found(place("working"), what));
        }
        figures.tally.add(&book.tally.lock());
        version = book.version.load(Ordering::Relaxed);
        model = book.model.into_inner();
        if orderly {
            let (at, what) = (
                place("before closing"),
                compare(&store, &mut model, &mut figures),
            );
            what.map_err(|e| found(at, e))?;
            store
                .close()
                .map_err(|e| found(place("closing"), e.to_string()))?;
            figures.closes += 1;
        } else {
            store.abandon();
            figures.crashes += 1;
            figures.with_unanswered += u64::from(model.unanswered() > 0);
            volume = volume.crash(&draw_outcome(&volume, &mut rng));
        }
        let opened = subject.open(Arc::new(volume.clone()), &layout);
        store = opened.map_err(|e| found(place("recovering"), e.to_string()))?;
        compare(&store, &mut model, &mut figures).map_err(|e| found(place("after it"), e))?;
    }
    store
        .close()
        .map_err(|e| found("closing".to_owned(), e.to_string()))?;
    Ok(figures)
}

/// A new store with its lasting tables.
fn begin<S: Subject>(
    subject: &S,
    volume: &SimVolume,
    layout: &Layout,
    seed: u64,
) -> Result<(S::Store, Ledger), Failure> {
    let store = subject.create(Arc::new(volume.clone()), layout)?;
    let mut ledger = Ledger::new(seeded(seed));
    Work::begin(&store, &mut ledger, 1)?.create_lasting_tables()?;
    Ok((store, ledger))
}

/// Compares what a store at rest holds with the model, and proves its structures.
fn compare<S: Store>(store: &S, model: &mut Model, figures: &mut Figures) -> Result<(), String> {
    let state = store.read_all().map_err(|e| e.to_string())?;
    let outcome = model.check(&state).map_err(|e| e.0)?;
    figures.happened += outcome.happened;
    figures.vanished += outcome.vanished;
    store.audit().map_err(|e| e.to_string())?;
    model.adopt(state);
    Ok(())
}

/// Lets threads work for some time, with checkpoints and clean-ups beside them, and ends them in order.
fn work_for_a_while<S: Store>(
    store: &S,
    book: &Book<'_>,
    rng: &mut SeededRng,
    threads: usize,
) -> Result<(), String> {
    let (seed, turns) = (rng.random(), rng.random_range(1..=40));
    scope(|all| {
        let serve = move || {
            let mut done = Ok(());
            for turn in 0..turns {
                sleep(Duration::from_millis(3));
                done = done.and_then(|()| {
                    if turn % 3 == 0 {
                        store.checkpoint()
                    } else {
                        store.clean()
                    }
                });
            }
            book.stop();
            done
        };
        let serving = spawn_scoped(all, "service", serve).map_err(|e| e.to_string())?;
        work(store, book, threads, seed);
        let ended_early = !book.is_stopped();
        book.stop();
        match serving.join() {
            Ok(Ok(())) if ended_early => Err("all threads ended with the power on".to_owned()),
            Ok(done) => done.map_err(|e| e.to_string()),
            Err(_) => Err("the service panicked".to_owned()),
        }
    })
}

/// Lets threads work until the power goes: at some change of the disk, or after some time.
fn cut_off<S: Store>(
    store: &S,
    book: &Book<'_>,
    volume: &SimVolume,
    rng: &mut SeededRng,
    threads: usize,
) -> Result<(), String> {
    // Syncs are what checkpoints do: the power goes in the middle of one, or at its very end, when its header
    // is written and no record has been logged since.
    let (ops, most) = match rng.random_range(0..4) {
        0 => (Ops::Syncs, 24),
        1 => (Ops::Changes, 30),
        2 => (Ops::Changes, 300),
        _ => (Ops::Changes, 3_000),
    };
    let nth = rng.random_range(1..=most);
    volume.inject(Fault::new(ops, Effect::PowerLoss).nth(nth));
    let (seed, most_ms) = (rng.random(), rng.random_range(5..=150));
    scope(|all| {
        let watch = || {
            for _ in 0..most_ms {
                if !volume.is_powered() || book.is_stopped() {
                    break;
                }
                sleep(Duration::from_millis(1));
            }
            volume.power_off();
        };
        let watching = spawn_scoped(all, "power", watch);
        let serve = || {
            while volume.is_powered() && !book.is_stopped() {
                sleep(Duration::from_millis(1));
                // A failure here comes from the power loss, or shows when the store is opened.
                let _ = store.checkpoint().and_then(|()| store.clean());
            }
        };
        let serving = spawn_scoped(all, "service", serve);
        work(store, book, threads, seed);
        let gone_early = volume.is_powered() && !book.is_stopped();
        // The power goes at the latest when no thread works any more.
        volume.power_off();
        book.stop();
        watching.and(serving).map_err(|e| e.to_string())?;
        if gone_early {
            Err("all threads ended with the power on".to_owned())
        } else {
            Ok(())
        }
    })
}
