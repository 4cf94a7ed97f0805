//! The T-SQL interpreter: batches, DDL, DML, connections and prepared statements.
//!
//! Purpose: a [`Server`] is an instance with its system databases and its connections; a [`Connection`] runs
//! batches of T-SQL and sends results to a [`Sink`]. `furrow_tsql` parses, `furrow_bind` makes plans,
//! `furrow_exec` runs them, `furrow_sysviews` has system views, procedures and DBCC, `furrow_context` the
//! state that all of them share.
//!
//! # Invariants
//! 1. One statement is one engine statement: a failed statement changes nothing, and outside of a transaction
//!    a successful one is durable when the sink's `done` is called.
//! 2. Names and types are resolved when a statement is bound, rows are read when it runs: a statement that
//!    cannot be bound has read and changed nothing.
//! 3. Every error is SQL Server's: number, level, state, line, text. A T-SQL clause that this engine does not
//!    have is refused by name (40514); nothing is ignored silently.
//! 4. No scan holds a latch between two rows, and none outlives its statement.
//! 5. `ddl` and `dml` import nothing of `interp`: a statement that runs others calls the trait `Interpreter`.
//!
//! Proofs, by the invariant's number: 1: `a_cancelled_statement_is_undone_and_its_transaction_stays_open`.
//! 2: `a_statement_that_is_refused_leaves_nothing_behind`. 3:
//! `every_golden_script_says_what_is_written_down`. 4: `assert_no_latches` before every lock wait and
//! every reservation. 5: `files_import_each_other_in_fewer_circles_than_before` (tidy).
//!
//! # A batch
//! 1. `interp` parses it and runs its statements in order: variables, control of flow, TRY and CATCH,
//!    transactions, EXEC.
//! 2. The binder resolves names and types of a query and chooses a plan of operators.
//! 3. The plan returns rows; correlated subqueries take the outer row's values through a frame.
//! 4. `dml` passes rows to the engine's inserts, updates and deletes; `ddl` creates and changes databases,
//!    tables, indexes and modules.
//!
//! # What can fail
//! [`SqlError`]: messages for the client. Cancellation ends a statement at the next row or lock wait.

mod backup;
mod connection;
mod ddl;
mod dml;
mod interp;
#[cfg(test)]
mod kill_tests;
mod msdb;
mod output;
mod paths;
#[cfg(test)]
mod plan_tests;
mod prepared;
#[cfg(test)]
mod seat_tests;
mod server;

pub use connection::{Cancel, Connection};
pub use furrow_context::activity::{Activity, ActivityView, SessionCost, SessionSettings};
pub use furrow_context::error::{Result, SqlError};
pub use furrow_context::sink::{BatchEnd, Kept, Notice, ResultColumn, ResultSet, Sink};
pub use furrow_sysviews::reference_pages;
pub use prepared::Prepared;
pub use server::Server;
