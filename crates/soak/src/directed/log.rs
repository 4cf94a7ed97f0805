//! The scene of the log's blocks.

use super::as_text;
use furrow_format::{Lsn, TxnId};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{Access, IoError, Open, SimVolume, Volume};
use furrow_log::{Log, LogConfig, LogError, LogScan, Record, RecordKind};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

const BINDING: [u8; 16] = *b"scene of the log";
const PATH: &str = "/log/db.ldf";
/// Records that fill more than two blocks.
const RECORDS: u64 = 60;
const RECORD_BYTES: usize = 3_000;

fn record(body: &[u8]) -> Record<'_> {
    Record {
        kind: RecordKind::Change,
        txn: TxnId(1),
        prev: Lsn::ZERO,
        undo: &[],
        redo: body,
    }
}

fn config() -> LogConfig {
    LogConfig {
        background: false,
        ..LogConfig::default()
    }
}

fn append(log: &Log, numbers: std::ops::Range<u64>) -> Result<Vec<Lsn>, LogError> {
    let mut lsns = Vec::new();
    for number in numbers {
        let mut body = number.to_le_bytes().to_vec();
        body.resize(RECORD_BYTES, number as u8);
        lsns.push(log.append(&record(&body))?);
    }
    Ok(lsns)
}

fn open(machine: &SimVolume, from: Lsn) -> Result<(LogScan, u64), String> {
    let file = machine.open(Path::new(PATH), Open::Existing, Access::Log);
    let mut scan = LogScan::open(file.map_err(as_text)?, BINDING, from).map_err(as_text)?;
    let mut records = 0;
    while let Some(record) = scan.next_record().map_err(as_text)? {
        records += u64::from(record.get().kind == RecordKind::Change);
    }
    Ok((scan, records))
}

fn begun(volume: &SimVolume) -> Result<(Arc<Log>, Lsn), LogError> {
    let made = |error: IoError| LogError::from(error);
    volume.create_dir(Path::new("/log")).map_err(made)?;
    let file = volume.open(Path::new(PATH), Open::Create, Access::Log);
    let log = Log::create(file.map_err(made)?, 4 << 20, BINDING, config())?;
    let start = log.append(&Record::system(RecordKind::CheckpointBegin, &[]))?;
    log.flush_to(start)?;
    Ok((log, start))
}

/// Several blocks are in flight, and the first is lost. The next start writes the very same block again, of
/// the same length and in the same place: those that lay behind the lost one must not follow it.
pub(super) fn stale_blocks(_: u64) -> Result<(), String> {
    let volume = SimVolume::new(SimOptions::default());
    let (log, start) = begun(&volume).map_err(as_text)?;
    let aside: Arc<Mutex<Vec<SimVolume>>> = Arc::default();
    let to = Arc::clone(&aside);
    volume.on_boundary(move |machine| to.lock().push(machine));
    let lsns = append(&log, 0..RECORDS).map_err(as_text)?;
    log.flush_all().map_err(as_text)?;
    drop(log);
    let block = |lsn: &Lsn| lsn.0 & !u64::from(Lsn::MAX_SLOT);
    let in_first = lsns
        .iter()
        .take_while(|lsn| Some(block(lsn)) == lsns.first().map(block));
    let in_first = in_first.count() as u64;
    let mut tried = 0;
    for machine in std::mem::take(&mut *aside.lock()) {
        for (op, _) in machine.unsynced_in(Path::new(PATH)).into_iter().take(1) {
            let after = machine.crash(&Crash::AllButUnit { op, unit: 0 });
            let (scan, there) = open(&after, start)?;
            if there >= in_first {
                continue;
            }
            let log = Log::resume(scan, start, config()).map_err(as_text)?;
            append(&log, there..in_first).map_err(as_text)?;
            log.flush_all().map_err(as_text)?;
            drop(log);
            let (_, found) = open(&after.crash(&Crash::KeepAll), start)?;
            if found != in_first {
                return Err(format!(
                    "{in_first} records were written since, {found} are read: blocks of before follow them"
                ));
            }
            tried += 1;
        }
    }
    match tried {
        0 => Err("no block was in flight behind another: the scene is not what it says".to_owned()),
        _ => Ok(()),
    }
}
