//! A log block in memory: space is reserved by one atomic operation, records are copied in outside any lock.
//!
//! The state word holds everything an appender needs to decide: the block's generation (low 32 bits
//! of its number), whether it is closed, how many records it has and how many bytes are used. An
//! appender that wins the compare-and-swap owns its byte range; it copies and then adds to
//! `filled`. The block may be written once it is closed and `filled` equals the bytes reserved.

#![expect(
    unsafe_code,
    reason = "records are copied into disjoint ranges of one buffer by many threads"
)]

use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES};
use crate::sync::Watch;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use furrow_format::Lsn;
use furrow_io::AlignedBuf;

const USED_BITS: u32 = 17;
const COUNT_BITS: u32 = 12;
const CLOSED: u64 = 1 << (USED_BITS + COUNT_BITS);
const COUNT_ONE: u64 = 1 << USED_BITS;
const USED_MASK: u64 = COUNT_ONE - 1;

const _: () = assert!(
    BLOCK_MAX_BYTES < 1 << USED_BITS,
    "the state word counts all bytes"
);
const _: () = assert!((Lsn::MAX_SLOT as u64) < 1 << COUNT_BITS, "and all records");

/// The state word, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    fn open(number: u64) -> State {
        State((number & 0xFFFF_FFFF) << 32 | BLOCK_HEADER_BYTES as u64)
    }

    pub(crate) fn is_of(self, number: u64) -> bool {
        self.0 >> 32 == number & 0xFFFF_FFFF
    }

    pub(crate) fn closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) fn records(self) -> u16 {
        (self.0 >> USED_BITS) as u16 & Lsn::MAX_SLOT
    }

    pub(crate) fn used(self) -> usize {
        (self.0 & USED_MASK) as usize
    }
}

/// The result of an attempt to reserve space.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    /// The range starts at this offset; the record has this LSN.
    At(usize, Lsn),
    /// The block was closed, is full, or is not the one asked for.
    No,
}

/// One of the log's buffers.
pub(crate) struct Block {
    /// Start of `_memory`, taken once so that ranges can be written without a reference to the whole.
    mem: *mut u8,
    watch: Watch,
    _memory: AlignedBuf,
    state: AtomicU64,
    filled: AtomicU32,
    capacity: AtomicU32,
    base: AtomicU64,
    /// Counts wake-ups of the sessions that wait for this block.
    pub(crate) event: AtomicU32,
    /// How many sessions wait for it.
    pub(crate) waiters: AtomicU32,
    /// When its waiters were woken, in the clock's nanoseconds.
    pub(crate) woken_at: AtomicU64,
}

// SAFETY: `mem` points into `_memory`, which lives and stays as long as the block. It is written only by
// `fill`, within the range that the caller alone reserved through `state`, and through `bytes_mut` by the one
// writer of a closed and filled block; it is read by others only for ranges known to be filled (`copy_out`).
// `reopen` is called only when no thread uses the block. All these hand-overs synchronise through `filled`
// and `state` (release/acquire).
unsafe impl Sync for Block {}
// SAFETY: as above; the memory is owned by the block and not tied to a thread.
unsafe impl Send for Block {}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Block")
            .field("base", &self.base())
            .field("used", &state.used())
            .field("records", &state.records())
            .field("closed", &state.closed())
            .finish_non_exhaustive()
    }
}

impl Block {
    /// A closed block with memory of its own.
    pub(crate) fn new() -> Block {
        let mut memory = AlignedBuf::new(BLOCK_MAX_BYTES);
        Block {
            mem: memory.as_mut_ptr(),
            watch: Watch::new(),
            _memory: memory,
            state: AtomicU64::new(State::open(u64::MAX).0 | CLOSED),
            filled: AtomicU32::new(0),
            capacity: AtomicU32::new(0),
            base: AtomicU64::new(0),
            event: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            woken_at: AtomicU64::new(0),
        }
    }

    /// Makes it block `number`, empty, open, at `base` in the log. Called only while no thread uses it.
    pub(crate) fn reopen(&self, number: u64, base: Lsn, capacity: usize) {
        debug_assert!(capacity <= BLOCK_MAX_BYTES, "a block fits its buffer");
        debug_assert_eq!(base.slot(), 0, "slot 0 is the block's own LSN");
        self.watch.whole();
        // No generation has this state: an appender that still has the old one fails from here on, before the
        // base changes.
        self.state
            .store(State::open(u64::MAX).0 | CLOSED, Ordering::Relaxed);
        self.base.store(base.0, Ordering::Release);
        self.filled
            .store(BLOCK_HEADER_BYTES as u32, Ordering::Relaxed);
        self.capacity.store(capacity as u32, Ordering::Relaxed);
        self.state.store(State::open(number).0, Ordering::Release);
    }

    pub(crate) fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }

    pub(crate) fn base(&self) -> Lsn {
        Lsn(self.base.load(Ordering::Relaxed))
    }

    /// Closes it; returns the final state. Closing twice does no harm.
    pub(crate) fn close(&self) -> State {
        State(self.state.fetch_or(CLOSED, Ordering::AcqRel) | CLOSED)
    }

    /// Whether all that was reserved has been copied in.
    pub(crate) fn is_filled(&self, state: State) -> bool {
        debug_assert!(state.closed(), "an open block may still get records");
        let filled = self.filled.load(Ordering::Acquire) as usize;
        debug_assert!(
            filled <= state.used(),
            "more was copied in than was reserved"
        );
        filled == state.used()
    }

    /// Lower bound of the LSN of every record appended later, if this is block `number`.
    pub(crate) fn next_lsn(&self, number: u64) -> Option<Lsn> {
        let state = self.state();
        let base = self.base.load(Ordering::Acquire);
        // The base changes only after the generation did: seeing the generation again proves the pair.
        (state.is_of(number) && self.state().is_of(number))
            .then(|| Lsn(base + u64::from(state.records()) + 1))
    }

    /// Reserves `len` bytes in block `number`.
    pub(crate) fn reserve(&self, number: u64, len: usize) -> Reserved {
        let mut word = self.state.load(Ordering::Acquire);
        loop {
            let state = State(word);
            let room = self.capacity.load(Ordering::Relaxed) as usize;
            if !state.is_of(number)
                || state.closed()
                || state.records() == Lsn::MAX_SLOT
                || state.used() + len > room
            {
                return Reserved::No;
            }
            // If this is a later generation's base, the swap fails: its state came first.
            let base = self.base.load(Ordering::Acquire);
            let next = word + COUNT_ONE + len as u64;
            match self
                .state
                .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => {
                    debug_assert!(
                        state.used() + len <= BLOCK_MAX_BYTES,
                        "a record left its block"
                    );
                    let lsn = Lsn(base + u64::from(state.records()) + 1);
                    return Reserved::At(state.used(), lsn);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Copies `parts` into a range reserved at `at`.
    pub(crate) fn fill(&self, at: usize, parts: [&[u8]; 3]) {
        let mut to = at;
        self.watch.range();
        for part in parts {
            assert!(
                to + part.len() <= BLOCK_MAX_BYTES,
                "a log record leaves its block"
            );
            // SAFETY: the range [at, at + sum of lengths) was reserved by this caller alone (see
            // `reserve`) and lies within the buffer (asserted); the buffer's memory does not move
            // while the block lives.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), self.mem.add(to), part.len()) };
            to += part.len();
        }
        self.filled.fetch_add((to - at) as u32, Ordering::Release);
    }

    /// The bytes of a closed and filled block, for sealing: header and padding may be changed.
    ///
    /// # Safety
    /// The caller must be the one writer that took this block for writing, after `is_filled` of its
    /// closed state.
    #[expect(
        clippy::mut_from_ref,
        reason = "exclusive by the protocol in the type's documentation"
    )]
    pub(crate) unsafe fn bytes_mut(&self) -> &mut [u8] {
        self.watch.whole();
        // SAFETY: by the caller's promise no other thread touches the memory until the block is durable.
        unsafe { std::slice::from_raw_parts_mut(self.mem, BLOCK_MAX_BYTES) }
    }

    /// Copies `len` bytes from `at` on, for a reader.
    ///
    /// # Safety
    /// The range must have been filled, and the block must not be reopened meanwhile.
    pub(crate) unsafe fn copy_out(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= BLOCK_MAX_BYTES);
        self.watch.range();
        let mut out = vec![0; len];
        // SAFETY: in bounds (asserted); the range is filled and stays (caller's promise).
        unsafe { std::ptr::copy_nonoverlapping(self.mem.add(at), out.as_mut_ptr(), len) };
        out
    }
}
