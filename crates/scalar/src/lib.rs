//! T-SQL's values: types, conversions, operators and functions, as in SQL Server.
//!
//! Purpose: answers for the binder (the type of an expression, whether a conversion is allowed, the function
//! with a name, the error of a refusal) and code that the executor runs (a bound operator, conversion,
//! function or aggregate on values). Values and column types are `furrow_types`': the workspace has one
//! `Value`.
//!
//! # Invariants
//! 1. Binding decides everything that depends on types; only errors of values remain for a row. A bound
//!    operator or function never meets a type that it was not bound to (debug builds assert it).
//! 2. Every error is SQL Server's: number, level, state, text; the tables of `furrow_messages` have the
//!    texts.
//! 3. NULL in, NULL out, except where a function says otherwise; comparisons with NULL are unknown.
//! 4. Exact numbers are exact: every sum, product and quotient is computed in 256 bits and rounded once.
//! 5. Two values that compare equal have the same hash, whatever their scale, case or trailing blanks.
//! 5. Two values that compare equal hash alike, whatever their scale, case or trailing blanks.
//! 6. Nothing here uses the clock, random numbers or system calls directly: [`Env`] provides them.
//! 7. Fixed-width types are computed without allocation.
//!
//! Proofs, by the invariant's number: 1: assertions where a bound operator meets its values;
//! `every_function_takes_or_refuses_every_type`. 2: `types_that_cannot_meet_get_their_message`,
//! `values_that_do_not_fit_get_their_own_message`. 3: `null_makes_a_comparison_unknown`,
//! `null_takes_any_type_and_alone_none`. 4:
//! `exact_arithmetic_agrees_with_big_integers_over_all_precisions`. 5:
//! `equal_values_hash_alike_whatever_their_scale_and_padding`. 6: `only_io_touches_the_system` (tidy). 7:
//! the types: fixed-width values are variants of `Value` without a box.
//!
//! # How an expression is bound
//! 1. The binder describes each operand as an [`Operand`]: type, literal NULL or not, constant or not, and
//!    the source of its collation.
//! 2. [`ops::bind_binary`], [`ops::bind_compare`], [`functions::resolve`] or
//!    [`convert::Conversion::explicit`] return a bound operator, comparison, function or conversion with the
//!    type of its result; or the message for the client (206, 257, 402, 529, 8116, 8117...).
//! 3. The executor calls `eval` with borrowed values.
//!
//! # What can fail
//! A [`Message`] and nothing else: overflow (8115, 220, 232), division by zero (8134), text that is not a
//! number or date (245, 8114, 241, 242), texts that are too long (7119) or for which there is no memory
//! (701), and the errors of single functions. Nothing here panics on a value.

pub mod aggregate;
pub mod convert;
pub mod display;
mod env;
pub mod error;
mod exact;
pub mod functions;
pub mod json;
mod operand;
pub mod ops;
mod room;
#[cfg(test)]
mod testing;
mod text;
mod ticks;
pub mod types;
mod wide;
pub mod xml;

pub use env::{Env, RandState, Settings, Switches};
pub use error::SqlResult;
pub use furrow_messages::Message;
pub use operand::{Coercibility, Operand, meet};
