//! What one owner holds: a list in order of acquisition, an index over it once it is long, and the
//! number of fine locks for each object.

use furrow_format::ObjectId;

use super::mode::LockMode;
use super::resource::Resource;

/// Fine locks on one object at which escalation is tried first.
const THRESHOLD: u32 = 5_000;
/// Lists up to this length are searched without an index.
const SHORT: usize = 8;
/// An empty list gives memory back when it has grown past this capacity.
const KEEP_CAPACITY: usize = 4096;
/// Mark of a free place in the index; the others are positions plus one.
const FREE: u32 = 0;

/// Where a granted lock is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// In its shard, as the request of this number.
    Request(u32),
    /// Among the owner's notes. Once the lock was moved to a shard, the note has the number of its request:
    /// see `weak`.
    Noted,
}

/// A lock that is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) resource: Resource,
    pub(super) hash: u64,
    pub(super) grant: Grant,
    pub(super) mode: LockMode,
    /// Outlives the transaction.
    pub(super) session: bool,
    /// The object whose fine locks count it; 0 when it isn't counted.
    pub(super) object: ObjectId,
    /// Grows with each acquisition.
    pub(super) sequence: u64,
}

/// Fine locks of one object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    pub(super) object: ObjectId,
    pub(super) count: u32,
    /// Escalation is tried when `count` gets here.
    pub(super) attempt_at: u32,
}

/// The locks of one owner.
#[derive(Debug, Default)]
pub(super) struct HeldTable {
    entries: Vec<Held>,
    /// Open addressing with linear probing; empty while the list is short, else a power of two.
    index: Vec<u32>,
    tallies: Vec<Tally>,
    next_sequence: u64,
}

impl HeldTable {
    pub(super) fn entries(&self) -> &[Held] {
        &self.entries
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut Held {
        &mut self.entries[at]
    }

    /// The acquisition that comes next.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    pub(super) fn find(&self, hash: u64, resource: &Resource) -> Option<usize> {
        if self.index.is_empty() {
            return self
                .entries
                .iter()
                .position(|e| e.hash == hash && e.resource == *resource);
        }
        let mask = self.index.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.index[slot] {
                FREE => return None,
                found => {
                    let at = found as usize - 1;
                    if self.entries[at].hash == hash && self.entries[at].resource == *resource {
                        return Some(at);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a lock that isn't in the table; its sequence is set here.
    pub(super) fn push(&mut self, held: Held) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.push_as(Held { sequence, ..held });
    }

    /// The same with the sequence it has.
    pub(super) fn push_as(&mut self, held: Held) {
        debug_assert!(
            self.find(held.hash, &held.resource).is_none(),
            "a lock is listed once"
        );
        debug_assert!(held.sequence < self.next_sequence, "sequences grow");
        if held.object.0 != 0 {
            self.tally(held.object).count += 1;
        }
        self.entries.push(held);
        if self.entries.len() > SHORT || !self.index.is_empty() {
            if self.entries.len() * 2 > self.index.len() {
                self.rebuild_index();
            } else {
                self.insert_index(self.entries.len() - 1);
            }
        }
    }

    /// Takes out the entry at `at`; the last one takes its place.
    pub(super) fn remove(&mut self, at: usize) -> Held {
        debug_assert!(at < self.entries.len(), "a lock that is listed");
        let last = self.entries.len() - 1;
        if !self.index.is_empty() {
            let hole = self.slot_of(at);
            self.close_hole(hole);
            if at != last {
                let moved = self.slot_of(last);
                self.index[moved] = at as u32 + 1;
            }
        }
        let held = self.entries.swap_remove(at);
        self.uncount(held.object);
        debug_assert!(
            self.find(held.hash, &held.resource).is_none(),
            "a lock that was taken out is not found"
        );
        if self.entries.is_empty() {
            self.reset();
        }
        held
    }

    /// Takes out every entry that `which` accepts, in no promised order, giving each to `each`.
    pub(super) fn remove_where(
        &mut self,
        which: impl Fn(&Held) -> bool,
        mut each: impl FnMut(Held),
    ) {
        let mut at = self.entries.len();
        while at > 0 {
            at -= 1;
            if which(&self.entries[at]) {
                each(self.remove(at));
            }
        }
        debug_assert!(
            !self.entries.iter().any(&which),
            "every lock that is meant is taken out"
        );
    }

    /// Takes out everything, giving each to `each`. Much cheaper than one by one.
    pub(super) fn clear(&mut self, each: impl FnMut(Held)) {
        self.entries.drain(..).for_each(each);
        self.tallies.clear();
        self.reset();
    }

    pub(super) fn tally(&mut self, object: ObjectId) -> &mut Tally {
        let found = self.tallies.iter().position(|tally| tally.object == object);
        let at = found.unwrap_or_else(|| {
            let attempt_at = THRESHOLD;
            self.tallies.push(Tally {
                object,
                count: 0,
                attempt_at,
            });
            self.tallies.len() - 1
        });
        &mut self.tallies[at]
    }

    /// Counts fine locks from here.
    pub(super) fn begin_statement(&mut self) {
        for tally in &mut self.tallies {
            debug_assert!(
                tally.count as usize <= self.entries.len(),
                "each lock counts once"
            );
            tally.attempt_at = tally.count + THRESHOLD;
        }
    }

    fn uncount(&mut self, object: ObjectId) {
        if object.0 != 0 {
            let tally = self.tally(object);
            debug_assert!(
                tally.count > 0,
                "a lock is counted when it is granted and when it is released"
            );
            tally.count = tally.count.saturating_sub(1);
        }
    }

    fn reset(&mut self) {
        if self.index.len() > KEEP_CAPACITY {
            self.index = Vec::new();
            self.entries = Vec::new();
        } else {
            self.index.clear();
        }
    }

    fn rebuild_index(&mut self) {
        let size = (self.entries.len() * 4).next_power_of_two();
        self.index.clear();
        self.index.resize(size, FREE);
        debug_assert!(size >= 2 * self.entries.len(), "half of the index is free");
        for at in 0..self.entries.len() {
            self.insert_index(at);
        }
    }

    fn insert_index(&mut self, at: usize) {
        debug_assert!(
            self.index.len().is_power_of_two(),
            "slots are found by a mask"
        );
        debug_assert!(
            self.entries.len() < self.index.len(),
            "a probe ends at a free place"
        );
        let mask = self.index.len() - 1;
        let mut slot = self.entries[at].hash as usize & mask;
        while self.index[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.index[slot] = at as u32 + 1;
    }

    fn slot_of(&self, at: usize) -> usize {
        let mask = self.index.len() - 1;
        let mut slot = self.entries[at].hash as usize & mask;
        while self.index[slot] != at as u32 + 1 {
            debug_assert_ne!(self.index[slot], FREE, "a listed lock is in the index");
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Frees a place of the index and moves back what was pushed past it.
    fn close_hole(&mut self, mut hole: usize) {
        debug_assert_ne!(self.index[hole], FREE, "a place that is taken");
        let mask = self.index.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let found = self.index[slot];
            if found == FREE {
                break;
            }
            let home = self.entries[found as usize - 1].hash as usize & mask;
            // It may move back when its home doesn't lie between the hole and itself.
            if (slot.wrapping_sub(home) & mask) >= (slot.wrapping_sub(hole) & mask) {
                self.index[hole] = found;
                hole = slot;
            }
        }
        self.index[hole] = FREE;
    }
}
