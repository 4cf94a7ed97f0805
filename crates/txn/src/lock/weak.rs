//! Weak locks of objects, noted by their owners so that they do not all meet under one latch.
//!
//! Every row operation locks its table in an intent mode, and nearly always no other lock conflicts. In the
//! lock table all these requests would come to one shard, to be granted and given back: readers of one table
//! that have nothing else in common would queue for its latch. So an owner notes such a lock itself, under a
//! latch of its own. (After the fast path for weak relation locks of PostgreSQL.)
//!
//! # Protocol
//! `Sch-S`, `IS`, `IU` and `IX` of an object are *weak*: any two of them go together, and joined they are
//! weak. Every other mode of an object is *strong*. [`Strong`](super::notes::Strong) counts, by hash of the
//! object, the strong requests that are under way, the strong locks that are held, and nothing else.
//!
//! - A weak request latches its owner's [`Notes`](super::notes::Notes), reads the count, and notes the lock
//!   if the count is 0. Otherwise it goes to the shard like any other.
//! - A strong request raises the count, latches the shard, and before its request there, *gathers*: it
//!   latches the notes of each owner in turn, its own too, and adds a granted request to the shard for each
//!   note of the object. The note is replaced by the number of that request, for the owner.
//! - The count is lowered when the strong lock is no longer in the shard, neither granted nor waiting: after
//!   it was released or weakened, or after its request failed. A [`Stake`] is one such count.
//! - An owner that releases or strengthens a lock that it had noted takes its notes' latch. If it finds the
//!   note, it removes or changes it in place. If it finds the number of a request, it does the rest in the
//!   shard.
//!
//! # Why it is right
//! **No strong request overlooks a weak lock.** Both latch the weak owner's notes, one of them first. If the
//! strong request is first, it had raised the count before, and the weak request, which latches later, sees
//! it raised. If the weak request is first, its note is there when the strong request looks. An owner that is
//! not on the list yet when the strong request goes through it is added later, under the list's latch, and
//! sees the count as well.
//!
//! **While a shard has a strong mode of an object, granted or waiting, no owner has noted the object.** There
//! was no note when the strong request came: it gathered before, in the same hold of the shard's latch. There
//! is no new note before the count is lowered. Therefore an owner that waits for an object, or is waited for,
//! finds all its holders in the shard: queues, grants and the search for deadlocks do not read notes. Giving
//! back a note wakes no owner, because none waits.
//!
//! **A lock is in one place.** Notes are moved under the latch of the shard and that of the notes, and only
//! that way, never back. An owner that has latched the shard and finds no note finds the request there.
//!
//! **What a lock protects is visible to the next owner of the lock.** A strong holder lowers the count with
//! release order, and an owner that notes a lock has read it with acquire order. In the other direction both
//! latch the notes.
//!
//! # The test of readers for each page
//! A scan at READ COMMITTED need not test the rows of a page one by one when no other owner has an intent to
//! write in the table. So it tests whether S would be granted ([`super::LockManager::is_unwritten`]). It does
//! so for each page, and this test must not gather. Of the weak modes only IX conflicts with S. So
//! [`Writers`](super::notes::Writers) counts, by hash of the object, the notes of IX. The count is raised in
//! the same hold of the notes' latch that adds the note. It is lowered once the note is gone, or once its
//! request is in the shard, while the shard is latched. If the shard is latched, the count is 0, and nothing
//! in the shard conflicts, then no other owner has uncommitted changes of rows of the page:
//!
//! An owner that changes a row of the page notes IX first, latches the page EX and releases it, before the
//! reader latches it. So the reader finds the count raised, unless it was lowered since. If it was lowered
//! because the note was moved, the shard has the request: moving needs its latch. If it was lowered because
//! the lock was given back, then the change is committed, or undone; a reader that finds the count lowered
//! (acquire) sees what came before (release).
//!
//! A count above 0 is taken for a *no*. If it comes from an IX of another object with the same hash, the
//! reader tests each row, and the result is the same. The reader's own note is moved to the shard first.
//!
//! **A reader that found none need not look again until one has come.** [`Writers`](super::notes::Writers)
//! also counts each lock that conflicts with S as it comes: a note under the latch of its notes, a request
//! that a shard has granted before its owner learns of it. A reader keeps the count that it read before it
//! looked and found no writer. While the count stays, no lock has been granted since that its owner knows of;
//! so nothing was changed under one in a page whose latch the reader takes later.
//!
//! # Limits
//! An owner notes at most [`NOTES`] locks; more go to the shards. Notes do not count against the lock table's
//! limit, and are moved to the shards even if the table is full: then the strong request is refused, not
//! they. Objects whose hashes share a count only slow each other down.

use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::MutexGuard;
use furrow_io::sync::atomic::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use super::core::OwnerCore;
use super::held::{Grant, Held};
use super::mode::LockMode;
use super::notes::{NOTES, Note, Stake, Standing, is_weak};
use super::resource::Resource;
use super::shard::Shard;
use super::table::Table;
use super::wait::Request;

#[cfg(test)]
mod checked;

/// A lock that was noted at some moment.
pub(super) struct Seen {
    pub(super) shard: usize,
    hash: u64,
    pub(super) resource: Resource,
    pub(super) owner: Arc<OwnerCore>,
}

impl Seen {
    /// The mode in which it is noted now. If there is none while the shard is latched, the lock is in the
    /// shard or was released.
    pub(super) fn mode(&self) -> Option<LockMode> {
        self.owner.notes.lock().mode(self.hash, &self.resource)
    }
}

impl Table {
    /// The number of a held lock's request in its shard, which is latched. A noted lock is moved to the
    /// shard.
    pub(super) fn settle(&self, core: &OwnerCore, shard: &mut Shard, held: &mut Held) -> u32 {
        let request = match held.grant {
            Grant::Request(request) => request,
            Grant::Noted => {
                let standing = core.notes.lock().take(held.hash, &held.resource);
                debug_assert!(standing.is_some(), "a noted lock is among the notes");
                match standing {
                    Some(Standing::Moved(request)) => request,
                    _ => {
                        let request = shard.admit(held.hash, &held.resource, core.id, held.mode);
                        self.writers.lower(held.hash, held.mode);
                        request
                    }
                }
            }
        };
        held.grant = Grant::Request(request);
        request
    }

    /// Grants a weak request by a note, if there is no strong request or lock of the object.
    #[inline]
    pub(super) fn note(&self, core: &OwnerCore, wanted: &Request) -> bool {
        let &Request { hash, resource, .. } = wanted;
        if !is_weak(&resource, wanted.mode) {
            return false;
        }
        let mut notes = core.notes.lock();
        // Read under the latch: a strong request that raised the count takes this latch later, or had it
        // before.
        if self.strong.0.of(hash).load(Ordering::Acquire) != 0 || notes.list.len() >= NOTES {
            return false;
        }
        debug_assert!(
            notes.find(hash, &resource).is_none(),
            "a lock is noted once"
        );
        notes.asked += 1;
        notes.list.push(Note {
            resource,
            hash,
            standing: Standing::Noted(wanted.mode),
        });
        self.writers.raise(hash, wanted.mode);
        true
    }

    /// Strengthens a lock that is noted, if it was not moved meanwhile and stays weak.
    pub(super) fn note_new_mode(&self, core: &OwnerCore, held: &Held, mode: LockMode) -> bool {
        if held.grant != Grant::Noted || !is_weak(&held.resource, mode) {
            return false;
        }
        let mut notes = core.notes.lock();
        let Some(at) = notes.find(held.hash, &held.resource) else {
            return false;
        };
        // A strong request that has not gathered this note yet will find the stronger mode.
        let standing = &mut notes.list[at].standing;
        let Standing::Noted(before) = *standing else {
            return false;
        };
        debug_assert!(mode.covers(before), "a conversion weakens nothing");
        *standing = Standing::Noted(mode);
        notes.asked += 1;
        self.writers.raise(held.hash, mode);
        self.writers.lower(held.hash, before);
        true
    }

    /// Gives back a lock that was noted. Returns the number of its request if it was moved to a shard.
    #[inline]
    pub(super) fn unnote(&self, core: &OwnerCore, held: &Held) -> Option<u32> {
        if let Grant::Request(request) = held.grant {
            return Some(request);
        }
        let standing = core.notes.lock().take(held.hash, &held.resource);
        debug_assert!(standing.is_some(), "a noted lock is among the notes");
        match standing {
            Some(Standing::Moved(request)) => Some(request),
            _ => {
                self.writers.lower(held.hash, held.mode);
                None
            }
        }
    }

    /// Latches the shard of a resource. For a strong request it gathers what owners have noted.
    #[inline]
    pub(super) fn shard_for(
        &self,
        stake: &Stake<'_>,
        hash: u64,
        resource: &Resource,
    ) -> MutexGuard<'_, Shard> {
        let mut shard = self.shard(self.shard_of(hash));
        if stake.0.is_some() && !mutated(Mutation::ForgetNotes) {
            self.gather(&mut shard, hash, resource);
        }
        shard
    }

    /// Moves all notes of a resource to its shard.
    #[cold]
    fn gather(&self, shard: &mut Shard, hash: u64, resource: &Resource) {
        self.for_each_owner(|core| {
            let mut notes = core.notes.lock();
            let Some(at) = notes.find(hash, resource) else {
                return;
            };
            let standing = &mut notes.list[at].standing;
            if let Standing::Noted(mode) = *standing {
                *standing = Standing::Moved(shard.admit(hash, resource, core.id, mode));
                self.writers.lower(hash, mode);
            }
        });
    }

    /// The locks that are noted at present, in the order of shards. The list is exact only for locks that are
    /// held throughout; a caller latches a shard afterwards and reads each mode again.
    pub(super) fn noted(&self) -> Vec<Seen> {
        let mut all = Vec::new();
        self.for_each_owner(|owner| {
            let notes = owner.notes.lock();
            all.extend(notes.noted().map(|(hash, resource)| Seen {
                shard: self.shard_of(hash),
                hash,
                resource,
                owner: Arc::clone(owner),
            }));
        });
        all.sort_by_key(|seen| (seen.shard, seen.resource));
        all
    }

    /// How many locks are noted, and of how many resources that the shards, which are all latched, do not
    /// have.
    pub(super) fn count_notes(&self, shards: &[MutexGuard<'_, Shard>]) -> (u64, u64) {
        let mut resources = HashSet::new();
        let mut locks = 0;
        self.for_each_owner(|owner| {
            for (hash, resource) in owner.notes.lock().noted() {
                locks += 1;
                if !shards[self.shard_of(hash)].has(hash, &resource) {
                    resources.insert(resource);
                }
            }
        });
        (locks, resources.len() as u64)
    }
}
