//! T-SQL executed: what a client sends, on the engine's sessions, tables and files.
//!
//! Purpose: a [`Server`] is an instance with its system databases and its connections; a [`Connection`] takes
//! batches of T-SQL and tells a [`Sink`] what they give. The text is read by `furrow_tsql`, values are
//! `furrow_scalar`'s, rows and files are `furrow_engine`'s; what lies between is here.
//!
//! # Invariants
//! 1. One statement is one engine statement: what fails leaves nothing behind, and outside of a transaction
//!    what succeeds is durable when `done` is told.
//! 2. Names and types are decided when a statement is bound, rows when it runs: a statement that can't be
//!    bound has read and changed nothing.
//! 3. Every error is the product's: number, level, state, line, text. What T-SQL has and this engine does not
//!    is refused with the clause named (40514); nothing is ignored silently.
//! 4. What views, DBCC and system procedures say comes from the engine's own state, never from a second copy.
//! 5. No scan holds a latch between two rows, and none outlives its statement.
//!
//! # A batch
//! 1. `interp` parses it and runs its statements in order: variables, control of flow, TRY and CATCH,
//!    transactions, EXEC.
//! 2. `bind` resolves names and types of a query and chooses how it is run: a [`plan`](exec) of operators.
//! 3. `exec` pulls rows through the plan; correlated subqueries take the outer row's values through a frame.
//! 4. `dml` feeds rows to the engine's inserts, updates and deletes; `ddl` makes and changes databases and
//!    tables; `dbcc`, `procs` and `views` show what the engine knows.
//!
//! # What can fail
//! [`SqlError`]: messages for the client. Cancellation ends a statement at the next row or lock wait.

mod activity;
mod bind;
mod configuration;
mod connection;
mod context;
mod dbcc;
mod ddl;
mod depth;
mod dml;
mod error;
mod exec;
mod interp;
mod prepared;
mod procs;
mod query_stats;
mod reference;
mod scope;
mod server;
mod sessions;
mod sink;
mod temp;
mod usage;
mod views;

pub use activity::{Activity, ActivityView, SessionCost, SessionSettings};
pub use connection::{BatchEnd, Cancel, Connection};
pub use error::{Result, SqlError};
pub use prepared::Prepared;
pub use reference::reference_pages;
pub use server::Server;
pub use sink::{Kept, Notice, ResultColumn, ResultSet, Sink};
