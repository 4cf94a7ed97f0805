//! The score of the consistency check: what it finds of damage done on purpose, and what it says of sound
//! databases, which must be nothing.
//!
//! A seed makes a database with the engine ([`databases`]), or takes a real file; damages a copy of it in
//! one way ([`injuries`]); checks it; and asks whether a finding names the page. Ways of damage are counted
//! one by one, so that a weak spot shows.

pub mod databases;
pub mod injuries;
mod opened;

use databases::Made;
use furrow_check::{Finding, Options, Report, check, repair};
use furrow_datafile::MemoryFiles;
use furrow_format::PAGE_SIZE;
use furrow_io::random::{Rng, seeded};
use furrow_io::thread::{scope, spawn_scoped};
use injuries::{INJURIES, Injury};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;

/// What became of one way of damage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tried.
    pub tried: u64,
    /// Something was found.
    pub found: u64,
    /// And the page was named.
    pub named: u64,
    /// Repaired: the check of what came out is clean, and the engine opens it.
    pub repaired: u64,
    /// Not to be repaired, and said so: the catalog, the boot page or a file header.
    pub refused: u64,
}

/// The score of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score {
    /// By way of damage.
    pub ways: BTreeMap<&'static str, Tally>,
    /// Sound databases checked.
    pub sound: u64,
    /// Of what was missed: seed, and what was done.
    pub missed: Vec<String>,
    /// Of what was not repaired: seed, and what was done.
    pub unrepaired: Vec<String>,
    /// Of what no repair puts right: seed, what was done, and why.
    pub refused: Vec<String>,
    /// Injuries that no repair puts right, by the message that says so; 0 of files that are no database any
    /// more.
    pub refusals: BTreeMap<u32, u64>,
}

impl Score {
    /// Adds another run's.
    pub fn add(&mut self, other: &Score) {
        for (way, tally) in &other.ways {
            let mine = self.ways.entry(way).or_default();
            mine.tried += tally.tried;
            mine.found += tally.found;
            mine.named += tally.named;
            mine.repaired += tally.repaired;
            mine.refused += tally.refused;
        }
        for (number, count) in &other.refusals {
            *self.refusals.entry(*number).or_default() += count;
        }
        self.sound += other.sound;
        self.missed.extend(other.missed.iter().cloned());
        self.unrepaired.extend(other.unrepaired.iter().cloned());
        self.refused.extend(other.refused.iter().cloned());
    }

    /// Tried and named, of ways that a checksum shows, or of the others.
    pub fn total(&self, by_checksum: bool) -> (u64, u64) {
        let of = |injury: &&Injury| injury.by_checksum == by_checksum;
        let tallies = INJURIES
            .iter()
            .filter(of)
            .filter_map(|i| self.ways.get(i.name));
        tallies.fold((0, 0), |sum, t| (sum.0 + t.tried, sum.1 + t.named))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<44} {:>6} {:>6} {:>6} {:>8} {:>7}",
            "damage", "tried", "found", "named", "repaired", "refused"
        )?;
        for injury in INJURIES {
            let tally = self.ways.get(injury.name).copied().unwrap_or_default();
            writeln!(
                f,
                "{:<44} {:>6} {:>6} {:>6} {:>8} {:>7}",
                injury.name, tally.tried, tally.found, tally.named, tally.repaired, tally.refused
            )?;
        }
        let ((a, b), (c, d)) = (self.total(true), self.total(false));
        writeln!(f, "shown by a checksum: {b} of {a}; others: {d} of {c}")?;
        let all = self.ways.values();
        let (tried, healed) = all.fold((0, 0), |sum, t| (sum.0 + t.tried, sum.1 + t.repaired));
        write!(f, "repaired to clean: {healed} of {tried}; refused:")?;
        for (number, count) in &self.refusals {
            match *number {
                0 => write!(f, " {count} no database any more,")?,
                number => write!(f, " {count} by {number},")?,
            }
        }
        writeln!(f, " left: {}", self.unrepaired.len())?;
        write!(f, "sound databases: {}, false alarms: 0", self.sound)
    }
}

/// The check of files in memory.
pub fn report_on(files: &MemoryFiles) -> Result<Report, String> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    check(files, &options, None).map_err(|error| error.to_string())
}

/// Messages of damage that no repair puts right.
const NO_REPAIR: [u32; 3] = [5250, 8930, 8992];

/// What became of a repair.
enum Mended {
    /// The check of the repaired files finds nothing, and the engine opens a database of its own.
    Clean,
    /// What cannot be repaired was named, by this message, and why.
    Refused(u32, String),
    /// This is still wrong.
    Not(String),
}

/// Repairs a copy of the files with loss of data, checks it again, and opens a database of this engine.
fn mend(files: &MemoryFiles, is_own: bool) -> Mended {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    // A primary file that is none any more is refused.
    let repaired = match repair(files, &options, (None, None)) {
        Ok(repaired) => repaired,
        Err(error) => return Mended::Refused(0, error.to_string()),
    };
    if repaired.refused {
        let number = repaired.left.first().map_or(0, Finding::number);
        return Mended::Refused(number, repaired.notes.join(" "));
    }
    let is_refused = |f: &&Finding| {
        NO_REPAIR.contains(&f.number()) || f.page.is_some_and(|page| page.page.0 == 0)
    };
    if let Some(finding) = repaired.left.iter().find(is_refused) {
        return Mended::Refused(finding.number(), finding.to_string());
    }
    let mut mended = files.clone();
    for (file, size) in &repaired.sizes {
        if let Some(pages) = mended.pages_mut(*file) {
            pages.resize(*size as usize, [0; PAGE_SIZE]);
        }
    }
    for (id, page) in &repaired.pages {
        let pages = mended.pages_mut(id.file);
        if let Some(place) = pages.and_then(|pages| pages.get_mut(id.page.0 as usize)) {
            *place = **page;
        }
    }
    match report_on(&mended) {
        Ok(report) => match report.findings.first() {
            None if !is_own => Mended::Clean,
            None => opened::open(&mended).map_or_else(Mended::Not, |()| Mended::Clean),
            Some(finding) => Mended::Not(finding.to_string()),
        },
        Err(error) => Mended::Not(error),
    }
}

/// The findings about sound files, as one text; empty when there are none.
pub fn alarms(files: &MemoryFiles) -> Result<(), String> {
    let report = report_on(files)?;
    let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} false alarms:\n{}",
        lines.len(),
        lines.join("\n")
    ))
}

/// Damages copies of a sound database, one way each, and scores. A sound database that is not found sound
/// is an error.
pub fn score(seed: u64, made: &Made, rounds: u32) -> Result<Score, String> {
    alarms(&made.files).map_err(|text| format!("seed {seed}: {text}"))?;
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let nothing = repair(&made.files, &options, (None, None))
        .map_err(|error| format!("seed {seed}: {error}"))?;
    if !nothing.pages.is_empty() || !nothing.found.is_empty() {
        return Err(format!("seed {seed}: a repair changes a sound database"));
    }
    let mut score = Score {
        sound: 1,
        ..Score::default()
    };
    let mut rng = seeded(seed ^ 0x1A_57);
    for round in 0..rounds {
        let injury = INJURIES
            .get(rng.random_range(0..INJURIES.len()))
            .unwrap_or(&INJURIES[0]);
        let mut files = made.files.clone();
        let Some(done) = (injury.injure)(&mut files, made, &mut rng) else {
            continue;
        };
        let mended = mend(&files, made.is_own());
        let tally = score.ways.entry(injury.name).or_default();
        tally.tried += 1;
        match mended {
            Mended::Clean => tally.repaired += 1,
            Mended::Refused(number, why) => {
                tally.refused += 1;
                score.refused.push(format!(
                    "seed {seed}, round {round}, {}: {}; by {number}: {why}",
                    injury.name, done.what
                ));
                *score.refusals.entry(number).or_default() += 1;
            }
            Mended::Not(_) if !made.is_own() => {}
            Mended::Not(left) => score.unrepaired.push(format!(
                "seed {seed}, round {round}, {}: {}; left: {left}",
                injury.name, done.what
            )),
        }
        let findings = match report_on(&files) {
            Ok(report) => report.findings,
            // A primary file that is none any more is refused: noticed, not located.
            Err(_) => {
                tally.found += 1;
                tally.named += u64::from(done.may_refuse || done.anywhere);
                continue;
            }
        };
        tally.found += u64::from(!findings.is_empty());
        let named = findings
            .iter()
            .any(|f| done.pages.iter().any(|page| f.names(*page)));
        let named = named || done.anywhere && !findings.is_empty();
        tally.named += u64::from(named);
        if !named {
            let what = findings
                .first()
                .map_or("nothing".to_owned(), ToString::to_string);
            score.missed.push(format!(
                "seed {seed}, round {round}, {}: {}; found: {what}",
                injury.name, done.what
            ));
        }
    }
    Ok(score)
}

/// One database of the seed, so many injuries.
pub fn run(seed: u64, rounds: u32) -> Result<Score, String> {
    let made = databases::make(seed).map_err(|error| format!("seed {seed}: {error}"))?;
    score(seed, &made, rounds)
}

/// Databases of so many seeds, several at a time, with so many injuries each; ends at the first false alarm.
pub fn run_many(
    (first, runs): (u64, u64),
    injuries: u32,
    jobs: usize,
    report: &(dyn Fn(&str) + Sync),
) -> Result<Score, String> {
    let state = Mutex::new((0_u64, Score::default(), None::<String>));
    let work = || {
        loop {
            let at = {
                let mut state = state.lock();
                if state.0 >= runs || state.2.is_some() {
                    return;
                }
                state.0 += 1;
                state.0 - 1
            };
            let done = run(first.wrapping_add(at), injuries);
            let mut state = state.lock();
            match done {
                Ok(score) => state.1.add(&score),
                Err(alarm) => state.2 = Some(alarm),
            }
            if state.1.sound.is_multiple_of(25) {
                let ((a, b), (c, d)) = (state.1.total(true), state.1.total(false));
                report(&format!(
                    "{} databases: {b} of {a}, {d} of {c} named",
                    state.1.sound
                ));
            }
        }
    };
    scope(|scope| {
        for _ in 1..jobs.max(1) {
            let _started = spawn_scoped(scope, "score", work);
        }
        work();
    });
    let (_, score, alarm) = state.into_inner();
    alarm.map_or(Ok(score), Err)
}
