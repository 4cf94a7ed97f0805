//! Little-endian reads and writes that cannot panic, and fields at a fixed place of a page.

use crate::ids::{PAGE_SIZE, PageId};

/// The bytes of a page.
pub type PageBuf = [u8; PAGE_SIZE];

/// `N` bytes at `at`, if they are there.
#[inline(always)]
pub fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The `u16` at `at`.
#[inline(always)]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(u16::from_le_bytes)
}

/// The `u32` at `at`.
#[inline(always)]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(u32::from_le_bytes)
}

/// Copies `source` to `at`; `false`, with nothing written, where it does not fit.
#[inline(always)]
#[must_use]
pub(crate) fn put(bytes: &mut [u8], at: usize, source: &[u8]) -> bool {
    match bytes
        .get_mut(at..)
        .and_then(|rest| rest.get_mut(..source.len()))
    {
        Some(target) => {
            target.copy_from_slice(source);
            true
        }
        None => false,
    }
}

/// `N` bytes at a fixed place of a page, proven to lie inside it at compile time.
///
/// The names of the fields of page headers and of the boot page are constants of this type; that
/// keeps the table of a layout, the code that reads it and the log change that patches it in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<const AT: usize, const N: usize>;

impl<const AT: usize, const N: usize> Field<AT, N> {
    pub(crate) const INSIDE: () = assert!(AT + N <= PAGE_SIZE);

    /// Page offset of the first byte.
    pub const fn start(self) -> usize {
        AT
    }

    /// Page offset behind the last byte.
    pub const fn end(self) -> usize {
        AT + N
    }

    /// The bytes.
    #[inline(always)]
    pub fn get(self, page: &PageBuf) -> [u8; N] {
        const { Self::INSIDE }
        chunk(page, AT).unwrap_or([0; N])
    }

    /// Replaces the bytes.
    #[inline(always)]
    pub fn set(self, page: &mut PageBuf, bytes: [u8; N]) {
        const { Self::INSIDE }
        let _always_fits = put(page, AT, &bytes);
    }
}

impl<const AT: usize> Field<AT, 2> {
    /// The field as an unsigned number.
    #[inline(always)]
    pub fn get_u16(self, page: &PageBuf) -> u16 {
        u16::from_le_bytes(self.get(page))
    }

    /// Sets the field to an unsigned number.
    #[inline(always)]
    pub fn set_u16(self, page: &mut PageBuf, value: u16) {
        self.set(page, value.to_le_bytes());
    }
}

impl<const AT: usize> Field<AT, 4> {
    /// The field as an unsigned number.
    #[inline(always)]
    pub(crate) fn get_u32(self, page: &PageBuf) -> u32 {
        u32::from_le_bytes(self.get(page))
    }

    /// Sets the field to an unsigned number.
    #[inline(always)]
    pub(crate) fn set_u32(self, page: &mut PageBuf, value: u32) {
        self.set(page, value.to_le_bytes());
    }
}

impl<const AT: usize> Field<AT, 6> {
    /// The field as a page id.
    #[inline(always)]
    pub fn get_page(self, page: &PageBuf) -> PageId {
        PageId::from_bytes(self.get(page))
    }

    /// Sets the field to a page id.
    #[inline(always)]
    pub fn set_page(self, page: &mut PageBuf, value: PageId) {
        self.set(page, value.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_beyond_the_end_are_refused() {
        let mut bytes = [1, 2, 3];
        assert_eq!(u16_at(&bytes, 1), Some(0x0302));
        assert_eq!(u16_at(&bytes, 2), None);
        assert_eq!(u16_at(&bytes, usize::MAX), None);
        assert!(!put(&mut bytes, 2, &[9, 9]));
        assert!(put(&mut bytes, 1, &[9, 9]));
        assert_eq!(bytes, [1, 9, 9]);
    }
}
