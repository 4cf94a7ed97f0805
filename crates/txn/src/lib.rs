//! Transactions, locks, deadlocks, mini-transactions.
//!
//! - [`Store`]: pool, log and active transactions of one database; what every row operation needs.
//! - [`Mini`]: page changes that are atomic in the log; the one way a page is ever changed.
//! - [`Transaction`]: begin, savepoint, commit, rollback.
//! - [`lock`]: the lock manager.
//!
//! # Invariants
//! 1. A page changes only inside [`Mini::commit`], after its log record is in the log buffer. Rows that the
//!    log does not have are on their pages, durably, before the transaction logs anything else: see `fills`.
//! 2. Log space is promised before the first latch; a rollback never lacks it.
//! 3. A transaction's records form a chain through `prev`; compensation records skip what is undone, so that
//!    undoing, interrupted and begun again, never undoes twice.
//! 4. Room that a transaction's shorter rows left on their pages is nobody else's until it ends: a
//!    rollback needs no page that there may not be.
//! 5. Locks are released only after the transaction's end is in the log (a commit: durable).
//!
//! # What can fail
//! [`TxnError`]. A failure after the log record was appended, or within a rollback, poisons the database: it
//! takes no more changes until it is recovered.

mod active;
mod changed;
mod counts;
mod error;
mod fills;
pub mod lock;
mod mini;
mod room;
mod store;
mod transaction;

pub use active::{ActiveTxn, ActiveTxns, ListedTxn};
pub use changed::{ChangedExtents, MAP_WORDS};
pub use counts::{Counts, Deltas, decode_deltas};
pub use error::TxnError;
pub use mini::{Author, Mini};
pub use room::KeptRoom;
pub use store::{LogRelief, Store};
pub use transaction::{Savepoint, Transaction, Undo, log_abort, undo_chain};
