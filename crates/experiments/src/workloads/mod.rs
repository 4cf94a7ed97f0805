//! Loads, and what is measured while they run.

pub(crate) mod attached;
pub(crate) mod beside;
pub(crate) mod ceilings;
pub mod figures;
pub mod inserts;
pub(crate) mod latch_model;
pub(crate) mod latched;
pub mod load;
pub mod order_entry;
pub mod pace;
pub(crate) mod page_latches;
pub(crate) mod paired;
pub mod place;
pub(crate) mod prepared;
pub mod script;
