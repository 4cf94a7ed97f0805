//! Allocation units in memory.
//!
//! What a unit owns is written in its IAM pages, and which pages of it are in use in PFS. In memory a unit
//! keeps the extents in which pages are to be had, so that the usual allocation looks at no map at all:
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
mod scan;

pub(crate) use cache::{Cache, ScanPlace};
pub(crate) use chain::{Chain, IamPage};
pub(crate) use inbox::{Event, Inbox};
pub(crate) use scan::SeenExtent;

use crate::filegroup::Filegroup;
use crate::heap::Rooms;
use furrow_format::{AllocUnitId, PageId};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_observe::latches::{ClassLatch, ExclusiveGuard, LatchClass};
use std::sync::Arc;

/// An allocation unit: one rowset's extents of one kind.
#[derive(Debug)]
pub struct Unit {
    id: AllocUnitId,
    first_iam: PageId,
    pub(crate) filegroup: Arc<Filegroup>,
    pub(crate) cache: ClassLatch<Cache>,
    pub(crate) inbox: Mutex<Inbox>,
    pub(crate) chain: ClassLatch<Chain>,
    pub(crate) rooms: Mutex<Rooms>,
    /// How often pages or extents came or went.
    changes: AtomicU64,
    /// Whether it is known to be past its first pages: it gets extents.
    pub(crate) grown: AtomicBool,
}

impl Unit {
    /// A unit just made: all it owns is known.
    pub(crate) fn fresh(id: AllocUnitId, filegroup: Arc<Filegroup>, chain: Chain) -> Unit {
        let first_iam = chain.first();
        Unit {
            id,
            first_iam,
            filegroup,
            cache: ClassLatch::new(LatchClass::AllocExtentCache, Cache::complete()),
            inbox: Mutex::new(Inbox::default()),
            chain: ClassLatch::new(LatchClass::AllocExtentCache, chain),
            rooms: Mutex::new(Rooms::complete()),
            changes: AtomicU64::new(0),
            grown: AtomicBool::new(false),
        }
    }

    /// A unit that is in the maps already.
    pub(crate) fn existing(id: AllocUnitId, filegroup: Arc<Filegroup>, first_iam: PageId) -> Unit {
        Unit {
            id,
            first_iam,
            filegroup,
            cache: ClassLatch::new(LatchClass::AllocExtentCache, Cache::unknown()),
            inbox: Mutex::new(Inbox::default()),
            chain: ClassLatch::new(LatchClass::AllocExtentCache, Chain::unread(first_iam)),
            rooms: Mutex::new(Rooms::unknown()),
            changes: AtomicU64::new(0),
            grown: AtomicBool::new(false),
        }
    }

    /// Its id, as in page headers.
    pub fn id(&self) -> AllocUnitId {
        self.id
    }

    /// Number of its filegroup.
    pub fn filegroup(&self) -> u16 {
        self.filegroup.id
    }

    /// Its first IAM page: what the catalog keeps.
    pub fn first_iam(&self) -> PageId {
        self.first_iam
    }

    /// A number that is another one after pages or extents came or went: what was counted before is old then.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Pages or extents came or went, and the maps say so.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The cache with everything in it that has happened.
    pub(crate) fn open_cache(&self) -> ExclusiveGuard<'_, Cache> {
        let mut cache = self.cache.exclusive();
        cache.read(&mut self.inbox.lock());
        cache
    }
}
