//! Memory that direct I/O accepts.

/// Alignment in bytes that every direct I/O here accepts.
pub const DIRECT_ALIGN: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; DIRECT_ALIGN]);

/// A zeroed byte buffer aligned to [`DIRECT_ALIGN`], a multiple of it long.
pub struct AlignedBuf {
    blocks: Vec<Block>,
}
