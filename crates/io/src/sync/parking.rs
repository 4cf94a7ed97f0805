//! Queues of sleepers by address, so that a lock word needs no space of its own for its waiters.

/// What a look at a sleeping thread decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// Wake it and look at the next.
    Wake,
    /// Leave it and all behind it asleep.
    Stop,
}

/// The result of waking, passed while the queue is still locked.
#[derive(Debug, Clone, Copy)]
pub struct Woken {
    /// Threads woken.
    pub count: usize,
    /// Whether others sleep on.
    pub more: bool,
}

#[cfg(not(feature = "weave"))]
pub use lot::{park, unpark};
#[cfg(feature = "weave")]
pub use woven::{park, unpark};

#[expect(
    unsafe_code,
    reason = "the parking lot trusts its callers with addresses"
)]
#[cfg_attr(
    feature = "weave",
    expect(unreachable_pub, reason = "what schedules replace is not shown")
)]
mod lot {
    use super::{Pick, Woken};
    use parking_lot_core::{DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, UnparkToken};

    /// Sleeps in the queue of `key` unless `validate` returns `false`; returns the moment of the wake-up in
    /// nanoseconds, if it slept.
    ///
    /// # Safety
    /// `key` is an address that the caller owns and that outlives the call; `validate` neither panics nor
    /// parks.
    pub unsafe fn park(key: usize, tag: usize, validate: impl FnOnce() -> bool) -> Option<u64> {
        // SAFETY: by the caller's promise no other code parks under this address, and `validate` is harmless.
        let result = unsafe {
            parking_lot_core::park(key, validate, || {}, |_, _| {}, ParkToken(tag), None)
        };
        match result {
            ParkResult::Unparked(token) => Some(token.0 as u64),
            ParkResult::Invalid | ParkResult::TimedOut => None,
        }
    }

    /// Wakes sleepers of `key` from the first on as `pick` decides, then calls `done` with the queue locked.
    ///
    /// # Safety
    /// As of [`park`], for both closures.
    pub unsafe fn unpark(
        key: usize,
        mut pick: impl FnMut(usize) -> Pick,
        done: impl FnOnce(Woken),
    ) {
        let stamp = UnparkToken(crate::time::Moment::now().as_ns() as usize);
        let filter = |token: ParkToken| match pick(token.0) {
            Pick::Wake => FilterOp::Unpark,
            Pick::Stop => FilterOp::Stop,
        };
        // SAFETY: the key is the caller's; neither closure panics nor calls the parking lot.
        unsafe {
            parking_lot_core::unpark_filter(key, filter, |result| {
                done(Woken {
                    count: result.unparked_threads,
                    more: result.have_more_threads,
                });
                if result.unparked_threads > 0 {
                    stamp
                } else {
                    DEFAULT_UNPARK_TOKEN
                }
            });
        }
    }
}

#[cfg(feature = "weave")]
#[expect(unsafe_code, reason = "passes on what its callers promise")]
mod woven {
    use super::{Pick, Woken, lot};
    use crate::schedule::strand::{self, Waits};

    /// Sleeps in the queue of `key` unless `validate` returns `false`; returns the moment of the wake-up in
    /// nanoseconds, if it slept.
    ///
    /// # Safety
    /// `key` is an address that the caller owns and that outlives the call; `validate` neither panics nor
    /// parks.
    pub unsafe fn park(key: usize, tag: usize, validate: impl FnOnce() -> bool) -> Option<u64> {
        let Some(me) = strand::current() else {
            // SAFETY: the caller's promise.
            return unsafe { lot::park(key, tag, validate) };
        };
        // The queue is locked during `validate`: no other thread of the schedule runs meanwhile.
        if !strand::quietly(validate) {
            return None;
        }
        me.enqueue(key, tag);
        me.wait(Waits::Queue(key));
        Some(me.clock_ns())
    }

    /// Wakes sleepers of `key` from the first on as `pick` decides, then calls `done` with the queue locked.
    ///
    /// # Safety
    /// As of [`park`], for both closures.
    pub unsafe fn unpark(
        key: usize,
        mut pick: impl FnMut(usize) -> Pick,
        done: impl FnOnce(Woken),
    ) {
        let Some(me) = strand::current() else {
            // SAFETY: the caller's promise.
            return unsafe { lot::unpark(key, pick, done) };
        };
        strand::point();
        strand::quietly(|| {
            let mut count = 0;
            let more = loop {
                match me.first_queued(key) {
                    None => break false,
                    Some(tag) if pick(tag) == Pick::Stop => break true,
                    Some(_) => me.wake_first(key),
                }
                count += 1;
            };
            done(Woken { count, more });
        });
    }
}
