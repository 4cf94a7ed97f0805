//! Page protection: checksum, torn bits, own id.
//!
//! The flags of a page on disk show how it is protected:
//! - checksum: an exclusive-or over 16 sectors, each rotated by its place, in `m_tornBits`;
//! - torn bits: the two low bits of the last byte of sectors 1 to 15 hold a signature that alternates between
//!   writes, the displaced bits lie in `m_tornBits`, and the page must be restored ([`untear`]) before use;
//! - neither: pages never written since they were formatted by SQL Server.
//!
//! The checksum is weak (two flips in one bit column of one sector cancel); it is part of the format, so
//! Furrow uses it.

use crate::bytes::u32_at;
use crate::page::TORN_BITS;
use crate::{PAGE_SIZE, Page, PageBuf, PageFlags, PageId, PageMut, PageType};

const SECTOR_SIZE: usize = 512;
const SECTORS: usize = PAGE_SIZE / SECTOR_SIZE;
/// The signature pair.
const PAIR: u8 = 0b11;

/// How a page that passed was protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protection {
    /// By a checksum.
    Checksum,
    /// By torn bits: restore the page before use.
    TornBits,
    /// By its own id only.
    None,
}

/// What is wrong with a page: the reason in message 824.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageFault {
    /// The content does not give the checksum that the page states.
    #[error("incorrect checksum (expected: {expected:#010x}; actual: {actual:#010x})")]
    Checksum {
        /// Stated.
        expected: u32,
        /// Computed.
        actual: u32,
    },
    /// Not all sectors carry the signature: they come from different writes.
    #[error("torn page (expected signature: {expected:#010x}; actual signature: {actual:#010x})")]
    Torn {
        /// The first sector's signature, repeated for each sector.
        expected: u32,
        /// What the sectors carry, two bits each.
        actual: u32,
    },
    /// The page is another one, or none.
    #[error(
        "incorrect pageid (expected {}:{}; actual {}:{})",
        expected.file, expected.page, actual.file, actual.page
    )]
    PageId {
        /// The requested id.
        expected: PageId,
        /// Stated by the page.
        actual: PageId,
    },
    /// The page is of a type that its place cannot have. No part of [`verify`]: a reader that has a place in
    /// mind finds it.
    #[error("incorrect page type ({}actual: {actual})", Expected(*expected))]
    PageType {
        /// What the place demands; `None` where several types may be.
        expected: Option<PageType>,
        /// Stated by the page.
        actual: u8,
    },
    /// The page has the type that its place demands, and not the records of it.
    #[error("the records of the {kind} are damaged")]
    Records {
        /// The page's type.
        kind: PageType,
    },
}

/// The expected type in the text of a fault.
struct Expected(Option<PageType>);

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(kind) => write!(f, "expected: {}, {kind}; ", kind.to_byte()),
            None => Ok(()),
        }
    }
}

/// The checksum of a page; `m_tornBits` itself counts as zero.
pub fn page_checksum(page: &PageBuf) -> u32 {
    let mut sum = 0;
    for (index, sector) in page.chunks_exact(SECTOR_SIZE).enumerate() {
        // Sixteen lanes, so that the loop becomes vector instructions.
        let mut lanes = [0_u32; 16];
        for line in sector.chunks_exact(64) {
            for (lane, word) in lanes.iter_mut().zip(line.chunks_exact(4)) {
                *lane ^= u32_at(word, 0).unwrap_or(0);
            }
        }
        let mut folded = lanes.iter().fold(0, |all, lane| all ^ lane);
        if index == 0 {
            folded ^= TORN_BITS.get_u32(page);
        }
        sum ^= folded.rotate_left((SECTORS - 1 - index) as u32);
    }
    sum
}

/// Marks the page as protected by a checksum, and states it. The last step before a page is written.
pub fn stamp_checksum(page: &mut PageBuf) {
    let flags = Page::new(page).flags();
    let flags = flags
        .without(PageFlags::TORN_BITS)
        .with(PageFlags::CHECKSUM);
    PageMut::new(page).set_flags(flags);
    let sum = page_checksum(page);
    PageMut::new(page).set_torn_bits(sum);
}

/// Marks the page as protected by torn bits, and places the signature that follows the page's last one.
///
/// The page is unusable until [`untear`] restores it: for the copy that is written.
pub fn stamp_torn_bits(page: &mut PageBuf) {
    let view = Page::new(page);
    let flags = view
        .flags()
        .without(PageFlags::CHECKSUM)
        .with(PageFlags::TORN_BITS);
    let signature = if view.torn_bits() as u8 & PAIR == 1 {
        2
    } else {
        1
    };
    PageMut::new(page).set_flags(flags);
    let mut displaced = u32::from(signature);
    for (sector, byte) in sector_ends(page) {
        displaced |= u32::from(*byte & PAIR) << (2 * sector);
        *byte = *byte & !PAIR | signature;
    }
    PageMut::new(page).set_torn_bits(displaced);
}

/// Marks the page as protected by neither.
pub(crate) fn stamp_nothing(page: &mut PageBuf) {
    let flags = Page::new(page).flags();
    let flags = flags
        .without(PageFlags::TORN_BITS)
        .without(PageFlags::CHECKSUM);
    PageMut::new(page).set_flags(flags);
    PageMut::new(page).set_torn_bits(0);
}

/// Puts the displaced bits back, where the page carries torn bits, and clears the flag so that it
/// happens once.
///
/// `m_tornBits` stays: it holds the signature that the next write must not repeat.
pub fn untear(page: &mut PageBuf) {
    let view = Page::new(page);
    if !view.flags().has(PageFlags::TORN_BITS) {
        return;
    }
    let (flags, displaced) = (view.flags().without(PageFlags::TORN_BITS), view.torn_bits());
    for (sector, byte) in sector_ends(page) {
        *byte = *byte & !PAIR | (displaced >> (2 * sector)) as u8 & PAIR;
    }
    PageMut::new(page).set_flags(flags);
}

/// Verifies that the page is whole and is the one expected. Changes nothing: torn bits stay in place.
pub fn verify(page: &PageBuf, expected: PageId) -> Result<Protection, PageFault> {
    let view = Page::new(page);
    let protection = if view.flags().has(PageFlags::CHECKSUM) {
        let (stated, actual) = (view.torn_bits(), page_checksum(page));
        if stated != actual {
            return Err(PageFault::Checksum {
                expected: stated,
                actual,
            });
        }
        Protection::Checksum
    } else if view.flags().has(PageFlags::TORN_BITS) {
        let (expected, actual) = signatures(page);
        if expected != actual {
            return Err(PageFault::Torn { expected, actual });
        }
        Protection::TornBits
    } else {
        Protection::None
    };
    if view.page_id() != expected {
        return Err(PageFault::PageId {
            expected,
            actual: view.page_id(),
        });
    }
    Ok(protection)
}

/// [`verify`], then [`untear`]: what a reader does with every page before use.
pub fn admit(page: &mut PageBuf, expected: PageId) -> Result<Protection, PageFault> {
    let protection = verify(page, expected)?;
    if protection == Protection::TornBits {
        untear(page);
    }
    Ok(protection)
}

/// The signature of sector 0 repeated, and what all sectors carry.
fn signatures(page: &PageBuf) -> (u32, u32) {
    let signature = Page::new(page).torn_bits() & u32::from(PAIR);
    let mut actual = signature;
    for (sector, bytes) in page.chunks_exact(SECTOR_SIZE).enumerate().skip(1) {
        let last = bytes.last().copied().unwrap_or(0);
        actual |= u32::from(last & PAIR) << (2 * sector);
    }
    (signature * 0x5555_5555, actual)
}

/// The last byte of sectors 1 to 15.
fn sector_ends(page: &mut PageBuf) -> impl Iterator<Item = (usize, &mut u8)> {
    let sectors = page.chunks_exact_mut(SECTOR_SIZE).enumerate().skip(1);
    sectors.filter_map(|(sector, bytes)| Some((sector, bytes.last_mut()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocUnitId, PageInit, PageType};

    fn sample(page: PageId) -> PageBuf {
        let mut bytes = [0; PAGE_SIZE];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (index % 251) as u8;
        }
        let init = PageInit::new(page, PageType::Data, AllocUnitId(7 << 16), 4);
        let body: [u8; PAGE_SIZE] = bytes;
        PageMut::new(&mut bytes).format(&init);
        bytes[96..].copy_from_slice(&body[96..]);
        bytes
    }

    fn only(index: usize, value: u8) -> PageBuf {
        let mut page = [0; PAGE_SIZE];
        page[index] = value;
        page
    }

    #[test]
    fn checksums_equal_the_published_vectors() {
        let mut remainders = [0; PAGE_SIZE];
        let mut counter = [0; PAGE_SIZE];
        for index in 0..PAGE_SIZE {
            remainders[index] = (index % 251) as u8;
            counter[index] = ((index / 4) as u32).to_le_bytes()[index % 4];
        }
        for (page, sum) in vec![
            ([0; PAGE_SIZE], 0),
            (remainders, 0xD202_2FFF),
            (only(96, 1), 0x8000),
            (only(512, 1), 0x4000),
            (only(4096, 1), 0x80),
            (only(8191, 0x80), 0x8000_0000),
            ([0xFF; PAGE_SIZE], 0xFFFF_FFFF),
            (counter, 0x0007_8000),
            (only(60, 0xAA), 0),
            (only(63, 0xAA), 0),
        ] {
            assert_eq!(page_checksum(&page), sum);
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_fails_the_checksum() {
        let id = PageId::new(1, 42);
        let mut page = sample(id);
        stamp_checksum(&mut page);
        assert_eq!(verify(&page, id), Ok(Protection::Checksum));
        for index in (0..PAGE_SIZE)
            .step_by(37)
            .filter(|index| !(4..6).contains(index))
        {
            page[index] ^= 0x10;
            let fault = verify(&page, id).unwrap_err();
            assert!(
                matches!(fault, PageFault::Checksum { .. }),
                "byte {index}: {fault}"
            );
            page[index] ^= 0x10;
        }
        let wrong = PageId::new(1, 43);
        let fault = PageFault::PageId {
            expected: wrong,
            actual: id,
        };
        assert_eq!(verify(&page, wrong), Err(fault));
        assert_eq!(
            fault.to_string(),
            "incorrect pageid (expected 1:43; actual 1:42)"
        );
    }

    #[test]
    fn a_page_of_zeros_is_another_page() {
        let id = PageId::new(3, 8);
        let fault = PageFault::PageId {
            expected: id,
            actual: PageId::NONE,
        };
        assert_eq!(verify(&[0; PAGE_SIZE], id), Err(fault));
    }

    #[test]
    fn torn_bits_alternate_and_give_the_page_back() {
        let id = PageId::new(1, 5);
        let mut page = sample(id);
        let body = page;
        for signature in [1, 2, 1] {
            stamp_torn_bits(&mut page);
            assert_eq!(Page::new(&page).torn_bits() & 3, signature);
            assert_eq!(page[8191] & 3, signature as u8);
            assert_ne!(page[96..], body[96..]);
            assert_eq!(admit(&mut page, id), Ok(Protection::TornBits));
            assert_eq!(page[96..], body[96..]);
            untear(&mut page);
            assert_eq!(page[96..], body[96..]);
        }
    }

    #[test]
    fn half_of_an_older_write_is_a_torn_page() {
        let id = PageId::new(1, 5);
        let mut page = sample(id);
        stamp_torn_bits(&mut page);
        let older = page;
        untear(&mut page);
        stamp_torn_bits(&mut page);
        page[4096..].copy_from_slice(&older[4096..]);
        let fault = verify(&page, id).unwrap_err();
        let expected = PageFault::Torn {
            expected: 0xAAAA_AAAA,
            actual: 0x5555_AAAA,
        };
        assert_eq!(fault, expected);
        assert_eq!(
            fault.to_string(),
            "torn page (expected signature: 0xaaaaaaaa; actual signature: 0x5555aaaa)"
        );
    }
}
