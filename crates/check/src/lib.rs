//! The consistency check of a database, over any source of pages.
//!
//! Purpose: verify that every page of a database is intact and belongs where it is, and that all pages agree
//! with each other and with the catalog; for users, and for this project's own tests. Read-only. It reads
//! files of Furrow and of SQL Server, versions 611 to 957.
//!
//! # Invariants
//! - **Every finding is real.** Properties of real files (stale first pages, hints left set, garbage in
//!   unused pages) are no findings; the order of text counts where it is certain (see `order`). Files that
//!   this engine wrote must meet stricter rules than those of SQL Server.
//! - **Every finding has a location**: SQL Server's message number, file, page, table, what was expected, and
//!   one sentence in plain words.
//! - **Order does not matter**: each page is checked by itself, in any order. A statement of one page about
//!   another becomes a fact, and facts are compared after all pages were read.
//! - Bytes from files never make it panic.
//!
//! # The algorithm
//! 1. The allocation maps of all files are read (1 page in 8,000), then the catalog: what must exist.
//! 2. The scan: workers take runs of pages, file by file, front to back. For each page in use they check the
//!    checksum or torn bits, its own id, header arithmetic, records, values and the order of keys, and
//!    collect facts about links, children, stubs, large values and owned extents.
//! 3. A row of a table adds the hash of its index row to a sum, and the index row subtracts its own
//!    (`buckets`): the memory for this does not depend on the size of the tables.
//! 4. Matching: extents have one owner and all maps agree; chains of IAM pages; trees from root to leaves,
//!    with levels, links and ranges of keys; stubs and moved rows; pieces of large values; rows behind sums
//!    that are not 0, which are read again; counts; rows of the catalog against each other.
//!
//! # What can fail
//! Damage is a finding, not a failure. [`CheckError`] says that the check could not be done: no primary file,
//! files missing, a database that has to be recovered first.

#![deny(clippy::indexing_slicing)]

mod base_rows;
mod buckets;
mod examine;
mod facts;
mod finding;
mod findings;
mod foreign;
mod hash;
mod maps;
mod matching;
mod options;
mod order;
mod plan;
mod raise;
mod reader;
mod repair;
mod scan;
mod totals;

pub use examine::{CheckError, Report, check, check_within, scratch_bytes};
pub use facts::Scratch;
pub use finding::{Finding, Repair, Subject};
pub use options::{Depth, MEMORY_BYTES, Options, Scope};
pub use reader::{damage_message, missing_file_text, reader_error_text};
pub use repair::{
    BASE_PLACES, Foundation, Identity, Loss, Repaired, compute_foundation, repair, repair_known,
};
pub use scan::{Listener, Progress};
pub use totals::{FileTotal, ObjectTotal};
