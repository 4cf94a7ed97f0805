//! Binding: from a syntax tree to a plan. Names become places, types are settled, ways to the rows are
//! chosen.
//!
//! # How a query is bound
//! 1. FROM: each source gets a run of columns in the *wide row* of its SELECT, in the order of the text
//!    (`from`).
//! 2. WHERE and the ON of inner joins are taken apart at AND; each part goes to the lowest place that has the
//!    columns it looks at (`place`). Inner joins are run in the order that costs least (`order`, `cost`).
//!    What compares a key column with a value that is known there becomes a seek (`access`).
//!    Rows have the columns that are looked at above (`layout`).
//! 3. GROUP BY and aggregates make rows of their own, on which HAVING, the select list and ORDER BY are
//!    bound (`select`).
//! 4. A name that no source of the query has is looked for in the queries around it: an outer column, which
//!    takes a place in the frame.

mod access;
mod ask;
mod cond;
mod cost;
mod cte;
mod expr;
mod from;
mod globals;
mod group;
mod layout;
mod literal;
mod made;
mod markup;
mod markup_xml;
mod meta;
mod openjson;
mod order;
mod pivot;
mod place;
mod query;
mod resolve;
mod scope;
mod select;
mod shift;
mod spool;
mod through;
mod types;
mod variant;
mod who;
mod window;

pub(crate) use ask::{AskInfo, all as asked};
pub(crate) use expr::Bound;
pub(crate) use from::{Node, conjuncts, shown, table_hints};
pub(crate) use made::{MADE, MadeInfo};
pub(crate) use query::BoundQuery;
pub(crate) use resolve::{DEFAULT_SCHEMA, Home, Resolved};
pub(crate) use scope::{Binder, Source, SourceColumn};
pub(crate) use through::{Beneath, SourceNode, Through};
pub(crate) use types::{Declared, data_type, declared_type};
