//! Queues in which threads sleep that found a latch taken: one for each latch, first in first out.
//!
//! Two implementations of one interface. In production the queue is the process-wide parking lot, so that a
//! latch needs no space of its own for waiters. Under `cfg(loom)` it is a mutex and a condition variable that
//! the model checker understands.

pub(crate) use furrow_io::sync::{Pick, Woken};

#[cfg(not(loom))]
#[expect(
    unsafe_code,
    reason = "the parking lot trusts its callers with addresses"
)]
mod lot {
    use super::{Pick, Woken};

    /// The queues of one latch; the parking lot stores them under two addresses that the latch occupies.
    #[derive(Debug)]
    pub(crate) struct Queues;

    impl Queues {
        pub(crate) fn new() -> Queues {
            Queues
        }

        /// Sleeps under `key` unless `validate` returns `false`; returns the moment of the wake-up in
        /// nanoseconds, if it slept.
        pub(crate) fn park(
            &self,
            key: usize,
            tag: usize,
            validate: impl FnOnce() -> bool,
        ) -> Option<u64> {
            // SAFETY: `key` is an address inside a latch that this crate owns and that outlives the call, so
            // no other user of the parking lot parks there; `validate` neither panics nor calls the lot.
            unsafe { furrow_io::sync::park(key, tag, validate) }
        }

        /// Wakes sleepers under `key` from the first on as `pick` decides, then calls `done` with the queue
        /// locked.
        pub(crate) fn unpark(
            &self,
            key: usize,
            pick: impl FnMut(usize) -> Pick,
            done: impl FnOnce(Woken),
        ) {
            // SAFETY: the key is ours as above; neither closure panics nor calls the parking lot.
            unsafe { furrow_io::sync::unpark(key, pick, done) }
        }
    }
}

#[cfg(loom)]
mod lot {
    use super::{Pick, Woken};
    use loom::sync::{Condvar, Mutex};

    #[derive(Debug)]
    struct Sleeper {
        ticket: u64,
        key: usize,
        tag: usize,
    }

    #[derive(Debug, Default)]
    struct Line {
        next_ticket: u64,
        sleepers: Vec<Sleeper>,
    }

    /// The queues of one latch under the model checker.
    #[derive(Debug)]
    pub(crate) struct Queues {
        line: Mutex<Line>,
        changed: Condvar,
    }

    impl Queues {
        pub(crate) fn new() -> Queues {
            Queues {
                line: Mutex::new(Line::default()),
                changed: Condvar::new(),
            }
        }

        pub(crate) fn park(
            &self,
            key: usize,
            tag: usize,
            validate: impl FnOnce() -> bool,
        ) -> Option<u64> {
            let Ok(mut line) = self.line.lock() else {
                return None;
            };
            if !validate() {
                return None;
            }
            let ticket = line.next_ticket;
            line.next_ticket += 1;
            line.sleepers.push(Sleeper { ticket, key, tag });
            while line.sleepers.iter().any(|s| s.ticket == ticket) {
                line = match self.changed.wait(line) {
                    Ok(line) => line,
                    Err(_) => return None,
                };
            }
            Some(0)
        }

        pub(crate) fn unpark(
            &self,
            key: usize,
            mut pick: impl FnMut(usize) -> Pick,
            done: impl FnOnce(Woken),
        ) {
            let Ok(mut line) = self.line.lock() else {
                return;
            };
            let mut count = 0;
            let mut stopped = false;
            line.sleepers.retain(|s| {
                let stays = s.key != key || stopped || pick(s.tag) == Pick::Stop;
                stopped |= s.key == key && stays;
                count += usize::from(!stays);
                stays
            });
            done(Woken {
                count,
                more: stopped,
            });
            drop(line);
            self.changed.notify_all();
        }
    }
}

pub(crate) use lot::Queues;

/// The latch's word under the model checker. A test may weaken the orderings of one kind: the checker must
/// then report a fault, which shows that it works and that the latch needs these orderings.
#[cfg(loom)]
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::Ordering;
    use std::cell::Cell;

    thread_local! {
        static TAKEN: Cell<Option<Ordering>> = const { Cell::new(None) };
    }

    /// Has all orderings of this kind, acquire or release, be relaxed while `body` runs.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only tests take orderings away")
    )]
    pub(crate) fn without(kind: Ordering, body: impl FnOnce()) {
        TAKEN.set(Some(kind));
        body();
        TAKEN.set(None);
    }

    fn left_of(order: Ordering) -> Ordering {
        match Some(order) == TAKEN.get() {
            true => Ordering::Relaxed,
            false => order,
        }
    }

    #[derive(Debug)]
    pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

    macro_rules! changes {
        ($($change:ident)*) => { $(
            pub(crate) fn $change(&self, value: u64, order: Ordering) -> u64 {
                self.0.$change(value, left_of(order))
            }
        )* };
    }

    macro_rules! exchanges {
        ($($exchange:ident)*) => { $(
            pub(crate) fn $exchange(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
                failure: Ordering,
            ) -> Result<u64, u64> {
                self.0.$exchange(current, new, left_of(success), left_of(failure))
            }
        )* };
    }

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> AtomicU64 {
            AtomicU64(loom::sync::atomic::AtomicU64::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.0.load(left_of(order))
        }

        changes! { fetch_add fetch_sub fetch_and fetch_or }
        exchanges! { compare_exchange compare_exchange_weak }
    }
}
