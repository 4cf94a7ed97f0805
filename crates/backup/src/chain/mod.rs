//! What a restore needs, read from media alone: which stripes belong together, which sets form a chain.
//!
//! # Algorithm
//! 1. Stripes are grouped by the media set in their headers; each media set must have all of its stripes
//!    (`media`).
//! 2. A chain of a database begins with a full backup. The differential backup that is built on it and
//!    reaches furthest follows, then the log backups, each of which begins where the one before it ends or
//!    earlier (`plan`). Log that is missing between two sets is an error. Of the full backups the one counts
//!    whose chain reaches furthest; of several the latest.
//! 3. The chain is written as T-SQL (`script`), or restored by a caller that has an instance.
//!
//! # Invariants
//! 1. RESTORE accepts the sets of a chain in their order: a chain follows the rules of `restore`, with the
//!    same comparisons of LSNs.
//! 2. A chain reaches the latest state that the media have, or there is an error.
//!
//! Proofs: 1 and 2: `a_chain_from_scattered_media_restores_to_its_end`.

mod error;
mod media;
mod plan;
mod script;

pub use error::ChainError;
pub use media::open_media;
pub use plan::{Chain, ChainStep, chains};
pub use script::{ScriptOptions, file_moves, script};
