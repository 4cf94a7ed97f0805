//! The heap of a process whose address space has a limit (`ulimit -v`, `ulimit -d`).
//!
//! Rust ends a process whose heap has no memory left. The memory of statements is counted, but not every
//! small allocation is. The program therefore installs [`Heap`] as its global allocator and calls [`prepare`]
//! before it starts threads:
//!
//! 1. `prepare` maps a reserve that is never used.
//! 2. The first allocation that the system refuses unmaps the reserve and is repeated. The heap is short from
//!    then on.
//! 3. A thread that polls [`is_short`] ends what it does with an error. That frees memory.
//! 4. The reserve is mapped again by the first poll that finds enough memory left; the heap is no longer
//!    short.
//!
//! `prepare` also bounds the number of malloc arenas: glibc maps 64 MB of address space for each of up to
//! eight arenas per processor, used or not.
//!
//! Without a limit nothing of this happens: the allocator is the system's, and `prepare` does nothing.
//!
//! # What can fail
//! An allocation that needs more than the reserve still ends the process. A caller that is about to make a
//! large one compares it with [`memory_left_bytes`](crate::host::memory_left_bytes) first.

#![expect(
    unsafe_code,
    reason = "a global allocator, and memory taken from the system"
)]

use crate::limits::{address_space_limit, memory_left_bytes};
use crate::region;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Memory for allocations that nothing counts, between the first that is refused and the end of the statement
/// that requested it.
pub const RESERVE_BYTES: usize = 32 << 20;

/// How much of a limited address space goes with one malloc arena.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BYTES_PER_ARENA: u64 = 2 << 30;

/// Blocks of this size and more are mapped one by one, and unmapped when they are freed. glibc raises the
/// threshold as such blocks are freed unless it is set: then large blocks would leave holes in the heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

static BOUNDED: AtomicBool = AtomicBool::new(false);
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static SHORT: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which takes from the reserve before it fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heap;

impl Heap {
    /// Unmaps the reserve, if it is still mapped, so that an allocation may succeed when it is repeated.
    #[cold]
    fn open_reserve() {
        SHORT.store(true, Ordering::Relaxed);
        if let Some(reserve) = NonNull::new(RESERVE.swap(null_mut(), Ordering::AcqRel)) {
            // SAFETY: mapped by `fill_reserve` with this length; the swap gave it to this thread alone, and
            // nothing uses its bytes.
            unsafe { region::give_back(reserve, RESERVE_BYTES) }
        }
    }
}

// SAFETY: every block comes from `System` and goes back to it with the layout that it was allocated with. A
// call that returned null has allocated nothing, and `System::realloc` leaves the block as it was then: both
// may be repeated. Nothing here allocates or unwinds.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            return block;
        }
        Heap::open_reserve();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        Heap::open_reserve();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(block, layout, bytes) };
        if !moved.is_null() {
            return moved;
        }
        Heap::open_reserve();
        // SAFETY: the caller's promise; the block is as it was.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Maps the reserve and bounds the arenas where the address space has a limit. A program whose global
/// allocator is [`Heap`] calls it once, before it starts threads.
pub fn prepare() {
    let Some(limit) = address_space_limit() else {
        return;
    };
    BOUNDED.store(true, Ordering::Relaxed);
    bound_arenas(limit);
    fill_reserve();
}

/// Whether [`prepare`] has found a limit of the address space: an allocation may be refused.
pub fn is_bounded() -> bool {
    BOUNDED.load(Ordering::Relaxed)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn bound_arenas(limit: u64) {
    let arenas = limit.div_ceil(BYTES_PER_ARENA).clamp(1, 1 << 10);
    let arenas = libc::c_int::try_from(arenas).unwrap_or(libc::c_int::MAX);
    // SAFETY: sets numbers of the allocator; no block is touched. A number that it refuses changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn bound_arenas(_: u64) {}

/// Maps the reserve. `false` where the system does not have so much.
fn fill_reserve() -> bool {
    let Some(reserve) = region::take(RESERVE_BYTES) else {
        return false;
    };
    let before = RESERVE.swap(reserve.as_ptr(), Ordering::AcqRel);
    if let Some(before) = NonNull::new(before) {
        // SAFETY: mapped by another call of this function with this length; the swap gave it to this thread.
        unsafe { region::give_back(before, RESERVE_BYTES) }
    }
    true
}

/// Whether the reserve was opened and there is too little memory to map it again: a statement ends with an
/// error. One load where the heap is not short.
#[inline]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed) && !recovers()
}

/// Maps the reserve again where its size is left twice.
#[cold]
fn recovers() -> bool {
    let wanted = 2 * RESERVE_BYTES as u64;
    let left = memory_left_bytes().is_none_or(|left| left + free_bytes() >= wanted);
    let filled = left && fill_reserve();
    if filled {
        SHORT.store(false, Ordering::Relaxed);
    }
    filled
}

/// Bytes that the allocator has from the system and no block uses. glibc does not give them back to the
/// system where blocks in use lie behind them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn free_bytes() -> u64 {
    // SAFETY: reads the allocator's own counters, under its locks.
    let info = unsafe { libc::mallinfo2() };
    info.fordblks as u64
}

/// Bytes that the allocator has from the system and no block uses: not known here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn free_bytes() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_unmapped_once_and_mapped_again_when_there_is_memory() {
        assert!(fill_reserve() && !is_short());
        Heap::open_reserve();
        assert!(RESERVE.load(Ordering::Relaxed).is_null());
        // A second refusal finds no reserve, and fails no more than the first.
        Heap::open_reserve();
        assert!(SHORT.load(Ordering::Relaxed));
        assert!(!is_short(), "the machine has memory left");
        assert!(!RESERVE.load(Ordering::Relaxed).is_null());
        assert!(!SHORT.load(Ordering::Relaxed));
    }

    #[test]
    fn the_allocator_passes_blocks_on() {
        let layout = Layout::from_size_align(100, 8).unwrap();
        // SAFETY: each block is freed with the layout it has by then, and only its own bytes are touched.
        unsafe {
            let block = Heap.alloc_zeroed(layout);
            assert!(!block.is_null() && block.add(99).read() == 0);
            block.write(7);
            let block = Heap.realloc(block, layout, 5000);
            assert_eq!(block.read(), 7);
            Heap.dealloc(block, Layout::from_size_align(5000, 8).unwrap());
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn freed_blocks_show_in_the_free_bytes() {
        let blocks: Vec<Vec<u8>> = (0..1000).map(|_| vec![1_u8; 4000]).collect();
        let last = vec![2_u8; 4000];
        let before = free_bytes();
        drop(blocks);
        assert!(free_bytes() >= before + 1_000_000);
        drop(last);
    }
}
