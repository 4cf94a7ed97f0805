//! Which locks a statement takes.

use furrow_txn::lock::Isolation;

/// Which locks a scan takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ReadLock {
    /// The isolation level decides.
    #[default]
    Shared,
    /// U on each row, for a statement that changes those which qualify. Up to READ COMMITTED a row that does
    /// not is given back at once ([`crate::Session::pass_over`]).
    Candidate,
    /// U on each row, held (UPDLOCK).
    Update,
    /// X on each row, held (XLOCK).
    Exclusive,
}

/// What is locked of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Granularity {
    /// Rows, or pages of indexes that have no row locks, until there are many in one statement.
    #[default]
    Row,
    /// The same; 651 where an index has no row locks (ROWLOCK).
    Rows,
    /// Pages, until there are many in one statement (PAGLOCK); 651 where an index has no page locks.
    Page,
    /// The table (TABLOCK).
    Table,
}

/// Table hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockHints {
    /// ROWLOCK, PAGLOCK, TABLOCK. Readers lock the table S; statements that change it, and readers with
    /// UPDLOCK or XLOCK, lock it X (TABLOCKX).
    pub granularity: Granularity,
    /// UPDLOCK, XLOCK.
    pub lock: ReadLock,
    /// READUNCOMMITTED (NOLOCK), READCOMMITTED, REPEATABLEREAD, SERIALIZABLE (HOLDLOCK).
    pub isolation: Option<Isolation>,
    /// NOWAIT: a lock that is not free is error 1222 at once.
    pub no_wait: bool,
    /// READPAST: a scan passes over rows that others have locked. Not with SERIALIZABLE (650).
    pub read_past: bool,
}
