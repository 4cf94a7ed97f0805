//! Bitmap pages: GAM, SGAM, DCM, BCM and IAM.

use super::pfs::RECORD_HEADER;
use super::places::{ExtentRange, GAM_INTERVAL_EXTENTS};
use crate::bytes::chunk;
use crate::{Page, PageBuf, record_len};

/// Bytes of the map.
pub(super) const BITMAP_BYTES: usize = GAM_INTERVAL_EXTENTS as usize / 8;
/// Slot of the record that holds the map.
const BITMAP_SLOT: u16 = 1;

const _: () = assert!(BITMAP_BYTES == 7988);

/// First byte of the map, found through the slot array (194, or 196 on aligned pages).
#[inline]
fn map_start(page: Page<'_>) -> Option<usize> {
    if !page.page_type().is_bitmap() {
        return None;
    }
    let record = page.record_start(BITMAP_SLOT)?;
    if record_len(page.page_type(), page.pminlen(), record)? != RECORD_HEADER + BITMAP_BYTES {
        return None;
    }
    Some(usize::from(page.slot_offset(BITMAP_SLOT)?) + RECORD_HEADER)
}

/// The map of a bitmap page, to read. Bit `i` belongs to the `i`-th extent of the page's interval.
#[derive(Debug, Clone, Copy)]
pub struct Bitmap<'a> {
    map: &'a [u8; BITMAP_BYTES],
}

impl<'a> Bitmap<'a> {
    /// Bits in a map: the extents of an interval.
    pub const BITS: u32 = GAM_INTERVAL_EXTENTS;

    /// The page's map; `None` when the page is no bitmap page or its record is damaged.
    #[inline]
    pub fn new(page: &'a PageBuf) -> Option<Bitmap<'a>> {
        let start = map_start(Page::new(page))?;
        Some(Bitmap {
            map: page.get(start..)?.first_chunk()?,
        })
    }

    /// The bit; bits beyond the map are 0.
    #[inline]
    pub fn get(self, bit: u32) -> bool {
        self.map
            .get(bit as usize / 8)
            .is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }

    /// The first bit set in `from..end`.
    pub fn first_set(self, from: u32, end: u32) -> Option<u32> {
        let end = end.min(Self::BITS);
        let mut bit = from;
        while bit < end {
            let word = self.word(bit / 64) >> (bit % 64);
            if word != 0 {
                let found = bit + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            bit = (bit / 64 + 1) * 64;
        }
        None
    }

    /// The first bit set among the first `size` bits, looking from `hint` on and then from 0.
    pub fn first_set_from_hint(self, hint: u32, size: u32) -> Option<u32> {
        self.first_set(hint, size)
            .or_else(|| self.first_set(0, hint.min(size)))
    }

    /// How many of the first `size` bits are set.
    pub fn count(self, size: u32) -> u32 {
        let size = size.min(Self::BITS);
        let whole: u32 = (0..size / 64)
            .map(|index| self.word(index).count_ones())
            .sum();
        match size % 64 {
            0 => whole,
            rest => whole + (self.word(size / 64) << (64 - rest)).count_ones(),
        }
    }

    /// The bits set among the first `size`, in order.
    pub fn iter_set(self, size: u32) -> impl Iterator<Item = u32> + 'a {
        let mut next = 0;
        std::iter::from_fn(move || {
            let found = self.first_set(next, size)?;
            next = found + 1;
            Some(found)
        })
    }

    /// The runs of equal bits among the first `size`, as DBCC PAGE prints them.
    pub fn runs(self, size: u32) -> impl Iterator<Item = (ExtentRange, bool)> + 'a {
        let size = size.min(Self::BITS);
        let mut next = 0;
        std::iter::from_fn(move || {
            if next >= size {
                return None;
            }
            let (start, value) = (next, self.get(next));
            while next < size && self.get(next) == value {
                next += 1;
            }
            Some((ExtentRange { start, end: next }, value))
        })
    }

    /// The 64 bits from bit `64 * index` on.
    #[inline]
    pub fn word(self, index: u32) -> u64 {
        let at = index as usize * 8;
        if let Some(bytes) = chunk(self.map, at) {
            return u64::from_le_bytes(bytes);
        }
        // The last 64-bit unit is half: 7,988 is 4 above a multiple of 8.
        u64::from(chunk(self.map, at).map_or(0, u32::from_le_bytes))
    }
}

/// Sets those of the 64 bits from bit `64 * index` on that are set in `bits`, as far as the map has them;
/// `false` when the page has no sound map.
pub fn add_map_bits(page: &mut PageBuf, index: usize, bits: u64) -> bool {
    let Some(start) = map_start(Page::new(page)) else {
        return false;
    };
    let Some(map) = page.get_mut(start..start + BITMAP_BYTES) else {
        return false;
    };
    let places = map.iter_mut().skip(index * 8);
    for (place, byte) in places.zip(bits.to_le_bytes()) {
        *place |= byte;
    }
    true
}

/// Replaces the 64 bits from bit `64 * index` on, as far as the map has them; `false` when the page has no
/// sound map.
pub fn set_map_word(page: &mut PageBuf, index: usize, bits: u64) -> bool {
    let Some(start) = map_start(Page::new(page)) else {
        return false;
    };
    let Some(map) = page.get_mut(start..start + BITMAP_BYTES) else {
        return false;
    };
    let places = map.iter_mut().skip(index * 8);
    for (place, byte) in places.zip(bits.to_le_bytes()) {
        *place = byte;
    }
    true
}

/// Sets bits `first .. first + count`, as far as the map has them; `false` when the page has no sound map.
pub(crate) fn set_bits(page: &mut PageBuf, first: u16, count: u16, value: bool) -> bool {
    let (first, end) = (usize::from(first), usize::from(first) + usize::from(count));
    let Some(start) = map_start(Page::new(page)) else {
        return false;
    };
    let Some(map) = page.get_mut(start..start + BITMAP_BYTES) else {
        return false;
    };
    let mut bit = first;
    while bit < end {
        let behind = end.min((bit / 8 + 1) * 8);
        let mask = (0xFF_u8 << (bit % 8)) & (0xFF_u8 >> ((8 - behind % 8) % 8));
        if let Some(byte) = map.get_mut(bit / 8) {
            *byte = if value { *byte | mask } else { *byte & !mask };
        }
        bit = behind;
    }
    true
}
