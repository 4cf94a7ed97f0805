//! The result of a load.

pub(super) type Outcome = Result<(), Box<dyn std::error::Error>>;
