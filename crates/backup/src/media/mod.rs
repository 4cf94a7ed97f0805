//! The bytes of a stripe. The format is described in `docs/format/backup.md`.
//!
//! ```text
//! | media header | set 1: begin | data, log ... | end | tail | set 2: begin ...
//! ```
//!
//! Everything is a multiple of [`UNIT`] bytes. The media header is one unit. A *chunk* is a header of one
//! unit and a payload, padded with zeros. Both have checksums, the padding included. There are no gaps: each
//! chunk begins where the one before it ends, and the file ends with a tail.
//!
//! # Invariants
//! 1. A chunk names its backup set, its stripe and its number within them: one that was exchanged, moved,
//!    left out or taken from another backup is found.
//! 2. A set without its tail is incomplete, whatever else is there.
//! 3. A reader allocates no more than a chunk may hold ([`MAX_PAYLOAD`]), whatever the bytes say.
//! 4. Encrypted media have encrypted chunks alone, and headers of chunks are authenticated (`cipher`).

mod chunk;
mod cipher;
mod codec;
mod header;
mod set;
mod stripe;
mod writer;

pub use chunk::{ChunkHeader, ChunkKind, MAX_RUNS, Run};
pub use cipher::{BackupKey, KEY_BYTES};
pub use codec::{Codec, Packer, Unpacker};
pub use header::MediaHeader;
pub use set::{BackupKind, SetEncryption, SetFile, SetFork, SetInfo, SetLog};
pub use stripe::{Chunk, SetPlace, StripeReader};
pub use writer::StripeWriter;

use furrow_io::IoError;

/// Everything in a stripe is a multiple of this many bytes.
pub const UNIT: usize = 4096;
/// The largest payload.
pub const MAX_PAYLOAD: usize = 4 << 20;
/// Bytes of the length in front of the readable part of an encrypted text.
const LENGTH: usize = 4;

/// Bytes of a thumbprint.
pub(crate) const THUMBPRINT_BYTES: usize = 20;
/// What the key of encrypted media is known by.
pub type Thumbprint = [u8; THUMBPRINT_BYTES];

/// What is wrong with a stripe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    /// The device.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is nothing on it.
    #[error("there is nothing on the device")]
    Empty,
    /// It is not a stripe of this format.
    #[error("it is no backup of this format")]
    NotMedia,
    /// It is a stripe, and its header is damaged.
    #[error("the header of the stripe is damaged")]
    BadHeader,
    /// A backup was being written to it and did not end.
    #[error("the backup on it is incomplete")]
    Incomplete,
    /// It is encrypted, and the key of this thumbprint is not there.
    #[error("the backup is encrypted with a key that is not there")]
    Locked(Thumbprint),
    /// Something in it is damaged, exchanged or missing.
    #[error("the backup is damaged: {0}")]
    Damaged(&'static str),
}

/// Bytes padded to whole units.
pub(crate) fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(UNIT)
}

pub(crate) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    Some(*bytes.get(at..)?.first_chunk()?)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    debug_assert!(at + value.len() <= bytes.len(), "a field lies in its block");
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// CRC-32C of a block whose four bytes at `field` count as zero.
pub(crate) fn crc_without(block: &[u8], field: usize) -> u32 {
    let (head, rest) = block.split_at(field.min(block.len()));
    let crc = crc32c::crc32c_append(crc32c::crc32c(head), &[0; 4]);
    crc32c::crc32c_append(crc, rest.get(4..).unwrap_or_default())
}
