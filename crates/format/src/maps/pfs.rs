//! PFS pages: one status byte for each page of an interval.

use super::places::PFS_INTERVAL;
use crate::{Page, PageBuf, PageType, record_len};
use std::fmt;

/// Bytes of the PFS record before the status bytes.
pub(super) const RECORD_HEADER: usize = 4;
pub(super) const PFS_BYTES: usize = PFS_INTERVAL as usize;

/// The PFS entry of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PfsByte(pub u8);

impl PfsByte {
    /// The page holds ghost records. A hint: real files have it off on some pages with ghosts.
    pub const GHOSTS: u8 = 0x08;
    /// The page is an IAM page.
    pub const IAM: u8 = 0x10;
    /// The page lies in a mixed extent.
    pub const MIXED: u8 = 0x20;
    /// The page is in use.
    pub const ALLOCATED: u8 = 0x40;
    const FULLNESS: u8 = 0x07;

    /// A page that is not in use.
    pub const FREE: PfsByte = PfsByte(0);
    /// Header and map pages at fixed places: in use, full.
    pub const FIXED: PfsByte = PfsByte(0x44);
    /// The boot page.
    pub const BOOT: PfsByte = PfsByte(0x64);
    /// A page of a mixed extent that an IAM page names, not in use yet or any more.
    pub const SET_ASIDE: PfsByte = PfsByte(0x20);
    /// An IAM page, in a mixed extent.
    pub const IAM_PAGE: PfsByte = PfsByte(0x70);

    /// Whether the bits are set.
    #[inline]
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }

    /// Whether the page is in use.
    #[inline]
    pub const fn is_allocated(self) -> bool {
        self.has(Self::ALLOCATED)
    }

    /// Whether a page of a mixed extent has an owner: it is in use, or set aside by an IAM page.
    #[inline]
    pub const fn is_taken(self) -> bool {
        self.0 & (Self::ALLOCATED | Self::MIXED) != 0
    }

    /// How full the page is. The three values without a meaning read as full.
    #[inline]
    pub const fn fullness(self) -> Fullness {
        match self.0 & Self::FULLNESS {
            0 => Fullness::Empty,
            1 => Fullness::UpTo50,
            2 => Fullness::UpTo80,
            3 => Fullness::UpTo95,
            _ => Fullness::UpTo100,
        }
    }

    /// With another fullness.
    #[must_use]
    pub const fn with_fullness(self, fullness: Fullness) -> PfsByte {
        PfsByte(self.0 & !Self::FULLNESS | fullness as u8)
    }

    /// With bits set.
    #[must_use]
    pub const fn with(self, bits: u8) -> PfsByte {
        PfsByte(self.0 | bits)
    }

    /// With bits clear.
    #[must_use]
    pub const fn without(self, bits: u8) -> PfsByte {
        PfsByte(self.0 & !bits)
    }
}

/// Fullness classes, maintained for heaps and large values only: index pages stay at `Empty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fullness {
    /// Empty.
    Empty = 0,
    /// 1 to 50 percent.
    UpTo50 = 1,
    /// 51 to 80 percent.
    UpTo80 = 2,
    /// 81 to 95 percent.
    UpTo95 = 3,
    /// 96 to 100 percent.
    UpTo100 = 4,
}

impl Fullness {
    /// The class of a page with this many bytes of its body free.
    pub const fn of_free_bytes(free: u16) -> Fullness {
        let body = crate::BODY_SIZE as u32;
        let used = body.saturating_sub(free as u32);
        match (used * 100).div_ceil(body) {
            0 => Fullness::Empty,
            1..=50 => Fullness::UpTo50,
            51..=80 => Fullness::UpTo80,
            81..=95 => Fullness::UpTo95,
            _ => Fullness::UpTo100,
        }
    }

    /// The upper end of the class, in percent.
    pub const fn percent(self) -> u8 {
        match self {
            Fullness::Empty => 0,
            Fullness::UpTo50 => 50,
            Fullness::UpTo80 => 80,
            Fullness::UpTo95 => 95,
            Fullness::UpTo100 => 100,
        }
    }

    /// The fewest free bytes that a page of this class has: a search can rely on them.
    pub const fn least_free_bytes(self) -> u16 {
        (crate::BODY_SIZE as u32 * (100 - self.percent() as u32) / 100) as u16
    }
}

/// As DBCC PAGE prints it: `0x64 MIXED_EXT ALLOCATED 100_PCT_FULL`.
impl fmt::Display for PfsByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x} ", self.0)?;
        for (bit, word) in [
            (Self::IAM, "IAM_PG "),
            (Self::MIXED, "MIXED_EXT "),
            (Self::ALLOCATED, "ALLOCATED "),
        ] {
            if self.has(bit) {
                f.write_str(word)?;
            }
        }
        write!(f, "{:>3}_PCT_FULL", self.fullness().percent())?;
        if self.has(Self::GHOSTS) {
            f.write_str(" Has Ghost")?;
        }
        Ok(())
    }
}

#[inline]
fn bytes_start(page: Page<'_>) -> Option<usize> {
    if page.page_type() != PageType::Pfs {
        return None;
    }
    let record = page.record_start(0)?;
    if record_len(PageType::Pfs, page.pminlen(), record)? != RECORD_HEADER + PFS_BYTES {
        return None;
    }
    Some(usize::from(page.slot_offset(0)?) + RECORD_HEADER)
}

/// The status bytes of a PFS page, to read.
#[derive(Debug, Clone, Copy)]
pub struct Pfs<'a> {
    bytes: &'a [u8; PFS_BYTES],
}

impl<'a> Pfs<'a> {
    /// The page's status bytes; `None` when the page is no PFS page or its record is damaged.
    #[inline]
    pub fn new(page: &'a PageBuf) -> Option<Pfs<'a>> {
        let start = bytes_start(Page::new(page))?;
        Some(Pfs {
            bytes: page.get(start..)?.first_chunk()?,
        })
    }

    /// The entry of the `index`-th page of the interval; free beyond its end.
    #[inline]
    pub fn get(self, index: u16) -> PfsByte {
        self.bytes
            .get(usize::from(index))
            .map_or(PfsByte::FREE, |&byte| PfsByte(byte))
    }

    /// The status bytes in order.
    pub fn iter(self) -> impl Iterator<Item = PfsByte> + 'a {
        self.bytes.iter().map(|&byte| PfsByte(byte))
    }

    /// Which of the eight pages of an extent are in use, one bit each. `index` names any page of the extent.
    #[inline]
    pub fn allocated_in_extent(self, index: u16) -> u8 {
        let first = index & !7;
        (0..8).fold(0, |used, page| {
            used | u8::from(self.get(first + page).is_allocated()) << page
        })
    }

    /// Which of the eight pages of a mixed extent have an owner, one bit each. `index` names any page of it.
    #[inline]
    pub fn taken_in_extent(self, index: u16) -> u8 {
        let first = index & !7;
        (0..8).fold(0, |taken, page| {
            taken | u8::from(self.get(first + page).is_taken()) << page
        })
    }
}

/// Sets a status byte; `false`, with nothing changed, when the page has no sound PFS record or `index`
/// lies beyond it.
pub(crate) fn set_pfs(page: &mut PageBuf, index: u16, value: PfsByte) -> bool {
    let Some(start) = bytes_start(Page::new(page)) else {
        return false;
    };
    if usize::from(index) >= PFS_BYTES {
        return false;
    }
    crate::bytes::put(page, start + usize::from(index), &[value.0])
}
