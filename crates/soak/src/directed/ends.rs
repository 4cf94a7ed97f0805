//! The scene of a transaction's end that was not durable when its log was truncated.

use super::{as_text, small_pool};
use furrow_format::{DatabaseId, Lsn, TxnId};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};
use furrow_log::{FIRST_VLF_OFFSET, Log, LogConfig, LogScan, Record, RecordKind};
use furrow_pool::CheckpointOptions;
use furrow_recovery::{analyse, checkpoint, truncate};
use furrow_txn::{Mini, Store, Transaction};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

const BINDING: [u8; 16] = *b"scene of an end.";
const PATH: &str = "/log/end.ldf";
const LOG_BYTES: u64 = (512 << 10) + FIRST_VLF_OFFSET;
/// Of each record that only fills space: with its header it fills most of a block of one sector.
const FILLER_BYTES: usize = 3_000;
/// More than such a block takes in the file.
const FILLED_BYTES: u64 = 4096;
/// Records that go where the transaction's first one was.
const OVERWRITING: usize = 12;

fn config() -> LogConfig {
    LogConfig {
        background: false,
        ..LogConfig::default()
    }
}

/// A store that has no more than a log.
fn open(volume: &SimVolume) -> Result<Arc<Store>, String> {
    volume.create_dir(Path::new("/log")).map_err(as_text)?;
    let file = volume.open(Path::new(PATH), Open::Create, Access::Log);
    let log = Log::create(file.map_err(as_text)?, LOG_BYTES, BINDING, config()).map_err(as_text)?;
    let pool = small_pool()?;
    Store::new(DatabaseId(5), pool, log, Lsn::ZERO, 1).map_err(as_text)
}

fn append(store: &Store) -> Result<Lsn, String> {
    let record = Record::system(RecordKind::Change, &[0; FILLER_BYTES]);
    store.log().append(&record).map_err(as_text)
}

/// Fills the log, durably, until its end is where it is wanted.
fn fill(store: &Store, enough: impl Fn(Lsn) -> bool) -> Result<(), String> {
    while !enough(store.log().tail()) {
        let lsn = append(store)?;
        store.log().flush_to(lsn).map_err(as_text)?;
    }
    Ok(())
}

fn note(store: &Store) -> Result<(), String> {
    let taken = checkpoint(store, CheckpointOptions::default());
    taken.map(drop).map_err(as_text)
}

/// A transaction keeps the log since its first record. It ends a step before the log has to begin again from
/// the front, and its log is truncated: then its first record is overwritten. Returns the machines of every
/// moment since then, and the transaction.
fn played(volume: &SimVolume) -> Result<(Vec<SimVolume>, TxnId), String> {
    let store = open(volume)?;
    note(&store)?;
    let mut txn = Transaction::begin(&store);
    let id = txn.id();
    txn.prepare(0, 8).map_err(as_text)?;
    let first = txn
        .commit_mini(Mini::new(&store), b"the undo")
        .map_err(as_text)?;
    let vlfs = store.log().vlfs();
    let (last, vlf_bytes) = match vlfs.last() {
        Some((vlf, _)) if vlfs.len() > 2 => (first.vlf() + vlfs.len() as u32 - 1, vlf.size),
        _ => return Err("a log of two virtual log files: no scene".to_owned()),
    };
    fill(&store, |tail| tail.vlf() == last)?;
    note(&store)?;
    let left = |tail: Lsn| vlf_bytes - u64::from(tail.block()) * 512;
    fill(&store, |tail| {
        tail.vlf() != last || left(tail) < 3 * FILLED_BYTES
    })?;
    let machines: Arc<Mutex<Vec<SimVolume>>> = Arc::default();
    let to = Arc::clone(&machines);
    volume.on_boundary(move |machine| to.lock().push(machine));
    txn.commit_delayed().map_err(as_text)?;
    if !truncate(&store).map_err(as_text)? {
        return Err("the end of the transaction let nothing go: no scene".to_owned());
    }
    while store.log().tail().vlf() == last {
        append(&store)?;
    }
    (0..OVERWRITING).try_for_each(|_| append(&store).map(drop))?;
    store.log().flush_all().map_err(as_text)?;
    Ok((std::mem::take(&mut *machines.lock()), id))
}

/// Whether a restart would have to undo the transaction; an error if it could not.
fn judge(machine: &SimVolume, id: TxnId) -> Result<bool, String> {
    let open = || machine.open(Path::new(PATH), Open::Existing, Access::Log);
    let found =
        analyse(open().map_err(as_text)?, BINDING, (config(), Lsn::MAX)).map_err(as_text)?;
    let Some(loser) = found.losers.iter().find(|loser| loser.id == id) else {
        return Ok(false);
    };
    drop(found.log);
    let scan = LogScan::open(open().map_err(as_text)?, BINDING, loser.last);
    let gone = |why: &dyn std::fmt::Display| format!("{why}: the log of it was let go");
    let mut scan = scan.map_err(|e| gone(&e))?;
    while let Some(record) = scan.next_record().map_err(as_text)? {
        if record.lsn == loser.last && record.get().txn == id {
            return Ok(true);
        }
    }
    Err(gone(&"its record is not there"))
}

/// A transaction that has to be undone after a power loss finds its records, whichever of the last writes are
/// lost.
pub(super) fn end_not_durable(_: u64) -> Result<(), String> {
    let volume = SimVolume::new(SimOptions::default());
    let (machines, id) = played(&volume)?;
    let mut undone = 0;
    for machine in machines {
        let holes = machine.unsynced_in(Path::new(PATH));
        let holes = holes
            .into_iter()
            .map(|(op, _)| Crash::AllButUnit { op, unit: 0 });
        for outcome in machine.outcomes().into_iter().chain(holes) {
            let judged = judge(&machine.crash(&outcome), id);
            undone += u32::from(judged.map_err(|what| {
                format!("{outcome:?}, the transaction is to be undone and cannot be: {what}")
            })?);
        }
    }
    match undone {
        0 => Err("its end was never lost: no scene".to_owned()),
        _ => Ok(()),
    }
}
