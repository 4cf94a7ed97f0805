//! Allocation units in memory.
//!
//! A unit's IAM pages contain the extents that it owns, and PFS marks which pages of them are in use. In
//! memory a unit stores the extents with unallocated pages, so that the usual allocation reads no map at all:
//!
//! - `cache`: extents with unallocated pages, and which of these are *held* by reservations. Filled by
//!   what is allocated and freed; what was there when the database was opened is found bit by bit, by need
//!   (`scan`).
//! - `inbox`: what happened to pages, noted without waiting by threads that may hold page latches, and read
//!   by the next one to open the cache.
//! - `chain`: where the IAM pages are.
//!
//! Pages of mixed extents that the first IAM page names are the unit's as those of its extents are; the cache
//! has them under the extents that they lie in.
//!
//! # Lock order
//! `cache` before `chain` before page latches before `inbox`. `cache` and `chain` are never waited for under
//! a page latch. The maps are scanned with `cache` locked, so that nothing of the unit is reserved or given
//! back meanwhile; what is being freed or has just been allocated at that moment is in the inbox, and is left
//! out.

mod cache;
mod chain;
mod inbox;
mod rooms;
mod scan;
mod state;

pub(crate) use cache::{Cache, ScanPlace};
pub(crate) use chain::{Chain, IamPage};
pub(crate) use inbox::Event;
pub use rooms::Candidates;
pub(crate) use rooms::{CLASSES, Room, START};
pub(crate) use scan::SeenExtent;
pub use state::Unit;
