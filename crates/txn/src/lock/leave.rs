//! What an owner publishes about the end of its transaction: the commit record at which it leaves, in which
//! shards other owners wait for its locks, and the commit records of others that it follows. The protocol is
//! in `early`.

use std::sync::{Arc, OnceLock};

use furrow_format::Lsn;
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The bit of a shard among the shards in which an owner is awaited. Shards of more than 64 share bits.
pub(super) const fn bit_of(shard: usize) -> u64 {
    1 << (shard as u32 % u64::BITS)
}

/// A part of an owner that other owners read and write.
#[derive(Debug, Default)]
pub(super) struct Leave {
    /// LSN of its commit record while it leaves; 0 at all other times.
    at: AtomicU64,
    /// The shards where a request that may be granted once this owner leaves may wait for one of its locks,
    /// as bits ([`bit_of`]).
    awaited: AtomicU64,
    /// The last commit record that it follows; 0 for none.
    follows: AtomicU64,
    /// Set as soon as `follows` is: a client's flag, which its sessions share.
    flag: OnceLock<Arc<AtomicBool>>,
}

impl Leave {
    /// The owner leaves: its commit record is at `lsn`. Returns the shards where its locks may be waited for.
    pub(super) fn leave(&self, lsn: Lsn) -> u64 {
        debug_assert!(lsn > Lsn::ZERO, "a commit record has a place");
        let before = self.at.swap(lsn.0, Ordering::SeqCst);
        debug_assert_eq!(before, 0, "an owner leaves once in a transaction");
        // A waiter writes the second before it reads the first: one of the two sees the other.
        self.awaited.load(Ordering::SeqCst)
    }

    /// Whether it leaves.
    pub(super) fn is_leaving(&self) -> bool {
        self.at.load(Ordering::Relaxed) != 0
    }

    /// Called by a request that is about to wait for a lock of this owner, with the shard latched: the place
    /// of the commit record, if the owner leaves. Otherwise it will come to the shard when it leaves.
    pub(super) fn wait_for_leave(&self, shard: usize) -> Option<Lsn> {
        self.note_awaited(shard);
        let at = self.at.load(Ordering::SeqCst);
        (at != 0).then_some(Lsn(at))
    }

    /// Records that requests may wait for a lock of this owner in this shard, which is latched.
    pub(super) fn note_awaited(&self, shard: usize) {
        let bit = bit_of(shard);
        // A bit that is set stays set until the owner has released its locks. Both reads of it are
        // sequentially consistent: if the owner reads it first, this thread reads that the owner leaves.
        if self.awaited.load(Ordering::SeqCst) & bit == 0 {
            self.awaited.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// All locks of the transaction are released.
    pub(super) fn end(&self) {
        // An owner that nothing has waited for writes nothing.
        if self.is_leaving() {
            self.at.store(0, Ordering::Relaxed);
        }
        if self.awaited.load(Ordering::Relaxed) != 0 {
            self.awaited.store(0, Ordering::Relaxed);
        }
        self.settle();
    }

    /// The owner was granted a lock past one of an owner that left at `lsn`.
    pub(super) fn follow(&self, lsn: Lsn) {
        debug_assert!(!self.is_leaving(), "an owner that leaves requests nothing");
        self.follows.fetch_max(lsn.0, Ordering::Relaxed);
        if let Some(flag) = self.flag.get() {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// The last commit record that it follows.
    pub(super) fn followed(&self) -> Option<Lsn> {
        let lsn = self.follows.load(Ordering::Relaxed);
        (lsn != 0).then_some(Lsn(lsn))
    }

    /// What it follows is durable.
    pub(super) fn settle(&self) {
        if self.follows.load(Ordering::Relaxed) != 0 {
            self.follows.store(0, Ordering::Relaxed);
        }
    }

    /// Sets this flag from now on as soon as it follows a commit.
    pub(super) fn set_flag(&self, flag: &Arc<AtomicBool>) {
        let set = self.flag.set(Arc::clone(flag));
        debug_assert!(set.is_ok(), "an owner reports to one client");
    }
}
