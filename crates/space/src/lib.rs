//! Files, filegroups, proportional fill, allocation maps, growth.
//!
//! A database's rows live in pages, pages in extents of eight, extents in files, files in filegroups. This
//! crate decides which page a row's owner gets next, and records the owner in the maps. Owners are
//! *allocation units* ([`Unit`]): one rowset's extents of one kind. The maps are SQL Server's own (PFS, GAM,
//! SGAM, IAM).
//!
//! # Invariants
//! 1. Every extent is free, mixed, or in exactly one IAM, at every LSN: a change from one to another is one
//!    mini-transaction. The first extent of a GAM interval holds the maps and belongs to no unit.
//! 2. SGAM names exactly the mixed extents with a page to spare. IAM pages and the engine's own pages live in
//!    mixed extents. If MIXED_PAGE_ALLOCATION is ON, so do the first eight pages of units, which the first
//!    IAM page of each names; PFS marks such a page as set aside (0x20) while it is not in use. An extent
//!    that holds a later PFS page is mixed from the start.
//! 3. The PFS bytes of a free extent are zero, fixed pages aside.
//! 4. The free extents counted in memory are those of GAM inside the file's size and below its ceiling, less
//!    those that threads have claimed: a thread that has claimed an extent finds one.
//! 5. A page is allocated once. The thread that allocates a page checks in PFS, under the latch of the PFS
//!    page, that it is not in use.
//! 6. An allocation is a nested top action: it stays even if the transaction that needed it rolls back.
//! 7. Nothing here waits for log space, for a disk or for another thread's growth while holding a page latch.
//!
//! Proofs, by the invariant's number: 1, 2, 3: the consistency check (`check::matching::extents`), and
//! `woven_allocations_hand_out_each_page_once_and_the_maps_agree`. 4: an error in `free_extent` where the map
//! has fewer; `nothing_is_handed_out_above_a_ceiling`. 5: an error in `Reservation::plan`;
//! `a_page_in_use_is_never_allocated_again_even_if_memory_forgot_it`. 6: `Author::System` in each allocation.
//! 7: `assert_no_latches` in `Space::reserve`, and the pool's assertion of ranks.
//!
//! # How a page is allocated
//! 1. [`Space::reserve`], with no latch held, sets pages aside in the unit's memory. In seven of eight cases
//!    no map has to be read.
//! 2. If the unit has no page left, the next part of its maps is read (after a restart), or an extent is
//!    allocated, or a page of a mixed one where units begin so: [`fill`] chooses the file. With the IAM page
//!    (created if need be) EX and GAM UP, then EX, two bits change.
//! 3. If no file has a free extent, one grows, or all do ([`FilegroupSpec::autogrow_all`]); others wait.
//! 4. The caller, in its own mini-transaction and after its latches on data pages, marks the page in PFS
//!    ([`Reservation::allocate_taken`]), commits, and calls [`Reservation::done`]. What it did not use goes
//!    back when the reservation is dropped.
//!
//! # How it is given back
//! [`Space::free_pages`] marks pages free within the caller's mini-transaction. After that is in the log,
//! [`Space::freed`] makes them available and frees extents that are empty. [`Space::drop_unit`] frees all
//! pages of a unit, in batches, and continues after a crash where it stopped.
//!
//! # Latch order
//! Pages of data, then PFS, IAM, GAM, SGAM, change maps, file header. Several PFS pages in one
//! mini-transaction are latched in ascending order. An IAM page and a new one behind it in its chain are the
//! only two of that rank.
//!
//! # How a file becomes smaller
//! Nothing is allocated behind a ceiling ([`Space::set_ceiling`]) while the engine moves the pages there.
//! Then the file is cut at its last extent in use ([`Space::cut`]). `shrink` explains why every crash is
//! covered.
//!
//! # What is not here yet
//! The BCM is formatted but not maintained. The changed-extent maps (DCM) are maintained by
//! `furrow_txn::ChangedExtents`, and cleared by full backups.
//!
//! # What can fail
//! [`SpaceError`]: a full filegroup (1105, with the disk's own error if there was one), a map that
//! contradicts itself (the step is not done), and errors of the pool and the log. After an error the maps are
//! unchanged, and the pages and extents that were claimed or reserved for the step are available again.

mod config;
mod drop;
mod error;
mod extents;
mod file;
mod filegroup;
pub mod fill;
mod free;
mod grow;
mod heap;
mod manage;
mod new_file;
mod promise;
mod reserve;
mod shrink;
mod space;
mod unit;
mod usage;
mod walk;

pub use config::{
    DataFile, FileCatalog, FileState, FilegroupSpec, FillTrace, SpaceConfig, SpaceOptions,
};
pub use error::SpaceError;
pub use free::FreedPages;
pub use heap::class_with_room;
pub use new_file::new_file_pages;
pub use reserve::Reservation;
pub use space::Space;
pub use unit::{Candidates, Unit};
pub use usage::FileUsage;
pub use walk::{PageCounts, PageWalk};
