//! Statements that change rows.
//!
//! # Steps
//! 1. A plan finds the rows to be changed, under U locks if they are changed in place, and stores them, in
//!    files if they are many: changes must not affect which rows are found (the Halloween problem).
//! 2. New values are computed, checked and passed to the engine row by row. If one fails, the engine
//!    statement undoes them all.
//! 3. A row that a whole key of integers names, and whose new values do not depend on it, is changed without
//!    the first step: it is locked X at once.

mod changes;
mod delete;
mod foreign;
mod insert;
mod into;
mod merge;
mod position;
mod rules;
mod target;
mod update;

pub(crate) use delete::{delete, plan_delete};
pub(crate) use insert::{insert, plan_insert};
pub(crate) use into::select_into;
pub(crate) use merge::merge;
pub(crate) use target::limited;
pub(crate) use update::{plan_update, update};
