//! Tests the tests: the share runs against each fault that can be ordered.
//!
//! 1. Without any fault the share must find nothing: otherwise its findings prove nothing.
//! 2. For each fault this program is started again with the fault alive. It is caught when the share finds
//!    something, panics, or does not come to its end.
//! 3. A fault that was never reached proves nothing either, and is reported as such.
//!
//! Takes a build with the feature `mutations`.

use furrow_io::mutation::{MUTATION, Mutation};
use furrow_io::thread::{available_cpus, scope, spawn_named, spawn_scoped};
use furrow_io::time::{Duration, Moment, sleep};
use parking_lot::Mutex;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Before each part of the share, on a line of its own.
pub const PART: &str = "part: ";
/// Before what was found.
pub const FOUND: &str = "found: ";
/// Before how often the fault was reached.
pub const REACHED: &str = "reached: ";

/// Which part of the share notices a fault: that part is tried first, and it is named in docs/testing.md.
pub const NOTICED_BY: &[(Mutation, &str)] = &[
    (Mutation::SkipDataSync, "power losses at random"),
    (Mutation::SkipLogSync, "power losses at random"),
    (Mutation::DropLogFirst, "power losses at random"),
    (Mutation::SkipDoubleWrite, "power losses at random"),
    (Mutation::UnsyncedDoubleWrite, "power losses at random"),
    (Mutation::SkipTornRepair, "power losses at random"),
    (Mutation::ImageLeftBehind, "scenes"),
    (Mutation::EarlyHalfTurn, "small worlds of reuse"),
    (Mutation::AckBeforeFlush, "power losses at random"),
    (Mutation::IgnoreLogFailure, "power losses at random"),
    (
        Mutation::IgnoreSyncFailure,
        "the N-th failure in small worlds",
    ),
    (
        Mutation::IgnoreWriteFailure,
        "the N-th failure in small worlds",
    ),
    (Mutation::TrustTornBlocks, "small worlds"),
    (Mutation::SameIncarnation, "scenes"),
    (Mutation::HoleIsTheEnd, "rotten pages"),
    (Mutation::LateCheckpoint, "small worlds"),
    (Mutation::RedoPointBack, "scenes"),
    (Mutation::ForgetActive, "power losses at random"),
    (Mutation::EarlyTruncation, "small worlds of reuse"),
    (Mutation::EndsAfterTruncation, "scenes"),
    (Mutation::SkipHeaderStamp, "scenes"),
    (Mutation::TakeOldCopy, "scenes"),
    (Mutation::SkipRedoOfRemoval, "power losses at random"),
    (Mutation::SkipRedoOfBits, "power losses at random"),
    (Mutation::SkipRedoOfUndo, "power losses at random"),
    (Mutation::RedoLosesFile, "power losses at random"),
    (Mutation::StaleRedoLsn, "power losses at random"),
    (Mutation::HighPageLsn, "power losses at random"),
    (Mutation::ForgetClr, "power losses at random"),
    (Mutation::UndoStopsShort, "power losses at random"),
    (Mutation::SkipUndoAtRestart, "power losses at random"),
    (Mutation::PfsNeighbour, "power losses at random"),
    (Mutation::PfsKept, "power losses at random"),
    (Mutation::GamKept, "power losses at random"),
    (Mutation::IamForgotten, "power losses at random"),
    (Mutation::IamKept, "power losses at random"),
    (Mutation::SgamForgotten, "power losses at random"),
    (Mutation::LoseGrowth, "power losses at random"),
    (Mutation::ForgetNeighbour, "power losses at random"),
    (Mutation::ForgetUnlink, "small worlds"),
    (Mutation::WrongSeparator, "power losses at random"),
    (Mutation::KeepMarks, "power losses at random"),
    (Mutation::PurgeWanted, "power losses at random"),
    (Mutation::LeaveIndexEntry, "power losses at random"),
    (Mutation::LeaveMovedRecord, "small worlds of reuse"),
    (Mutation::SwapMapLatches, "scenes"),
    (Mutation::SwapHeapLatches, "scenes"),
    (Mutation::SkipRowLock, "power losses at random"),
    (Mutation::SkipGapLock, "scenes"),
    (Mutation::SkipReadLock, "power losses at random"),
    (Mutation::ReleaseReadLock, "histories"),
    (Mutation::EarlyRelease, "scenes"),
    (Mutation::FollowerUnflushed, "scenes"),
    (Mutation::MissDeadlock, "scenes"),
    (Mutation::ForgetNotes, "scenes"),
    (Mutation::CountsForgotten, "power losses at random"),
    (Mutation::FreeBeforeCommit, "scenes"),
    (Mutation::RemoveEarly, "small worlds of reuse"),
    (Mutation::CutEarly, "scenes"),
    (Mutation::FileNotMade, "small worlds"),
    (Mutation::ForgetPageCheck, "rotten pages"),
    (Mutation::SkipForce, "small worlds of reuse"),
    (Mutation::UnsyncedForce, "small worlds of reuse"),
    (Mutation::ForgetChangedExtent, "scenes"),
    (Mutation::SkipReadFence, "scenes"),
    (Mutation::ForgetFillPages, "scenes"),
    (Mutation::ForgetFreedPages, "scenes"),
    (Mutation::EarlyLogEnd, "scenes"),
    (Mutation::TrustStripes, "backups"),
    (Mutation::EarlyTail, "backups"),
    (Mutation::ForgetDifferentialBit, "backups"),
    (Mutation::StopLate, "backups"),
    (Mutation::SkipPageLog, "backups"),
    (Mutation::JoinEarly, "backups"),
    (Mutation::TakeWrongBase, "backups"),
];

/// The part that notices a fault, by its name.
pub fn noticed_by(mutation: Mutation) -> Option<&'static str> {
    let found = NOTICED_BY.iter().find(|noticed| noticed.0 == mutation);
    found.map(|noticed| noticed.1)
}

/// The table of all faults for docs/testing.md.
pub fn table() -> String {
    let mut text =
        String::from("| fault | what the engine does wrong | noticed by |\n|---|---|---|\n");
    for mutation in Mutation::ALL {
        let (name, what) = (mutation.name(), mutation.what());
        let part = noticed_by(*mutation).unwrap_or("nothing yet");
        text.push_str(&format!("| `{name}` | {what} | {part} |\n"));
    }
    text
}

/// The work to do.
#[derive(Debug, Clone)]
pub struct Order {
    /// This program.
    pub program: PathBuf,
    /// Of the share.
    pub seed: u64,
    /// Faults at a time.
    pub jobs: usize,
    /// A share that takes longer hangs. Not much less than some times what it takes without a fault.
    pub limit: Duration,
    /// Only faults with this in their name.
    pub only: Option<String>,
}

/// The result of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// By this part of the share, with this finding.
    Caught(String, String),
    /// All parts of the share passed, and reached the fault this many times.
    Survived(u64),
    /// No part of the share reached it.
    NotReached,
    /// The share itself could not be done.
    Broken(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Caught(part, what) => write!(f, "caught    {part}: {what}"),
            Verdict::Survived(times) => write!(f, "SURVIVED  reached {times} times"),
            Verdict::NotReached => f.write_str("NOT REACHED"),
            Verdict::Broken(why) => write!(f, "BROKEN    {why}"),
        }
    }
}

/// Runs the share against the faults; `report` gets a line for each. Returns each fault's verdict, in their
/// order.
pub fn prove(order: &Order, report: &(dyn Fn(&str) + Sync)) -> Vec<(Mutation, Verdict)> {
    let wanted = |m: &Mutation| {
        order
            .only
            .as_ref()
            .is_none_or(|word| m.name().contains(word))
    };
    let all: Vec<Mutation> = Mutation::ALL.iter().copied().filter(wanted).collect();
    let verdicts: Mutex<Vec<(Mutation, Verdict)>> = Mutex::default();
    let next = Mutex::new(all.clone().into_iter());
    let work = || {
        loop {
            let Some(mutation) = next.lock().next() else {
                return;
            };
            let began = Moment::now();
            let verdict = put_against(order, Some(mutation));
            let seconds = began.elapsed_us() as f64 / 1e6;
            report(&format!(
                "{:<24}{seconds:6.1} s  {verdict}",
                mutation.name()
            ));
            verdicts.lock().push((mutation, verdict));
        }
    };
    scope(|threads| {
        for job in 1..order.jobs.min(available_cpus() * 4) {
            if let Err(error) = spawn_scoped(threads, format!("fault {job}"), work) {
                report(&format!("fewer at a time: {error}"));
            }
        }
        work();
    });
    let mut verdicts = verdicts.into_inner();
    verdicts.sort_by_key(|(mutation, _)| *mutation);
    verdicts
}

/// The share without any fault: how long it took, or its finding.
pub fn control(order: &Order) -> Result<f64, String> {
    let began = Moment::now();
    match put_against(order, None) {
        Verdict::NotReached => Ok(began.elapsed_us() as f64 / 1e6),
        other => Err(other.to_string()),
    }
}

fn put_against(order: &Order, mutation: Option<Mutation>) -> Verdict {
    let mut command = Command::new(&order.program);
    command
        .args(["share", "--seed", &order.seed.to_string()])
        .args(mutation.and_then(noticed_by))
        .env_remove(MUTATION)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(mutation) = mutation {
        command.env(MUTATION, mutation.name());
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Verdict::Broken(error.to_string()),
    };
    let Some(mut out) = child.stdout.take() else {
        return Verdict::Broken("no output".to_owned());
    };
    let listening = spawn_named("listener", move || {
        let mut said = Vec::new();
        let _end = out.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let began = Moment::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if began.elapsed() < order.limit => sleep(Duration::from_millis(20)),
            _ => break None,
        }
    };
    if ended.is_none() {
        let _gone = child.kill();
        let _status = child.wait();
    }
    let said = listening.map(|thread| thread.join().unwrap_or_default());
    judge(ended, &said.unwrap_or_default())
}

fn judge(ended: Option<ExitStatus>, said: &str) -> Verdict {
    let last = |mark: &str| {
        let mut marked = said.lines().filter_map(|line| line.strip_prefix(mark));
        marked.next_back().map(str::to_owned)
    };
    let part = last(PART).unwrap_or_default();
    let Some(status) = ended else {
        return Verdict::Caught(part, "it hangs".to_owned());
    };
    if status.success() {
        return match last(REACHED).and_then(|times| times.parse().ok()) {
            Some(0) => Verdict::NotReached,
            Some(times) => Verdict::Survived(times),
            None => Verdict::Broken("it did not say how it ended".to_owned()),
        };
    }
    let found = last(FOUND).unwrap_or_else(|| format!("it ended with {status}"));
    Verdict::Caught(part, found)
}
