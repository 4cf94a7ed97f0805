//! How payloads are packed.

use super::cipher::{BackupKey, SetCipher};
use super::{MAX_PAYLOAD, MediaError};
use furrow_types::Guid;

/// How a payload is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// LZ4, block format.
    Lz4,
    /// Zstandard at this level; a chunk does not name its level.
    Zstd(i32),
}

impl Codec {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Codec::None => 0,
            Codec::Lz4 => 1,
            Codec::Zstd(_) => 2,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<Codec> {
        match byte {
            0 => Some(Codec::None),
            1 => Some(Codec::Lz4),
            2 => Some(Codec::Zstd(0)),
            _ => None,
        }
    }

    /// Its name in T-SQL; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "",
            Codec::Lz4 => "LZ4",
            Codec::Zstd(_) => "ZSTD",
        }
    }

    /// Bytes that a payload may take while it is packed.
    pub(crate) fn bound(self, bytes: usize) -> usize {
        match self {
            Codec::None => bytes,
            Codec::Lz4 => lz4_flex::block::get_maximum_output_size(bytes),
            Codec::Zstd(_) => zstd::zstd_safe::compress_bound(bytes),
        }
    }
}

/// Packs payloads; one for each thread.
pub struct Packer {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer")
            .field("codec", &self.codec)
            .finish_non_exhaustive()
    }
}

impl Packer {
    /// A packer for this codec.
    pub fn new(codec: Codec) -> Result<Packer, MediaError> {
        let zstd = match codec {
            Codec::Zstd(level) => {
                let made = zstd::bulk::Compressor::new(level);
                Some(made.map_err(|_| MediaError::Damaged("ZSTD cannot be set up"))?)
            }
            _ => None,
        };
        Ok(Packer { codec, zstd })
    }

    /// Packs a payload into `to`; its bytes there. `None` where that takes no less space.
    pub fn pack(&mut self, payload: &[u8], to: &mut [u8]) -> Option<usize> {
        let packed = match (self.codec, &mut self.zstd) {
            (Codec::None, _) => return None,
            (Codec::Lz4, _) => lz4_flex::block::compress_into(payload, to).ok()?,
            (Codec::Zstd(_), Some(zstd)) => zstd.compress_to_buffer(payload, to).ok()?,
            (Codec::Zstd(_), None) => return None,
        };
        (packed < payload.len()).then_some(packed)
    }
}

/// Unpacks payloads; one for each thread.
pub struct Unpacker {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    /// Of the set that is read.
    cipher: Option<SetCipher>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Default for Unpacker {
    fn default() -> Unpacker {
        Unpacker::new()
    }
}

impl Unpacker {
    /// An unpacker for every codec.
    pub fn new() -> Unpacker {
        Unpacker {
            zstd: zstd::bulk::Decompressor::new().ok(),
            cipher: None,
        }
    }

    /// The cipher of a set.
    pub(super) fn cipher(&mut self, key: &BackupKey, set: Guid) -> &SetCipher {
        self.cipher.take_if(|cipher| !cipher.is_of(set));
        self.cipher.get_or_insert_with(|| SetCipher::new(key, set))
    }

    /// Unpacks a payload into `to`, which is as long as it was before.
    pub fn unpack(&mut self, codec: Codec, packed: &[u8], to: &mut [u8]) -> Result<(), MediaError> {
        debug_assert!(to.len() <= MAX_PAYLOAD);
        let bad = MediaError::Damaged("a payload that cannot be unpacked");
        let len = match codec {
            Codec::None => {
                let fits = packed.len() == to.len();
                if fits {
                    to.copy_from_slice(packed);
                }
                fits.then_some(to.len())
            }
            Codec::Lz4 => lz4_flex::block::decompress_into(packed, to).ok(),
            Codec::Zstd(_) => {
                let zstd = self.zstd.as_mut();
                zstd.and_then(|zstd| zstd.decompress_to_buffer(packed, to).ok())
            }
        };
        match len {
            Some(len) if len == to.len() => Ok(()),
            _ => Err(bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_come_back_whatever_the_codec_and_cut_ones_are_refused() {
        let text: Vec<u8> = (0..70_000_u32).map(|n| (n / 97) as u8).collect();
        for codec in [Codec::Lz4, Codec::Zstd(1), Codec::Zstd(3)] {
            let mut packed = vec![0; codec.bound(text.len())];
            let mut packer = Packer::new(codec).unwrap();
            let len = packer.pack(&text, &mut packed).unwrap();
            assert!(len < text.len() / 4, "{codec:?}: {len}");
            let mut back = vec![0; text.len()];
            let mut unpacker = Unpacker::new();
            unpacker.unpack(codec, &packed[..len], &mut back).unwrap();
            assert_eq!(back, text);
            for cut in [0, 1, len / 2, len - 1] {
                let cut = unpacker.unpack(codec, &packed[..cut], &mut back);
                assert!(cut.is_err(), "{codec:?}");
            }
        }
    }
}
