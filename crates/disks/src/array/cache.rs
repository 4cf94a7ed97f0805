//! The controller's caches.

use super::Request;
use std::collections::{HashMap, VecDeque};

/// The unit that the read cache holds.
const BLOCK_BYTES: u64 = 8192;
/// Destages under way, for each drive.
const DESTAGES_A_DRIVE: u32 = 16;

/// Blocks that were read or written last: first in, first out, with a second chance for what was hit.
#[derive(Debug, Clone)]
pub(super) struct ReadCache {
    capacity: usize,
    /// Whether a block was hit since it was last passed by.
    blocks: HashMap<u64, bool>,
    order: VecDeque<u64>,
}

impl ReadCache {
    pub(super) fn new(bytes: u64) -> ReadCache {
        ReadCache {
            capacity: usize::try_from(bytes / BLOCK_BYTES).unwrap_or(usize::MAX),
            blocks: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn range(offset: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
        offset / BLOCK_BYTES..=(offset + bytes.max(1) - 1) / BLOCK_BYTES
    }

    pub(super) fn holds(&mut self, offset: u64, bytes: u64) -> bool {
        if self.capacity == 0 {
            return false;
        }
        let all = ReadCache::range(offset, bytes).all(|block| self.blocks.contains_key(&block));
        if all {
            for block in ReadCache::range(offset, bytes) {
                self.blocks.insert(block, true);
            }
        }
        all
    }

    pub(super) fn put(&mut self, offset: u64, bytes: u64) {
        if self.capacity == 0 || bytes == 0 {
            return;
        }
        for block in ReadCache::range(offset, bytes) {
            if self.blocks.contains_key(&block) {
                continue;
            }
            while self.blocks.len() >= self.capacity {
                let Some(oldest) = self.order.pop_front() else {
                    break;
                };
                if self.blocks.get(&oldest) == Some(&true) {
                    self.blocks.insert(oldest, false);
                    self.order.push_back(oldest);
                } else {
                    self.blocks.remove(&oldest);
                }
            }
            self.blocks.insert(block, false);
            self.order.push_back(block);
        }
    }
}

/// A write-back cache that a battery keeps.
///
/// Invariant: `used` is the bytes that wait for a destage plus those being destaged.
#[derive(Debug, Clone)]
pub(super) struct WriteBack {
    capacity: u64,
    used: u64,
    dirty: VecDeque<Request>,
    destaging: u32,
    destages_max: u32,
    /// Slots of writes that wait for space, oldest first.
    waiting: VecDeque<u32>,
}

impl WriteBack {
    pub(super) fn new(capacity: u64, drives: u32) -> WriteBack {
        WriteBack {
            capacity,
            used: 0,
            dirty: VecDeque::new(),
            destaging: 0,
            destages_max: drives * DESTAGES_A_DRIVE,
            waiting: VecDeque::new(),
        }
    }

    /// Takes space for a write, unless older ones wait. A write larger than the cache takes all of it.
    pub(super) fn admit(&mut self, bytes: u64) -> bool {
        if !self.waiting.is_empty() || !self.has_space(bytes) {
            return false;
        }
        self.used += bytes;
        true
    }

    fn has_space(&self, bytes: u64) -> bool {
        self.used == 0 || self.used + bytes <= self.capacity
    }

    pub(super) fn wait(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// Admits the oldest waiting write, if it has space now.
    pub(super) fn admit_waiting(&mut self, bytes_of: impl Fn(u32) -> u64) -> Option<u32> {
        let slot = *self.waiting.front()?;
        let bytes = bytes_of(slot);
        if !self.has_space(bytes) {
            return None;
        }
        self.waiting.pop_front();
        self.used += bytes;
        Some(slot)
    }

    pub(super) fn put(&mut self, request: Request) {
        self.dirty.push_back(request);
    }

    pub(super) fn next_destage(&mut self) -> Option<Request> {
        if self.destaging >= self.destages_max {
            return None;
        }
        let next = self.dirty.pop_front()?;
        self.destaging += 1;
        Some(next)
    }

    pub(super) fn end_destage(&mut self, bytes: u64) {
        debug_assert!(
            self.destaging > 0 && self.used >= bytes,
            "a destage of nothing"
        );
        self.destaging -= 1;
        self.used -= bytes;
    }
}
