//! The header of a chunk.
//!
//! | bytes | field |
//! |---|---|
//! | 00-03 | magic `FBCK` |
//! | 04-07 | CRC-32C of the unit, this field taken as zero |
//! | 08 | kind: 1 begin of a set, 2 pages, 3 log, 4 end of a set, 5 tail |
//! | 09 | codec of the payload: 0 none, 1 LZ4, 2 ZSTD |
//! | 10 | 1: the payload is encrypted, and the header authenticated |
//! | 12-13 | number of the stripe |
//! | 14-15 | position of the set on the media, from 1 |
//! | 16-31 | GUID of the set |
//! | 32-39 | number of the chunk within the set and the stripe, from 0 |
//! | 40-43 | round: pages of a later round replace those of earlier ones |
//! | 44-47 | bytes of the payload before it was packed |
//! | 48-51 | bytes of the payload in the file, without its padding |
//! | 52-55 | CRC-32C of the payload in the file and of its padding |
//! | 56-59 | runs |
//! | 64-.. | runs, 12 bytes each; of a tail three words of 64 bits, and its tag of 16 bytes |
//!
//! A run of pages is the file's number, the first page and the count; of a log block the number of its
//! virtual log file, its offset there in 512-byte units and its bytes. The payload holds them one after the
//! other.

use super::cipher::{ChunkPlace, TAG_BYTES, authenticated};
use super::codec::Codec;
use super::{MAX_PAYLOAD, MediaError, UNIT, bytes_at, crc_without, put};
use furrow_types::Guid;

const MAGIC: [u8; 4] = *b"FBCK";
const CRC: usize = 4;
const RUNS: usize = 64;
const RUN_BYTES: usize = 12;
const PAYLOAD_CRC: usize = 52;
/// Of a tail.
const TAG: usize = RUNS + 3 * 8;
/// Most runs in a chunk.
pub const MAX_RUNS: usize = (UNIT - RUNS) / RUN_BYTES;

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// What is known of a backup when it begins.
    Begin,
    /// Pages.
    Pages,
    /// Blocks of the log.
    Log,
    /// What is known of a backup when it has ended.
    End,
    /// The last unit of a set: the places of its begin and end, and of the tail before.
    Tail,
}

impl ChunkKind {
    fn byte(self) -> u8 {
        match self {
            ChunkKind::Begin => 1,
            ChunkKind::Pages => 2,
            ChunkKind::Log => 3,
            ChunkKind::End => 4,
            ChunkKind::Tail => 5,
        }
    }

    fn of_byte(byte: u8) -> Option<ChunkKind> {
        use ChunkKind as K;
        [K::Begin, K::Pages, K::Log, K::End, K::Tail]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// Pages that follow one another, or a block of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The file, or the virtual log file.
    pub file: u32,
    /// The first page, or the offset in 512-byte units.
    pub first: u32,
    /// How many pages, or bytes.
    pub count: u32,
}

/// The header of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkHeader {
    /// What it holds.
    pub kind: ChunkKind,
    /// How the payload is packed.
    pub codec: Codec,
    /// Whether the payload is encrypted.
    pub encrypted: bool,
    /// The stripe.
    pub family: u16,
    /// The set's position on the media.
    pub position: u16,
    /// The set.
    pub set: Guid,
    /// The chunk's number in set and stripe.
    pub number: u64,
    /// Later rounds replace pages of earlier ones.
    pub round: u32,
    /// Bytes of the payload before it was packed.
    pub raw_bytes: u32,
    /// Bytes of the payload in the file.
    pub stored_bytes: u32,
    /// Checksum of the payload in the file, with its padding.
    pub payload_crc: u32,
    /// What the payload holds.
    pub runs: Vec<Run>,
    /// Of a tail: places in the stripe of the set's begin, its end, and the tail before (0: none).
    pub places: [u64; 3],
    /// Of an encrypted tail.
    pub(super) tag: [u8; TAG_BYTES],
}

impl ChunkHeader {
    /// A chunk of this kind; the writer fills in stripe, set and number.
    pub fn new(kind: ChunkKind) -> ChunkHeader {
        ChunkHeader {
            kind,
            codec: Codec::None,
            encrypted: false,
            family: 0,
            position: 0,
            set: Guid([0; 16]),
            number: 0,
            round: 0,
            raw_bytes: 0,
            stored_bytes: 0,
            payload_crc: 0,
            runs: Vec::new(),
            places: [0; 3],
            tag: [0; TAG_BYTES],
        }
    }

    /// Writes the header into its unit.
    pub fn encode(&self, unit: &mut [u8]) {
        debug_assert!(self.runs.len() <= MAX_RUNS && unit.len() == UNIT);
        unit.fill(0);
        put(unit, 0, &MAGIC);
        put(
            unit,
            8,
            &[
                self.kind.byte(),
                self.codec.byte(),
                u8::from(self.encrypted),
            ],
        );
        put(unit, 12, &self.family.to_le_bytes());
        put(unit, 14, &self.position.to_le_bytes());
        put(unit, 16, &self.set.0);
        put(unit, 32, &self.number.to_le_bytes());
        put(unit, 40, &self.round.to_le_bytes());
        put(unit, 44, &self.raw_bytes.to_le_bytes());
        put(unit, 48, &self.stored_bytes.to_le_bytes());
        put(unit, PAYLOAD_CRC, &self.payload_crc.to_le_bytes());
        put(unit, 56, &(self.runs.len() as u32).to_le_bytes());
        for (at, run) in self.runs.iter().enumerate() {
            for (word, value) in [run.file, run.first, run.count].into_iter().enumerate() {
                put(unit, RUNS + at * RUN_BYTES + word * 4, &value.to_le_bytes());
            }
        }
        if self.kind == ChunkKind::Tail {
            for (at, place) in self.places.into_iter().enumerate() {
                put(unit, RUNS + at * 8, &place.to_le_bytes());
            }
            put(unit, TAG, &self.tag);
        }
        let crc = crc_without(unit, CRC);
        put(unit, CRC, &crc.to_le_bytes());
    }

    /// Its nonce.
    pub(super) fn place(&self) -> ChunkPlace {
        ChunkPlace {
            family: self.family,
            number: self.number,
        }
    }

    /// What is authenticated of the unit of this header.
    pub(super) fn authenticated(&self, unit: &[u8]) -> Vec<u8> {
        let tag = match self.kind {
            ChunkKind::Tail => TAG..TAG + TAG_BYTES,
            _ => 0..0,
        };
        authenticated(unit, &[CRC..CRC + 4, PAYLOAD_CRC..PAYLOAD_CRC + 4, tag])
    }

    /// Reads the unit.
    pub fn decode(unit: &[u8]) -> Result<ChunkHeader, MediaError> {
        ChunkHeader::parse(unit).ok_or(MediaError::Damaged("the header of a chunk"))
    }

    fn parse(unit: &[u8]) -> Option<ChunkHeader> {
        let half = |at| Some(u16::from_le_bytes(bytes_at(unit, at)?));
        let word = |at| Some(u32::from_le_bytes(bytes_at(unit, at)?));
        let long = |at| Some(u64::from_le_bytes(bytes_at(unit, at)?));
        let sealed = unit.len() == UNIT && bytes_at(unit, 0)? == MAGIC;
        if !sealed || word(CRC)? != crc_without(unit, CRC) {
            return None;
        }
        let [kind, codec, encrypted] = bytes_at(unit, 8)?;
        let kind = ChunkKind::of_byte(kind)?;
        let (raw_bytes, stored_bytes) = (word(44)?, word(48)?);
        let runs = word(56)? as usize;
        let longer = match encrypted {
            0 => 0,
            1 => TAG_BYTES,
            _ => return None,
        };
        let fits = raw_bytes as usize <= MAX_PAYLOAD
            && stored_bytes as usize <= MAX_PAYLOAD + longer
            && runs <= MAX_RUNS;
        if !fits {
            return None;
        }
        let run = |at: usize| {
            let at = RUNS + at * RUN_BYTES;
            Some(Run {
                file: word(at)?,
                first: word(at + 4)?,
                count: word(at + 8)?,
            })
        };
        let places = match kind {
            ChunkKind::Tail => [long(RUNS)?, long(RUNS + 8)?, long(RUNS + 16)?],
            _ => [0; 3],
        };
        Some(ChunkHeader {
            kind,
            codec: Codec::of_byte(codec)?,
            encrypted: encrypted == 1,
            family: half(12)?,
            position: half(14)?,
            set: Guid(bytes_at(unit, 16)?),
            number: long(32)?,
            round: word(40)?,
            raw_bytes,
            stored_bytes,
            payload_crc: word(PAYLOAD_CRC)?,
            runs: (0..runs).map(run).collect::<Option<_>>()?,
            places,
            tag: match kind {
                ChunkKind::Tail => bytes_at(unit, TAG)?,
                _ => [0; TAG_BYTES],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_header_reads_back_and_any_flipped_bit_of_the_unit_is_found() {
        let run = |n| Run {
            file: n,
            first: n * 8,
            count: 8,
        };
        let header = ChunkHeader {
            codec: Codec::Lz4,
            family: 2,
            position: 1,
            set: Guid([3; 16]),
            number: 99,
            round: 1,
            raw_bytes: 8192,
            stored_bytes: 4000,
            payload_crc: 77,
            runs: (0..MAX_RUNS as u32).map(run).collect(),
            ..ChunkHeader::new(ChunkKind::Pages)
        };
        let mut unit = vec![0xFF; UNIT];
        header.encode(&mut unit);
        assert_eq!(ChunkHeader::decode(&unit), Ok(header));
        for bit in 0..UNIT * 8 {
            unit[bit / 8] ^= 1 << (bit % 8);
            assert!(ChunkHeader::decode(&unit).is_err(), "bit {bit}");
            unit[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
