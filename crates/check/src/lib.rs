//! Is a database sound? The consistency check, over any source of pages.
//!
//! Purpose: say of every page of a database that it is whole, that it is what its place demands, and that all
//! pages agree with each other and with the catalog; for users, and as the oracle of this project's own
//! tests. Read-only. It reads files of ours and of SQL Server, versions 611 to 957.
//!
//! # Invariants
//! - **Every finding is real.** Properties of real files (stale first pages, hints left set, garbage in
//!   unused pages) are no findings; the order of text counts where it is certain (see `order`). Files that
//!   this engine wrote must meet stricter rules than those of SQL Server.
//! - **What is said has a place**: SQL Server's message number, file, page, table, what was expected, and
//!   one sentence in plain words.
//! - **Order does not matter**: pages are judged alone, in whatever order they come; what a page says of
//!   another becomes a fact, and facts are matched when all pages were seen.
//! - Bytes from files never make it panic.
//!
//! # The algorithm
//! 1. The allocation maps of all files are read (1 page in 8,000), then the catalog: what must be there.
//! 2. The scan: workers take runs of pages, file by file, front to back. Of each page in use: checksum or
//!    torn bits, own id, header arithmetic, records, values, order of keys; facts of links, children, stubs,
//!    large values, extents owned.
//! 3. A row of a table adds the hash of the index row it must have to a sum, an index row takes its own away
//!    (`buckets`): memory for this is bounded whatever the tables' size.
//! 4. Matching: extents have one owner and all maps say so; chains of IAM pages; trees from root to leaves,
//!    with levels, links and ranges of keys; stubs and moved rows; pieces of large values; sums that did not
//!    cancel, by a second look at the rows behind them; counts; the catalog against itself.
//!
//! # What can fail
//! Damage is no failure, it is what is looked for. [`CheckError`] says that the check could not be done: no
//! primary file, files missing, a database that has to be recovered first.

#![deny(clippy::indexing_slicing)]

mod buckets;
mod examine;
mod facts;
mod finding;
mod hash;
mod maps;
mod matching;
mod options;
mod order;
mod plan;
mod raise;
mod repair;
mod scan;
mod told;
mod totals;

pub use examine::{CheckError, Report, check, check_within, scratch_bytes};
pub use facts::Scratch;
pub use finding::{Finding, Repair, Subject};
pub use options::{Depth, MEMORY_BYTES, Options, Scope};
pub use repair::{Loss, Repaired, repair};
pub use scan::{Listener, Progress};
pub use told::{damage_message, missing_file_text, reader_error_text};
pub use totals::{FileTotal, ObjectTotal};
