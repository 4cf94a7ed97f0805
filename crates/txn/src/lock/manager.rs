//! The lock manager: requests, releases, and the table they work on.

use furrow_io::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use furrow_format::ObjectId;
use furrow_io::sync::{Mutex, MutexGuard, RwLock};

use super::deadlock::{DeadlockReport, Pace};
use super::error::{Granted, LockError, Timeout};
use super::held::{Grant, Held, HeldTable};
use super::mode::LockMode;
use super::owner::{LockOwner, OwnerCore};
use super::owners::Owners;
use super::resource::Resource;
use super::shard::{Asked, Shard, Wakes};
use super::wait::Request;
use super::weak::{Strong, Writers, writes};

/// How the lock manager is set up.
#[derive(Debug, Clone, Copy)]
pub struct LockConfig {
    /// Parts of the lock table with a latch each; rounded up to a power of two.
    pub shards: usize,
    /// Locks of all owners together; more are refused with error 1204. Kept within about one part in
    /// `shards`, because each shard has its share.
    pub max_locks: usize,
    /// Whether a waiter looks for a deadlock as its wait begins, if that can have closed a cycle.
    pub look_at_once: bool,
    /// A waiter looks for a deadlock after this time, then after twice as long, and so on.
    pub first_probe: Duration,
    /// The longest time between two looks.
    pub longest_probe: Duration,
}

impl Default for LockConfig {
    fn default() -> LockConfig {
        LockConfig {
            shards: 64,
            max_locks: 20_000_000,
            look_at_once: true,
            first_probe: Duration::from_millis(20),
            longest_probe: Duration::from_secs(5),
        }
    }
}

pub(super) type DeadlockHook = Box<dyn Fn(&DeadlockReport) + Send + Sync>;

/// Keeps the latches of neighbouring shards off each other's cache lines.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

/// What the manager and its owners share.
pub(super) struct Table {
    shards: Box<[Padded]>,
    shift: u32,
    pub(super) strong: Strong,
    pub(super) writers: Writers,
    pub(super) owners: RwLock<Owners>,
    begins: AtomicU64,
    pub(super) config: LockConfig,
    pub(super) on_deadlock: DeadlockHook,
    pub(super) pace: Mutex<Pace>,
    pub(super) waits: AtomicU64,
    pub(super) timeouts: AtomicU64,
    pub(super) deadlocks: AtomicU64,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The lock manager of an instance. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct LockManager {
    pub(super) table: Arc<Table>,
}

impl Table {
    pub(super) fn shard_of(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize & (self.shards.len() - 1)
    }

    pub(super) fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        self.shards[number].0.lock()
    }

    /// Latches all shards, in order.
    pub(super) fn all_shards(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(|padded| padded.0.lock()).collect()
    }

    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    pub(super) fn next_begin(&self) -> u64 {
        self.begins.fetch_add(1, Ordering::Relaxed) + 1
    }

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
    }

    /// Asks for a lock on a resource that the owner doesn't hold.
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
        let request = match shard.acquire(*hash, resource, owner.core.id, wanted.mode) {
            Asked::Granted(request) => request,
            Asked::Full => return Err(LockError::OutOfLocks),
            Asked::Blocked(head) => {
                let granted = self.block(owner, shard, head, wanted, timeout)?;
                // A wait that isn't instant always ends with a request.
                granted.ok_or(LockError::Cancelled)?
            }
        };
        stake.keep();
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
        if target == held.mode {
            return Ok(Granted::Held);
        }
        if !self.note_anew(&owner.core, &held, target) {
            let Held { hash, resource, .. } = held;
            let stake = self.strong.stake(hash, &resource, Some(held.mode), target);
            let mut shard = self.shard_for(&stake, hash, &resource);
            let request = self.settle(&owner.core, &mut shard, locks.get_mut(at));
            if let Err(head) = shard.convert(request, target) {
                let wanted = Request {
                    hash,
                    resource,
                    mode: target,
                    converts: Some(request),
                    instant: false,
                };
                self.block(owner, shard, head, &wanted, timeout)?;
            }
            stake.keep();
        }
        locks.get_mut(at).mode = target;
        Ok(Granted::Converted)
    }
}

pub(super) fn wake(wakes: Wakes) {
    for core in wakes {
        core.wake();
    }
}

impl Default for LockManager {
    fn default() -> LockManager {
        LockManager::new(LockConfig::default(), |_| {})
    }
}

impl LockManager {
    /// A lock manager; `on_deadlock` is told of each deadlock once it is resolved, with no latch held.
    pub fn new(
        config: LockConfig,
        on_deadlock: impl Fn(&DeadlockReport) + Send + Sync + 'static,
    ) -> LockManager {
        let count = config.shards.clamp(1, 1 << 16).next_power_of_two();
        let limit = config.max_locks.div_ceil(count);
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

    /// Locks `resource` as `model` is locked by the same owner, without waiting; `false` when somebody is in
    /// the way, or `model` isn't held. It goes when `model` would go: a rollback to a savepoint between
    /// the two keeps both. For a page that takes over rows of another one.
    pub fn lock_like(&self, owner: &LockOwner, model: &Resource, resource: Resource) -> bool {
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(model.hash(), model) else {
            return false;
        };
        let model = locks.entries()[at];
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

    /// Whether a request would be granted right now. Never waits and leaves no trace: for readers that hold
    /// a page latch. When it says no, release the latch and use [`LockManager::lock_instant`].
    pub fn try_instant(&self, owner: &LockOwner, resource: Resource, mode: LockMode) -> bool {
        let hash = resource.hash();
        let own = self.own_mode(owner, hash, &resource);
        if own.is_some_and(|own| own.covers(mode)) {
            return true;
        }
        let stake = self.table.strong.stake(hash, &resource, own, mode);
        let shard = self.table.shard_for(&stake, hash, &resource);
        shard.probe(hash, &resource, own, mode).is_ok()
    }

    /// Whether nobody else has an intent to write in an object, so that S would be granted right now.
    /// Cheaper than [`LockManager::try_instant`], for readers that ask at each page with its latch held;
    /// now and then it says no where nobody writes.
    pub fn is_unwritten(&self, owner: &LockOwner, object: Resource) -> bool {
        let hash = object.hash();
        let mut locks = owner.locks.lock();
        let at = locks.find(hash, &object);
        let own = at.map(|at| locks.entries()[at].mode);
        if own.is_some_and(|own| own.covers(LockMode::S)) {
            return true;
        }
        let mut shard = self.table.shard(self.table.shard_of(hash));
        if let (Some(at), Some(true)) = (at, own.map(writes)) {
            // Else it would be taken for somebody else's.
            self.table
                .settle(&owner.core, &mut shard, locks.get_mut(at));
        }
        !self.table.writers.any(hash) && shard.probe(hash, &object, own, LockMode::S).is_ok()
    }

    /// Waits until a request could be granted; the owner doesn't hold it then.
    pub fn lock_instant(
        &self,
        owner: &LockOwner,
        resource: Resource,
        mode: LockMode,
        timeout: Timeout,
    ) -> Result<(), LockError> {
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
        shard.downgrade(request, mode, &mut wakes);
        drop(shard);
        self.table.strong.end(held, Some(mode));
        held.mode = mode;
        wake(wakes);
        true
    }

    /// Lets a lock outlive its transaction, until it is unlocked, [`LockManager::release_session`] or the
    /// owner's end. `false` when it isn't held.
    pub fn keep_for_session(&self, owner: &LockOwner, resource: &Resource) -> bool {
        let mut locks = owner.locks.lock();
        let Some(at) = locks.find(resource.hash(), resource) else {
            return false;
        };
        locks.get_mut(at).session = true;
        true
    }

    /// Ends a transaction: releases all locks but those kept for the session.
    pub fn release_all(&self, owner: &LockOwner) {
        let mut locks = owner.locks.lock();
        let release = |held| self.table.release_one(&owner.core, &held);
        if locks.entries().iter().any(|held| held.session) {
            locks.remove_where(|held| !held.session, release);
        } else {
            locks.clear(release);
        }
    }

    /// Ends a session: releases what was kept for it.
    pub fn release_session(&self, owner: &LockOwner) {
        self.table.release_where(owner, |held| held.session);
    }

    /// A mark for [`LockManager::release_to`].
    pub fn mark(&self, owner: &LockOwner) -> u64 {
        owner.locks.lock().next_sequence()
    }

    /// Rolls back to a savepoint: releases the transaction's locks acquired since `mark`. Conversions stay.
    pub fn release_to(&self, owner: &LockOwner, mark: u64) {
        self.table
            .release_where(owner, |held| held.sequence >= mark && !held.session);
    }

    /// What `owner` holds, in no promised order.
    pub fn held_by(&self, owner: &LockOwner) -> Vec<(Resource, LockMode)> {
        owner
            .locks
            .lock()
            .entries()
            .iter()
            .map(|held| (held.resource, held.mode))
            .collect()
    }
}
