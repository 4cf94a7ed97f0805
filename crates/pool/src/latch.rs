//! The latch of a frame: one word that holds holders, waiters, pins and the second-chance bit.
//!
//! ```text
//! bits  0..16  number of SH holders
//! bit  16      UP held            bit 17  EX held
//! bit  18      a thread sleeps in the queue
//! bit  19      fair: only threads that have slept may enter
//! bit  20      the UP holder waits for readers to leave, to become EX
//! bit  21      referenced since the clock hand passed
//! bit  22      the EX holder reads the page in
//! bits 32..64  pins: threads that wait for this latch, or want the frame kept
//! ```
//!
//! Entering is one compare-and-swap. A thread that finds the word incompatible spins a little, sets *waiters*
//! and sleeps. The last holder to leave wakes the longest compatible prefix of the queue. The woken threads
//! try again, so a running thread may get in before them. (A latch handed over to a thread that is not yet
//! scheduled would be idle meanwhile.) Two rules make that fair: a new SH request never passes a sleeper, and
//! a woken thread that finds the latch taken again sets *fair*, after which only threads that have slept may
//! enter.
//!
//! Why no wake-up is lost: a thread sleeps only if, with the queue locked, *waiters* is set and it may not
//! enter. *Waiters* is cleared only with the queue locked and empty. So while a thread sleeps there is either
//! a holder, which sees *waiters* when it leaves and wakes the sleeper, or a woken thread on its way to
//! become a holder.

use crate::mode::LatchMode;
use crate::park::{Pick, Queues, Woken};

#[cfg(loom)]
use crate::park::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use furrow_io::sync::atomic::{AtomicU64, Ordering};

const SH_ONE: u64 = 1;
const SH_MASK: u64 = 0xFFFF;
const UP: u64 = 1 << 16;
const EX: u64 = 1 << 17;
const WAITERS: u64 = 1 << 18;
const FAIR: u64 = 1 << 19;
const UPGRADING: u64 = 1 << 20;
const REFERENCED: u64 = 1 << 21;
const LOADING: u64 = 1 << 22;
const PIN_ONE: u64 = 1 << 32;
const PIN_MASK: u64 = !(PIN_ONE - 1);
const HELD: u64 = SH_MASK | UP | EX;

const _: () = assert!(
    (HELD | WAITERS | FAIR | UPGRADING | REFERENCED | LOADING) & PIN_MASK == 0,
    "the parts of the word are apart"
);

/// Called around the sleeps of one acquisition.
pub(crate) trait Sleeps {
    /// The thread is about to sleep; `loading` when the page is being read in.
    fn begin(&mut self, loading: bool);
    /// The thread has been woken; the waker's clock then showed `signalled_ns`.
    fn end(&mut self, signalled_ns: u64);
}

/// Latch, pins and reference bit of one frame.
#[derive(Debug)]
pub(crate) struct Latch {
    word: AtomicU64,
    queues: Queues,
}

fn compatible(word: u64, mode: LatchMode) -> bool {
    match mode {
        LatchMode::Sh => word & (EX | UPGRADING) == 0,
        LatchMode::Up => word & (EX | UP) == 0,
        LatchMode::Ex => word & HELD == 0,
    }
}

fn may_enter(word: u64, mode: LatchMode, slept: bool) -> bool {
    let passes_no_waiter = word & FAIR == 0 && (mode != LatchMode::Sh || word & WAITERS == 0);
    compatible(word, mode) && (slept || passes_no_waiter)
}

fn share(mode: LatchMode) -> u64 {
    match mode {
        LatchMode::Sh => SH_ONE,
        LatchMode::Up => UP,
        LatchMode::Ex => EX,
    }
}

fn mode_of(tag: usize) -> LatchMode {
    match tag {
        0 => LatchMode::Sh,
        1 => LatchMode::Up,
        _ => LatchMode::Ex,
    }
}

impl Latch {
    pub(crate) fn new() -> Latch {
        Latch {
            word: AtomicU64::new(0),
            queues: Queues::new(),
        }
    }

    fn queue_key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    fn upgrade_key(&self) -> usize {
        self.queue_key() + 1
    }

    /// Enters if that is possible at once.
    #[inline]
    pub(crate) fn try_acquire(&self, mode: LatchMode) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while may_enter(word, mode, false) {
            match self.enter(word, mode, 0) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Enters SH if that is possible at once, without calling the page used.
    pub(crate) fn try_share_quietly(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let order = (Ordering::Acquire, Ordering::Relaxed);
        may_enter(word, LatchMode::Sh, false)
            && self
                .word
                .compare_exchange(word, word + SH_ONE, order.0, order.1)
                .is_ok()
    }

    #[inline]
    fn enter(&self, word: u64, mode: LatchMode, cleared: u64) -> Result<(), u64> {
        let new = ((word & !cleared) + share(mode)) | REFERENCED;
        self.word
            .compare_exchange_weak(word, new, Ordering::Acquire, Ordering::Relaxed)
            .map(|_| ())
    }

    /// Enters, sleeping as long as it takes.
    pub(crate) fn acquire(&self, mode: LatchMode, sleeps: &mut impl Sleeps) {
        if !self.try_acquire(mode) && !self.spin(mode) {
            self.acquire_slow(mode, sleeps);
        }
    }

    #[cfg(loom)]
    fn spin(&self, _: LatchMode) -> bool {
        false
    }

    #[cfg(not(loom))]
    fn spin(&self, mode: LatchMode) -> bool {
        let mut spin = furrow_io::sync::SpinWait::new();
        // A page on its way in is milliseconds away; behind sleepers, spinning only delays them.
        while self.word.load(Ordering::Relaxed) & (LOADING | WAITERS) == 0 && spin.spin() {
            if self.try_acquire(mode) {
                return true;
            }
        }
        false
    }

    #[cold]
    fn acquire_slow(&self, mode: LatchMode, sleeps: &mut impl Sleeps) {
        let mut slept = false;
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if may_enter(word, mode, slept) {
                // A sleeper that gets in ends the fair phase: it had its turn.
                if self.enter(word, mode, if slept { FAIR } else { 0 }).is_ok() {
                    return;
                }
                continue;
            }
            let wanted = word | WAITERS | if slept { FAIR } else { 0 };
            if wanted != word && self.swap(word, wanted).is_err() {
                continue;
            }
            sleeps.begin(word & LOADING != 0);
            let woken = self.queues.park(self.queue_key(), mode as usize, || {
                let word = self.word.load(Ordering::Relaxed);
                word & WAITERS != 0 && !may_enter(word, mode, slept)
            });
            if let Some(signalled_ns) = woken {
                sleeps.end(signalled_ns);
                slept = true;
            }
        }
    }

    fn swap(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.word
            .compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }

    /// Leaves.
    #[inline]
    pub(crate) fn release(&self, mode: LatchMode) {
        let before = self.word.fetch_sub(share(mode), Ordering::Release);
        debug_assert!(
            before & share_mask(mode) != 0,
            "released a latch that was not held"
        );
        let left = before - share(mode);
        if left & (WAITERS | UPGRADING) != 0 && left & SH_MASK == 0 {
            self.wake(left);
        } else if left & WAITERS != 0 && mode == LatchMode::Up {
            // Readers remain, but another UP may come in beside them.
            self.wake(left);
        }
    }

    #[cold]
    fn wake(&self, word: u64) {
        if word & UPGRADING != 0 {
            self.queues
                .unpark(self.upgrade_key(), |_| Pick::Wake, |_| {});
        }
        if word & WAITERS != 0 {
            self.wake_queue();
        }
    }

    fn wake_queue(&self) {
        let mut seen = None;
        let pick = |tag| {
            let mode = mode_of(tag);
            let word = seen.unwrap_or_else(|| self.word.load(Ordering::Relaxed));
            if !compatible(word, mode) {
                return Pick::Stop;
            }
            seen = Some(word + share(mode));
            Pick::Wake
        };
        self.queues.unpark(self.queue_key(), pick, |woken: Woken| {
            if !woken.more {
                self.word.fetch_and(!WAITERS, Ordering::Relaxed);
            } else if woken.count == 0 {
                // A thread got in between the release and this wake-up: *fair* prevents that the next time.
                self.word.fetch_or(FAIR, Ordering::Relaxed);
            }
        });
    }

    /// Turns the caller's UP into EX, sleeping until all readers have left. New readers are kept out
    /// meanwhile.
    pub(crate) fn upgrade(&self, sleeps: &mut impl Sleeps) {
        loop {
            let word = self.word.load(Ordering::Relaxed);
            debug_assert!(word & UP != 0, "upgraded a latch that was not held UP");
            if word & SH_MASK == 0 {
                let new = (word & !(UP | UPGRADING)) | EX;
                let order = (Ordering::Acquire, Ordering::Relaxed);
                if self
                    .word
                    .compare_exchange_weak(word, new, order.0, order.1)
                    .is_ok()
                {
                    return;
                }
                continue;
            }
            if word & UPGRADING == 0 && self.swap(word, word | UPGRADING).is_err() {
                continue;
            }
            sleeps.begin(false);
            let woken = self
                .queues
                .park(self.upgrade_key(), LatchMode::Ex as usize, || {
                    self.word.load(Ordering::Relaxed) & SH_MASK != 0
                });
            if let Some(signalled_ns) = woken {
                sleeps.end(signalled_ns);
            }
        }
    }

    /// Turns the caller's EX (perhaps of a page just read in) into a weaker mode.
    pub(crate) fn downgrade(&self, to: LatchMode) {
        let word = self.word.load(Ordering::Relaxed);
        debug_assert!(word & EX != 0, "downgraded a latch that was not held EX");
        let mut word = word;
        loop {
            let new = ((word & !(EX | LOADING)) + share(to)) | REFERENCED;
            match self
                .word
                .compare_exchange_weak(word, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) if to != LatchMode::Ex && word & WAITERS != 0 => return self.wake(WAITERS),
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Turns the caller's UP into SH.
    pub(crate) fn downgrade_update(&self) {
        let before = self.word.fetch_sub(UP - SH_ONE, Ordering::Release);
        debug_assert!(before & UP != 0, "downgraded a latch that was not held UP");
        if before & WAITERS != 0 {
            self.wake(WAITERS);
        }
    }

    /// Takes an idle latch EX: no holder, no sleeper, no pin. Used by replacement, which never waits.
    pub(crate) fn claim(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let idle = word & (HELD | WAITERS | FAIR | UPGRADING | LOADING | PIN_MASK) == 0;
        let order = (Ordering::Acquire, Ordering::Relaxed);
        idle && self
            .word
            .compare_exchange(word, word | EX, order.0, order.1)
            .is_ok()
    }

    /// Marks the page as being read in; the caller holds EX.
    pub(crate) fn set_loading(&self) {
        debug_assert!(
            self.word.load(Ordering::Relaxed) & EX != 0,
            "the thread that reads a page in holds its frame EX"
        );
        self.word.fetch_or(LOADING, Ordering::Relaxed);
    }

    /// Leaves EX after a page was read in or given up; drops the reference bit when `forget` is set.
    pub(crate) fn release_loaded(&self, forget: bool) {
        debug_assert!(
            self.word.load(Ordering::Relaxed) & EX != 0,
            "the thread that reads a page in holds its frame EX"
        );
        let cleared = LOADING | if forget { REFERENCED } else { 0 };
        self.word.fetch_and(!cleared, Ordering::Relaxed);
        self.release(LatchMode::Ex);
    }

    /// Whether any thread holds, awaits or pins it.
    pub(crate) fn is_busy(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (HELD | WAITERS | PIN_MASK) != 0
    }

    /// Whether more than one reader is inside at this moment.
    pub(crate) fn is_shared(&self) -> bool {
        self.word.load(Ordering::Relaxed) & SH_MASK > SH_ONE
    }

    /// Clears the reference bit; whether it was set.
    pub(crate) fn take_reference(&self) -> bool {
        self.word.load(Ordering::Relaxed) & REFERENCED != 0
            && self.word.fetch_and(!REFERENCED, Ordering::Relaxed) & REFERENCED != 0
    }

    /// Sets the reference bit.
    pub(crate) fn set_reference(&self) {
        self.word.fetch_or(REFERENCED, Ordering::Relaxed);
    }

    /// Keeps the frame from being claimed from now on (a claim made before stays).
    pub(crate) fn pin(&self) {
        self.word.fetch_add(PIN_ONE, Ordering::Acquire);
    }

    /// Undoes one [`Latch::pin`].
    pub(crate) fn unpin(&self) {
        let before = self.word.fetch_sub(PIN_ONE, Ordering::Release);
        debug_assert!(
            before & PIN_MASK != 0,
            "unpinned a frame that was not pinned"
        );
    }
}

fn share_mask(mode: LatchMode) -> u64 {
    match mode {
        LatchMode::Sh => SH_MASK,
        other => share(other),
    }
}
