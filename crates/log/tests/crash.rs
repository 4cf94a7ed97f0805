//! The log under power losses: what was acknowledged comes back, what was never whole does not.
//!
//! The seed is printed; `FURROW_SEED` replays it.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_format::{Lsn, TxnId};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume, random, thread};
use furrow_log::{Log, LogConfig, LogScan, Record, RecordKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

const BINDING: [u8; 16] = *b"binding of crash";
const THREADS: u64 = 3;

/// Numbers each thread wrote, by thread.
type Seen = BTreeMap<u64, Vec<u64>>;

fn config() -> LogConfig {
    LogConfig {
        writes_in_flight: 3,
        ..LogConfig::default()
    }
}

/// Lets the threads append and flush numbered records from `first` on until the power goes; what
/// was acknowledged.
fn work(log: &Log, first: &BTreeMap<u64, u64>, sizes: u64) -> Seen {
    let acknowledged = Mutex::new(Seen::new());
    thread::scope(|s| {
        for t in 1..=THREADS {
            let (log, acknowledged) = (&log, &acknowledged);
            let start = first.get(&t).copied().unwrap_or(0);
            s.spawn(move || {
                for n in start..start + 400 {
                    let mut body = n.to_le_bytes().to_vec();
                    body.resize(8 + (sizes.wrapping_mul(n + t) % 3000) as usize, n as u8);
                    let record = Record {
                        kind: RecordKind::Change,
                        txn: TxnId(t),
                        prev: Lsn::ZERO,
                        undo: &[],
                        redo: &body,
                    };
                    let Ok(lsn) = log.append(&record) else { return };
                    if n % 3 == 0 {
                        if log.flush_to(lsn).is_err() {
                            return;
                        }
                        acknowledged.lock().unwrap().entry(t).or_default().push(n);
                    }
                }
            });
        }
    });
    acknowledged.into_inner().unwrap()
}

fn read_back(volume: &SimVolume, from: Lsn) -> (Seen, LogScan) {
    let file = volume
        .open(Path::new("/log/db.ldf"), Open::Existing, Access::Log)
        .unwrap();
    let mut scan = LogScan::open(file, BINDING, from).unwrap();
    let mut seen = Seen::new();
    while let Some(record) = scan.next_record().unwrap() {
        let view = record.get();
        if view.txn != TxnId(0) {
            let n = u64::from_le_bytes(*view.redo.first_chunk().unwrap());
            assert!(
                view.redo[8..].iter().all(|&b| b == n as u8),
                "a record came back garbled"
            );
            seen.entry(view.txn.0).or_default().push(n);
        }
    }
    (seen, scan)
}

/// Acknowledged numbers are all there, and each thread's numbers are 0, 1, 2 ... without a gap.
fn check(seen: &Seen, acknowledged: &Seen, what: &str) {
    for (t, numbers) in seen {
        assert_eq!(
            numbers,
            &(0..numbers.len() as u64).collect::<Vec<_>>(),
            "{what}, thread {t}"
        );
    }
    for (t, numbers) in acknowledged {
        let last = numbers.last().copied().unwrap_or(0);
        let have = seen.get(t).map_or(0, |s| s.len() as u64);
        assert!(
            last < have,
            "{what}, thread {t}: {last} was acknowledged, {have} came back"
        );
    }
}

#[test]
fn acknowledged_records_survive_two_power_losses_in_a_row() {
    let seed = random::test_seed();
    for round in 0..400_u64 {
        let seed = seed.wrapping_add(round);
        let volume = SimVolume::new(SimOptions::default());
        volume.create_dir(Path::new("/log")).unwrap();
        let file = volume
            .open(Path::new("/log/db.ldf"), Open::Create, Access::Log)
            .unwrap();
        let log = Log::create(file, 8 << 20, BINDING, config()).unwrap();
        let start = log
            .append(&Record::system(RecordKind::CheckpointBegin, &[]))
            .unwrap();
        log.flush_to(start).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(1 + seed % 97));
        // Blocks of one sector each, in half of the rounds: what was lost and what is written in its place
        // then have the same places, so that blocks left over behind a hole fit exactly.
        let sizes = seed.wrapping_mul(round % 2);
        let mut acknowledged = work(&log, &BTreeMap::new(), sizes);
        drop(log);
        let crash = if seed % 2 == 0 {
            Crash::Random { seed }
        } else {
            Crash::Torn { seed }
        };
        let volume = volume.crash(&crash);
        let what = format!("seed {seed}, first loss");
        let (seen, scan) = read_back(&volume, start);
        check(&seen, &acknowledged, &what);

        let log = Log::resume(scan, start, config()).unwrap();
        let first: BTreeMap<u64, u64> = seen.iter().map(|(t, s)| (*t, s.len() as u64)).collect();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(1 + seed / 3 % 61));
        for (t, numbers) in work(&log, &first, sizes.rotate_left(7)) {
            acknowledged.entry(t).or_default().extend(numbers);
        }
        drop(log);
        let volume = volume.crash(&Crash::Random {
            seed: seed.wrapping_mul(31),
        });
        let (seen, _) = read_back(&volume, start);
        check(&seen, &acknowledged, &format!("seed {seed}, second loss"));
    }
}

#[test]
fn a_growth_cut_short_leaves_the_log_as_it_was_or_grown() {
    let seed = random::test_seed();
    for nth in 1..12 {
        let volume = SimVolume::new(SimOptions::default());
        volume.create_dir(Path::new("/log")).unwrap();
        let file = volume
            .open(Path::new("/log/db.ldf"), Open::Create, Access::Log)
            .unwrap();
        let log = Log::create(file, 1 << 20, BINDING, config()).unwrap();
        let start = log
            .append(&Record::system(RecordKind::CheckpointBegin, &[]))
            .unwrap();
        log.flush_to(start).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let grown = log.grow(1 << 20).is_ok();
        drop(log);
        let volume = volume.crash(&Crash::Random {
            seed: seed.wrapping_add(nth),
        });
        let (_, scan) = read_back(&volume, start);
        let log: Arc<Log> = Log::resume(scan, start, config()).unwrap();
        let total = log.usage().total_bytes;
        assert!(
            total >= 1_000_000,
            "seed {seed}, operation {nth}: {total} bytes left"
        );
        assert!(
            !grown || total > 1 << 20,
            "seed {seed}, operation {nth}: the growth was acknowledged"
        );
        let lsn = log
            .append(&Record::system(RecordKind::CheckpointBegin, &[]))
            .unwrap();
        log.flush_to(lsn).unwrap();
    }
}
