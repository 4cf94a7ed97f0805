//! Databases come into use: created, opened and recovered, attached.

mod attach;
mod bootstrap;
mod closed_files;
mod closed_log;
mod computed;
mod create;
mod kept_log;
mod open;
mod rebuild;

pub(crate) use attach::{RestingPrimary, attach_resting, open_emergency, open_resting};
pub(crate) use closed_files::{LogLook, OwnFile, look_at_log, prove_own};
pub(crate) use closed_log::{ClosedLog, open_log};
pub(crate) use computed::{first_damaged, mend_foundation};
pub(crate) use create::{check_paths, create, header_of, space_options};
pub(crate) use kept_log::{is_unreadable, keep_log};
pub(crate) use open::{birth, open, sniff, spoil, state_after, unreadable_end};
