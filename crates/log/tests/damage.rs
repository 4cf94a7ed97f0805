//! A damaged log is distinguished from one that ends: durable records are never left out without an error.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_format::{Lsn, TxnId};
use furrow_io::sim::{Effect, Fault, OpKind, Ops, SimOptions, SimVolume};
use furrow_io::{Access, Open, Volume};
use furrow_log::{Log, LogConfig, LogError, LogScan, Record, RecordKind};
use std::path::Path;
use std::sync::Arc;

const BINDING: [u8; 16] = *b"binding of decay";
const PATH: &str = "/log/db.ldf";

fn config() -> LogConfig {
    LogConfig {
        background: false,
        ..LogConfig::default()
    }
}

fn record(body: &[u8]) -> Record<'_> {
    Record {
        kind: RecordKind::Change,
        txn: TxnId(1),
        prev: Lsn::ZERO,
        undo: &[],
        redo: body,
    }
}

/// A log that has wrapped around, and the LSN at which its last `commits` commits begin. Each commit is a
/// block of its own.
fn wrapped(commits: usize) -> (SimVolume, Lsn, Arc<Log>) {
    let volume = SimVolume::new(SimOptions::default());
    volume.create_dir(Path::new("/log")).unwrap();
    let file = volume
        .open(Path::new(PATH), Open::Create, Access::Log)
        .unwrap();
    let log = Log::create(file, 1 << 20, BINDING, config()).unwrap();
    let mut start = Lsn::ZERO;
    for n in 0..400 + commits {
        let lsn = log.append(&record(&[7; 1000])).unwrap();
        log.flush_to(lsn).unwrap();
        if n <= 400 {
            log.truncate_before(lsn);
            start = lsn;
        }
    }
    (volume, start, log)
}

/// Reads the log from an LSN on, and returns the number of records.
fn read(volume: &SimVolume, from: Lsn) -> Result<usize, LogError> {
    let file = volume
        .open(Path::new(PATH), Open::Existing, Access::Log)
        .unwrap();
    let mut scan = LogScan::open(file, BINDING, from)?;
    let mut records = 0;
    while scan.next_record()?.is_some() {
        records += 1;
    }
    Ok(records)
}

/// LSN and file offset of each block from an LSN on, in log order.
fn blocks(volume: &SimVolume, from: Lsn) -> Vec<(Lsn, u64)> {
    let bytes = volume.contents(Path::new(PATH)).unwrap();
    let mut found: Vec<(Lsn, u64)> = (0..bytes.len())
        .step_by(512)
        .filter(|&at| bytes[at..].starts_with(b"FLB1"))
        .map(|at| {
            let lsn = bytes[at + 16..].first_chunk().unwrap();
            (Lsn(u64::from_le_bytes(*lsn)), at as u64)
        })
        .filter(|(lsn, _)| lsn.0 | u64::from(Lsn::MAX_SLOT) >= from.0)
        .collect();
    found.sort();
    found
}

#[test]
fn a_rotten_block_before_the_last_one_is_damage_wherever_it_lies() {
    let (volume, start, log) = wrapped(200);
    drop(log);
    let volume = volume.fork();
    assert_eq!(read(&volume.fork(), start).unwrap(), 200);
    let blocks = blocks(&volume, start);
    assert_eq!(blocks.len(), 200);
    let vlfs = blocks.last().unwrap().0.vlf() - start.vlf();
    assert!(vlfs >= 2, "{vlfs} changes of the VLF are too few");
    for (n, (lsn, at)) in blocks.iter().enumerate() {
        for byte in [1, 20, 40, 900] {
            let rotten = volume.fork();
            rotten.rot(Path::new(PATH), at + byte, 4).unwrap();
            match read(&rotten, start) {
                Ok(records) => assert_eq!((n, records), (199, 199), "byte {byte} of {lsn}"),
                Err(e) => assert!(
                    matches!(e, LogError::Damaged(_) | LogError::Missing(_)) && n < 199,
                    "byte {byte} of {lsn}: {e}"
                ),
            }
        }
    }
}

#[test]
fn a_hole_of_many_blocks_is_damage_if_anything_was_written_behind_it() {
    let (volume, start, log) = wrapped(150);
    drop(log);
    let volume = volume.fork();
    let blocks = blocks(&volume, start);
    for (first, last) in [(1, 140), (30, 32), (60, 148)] {
        let rotten = volume.fork();
        for (_, at) in &blocks[first..=last] {
            rotten.overwrite(Path::new(PATH), *at, &[0; 4096]).unwrap();
        }
        let error = read(&rotten, start).unwrap_err();
        assert!(matches!(error, LogError::Damaged(_)), "{error}");
    }
}

#[test]
fn a_lost_directory_of_a_log_that_had_grown_is_no_end_of_it() {
    let (volume, _, log) = wrapped(0);
    log.grow(1 << 20).unwrap();
    let mut lsn = log.tail();
    let mut start = lsn;
    for n in 0..400 {
        lsn = log.append(&record(&[8; 1000])).unwrap();
        log.flush_to(lsn).unwrap();
        start = if n == 0 { lsn } else { start };
    }
    let bytes = 1 << 20;
    assert!(log.vlfs().iter().any(|v| v.0.start >= bytes && v.0.seq > 0));
    drop(log);
    let volume = volume.fork();
    assert_eq!(read(&volume.fork(), start).unwrap(), 400);
    let mut refused = 0;
    for copy in [0, 4096] {
        let rotten = volume.fork();
        rotten.rot(Path::new(PATH), copy + 9, 1).unwrap();
        match read(&rotten, start) {
            Ok(records) => assert_eq!(records, 400),
            Err(e) => {
                assert!(
                    matches!(e, LogError::Damaged(_) | LogError::Missing(_)),
                    "{e}"
                );
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 1);
}

#[test]
fn a_device_that_stops_reading_is_no_end_of_the_log() {
    let (volume, start, log) = wrapped(30);
    drop(log);
    let volume = volume.fork();
    for nth in 1..60 {
        let failing = volume.fork();
        failing.inject(
            Fault::new(Ops::Only(OpKind::Read), Effect::Fail)
                .nth(nth)
                .sticky(),
        );
        if let Ok(records) = read(&failing, start) {
            assert_eq!(records, 30, "read {nth} and all after it failed");
        }
        let once = volume.fork();
        once.inject(Fault::new(Ops::Only(OpKind::Read), Effect::Fail).nth(nth));
        if let Ok(records) = read(&once, start) {
            assert_eq!(records, 30, "read {nth} failed");
        }
    }
}

/// A log whose device fails a number of times from some read on, read from an LSN on: the number of records,
/// and whether the device could not read its end.
fn read_failing(volume: &SimVolume, from: Lsn, fault: Fault) -> Result<(usize, bool), LogError> {
    let failing = volume.fork();
    failing.inject(fault);
    let file = failing.open(Path::new(PATH), Open::Existing, Access::Log)?;
    let mut scan = LogScan::open(file, BINDING, from)?;
    let mut records = 0;
    while scan.next_record()?.is_some() {
        records += 1;
    }
    Ok((records, scan.unreadable().is_some()))
}

#[test]
fn an_end_of_the_log_that_could_not_be_read_for_a_moment_is_read_again() {
    let (volume, start, log) = wrapped(30);
    drop(log);
    let volume = volume.fork();
    let (mut read, mut refused) = (0, 0);
    for nth in 1..120 {
        for times in [1, 4, 8, 9, 12] {
            let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
            match read_failing(&volume, start, fault.nth(nth).times(times)) {
                Ok(found) => {
                    assert_eq!(found, (30, false), "{times} reads from read {nth} on");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    println!("read {read}, refused {refused}");
    assert!(read > refused);
}

#[test]
fn an_end_of_the_log_that_cannot_be_read_is_reported() {
    let (volume, start, log) = wrapped(30);
    drop(log);
    let volume = volume.fork();
    let mut shorter = 0;
    // Each look reads the last block sector by sector, and the first block of each VLF.
    for (nth, times) in (25..45).flat_map(|nth| (400..4_000).step_by(60).map(move |t| (nth, t))) {
        let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
        let found = read_failing(&volume, start, fault.nth(nth).times(times));
        if let Ok((records, is_unreadable)) = found {
            let is_known = records == 30 || is_unreadable;
            assert!(
                is_known,
                "{records} records, {times} reads from read {nth} on failed"
            );
            shorter += u32::from(records < 30);
        }
    }
    println!("{shorter} ended early");
    assert!(shorter > 0);
}
