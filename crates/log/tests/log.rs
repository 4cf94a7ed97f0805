//! The log from outside: appending, group commit, circular use, reading back.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_format::{Lsn, TxnId};
use furrow_io::sim::{SimOptions, SimVolume};
use furrow_io::{Access, File, MemoryVolume, Open, Volume, thread};
use furrow_log::{Log, LogConfig, LogError, LogScan, Record, RecordKind, RecordReader};
use std::path::Path;
use std::sync::Arc;

const BINDING: [u8; 16] = *b"binding of tests";

fn new_file(volume: &dyn Volume) -> Arc<dyn File> {
    volume.create_dir(Path::new("/v")).unwrap();
    volume
        .open(Path::new("/v/db.ldf"), Open::Create, Access::Log)
        .unwrap()
}

fn config(in_flight: u32) -> LogConfig {
    LogConfig {
        writes_in_flight: in_flight,
        ..LogConfig::default()
    }
}

fn change(txn: u64, prev: Lsn, redo: &[u8]) -> Record<'_> {
    Record {
        kind: RecordKind::Change,
        txn: TxnId(txn),
        prev,
        undo: b"u",
        redo,
    }
}

fn read_all(mut scan: LogScan) -> (Vec<(Lsn, u64, Vec<u8>)>, LogScan) {
    let mut out = Vec::new();
    while let Some(record) = scan.next_record().unwrap() {
        let r = record.get();
        out.push((record.lsn, r.txn.0, r.redo.to_vec()));
    }
    (out, scan)
}

#[test]
fn records_come_back_in_order_with_their_lsns() {
    let volume = MemoryVolume::new();
    let file = new_file(&volume);
    let log = Log::create(file.clone(), 1 << 20, BINDING, config(2)).unwrap();
    let first = log.tail();
    let mut sent = Vec::new();
    for i in 0..3000_u64 {
        let body = vec![i as u8; (i * 37 % 900) as usize];
        let lsn = log.append(&change(i + 1, Lsn::ZERO, &body)).unwrap();
        assert!(sent.last().is_none_or(|(last, _, _)| *last < lsn));
        sent.push((lsn, i + 1, body));
        if i % 7 == 0 {
            log.flush_to(lsn).unwrap();
            assert!(lsn < log.durable());
        }
        if i % 500 == 499 {
            log.truncate_before(lsn);
        }
    }
    log.flush_all().unwrap();
    let start = sent[2500].0;
    assert!(sent[0].0 >= first);
    let (back, _) = read_all(LogScan::open(file, BINDING, start).unwrap());
    let from = back.iter().position(|r| r.0 == start).unwrap();
    assert_eq!(back[from..], sent[2500..]);
}

#[test]
fn a_log_without_a_thread_writes_blocks_when_too_many_are_full_the_same_every_time() {
    let run = || {
        let volume = SimVolume::new(SimOptions::default());
        let file = new_file(&volume);
        let alone = LogConfig {
            background: false,
            ..config(2)
        };
        let log = Log::create(file, 8 << 20, BINDING, alone).unwrap();
        let first = log.tail();
        for i in 0..1000_u64 {
            log.append(&change(i + 1, Lsn::ZERO, &[7; 2000])).unwrap();
        }
        assert!(log.durable() > first && log.durable() < log.tail());
        volume.fingerprint()
    };
    let once = run();
    assert!((0..5).all(|_| run() == once));
}

#[test]
fn every_commit_of_many_threads_is_durable_when_it_returns() {
    for in_flight in [1, 2, 3] {
        let volume = MemoryVolume::new();
        let file = new_file(&volume);
        let log = Log::create(file.clone(), 32 << 20, BINDING, config(in_flight)).unwrap();
        let start = log.append(&change(999, Lsn::ZERO, b"start")).unwrap();
        thread::scope(|s| {
            for t in 0..8_u64 {
                let log = &log;
                s.spawn(move || {
                    for i in 0..400_u64 {
                        let body = (t << 32 | i).to_le_bytes();
                        log.append(&change(t + 1, Lsn::ZERO, &body)).unwrap();
                        let commit = Record::system(RecordKind::Commit, &body);
                        let lsn = log.append(&commit).unwrap();
                        log.flush_to(lsn).unwrap();
                        assert!(lsn < log.durable());
                    }
                });
            }
        });
        let (back, _) = read_all(LogScan::open(file, BINDING, start).unwrap());
        assert_eq!(back.len(), 1 + 8 * 400 * 2);
        for t in 0..8_u64 {
            let mine: Vec<u64> = back
                .iter()
                .filter(|r| r.1 == t + 1)
                .map(|r| u64::from_le_bytes(r.2[..].try_into().unwrap()) & 0xFFFF_FFFF)
                .collect();
            assert_eq!(mine, (0..400).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_full_log_refuses_until_it_is_truncated_or_grown() {
    let volume = MemoryVolume::new();
    let file = new_file(&volume);
    let log = Log::create(file.clone(), 1 << 20, BINDING, config(2)).unwrap();
    let body = vec![1; 5000];
    let mut last = Lsn::ZERO;
    let refused = loop {
        if let Err(e) = log.promise(6000) {
            break e;
        }
        log.give_back(6000);
        last = log.append(&change(1, last, &body)).unwrap();
        log.flush_to(last).unwrap();
    };
    assert!(matches!(refused, LogError::Full(_)), "{refused}");
    assert!(log.usage().used_percent() > 60.0);
    log.grow(1 << 20).unwrap();
    log.promise(6000).unwrap();
    log.give_back(6000);
    for _ in 0..100 {
        last = log.append(&change(1, last, &body)).unwrap();
    }
    log.flush_to(last).unwrap();
    log.truncate_before(last);
    assert!(log.usage().used_percent() < 30.0, "{:?}", log.usage());
    for _ in 0..1000 {
        last = log.append(&change(1, last, &body)).unwrap();
        // Log that is not durable is never truncated.
        log.truncate_before(last);
        log.flush_to(last).unwrap();
        log.truncate_before(last);
    }
    log.flush_to(last).unwrap();
    drop(log);
    let (back, scan) = read_all(LogScan::open(file, BINDING, last).unwrap());
    assert_eq!(back.last().unwrap().0, last);
    let log = Log::resume(scan, last, config(2)).unwrap();
    assert!(log.tail() > last);
}

#[test]
fn single_records_are_read_from_memory_and_from_the_file() {
    let volume = MemoryVolume::new();
    let log = Log::create(new_file(&volume), 32 << 20, BINDING, config(2)).unwrap();
    let mut lsns = Vec::new();
    for i in 0..2000_u64 {
        let prev = lsns.last().copied().unwrap_or(Lsn::ZERO);
        lsns.push(log.append(&change(i, prev, &vec![i as u8; 4000])).unwrap());
    }
    let mut reader = RecordReader::new();
    let mut at = *lsns.last().unwrap();
    for i in (0..2000_u64).rev() {
        let record = reader.read(&log, at).unwrap();
        assert_eq!((record.get().txn.0, record.get().redo[0]), (i, i as u8));
        at = record.get().prev;
    }
    assert_eq!(at, Lsn::ZERO);
    assert!(reader.read(&log, Lsn::new(31, 0, 1).unwrap()).is_err());
}

#[test]
fn a_log_of_another_database_or_another_kind_of_file_is_refused() {
    let volume = MemoryVolume::new();
    let file = new_file(&volume);
    let log = Log::create(file.clone(), 1 << 20, BINDING, config(1)).unwrap();
    let lsn = log.append(&change(1, Lsn::ZERO, b"x")).unwrap();
    log.flush_to(lsn).unwrap();
    drop(log);
    let foreign = LogScan::open(file.clone(), *b"another database", lsn).unwrap_err();
    assert!(matches!(foreign, LogError::WrongDatabase(_)), "{foreign}");
    let missing = LogScan::open(file, BINDING, Lsn::new(77, 0, 1).unwrap()).unwrap_err();
    assert!(matches!(missing, LogError::Missing(_)), "{missing}");
    let other = volume
        .open(Path::new("/v/x"), Open::Create, Access::Log)
        .unwrap();
    other.resize(1 << 20, furrow_io::Fill::Zero).unwrap();
    let error = LogScan::open(other, BINDING, lsn).unwrap_err();
    assert!(matches!(error, LogError::NotALog(_)), "{error}");
}

#[test]
fn a_log_that_turns_back_from_an_empty_vlf_is_read_to_its_end() {
    let volume = MemoryVolume::new();
    let file = new_file(&volume);
    let alone = LogConfig {
        background: false,
        ..config(1)
    };
    let log = Log::create(file.clone(), 1 << 20, BINDING, alone).unwrap();
    let last_vlf = log.vlfs().len() as u32 - 1 + log.tail().vlf();
    let commit = || {
        let lsn = log.append(&change(1, Lsn::ZERO, &[1; 900])).unwrap();
        log.flush_to(lsn).unwrap();
        lsn
    };
    // The last VLF is the current one, and nothing is in it yet.
    let mut from = commit();
    while log.tail() != Lsn::new(last_vlf, 0, 1).unwrap() {
        from = commit();
    }
    log.truncate_before(from);
    let turned = log.turn_back(0).unwrap();
    let lsns: Vec<Lsn> = (0..5).map(|_| commit()).collect();
    drop(log);
    let (back, _) = read_all(LogScan::open(file, BINDING, from).unwrap());
    let back: Vec<Lsn> = back.into_iter().map(|record| record.0).collect();
    assert_eq!(back[1..], lsns, "turned back: {turned}");
}

#[test]
fn a_record_that_was_never_written_is_an_error_and_not_waited_for() {
    let volume = MemoryVolume::new();
    let log = Log::create(new_file(&volume), 1 << 20, BINDING, config(2)).unwrap();
    let never = |lsn: Lsn| matches!(log.flush_to(lsn), Err(LogError::Unwritten(at)) if at == lsn);
    assert!(never(log.tail()), "of an empty log");
    let lsn = log.append(&change(1, Lsn::ZERO, b"x")).unwrap();
    assert!(never(Lsn(lsn.0 + (1 << 18))), "of a block to come");
    log.flush_to(lsn).unwrap();
    assert!(never(log.tail()), "behind all that is durable");
    let next = log.append(&change(1, lsn, b"y")).unwrap();
    log.flush_to(next).unwrap();
}

#[test]
fn the_padding_of_a_block_at_the_end_of_an_odd_vlf_spares_the_vlf_behind_it_in_the_file() {
    let volume = MemoryVolume::new();
    let file = new_file(&volume);
    // The fourth VLF is no multiple of the sector; the growth puts more behind it.
    let log = Log::create(file.clone(), (1 << 20) + 512, BINDING, config(2)).unwrap();
    log.grow(1 << 20).unwrap();
    let first = log.tail().vlf();
    let mut sent: Vec<Lsn> = Vec::new();
    while sent.last().is_none_or(|last| last.vlf() < first + 7) {
        sent.push(log.append(&change(1, Lsn::ZERO, &[7; 76])).unwrap());
    }
    log.flush_all().unwrap();
    let oldest = *sent.iter().find(|lsn| lsn.vlf() == first + 4).unwrap();
    log.truncate_before(oldest);
    let full = loop {
        match log.append(&change(1, Lsn::ZERO, &[7; 76])) {
            Ok(lsn) => sent.push(lsn),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, LogError::Full(_)), "{full}");
    assert_eq!(
        sent.last().unwrap().vlf(),
        first + 11,
        "it ends in the fourth VLF"
    );
    log.flush_all().unwrap();
    log.shut_down();
    drop(log);
    let from = Lsn(oldest.0 & !u64::from(Lsn::MAX_SLOT));
    let (read, _) = read_all(LogScan::open(file, BINDING, from).unwrap());
    let read: Vec<Lsn> = read.iter().map(|record| record.0).collect();
    let expected: Vec<Lsn> = sent.into_iter().filter(|lsn| *lsn >= oldest).collect();
    assert_eq!(read, expected);
}
