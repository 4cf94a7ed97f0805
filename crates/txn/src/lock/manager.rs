//! The lock manager: requests, releases, and the table they work on.

use std::ops::Range;
use std::sync::Arc;

use furrow_format::ObjectId;
use furrow_io::sync::atomic::AtomicU64;
use furrow_io::sync::{Mutex, RwLock};

use super::core::OwnerCore;
use super::error::{Granted, LockError};
use super::held::{Grant, Held, HeldTable};
use super::mode::LockMode;
use super::notes::{Strong, Writers, writes};
use super::owner::LockOwner;
use super::owners::Owners;
use super::report::DeadlockReport;
use super::resource::Resource;
use super::shard::{Asked, Shard, Wakes, wake};
use super::table::{LockConfig, Padded, Table};
use super::timeout::Timeout;
use super::wait::Request;

/// The lock manager of an instance. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct LockManager {
    pub(super) table: Arc<Table>,
}

impl Table {
    fn release_one(&self, core: &OwnerCore, held: &Held) {
        let Some(request) = self.unnote(core, held) else {
            return;
        };
        let mut wakes = Wakes::new();
        self.shard(self.shard_of(held.hash))
            .release(request, &mut wakes);
        self.strong.end(held, None);
        wake(wakes);
    }

    pub(super) fn release_where(&self, owner: &LockOwner, which: impl Fn(&Held) -> bool) {
        owner
            .locks
            .lock()
            .remove_where(which, |held| self.release_one(&owner.core, &held));
    }

    pub(super) fn release_everything(&self, owner: &LockOwner) {
        let mut locks = owner.locks.lock();
        locks.clear(|held| self.release_one(&owner.core, &held));
        owner.core.leave.end();
        debug_assert!(
            locks.entries().is_empty(),
            "an owner that ends holds nothing"
        );
    }

    /// Requests a lock on a resource that the owner doesn't hold.
    #[inline]
    fn acquire(
        &self,
        owner: &LockOwner,
        wanted: &Request,
        timeout: Timeout,
    ) -> Result<Grant, LockError> {
        let Request { hash, resource, .. } = wanted;
        if self.note(&owner.core, wanted) {
            return Ok(Grant::Noted);
        }
        let stake = self.strong.stake(*hash, resource, None, wanted.mode);
        let mut shard = self.shard_for(&stake, *hash, resource);
        let id = owner.core.id;
        shard.asked += 1;
        let mut asked = shard.acquire(*hash, resource, id, wanted.mode);
        if let Asked::Blocked(head) = asked
            && self.mark_leaving(&mut shard, head, id, wanted.mode)
        {
            asked = shard.acquire(*hash, resource, id, wanted.mode);
        }
        let request = match asked {
            Asked::Granted(request) => {
                self.note_grant(&owner.core, &shard, request);
                request
            }
            Asked::Full => return Err(LockError::OutOfLocks),
            Asked::Blocked(head) => {
                let granted = self.block(owner, shard, head, wanted, timeout)?;
                // A wait that isn't instant always ends with a request.
                granted.ok_or(LockError::Cancelled)?
            }
        };
        stake.keep();
        self.writers.came(*hash, resource, wanted.mode);
        Ok(Grant::Request(request))
    }

    /// Strengthens a lock that the owner holds.
    fn convert(
        &self,
        owner: &LockOwner,
        locks: &mut HeldTable,
        at: usize,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<Granted, LockError> {
        let held = locks.entries()[at];
        let target = held.mode.supremum(mode);
        debug_assert!(
            target.covers(held.mode) && target.covers(mode),
            "the mode of a conversion covers both"
        );
        if target == held.mode {
            return Ok(Granted::Held);
        }
        if !self.note_new_mode(&owner.core, &held, target) {
            let Held { hash, resource, .. } = held;
            let stake = self.strong.stake(hash, &resource, Some(held.mode), target);
            let mut shard = self.shard_for(&stake, hash, &resource);
            let request = self.settle(&owner.core, &mut shard, locks.get_mut(at));
            shard.asked += 1;
            let mut refused = shard.convert(request, target).err();
            if let Some(head) = refused
                && self.mark_leaving(&mut shard, head, owner.core.id, target)
            {
                refused = shard.convert(request, target).err();
            }
            if let Some(head) = refused {
                let wanted = Request {
                    hash,
                    resource,
                    mode: target,
                    converts: Some(request),
                    instant: false,
                };
                self.block(owner, shard, head, &wanted, timeout)?;
            } else {
                self.note_grant(&owner.core, &shard, request);
            }
            stake.keep();
            self.writers.came(hash, &resource, target);
        }
        locks.get_mut(at).mode = target;
        Ok(Granted::Converted)
    }
}

/// An object whose writers a reader looks for again and again ([`LockManager::is_unwritten`]).
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    object: Resource,
    hash: u64,
    /// How many writers had come in all before there was none.
    quiet: Option<u32>,
}

impl Watch {
    /// Of a lock of an object.
    pub fn new(object: Resource) -> Watch {
        debug_assert!(
            matches!(object, Resource::Object(..)),
            "only locks of objects are noted"
        );
        Watch {
            object,
            hash: object.hash(),
            quiet: None,
        }
    }
}

impl Default for LockManager {
    fn default() -> LockManager {
        LockManager::new(LockConfig::default(), |_| {})
    }
}

impl LockManager {
    /// A lock manager. `on_deadlock` is called with each deadlock once it is resolved, with no latch held.
    pub fn new(
        config: LockConfig,
        on_deadlock: impl Fn(&DeadlockReport) + Send + Sync + 'static,
    ) -> LockManager {
        let count = config.shards.clamp(1, 1 << 16).next_power_of_two();
        let limit = config.max_locks.div_ceil(count);
        debug_assert!(count.is_power_of_two(), "shards are found by a mask");
        let shards = (0..count as u32)
            .map(|n| Padded(Mutex::new(Shard::new(n, limit))))
            .collect();
        let table = Table {
            shards,
            shift: (64 - count.trailing_zeros()) % 64,
            strong: Strong::default(),
            writers: Writers::default(),
            owners: RwLock::new(Owners::default()),
            begins: AtomicU64::new(0),
            config,
            on_deadlock: Box::new(on_deadlock),
            pace: Mutex::default(),
            waits: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
        };
        LockManager {
            table: Arc::new(table),
        }
    }

    /// A new owner for a session; see [`LockOwner::begin`].
    pub fn owner(&self, session_id: i32) -> LockOwner {
        let core = self.table.add_owner(session_id);
        LockOwner {
            core,
            table: Arc::clone(&self.table),
            locks: Mutex::default(),
        }
    }

    /// Locks `resource` for `owner` in at least `mode`.
    #[inline]
    pub fn lock(
        &self,
        owner: &LockOwner,
        resource: Resource,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<Granted, LockError> {
        self.lock_within(owner, ObjectId(0), resource, mode, timeout)
    }

    /// The same for a row, key or page of `object`: counted, so that escalation can come due.
    pub fn lock_within(
        &self,
        owner: &LockOwner,
        object: ObjectId,
        resource: Resource,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<Granted, LockError> {
        debug_assert!(resource.accepts(mode), "{mode} on {resource}");
        debug_assert!(
            Arc::ptr_eq(&self.table, &owner.table),
            "an owner of another lock manager"
        );
        debug_assert!(
            !owner.core.leave.is_leaving(),
            "an owner that leaves requests nothing"
        );
        let hash = resource.hash();
        let mut locks = owner.locks.lock();
        if let Some(at) = locks.find(hash, &resource) {
            return self.table.convert(owner, &mut locks, at, mode, timeout);
        }
        let wanted = Request {
            hash,
            resource,
            mode,
            converts: None,
            instant: false,
        };
        let grant = self.table.acquire(owner, &wanted, timeout)?;
        locks.push(Held {
            resource,
            hash,
            grant,
            mode,
            session: false,
            object,
            sequence: 0,
        });
        Ok(Granted::New)
    }

    /// The same for a row, key or page, if no lock of another owner is in the way, nor one of an owner that
    /// leaves (see `early`). Never waits and leaves no trace: for callers that hold a page latch. If it
    /// returns `None`, release the latch and use [`LockManager::lock_within`].
    pub fn lock_at_once(
        &self,
        owner: &LockOwner,
        object: ObjectId,
        resource: Resource,
        mode: LockMode,
    ) -> Result<Option<Granted>, LockError> {
        debug_assert!(resource.accepts(mode), "{mode} on {resource}");
        debug_assert!(
            !matches!(resource, Resource::Object(..)),
            "a lock of an object may be a note"
        );
        debug_assert!(
            !owner.core.leave.is_leaving(),
            "an owner that leaves requests nothing"
        );
        let hash = resource.hash();
        let mut locks = owner.locks.lock();
        let at = locks.find(hash, &resource);
        let own = at.map(|at| locks.entries()[at].mode);
        let target = own.map_or(mode, |own| own.supremum(mode));
        if own == Some(target) {
            return Ok(Some(Granted::Held));
        }
        let mut shard = self.table.shard(self.table.shard_of(hash));
        if shard.probe(hash, &resource, own, target).is_err() {
            return Ok(None);
        }
        shard.asked += 1;
        let (request, granted) = if let Some(at) = at {
            let held = locks.get_mut(at);
            let request = self.table.settle(&owner.core, &mut shard, held);
            let converted = shard.convert(request, target);
            debug_assert!(converted.is_ok(), "what is probed as free is granted");
            if converted.is_err() {
                return Ok(None);
            }
            held.mode = target;
            (request, Granted::Converted)
        } else {
            let request = match shard.acquire(hash, &resource, owner.core.id, target) {
                Asked::Granted(request) => request,
                Asked::Full => return Err(LockError::OutOfLocks),
                Asked::Blocked(_) => {
                    debug_assert!(false, "what is probed as free is granted");
                    return Ok(None);
                }
            };
            locks.push(Held {
                resource,
                hash,
                grant: Grant::Request(request),
                mode: target,
                session: false,
                object,
                sequence: 0,
            });
            (request, Granted::New)
        };
        self.table.note_grant(&owner.core, &shard, request);
        Ok(Some(granted))
    }

    /// Locks `resource` as `model` is locked by the same owner, without waiting. `false` when another owner's
    /// lock is in the way, or `model` is not held. The lock is released when `model` would be: a rollback to
    /// a savepoint between the two keeps both. For a page that takes over rows of another one.
    pub fn lock_like(&self, owner: &LockOwner, model: &Resource, resource: Resource) -> bool {
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(model.hash(), model) else {
            return false;
        };
        let model = locks.entries()[at];
        debug_assert!(resource.accepts(model.mode), "a mode of this resource");
        let hash = resource.hash();
        if let Some(at) = locks.find(hash, &resource) {
            let now = Timeout::NoWait;
            let done = self.table.convert(owner, &mut locks, at, model.mode, now);
            let held = locks.get_mut(at);
            held.sequence = held.sequence.min(model.sequence);
            return done.is_ok();
        }
        let wanted = Request {
            hash,
            resource,
            mode: model.mode,
            converts: None,
            instant: false,
        };
        let acquired = self.table.acquire(owner, &wanted, Timeout::NoWait);
        let Ok(grant) = acquired else {
            return false;
        };
        locks.push_as(Held {
            resource,
            hash,
            grant,
            ..model
        });
        true
    }

    /// Whether a request would be granted right now, whatever its mode, if no owner left (see `early`). Never
    /// waits and leaves no trace: for readers that hold a page latch. If it returns `false`, release the
    /// latch and use [`LockManager::lock_instant`].
    pub fn try_instant(&self, owner: &LockOwner, resource: Resource, mode: LockMode) -> bool {
        debug_assert!(resource.accepts(mode), "{mode} on {resource}");
        let hash = resource.hash();
        let own = self.own_mode(owner, hash, &resource);
        if own.is_some_and(|own| own.covers(mode)) {
            return true;
        }
        let stake = self.table.strong.stake(hash, &resource, own, mode);
        let shard = self.table.shard_for(&stake, hash, &resource);
        shard.probe(hash, &resource, own, mode).is_ok()
    }

    /// Whether no other owner has an intent to write in an object, so that S would be granted right now.
    /// Cheaper than [`LockManager::try_instant`], for readers that call it for each page with its latch held.
    /// It may return `false` where no owner writes.
    pub fn is_unwritten(&self, owner: &LockOwner, watch: &mut Watch) -> bool {
        debug_assert!(
            Arc::ptr_eq(&self.table, &owner.table),
            "an owner of another lock manager"
        );
        let arrivals = self.table.writers.arrivals(watch.hash);
        let is_quiet = watch.quiet == Some(arrivals);
        if !is_quiet && self.would_be_granted(owner, watch) {
            watch.quiet = Some(arrivals);
            return true;
        }
        is_quiet
    }

    /// Whether S of the object would be granted, by all notes and its shard.
    fn would_be_granted(&self, owner: &LockOwner, watch: &Watch) -> bool {
        let Watch { object, hash, .. } = *watch;
        debug_assert_eq!(hash, object.hash(), "the hash is the object's");
        let mut locks = owner.locks.lock();
        let at = locks.find(hash, &object);
        let own = at.map(|at| locks.entries()[at].mode);
        if own.is_some_and(|own| own.covers(LockMode::S)) {
            return true;
        }
        let mut shard = self.table.shard(self.table.shard_of(hash));
        if let (Some(at), Some(true)) = (at, own.map(writes)) {
            // A note of this owner would otherwise count as a note of another owner.
            self.table
                .settle(&owner.core, &mut shard, locks.get_mut(at));
        }
        !self.table.writers.any(hash) && shard.probe(hash, &object, own, LockMode::S).is_ok()
    }

    /// Waits until a request could be granted, with no lock of an owner that leaves in its way; the owner
    /// doesn't hold it then.
    pub fn lock_instant(
        &self,
        owner: &LockOwner,
        resource: Resource,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(), LockError> {
        debug_assert!(resource.accepts(mode), "{mode} on {resource}");
        let hash = resource.hash();
        let mut locks = owner.locks.lock();
        let at = locks.find(hash, &resource);
        let own = at.map(|at| locks.entries()[at].mode);
        if own.is_some_and(|own| own.covers(mode)) {
            return Ok(());
        }
        let stake = self.table.strong.stake(hash, &resource, own, mode);
        let mut shard = self.table.shard_for(&stake, hash, &resource);
        shard.asked += 1;
        let Err(head) = shard.probe(hash, &resource, own, mode) else {
            return Ok(());
        };
        let settle = |at| {
            self.table
                .settle(&owner.core, &mut shard, locks.get_mut(at))
        };
        let converts = at.map(settle);
        let wanted = Request {
            hash,
            resource,
            mode,
            converts,
            instant: true,
        };
        self.table
            .block(owner, shard, head, &wanted, timeout)
            .map(|_| ())
    }

    fn own_mode(&self, owner: &LockOwner, hash: u64, resource: &Resource) -> Option<LockMode> {
        let locks = owner.locks.lock();
        locks
            .find(hash, resource)
            .map(|at| locks.entries()[at].mode)
    }

    /// Gives a lock back; `false` when the owner didn't hold it.
    pub fn unlock(&self, owner: &LockOwner, resource: &Resource) -> bool {
        let hash = resource.hash();
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(hash, resource) else {
            return false;
        };
        let held = locks.remove(at);
        self.table.release_one(&owner.core, &held);
        true
    }

    /// Gives a lock back if it was taken between two marks ([`LockManager::mark`]) and is in this mode still.
    pub fn unlock_taken(
        &self,
        owner: &LockOwner,
        resource: &Resource,
        mode: LockMode,
        taken: Range<u64>,
    ) -> bool {
        debug_assert!(taken.start <= taken.end, "marks in their order");
        let mut locks = owner.locks.lock();
        let found = locks.find(resource.hash(), resource);
        let Some(at) = found.filter(|&at| {
            let held = locks.entries()[at];
            held.mode == mode && !held.session && taken.contains(&held.sequence)
        }) else {
            return false;
        };
        let held = locks.remove(at);
        self.table.release_one(&owner.core, &held);
        true
    }

    /// Weakens a lock to `mode`; `false` when it isn't held in a mode that covers `mode`.
    pub fn downgrade(&self, owner: &LockOwner, resource: &Resource, mode: LockMode) -> bool {
        let hash = resource.hash();
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(hash, resource) else {
            return false;
        };
        let held = locks.get_mut(at);
        if !held.mode.covers(mode) {
            return false;
        }
        let mut wakes = Wakes::new();
        let mut shard = self.table.shard(self.table.shard_of(hash));
        let request = self.table.settle(&owner.core, &mut shard, held);
        debug_assert!(resource.accepts(mode), "{mode} on {resource}");
        shard.downgrade(request, mode, &owner.core, &mut wakes);
        drop(shard);
        self.table.strong.end(held, Some(mode));
        held.mode = mode;
        wake(wakes);
        true
    }

    /// Lets a lock outlive its transaction, until it is unlocked, [`LockManager::release_session`] or the
    /// owner's end. `false` when it isn't held.
    #[cfg(test)]
    pub(crate) fn keep_for_session(&self, owner: &LockOwner, resource: &Resource) -> bool {
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(resource.hash(), resource) else {
            return false;
        };
        locks.get_mut(at).session = true;
        true
    }

    /// Ends a transaction: releases all locks but those that the session holds.
    pub fn release_all(&self, owner: &LockOwner) {
        let mut locks = owner.locks.lock();
        let release = |held| self.table.release_one(&owner.core, &held);
        if locks.entries().iter().any(|held| held.session) {
            locks.remove_where(|held| !held.session, release);
        } else {
            locks.clear(release);
        }
        owner.core.leave.end();
        debug_assert!(
            locks.entries().iter().all(|held| held.session),
            "only locks of the session outlive a transaction"
        );
    }

    /// Ends a session: releases the locks that it holds.
    #[cfg(test)]
    pub(crate) fn release_session(&self, owner: &LockOwner) {
        self.table.release_where(owner, |held| held.session);
    }

    /// A mark for [`LockManager::release_to`].
    pub fn mark(&self, owner: &LockOwner) -> u64 {
        owner.locks.lock().next_sequence()
    }

    /// Rolls back to a savepoint: releases the transaction's locks acquired since `mark`. Conversions stay.
    pub(crate) fn release_to(&self, owner: &LockOwner, mark: u64) {
        self.table
            .release_where(owner, |held| held.sequence >= mark && !held.session);
    }

    /// What `owner` holds, in no promised order.
    #[cfg(test)]
    pub(crate) fn held_by(&self, owner: &LockOwner) -> Vec<(Resource, LockMode)> {
        owner
            .locks
            .lock()
            .entries()
            .iter()
            .map(|held| (held.resource, held.mode))
            .collect()
    }
}
