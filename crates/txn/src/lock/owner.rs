//! Who holds locks: one owner for a transaction, or one for a session and all its transactions.

use furrow_io::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use furrow_format::TxnId;
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::time::{Moment, WallTime};

use super::deadlock::DeadlockReport;
use super::held::HeldTable;
use super::manager::Table;
use super::mode::LockMode;
use super::resource::Resource;
use super::weak::Notes;

/// Isolation level, as deadlock reports print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Isolation {
    /// Dirty reads.
    ReadUncommitted = 1,
    /// The default.
    #[default]
    ReadCommitted,
    /// Rows once read stay as they are.
    RepeatableRead,
    /// No phantoms either.
    Serializable,
    /// Reads the state at the beginning.
    Snapshot,
}

impl Isolation {
    /// The text in deadlock reports.
    pub const fn text(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted (1)",
            Isolation::ReadCommitted => "read committed (2)",
            Isolation::RepeatableRead => "repeatable read (3)",
            Isolation::Serializable => "serializable (4)",
            Isolation::Snapshot => "snapshot (5)",
        }
    }

    const fn from_u8(level: u8) -> Isolation {
        match level {
            1 => Isolation::ReadUncommitted,
            3 => Isolation::RepeatableRead,
            4 => Isolation::Serializable,
            5 => Isolation::Snapshot,
            _ => Isolation::ReadCommitted,
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// How a wait ended, told by whoever ended it under the latch of the shard.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The request number, and when it was granted. An instant request has none.
    Granted(Option<u32>, Moment),
    Victim(Arc<DeadlockReport>),
}

/// What woke a waiter.
pub(super) enum Woken {
    Ended(Outcome),
    Cancelled,
    SliceOver,
}

/// Where an owner waits: shard and lock head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) shard: u32,
    pub(super) head: u32,
}

/// The part of an owner that others see: grants, detection, views, KILL.
#[derive(Debug)]
pub(super) struct OwnerCore {
    pub(super) id: u32,
    pub(super) session_id: i32,
    txn: AtomicU64,
    /// Grows with each transaction begun: the youngest has the highest.
    begun: AtomicU64,
    /// When its transaction began, in microseconds of wall time; 0 while nobody has asked the clock.
    started_us: AtomicI64,
    priority: AtomicI32,
    log_used: AtomicU64,
    isolation: AtomicU8,
    cancelled: AtomicBool,
    rolling_back: AtomicBool,
    /// `shard << 32 | head`, plus one; 0 while it doesn't wait. Written under the shard's latch.
    place: AtomicU64,
    outcome: Mutex<Option<Outcome>>,
    signal: Condvar,
    /// Locks that the lock table does not have.
    pub(super) notes: Mutex<Notes>,
}

impl OwnerCore {
    pub(super) fn new(id: u32, session_id: i32) -> OwnerCore {
        OwnerCore {
            id,
            session_id,
            txn: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            started_us: AtomicI64::new(0),
            priority: AtomicI32::new(0),
            log_used: AtomicU64::new(0),
            isolation: AtomicU8::new(Isolation::ReadCommitted as u8),
            cancelled: AtomicBool::new(false),
            rolling_back: AtomicBool::new(false),
            place: AtomicU64::new(0),
            outcome: Mutex::new(None),
            signal: Condvar::new(),
            notes: Mutex::default(),
        }
    }

    pub(super) fn txn(&self) -> TxnId {
        TxnId(self.txn.load(Ordering::Relaxed))
    }

    pub(super) fn isolation(&self) -> Isolation {
        Isolation::from_u8(self.isolation.load(Ordering::Relaxed))
    }

    pub(super) fn priority(&self) -> i32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(super) fn log_used(&self) -> u64 {
        self.log_used.load(Ordering::Relaxed)
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// When its transaction began, or when that waited first.
    pub(super) fn started(&self) -> WallTime {
        WallTime::from_unix_us(self.started_us.load(Ordering::Relaxed))
    }

    /// Asks the clock when the transaction began, unless that is known.
    pub(super) fn note_started(&self) {
        if self.started_us.load(Ordering::Relaxed) == 0 {
            let now = WallTime::now().unix_us();
            self.started_us.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn rolling_back(&self) -> bool {
        self.rolling_back.load(Ordering::Relaxed)
    }

    /// Whether a wait must end for a KILL or an attention. A rollback can't be stopped.
    pub(super) fn must_stop(&self) -> bool {
        self.cancelled.load(Ordering::Acquire) && !self.rolling_back()
    }

    pub(super) fn place(&self) -> Option<Place> {
        let word = self.place.load(Ordering::Acquire).checked_sub(1)?;
        Some(Place {
            shard: (word >> 32) as u32,
            head: word as u32,
        })
    }

    pub(super) fn set_place(&self, place: Option<Place>) {
        let word = place.map_or(0, |p| (u64::from(p.shard) << 32 | u64::from(p.head)) + 1);
        self.place.store(word, Ordering::Release);
    }

    /// Ends the wait. The caller has taken the request off its queue, under the shard's latch, and calls
    /// [`OwnerCore::wake`] after it.
    pub(super) fn end_wait(&self, outcome: Outcome) {
        self.set_place(None);
        *self.outcome.lock() = Some(outcome);
    }

    pub(super) fn wake(&self) {
        self.signal.notify_one();
    }

    pub(super) fn take_outcome(&self) -> Option<Outcome> {
        self.outcome.lock().take()
    }

    /// Sleeps until the wait ends, the owner is cancelled, or `slice` is over.
    pub(super) fn sleep(&self, slice: Duration) -> Woken {
        let until = Moment::now().after(slice);
        let mut outcome = self.outcome.lock();
        loop {
            if let Some(ended) = outcome.take() {
                return Woken::Ended(ended);
            }
            if self.must_stop() {
                return Woken::Cancelled;
            }
            let left = until.since(Moment::now());
            if left.is_zero() {
                return Woken::SliceOver;
            }
            self.signal.wait_for(&mut outcome, left);
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        // The waiter looks at the flag and falls asleep in one hold of this lock.
        drop(self.outcome.lock());
        self.signal.notify_one();
    }
}

/// Stops an owner's waits from elsewhere: KILL, or the client's attention.
#[derive(Debug, Clone)]
pub struct Canceller {
    core: Arc<OwnerCore>,
}

impl Canceller {
    /// Ends the present wait, and each later one, with [`super::LockError::Cancelled`], until
    /// [`LockOwner::rearm`], [`LockOwner::begin`] or [`LockOwner::start_rollback`].
    pub fn cancel(&self) {
        self.core.cancel();
    }
}

/// A holder of locks. Dropping it releases what it still holds.
///
/// One thread at a time works for an owner: a second one that asks meanwhile waits for the first.
#[derive(Debug)]
pub struct LockOwner {
    pub(super) core: Arc<OwnerCore>,
    pub(super) table: Arc<Table>,
    pub(super) locks: Mutex<HeldTable>,
}

impl LockOwner {
    /// The session it works for.
    pub fn session_id(&self) -> i32 {
        self.core.session_id
    }

    /// The transaction it works for; 0 before the first.
    pub fn txn(&self) -> TxnId {
        self.core.txn()
    }

    /// Starts the next transaction of the same session: no log used, not cancelled, youngest of all.
    pub fn begin(&self, txn: TxnId, isolation: Isolation) {
        let core = &self.core;
        core.txn.store(txn.0, Ordering::Relaxed);
        core.begun.store(self.table.next_begin(), Ordering::Relaxed);
        core.log_used.store(0, Ordering::Relaxed);
        core.started_us.store(0, Ordering::Relaxed);
        core.isolation.store(isolation as u8, Ordering::Relaxed);
        core.rolling_back.store(false, Ordering::Relaxed);
        self.rearm();
    }

    /// Notes that the transaction begins now, for reports. Without it they show when it waited first:
    /// the clock is dear for a transaction of one row.
    pub fn note_started(&self) {
        self.core.note_started();
    }

    /// Changes the isolation level that reports show.
    pub fn set_isolation(&self, isolation: Isolation) {
        self.core
            .isolation
            .store(isolation as u8, Ordering::Relaxed);
    }

    /// SET DEADLOCK_PRIORITY: -10 to 10, LOW is -5, HIGH is 5.
    pub fn set_deadlock_priority(&self, priority: i32) {
        self.core
            .priority
            .store(priority.clamp(-10, 10), Ordering::Relaxed);
    }

    /// Adds to the log that undoing this transaction would have to read.
    pub fn add_log_used(&self, bytes: u64) {
        self.core.log_used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of log used so far.
    pub fn log_used(&self) -> u64 {
        self.core.log_used()
    }

    /// A statement begins: escalation counts the fine locks taken from now on.
    pub fn begin_statement(&self) {
        self.locks.lock().begin_statement();
    }

    /// A handle to stop this owner's waits from elsewhere.
    pub fn canceller(&self) -> Canceller {
        Canceller {
            core: Arc::clone(&self.core),
        }
    }

    /// Forgets a cancellation.
    pub fn rearm(&self) {
        self.core.cancelled.store(false, Ordering::Release);
    }

    /// From now on its waits can't be cancelled, and others are chosen as deadlock victims before it.
    pub fn start_rollback(&self) {
        self.core.rolling_back.store(true, Ordering::Relaxed);
    }

    /// The mode in which it holds `resource`.
    pub fn held(&self, resource: &Resource) -> Option<LockMode> {
        let locks = self.locks.lock();
        let at = locks.find(resource.hash(), resource)?;
        Some(locks.entries()[at].mode)
    }

    /// Number of locks it holds.
    pub fn lock_count(&self) -> usize {
        self.locks.lock().entries().len()
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.table.release_everything(self);
        self.table.forget_owner(self.core.id);
    }
}
