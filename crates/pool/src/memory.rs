//! The memory behind the frames: one allocation, aligned for direct I/O, given at start.

#![expect(
    unsafe_code,
    reason = "frames are shared by latches that the compiler cannot see"
)]

use crate::error::PoolError;
use furrow_format::{PAGE_SIZE, PageBuf};
use furrow_io::DIRECT_ALIGN;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// A fixed array of pages that many threads reach at once; who may touch which page is for latches to say.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    layout: Layout,
    pages: usize,
}

// SAFETY: a Region is only an address and a size; every access to the memory goes through the unsafe
// methods below, whose callers prove that they hold the page.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Zeroed memory for `pages` pages.
    pub(crate) fn new(pages: usize) -> Result<Region, PoolError> {
        let refused = PoolError::NoMemory { pages };
        let Some(bytes) = pages.checked_mul(PAGE_SIZE).filter(|&bytes| bytes > 0) else {
            return Err(refused);
        };
        let Ok(layout) = Layout::from_size_align(bytes, DIRECT_ALIGN) else {
            return Err(refused);
        };
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(refused)?;
        Ok(Region {
            start,
            layout,
            pages,
        })
    }

    fn page_ptr(&self, index: usize) -> *mut PageBuf {
        assert!(
            index < self.pages,
            "page {index} of a region of {}",
            self.pages
        );
        // SAFETY: inside the allocation, by the assertion.
        unsafe { self.start.as_ptr().add(index * PAGE_SIZE).cast() }
    }

    /// The page, to read.
    ///
    /// # Safety
    /// For the life of the reference nobody may write the page: the caller holds its latch in some mode.
    #[inline]
    pub(crate) unsafe fn page(&self, index: usize) -> &PageBuf {
        // SAFETY: a valid, initialised array of bytes; no writer, by the contract.
        unsafe { &*self.page_ptr(index) }
    }

    /// The page, to write.
    ///
    /// # Safety
    /// For the life of the reference nobody else may read or write the page: the caller holds its latch EX.
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

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_aligned_and_zeroed_and_refuses_absurd_sizes() {
        let region = Region::new(3).unwrap();
        for index in 0..3 {
            // SAFETY: nobody else knows this region.
            let page = unsafe { region.page(index) };
            assert_eq!(page.as_ptr().addr() % DIRECT_ALIGN, 0);
            assert!(page.iter().all(|&byte| byte == 0));
        }
        assert!(matches!(
            Region::new(0),
            Err(PoolError::NoMemory { pages: 0 })
        ));
        assert!(Region::new(usize::MAX).is_err());
        assert!(Region::new(usize::MAX / PAGE_SIZE).is_err());
    }
}
