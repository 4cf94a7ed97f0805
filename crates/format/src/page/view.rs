//! Views of a page's bytes: to read, to change.

use crate::PageBuf;

/// A page to read.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    pub(super) bytes: &'a PageBuf,
}

/// A page to change.
pub struct PageMut<'a> {
    pub(super) bytes: &'a mut PageBuf,
}

impl<'a> Page<'a> {
    /// Views `bytes` as a page. Any bytes will do: accessors of damaged pages give `None` or nonsense,
    /// never panic.
    #[inline]
    pub const fn new(bytes: &'a PageBuf) -> Page<'a> {
        Page { bytes }
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(self) -> &'a PageBuf {
        self.bytes
    }
}

impl<'a> PageMut<'a> {
    /// Views `bytes` as a page to change.
    #[inline]
    pub const fn new(bytes: &'a mut PageBuf) -> PageMut<'a> {
        PageMut { bytes }
    }

    /// The page, to read.
    #[inline]
    pub const fn as_page(&self) -> Page<'_> {
        Page { bytes: self.bytes }
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(&self) -> &PageBuf {
        self.bytes
    }

    /// The bytes, to change.
    #[inline]
    pub const fn bytes_mut(&mut self) -> &mut PageBuf {
        self.bytes
    }
}
