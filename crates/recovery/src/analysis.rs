//! Analysis: from the last completed checkpoint to the end of the log.

use crate::RecoveryError;
use crate::body::EndBody;
use furrow_format::{Lsn, RowsetId, TxnId};
use furrow_io::File;
use furrow_log::{Log, LogConfig, LogError, LogScan, OwnedRecord, RecordKind};
use furrow_txn::CommitBody;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A transaction that had not ended when the log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loser {
    /// Its number.
    pub id: TxnId,
    /// No record of it lies before this LSN.
    pub first: Lsn,
    /// Its last record.
    pub last: Lsn,
}

/// What analysis found.
#[derive(Debug)]
pub struct Analysis {
    /// The log, open for new records.
    pub log: Arc<Log>,
    /// How far it reaches.
    pub span: LogSpan,
    /// Transactions to undo, newest last record first.
    pub losers: Vec<Loser>,
    /// A number that no transaction has had.
    pub next_txn: u64,
    /// Records read.
    pub records: u64,
    /// Transactions that committed after the checkpoint began.
    pub committed: u64,
    /// Whether the log holds only the checkpoint's own records from its begin on, as after an orderly end:
    /// there is nothing to redo or undo.
    pub clean: bool,
    /// Committed rows of each rowset at the end of the log; a rowset that is not listed was emptied since the
    /// checkpoint. `None`: the log does not contain them.
    pub counts: Option<HashMap<RowsetId, i64>>,
}

/// How far a log reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpan {
    /// The last completed checkpoint.
    pub checkpoint: Lsn,
    /// Where redo starts.
    pub redo_point: Lsn,
    /// The last record in the log.
    pub end: Lsn,
    /// Whether the checkpoint is the first record of the log: that log was created for files that needed
    /// nothing of their old one.
    pub in_new_log: bool,
    /// The byte of the file behind the last record that the device could not read: records may follow there,
    /// unless the power went while it was being written.
    pub unreadable_at: Option<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    active: HashMap<TxnId, Loser>,
    ended: HashSet<TxnId>,
    redo_point: Option<Lsn>,
    complete: bool,
    next_txn: u64,
    committed: u64,
    /// Records from the checkpoint's begin on that are not its own: other sessions work while it is taken.
    others: u64,
    /// Counts of the checkpoint, and what commits behind its begin add.
    counts: Option<HashMap<RowsetId, i64>>,
    deltas: HashMap<RowsetId, i64>,
}

/// Adds to a count of rows. One that a damaged log makes too large is wrong, as its log is.
fn add(counts: &mut HashMap<RowsetId, i64>, rowset: RowsetId, by: i64) {
    let sum = counts.entry(rowset).or_default();
    *sum = sum.wrapping_add(by);
}

impl Seen {
    fn record(&mut self, record: &OwnedRecord, checkpoint: Lsn) -> Result<(), RecoveryError> {
        let (view, lsn) = (record.get(), record.lsn);
        let what = "the number of a transaction";
        let behind = view.txn.0.checked_add(1);
        let behind = behind.ok_or(RecoveryError::BadRecord { lsn, what })?;
        self.next_txn = self.next_txn.max(behind);
        self.others += 1;
        match view.kind {
            RecordKind::Change | RecordKind::Compensation => {
                if view.txn != TxnId(0) {
                    let fresh = Loser {
                        id: view.txn,
                        first: lsn,
                        last: lsn,
                    };
                    self.active.entry(view.txn).or_insert(fresh).last = lsn;
                }
            }
            RecordKind::Commit | RecordKind::Abort => {
                let what = "the body of a commit";
                let body = CommitBody::decode(view.redo);
                let body = body.ok_or(RecoveryError::BadRecord { lsn, what })?;
                for (rowset, by) in body.deltas {
                    add(&mut self.deltas, rowset, by);
                }
                self.active.remove(&view.txn);
                self.ended.insert(view.txn);
                self.committed += u64::from(view.kind == RecordKind::Commit);
            }
            RecordKind::CheckpointBegin => self.others -= u64::from(lsn == checkpoint),
            RecordKind::CheckpointEnd => {
                let what = "the end of a checkpoint";
                let body =
                    EndBody::decode(view.redo).ok_or(RecoveryError::BadRecord { lsn, what })?;
                if body.begin == checkpoint {
                    self.others -= 1;
                    self.checkpoint_end(body);
                }
            }
        }
        Ok(())
    }

    fn checkpoint_end(&mut self, body: EndBody) {
        self.redo_point = Some(body.redo_point);
        self.next_txn = self.next_txn.max(body.next_txn);
        self.complete = body.more == 0;
        if let Some(counts) = body.counts {
            self.counts.get_or_insert_default().extend(counts);
        }
        for txn in body
            .active
            .into_iter()
            .filter(|t| !self.ended.contains(&t.id))
        {
            let listed = Loser {
                id: txn.id,
                first: txn.first,
                last: txn.last,
            };
            let known = self.active.entry(txn.id).or_insert(listed);
            known.first = known.first.min(txn.first);
            known.last = known.last.max(txn.last);
        }
    }
}

/// The end of a checkpoint lists LSNs. A record that can be read may still be a wrong one: they must lie in
/// the log, which ends at `end`.
fn check_losers(losers: &[Loser], (checkpoint, end): (Lsn, Lsn)) -> Result<(), RecoveryError> {
    let in_log = |loser: &Loser| loser.first <= loser.last && loser.last <= end;
    if losers.iter().all(in_log) {
        return Ok(());
    }
    let (lsn, what) = (checkpoint, "the transactions that its end lists");
    Err(RecoveryError::BadRecord { lsn, what })
}

/// A log that was read to its end.
struct ReadLog {
    scan: LogScan,
    seen: Seen,
    span: LogSpan,
    /// Transactions to undo, newest last record first.
    losers: Vec<Loser>,
    records: u64,
}

fn read_log(file: Arc<dyn File>, binding: [u8; 16]) -> Result<ReadLog, RecoveryError> {
    let mut scan = LogScan::from_checkpoint(file, binding)?;
    let checkpoint = scan.checkpoint();
    let in_new_log = scan.is_at_its_beginning() && checkpoint.slot() == 1;
    let (mut seen, mut records, mut end) = (Seen::default(), 0, checkpoint);
    while let Some(record) = scan.next_record()? {
        if record.lsn < checkpoint {
            continue;
        }
        seen.record(&record, checkpoint)?;
        records += 1;
        end = record.lsn;
    }
    debug_assert!(
        end >= checkpoint,
        "records before the checkpoint are passed over"
    );
    let complete = seen.redo_point.filter(|_| seen.complete);
    let Some(redo_point) = complete else {
        return Err(match scan.unreadable_or(LogError::Missing(checkpoint)) {
            unreadable @ LogError::Io(_) => unreadable.into(),
            _ => RecoveryError::NoCheckpoint(checkpoint),
        });
    };
    let mut losers: Vec<Loser> = seen
        .active
        .values()
        .copied()
        .filter(|t| t.last > Lsn::ZERO)
        .collect();
    check_losers(&losers, (checkpoint, end))?;
    losers.sort_by_key(|l| std::cmp::Reverse(l.last));
    let span = LogSpan {
        checkpoint,
        redo_point,
        end,
        in_new_log,
        unreadable_at: scan.unreadable().map(|error| error.offset),
    };
    Ok(ReadLog {
        scan,
        seen,
        span,
        losers,
        records,
    })
}

/// Reads all records that recovery reads, and changes nothing: an error where recovery would lack one.
/// Between the first record of a loser and the redo point, those are the loser's alone.
pub fn look(file: &Arc<dyn File>, binding: [u8; 16]) -> Result<LogSpan, RecoveryError> {
    let read = read_log(Arc::clone(file), binding)?;
    let span = read.span;
    let mut scan = LogScan::open(Arc::clone(file), binding, span.redo_point)?;
    debug_assert!(
        span.redo_point <= span.end && span.checkpoint <= span.end,
        "recovery reads from there to the end"
    );
    let mut last = Lsn::ZERO;
    while last < span.end {
        let record = scan.next_record()?;
        let next = match record {
            Some(record) => record.lsn,
            None => return Err(scan.unreadable_or(LogError::Missing(span.end)).into()),
        };
        debug_assert!(last < next, "records follow each other");
        last = next;
    }
    for loser in &read.losers {
        look_back(&mut scan, loser)?;
    }
    Ok(span)
}

/// Reads the records of a loser, newest first, as undo does.
fn look_back(scan: &mut LogScan, loser: &Loser) -> Result<(), RecoveryError> {
    debug_assert!(loser.first <= loser.last, "a transaction leads forward");
    let mut lsn = loser.last;
    while lsn > Lsn::ZERO {
        let record = match scan.read(lsn) {
            Err(missing @ LogError::Missing(_)) => return Err(scan.unreadable_or(missing).into()),
            read => read?,
        };
        let view = record.get();
        let what = match (view.txn == loser.id, view.prev < lsn) {
            (true, true) => None,
            (false, _) => Some("it belongs to another transaction"),
            (true, false) => Some("its chain does not lead back"),
        };
        if let Some(what) = what {
            return Err(RecoveryError::BadRecord { lsn, what });
        }
        lsn = view.prev;
    }
    Ok(())
}

/// Reads the log from its last completed checkpoint and opens it for new records. The log from `keep` on
/// stays.
pub fn analyse(
    file: Arc<dyn File>,
    binding: [u8; 16],
    (config, keep): (LogConfig, Lsn),
) -> Result<Analysis, RecoveryError> {
    // What an earlier process wrote may still be in the system's cache. The restart reads it and writes
    // records behind it. If it were lost later and they were not, the log would have a hole.
    file.sync().map_err(LogError::from)?;
    let ReadLog {
        scan,
        seen,
        span,
        losers,
        records,
    } = read_log(file, binding)?;
    let oldest = losers
        .iter()
        .map(|l| l.first)
        .min()
        .unwrap_or(Lsn::MAX)
        .min(span.redo_point)
        .min(keep);
    debug_assert!(
        oldest <= span.redo_point,
        "the log is kept from the redo point on"
    );
    debug_assert!(
        losers.is_sorted_by(|a, b| a.last >= b.last),
        "the newest record is undone first"
    );
    let counts = seen.counts.map(|mut counts| {
        for (rowset, by) in seen.deltas {
            add(&mut counts, rowset, by);
        }
        counts
    });
    let clean = seen.others == 0 && losers.is_empty() && span.redo_point == span.checkpoint;
    let log = Log::resume(scan, oldest, config)?;
    Ok(Analysis {
        log,
        span,
        losers,
        next_txn: seen.next_txn,
        records,
        committed: seen.committed,
        clean,
        counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::sim::{Effect, Fault, OpKind, Ops, SimOptions, SimVolume};
    use furrow_io::{Access, AlignedBuf, MemoryVolume, Open, Volume};
    use furrow_log::Record;
    use furrow_txn::ListedTxn;

    const BINDING: [u8; 16] = [7; 16];

    /// The log of one checkpoint, with these records between its begin and its end.
    fn analysed(between: &[Record<'_>]) -> Analysis {
        analysed_of(between, &[]).unwrap()
    }

    /// The same, of a checkpoint that lists these transactions.
    fn analysed_of(
        between: &[Record<'_>],
        listed: &[ListedTxn],
    ) -> Result<Analysis, RecoveryError> {
        let volume = MemoryVolume::new();
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let file = file.unwrap();
        let config = LogConfig::default();
        let log = Log::create(Arc::clone(&file), 1 << 20, BINDING, config).unwrap();
        let begin = log
            .append(&Record::system(RecordKind::CheckpointBegin, &[]))
            .unwrap();
        for record in between {
            log.append(record).unwrap();
        }
        let mut end = begin;
        for body in EndBody::split(begin, begin, 9, listed, &[]) {
            let body = body.encode();
            let record = Record::system(RecordKind::CheckpointEnd, &body);
            end = log.append(&record).unwrap();
        }
        log.flush_to(end).unwrap();
        log.note_checkpoint(begin).unwrap();
        log.shut_down();
        drop(log);
        analyse(file, BINDING, (config, Lsn::MAX))
    }

    #[test]
    fn a_checkpoint_that_lists_records_behind_the_end_of_the_log_is_malformed() {
        let listed = |first, last| ListedTxn {
            id: TxnId(5),
            first,
            last,
        };
        for wrong in [listed(Lsn(1), Lsn::MAX), listed(Lsn(7), Lsn(3))] {
            let found = analysed_of(&[], &[wrong]);
            assert!(
                matches!(found, Err(RecoveryError::BadRecord { .. })),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn what_others_wrote_while_the_last_checkpoint_was_taken_is_redone() {
        assert!(analysed(&[]).clean);
        let change = Record {
            kind: RecordKind::Change,
            txn: TxnId(8),
            prev: Lsn::ZERO,
            undo: &[],
            redo: &[],
        };
        let commit = Record {
            kind: RecordKind::Commit,
            ..change
        };
        let found = analysed(&[change, commit]);
        assert!(!found.clean && found.losers.is_empty());
        assert_eq!(found.span.redo_point, found.span.checkpoint);
        assert_eq!(found.committed, 1);
        let system = Record::system(RecordKind::Change, &[]);
        assert!(!analysed(&[system]).clean);
    }

    /// A log of a checkpoint that follows three blocks: of the open transaction 5, of transaction 8, of
    /// transaction 5 again. Where each block begins in the file.
    fn with_an_open_transaction(volume: &dyn Volume) -> (Arc<dyn File>, [u64; 3]) {
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let file = file.unwrap();
        let log = Log::create(Arc::clone(&file), 1 << 20, BINDING, LogConfig::default()).unwrap();
        let durable = |record: &Record<'_>| {
            let lsn = log.append(record).unwrap();
            log.flush_to(lsn).unwrap();
            lsn
        };
        let change = |txn, prev| Record {
            txn: TxnId(txn),
            prev,
            ..Record::system(RecordKind::Change, &[])
        };
        // The first block of a VLF says which one it is.
        durable(&Record::system(RecordKind::Change, &[]));
        let first = durable(&change(5, Lsn::ZERO));
        let other = durable(&change(8, Lsn::ZERO));
        let last = durable(&change(5, first));
        durable(&Record {
            kind: RecordKind::Commit,
            ..change(8, other)
        });
        let begin = durable(&Record::system(RecordKind::CheckpointBegin, &[]));
        let id = TxnId(5);
        for body in EndBody::split(begin, begin, 9, &[ListedTxn { id, first, last }], &[]) {
            durable(&Record::system(RecordKind::CheckpointEnd, &body.encode()));
        }
        log.note_checkpoint(begin).unwrap();
        log.shut_down();
        let place = |lsn: Lsn| furrow_log::FIRST_VLF_OFFSET + u64::from(lsn.block()) * 512;
        (file, [first, other, last].map(place))
    }

    #[test]
    fn a_damaged_block_of_others_before_the_redo_point_does_not_make_a_log_lost() {
        for (damaged, is_needed) in [(0, true), (1, false), (2, true)] {
            let (file, blocks) = with_an_open_transaction(&MemoryVolume::new());
            assert!(look(&file, BINDING).is_ok());
            let garbage = AlignedBuf::copy_of(&[0xA5; 512]);
            file.write_at(blocks[damaged], &garbage).unwrap();
            let looked = look(&file, BINDING).map(|span| span.checkpoint);
            assert_eq!(looked.is_err(), is_needed, "block {damaged}: {looked:?}");
            // Nothing of it is read before undo.
            let analysed = analyse(file, BINDING, (LogConfig::default(), Lsn::MAX));
            assert_eq!(analysed.unwrap().losers.len(), 1, "block {damaged}");
        }
    }

    #[test]
    fn the_end_of_a_checkpoint_that_cannot_be_read_is_an_error_of_the_device() {
        let volume = SimVolume::new(SimOptions::default());
        drop(with_an_open_transaction(&volume));
        let (mut unreadable, mut good) = (0, 0);
        // The block is looked for several times, sector by sector.
        for (nth, times) in (6..10).flat_map(|nth| (0..4_000).step_by(40).map(move |t| (nth, t))) {
            let volume = volume.fork();
            let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
            volume.inject(fault.nth(nth).times(times));
            let file = volume.open("a.ldf".as_ref(), Open::Existing, Access::Log);
            match look(&file.unwrap(), BINDING) {
                Ok(_) => good += 1,
                Err(RecoveryError::Log(LogError::Io(_))) => unreadable += 1,
                Err(other) => panic!("{times} reads from read {nth} on failed: {other}"),
            }
        }
        assert!(
            good > 0 && unreadable > 0,
            "{good} good, {unreadable} unreadable"
        );
    }
}
