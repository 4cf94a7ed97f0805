//! Transactions, locks, deadlocks, mini-transactions.
//!
//! - [`Store`]: pool, log and active transactions of one database, for all row operations.
//! - [`Mini`]: page changes that are atomic in the log; the only way to change a page.
//! - [`Transaction`]: begin, savepoint, commit, rollback.
//! - [`lock`]: the lock manager.
//!
//! # Invariants
//! 1. A page changes only inside [`Mini::commit`], after its log record is in the log buffer. Rows that are
//!    not in the log are on their pages, durably, before the transaction logs anything else: see `fills`.
//! 2. Log space is promised before the first latch; a rollback never lacks it.
//! 3. A transaction's records form a chain through `prev`; compensation records skip what is undone, so that
//!    an undo that is interrupted and started again never undoes a record twice.
//! 4. Space that a transaction's shorter rows left on their pages stays reserved for it until it ends: a
//!    rollback never needs another page for them.
//! 5. Locks are released only after the transaction's end is in the log (a commit: durable). Before a commit
//!    is durable, only requests of writers may pass its locks of rows, and what such a transaction gives to
//!    its client waits for the log (see `lock`, `early`).
//!
//! Proofs, by the invariant's number: 1: the pool asserts that a page is changed only after `begin_change`,
//! and `mini` that its LSN grows; `log_commit` asserts that pages filled past the log are durable. 2:
//! `Log::give_back` asserts that no more is given back than was promised;
//! `a_rollback_in_a_full_log_asks_for_nothing_and_ends` (access). 3: `active` asserts that LSNs of a
//! transaction grow and that nothing follows its end; `undo_chain` refuses a chain that does not lead back.
//! 4: `room_is_owed_until_it_is_returned_or_its_transaction_ends`. 5: the mutation `early-release` fails the
//! soak's scenes; `woven_writers_pass_owners_that_leave_and_readers_do_not`, and the mutation
//! `follower-unflushed` fails them, too.
//!
//! # What can fail
//! [`TxnError`]. A failure after the log record was appended, or within a rollback, poisons the database: it
//! accepts no more changes until it is recovered.

mod active;
mod active_txn;
mod changed;
mod commit_body;
mod counts;
mod error;
mod fills;
mod holds;
pub mod lock;
mod mini;
mod order;
mod room;
mod store;
mod transaction;

pub use active::{ActiveTxns, ListedTxn};
pub use active_txn::ActiveTxn;
pub use changed::ChangedExtents;
pub use commit_body::{CommitBody, TxnMark};
pub use counts::{Counts, Deltas};
pub use error::TxnError;
pub use holds::{LogHold, LogHolds};
pub use mini::{Author, Mini};
pub use order::reference_page;
pub use room::KeptRoom;
pub use store::{LogRelief, Store};
pub use transaction::{Savepoint, Transaction, Undo, log_abort, undo_chain, undo_chain_of};
