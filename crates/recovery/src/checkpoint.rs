//! The checkpoint of an open database.

use crate::RecoveryError;
use crate::body::EndBody;
use crate::changed::write_changed;
use crate::stamp::{force, stamp};
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_log::{Record, RecordKind};
use furrow_pool::{CheckpointOptions, CheckpointStats};
use furrow_txn::Store;

/// What a checkpoint did.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoint {
    /// LSN of its begin.
    pub begin: Lsn,
    /// Where redo starts from now on.
    pub redo_point: Lsn,
    /// What was written.
    pub written: CheckpointStats,
}

/// Takes a checkpoint; one at a time a database. No latch may be held.
pub fn checkpoint(store: &Store, options: CheckpointOptions) -> Result<Checkpoint, RecoveryError> {
    take(store, options, Headers::AmongPages)
}

/// The last checkpoint of a database that is shut down. The headers of all files and the maps of changed
/// extents are durable before any other page is written. So if the boot page of a clean shutdown is on the
/// disk, everything else is, too.
pub fn last_checkpoint(store: &Store) -> Result<Checkpoint, RecoveryError> {
    take(store, CheckpointOptions::default(), Headers::First)
}

/// When the headers of the files are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Headers {
    AmongPages,
    First,
}

fn take(
    store: &Store,
    options: CheckpointOptions,
    headers: Headers,
) -> Result<Checkpoint, RecoveryError> {
    let log = store.log();
    if log.is_temporary() {
        return take_temporary(store);
    }
    let record = Record::system(RecordKind::CheckpointBegin, &[]);
    let (begin, counts) = store.counts.snapshot(|| log.append(&record));
    let begin = begin?;
    let active = match mutated(Mutation::ForgetActive) {
        true => Vec::new(),
        false => store.active.list(begin),
    };
    stamp(store, begin)?;
    let maps = write_changed(store)?;
    if headers == Headers::First {
        force(store, &maps)?;
    }
    let written = store.pool().checkpoint_pages(store.db(), options)?;
    // Pages that became dirty since then need nothing before `begin`, unless they were dirty all the time.
    let still_needed = store.pool().oldest_rec_lsn(store.db());
    let redo_point = match mutated(Mutation::LateCheckpoint) {
        true => log.tail(),
        false => never_back(store, still_needed.map_or(begin, |lsn| lsn.min(begin))),
    };
    debug_assert!(
        redo_point <= begin || mutated(Mutation::LateCheckpoint),
        "redo starts no later than the checkpoint"
    );
    debug_assert!(
        redo_point >= store.redo_point() || mutated(Mutation::RedoPointBack),
        "the redo point never moves back: the log before it may be gone"
    );
    let mut end = begin;
    let next_txn = store.active.peek_next_id();
    for body in EndBody::split(begin, redo_point, next_txn, &active, &counts) {
        end = log.append(&Record::system(RecordKind::CheckpointEnd, &body.encode()))?;
    }
    log.flush_to(end)?;
    debug_assert!(
        end > begin && end < log.durable(),
        "a checkpoint is durable before it is named"
    );
    log.note_checkpoint(begin)?;
    store.set_redo_point(redo_point);
    truncate(store)?;
    Ok(Checkpoint {
        begin,
        redo_point,
        written,
    })
}

/// The checkpoint of a temporary database: no page is needed after a restart, so none is written.
fn take_temporary(store: &Store) -> Result<Checkpoint, RecoveryError> {
    truncate(store)?;
    let redo_point = store.redo_point();
    Ok(Checkpoint {
        begin: redo_point,
        redo_point,
        written: CheckpointStats::default(),
    })
}

/// Lets the log before the redo point and before the oldest active transaction be reused; returns whether any
/// of it became free. Log becomes free by a checkpoint, and also by the end of a transaction that was active
/// during the last one. Redo needs nothing of a temporary database: there only rollbacks hold the log.
pub fn truncate(store: &Store) -> Result<bool, RecoveryError> {
    let log = store.log();
    if log.is_temporary() {
        // Read before the oldest transaction: one that enters later has its first record behind this.
        store.set_redo_point(log.tail());
    }
    let oldest_active = match mutated(Mutation::EarlyTruncation) {
        true => Lsn::MAX,
        false => store.active.oldest().unwrap_or(Lsn::MAX),
    };
    let keep = store.redo_point().min(oldest_active);
    debug_assert!(
        keep <= store.redo_point(),
        "redo needs the log from its point on"
    );
    if !log.keeps_before(keep.min(store.holds.oldest())) {
        return Ok(false);
    }
    // A transaction that is not active any more has appended its end record, which may not be durable yet. If
    // that were lost, a restart would have to undo the transaction without its records.
    if !mutated(Mutation::EndsAfterTruncation) {
        log.write_all()?;
    }
    Ok(store.holds.while_held(|held| {
        let frees = log.keeps_before(keep.min(held));
        log.truncate_before(keep.min(held));
        frees
    }))
}

/// The redo point, which never moves back: the log before it may be gone.
///
/// A thread may sleep between reading the log's tail and marking its page dirty from there on, and whole
/// checkpoints may pass meanwhile. Its record comes after all of them: a page whose record lies before a
/// checkpoint's begin was dirty for that checkpoint.
fn never_back(store: &Store, redo_point: Lsn) -> Lsn {
    match mutated(Mutation::RedoPointBack) {
        true => redo_point,
        false => redo_point.max(store.redo_point()),
    }
}
