//! The state of one allocation unit.

use super::cache::Cache;
use super::chain::Chain;
use super::inbox::Inbox;
use super::rooms::Rooms;
use crate::filegroup::Filegroup;
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
    /// A unit just created: everything that it owns is in the cache.
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

    /// Its first IAM page, which the catalog stores.
    pub fn first_iam(&self) -> PageId {
        self.first_iam
    }

    /// A number that changes when pages or extents come or go: counts from before the change are out of date.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Pages or extents came or went, and the maps are changed.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The cache, with all events of the inbox applied.
    pub(crate) fn open_cache(&self) -> ExclusiveGuard<'_, Cache> {
        let mut cache = self.cache.exclusive();
        cache.read(&mut self.inbox.lock());
        cache
    }
}
