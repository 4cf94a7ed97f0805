//! Heaps and B+trees: row operations and scans.
//!
//! - [`Shape`]: the layout of rows and keys; [`Key`]: a search key of a tree.
//! - [`Tree`]: a B+tree with its insert, delete, update, point read and range scan.
//! - [`Heap`]: rows by address, with its insert, delete, update, point read and allocation-order scan.
//! - [`read_large`]: values that are stored outside of their rows.
//! - [`By`]: the author of an operation: a transaction, its undo, or the engine itself.
//! - [`UndoOp`]: the undo part of a log record.
//!
//! # Invariants
//! 1. No latch is held while waiting for a lock, for log space, for pages or for a flush.
//! 2. Latches are taken parent before child, left before right, rows before allocation maps.
//! 3. A structural change and the row that caused it are one mini-transaction.
//!
//! Proofs, by the invariant's number: 1: `assert_no_latches` before a step is prepared (`author`), pages are
//! reserved and frames are lent. 2: the pool asserts ranks (`rank`);
//! `woven_splits_of_a_high_tree_beside_scans_and_purges`. 3: one mini-transaction for each operation;
//! `the_log_alone_gives_the_rows_back`. Pages read: `node` and `shape` return an error for a page of the
//! wrong kind, `a_reader_that_meets_a_wrong_child_says_so_and_goes_no_further`.
//!
//! # What can fail
//! [`AccessError`]. A page whose content does not fit its place in the tree or heap is reported, never used.

mod audit;
mod author;
mod error;
mod heap;
mod key;
mod large;
mod shape;
mod tree;
mod undo;

pub use audit::TreeAudit;
pub use author::By;
pub use error::AccessError;
pub use heap::{
    Heap, HeapAudit, HeapCursor, HeapDivision, HeapParts, HeapScan, HeapStep, HeapVisitor,
};
pub use key::Key;
pub use large::{large_len, read_large};
pub use shape::{KeyColumn, Shape};
pub use tree::{
    Bound, Cursor, Direction, Gate, InPlace, LeafHint, LeafHints, PagePass, Purge, RowBatch,
    RowCheck, Step, Tree, TreeParts, TreeScan, Visitor,
};
pub use undo::UndoOp;
