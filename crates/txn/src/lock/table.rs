//! What the lock manager and its owners share: the shards, the list of owners, counts and settings.

use furrow_io::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use furrow_io::sync::{Mutex, MutexGuard, RwLock};
use furrow_io::time::Moment;

use super::core::OwnerCore;
use super::notes::{Strong, Writers};
use super::owners::Owners;
use super::report::DeadlockReport;
use super::shard::Shard;

/// When the last search was, and what it cost.
#[derive(Debug, Default)]
pub(super) struct Pace {
    pub(super) began: Moment,
    pub(super) took_ns: u64,
}

/// How the lock manager is set up.
#[derive(Debug, Clone, Copy)]
pub struct LockConfig {
    /// Parts of the lock table with a latch each; rounded up to a power of two.
    pub shards: usize,
    /// Locks of all owners together; more are refused with error 1204. The limit is exact only within about
    /// one part in `shards`, because each shard has its share.
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
pub(super) struct Padded(pub(super) Mutex<Shard>);

/// What the manager and its owners share.
pub(super) struct Table {
    pub(super) shards: Box<[Padded]>,
    pub(super) shift: u32,
    pub(super) strong: Strong,
    pub(super) writers: Writers,
    pub(super) owners: RwLock<Owners>,
    pub(super) begins: AtomicU64,
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

    /// The owner with this number, while it lives.
    pub(super) fn owner(&self, id: u32) -> Option<Arc<OwnerCore>> {
        self.owners.read().slots.get(id as usize).cloned().flatten()
    }

    /// Visits each owner that there is, the list of them latched.
    pub(super) fn for_each_owner(&self, visit: impl FnMut(&Arc<OwnerCore>)) {
        self.owners.read().slots.iter().flatten().for_each(visit);
    }

    /// Locks that owners were granted by their own notes since the start.
    pub(super) fn noted_ever(&self) -> u64 {
        let owners = self.owners.read();
        let live = owners.slots.iter().flatten();
        owners.noted_before + live.map(|core| core.notes.lock().asked()).sum::<u64>()
    }

    /// The owners that wait now; exact while all shards are latched.
    pub(super) fn waiting_owners(&self) -> Vec<Arc<OwnerCore>> {
        let owners = self.owners.read();
        let live = owners.slots.iter().flatten();
        live.filter(|core| core.place().is_some())
            .cloned()
            .collect()
    }

    pub(super) fn add_owner(&self, session_id: i32) -> Arc<OwnerCore> {
        let mut owners = self.owners.write();
        let id = owners.free.pop().unwrap_or(owners.slots.len() as u32);
        let core = Arc::new(OwnerCore::new(id, session_id));
        if id as usize == owners.slots.len() {
            owners.slots.push(None);
        }
        debug_assert!(
            owners.slots[id as usize].is_none(),
            "a number is one owner's"
        );
        owners.slots[id as usize] = Some(Arc::clone(&core));
        core
    }

    pub(super) fn forget_owner(&self, id: u32) {
        let mut owners = self.owners.write();
        let gone = owners.slots[id as usize].take();
        debug_assert!(
            gone.as_ref().is_some_and(|core| core.place().is_none()),
            "an owner ends once, and waits for nothing then"
        );
        if let Some(core) = gone {
            owners.noted_before += core.notes.lock().asked();
        }
        owners.free.push(id);
    }
}
