//! Statements that change rows.
//!
//! # Steps
//! 1. The rows to be changed are found by a plan, under U locks where they are changed in place, and kept, in
//!    files where they are many: what is changed cannot change what is found (the Halloween problem).
//! 2. New values are computed, checked and handed to the engine row by row; its statement undoes them all
//!    when one fails.

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
