//! Plans and how they run.
//!
//! A [`Plan`] is a tree of operators that a binder has made; it can be run again and again. [`Plan::open`]
//! gives a [`Cursor`](operator::Cursor) that pulls one row at a time into a buffer that the caller keeps:
//! columns of a row are never moved when nothing looks at them.
//!
//! - `batch`: columns of a table's rows, a page at a time.
//! - `expr`: bound expressions and conditions on a row.
//! - `scan`, `join`, `hash`, `aggregate`, `sort`, `set`, `window`, `recursive`: the operators.
//! - `made`: rows that table functions make of their arguments.
//! - `markup`: FOR XML and FOR JSON.
//! - `memory`: how much rows that are kept may take.
//! - `spill`: files for rows that find no room.
//! - `spool`: an index made for one statement.
//! - `equal`: when expressions are the same. `visit`: visits of plans and expressions.
//! - `once`: subqueries that need to be run no more than once.

pub(crate) mod aggregate;
pub(crate) mod batch;
pub(crate) mod equal;
pub(crate) mod expr;
pub(crate) mod hash;
pub(crate) mod join;
pub(crate) mod key;
pub(crate) mod made;
pub(crate) mod markup;
pub(crate) mod memory;
pub(crate) mod once;
pub(crate) mod openjson;
pub(crate) mod operator;
pub(crate) mod recursive;
pub(crate) mod scan;
pub(crate) mod set;
pub(crate) mod sort;
pub(crate) mod spill;
pub(crate) mod spool;
pub(crate) mod visit;
pub(crate) mod window;

pub(crate) use expr::{Cond, Expr, SubPlan};
pub(crate) use operator::{Cursor, Plan};
