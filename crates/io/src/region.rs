//! A large piece of memory for direct I/O, taken from the system without touching it.
//!
//! Zeroing gigabytes would take the better part of a second at start; the system gives zeroed memory when it
//! is used first.

#![expect(unsafe_code, reason = "memory is taken from the system")]

use crate::{DIRECT_ALIGN, IoErrorKind};
use std::ptr::NonNull;

/// Zeroed memory, aligned for direct I/O, of fixed size and place. It only gives an address: its owner
/// decides which accesses are allowed.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a Region is only an address and a size; it owns the memory, and gives no access to it.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// `None` for no bytes, and where the system has not so much.
    pub fn new(bytes: usize) -> Option<Region> {
        if bytes == 0 || bytes > isize::MAX as usize - DIRECT_ALIGN {
            return None;
        }
        let bytes = bytes.next_multiple_of(DIRECT_ALIGN);
        Some(Region {
            start: take(bytes)?,
            bytes,
        })
    }

    /// Makes the system provide all of it now, and not page by page at the first use: where memory is lent by
    /// a hypervisor the first touch of a megabyte can take more than a millisecond. `false` where the system
    /// reports that it has not so much.
    #[must_use]
    pub fn prefault(&mut self) -> bool {
        let answer = populate(self.start, self.bytes);
        if answer.is_none() {
            for at in (0..self.bytes).step_by(SMALLEST_PAGE_BYTES) {
                // SAFETY: inside of the region, which no other code accesses while `self` is borrowed; the
                // byte stays what it was.
                unsafe {
                    let byte = self.start.as_ptr().add(at);
                    byte.write_volatile(byte.read_volatile());
                }
            }
        }
        answer.unwrap_or(true)
    }

    /// Locks all of it in memory, so that the system never pages it out, and has the system give it now. The
    /// system may refuse: a process may lock so many bytes only ([`locked_limit_bytes`]). Nothing is locked
    /// then.
    pub fn lock(&mut self) -> Result<(), IoErrorKind> {
        lock(self.start, self.bytes)
    }

    /// Where it begins.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How long it is: the requested length, rounded up.
    pub fn len_bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: taken in `new` with this length, given back once; no reference to it is left by then.
        unsafe { give_back(self.start, self.bytes) }
    }
}

/// No system that this runs on has smaller ones.
const SMALLEST_PAGE_BYTES: usize = 4096;

/// Below this the system's large pages (2 MB on x86-64 and most of ARM) would mostly be waste.
#[cfg(all(target_os = "linux", not(miri)))]
const WORTH_LARGE_PAGES: usize = 16 << 20;

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn take(bytes: usize) -> Option<NonNull<u8>> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping, at a place of the system's choice, meets no memory in use.
    let start =
        unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }.ok()?;
    if bytes >= WORTH_LARGE_PAGES {
        // SAFETY: the mapping just created; the advice changes none of its bytes.
        let _small = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
    }
    NonNull::new(start.cast())
}

/// Whether the system provided all of it; `None` where it does not support the request (Linux does since
/// 5.14). Touching memory that it has refused could end the process.
#[cfg(all(target_os = "linux", not(miri)))]
fn populate(start: NonNull<u8>, bytes: usize) -> Option<bool> {
    use rustix::io::Errno;
    use rustix::mm::{Advice, madvise};
    // SAFETY: a mapping of this length, writable; the call changes none of its bytes.
    match unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite) } {
        Ok(()) => Some(true),
        Err(Errno::NOMEM) => Some(false),
        Err(_) => None,
    }
}

/// Bytes that this process may lock in memory (`ulimit -l`); `None` where there is no limit.
pub fn locked_limit_bytes() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

#[cfg(all(target_os = "linux", not(miri)))]
fn lock(start: NonNull<u8>, bytes: usize) -> Result<(), IoErrorKind> {
    let start = start.as_ptr().cast();
    // SAFETY: a mapping of this length, which lives longer than the call; none of its bytes changes.
    let locked = unsafe { rustix::mm::mlock(start, bytes) };
    locked.map_err(|errno| {
        // What was locked before the system refused the rest.
        // SAFETY: as above.
        let _none = unsafe { rustix::mm::munlock(start, bytes) };
        IoErrorKind::Os(errno.raw_os_error(), errno.to_string())
    })
}

#[cfg(any(not(target_os = "linux"), miri))]
fn lock(_: NonNull<u8>, _: usize) -> Result<(), IoErrorKind> {
    Err(IoErrorKind::Os(
        0,
        "this system has no call for it".to_owned(),
    ))
}

#[cfg(any(not(target_os = "linux"), miri))]
fn populate(_: NonNull<u8>, _: usize) -> Option<bool> {
    None
}

/// # Safety
/// The memory was taken by [`take`] with this length, and is no longer in use.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    let _unmapped = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
}

#[cfg(any(not(target_os = "linux"), miri))]
fn layout(bytes: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(bytes, DIRECT_ALIGN).ok()
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn take(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(bytes)?) })
}

/// # Safety
/// The memory was taken by [`take`] with this length, and is no longer in use.
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: allocated with this layout, by the caller's promise.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zeroed_aligned_and_as_long_as_asked_for() {
        let region = Region::new(3 * 8192 + 1).unwrap();
        assert_eq!(region.len_bytes(), 3 * 8192 + 4096);
        assert_eq!(region.as_ptr().addr() % DIRECT_ALIGN, 0);
        // SAFETY: no other code accesses this region.
        let bytes = unsafe { std::slice::from_raw_parts_mut(region.as_ptr(), region.len_bytes()) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        bytes.fill(7);
    }

    #[test]
    fn a_region_that_was_made_present_keeps_its_bytes() {
        let mut region = Region::new(3 * 8192).unwrap();
        // SAFETY: no other code accesses this region.
        unsafe { region.as_ptr().add(4096).write(7) };
        assert!(region.prefault());
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(region.as_ptr(), region.len_bytes()) };
        assert_eq!(bytes.iter().map(|&b| u32::from(b)).sum::<u32>(), 7);
        assert_eq!(bytes[4096], 7);
    }

    #[test]
    fn a_region_that_was_locked_keeps_its_bytes_and_one_past_the_limit_is_refused() {
        let mut region = Region::new(3 * 8192).unwrap();
        // SAFETY: no other code accesses this region.
        unsafe { region.as_ptr().add(4096).write(7) };
        if region.lock().is_ok() {
            // SAFETY: as above.
            assert_eq!(unsafe { region.as_ptr().add(4096).read() }, 7);
        }
        // A process that may lock without a limit is not refused.
        let limit = locked_limit_bytes().and_then(|limit| usize::try_from(limit).ok());
        if let Some(limit) = limit.filter(|bytes| *bytes <= 64 << 20) {
            let mut large = Region::new(limit + 4096).unwrap();
            assert!(matches!(large.lock(), Ok(()) | Err(IoErrorKind::Os(..))));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Region::new(0).is_none());
        assert!(Region::new(usize::MAX).is_none());
        assert!(Region::new(usize::MAX / 2).is_none());
    }
}
