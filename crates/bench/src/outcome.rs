//! What a load came to.

pub(super) type Outcome = Result<(), Box<dyn std::error::Error>>;
