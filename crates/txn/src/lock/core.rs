//! The part of an owner that other owners see: its wait, its transaction, its notes.

use furrow_io::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use furrow_format::TxnId;
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::time::{Moment, WallTime};
use furrow_observe::task;

use super::isolation::Isolation;
use super::leave::Leave;
use super::notes::Notes;
use super::report::DeadlockReport;

/// How a wait ended. The thread that ended it sets this under the latch of the shard.
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
    pub(super) txn: AtomicU64,
    /// Grows with each transaction begun: the youngest has the highest.
    pub(super) begun: AtomicU64,
    /// When its transaction began, in microseconds of wall time; 0 until [`OwnerCore::note_started`].
    pub(super) started_us: AtomicI64,
    pub(super) priority: AtomicI32,
    pub(super) log_used: AtomicU64,
    pub(super) isolation: AtomicU8,
    pub(super) cancelled: AtomicBool,
    pub(super) rolling_back: AtomicBool,
    /// `shard << 32 | head`, plus one; 0 while it doesn't wait. Written under the shard's latch.
    pub(super) place: AtomicU64,
    pub(super) outcome: Mutex<Option<Outcome>>,
    pub(super) signal: Condvar,
    /// Locks that the lock table does not have.
    pub(super) notes: Mutex<Notes>,
    /// The end of its transaction, and the ends that it follows.
    pub(super) leave: Leave,
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
            leave: Leave::default(),
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

    /// Sets the time at which the transaction began to the present time, unless it is set.
    pub(super) fn note_started(&self) {
        if self.started_us.load(Ordering::Relaxed) == 0 {
            let now = WallTime::now().unix_us();
            self.started_us.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn rolling_back(&self) -> bool {
        self.rolling_back.load(Ordering::Relaxed)
    }

    /// Whether a wait of this thread must end for a KILL or an attention. A rollback can't be stopped.
    ///
    /// The mark of the thread's task counts, too: a cancellation that comes before the statement begins its
    /// transaction marks this owner, and [`LockOwner::begin`](super::LockOwner::begin) clears that mark.
    pub(super) fn must_stop(&self) -> bool {
        let is_cancelled = self.cancelled.load(Ordering::Acquire) || task::is_cancelled();
        is_cancelled && !self.rolling_back()
    }

    pub(super) fn place(&self) -> Option<Place> {
        let word = self.place.load(Ordering::Acquire).checked_sub(1)?;
        Some(Place {
            shard: (word >> 32) as u32,
            head: word as u32,
        })
    }

    pub(super) fn set_place(&self, place: Option<Place>) {
        debug_assert!(
            place.is_none() || self.place().is_none(),
            "an owner waits in one place"
        );
        let word = place.map_or(0, |p| (u64::from(p.shard) << 32 | u64::from(p.head)) + 1);
        self.place.store(word, Ordering::Release);
    }

    /// Ends the wait. The caller has taken the request off its queue, under the shard's latch, and calls
    /// [`OwnerCore::wake`] after it.
    pub(super) fn end_wait(&self, outcome: Outcome) {
        self.set_place(None);
        let before = self.outcome.lock().replace(outcome);
        debug_assert!(before.is_none(), "a wait ends once");
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

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        // The waiter looks at the flag and falls asleep in one hold of this lock.
        drop(self.outcome.lock());
        self.signal.notify_one();
    }
}
