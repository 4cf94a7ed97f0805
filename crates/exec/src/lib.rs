//! Query operators: plans and how they run.
//!
//! Purpose: a [`Plan`] is a tree of operators that the binder has created; it can be run any number of times.
//! [`Plan::open`] returns a [`Cursor`](operator::Cursor) that reads one row at a time into a buffer of the
//! caller: columns that nothing reads are never copied.
//!
//! # Invariants
//! 1. Each read of a row checks whether the statement is cancelled
//!    ([`Cursor::next`](operator::Cursor::next)).
//! 2. An operator that stores rows holds a memory grant for them. When it gets no more memory, it writes rows
//!    to files (`spill`) or ends the statement (701).
//! 3. A cursor is closed once, and closing it ends its scans.
//! 4. Running or dropping a plan takes less stack for each level than binding it (`furrow_context::depth`).
//!
//! Proofs, by the invariant's number: 1: `every_operator_ends_soon_when_its_statement_is_cancelled` (sql).
//! 2: `what_finds_no_room_in_memory_goes_through_files_and_gives_the_same_rows` (sql). 3: an assertion in
//! `Cursor::close`. 4: `nesting_of_every_kind_works_or_is_refused_on_a_thread_of_2_mb` (sql).
//!
//! # Modules
//! - `batch`: columns of a table's rows, a page at a time.
//! - `point`: look-ups of one row by its whole key.
//! - `expr`: bound expressions and conditions on a row.
//! - `scan`, `join`, `hash`, `aggregate`, `sort`, `set`, `window`, `recursive`: the operators.
//! - `table_function`: rows that table functions return for their arguments. `view`: rows of system views.
//! - `markup`: FOR XML and FOR JSON.
//! - `parallel`: scans that several threads do together.
//! - `spill`: files for rows that do not fit in memory.
//! - `spool`: an index built for one statement.
//! - `equal`: equality of expressions. `visit`: visits of plans and expressions.
//! - `once`: subqueries that have to run only once. `in_list`: look-ups in long IN lists.
//!
//! # What can fail
//! Arithmetic and conversions (SQL Server's errors), locks, disks, memory, cancellation: `SqlError`.

pub mod aggregate;
pub mod batch;
pub mod equal;
pub mod expr;
pub mod hash;
pub mod in_list;
pub mod join;
pub mod key;
pub mod markup;
pub mod once;
pub mod openjson;
pub mod operator;
pub mod parallel;
mod point;
pub mod recursive;
pub mod scan;
pub mod set;
pub mod sort;
pub mod spill;
pub mod spool;
pub mod table_function;
pub mod view;
pub mod visit;
pub mod window;

pub use expr::{Cond, Expr, SubPlan};
pub use operator::{Cursor, Plan};
