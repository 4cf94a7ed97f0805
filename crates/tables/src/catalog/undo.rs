//! Undoing row operations: finding the tree that a log record names.

use super::Catalog;
use crate::error::EngineError;
use crate::table::GhostQueue;
use furrow_access::{By, UndoOp};
use furrow_format::{Lsn, RowsetId, Status};
use furrow_log::OwnedRecord;
use furrow_txn::{ActiveTxn, TxnError, Undo};

fn is_ghost(row: &[u8]) -> bool {
    row.first().is_some_and(|&status| Status(status).is_ghost())
}

impl Catalog {
    fn undo_op(&self, by: &mut By<'_>, rowset: RowsetId, op: &UndoOp) -> Result<(), EngineError> {
        if let Some(base) = self.bases.iter().find(|b| b.table.rowset_id() == rowset) {
            // Counts of a checkpoint are not to come between the reading of a row and its change.
            let _turn = self.change.lock();
            return base.undo(by, op);
        }
        let rowset = self.find_rowset(rowset)?;
        rowset.undo(by, op)?;
        let rows = undone_rows(op, rowset.ghosts());
        if rows != 0 {
            rowset.count(by, rows);
        }
        Ok(())
    }
}

/// By how many rows there are more when an operation has been undone. A ghost that it brought back is noted.
pub(super) fn undone_rows(op: &UndoOp, ghosts: &GhostQueue) -> i64 {
    match op {
        UndoOp::TreeInsert(_) | UndoOp::HeapInsert(_) => -1,
        UndoOp::TreeInsertMany(keys) => -(keys.len() as i64),
        UndoOp::TreeLoad { rows, .. } | UndoOp::TreeFill { rows, .. } => -i64::from(*rows),
        UndoOp::TreeDelete(_) | UndoOp::HeapDelete(_) => 1,
        // A row that took the place of a ghost.
        UndoOp::TreeUpdate(key, old) if is_ghost(old) => {
            ghosts.note(key);
            -1
        }
        UndoOp::TreeUpdate(..) | UndoOp::HeapUpdate { .. } => 0,
    }
}

impl Undo for Catalog {
    fn undo(&self, txn: &ActiveTxn, next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        let what = "its undo part cannot be read";
        let bad = TxnError::BadRecord {
            lsn: record.lsn,
            what,
        };
        let (rowset, op) = UndoOp::decode(record.get().undo).ok_or(bad)?;
        let mut by = By::Undo { txn, next };
        self.undo_op(&mut by, rowset, &op).map_err(|e| match e {
            EngineError::Txn(e) => e,
            other => TxnError::Undo(other.to_string()),
        })
    }
}
