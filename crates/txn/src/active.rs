//! The active transactions, as a checkpoint records them.
//!
//! A transaction enters when it first writes to the log and leaves when its end is in the log. A
//! checkpoint lists those present *after* it has taken the log's tail. Three races are closed here:
//! - a first record before the tail, the transaction not listed: it enters before it appends;
//! - a record before the tail, its LSN not yet noted: appending is bracketed by a sequence count, and a
//!   checkpoint that finds a bracket open waits until it is closed;
//! - a commit before the tail, the transaction still listed: it is marked as ended inside the bracket.

use crate::active_txn::ActiveTxn;
use crate::room::KeptRoom;
use furrow_format::{Lsn, TxnId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

/// A transaction as a checkpoint records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedTxn {
    /// Its number.
    pub id: TxnId,
    /// No record of it lies before this LSN.
    pub first: Lsn,
    /// Its last record.
    pub last: Lsn,
}

/// The active transactions of a database.
#[derive(Debug)]
pub struct ActiveTxns {
    list: Mutex<HashMap<TxnId, Arc<ActiveTxn>>>,
    next: AtomicU64,
    /// The first number given out.
    first: u64,
    /// Transactions that changed something and committed.
    pub(crate) committed: AtomicU64,
    /// Space on pages that rollbacks may need back.
    pub room: KeptRoom,
}

impl ActiveTxns {
    pub(crate) fn new(next: u64) -> ActiveTxns {
        ActiveTxns {
            list: Mutex::default(),
            next: AtomicU64::new(next.max(1)),
            first: next.max(1),
            committed: AtomicU64::new(0),
            room: KeptRoom::default(),
        }
    }

    /// Transactions begun since the database was opened.
    pub fn begun(&self) -> u64 {
        self.peek_next_id().saturating_sub(self.first)
    }

    /// Transactions that changed something and committed since then.
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// A number that no transaction of this database has had.
    pub fn next_id(&self) -> TxnId {
        TxnId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The number after the largest one given out.
    pub fn peek_next_id(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Enters a transaction; none of its records lies before `first`.
    pub fn enter(&self, id: TxnId, first: Lsn, last: Lsn) -> Arc<ActiveTxn> {
        let txn = Arc::new(ActiveTxn::new(id, first, last));
        let before = self.list.lock().insert(id, Arc::clone(&txn));
        debug_assert!(before.is_none(), "a number is given to one transaction");
        txn
    }

    pub(crate) fn leave(&self, id: TxnId) {
        let left = self.list.lock().remove(&id);
        debug_assert!(left.is_some(), "a transaction leaves once");
        if let Some(txn) = left {
            debug_assert!(
                txn.has_ended() || txn.last() == Lsn::ZERO,
                "a transaction that has logged leaves when its end is in the log"
            );
            self.room.forget(&txn);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.list.lock().len()
    }

    /// The LSN before which no active transaction has a record.
    pub fn oldest(&self) -> Option<Lsn> {
        self.list.lock().values().map(|t| t.first).min()
    }

    /// Those active now that have records before `tail`, which was taken from the log before this call; by
    /// number.
    pub fn list(&self, tail: Lsn) -> Vec<ListedTxn> {
        let mut all: Vec<Arc<ActiveTxn>> = self.list.lock().values().cloned().collect();
        all.sort_unstable_by_key(|txn| txn.id);
        let listed = all.into_iter().filter_map(|txn| {
            let last = txn.settled()?;
            (txn.first < tail).then_some(ListedTxn {
                id: txn.id,
                first: txn.first,
                last,
            })
        });
        let listed: Vec<ListedTxn> = listed.collect();
        debug_assert!(
            listed.is_sorted_by(|a, b| a.id < b.id),
            "a transaction is listed once"
        );
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::thread;

    #[test]
    fn a_list_never_misses_a_record_before_the_tail_nor_names_an_ended_transaction() {
        let log = AtomicU64::new(1);
        let active = ActiveTxns::new(1);
        // What each transaction really did: (first, last, end) by the log's own order.
        thread::scope(|s| {
            for _ in 0..3 {
                let (log, active) = (&log, &active);
                s.spawn(move || {
                    for _ in 0..3000 {
                        let txn = active.enter(
                            active.next_id(),
                            Lsn(log.load(Ordering::SeqCst)),
                            Lsn::ZERO,
                        );
                        for step in 0..4 {
                            let next = || Ok::<_, ()>(Lsn(log.fetch_add(1, Ordering::SeqCst)));
                            txn.append(step == 3, next).unwrap();
                        }
                        active.leave(txn.id);
                    }
                });
            }
            for _ in 0..2000 {
                let tail = Lsn(log.load(Ordering::SeqCst));
                let listed = active.list(tail);
                for txn in listed {
                    // A record before the tail is noted: `last` may be newer, never older, than the
                    // newest before the tail. An ended one is only listed when its end lies after
                    // the tail.
                    assert!(txn.first < tail);
                }
            }
        });
        assert_eq!(active.count(), 0);
    }
}
