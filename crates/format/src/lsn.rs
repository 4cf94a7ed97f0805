//! Log sequence numbers: three parts in one 64-bit number.

use std::fmt;

const BLOCK_BITS: u32 = 24;
const SLOT_BITS: u32 = 12;
const VLF_BITS: u32 = 64 - BLOCK_BITS - SLOT_BITS;

/// A place in the log: virtual log file, block within it, record within the block.
///
/// Packed so that the numbers are ordered as the log is: VLF sequence (28 bits), block offset in units of 512
/// bytes (24 bits, so a VLF is at most 8 GB), record number in the block (12 bits, from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before every record: never assigned.
    pub const ZERO: Lsn = Lsn(0);
    /// After every record.
    pub const MAX: Lsn = Lsn(u64::MAX);
    /// Largest VLF sequence number.
    pub const MAX_VLF: u32 = (1 << VLF_BITS) - 1;
    /// Largest block offset, in units of 512 bytes.
    pub const MAX_BLOCK: u32 = (1 << BLOCK_BITS) - 1;
    /// Largest record number in a block.
    pub const MAX_SLOT: u16 = (1 << SLOT_BITS) - 1;

    /// From its parts; `None` when a part is out of range.
    pub const fn new(vlf: u32, block: u32, slot: u16) -> Option<Lsn> {
        if vlf > Self::MAX_VLF || block > Self::MAX_BLOCK || slot > Self::MAX_SLOT {
            return None;
        }
        let word =
            (vlf as u64) << (BLOCK_BITS + SLOT_BITS) | (block as u64) << SLOT_BITS | slot as u64;
        Some(Lsn(word))
    }

    /// The number behind this one; the largest has none, and is its own.
    #[must_use]
    pub const fn next(self) -> Lsn {
        Lsn(self.0.saturating_add(1))
    }

    /// Sequence number of the virtual log file.
    pub const fn vlf(self) -> u32 {
        (self.0 >> (BLOCK_BITS + SLOT_BITS)) as u32
    }

    /// Offset of the block in the VLF, in units of 512 bytes.
    pub const fn block(self) -> u32 {
        (self.0 >> SLOT_BITS) as u32 & Self::MAX_BLOCK
    }

    /// Number of the record in its block, from 1.
    pub const fn slot(self) -> u16 {
        self.0 as u16 & Self::MAX_SLOT
    }

    /// The ten bytes of a page header: VLF u32, block u32, slot u16, little-endian.
    pub fn to_bytes(self) -> [u8; 10] {
        let [a, b, c, d] = self.vlf().to_le_bytes();
        let [e, f, g, h] = self.block().to_le_bytes();
        let [i, j] = self.slot().to_le_bytes();
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// From the ten bytes of a page header; a part that is out of range saturates (foreign files may
    /// hold any value).
    pub fn from_bytes(bytes: [u8; 10]) -> Lsn {
        let [a, b, c, d, e, f, g, h, i, j] = bytes;
        let vlf = u32::from_le_bytes([a, b, c, d]).min(Self::MAX_VLF);
        let block = u32::from_le_bytes([e, f, g, h]).min(Self::MAX_BLOCK);
        let slot = u16::from_le_bytes([i, j]).min(Self::MAX_SLOT);
        Lsn::new(vlf, block, slot).unwrap_or(Lsn::MAX)
    }

    /// The `numeric(25,0)` form of the catalog views: VLF, ten digits of block, five of slot.
    pub fn to_numeric(self) -> u128 {
        u128::from(self.vlf()) * 1_000_000_000_000_000
            + u128::from(self.block()) * 100_000
            + u128::from(self.slot())
    }
}

/// The form of DBCC PAGE: `(53:29972:1)`; with `{:x}` the form of the log views: `00000035:00007514:0001`.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{}:{})", self.vlf(), self.block(), self.slot())
    }
}

impl fmt::LowerHex for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:08x}:{:08x}:{:04x}",
            self.vlf(),
            self.block(),
            self.slot()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsn_prints_in_its_three_published_forms() {
        for (vlf, block, slot, hex, numeric) in [
            (
                53,
                29972,
                1,
                "00000035:00007514:0001",
                53_000_002_997_200_001,
            ),
            (
                53,
                3000,
                32,
                "00000035:00000bb8:0020",
                53_000_000_300_000_032,
            ),
            (
                1,
                8,
                1,
                "00000001:00000008:0001",
                1_000_000_000_800_001_u128,
            ),
        ] {
            let lsn = Lsn::new(vlf, block, slot).unwrap();
            assert_eq!(lsn.to_string(), format!("({vlf}:{block}:{slot})"));
            assert_eq!(format!("{lsn:x}"), hex);
            assert_eq!(lsn.to_numeric(), numeric);
            assert_eq!(Lsn::from_bytes(lsn.to_bytes()), lsn);
        }
    }

    #[test]
    fn lsns_order_by_vlf_then_block_then_record() {
        let lsn = |v, b, s| Lsn::new(v, b, s).unwrap();
        assert!(lsn(1, 9, 9) < lsn(2, 0, 1));
        assert!(lsn(2, 1, 4) < lsn(2, 2, 1));
        assert!(lsn(2, 2, 1) < lsn(2, 2, 2));
        assert!(Lsn::new(0, Lsn::MAX_BLOCK + 1, 0).is_none());
    }
}
