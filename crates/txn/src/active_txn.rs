//! One active transaction: its records, rows counted, pages filled past the log.

use crate::counts::{self, Deltas};
use crate::fills::Fills;
use furrow_format::{Lsn, PageId, RowsetId, TxnId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use furrow_io::thread::yield_now;

/// What is known of one active transaction.
#[derive(Debug)]
pub struct ActiveTxn {
    /// Its number.
    pub id: TxnId,
    /// No record of it lies before this LSN.
    pub first: Lsn,
    last: AtomicU64,
    appending: AtomicU32,
    ended: AtomicBool,
    /// Pages on which space is reserved for its rollback; `None` once it has left the list.
    pub(crate) kept: Mutex<Option<Vec<PageId>>>,
    counted: Mutex<Deltas>,
    /// Pages filled past the log, to be forced.
    pub(crate) fills: Mutex<Fills>,
}

impl ActiveTxn {
    /// A transaction that enters the list with this last record.
    pub(crate) fn new(id: TxnId, first: Lsn, last: Lsn) -> ActiveTxn {
        ActiveTxn {
            id,
            first,
            last: AtomicU64::new(last.0),
            appending: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            kept: Mutex::new(Some(Vec::new())),
            counted: Mutex::default(),
            fills: Mutex::default(),
        }
    }

    /// Its last record that undo has to look at.
    pub fn last(&self) -> Lsn {
        Lsn(self.last.load(Ordering::Acquire))
    }

    /// Notes that it has put so many rows in a rowset, or taken them out.
    pub fn count(&self, rowset: RowsetId, by: i64) {
        counts::add(&mut self.counted.lock(), rowset, by);
    }

    pub(crate) fn take_counted(&self) -> Deltas {
        std::mem::take(&mut self.counted.lock())
    }

    /// Whether the record that ends it is in the log.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Appends a record by `append` and notes its LSN; `end` says that the record ends the transaction.
    pub(crate) fn append<E>(
        &self,
        end: bool,
        append: impl FnOnce() -> Result<Lsn, E>,
    ) -> Result<Lsn, E> {
        debug_assert!(
            !self.ended.load(Ordering::SeqCst),
            "nothing follows a transaction's end"
        );
        self.appending.fetch_add(1, Ordering::SeqCst);
        let result = append();
        if let Ok(lsn) = &result {
            debug_assert!(*lsn > self.last(), "a transaction's records form a chain");
            debug_assert!(
                *lsn >= self.first,
                "no record lies before a transaction's first"
            );
            self.last.store(lsn.0, Ordering::SeqCst);
            if end {
                self.ended.store(true, Ordering::SeqCst);
            }
        }
        self.appending.fetch_add(1, Ordering::SeqCst);
        result
    }

    /// Its last LSN at some moment after the call began; `None` when it has ended.
    pub(crate) fn settled(&self) -> Option<Lsn> {
        let seen = self.appending.load(Ordering::SeqCst);
        while seen % 2 == 1 && self.appending.load(Ordering::SeqCst) == seen {
            yield_now();
        }
        (!self.ended.load(Ordering::SeqCst)).then(|| self.last())
    }
}
