//! The state that statements use: of the server, of the connection and of the batch.
//!
//! Purpose: operators, binder, system views and interpreter share one [`Context`](context::Context). It is a
//! struct, because operators read its fields for each row. The parts that crates above implement (system
//! views, metadata functions) are behind the trait [`SystemObjects`](system::SystemObjects). Results that
//! only operators can read are opaque here ([`SubqueryResults`](subqueries::SubqueryResults)).
//!
//! # Invariants
//! 1. One statement is one engine statement ([`Context::statement`](context::Context::statement)): a failed
//!    statement changes nothing, and outside of a transaction a successful one is durable when it returns.
//! 2. All engine sessions of a connection begin, commit and roll back together (`sessions`).
//! 3. A plan is used again only while everything that it was bound to is unchanged (`plans`).
//! 4. Memory that a statement uses is granted first and returned when its owner is dropped (`memory`).
//!
//! Proofs, by the invariant's number: 1: `a_cancelled_statement_is_undone_and_its_transaction_stays_open`
//! (sql). 2: the golden script `exec_other_database` (sql). 3:
//! `changing_statements_sent_again_see_what_became_of_their_table` (sql). 4:
//! `what_is_kept_is_given_back_when_its_keeper_goes`.
//!
//! # What can fail
//! [`SqlError`](error::SqlError): messages for the client. Cancellation ends a statement at the next row or
//! lock wait.

pub mod activity;
pub mod clock;
pub mod configuration;
pub mod context;
pub mod cursors;
pub mod depth;
pub mod error;
pub mod memory;
pub mod parse;
pub mod plans;
pub mod query_stats;
pub mod run;
pub mod scope;
pub mod server;
pub mod sessions;
mod shared_plans;
pub mod sink;
pub mod statements;
pub mod statistics;
pub mod subqueries;
pub mod switches;
pub mod system;
pub mod system_databases;
pub mod table_reads;
pub mod temp;
pub mod temp_tables;
pub mod texts;
pub mod usage;
