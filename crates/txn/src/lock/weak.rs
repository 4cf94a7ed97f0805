//! Weak locks of objects, noted by their owners so that they do not all meet under one latch.
//!
//! Every row operation locks its table in an intent mode, and nearly always nobody is in the way. In the lock
//! table all these requests would come to one shard, to be granted and given back: readers of one table
//! that have nothing else in common would queue for its latch. So an owner notes such a lock itself,
//! under a latch that is its own. (After the fast path for weak relation locks of PostgreSQL.)
//!
//! # Protocol
//! `Sch-S`, `IS`, `IU` and `IX` of an object are *weak*: any two of them go together, and joined they are
//! weak. Every other mode of an object is *strong*. [`Strong`](super::notes::Strong) counts, by hash of the
//! object, the strong requests that are under way, the strong locks that are held, and nothing else.
//!
//! - A weak request latches its owner's [`Notes`](super::notes::Notes), reads the count, and notes the lock
//!   if the count is 0. Otherwise it goes to the shard like any other.
//! - A strong request raises the count, latches the shard, and before it asks there, *gathers*: it latches
//!   the notes of each owner in turn, its own too, and makes a granted request in the shard of each note of
//!   the object. Where the note was, the number of that request stays behind for the owner.
//! - The count is lowered when the strong lock is no longer in the shard, neither granted nor waiting: after
//!   it was released or weakened, or after its request failed. A [`Stake`] is one such count.
//! - Whoever releases or strengthens a lock that it had noted looks under its latch: the note is there, and
//!   it is removed or changed in place; or the number of the request is, and the shard does the rest.
//!
//! # Why it is right
//! **No strong request overlooks a weak lock.** Both latch the weak owner's notes, one of them first. If that
//! is the strong one, it had raised the count before, and the weak one, who latches later, sees it raised. If
//! that is the weak one, its note is there when the strong one looks. An owner that is not on the list yet
//! when the strong one goes through it gets on it later, under the list's latch, and sees the count as well.
//!
//! **While a shard has a strong mode of an object, granted or waiting, nobody has noted it.** There was no
//! note when it came: it gathered before, in the same hold of the shard's latch; nor is there a new one
//! before the count is lowered. Therefore whoever waits for an object, or is waited for, finds all its
//! holders in the shard: queues, grants and the search for deadlocks need not know of notes. And giving
//! back a note wakes nobody, for nobody waits.
//!
//! **A lock is in one place.** Notes are moved under the latch of the shard and that of the notes, and only
//! that way, never back. Who has latched the shard and finds no note finds the request there.
//!
//! **What a lock protects is seen by who gets it next.** A strong holder lowers the count with release order,
//! and who notes a lock has read it with acquire order; the other way round both latch the notes.
//!
//! # What readers ask for each page
//! A scan at READ COMMITTED need not look at the rows of a page one by one when nobody else has an intent
//! to write in the table: it asks whether S would be granted ([`super::LockManager::is_unwritten`]). That is
//! asked for each page, and must not gather. Of the weak modes only IX stands in the way of S. So
//! [`Writers`](super::notes::Writers) counts, by hash of the object, the notes of IX: raised in the same hold
//! of the notes' latch that makes one, lowered once it is gone, or is in the shard, while that is latched.
//! With the shard latched, a count of 0 and nothing in the shard that stands in the way, nobody has changed a
//! row of the page without having committed:
//!
//! Whoever changes a row of the page notes IX first, latches the page EX and lets it go, before the reader
//! latches it. So the reader finds the count raised, unless it was lowered since. If that was because the
//! note was moved, the shard has it: moving needs its latch. If it was given back, then the change is
//! committed, or undone; who finds the count lowered (acquire) finds what came before (release).
//!
//! A count above 0 is taken for a *no*: that of somebody's IX of another object with the same hash costs a
//! look at each row, no more. The reader's own note is moved to the shard first.
//!
//! # Limits
//! An owner notes at most [`NOTES`] locks; more go to the shards. Notes do not count against the lock table's
//! limit, and are moved there though it may be full: the strong request is refused then, not they.
//! Objects whose hashes share a count slow each other down, no more.

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
    /// The mode in which it is noted now. While its shard is latched, who gets none finds it there, or it is
    /// gone.
    pub(super) fn mode(&self) -> Option<LockMode> {
        self.owner.notes.lock().mode(self.hash, &self.resource)
    }
}

impl Table {
    /// The number of a held lock's request in its shard, which is latched. What was noted is there from now
    /// on.
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

    /// Grants a weak request by a note, if it is one and nobody strong is about.
    #[inline]
    pub(super) fn note(&self, core: &OwnerCore, wanted: &Request) -> bool {
        let &Request { hash, resource, .. } = wanted;
        if !is_weak(&resource, wanted.mode) {
            return false;
        }
        let mut notes = core.notes.lock();
        // Read under the latch: whoever raised it before has this latch yet to come, or had it before.
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
    pub(super) fn note_anew(&self, core: &OwnerCore, held: &Held, mode: LockMode) -> bool {
        if held.grant != Grant::Noted || !is_weak(&held.resource, mode) {
            return false;
        }
        let mut notes = core.notes.lock();
        let Some(at) = notes.find(held.hash, &held.resource) else {
            return false;
        };
        // A strong request that has not come here yet will find the stronger mode.
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

    /// Gives a lock back that was noted. The number of its request, if it is one of a shard.
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

    /// What is noted at present, in the order of shards: those that are held throughout, and others. For who
    /// latches a shard afterwards and asks each again.
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

    /// How many locks are noted, and of how many resources that the shards do not have; these are all
    /// latched.
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
