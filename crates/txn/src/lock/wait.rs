//! Waiting for a lock: the slow path.

use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use std::time::Duration;

use furrow_io::sync::MutexGuard;
use furrow_io::time::Moment;
use furrow_observe::counters::Counter;
use furrow_observe::task;
use furrow_observe::waits::WaitType;

use super::core::{Outcome, Place, Woken};
use super::error::LockError;
use super::mode::{LockMode, MODE_COUNT};
use super::owner::LockOwner;
use super::resource::Resource;
use super::shard::{Shard, Waiter, Wakes, wake};
use super::table::Table;
use super::timeout::Timeout;

/// The wait type of each mode, in the modes' order.
const WAIT_TYPES: [WaitType; MODE_COUNT] = [
    WaitType::LckMSchS,
    WaitType::LckMSchM,
    WaitType::LckMS,
    WaitType::LckMU,
    WaitType::LckMX,
    WaitType::LckMIs,
    WaitType::LckMIu,
    WaitType::LckMIx,
    WaitType::LckMSiu,
    WaitType::LckMSix,
    WaitType::LckMUix,
    WaitType::LckMBu,
    WaitType::LckMRsS,
    WaitType::LckMRsU,
    WaitType::LckMRinNl,
    WaitType::LckMRinS,
    WaitType::LckMRinU,
    WaitType::LckMRinX,
    WaitType::LckMRxS,
    WaitType::LckMRxU,
    WaitType::LckMRxX,
];

/// The wait that a blocked request for `mode` is charged to.
pub(super) fn wait_type(mode: LockMode) -> WaitType {
    WAIT_TYPES[mode as usize]
}

/// A request on its way through the slow path.
pub(super) struct Request {
    pub(super) hash: u64,
    pub(super) resource: Resource,
    /// The mode to be held in the end.
    pub(super) mode: LockMode,
    /// The granted request that it strengthens.
    pub(super) converts: Option<u32>,
    pub(super) instant: bool,
}

/// A batch that has waited so long for a lock makes space for another: the holder may be idle.
const MAKES_ROOM: Duration = Duration::from_millis(2);

/// Adds to a counter of the current task's instance.
pub(super) fn count(counter: Counter, amount: u64) {
    task::current().instruments().counters.add(counter, amount);
}

impl Table {
    /// Queues a request that was refused at `head` and waits for its end. Returns the number of the granted
    /// request, none for an instant one.
    pub(super) fn block(
        &self,
        owner: &LockOwner,
        mut shard: MutexGuard<'_, Shard>,
        head: u32,
        wanted: &Request,
        timeout: Timeout,
    ) -> Result<Option<u32>, LockError> {
        let core = &owner.core;
        let blockers = shard.blockers(head, core.id, wanted.mode);
        debug_assert!(core.place().is_none(), "an owner waits for one lock");
        let blocking_session = blockers
            .first()
            .and_then(|seen| self.owner(seen.owner))
            .map(|core| core.session_id);
        if timeout == Timeout::NoWait {
            drop(shard);
            return Err(self.timed_out(wanted, blocking_session));
        }
        if core.must_stop() {
            return Err(LockError::Cancelled);
        }
        furrow_pool::assert_no_latches();
        let waiter = Waiter {
            core: core.clone(),
            target: wanted.mode,
            request: wanted.converts,
            instant: wanted.instant,
            since: Moment::now(),
            timeout,
        };
        core.note_started();
        let place = Place {
            shard: self.shard_of(wanted.hash) as u32,
            head,
        };
        shard.enqueue(head, waiter);
        drop(shard);
        self.waits.fetch_add(1, Ordering::Relaxed);
        count(Counter::LockWaits, 1);

        let charge = task::wait(
            wait_type(wanted.mode),
            task::Resource::lock(wanted.resource),
        );
        if let Some(session_id) = blocking_session {
            charge.blocked_by(session_id);
        }
        let ended = self.wait_for_end(owner, place, timeout);
        debug_assert!(core.place().is_none(), "a wait that has ended has no place");
        let waited_us = match &ended {
            Ended::By(Outcome::Granted(_, at)) => charge.finish_signalled(*at),
            _ => charge.finish(),
        };
        count(Counter::LockWaitTime, waited_us);
        match ended {
            Ended::By(Outcome::Granted(request, _)) => Ok(request),
            Ended::By(Outcome::Victim(report)) => {
                count(Counter::Deadlocks, 1);
                let session_id = core.session_id;
                Err(LockError::Deadlock { session_id, report })
            }
            Ended::Cancelled => Err(LockError::Cancelled),
            Ended::TimedOut => Err(self.timed_out(wanted, blocking_session)),
        }
    }

    fn timed_out(&self, wanted: &Request, blocking_session: Option<i32>) -> LockError {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        count(Counter::LockTimeouts, 1);
        LockError::Timeout {
            resource: wanted.resource,
            mode: wanted.mode,
            blocking_session,
        }
    }

    fn wait_for_end(&self, owner: &LockOwner, place: Place, timeout: Timeout) -> Ended {
        let core = &owner.core;
        let since = Moment::now();
        let deadline = match timeout {
            Timeout::Millis(millis) => Some(since.after(Duration::from_millis(u64::from(millis)))),
            Timeout::Forever | Timeout::NoWait => None,
        };
        let blind = mutated(Mutation::MissDeadlock);
        if self.config.look_at_once && !blind && self.may_close_cycle(core) {
            self.resolve_at_once(core);
        }
        let mut probe = self.config.first_probe;
        let mut next_probe = since.after(probe);
        let mut makes_room = task::has_turn().then(|| since.after(MAKES_ROOM));
        loop {
            let until = deadline.map_or(next_probe, |deadline| deadline.min(next_probe));
            let until = makes_room.map_or(until, |at| until.min(at));
            let ending = match core.sleep(until.since(Moment::now())) {
                Woken::Ended(outcome) => return Ended::By(outcome),
                Woken::Cancelled => Some(Ended::Cancelled),
                Woken::SliceOver if deadline.is_some_and(|d| d <= Moment::now()) => {
                    Some(Ended::TimedOut)
                }
                Woken::SliceOver => None,
            };
            if let Some(ending) = ending {
                return self.withdraw(owner, place).map_or(ending, Ended::By);
            }
            if makes_room.take_if(|at| *at <= Moment::now()).is_some() {
                task::end_turn();
            }
            if Moment::now() < next_probe {
                continue;
            }
            if !blind {
                self.resolve_deadlocks(since);
            }
            next_probe = Moment::now().after(probe);
            probe = (probe * 2).min(self.config.longest_probe);
        }
    }

    /// Leaves the queue. When the wait ended in the meantime, its outcome counts.
    fn withdraw(&self, owner: &LockOwner, place: Place) -> Option<Outcome> {
        let mut wakes = Wakes::new();
        let mut shard = self.shard(place.shard as usize);
        let ended = owner.core.take_outcome();
        if ended.is_none() {
            shard.withdraw(place.head, owner.core.id, &mut wakes);
        }
        drop(shard);
        wake(wakes);
        ended
    }
}

/// How a wait came to its end.
enum Ended {
    By(Outcome),
    Cancelled,
    TimedOut,
}
