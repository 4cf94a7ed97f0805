//! Memory that direct I/O accepts.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Alignment in bytes that every direct I/O here accepts.
pub const DIRECT_ALIGN: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; DIRECT_ALIGN]);

const _: () = assert!(size_of::<Block>() == DIRECT_ALIGN && align_of::<Block>() == DIRECT_ALIGN);

/// A byte buffer that starts at a multiple of [`DIRECT_ALIGN`] and whose memory is a multiple of it long;
/// zeroed when created.
pub struct AlignedBuf {
    blocks: Vec<Block>,
    len: usize,
}

impl AlignedBuf {
    /// A zeroed buffer of `len` bytes; its memory is rounded up to whole blocks.
    pub fn new(len: usize) -> AlignedBuf {
        AlignedBuf {
            blocks: vec![Block([0; DIRECT_ALIGN]); len.div_ceil(DIRECT_ALIGN)],
            len,
        }
    }

    /// A buffer with a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> AlignedBuf {
        let mut buf = AlignedBuf::new(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    /// Sets the length; new bytes are zeros, and the memory stays allocated when it shrinks.
    pub fn resize(&mut self, len: usize) {
        let old = self.len;
        if len > old {
            let blocks = len.div_ceil(DIRECT_ALIGN);
            if blocks > self.blocks.len() {
                self.blocks.resize(blocks, Block([0; DIRECT_ALIGN]));
            }
            self.len = len;
            self[old..].fill(0);
        }
        self.len = len;
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Blocks are plain byte arrays without padding, so that the view over all of them is contiguous.
        &flat(&self.blocks)[..self.len]
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        &mut flat_mut(&mut self.blocks)[..len]
    }
}

#[expect(
    unsafe_code,
    reason = "no safe view of a slice of arrays behind an aligned wrapper"
)]
fn flat(blocks: &[Block]) -> &[u8] {
    // SAFETY: `Block` is repr(C) around `[u8; DIRECT_ALIGN]` and exactly that size (asserted above), so
    // `blocks` is `len * DIRECT_ALIGN` initialised bytes; the lifetime is the borrow's.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast::<u8>(), size_of_val(blocks)) }
}

#[expect(
    unsafe_code,
    reason = "no safe view of a slice of arrays behind an aligned wrapper"
)]
fn flat_mut(blocks: &mut [Block]) -> &mut [u8] {
    // SAFETY: as in `flat`; every bit pattern is a valid `Block`, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast::<u8>(), size_of_val(blocks)) }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> AlignedBuf {
        AlignedBuf {
            blocks: self.blocks.clone(),
            len: self.len,
        }
    }
}

impl PartialEq for AlignedBuf {
    fn eq(&self, other: &AlignedBuf) -> bool {
        **self == **other
    }
}

impl Eq for AlignedBuf {}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

/// Whether `bytes` lies where direct I/O may reach it, and is whole blocks of `unit` bytes.
pub(crate) fn is_aligned(bytes: &[u8], unit: usize) -> bool {
    bytes.as_ptr().addr().is_multiple_of(unit) && bytes.len().is_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;

    #[test]
    fn memory_is_aligned_zeroed_and_as_long_as_asked() {
        for len in [0, 1, 511, 4096, 4097, 65_536] {
            let buf = AlignedBuf::new(len);
            assert_eq!(buf.len(), len);
            assert_eq!(buf.as_ptr().addr() % DIRECT_ALIGN, 0);
            assert!(buf.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_buffer_that_shrank_grows_again_with_zeros() {
        let mut buf = AlignedBuf::copy_of(&[7; 5000]);
        buf.resize(10);
        buf.resize(6000);
        assert_eq!(&buf[..10], &[7; 10]);
        assert!(buf[10..].iter().all(|&byte| byte == 0));
        assert_eq!(IoSlice::new(&buf).len(), 6000);
        assert_eq!(buf.clone(), buf);
    }
}
