//! Power loss at every change that an error log makes, with every named outcome: a line whose flush
//! returned is in one of the files afterwards.

use furrow_io::SimVolume;
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops, SimOptions, SyncLoss};
use furrow_observe::errorlog::{ErrorLog, Options, Search, Source};
use std::path::Path;
use std::sync::Arc;

fn open(volume: &SimVolume) -> Result<ErrorLog, furrow_io::IoError> {
    let options = Options {
        banner: vec!["banner".to_owned()],
        ..Options::default()
    };
    ErrorLog::open(Arc::new(volume.clone()), Path::new("/log"), options)
}

/// Writes and cycles until an operation fails; returns the lines whose flush returned.
fn work(volume: &SimVolume) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(log) = open(volume) else {
        return acknowledged;
    };
    for turn in 0..4 {
        let line = format!("turn {turn} {}", "x".repeat(700));
        log.write(Source::Server, &line);
        if log.flush().is_err() {
            return acknowledged;
        }
        acknowledged.push(line);
        if turn % 2 == 1 && log.cycle().is_err() {
            return acknowledged;
        }
    }
    acknowledged
}

/// The lines of all files, after the log was opened again.
fn all_lines(volume: &SimVolume) -> Result<Vec<String>, furrow_io::IoError> {
    lines_of(&open(volume)?)
}

fn lines_of(log: &ErrorLog) -> Result<Vec<String>, furrow_io::IoError> {
    let mut lines = Vec::new();
    for number in 0..=Options::default().archives {
        let found = log.read(number, &Search::default())?;
        lines.extend(found.into_iter().flatten().map(|entry| entry.text));
    }
    Ok(lines)
}

#[test]
fn a_power_loss_at_any_change_loses_no_flushed_line() {
    let whole = SimVolume::new(SimOptions::default());
    assert_eq!(work(&whole).len(), 4);
    let changes = whole.counts().matching(Ops::Changes);
    assert!(changes > 15, "{changes}");
    let mut checked = 0;
    for nth in 1..=changes {
        let volume = SimVolume::new(SimOptions::default());
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let acknowledged = work(&volume);
        let random = (0..8).map(|seed| Crash::Random {
            seed: nth * 100 + seed,
        });
        for outcome in volume.outcomes().into_iter().chain(random) {
            let lines = all_lines(&volume.crash(&outcome)).expect("the log opens after any crash");
            for line in &acknowledged {
                assert!(
                    lines.contains(line),
                    "change {nth}, {outcome:?}: lost {line:.6}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn a_failed_sync_is_made_good_by_the_next_flush() {
    let volume = SimVolume::new(SimOptions::default());
    let log = open(&volume).expect("opens");
    log.write(Source::Server, "before");
    log.flush().expect("flushes");
    volume.inject(Fault::new(
        Ops::Only(OpKind::Sync),
        Effect::FailSync(SyncLoss::Everything),
    ));
    log.write(Source::Server, "during");
    assert!(log.flush().is_err());
    log.write(Source::Server, "after");
    log.flush().expect("flushes again");
    let lines = all_lines(&volume.crash(&Crash::DropAll)).expect("opens");
    let ours: Vec<&String> = lines.iter().filter(|line| *line != "banner").collect();
    assert_eq!(ours, ["before", "during", "after"]);
}

#[test]
fn an_error_at_any_call_of_a_cycle_loses_no_line_and_the_next_cycle_succeeds() {
    for nth in 1.. {
        let volume = SimVolume::new(SimOptions::default());
        let log = open(&volume).expect("opens");
        log.write(Source::Server, "old");
        log.cycle().expect("cycles");
        log.write(Source::Server, "new");
        let before = volume.counts().total();
        volume.inject(Fault::new(Ops::Any, Effect::Fail).nth(nth));
        let failed = log.cycle().is_err();
        let calls = volume.counts().total() - before;
        volume.heal();
        log.cycle().expect("the fault is gone");
        let lines = lines_of(&log).expect("readable");
        assert!(lines.iter().any(|line| line == "old") && lines.iter().any(|line| line == "new"));
        if !failed && nth > calls {
            assert!(nth > 10, "a cycle makes more calls than {nth}");
            return;
        }
    }
}
