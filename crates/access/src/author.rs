//! The author of a row operation.

use crate::AccessError;
use furrow_format::{Lsn, PageId, RowsetId, TxnId};
use furrow_txn::{ActiveTxn, Author, Mini, Store, Transaction};

/// The author of row changes: a transaction, the undoing of one, or the engine itself.
#[derive(Debug)]
pub enum By<'a> {
    /// A transaction; its rollback undoes the operation.
    Txn(&'a mut Transaction),
    /// The undoing of a transaction's record; `next` is the one to undo after it.
    Undo {
        /// The transaction.
        txn: &'a ActiveTxn,
        /// The record to undo next.
        next: Lsn,
    },
    /// The engine: never undone.
    System,
}

impl By<'_> {
    /// Promises log space for an operation: `redo` bytes of page changes, and `undo` bytes that describe how
    /// it is undone. No latch may be held.
    pub fn prepare(&mut self, store: &Store, redo: usize, undo: usize) -> Result<(), AccessError> {
        furrow_pool::assert_no_latches();
        match self {
            By::Txn(txn) => txn.prepare(redo, undo)?,
            // Undoing uses the space that was promised to the transaction.
            By::Undo { .. } => {}
            By::System => {
                let bytes = (redo + undo) as u64;
                store.promise(bytes)?;
                store.log().give_back(bytes);
            }
        }
        Ok(())
    }

    /// Sets whether the operations to come fill new pages past the log. Returns whether they may: only a
    /// transaction forces pages.
    pub(crate) fn set_filling(&mut self, filling: bool) -> bool {
        if let By::Txn(txn) = self {
            txn.set_filling(filling);
        }
        filling && matches!(self, By::Txn(_))
    }

    /// Undoing the operation needs `bytes` more log space than its undo part: they are taken from what it
    /// prepared.
    pub(crate) fn keep_for_undo(&mut self, bytes: usize) {
        if let By::Txn(txn) = self {
            txn.keep_for_undo(bytes);
        }
    }

    /// Bytes of a latched page that this author must leave free, because the rollbacks of others may need
    /// them. A rollback itself may use all that it needs.
    pub(crate) fn must_leave(&self, store: &Store, page: PageId) -> usize {
        match self {
            By::Txn(txn) => store.room().others(page, Some(txn.id())),
            By::Undo { .. } => 0,
            By::System => store.room().others(page, None),
        }
    }

    /// The transaction, of which this may be the undoing.
    pub(crate) fn txn(&self) -> Option<TxnId> {
        match self {
            By::Txn(txn) => Some(txn.id()),
            By::Undo { txn, .. } => Some(txn.id),
            By::System => None,
        }
    }

    /// Records that this operation changes the length of a row on a latched page. If a transaction makes it
    /// shorter, the free space stays reserved for the transaction; if a rollback makes it longer, it uses
    /// that space.
    pub(crate) fn resizes(&mut self, store: &Store, page: PageId, before: usize, after: usize) {
        match self {
            By::Txn(txn) => {
                let left = before.saturating_sub(after);
                if left > 0 {
                    store.room().keep(page, txn.active(), left);
                }
            }
            By::Undo { txn, .. } => {
                let back = after.saturating_sub(before);
                store.room().returned(page, txn.id, back);
            }
            By::System => {}
        }
    }

    /// Notes that it has put so many rows in a rowset, or taken them out.
    pub fn count(&mut self, rowset: RowsetId, rows: i64) {
        match self {
            By::Txn(txn) => txn.count(rowset, rows),
            By::Undo { txn, .. } => txn.count(rowset, rows),
            By::System => {}
        }
    }

    /// Logs and applies a row operation that `undo` can undo.
    pub fn commit(&mut self, mini: Mini<'_>, undo: &[u8]) -> Result<Lsn, AccessError> {
        debug_assert!(
            !undo.is_empty() || !matches!(self, By::Txn(_)),
            "what a transaction changes can be undone"
        );
        Ok(match self {
            By::Txn(txn) => txn.commit_mini(mini, undo)?,
            By::Undo { txn, next } => mini.commit(&Author::Undo(txn, *next))?,
            By::System => mini.commit(&Author::System)?,
        })
    }
}
