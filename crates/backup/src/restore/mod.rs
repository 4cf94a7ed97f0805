//! A database put back from its stripes.
//!
//! 1. The stripes of the media set are opened and proven to be all of one set (`media_set`).
//! 2. The engine makes the files, which are empty, and notes that the database is being restored.
//! 3. Each stripe is read by a thread of its own, which puts pages and log blocks in their places (`copy`).
//! 4. The engine recovers.
//!
//! VERIFYONLY does the third step with nowhere to put anything.

mod copy;
mod ended;
mod media_set;
mod parts;
mod plan;
mod sets;
mod stop;
mod types;

pub use media_set::MediaSet;
pub use parts::{restore_files, restore_pages};
pub(crate) use plan::forks_of;
pub use sets::{
    recover_only, restore_database, restore_log, space_warnings, stay_restoring, verify,
};
pub use types::{RestoreReport, RestoreRequest};
