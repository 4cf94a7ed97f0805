//! A transaction from its begin to its end.
//!
//! It enters the list of active transactions with its first log record. Its log space is promised
//! in two halves: what a step writes, and what undoing the step would write; the second half stays
//! promised until the transaction ends, so that a rollback never lacks space.

use crate::active::ActiveTxn;
use crate::lock::{LockManager, LockOwner};
use crate::mini::{Author, Mini};
use crate::{Store, TxnError};
use furrow_format::{Lsn, TxnId};
use furrow_log::{OwnedRecord, Record, RecordKind, RecordReader};
use std::sync::Arc;

/// Bytes that a record takes besides its content: headers, padding of the commit's block.
const OVERHEAD_BYTES: u64 = 256;
/// Promised once a transaction, for its end and the padding of its last block.
const END_BYTES: u64 = 4096 + 512;

/// Undoes one row operation; implemented where rows are known.
pub trait Undo {
    /// Undoes what `record.undo` says, logging by [`Author::Undo`] with `txn` and `next`.
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
    promised: u64,
    /// Records appended, for views and tests.
    pub records: u64,
}

impl Transaction {
    /// Begins one; nothing is logged before its first change.
    pub fn begin(store: &Arc<Store>) -> Transaction {
        let id = store.active.next_id();
        Transaction {
            store: Arc::clone(store),
            id,
            active: None,
            promised: 0,
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

    /// Whether it has logged anything.
    pub fn has_logged(&self) -> bool {
        self.active.as_ref().is_some_and(|a| a.last() > Lsn::ZERO)
    }

    /// Its entry among the active transactions, entered now if need be.
    pub fn active(&mut self) -> &Arc<ActiveTxn> {
        let (store, id) = (&self.store, self.id);
        self.active
            .get_or_insert_with(|| store.active.enter(id, store.log().tail(), Lsn::ZERO))
    }

    /// Makes sure of log space for one operation whose records take about `bytes`, and for its undoing. To be
    /// called before the operation's first latch.
    pub fn prepare(&mut self, bytes: usize) -> Result<(), TxnError> {
        let need =
            2 * (bytes as u64 + OVERHEAD_BYTES) + if self.promised == 0 { END_BYTES } else { 0 };
        self.store.promise(need)?;
        self.promised += need;
        Ok(())
    }

    /// Gives back the half of [`Transaction::prepare`] that the operation has used by now.
    fn settle(&mut self, bytes: usize) {
        let used = (bytes as u64 + OVERHEAD_BYTES).min(self.promised);
        self.store.log().give_back(used);
        self.promised -= used;
    }

    /// Logs and applies a row operation of this transaction; `undo` says how it is undone.
    pub fn commit_mini(&mut self, mini: Mini<'_>, undo: &[u8]) -> Result<Lsn, TxnError> {
        let bytes = mini.redo_bytes() + undo.len();
        let active = Arc::clone(self.active());
        let lsn = mini.commit(&Author::Txn(&active, undo))?;
        self.records += 1;
        self.settle(bytes);
        Ok(lsn)
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
    pub fn commit(mut self) -> Result<Option<Lsn>, TxnError> {
        let lsn = self.log_commit(&[])?;
        if let Some(lsn) = lsn {
            self.store.log().flush_to(lsn)?;
        }
        Ok(lsn)
    }

    /// Commits without waiting for the log (delayed durability): the commit may be lost in a crash, whole.
    pub fn commit_delayed(mut self) -> Result<Option<Lsn>, TxnError> {
        self.log_commit(&[])
    }

    fn log_commit(&mut self, body: &[u8]) -> Result<Option<Lsn>, TxnError> {
        let Some(active) = self.active.clone().filter(|a| a.last() > Lsn::ZERO) else {
            return Ok(None);
        };
        self.store.check()?;
        let record = Record {
            txn: self.id,
            prev: active.last(),
            ..Record::system(RecordKind::Commit, body)
        };
        let lsn = active.append(true, || self.store.log().append(&record))?;
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
        self.roll_back_to(to.last, undo)?;
        locks.release_to(owner, to.lock_mark);
        Ok(())
    }

    fn roll_back_to(&mut self, stop: Lsn, undo: &dyn Undo) -> Result<(), TxnError> {
        let Some(active) = self.active.clone() else {
            return Ok(());
        };
        let result = undo_chain(&self.store, &active, stop, undo);
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
        self.store
            .log()
            .give_back(std::mem::take(&mut self.promised));
    }
}

impl Drop for Transaction {
    /// A transaction dropped without an end keeps its entry: its records wait for recovery. That happens only
    /// when commit or rollback failed, and then the database takes no changes any more.
    fn drop(&mut self) {
        self.store
            .log()
            .give_back(std::mem::take(&mut self.promised));
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
pub fn undo_chain(
    store: &Store,
    txn: &ActiveTxn,
    stop: Lsn,
    undo: &dyn Undo,
) -> Result<(), TxnError> {
    let mut reader = RecordReader::new();
    let mut at = txn.last();
    while at > stop {
        let record = reader.read(store.log(), at)?;
        let view = record.get();
        if view.txn != txn.id {
            return Err(TxnError::BadRecord {
                lsn: at,
                what: "it belongs to another transaction",
            });
        }
        if view.kind == RecordKind::Change && !view.undo.is_empty() {
            undo.undo(txn, view.prev, &record)?;
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
