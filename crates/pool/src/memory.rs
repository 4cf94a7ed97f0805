//! The memory behind the frames: one region, aligned for direct I/O, reserved at start; the system
//! gives it page by page as frames are used first.

#![expect(
    unsafe_code,
    reason = "frames are shared by latches that the compiler cannot see"
)]

use crate::error::PoolError;
use furrow_format::{PAGE_SIZE, PageBuf};
use furrow_io::IoErrorKind;

/// Which lines of a page a thread reads first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// The first of its header.
    Header,
    /// The header with the first record, and the slot array's end.
    Ends,
}

/// A fixed array of pages that many threads access at once; the latches decide which thread may access which
/// page.
#[derive(Debug)]
pub(crate) struct Region {
    memory: furrow_io::Region,
    pages: usize,
}

impl Region {
    /// Zeroed memory for `pages` pages; with `prefault` the system gives all of it at once.
    pub(crate) fn new(pages: usize, prefault: bool) -> Result<Region, PoolError> {
        // What a cgroup does not allow is given at first, and ends the process when it is used.
        let allowed = |bytes: &usize| {
            let limit = furrow_io::host::memory_limit_bytes();
            limit.is_none_or(|limit| *bytes as u64 <= limit)
        };
        let mut memory = pages
            .checked_mul(PAGE_SIZE)
            .filter(allowed)
            .and_then(furrow_io::Region::new)
            .ok_or(PoolError::NoMemory { pages })?;
        if prefault && !memory.prefault() {
            return Err(PoolError::NoMemory { pages });
        }
        Ok(Region { memory, pages })
    }

    /// Locks all of it in memory; the system's reason where it refuses.
    pub(crate) fn lock(&mut self) -> Result<(), IoErrorKind> {
        self.memory.lock()
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.memory.len_bytes()
    }

    #[inline]
    fn page_ptr(&self, index: usize) -> *mut PageBuf {
        assert!(
            index < self.pages,
            "page {index} of a region of {}",
            self.pages
        );
        // SAFETY: inside the region, by the assertion.
        unsafe { self.memory.as_ptr().add(index * PAGE_SIZE).cast() }
    }

    /// Prefetches the lines of a page that a thread is about to read. They arrive in parallel while the latch
    /// is taken, instead of one after the other behind it.
    #[inline]
    pub(crate) fn ask_for(&self, index: usize, lines: Lines) {
        let page = self.page_ptr(index).cast::<u8>();
        let offsets: &[usize] = match lines {
            Lines::Header => &[0],
            Lines::Ends => &[0, 64, PAGE_SIZE - 64, PAGE_SIZE - 128],
        };
        for &at in offsets {
            ask_for_line(page.wrapping_add(at));
        }
    }

    /// The page, to read.
    ///
    /// # Safety
    /// For the life of the reference no thread may write the page: the caller holds its latch in some mode.
    #[inline]
    pub(crate) unsafe fn page(&self, index: usize) -> &PageBuf {
        // SAFETY: a valid, initialised array of bytes; no writer, by the contract.
        unsafe { &*self.page_ptr(index) }
    }

    /// The page, to write.
    ///
    /// # Safety
    /// For the life of the reference no other thread may read or write the page: the caller holds its latch
    /// EX.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "exclusive by the latch, not by the borrow"
    )]
    pub(crate) unsafe fn page_mut(&self, index: usize) -> &mut PageBuf {
        // SAFETY: a valid, initialised array of bytes; no other access, by the contract.
        unsafe { &mut *self.page_ptr(index) }
    }
}

/// Prefetches the line of the processor's cache at an address.
#[inline]
pub(crate) fn ask_for_line<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch accepts any address, and has no effect that another thread could observe.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_and_zeroed_and_refuses_absurd_sizes() {
        let region = Region::new(3, false).unwrap();
        for index in 0..3 {
            // SAFETY: no other thread has access to this region.
            let page = unsafe { region.page(index) };
            assert_eq!(page.as_ptr().addr() % furrow_io::DIRECT_ALIGN, 0);
            assert!(page.iter().all(|&byte| byte == 0));
        }
        assert!(matches!(
            Region::new(0, false),
            Err(PoolError::NoMemory { pages: 0 })
        ));
        assert!(Region::new(usize::MAX, false).is_err());
        assert!(Region::new(usize::MAX / PAGE_SIZE, false).is_err());
    }
}
