//! Bits that rot at rest, one at a time.
//!
//! A database is filled and closed, or the power goes. Then, on a copy for each, one bit of one page of a
//! data file, or of the log, flips. Opening and reading the copy must either fail with a message of the
//! engine, or return every row as it was committed: then the flip lies in an unused place. A row that reads
//! otherwise, or a panic, is a finding. Of the log everything is tried but the last blocks: if those cannot
//! be read, the power may have gone before they were acknowledged.

mod log;

use crate::Finding;
use crate::engine::Engine;
use crate::subject::{Failure, Layout, Store, Subject};
use crate::work::{Ended, Ledger, Work};
use furrow_io::random::{IndexedRandom, Rng, SeededRng, seeded};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{SimVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flips of one database.
const FLIPS: u32 = 40;
/// And of its log.
const LOG_FLIPS: u32 = 16;
const PAGE_BYTES: u64 = 8192;
/// How long a page is looked for that holds something.
const LOOKS: u32 = 30;

/// The results of the flips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// The engine reported them.
    pub reported: u64,
    /// They did no harm.
    pub harmless: u64,
}

/// How the database ends before bits flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// In order: nothing is torn, and there is nothing to recover.
    Close,
    /// By a power loss: pages are torn, the double-write file has images of them, and redo goes over all.
    PowerLoss,
}

/// The flips of one seed.
pub fn run(seed: u64) -> Result<Figures, Box<Finding>> {
    let closed = run_after(seed, End::Close)?;
    let lost = run_after(seed, End::PowerLoss)?;
    Ok(Figures {
        reported: closed.reported + lost.reported,
        harmless: closed.harmless + lost.harmless,
    })
}

fn run_after(seed: u64, end: End) -> Result<Figures, Box<Finding>> {
    let found = |place: String, what: String| {
        Box::new(Finding {
            seed,
            place: format!("{end:?}, {place}"),
            what,
            steps: Vec::new(),
        })
    };
    let mut rng = seeded(seed);
    let engine = Engine::default();
    let layout = Layout {
        files: 3,
        ..Layout::draw(&mut rng)
    };
    let volume = SimVolume::new(SimOptions::default());
    let ledger = fill(&engine, &volume, &layout, rng.clone(), end);
    let ledger = ledger.map_err(|e| found("filling".to_owned(), e.to_string()))?;
    let volume = match end {
        End::Close => volume,
        End::PowerLoss => volume.crash(&Crash::Random { seed }),
    };
    let files = data_files(&volume, &engine.home);
    let files = files.map_err(|e| found("looking for files".to_owned(), e))?;
    let sound = engine.open(Arc::new(volume.fork()), &layout);
    let sound = sound.and_then(|store| store.read_all().inspect(|_| store.abandon()));
    let sound = sound.map_err(|e| found("before any flip".to_owned(), e.to_string()))?;
    let same = ledger.model.check(&sound);
    same.map_err(|e| found("before any flip".to_owned(), e.to_string()))?;
    let mut figures = Figures::default();
    for n in 0..FLIPS + LOG_FLIPS {
        let machine = volume.fork();
        let place = match n < FLIPS {
            true => flip(&machine, &files, &mut rng),
            false => log::flip(&machine, &engine.home, &mut rng),
        };
        let place = place.map_err(|e| found("flipping".to_owned(), e))?;
        let read = engine.open(Arc::new(machine), &layout).and_then(|store| {
            let state = store.read_all();
            store.abandon();
            state
        });
        match read {
            Ok(state) => {
                let same = ledger.model.check(&state);
                same.map_err(|e| found(place, format!("no error was reported, and {e}")))?;
                figures.harmless += 1;
            }
            Err(failure) if is_reported(&failure) => figures.reported += 1,
            Err(failure) => return Err(found(place, failure.to_string())),
        }
    }
    Ok(figures)
}

/// Whether the failure is a message of the engine, and no finding of the reader.
fn is_reported(failure: &Failure) -> bool {
    match failure {
        Failure::Wrong(text) => {
            let number = text
                .split(':')
                .next()
                .and_then(|word| word.parse::<u32>().ok());
            number.is_some_and(|number| number > 0)
        }
        Failure::Gone(_) => true,
        _ => false,
    }
}

fn fill(
    engine: &Engine,
    volume: &SimVolume,
    layout: &Layout,
    rng: SeededRng,
    end: End,
) -> Result<Ledger, Failure> {
    let store = engine.create(Arc::new(volume.clone()), layout)?;
    let mut ledger = Ledger::new(rng);
    let mut work = Work::begin(&store, &mut ledger, 2)?;
    work.create_lasting_tables()?;
    for ended in [work.run(300), work.finish()] {
        if ended != Ended::Done {
            return Err(Failure::Wrong(format!("{ended:?}")));
        }
    }
    drop(work);
    match end {
        End::Close => store.close()?,
        End::PowerLoss => store.abandon(),
    }
    Ok(ledger)
}

fn data_files(volume: &SimVolume, home: &Path) -> Result<Vec<(PathBuf, u64)>, String> {
    let mut files = Vec::new();
    for dir in ["v0", "v1"] {
        let listed = volume.list(&home.join(dir)).map_err(|e| e.to_string())?;
        let is_data = |path: &PathBuf| path.extension().is_some_and(|e| e == "mdf" || e == "ndf");
        for path in listed.into_iter().filter(is_data) {
            let bytes = volume.contents(&path).map_err(|e| e.to_string())?.len();
            files.push((path, bytes as u64));
        }
    }
    Ok(files)
}

/// Flips one bit, mostly of a page that holds something.
fn flip(
    machine: &SimVolume,
    files: &[(PathBuf, u64)],
    rng: &mut SeededRng,
) -> Result<String, String> {
    let (path, bytes) = files.choose(rng).ok_or("no data files")?;
    let mut page = rng.random_range(0..bytes / PAGE_BYTES);
    let content = machine.contents(path).map_err(|e| e.to_string())?;
    let pages = content.as_chunks::<{ PAGE_BYTES as usize }>().0;
    for _ in 0..LOOKS {
        let written = pages.get(page as usize);
        if written.is_some_and(|page| page.iter().any(|byte| *byte != 0)) {
            break;
        }
        page = rng.random_range(0..bytes / PAGE_BYTES);
    }
    let at = page * PAGE_BYTES + rng.random_range(0..PAGE_BYTES);
    let mask = 1 << rng.random_range(0..8);
    machine.rot(path, at, mask).map_err(|e| e.to_string())?;
    let place = at % PAGE_BYTES;
    Ok(format!(
        "{}, page {page}, byte {place}, bits {mask:#x}",
        path.display()
    ))
}
