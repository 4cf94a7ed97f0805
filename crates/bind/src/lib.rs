//! The binder: from a syntax tree to a plan. It resolves names, settles types and chooses access paths.
//!
//! # How a query is bound
//! 1. FROM: each source gets a run of columns in the *wide row* of its SELECT, in the order of the text
//!    (`from`).
//! 2. WHERE and the ON of inner joins are split at AND; each part goes to the lowest operator that has the
//!    columns it reads (`place`). Inner joins run in the order that costs least (`order`, `cost`).
//!    A comparison of a key column with a value that is known there becomes a seek (`access`).
//!    Rows have the columns that are read above (`layout`).
//! 3. GROUP BY and aggregates return rows of their own, on which HAVING, the select list and ORDER BY are
//!    bound (`select`).
//! 4. A name that no source of the query has is looked for in the queries around it: an outer column, which
//!    gets a place in the frame.
//!
//! # Invariants
//! 1. A statement that cannot be bound has read and changed nothing.
//! 2. A [`Binder`] records every table, view and absent name that it looked up (`Basis`), so that a stored
//!    plan is used only while they are unchanged; a statement that runs holds their definitions (`ready`).
//! 3. Every recursion checks the remaining stack (`furrow_context::depth`, error 8631).
//!
//! Proofs, by the invariant's number: 1: `a_statement_that_is_refused_leaves_nothing_behind`. 2:
//! `a_text_sent_again_sees_what_became_of_its_table`, `a_view_that_was_changed_is_bound_anew`. 3:
//! `nesting_of_every_kind_works_or_is_refused_on_a_thread_of_2_mb` (all of crate `sql`).
//!
//! # What can fail
//! Unknown names, types that do not fit, clauses that are missing here (40514): `SqlError`.

mod access;
mod aggregate;
mod assign;
mod bound_function;
mod cond;
mod constancy;
mod cost;
mod cte;
mod expr;
mod from;
mod group;
mod layout;
mod literal;
mod markup;
mod markup_xml;
mod metadata;
mod openjson;
mod order;
mod pivot;
mod place;
mod query;
mod ready;
mod resolve;
mod scope;
mod select;
mod shift;
mod spool;
mod table_function;
mod types;
mod updatable_view;
mod user_view;
mod variant;
mod window;

pub use expr::Bound;
pub use from::{Node, conjuncts, shown, table_hints};
pub use query::BoundQuery;
pub use ready::{
    bound, evaluate, evaluate_as, evaluate_planned, evaluate_planned_as, planned, ready,
};
pub use resolve::{DEFAULT_SCHEMA, Home, Resolved};
pub use scope::{Binder, Source, SourceColumn};
pub use table_function::{TABLE_FUNCTIONS, TableFunctionInfo};
pub use types::{Declared, data_type, declared_type};
pub use updatable_view::{BaseTable, SourceNode, UpdatableView};
