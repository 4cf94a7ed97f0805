//! Where in memory a page is: a hash table of chains through the frames.
//!
//! Readers take no lock. They walk the chain of the key's bucket and may be led astray when the frame they
//! are at moves to another chain; then they find a wrong frame (the caller checks the key after latching) or
//! nothing. So a find is a hint, and a miss is confirmed under the bucket's mutex before the page is read
//! from the disk. Changes are made under that mutex.

use crate::frame::{Frame, NIL};
use crate::key::PageKey;
use crate::memory;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU32, Ordering};

/// Mutexes over the buckets; more than threads that miss at once.
const STRIPES: usize = 256;
/// Longest walk without a lock; chains are about one long.
const MAX_WALK: usize = 32;

#[derive(Debug)]
#[repr(align(64))]
struct Stripe(Mutex<()>);

/// The page table of a pool.
#[derive(Debug)]
pub(crate) struct PageTable {
    heads: Box<[AtomicU32]>,
    stripes: Box<[Stripe]>,
    shift: u32,
}

impl PageTable {
    /// A table for `frames` frames.
    pub(crate) fn new(frames: usize) -> PageTable {
        let buckets = (frames * 2).next_power_of_two().max(2);
        debug_assert!(
            buckets >= frames && buckets.is_power_of_two(),
            "buckets are found by a shift"
        );
        PageTable {
            heads: (0..buckets).map(|_| AtomicU32::new(NIL)).collect(),
            stripes: (0..STRIPES).map(|_| Stripe(Mutex::new(()))).collect(),
            shift: 64 - buckets.trailing_zeros(),
        }
    }

    #[inline]
    fn bucket(&self, key: PageKey) -> usize {
        // Multiplicative hashing by 2^64 / golden ratio: neighbours land far apart, high bits are best.
        (key.pack().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    fn stripe(&self, bucket: usize) -> &Mutex<()> {
        &self.stripes[bucket % STRIPES].0
    }

    /// The frame that seems to hold `key`.
    #[inline]
    pub(crate) fn find(&self, key: PageKey, frames: &[Frame]) -> Option<u32> {
        let mut at = self.heads[self.bucket(key)].load(Ordering::Acquire);
        for _ in 0..MAX_WALK {
            let frame = frames.get(at as usize)?;
            if frame.holds(key) {
                return Some(at);
            }
            at = frame.next.load(Ordering::Acquire);
        }
        None
    }

    /// Brings the first frame of a key's chain into the processor's cache.
    #[inline]
    pub(crate) fn bring_near(&self, key: PageKey, frames: &[Frame]) {
        let at = self.heads[self.bucket(key)].load(Ordering::Relaxed);
        if let Some(frame) = frames.get(at as usize) {
            memory::ask_for_line(frame);
        }
    }

    fn find_locked(&self, bucket: usize, key: PageKey, frames: &[Frame]) -> Option<u32> {
        let mut at = self.heads[bucket].load(Ordering::Acquire);
        while let Some(frame) = frames.get(at as usize) {
            if frame.holds(key) {
                return Some(at);
            }
            at = frame.next.load(Ordering::Acquire);
        }
        None
    }

    /// The frame that holds `key`, for certain.
    pub(crate) fn find_surely(&self, key: PageKey, frames: &[Frame]) -> Option<u32> {
        let bucket = self.bucket(key);
        let _lock = self.stripe(bucket).lock();
        self.find_locked(bucket, key, frames)
    }

    /// Enters frame `index`, whose key is set and whose latch the caller holds EX; the frame that already
    /// holds the key if there is one.
    pub(crate) fn insert(&self, key: PageKey, index: u32, frames: &[Frame]) -> Result<(), u32> {
        let bucket = self.bucket(key);
        let _lock = self.stripe(bucket).lock();
        if let Some(other) = self.find_locked(bucket, key, frames) {
            return Err(other);
        }
        let head = self.heads[bucket].load(Ordering::Relaxed);
        frames[index as usize].next.store(head, Ordering::Release);
        self.heads[bucket].store(index, Ordering::Release);
        Ok(())
    }

    /// Takes frame `index` out; the caller holds its latch EX and clears its key afterwards.
    pub(crate) fn remove(&self, key: PageKey, index: u32, frames: &[Frame]) {
        let bucket = self.bucket(key);
        let _lock = self.stripe(bucket).lock();
        let mut link = &self.heads[bucket];
        while let Some(frame) = frames.get(link.load(Ordering::Relaxed) as usize) {
            if link.load(Ordering::Relaxed) == index {
                link.store(frame.next.load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            link = &frame.next;
        }
        debug_assert!(false, "page {key} was not in the page table");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::{DatabaseId, PageId};

    fn key(page: u32) -> PageKey {
        PageKey::new(DatabaseId(5), PageId::new(1, page))
    }

    #[test]
    fn pages_are_found_until_removed_and_entered_once() {
        let frames: Vec<Frame> = (0..64).map(|_| Frame::new()).collect();
        let table = PageTable::new(8);
        for index in 0..64 {
            frames[index as usize].set_key(Some(key(index)));
            table.insert(key(index), index, &frames).unwrap();
        }
        assert_eq!(table.insert(key(7), 3, &frames), Err(7));
        for index in (0..64).step_by(2) {
            table.remove(key(index), index, &frames);
            frames[index as usize].set_key(None);
        }
        for index in 0..64 {
            let expected = (index % 2 == 1).then_some(index);
            assert_eq!(table.find(key(index), &frames), expected);
            assert_eq!(table.find_surely(key(index), &frames), expected);
        }
    }
}
