//! Allocation maps: their places, their contents, and fresh maps.
//!
//! | pages | map | one entry for each |
//! |---|---|---|
//! | 1, then every 8,088 | PFS: a byte | page: in use? in a mixed extent? how full? |
//! | 2, then every 511,232 | GAM: a bit | extent: 1 = free |
//! | behind GAM | SGAM: a bit | extent: 1 = mixed, with a page to spare |
//! | 6 of the interval | DCM: a bit | extent: 1 = changed since the last full backup |
//! | 7 of the interval | BCM: a bit | extent: 1 = changed by minimally logged work |
//! | anywhere | IAM: a bit | extent: 1 = belongs to this allocation unit |
//!
//! A bitmap page holds two records: 90 bytes that are used on IAM pages only, and the map of 63,904 bits. The
//! map is always found through the slot array: aligned pages of real files have it two bytes further on.
//!
//! The extent at the start of each GAM interval holds the maps themselves: its GAM bit is 0 from the start,
//! and it has no owner. An extent that holds a PFS page only is "free", as in real files: the unit that gets
//! it finds its first page in use already. Bits past the end of the file are 1; the file's size bounds
//! allocation.
//!
//! The two sequences of fixed pages first meet at page 516,855,552; what SQL Server does there is not known,
//! so [`MAX_FILE_PAGES`] is the largest file this engine creates (3.85 TiB).

mod bitmap;
mod create;
mod iam;
mod pfs;
mod places;

pub(crate) use bitmap::set_bits;
pub use bitmap::{Bitmap, add_map_bits, set_map_word};
pub use create::{MapInit, MapKind, SYSTEM_MAPS_UNIT};
pub use iam::{Iam, SINGLE_PAGE_SLOTS};
pub(crate) use pfs::set_pfs;
pub use pfs::{Fullness, Pfs, PfsByte};
pub use places::{
    ExtentRange, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, MAX_FILE_PAGES, PFS_INTERVAL, bcm_page_of,
    dcm_page_of, extent_at_bit, extent_bit, fixed_page_type, fixed_pages, gam_page_of,
    interval_extents, interval_start_of, pfs_index_of, pfs_page_of, sgam_page_of,
};
