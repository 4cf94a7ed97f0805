//! Databases come into use: created, opened and recovered, attached.

mod attach;
mod bootstrap;
mod closed_log;
mod computed;
mod create;
mod open;
mod rebuild;

pub(crate) use attach::{RestingPrimary, attach_resting, open_emergency, open_resting};
pub(crate) use closed_log::{ClosedLog, open_log};
pub(crate) use computed::first_damaged;
pub(crate) use create::{check_paths, create, header_of, space_options};
pub(crate) use open::{birth, open, sniff, state_after};
pub(crate) use rebuild::expected_log;
