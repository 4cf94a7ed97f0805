//! Hostile bytes: every reader of a disk or a text gets millions of damaged inputs, and must read or refuse
//! them in order.
//!
//! A [`Target`] takes an input from its own small corpus, which is created in code, damages it ([`havoc`])
//! and passes it to its reader. Seed and number alone decide an input: they repeat a finding, and no input
//! needs to be stored.
//!
//! # What it looks for
//! 1. Panics, overflows in a build that checks them, readers that do not come to an end.
//! 2. What the reader promises besides: that a record lies in its page, that an edit keeps a sound page
//!    sound, that nothing with a wrong checksum is accepted, that a decoded value is encoded the same way.
//!
//! # How it is tested
//! The target `canary` has a fault of the rare sort, which needs as many fields in a row to be right as a
//! reader checks. The fuzzer must find it: so a fuzzer that no longer finds anything is noticed.

mod blocks;
mod canary;
mod catalog;
mod files;
pub mod havoc;
mod pages;
mod records;
mod stripes;
mod text;

use crate::check::databases;
use furrow_datafile::MemoryFiles;
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::{Duration, Moment, sleep};
use havoc::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Databases of a corpus.
const DATABASES: u64 = 4;

/// A sound database for corpora, one of [`DATABASES`]: created once.
fn database(number: u64) -> Result<&'static MemoryFiles, String> {
    static MADE: OnceLock<Vec<Result<MemoryFiles, String>>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let one = |seed| databases::make(seed).map(|made| made.files);
        (1..=DATABASES).map(one).collect()
    });
    match made.get((number % DATABASES) as usize) {
        Some(Ok(files)) => Ok(files),
        Some(Err(error)) => Err(error.clone()),
        None => Err("no database".to_owned()),
    }
}

/// Something that reads bytes it cannot trust.
pub trait Target {
    /// Makes an input, and reads it; what went wrong.
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String>;
}

/// A target by its name.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it reads.
    pub what: &'static str,
    /// Inputs of a share, about a second in a build for tests.
    pub share: u64,
    /// Inputs of a whole run.
    pub whole: u64,
    make: fn() -> Result<Box<dyn Target>, String>,
}

const MILLION: u64 = 1_000_000;

const fn kind(
    name: &'static str,
    what: &'static str,
    (share, whole): (u64, u64),
    make: fn() -> Result<Box<dyn Target>, String>,
) -> Kind {
    Kind {
        name,
        what,
        share,
        whole,
        make,
    }
}

/// All targets that must find nothing.
pub const TARGETS: [Kind; 8] = [
    kind(
        "pages",
        "pages of all kinds: headers, slots, maps, boot page, file header, edits",
        (6_000, 20 * MILLION),
        pages::make,
    ),
    kind(
        "records",
        "records, rows and values of every type",
        (40_000, 20 * MILLION),
        records::make,
    ),
    kind(
        "changes",
        "groups of page changes as redo has them, and what they make of a page",
        (20_000, 20 * MILLION),
        pages::make_changes,
    ),
    kind(
        "log",
        "the log at restart: directory, blocks, records",
        (2_000, 20 * MILLION),
        blocks::make,
    ),
    kind(
        "catalog",
        "rows of the base tables",
        (20_000, 20 * MILLION),
        catalog::make,
    ),
    kind(
        "tsql",
        "texts: read and printed, or refused in order",
        (5_000, 20 * MILLION),
        text::make,
    ),
    kind(
        "stripes",
        "a stripe of a backup, as RESTORE reads it",
        (5_000, 20 * MILLION),
        stripes::make,
    ),
    kind(
        "files",
        "the catalog's reader, all rows and the consistency check over damaged data files",
        (40, MILLION / 2),
        files::make,
    ),
];

/// The one that must be found out.
pub const CANARY: Kind = kind(
    "canary",
    "a reader with a fault",
    (200_000, 200_000),
    canary::make,
);

/// The target of this name.
pub fn target(name: &str) -> Option<Kind> {
    let mut all = TARGETS.into_iter().chain([CANARY]);
    all.find(|kind| kind.name == name)
}

/// What was found wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caught {
    /// The input's number.
    pub input: u64,
    /// What was wrong.
    pub what: String,
}

/// No reader needs so long for one input, on any machine.
const ENDLESS: Duration = Duration::from_secs(120);
const TELL_EVERY: Duration = Duration::from_secs(10);

/// What the threads of a run share.
#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
}

/// Inputs taken at a time.
const BATCH: u64 = 64;

/// Reads one input.
pub fn one(kind: &Kind, seed: u64, input: u64) -> Result<(), Caught> {
    let mut target = made(kind)?;
    read(target.as_mut(), seed, input)
}

fn made(kind: &Kind) -> Result<Box<dyn Target>, Caught> {
    (kind.make)().map_err(|what| Caught {
        input: 0,
        what: format!("the corpus: {what}"),
    })
}

fn read(target: &mut dyn Target, seed: u64, input: u64) -> Result<(), Caught> {
    let mut dice = Dice::of(seed, input);
    let done = catch_unwind(AssertUnwindSafe(|| target.read_one(&mut dice)));
    let caught = |what| Err(Caught { input, what });
    match done {
        Ok(Ok(())) => Ok(()),
        Ok(Err(what)) => caught(what),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied());
            caught(format!("a panic: {}", text.unwrap_or("without a word")))
        }
    }
}

/// Reads inputs 0 to `inputs` of a target, `jobs` at a time; how long it took, or the first that was caught.
pub fn run(
    kind: &Kind,
    seed: u64,
    inputs: u64,
    jobs: usize,
    report: &dyn Fn(&str),
) -> Result<Duration, Caught> {
    let (shared, began) = (Arc::new(Shared::default()), Moment::now());
    let mut threads = Vec::new();
    for job in 0..jobs.max(1) {
        let (kind, shared) = (*kind, Arc::clone(&shared));
        let body = move || work(&kind, seed, inputs, &shared);
        match spawn_named(format!("fuzz {job}"), body) {
            Ok(thread) => threads.push(thread),
            Err(error) => report(&format!("fewer at a time: {error}")),
        }
    }
    watch(kind, threads, (&shared, inputs), report)?;
    Ok(began.elapsed())
}

fn work(kind: &Kind, seed: u64, inputs: u64, shared: &Shared) -> Result<(), Caught> {
    let mut target = made(kind)?;
    while !shared.stop.load(Ordering::Relaxed) {
        let first = shared.next.fetch_add(BATCH, Ordering::Relaxed);
        if first >= inputs {
            return Ok(());
        }
        for input in first..inputs.min(first + BATCH) {
            if let Err(caught) = read(target.as_mut(), seed, input) {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(caught);
            }
            shared.done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Waits for the threads; one that reads without end is left behind.
fn watch(
    kind: &Kind,
    threads: Vec<JoinHandle<Result<(), Caught>>>,
    (shared, inputs): (&Shared, u64),
    report: &dyn Fn(&str),
) -> Result<(), Caught> {
    if threads.is_empty() {
        let (input, what) = (0, "no thread can be started".to_owned());
        return Err(Caught { input, what });
    }
    let (began, mut reported, mut moved) = (Moment::now(), Moment::now(), (0, Moment::now()));
    while threads.iter().any(|thread| !thread.is_finished()) {
        sleep(Duration::from_millis(1));
        let done = shared.done.load(Ordering::Relaxed);
        if done != moved.0 {
            moved = (done, Moment::now());
        } else if moved.1.elapsed() > ENDLESS {
            shared.stop.store(true, Ordering::Relaxed);
            let what = format!("one of the {BATCH} inputs from here on is read without end");
            return Err(Caught {
                input: done / BATCH * BATCH,
                what,
            });
        }
        if reported.elapsed() > TELL_EVERY {
            reported = Moment::now();
            let a_second = done as f64 / began.elapsed().as_secs_f64().max(0.001);
            report(&format!(
                "{}: {done} of {inputs}, {a_second:.0} a second",
                kind.name
            ));
        }
    }
    let mut first: Option<Caught> = None;
    for thread in threads {
        let end = thread.join().unwrap_or_else(|_| {
            let (input, what) = (0, "a panic outside of an input".to_owned());
            Err(Caught { input, what })
        });
        if let Err(caught) = end
            && first.as_ref().is_none_or(|f| caught.input < f.input)
        {
            first = Some(caught);
        }
    }
    first.map_or(Ok(()), Err)
}
