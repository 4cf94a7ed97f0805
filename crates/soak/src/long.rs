//! Everything, for as long as requested: pieces of work from a list that never ends, several at a time, and a
//! ledger with the result of each.
//!
//! # Order
//! 1. What an earlier soak with the same ledger found, again.
//! 2. Work that has an end: every small world with every power loss, every small world with every failure, a
//!    million transactions that must leak nothing, and all inputs of all targets of the fuzzer.
//! 3. In turn and without end, each with a seed of its own: power losses, histories, threads, rotten pages,
//!    the consistency check, killed processes, failures, damaged inputs.
//!
//! A piece that finds something does not end the soak: its finding is recorded with the command that shows it
//! again, and the next piece begins.

use crate::check;
use crate::crash::{self, Length};
use crate::engine::Engine;
use crate::share::LEVELS;
use crate::worlds::boundary::{self, Share};
use crate::worlds::{self, nth};
use crate::{Finding, backups, faults, fuzz, isolation, kill, resources, rot, threads};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, Moment, WallTime};
use furrow_io::{Access, File, IoError, Open, SystemVolume, Volume, WriteRun, read_all};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Runs of a piece of random power losses, about 8 losses each.
const RUNS: u64 = 25;
/// Kills of a piece, and the writers of each process.
const KILLS: u32 = 10;
const WRITERS: usize = 32;
/// Pieces that all inputs of a target are read in.
const FUZZ_PIECES: u64 = 20;
/// Transactions of a piece that looks for leaks.
const TXNS: u64 = 1_000_000;
/// Characters of a finding that the ledger has.
const LONGEST_TEXT: usize = 2_000;
const TELL_EVERY: Duration = Duration::from_secs(10);

/// A soak.
#[derive(Debug, Clone)]
pub struct Soak {
    /// This program, for the processes that are killed.
    pub program: PathBuf,
    /// For the ledger and for the databases of killed processes.
    pub home: PathBuf,
    /// Of everything that is drawn.
    pub seed: u64,
    /// No piece begins after this time.
    pub length: Duration,
    /// Pieces at a time.
    pub jobs: usize,
}

/// Sorts of pieces.
const SORTS: [&str; 12] = [
    "world",
    "failures",
    "crashes",
    "histories",
    "threads",
    "rot",
    "check",
    "kills",
    "faults",
    "fuzz",
    "resources",
    "backups",
];

/// How often each of those that never end comes in a turn.
const TURN: [usize; 14] = [2, 3, 2, 4, 11, 9, 2, 7, 2, 5, 2, 6, 4, 8];

/// A piece of work: its sort, and its seed or the number of its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    sort: usize,
    seed: u64,
}

impl Piece {
    fn name(self) -> &'static str {
        SORTS.get(self.sort).copied().unwrap_or("?")
    }

    /// What shows it again.
    fn again(self) -> String {
        format!(
            "cargo xtask piece --sort {} --seed {}",
            self.sort, self.seed
        )
    }
}

/// Does one piece; how many power losses, failures, histories or the like it tried.
fn carry_out(piece: Piece, soak: &Soak) -> Result<u64, Box<Finding>> {
    let (engine, seed) = (Engine::default(), piece.seed);
    let world = || {
        let mut all = worlds::all();
        let at = seed as usize % all.len();
        all.swap_remove(at)
    };
    match piece.name() {
        "world" => boundary::explore(&world(), Share::WHOLE).map(|e| e.crashes + e.in_recovery),
        "failures" => nth::fail_everywhere(&world(), 1, 0).map(|o| o.reported + o.unnoticed),
        "crashes" => (0..RUNS).try_fold(0, |sum, n| {
            let run = crash::run(&engine, seed.wrapping_add(n), Length::default())?;
            Ok(sum + run.crashes)
        }),
        "histories" => LEVELS.iter().try_fold(0, |sum, level| {
            let lists = isolation::run(&isolation::Shape::of(*level), seed)?;
            let registers = isolation::run_registers(*level, seed)?;
            Ok(sum + lists.histories + registers.histories)
        }),
        "threads" => threads::run(&engine, seed, 16, 10).map(|f| f.crashes),
        "backups" => (0..RUNS).try_fold(0, |sum, n| {
            Ok(sum + backups::run(seed.wrapping_add(n))?.restores)
        }),
        "rot" => rot::run(seed).map(|f| f.reported + f.harmless),
        "check" => check::run(seed, 40)
            .map(|_| 1)
            .map_err(|what| of(seed, "the consistency check", what)),
        "kills" => {
            let rounds = kill::Rounds {
                program: soak.program.clone(),
                home: soak.home.join(format!("killed-{seed}")),
                seed,
                rounds: KILLS,
                threads: WRITERS,
            };
            let done = kill::run(&rounds, &|_| {})?;
            // The files of a sound round are removed.
            clear(&rounds.home);
            Ok(done.kills)
        }
        "fuzz" => fuzzed(seed),
        "resources" => {
            let order = resources::Order {
                home: soak.home.join(format!("resources-{seed}")),
                txns: TXNS,
                sessions: 2_000,
                threads: 4,
                seed,
            };
            let done = resources::run(&order, &|_| {});
            clear(&order.home);
            done.map(|_| TXNS)
                .map_err(|what| of(seed, "resources", what))
        }
        _ => faults::run(&engine, seed, 3).map(|f| f.faults_reported + f.faults_unnoticed),
    }
}

fn of(seed: u64, place: &str, what: String) -> Box<Finding> {
    let (place, steps) = (place.to_owned(), Vec::new());
    Box::new(Finding {
        seed,
        place,
        what,
        steps,
    })
}

/// A twentieth of the inputs of one target, the one that the seed has it.
fn fuzzed(seed: u64) -> Result<u64, Box<Finding>> {
    let kind = fuzz::TARGETS[seed as usize % fuzz::TARGETS.len()];
    let inputs = kind.whole / FUZZ_PIECES;
    match fuzz::run(&kind, seed, inputs, 1, &|_| {}) {
        Ok(_) => Ok(inputs),
        Err(caught) => {
            let place = format!("fuzz {}, input {}", kind.name, caught.input);
            Err(of(seed, &place, caught.what))
        }
    }
}

/// A piece in a process of its own: memory and open files are those of a whole process, and others work
/// in this one.
fn alone(piece: Piece, soak: &Soak) -> Result<u64, Box<Finding>> {
    let (sort, seed) = (piece.sort.to_string(), piece.seed.to_string());
    let mut process = Command::new(&soak.program);
    process.args(["piece", "--sort", &sort, "--seed", &seed]);
    let ended = process.current_dir(&soak.home).output();
    let what = match ended {
        Ok(done) if done.status.success() => return Ok(TXNS),
        Ok(done) => [done.stdout, done.stderr]
            .map(|said| String::from_utf8_lossy(&said).into_owned())
            .concat(),
        Err(error) => format!("cannot start {}: {error}", soak.program.display()),
    };
    Err(of(piece.seed, piece.name(), what))
}

/// Does one piece of a soak again.
pub fn again(sort: usize, seed: u64, soak: &Soak) -> Result<u64, Box<Finding>> {
    carry_out(Piece { sort, seed }, soak)
}

/// Removes the files of a directory of two volumes, as far as they can be.
fn clear(home: &Path) {
    let volume = SystemVolume::new();
    for dir in [home.join("v0"), home.join("v1"), home.to_path_buf()] {
        for path in volume.list(&dir).unwrap_or_default() {
            let _left = volume.remove(&path);
        }
        let _left = volume.remove(&dir);
    }
}

/// The file of what was tried: one line a piece, with tabs between time, sort, seed, seconds, tries, verdict.
struct Ledger {
    file: Arc<dyn File>,
    end: u64,
}

impl Ledger {
    fn open(path: &Path) -> Result<(Ledger, String), IoError> {
        let volume = SystemVolume::new();
        if let Some(dir) = path.parent() {
            volume.create_dir(dir)?;
        }
        let how = if volume.exists(path)? {
            Open::Existing
        } else {
            Open::Create
        };
        let file = volume.open(path, how, Access::Log)?;
        let bytes = read_all(file.as_ref())?;
        let end = bytes.len() as u64;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok((Ledger { file, end }, text))
    }

    fn write(&mut self, line: &str) -> Result<(), IoError> {
        let bytes = line.as_bytes();
        let bufs = &[IoSlice::new(bytes)];
        let offset = self.end;
        self.file.write(&[WriteRun { offset, bufs }])?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// Pieces whose last line in a ledger is a finding.
fn open_findings(ledger: &str) -> Vec<Piece> {
    let mut last: BTreeMap<Piece, bool> = BTreeMap::new();
    for line in ledger.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        if let [_, sort, seed, _, _, verdict, ..] = &words[..]
            && let Some(sort) = SORTS.iter().position(|name| name == sort)
            && let Ok(seed) = seed.parse()
        {
            last.insert(Piece { sort, seed }, *verdict != "ok");
        }
    }
    let open = last.into_iter().filter(|(_, bad)| *bad);
    open.map(|(piece, _)| piece).collect()
}

/// The pieces of a soak, in their order: some first, then the enumerations, then drawn ones without end.
fn pieces(first: Vec<Piece>, seed: u64) -> impl Iterator<Item = Piece> {
    let worlds = worlds::all().len() as u64;
    let targets = fuzz::TARGETS.len() as u64;
    let inputs = (0..FUZZ_PIECES * targets).map(|seed| Piece { sort: 9, seed });
    let listed = (0..2).flat_map(move |sort| (0..worlds).map(move |seed| Piece { sort, seed }));
    let listed = listed.chain([Piece { sort: 10, seed }]).chain(inputs);
    let drawn = (0..).map(move |n: u64| Piece {
        sort: TURN[(n % TURN.len() as u64) as usize],
        seed: seed.wrapping_add(n.wrapping_mul(1_000)),
    });
    first.into_iter().chain(listed).chain(drawn)
}

struct Progress {
    ledger: Ledger,
    tried: BTreeMap<&'static str, (u64, u64)>,
    findings: Vec<String>,
    reported: Moment,
}

impl Progress {
    fn line(&self, began: Moment, length: Duration) -> String {
        let done =
            |(name, (pieces, tries)): (&&str, &(u64, u64))| format!("{name} {pieces} ({tries})");
        let parts: Vec<String> = self.tried.iter().map(done).collect();
        let minutes = began.elapsed().as_secs() / 60;
        format!(
            "{minutes} of {} min; {}; findings {}",
            length.as_secs() / 60,
            parts.join(", "),
            self.findings.len()
        )
    }
}

/// Soaks; returns the findings, each with the command that shows it again. `report` gets a line now and then.
pub fn run(soak: &Soak, report: &(dyn Fn(&str) + Sync)) -> Result<Vec<String>, IoError> {
    let path = soak.home.join("ledger.tsv");
    let (ledger, before) = Ledger::open(&path)?;
    report(&format!("ledger {}", path.display()));
    let began = Moment::now();
    let next = Mutex::new(pieces(open_findings(&before), soak.seed));
    let progress = Mutex::new(Progress {
        ledger,
        tried: BTreeMap::new(),
        findings: Vec::new(),
        reported: began,
    });
    let work = || {
        while began.elapsed() < soak.length {
            let Some(piece) = next.lock().next() else {
                return;
            };
            let from = Moment::now();
            let carried = || match piece.name() {
                "resources" => alone(piece, soak),
                _ => carry_out(piece, soak),
            };
            let done = catch_unwind(AssertUnwindSafe(carried));
            let seconds = from.elapsed_us() as f64 / 1e6;
            note(&progress, piece, seconds, done.map_err(|_| ()), report);
            let mut progress = progress.lock();
            if progress.reported.elapsed() > TELL_EVERY {
                progress.reported = Moment::now();
                report(&progress.line(began, soak.length));
            }
        }
    };
    scope(|all| {
        for job in 1..soak.jobs {
            if let Err(error) = spawn_scoped(all, format!("soak {job}"), work) {
                report(&format!("fewer at a time: {error}"));
            }
        }
        work();
    });
    let progress = progress.into_inner();
    report(&progress.line(began, soak.length));
    Ok(progress.findings)
}

/// The text of a finding for the ledger. Whole pages of bytes are left out: repeating the piece prints them.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}

/// Records the result of a piece.
fn note(
    progress: &Mutex<Progress>,
    piece: Piece,
    seconds: f64,
    done: Result<Result<u64, Box<Finding>>, ()>,
    report: &(dyn Fn(&str) + Sync),
) {
    let (tries, verdict) = match done {
        Ok(Ok(tries)) => (tries, None),
        Ok(Err(finding)) => (0, Some(shortened(finding.to_string()))),
        Err(()) => (0, Some("a panic, reported above".to_owned())),
    };
    let mut progress = progress.lock();
    let tried = progress.tried.entry(piece.name()).or_default();
    tried.0 += 1;
    tried.1 += tries;
    let shown = verdict
        .as_deref()
        .unwrap_or("ok")
        .replace(['\n', '\t'], " ");
    let (name, seed, now) = (piece.name(), piece.seed, WallTime::now());
    let line = format!("{now}\t{name}\t{seed}\t{seconds:.1}\t{tries}\t{shown}\n");
    if let Err(error) = progress.ledger.write(&line) {
        report(&format!("the ledger cannot be written: {error}"));
    }
    if let Some(what) = verdict {
        let text = format!(
            "FOUND by {name} {seed}: {what}\nto see it again: {}",
            piece.again()
        );
        report(&text);
        progress.findings.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_a_ledger_come_first_until_they_pass() {
        let ledger = "t\tcrashes\t7\t1.0\t0\tbad\nt\trot\t9\t1.0\t0\tbad\nt\trot\t9\t1.0\t4\tok\n";
        let first = open_findings(ledger);
        assert_eq!(first, [Piece { sort: 2, seed: 7 }]);
        let mut all = pieces(first, 50);
        assert_eq!(all.next(), Some(Piece { sort: 2, seed: 7 }));
        assert_eq!(all.next(), Some(Piece { sort: 0, seed: 0 }));
        let listed = 2 * worlds::all().len() + 1 + FUZZ_PIECES as usize * fuzz::TARGETS.len();
        let drawn = all.nth(listed - 1);
        assert_eq!(
            drawn,
            Some(Piece {
                sort: TURN[0],
                seed: 50
            })
        );
        assert!(TURN.iter().all(|sort| (2..SORTS.len()).contains(sort)));
        // A million transactions once is enough.
        let mut again = (2..SORTS.len()).filter(|sort| SORTS[*sort] != "resources");
        assert!(again.all(|sort| TURN.contains(&sort)));
    }
}
