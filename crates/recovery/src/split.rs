//! The transactions that are active at an LSN of an open log, and their rollback on a snapshot's pages.

use crate::{Loser, RecoveryError};
use furrow_format::{Lsn, TxnId};
use furrow_log::{Log, LogScan, Record, RecordKind};
use furrow_txn::{ListedTxn, Store, Undo, log_abort, undo_chain_of};
use std::collections::HashMap;
use std::sync::Arc;

/// Appends a record that changes nothing, and writes the log up to it. It lies behind every record that was
/// appended before: a scan that stops there never comes to the end of a log that others write to.
pub fn mark_split(log: &Log) -> Result<Lsn, RecoveryError> {
    let mark = log.append(&Record::system(RecordKind::Change, &[]))?;
    log.write_all()?;
    log.flush_to(mark)?;
    Ok(mark)
}

/// The transactions that have records before `split` and had not ended there, newest last record first.
///
/// `listed` are those that were active at a moment between `from` and `split`, with records before `from`.
/// `mark` is a record behind the split ([`mark_split`]).
pub fn active_at(
    log: &Log,
    listed: &[ListedTxn],
    (from, split): (Lsn, Lsn),
    mark: Lsn,
) -> Result<Vec<Loser>, RecoveryError> {
    debug_assert!(from <= split && split <= mark, "{from} {split} {mark}");
    let listed = listed.iter().map(|txn| {
        let loser = Loser {
            id: txn.id,
            first: txn.first,
            last: txn.last,
        };
        (txn.id, loser)
    });
    let mut active: HashMap<TxnId, Loser> = listed.collect();
    if from < split {
        let mut scan = LogScan::open(Arc::clone(log.file()), log.binding(), from)?;
        while let Some(record) = scan.next_record()? {
            let (lsn, view) = (record.lsn, record.get());
            if lsn >= split {
                break;
            }
            match view.kind {
                _ if lsn < from || view.txn == TxnId(0) => {}
                RecordKind::Change | RecordKind::Compensation => {
                    let fresh = Loser {
                        id: view.txn,
                        first: lsn,
                        last: lsn,
                    };
                    active.entry(view.txn).or_insert(fresh).last = lsn;
                }
                RecordKind::Commit | RecordKind::Abort => {
                    active.remove(&view.txn);
                }
                RecordKind::CheckpointBegin | RecordKind::CheckpointEnd => {}
            }
        }
    }
    let mut losers: Vec<Loser> = active
        .into_values()
        .filter(|txn| txn.last > Lsn::ZERO)
        .collect();
    debug_assert!(
        losers.iter().all(|txn| txn.last < split),
        "a record behind the split"
    );
    losers.sort_by_key(|txn| std::cmp::Reverse(txn.last));
    Ok(losers)
}

/// Rolls transactions back on the pages of `store`, whose records are in the log `source`. Nothing reads the
/// store's own log, so it is truncated after each record.
pub fn undo_from(
    source: &Log,
    store: &Store,
    losers: &[Loser],
    how: &dyn Undo,
) -> Result<(), RecoveryError> {
    debug_assert!(
        store.log().is_temporary(),
        "compensation of a snapshot is never read"
    );
    let entered: Vec<_> = losers
        .iter()
        .map(|loser| store.active.enter(loser.id, loser.first, loser.last))
        .collect();
    let mut let_go = |_: u64| store.log().truncate_before(store.log().tail());
    for txn in &entered {
        undo_chain_of(store, source, txn, (how, &mut let_go), Lsn::ZERO)?;
        log_abort(store, txn)?;
    }
    Ok(())
}
