//! What owners note of weak locks, and the counts of strong requests and of notes in the way of S. The
//! protocol is in `weak`.

use furrow_io::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use smallvec::SmallVec;

use super::held::Held;
use super::mode::LockMode;
use super::resource::Resource;

/// Locks that an owner notes at most; they are searched one by one.
pub(super) const NOTES: usize = 16;

/// Notes for which a new owner has memory.
const FIRST_NOTES: usize = 4;

/// Counts of strong requests and locks, a power of two.
pub(super) const COUNTS: usize = 1024;

/// The modes of which any two go together, as bits.
const WEAK: u32 =
    LockMode::SchS.bit() | LockMode::IS.bit() | LockMode::IU.bit() | LockMode::IX.bit();

/// Whether a lock may be noted.
pub(super) const fn is_weak(resource: &Resource, mode: LockMode) -> bool {
    matches!(resource, Resource::Object(..)) && mode.bit() & WEAK != 0
}

/// Whether no owner may note a lock of the object beside this one.
pub(super) const fn is_strong(resource: &Resource, mode: LockMode) -> bool {
    matches!(resource, Resource::Object(..)) && mode.bit() & WEAK == 0
}

/// Whether a noted lock conflicts with a reader of the whole object (S).
pub(super) const fn writes(mode: LockMode) -> bool {
    !LockMode::S.compatible(mode)
}

/// Counts by hash of an object.
#[derive(Debug)]
pub(super) struct Counts(pub(super) Box<[AtomicU32]>);

impl Default for Counts {
    fn default() -> Counts {
        Counts((0..COUNTS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Counts {
    pub(super) fn of(&self, hash: u64) -> &AtomicU32 {
        &self.0[hash as usize & (COUNTS - 1)]
    }
}

/// How many strong requests and locks there are, by hash of the object.
#[derive(Debug, Default)]
pub(super) struct Strong(pub(super) Counts);

/// Locks that conflict with S, by hash of the object: how many of them are notes (the low half of a count),
/// and how many have come since the start, in notes and in shards (the high half, which wraps around).
#[derive(Debug)]
pub(super) struct Writers(pub(super) Box<[AtomicU64]>);

/// One that came.
const CAME: u64 = 1 << 32;

impl Default for Writers {
    fn default() -> Writers {
        Writers((0..COUNTS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Writers {
    fn of(&self, hash: u64) -> &AtomicU64 {
        &self.0[hash as usize & (COUNTS - 1)]
    }

    /// Counts a note of this mode. The caller holds the latch of the notes.
    #[inline]
    pub(super) fn raise(&self, hash: u64, mode: LockMode) {
        if writes(mode) {
            // Relaxed is enough: the latch of the first page that is changed under the lock orders it.
            self.of(hash).fetch_add(CAME + 1, Ordering::Relaxed);
        }
    }

    /// Counts a lock of this mode that a shard has granted, before its owner learns of it.
    #[inline]
    pub(super) fn came(&self, hash: u64, resource: &Resource, mode: LockMode) {
        if writes(mode) && matches!(resource, Resource::Object(..)) {
            self.of(hash).fetch_add(CAME, Ordering::Relaxed);
        }
    }

    /// A note of this mode was removed.
    #[inline]
    pub(super) fn lower(&self, hash: u64, mode: LockMode) {
        if writes(mode) {
            let before = self.of(hash).fetch_sub(1, Ordering::Release);
            debug_assert!(notes(before) > 0, "a note is counted when it is made");
        }
    }

    /// Whether there is any note; the shard of the object is latched.
    pub(super) fn any(&self, hash: u64) -> bool {
        notes(self.of(hash).load(Ordering::Acquire)) != 0
    }

    /// How many came.
    #[inline]
    pub(super) fn arrivals(&self, hash: u64) -> u32 {
        (self.of(hash).load(Ordering::Acquire) >> 32) as u32
    }
}

/// The notes of a count.
pub(super) fn notes(count: u64) -> u32 {
    count as u32
}

/// One strong request, counted until this is dropped. For a mode that is not strong it counts nothing.
#[must_use]
pub(super) struct Stake<'a>(pub(super) Option<&'a AtomicU32>);

impl Strong {
    /// Counts a request for `mode` by an owner that holds `before`, if it is the first strong one of the two.
    #[inline]
    pub(super) fn stake(
        &self,
        hash: u64,
        resource: &Resource,
        before: Option<LockMode>,
        mode: LockMode,
    ) -> Stake<'_> {
        if !is_strong(resource, mode) || before.is_some_and(|before| is_strong(resource, before)) {
            return Stake(None);
        }
        let count = self.0.of(hash);
        // Relaxed is enough: the latch of each owner's notes, taken later, orders it.
        count.fetch_add(1, Ordering::Relaxed);
        Stake(Some(count))
    }

    /// A held lock was weakened to mode `after`, or released; the shard has recorded it.
    #[inline]
    pub(super) fn end(&self, held: &Held, after: Option<LockMode>) {
        let stays = after.is_some_and(|after| is_strong(&held.resource, after));
        if is_strong(&held.resource, held.mode) && !stays {
            drop(Stake(Some(self.0.of(held.hash))));
        }
    }
}

impl Stake<'_> {
    /// The request was granted: it counts until [`Strong::end`].
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Stake<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            // An owner that notes a lock because the count is 0 sees what was done under the strong lock.
            let before = count.fetch_sub(1, Ordering::Release);
            debug_assert!(before > 0, "a strong request is counted when it begins");
        }
    }
}

/// A lock that an owner has noted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note {
    pub(super) resource: Resource,
    pub(super) hash: u64,
    pub(super) standing: Standing,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Standing {
    /// Held in this mode; the shard has no request for it.
    Noted(LockMode),
    /// In the shard, as the request of this number; the owner's table does not have the number yet.
    Moved(u32),
}

/// What one owner has noted.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) list: SmallVec<[Note; FIRST_NOTES]>,
    pub(super) asked: u64,
}

impl Notes {
    /// Locks and conversions that were granted here.
    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    pub(super) fn find(&self, hash: u64, resource: &Resource) -> Option<usize> {
        let is_it = |note: &Note| note.hash == hash && note.resource == *resource;
        self.list.iter().position(is_it)
    }

    pub(super) fn take(&mut self, hash: u64, resource: &Resource) -> Option<Standing> {
        let at = self.find(hash, resource)?;
        Some(self.list.swap_remove(at).standing)
    }

    /// The mode in which a resource is held, if the shard has no request for it.
    pub(super) fn mode(&self, hash: u64, resource: &Resource) -> Option<LockMode> {
        let at = self.find(hash, resource)?;
        match self.list[at].standing {
            Standing::Noted(mode) => Some(mode),
            Standing::Moved(_) => None,
        }
    }

    /// Locks held that the shards do not have.
    pub(super) fn noted(&self) -> impl Iterator<Item = (u64, Resource)> {
        let noted = |note: &&Note| matches!(note.standing, Standing::Noted(_));
        self.list
            .iter()
            .filter(noted)
            .map(|note| (note.hash, note.resource))
    }
}
