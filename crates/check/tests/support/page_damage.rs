//! How tests damage the pages of a file, each type in turn. The tests of the program use it, too.

use furrow_format::{FileId, PAGE_SIZE, Page, PageId, PageNo, Pfs, Protection, untear, verify};
use std::collections::BTreeMap;

/// What is done to a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Damage {
    /// The type of the page becomes 0.
    Type,
    /// One bit at the end of a sector is the other way round.
    Bit,
    /// The page is all zeros.
    Zeros,
}

pub(crate) const ALL: [Damage; 3] = [Damage::Type, Damage::Bit, Damage::Zeros];

impl Damage {
    /// A copy of the file in which the page is damaged.
    pub(crate) fn of(self, file: &[u8], page: u32) -> Vec<u8> {
        let mut file = file.to_vec();
        let at = page as usize * PAGE_SIZE;
        match self {
            Damage::Type => file[at + 1] = 0,
            Damage::Bit => file[at + 2047] ^= 1,
            Damage::Zeros => file[at..at + PAGE_SIZE].fill(0),
        }
        file
    }

    /// Whether a page with this protection shows the damage.
    pub(crate) fn shows(self, protection: Protection) -> bool {
        self != Damage::Bit || protection != Protection::None
    }
}

/// A page of the first file.
pub(crate) fn at(page: u32) -> PageId {
    let (file, page) = (FileId(1), PageNo(page));
    PageId { file, page }
}

/// The first, the middle and the last page in use of each type and protection.
pub(crate) fn victims(file: &[u8]) -> Vec<(u32, Protection)> {
    let (pages, _) = file.as_chunks::<PAGE_SIZE>();
    let mut map = pages[1];
    untear(&mut map);
    let pfs = Pfs::new(&map).unwrap();
    let mut by_kind: BTreeMap<(u8, bool), Vec<(u32, Protection)>> = BTreeMap::new();
    for (number, page) in (0..8088).zip(pages) {
        if pfs.get(number as u16).is_allocated() {
            let protection = verify(page, at(number)).unwrap();
            let kind = (
                Page::new(page).page_type().to_byte(),
                protection == Protection::None,
            );
            by_kind.entry(kind).or_default().push((number, protection));
        }
    }
    assert!(by_kind.len() >= 10, "{by_kind:?}");
    let few =
        |pages: Vec<(u32, Protection)>| [0, pages.len() / 2, pages.len() - 1].map(|at| pages[at]);
    let mut all: Vec<_> = by_kind.into_values().flat_map(few).collect();
    all.dedup_by_key(|page| page.0);
    all
}
