//! Undo: rolling back the transactions that had not ended.

use crate::{Analysis, RecoveryError};
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_txn::{Store, Undo, log_abort, undo_chain};

/// What undo did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UndoStats {
    /// Transactions rolled back.
    pub transactions: u64,
}

/// Enters the losers among the active transactions and rolls each back. The order does not matter: no two of
/// them changed the same row, because they held locks.
///
/// They have reserved log space for that, so no other transaction may use it meanwhile.
pub fn undo(
    store: &Store,
    analysis: &Analysis,
    how: &dyn Undo,
) -> Result<UndoStats, RecoveryError> {
    store.log().set_sparing(true);
    let undone = undo_all(store, analysis, how);
    store.log().set_sparing(false);
    undone
}

fn undo_all(
    store: &Store,
    analysis: &Analysis,
    how: &dyn Undo,
) -> Result<UndoStats, RecoveryError> {
    let entered: Vec<_> = analysis
        .losers
        .iter()
        .map(|loser| store.active.enter(loser.id, loser.first, loser.last))
        .collect();
    for (at, txn) in entered.iter().enumerate() {
        let left = mutated(Mutation::SkipUndoAtRestart) && at + 1 == entered.len();
        if !left {
            undo_chain(store, txn, Lsn::ZERO, how, &mut |_| {})?;
        }
        log_abort(store, txn)?;
    }
    debug_assert_eq!(
        store.active.count(),
        0,
        "no transaction is active after a restart"
    );
    store.log().flush_all()?;
    Ok(UndoStats {
        transactions: entered.len() as u64,
    })
}
