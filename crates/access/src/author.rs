//! On whose behalf a row operation runs.

use crate::AccessError;
use furrow_format::Lsn;
use furrow_txn::{ActiveTxn, Author, Mini, Store, Transaction};

/// Who changes rows: a transaction, the undoing of one, or the engine itself.
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
    /// Makes sure of log space for records of about `bytes`. No latch may be held.
    pub fn prepare(&mut self, store: &Store, bytes: usize) -> Result<(), AccessError> {
        furrow_pool::assert_no_latches();
        match self {
            By::Txn(txn) => txn.prepare(bytes)?,
            // Undoing draws on what the transaction was promised.
            By::Undo { .. } => {}
            By::System => {
                store.promise(bytes as u64)?;
                store.log().give_back(bytes as u64);
            }
        }
        Ok(())
    }

    /// Logs and applies a row operation that `undo` can undo.
    pub fn commit(&mut self, mini: Mini<'_>, undo: &[u8]) -> Result<Lsn, AccessError> {
        Ok(match self {
            By::Txn(txn) => txn.commit_mini(mini, undo)?,
            By::Undo { txn, next } => mini.commit(&Author::Undo(txn, *next))?,
            By::System => mini.commit(&Author::System)?,
        })
    }
}
