//! Tables as sessions see them, and what sessions do with their rows.
//!
//! - [`Table`]: columns and indexes of one object, built from catalog rows, shared by all sessions. A change
//!   of the definition creates a new one; the old one is marked as superseded and refused (2801).
//! - [`Index`]: a heap, a clustered or a nonclustered index: which columns lie where in its rows.
//! - [`Rowset`]: the tree or heap behind it, unique in memory, with its count of rows.
//!
//! A row is named by a [`Key`](furrow_access::Key), whatever the table: its whole clustered key, or the eight
//! bytes of its address in the heap. Entries of nonclustered indexes end in that name, so that all that is
//! done through them is the same for both. An address stays a row's own until it is deleted; a row that
//! outgrows its page moves behind a stub.
//! - `insert`, `change`, `read`, `scan`: the operations, as methods of [`Session`](crate::Session).
//!
//! # Locks
//! 1. A session that changes rows holds IX on the object, one that reads them IS, one that changes the
//!    definition Sch-M.
//! 2. The lock of a row is that of its clustered key (or RID), whichever index it is met in: entries of
//!    nonclustered indexes carry that key. A unique nonclustered index has its visible keys locked
//!    besides, against two uncommitted rows with the same one.
//! 3. A SERIALIZABLE reader guards the gaps of the range that it reads by range locks on keys; the
//!    protocol of readers, inserters, deleters, the ghost cleanup and rollbacks is in `locks`.
//! 4. Pages may be locked in place of rows; `pages` describes how both kinds of locks exclude each other.
//! 5. READ COMMITTED tests locks under the latch and waits without it.
//!
//! # What can fail
//! Violations with SQL Server's messages (515, 2601, 2627, 2628, 511, ...), locks (1205, 1222), and
//! what fails below.

mod catalog_rows;
mod encode;
mod foreign;
mod ghosts;
mod index;
mod large;
mod leaf;
mod lock_hash;
mod meta;
mod resting;
mod row;
mod text;
mod whole;
mod within;

pub use foreign::ForeignKey;
pub use index::{Index, IndexKey, IndexKind, Rowset, RowsetAudit};
pub use leaf::{LeafRow, LeafRows, Number, NumberColumn};
pub use meta::{Check, Column, Storage, Table, TableChild};
pub use row::Row;

pub(crate) use catalog_rows::TableRows;
pub(crate) use encode::{RowBuffer, duplicate_error, null_error, printed_key, value_error};
pub(crate) use ghosts::{GhostQueue, Sweep};
pub(crate) use index::{Body, LeafColumn, rid_key, rid_of};
pub(crate) use leaf::Taker;
pub(crate) use lock_hash::lock_hash;
pub(crate) use meta::{Common, IdentityCounter, IdentityState};
pub(crate) use text::{text_of, text_rows};
pub(crate) use whole::each_row;
pub(crate) use within::Within;
