//! A transaction from its begin to its end.
//!
//! It enters the list of active transactions with its first log record. Its log space is promised in two
//! parts: for what a step writes, and for what undoing the step would write. The first is given back as soon
//! as the step is in the log. The second stays promised until the step is undone or the transaction ends, so
//! that a rollback never lacks space and never requests any.

use crate::active_txn::ActiveTxn;
use crate::commit_body::{CommitBody, TxnMark};
use crate::counts::Deltas;
use crate::lock::{LockManager, LockOwner};
use crate::mini::{Author, Mini};
use crate::{Store, TxnError};
use furrow_format::{Lsn, RowsetId, TxnId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::WallTime;
use furrow_log::{Log, OwnedRecord, Record, RecordKind, RecordReader};
use std::sync::Arc;

/// Bytes that a record takes besides its content: headers, and its share of the padding of blocks.
const OVERHEAD_BYTES: u64 = 256;
/// Promised once a transaction, for its end and the padding of its last block.
const END_BYTES: u64 = 4096 + 512;

/// Undoes one row operation; implemented by the crates that can read rows.
pub trait Undo {
    /// Undoes the operation that `record.undo` describes, logging by [`Author::Undo`] with `txn` and `next`.
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError>;
}

/// A place in a transaction to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    last: Lsn,
    lock_mark: u64,
}

/// A transaction of a session.
#[derive(Debug)]
pub struct Transaction {
    store: Arc<Store>,
    id: TxnId,
    active: Option<Arc<ActiveTxn>>,
    /// Promised for the operation under way: given back when it is logged, or has failed.
    planned: u64,
    /// Promised for undoing what is logged, and for the transaction's end.
    kept: u64,
    /// Whether its operations fill new pages past the log.
    filling: bool,
    /// Whether there may be pages to force.
    filled: bool,
    /// Its mark, for its commit record.
    mark: Option<TxnMark>,
    /// Records appended, for views and tests.
    pub records: u64,
}

impl Transaction {
    /// Begins one; nothing is logged before its first change.
    pub fn begin(store: &Arc<Store>) -> Transaction {
        let id = store.active.next_id();
        debug_assert!(id.0 != 0, "the number of records of no transaction");
        Transaction {
            store: Arc::clone(store),
            id,
            active: None,
            planned: 0,
            kept: 0,
            filling: false,
            filled: false,
            mark: None,
            records: 0,
        }
    }

    /// Its number.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// The database it works on.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Its commit record will have this mark.
    pub fn set_mark(&mut self, mark: TxnMark) -> Result<(), TxnError> {
        // Else its log space is promised with the end.
        if self.kept > 0 {
            self.store.promise(mark.log_bytes())?;
            self.kept += mark.log_bytes();
        }
        self.mark = Some(mark);
        Ok(())
    }

    /// Promised for its end.
    fn end_bytes(&self) -> u64 {
        END_BYTES + self.mark.as_ref().map_or(0, TxnMark::log_bytes)
    }

    /// Whether it has logged anything.
    pub(crate) fn has_logged(&self) -> bool {
        self.active.as_ref().is_some_and(|a| a.last() > Lsn::ZERO)
    }

    /// Its entry among the active transactions, entered now if need be.
    pub fn active(&mut self) -> &Arc<ActiveTxn> {
        let (store, id) = (&self.store, self.id);
        self.active
            .get_or_insert_with(|| store.active.enter(id, store.log().tail(), Lsn::ZERO))
    }

    /// Promises log space for one operation: `redo` bytes of page changes, and `undo` bytes that describe how
    /// it is undone, which both its record and the compensation record hold. To be called before the
    /// operation's first latch; may be called again for more of the same operation.
    ///
    /// Pages filled past the log are forced first: the operation may change them.
    pub fn prepare(&mut self, redo: usize, undo: usize) -> Result<(), TxnError> {
        if self.filled && !self.filling {
            self.force()?;
        }
        let step = redo as u64 + OVERHEAD_BYTES + undo as u64 + self.store.undo_bytes(undo);
        let end = if self.kept == 0 { self.end_bytes() } else { 0 };
        self.store.promise(step + end)?;
        self.planned += step;
        self.kept += end;
        debug_assert!(
            self.kept >= END_BYTES,
            "a transaction's end is promised before its first record"
        );
        Ok(())
    }

    /// Sets whether the operations to come fill new pages past the log. Such operations change no page that
    /// was filled so before.
    pub fn set_filling(&mut self, filling: bool) {
        self.filling = filling;
        self.filled |= filling;
    }

    /// Makes the pages durable that it has filled past the log. No latch may be held.
    pub fn force(&mut self) -> Result<(), TxnError> {
        if !self.filled {
            return Ok(());
        }
        let Some(active) = &self.active else {
            return Ok(());
        };
        let runs = active.fills.lock().take();
        if !runs.is_empty()
            && !self.store.log().is_temporary()
            && let Err(error) = self.store.pool().force_pages(self.store.db(), &runs)
        {
            active.fills.lock().restore(runs);
            return Err(error.into());
        }
        debug_assert!(
            active.fills.lock().is_empty(),
            "all pages filled past the log are forced"
        );
        self.filled = self.filling;
        Ok(())
    }

    /// Undoing the operation under way needs `bytes` more than usual. They are taken from what it has
    /// planned, and stay promised until the transaction ends.
    pub fn keep_for_undo(&mut self, bytes: usize) {
        let promised = self.planned + self.kept;
        let more = (bytes as u64).min(self.planned);
        self.planned -= more;
        self.kept += more;
        debug_assert_eq!(self.planned + self.kept, promised, "nothing goes back");
    }

    /// An operation is logged, or has failed: what it planned goes back, except `keep` bytes.
    fn settle(&mut self, keep: u64) {
        // An operation that planned too little keeps what it planned.
        let keep = keep.min(self.planned);
        self.store.log().give_back(self.planned - keep);
        self.planned = 0;
        self.kept += keep;
    }

    /// Logs and applies a row operation of this transaction; `undo` describes how to undo it.
    pub fn commit_mini(&mut self, mini: Mini<'_>, undo: &[u8]) -> Result<Lsn, TxnError> {
        let active = Arc::clone(self.active());
        let lsn = mini.commit(&Author::Txn(&active, undo))?;
        self.records += 1;
        self.settle(self.store.undo_bytes(undo.len()));
        if self.filled
            && !self.store.log().is_temporary()
            && let Some(pages) = active.fills.lock().take_fresh()
        {
            self.store.pool().write_soon(self.store.db(), &pages);
        }
        Ok(lsn)
    }

    /// Notes that it has put so many rows in a rowset, or taken them out: what commits with it.
    pub fn count(&mut self, rowset: RowsetId, by: i64) {
        self.active().count(rowset, by);
    }

    /// A savepoint here.
    pub fn savepoint(&self, locks: &LockManager, owner: &LockOwner) -> Savepoint {
        let last = self.active.as_ref().map_or(Lsn::ZERO, |a| a.last());
        Savepoint {
            last,
            lock_mark: locks.mark(owner),
        }
    }

    /// Commits: returns once the commit record is durable. Locks are the caller's to release, after this.
    /// On an error the outcome is unknown until recovery.
    pub fn commit(self) -> Result<Option<Lsn>, TxnError> {
        self.commit_after(|_| ())
    }

    /// The same; while it waits for the log, other transactions may change the rows that `owner` has locked
    /// ([`LockManager::leave`]).
    pub fn commit_leaving(
        self,
        locks: &LockManager,
        owner: &LockOwner,
    ) -> Result<Option<Lsn>, TxnError> {
        if self.store.log().is_temporary() {
            return self.commit();
        }
        self.commit_after(|lsn| locks.leave(owner, lsn))
    }

    /// Commits, and calls `logged` once the commit record has its place in the log.
    fn commit_after(mut self, logged: impl FnOnce(Lsn)) -> Result<Option<Lsn>, TxnError> {
        self.force()?;
        let lsn = self.log_commit()?;
        if let Some(lsn) = lsn {
            logged(lsn);
        }
        if let Some(lsn) = lsn.filter(|_| !mutated(Mutation::AckBeforeFlush)) {
            self.store.log().flush_to(lsn)?;
            debug_assert!(
                self.store.log().is_temporary() || lsn < self.store.log().durable(),
                "a commit returns when its record is durable"
            );
        }
        Ok(lsn)
    }

    /// Commits without waiting for the log (delayed durability): the commit may be lost in a crash, whole.
    pub fn commit_delayed(mut self) -> Result<Option<Lsn>, TxnError> {
        self.force()?;
        self.log_commit()
    }

    /// Appends the commit record. It takes the log space that was promised for undo, which is not needed any
    /// more. That is enough: each change of a rowset's rows was promised more than the record takes for its
    /// count.
    fn log_commit(&mut self) -> Result<Option<Lsn>, TxnError> {
        let Some(active) = self.active.clone().filter(|a| a.last() > Lsn::ZERO) else {
            return Ok(None);
        };
        self.store.check()?;
        debug_assert!(
            active.fills.lock().is_empty(),
            "pages filled past the log are durable before the commit record"
        );
        let counted = active.take_counted();
        let lasts = !self.store.log().is_temporary();
        let body = CommitBody {
            deltas: match mutated(Mutation::CountsForgotten) {
                true => Deltas::new(),
                false => counted.clone(),
            },
            // Taken before the record has its place: what is acknowledged before another one begins to
            // commit has the earlier time.
            at: lasts.then(WallTime::now),
            mark: self.mark.take().filter(|_| lasts),
        };
        let body = body.encode();
        let record = Record {
            txn: self.id,
            prev: active.last(),
            ..Record::system(RecordKind::Commit, &body)
        };
        let lsn = self.store.counts.commit(&counted, || {
            active.append(true, || self.store.log().append(&record))
        })?;
        self.store.active.committed.fetch_add(1, Ordering::Relaxed);
        debug_assert!(active.has_ended(), "a commit record ends its transaction");
        self.end();
        Ok(Some(lsn))
    }

    /// Rolls everything back. Locks are the caller's to release, after this.
    pub fn rollback(mut self, undo: &dyn Undo) -> Result<(), TxnError> {
        self.roll_back_to(Lsn::ZERO, undo)?;
        if let Some(active) = self.active.clone().filter(|a| a.last() > Lsn::ZERO) {
            let record = Record {
                txn: self.id,
                prev: Lsn::ZERO,
                ..Record::system(RecordKind::Abort, &[])
            };
            active.append(true, || self.store.log().append(&record))?;
        }
        self.end();
        Ok(())
    }

    /// Rolls back to a savepoint and releases the locks taken since.
    pub fn rollback_to(
        &mut self,
        to: Savepoint,
        undo: &dyn Undo,
        locks: &LockManager,
        owner: &LockOwner,
    ) -> Result<(), TxnError> {
        debug_assert!(
            self.active
                .as_ref()
                .is_none_or(|active| to.last <= active.last()),
            "a savepoint lies before what is rolled back"
        );
        self.roll_back_to(to.last, undo)?;
        locks.release_to(owner, to.lock_mark);
        Ok(())
    }

    fn roll_back_to(&mut self, stop: Lsn, undo: &dyn Undo) -> Result<(), TxnError> {
        // An operation that failed has logged nothing.
        self.settle(0);
        let Some(active) = self.active.clone() else {
            return Ok(());
        };
        debug_assert!(!active.has_ended(), "nothing is undone after the end");
        // The transaction's end stays promised.
        let end = self.end_bytes();
        let (log, kept) = (self.store.log(), &mut self.kept);
        let mut undone = |bytes: u64| {
            let back = bytes.min(kept.saturating_sub(end));
            log.give_back(back);
            *kept -= back;
        };
        let result = undo_chain(&self.store, &active, stop, undo, &mut undone);
        if let Err(error) = &result {
            self.store.poison(format!(
                "transaction {} cannot be rolled back: {error}",
                self.id.0
            ));
        }
        result
    }

    fn end(&mut self) {
        if let Some(active) = self.active.take() {
            self.store.active.leave(active.id);
        }
        self.give_back();
    }

    fn give_back(&mut self) {
        let promised = std::mem::take(&mut self.planned) + std::mem::take(&mut self.kept);
        self.store.log().give_back(promised);
    }
}

impl Drop for Transaction {
    /// A transaction dropped without an end keeps its entry: its records wait for recovery. That happens only
    /// when commit or rollback failed, and then the database takes no changes any more.
    fn drop(&mut self) {
        self.give_back();
        if !self.has_logged() {
            if let Some(active) = self.active.take() {
                self.store.active.leave(active.id);
            }
        } else if self.active.is_some() {
            self.store
                .poison(format!("transaction {} was abandoned", self.id.0));
        }
    }
}

/// Undoes the records of `txn` from its last one back to (not with) `stop`. Used by rollback and by restart.
/// `undone` is called after each record with the log space that was reserved for undoing it.
pub fn undo_chain(
    store: &Store,
    txn: &ActiveTxn,
    stop: Lsn,
    undo: &dyn Undo,
    undone: &mut dyn FnMut(u64),
) -> Result<(), TxnError> {
    undo_chain_of(store, store.log(), txn, (undo, undone), stop)
}

/// As [`undo_chain`], for a transaction whose records are in `log`, which may be the log of another database:
/// a snapshot undoes on its own pages the records of its source's log. Compensation goes to the store's log.
pub fn undo_chain_of(
    store: &Store,
    log: &Log,
    txn: &ActiveTxn,
    (undo, undone): (&dyn Undo, &mut dyn FnMut(u64)),
    stop: Lsn,
) -> Result<(), TxnError> {
    let mut reader = RecordReader::new();
    let mut at = txn.last();
    debug_assert!(at >= stop, "undo leads back");
    while at > stop {
        let record = reader.read(log, at)?;
        let view = record.get();
        if view.txn != txn.id {
            return Err(TxnError::BadRecord {
                lsn: at,
                what: "it belongs to another transaction",
            });
        }
        if view.prev >= at {
            return Err(TxnError::BadRecord {
                lsn: at,
                what: "its chain does not lead back",
            });
        }
        let left = mutated(Mutation::UndoStopsShort) && view.prev == Lsn::ZERO;
        if view.kind == RecordKind::Change && !view.undo.is_empty() && !left {
            undo.undo(txn, view.prev, &record)?;
            undone(store.undo_bytes(view.undo.len()));
        }
        at = view.prev;
    }
    Ok(())
}

/// Logs the end of a transaction that restart has undone.
pub fn log_abort(store: &Store, txn: &ActiveTxn) -> Result<(), TxnError> {
    let record = Record {
        txn: txn.id,
        ..Record::system(RecordKind::Abort, &[])
    };
    txn.append(true, || store.log().append(&record))?;
    store.active.leave(txn.id);
    Ok(())
}
