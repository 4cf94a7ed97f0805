//! Pages whose rows are all plain: one pass over the slot array instead of several.
//!
//! A row is plain if its page type may have it, live or deleted, it has not moved, and its parts lie inside
//! the used part of the page. A page is plain if all of its slots have such rows, no two of them have a byte
//! in common, and its header counts their bytes. About a plain page the rules of [`super::frame`] and those
//! about the kinds of its rows have no finding, so they are left out. A page that is not plain gets all
//! rules: this file makes no findings.
//!
//! # Invariants
//! 1. *A page that counts as plain has no finding by the general rules, and leaves the same rows.* Proof:
//!    `a_page_that_counts_as_plain_has_no_finding_by_the_general_rules`.

use super::worker::{SlotPlace, Worker};
use furrow_format::{
    BODY_SIZE, HEADER_SIZE, Page, PageFlags, RecordKind, SLOT_SIZE, Status, VERSION_TAG_SIZE,
    u16_at, u32_at,
};

/// The bits of a variable column's end that are its place.
const END: u16 = 0x7FFF;

/// What rows of a page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Rows of a heap or of a clustered leaf.
    Data,
    /// Leaf rows of an index.
    IndexLeaf,
    /// Entries of a page that is no leaf.
    Node,
}

impl Rows {
    /// Whether a row with these status bytes is plain.
    fn allow(self, status: Status, tag: u8) -> bool {
        let kind = match status.kind() {
            RecordKind::Primary | RecordKind::GhostData => self == Rows::Data && tag == 0,
            RecordKind::Index => self != Rows::Data,
            RecordKind::GhostIndex => self == Rows::IndexLeaf,
            _ => false,
        };
        kind && status.0 & 0x81 == 0
    }
}

/// What the first bytes of a record say; rows of a page mostly begin alike.
#[derive(Clone, Copy)]
struct Head {
    word: u32,
    fixed_end: usize,
    status: Status,
}

impl Head {
    /// `None`: a record that begins so is not plain.
    fn new(rows: Rows, pminlen: u16, word: u32) -> Option<Head> {
        let [status, tag, low, high] = word.to_le_bytes();
        let status = Status(status);
        let (least, fixed_end) = match rows {
            Rows::Data => (4, u16::from_le_bytes([low, high])),
            Rows::IndexLeaf | Rows::Node => (1, pminlen),
        };
        (rows.allow(status, tag) && fixed_end >= least).then_some(Head {
            word,
            fixed_end: fixed_end.into(),
            status,
        })
    }

    /// The length of a record that begins so.
    #[inline(always)]
    fn len(&self, record: &[u8]) -> Option<usize> {
        let mut end = self.fixed_end;
        if self.status.has(Status::NULL_BITMAP) {
            let columns = u16_at(record, end)?;
            end += 2 + usize::from(columns).div_ceil(8);
        }
        if self.status.has(Status::VARIABLE) {
            let vars = u16_at(record, end)?;
            let data = end + 2 + 2 * usize::from(vars);
            end = usize::from(u16_at(record, data - 2)? & END);
            if vars == 0 || end < data {
                return None;
            }
        }
        if self.status.has(Status::VERSION_TAG) {
            end += VERSION_TAG_SIZE;
        }
        (end <= record.len()).then_some(end)
    }
}

impl Worker<'_> {
    /// Collects the records of a page that is plain, and returns how many of them are ghosts. `None`: the
    /// page is not plain, and the records that were collected mean nothing.
    pub(super) fn plain_rows(&mut self, rows: Rows, view: Page<'_>) -> Option<u16> {
        let (array_start, free_data) = (view.slot_array_start()?, usize::from(view.free_data()));
        let (records, array) = view.bytes().split_at_checked(array_start)?;
        let records = records.get(..free_data)?;
        let padding = match view.flags().has(PageFlags::ALIGNED) {
            true => 3,
            false => 0,
        };
        let mask = match rows {
            Rows::Data => u32::MAX,
            // Behind the status of an index row its key begins.
            Rows::IndexLeaf | Rows::Node => 0xFF,
        };
        let word = u32_at(records, HEADER_SIZE)? & mask;
        let mut head = Head::new(rows, view.pminlen(), word)?;
        let (mut taken, mut ghosts, mut end, mut ascending) = (0, 0, HEADER_SIZE, true);
        self.slots.clear();
        self.slots.reserve(array.len() / SLOT_SIZE);
        for (slot, entry) in (0..).zip(array.as_chunks::<SLOT_SIZE>().0.iter().rev()) {
            let offset = usize::from(u16::from_le_bytes(*entry));
            if offset < HEADER_SIZE || offset & padding != 0 {
                return None;
            }
            let record = records.get(offset..)?;
            let word = u32_at(record, 0)? & mask;
            if word != head.word {
                head = Head::new(rows, view.pminlen(), word)?;
            }
            let len = head.len(record)?;
            ascending &= offset >= end;
            end = offset + len;
            ghosts += u16::from(head.status.is_ghost());
            taken += (len + padding) & !padding;
            self.slots.push(SlotPlace {
                offset: offset as u16,
                len: len as u16,
                slot,
            });
        }
        let free = BODY_SIZE.checked_sub(taken + array.len())?;
        let is_plain = free == usize::from(view.free_count()) && (ascending || self.are_apart());
        is_plain.then_some(ghosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::{Maps, page_at};
    use crate::options::{Depth, Options};
    use crate::plan::{NO_UNIT, Plan};
    use crate::scan::rows::{Along, Site};
    use crate::scan::{Shared, Wanted};
    use furrow_datafile::{MemoryFiles, Pages};
    use furrow_format::{
        AllocUnitId, FileId, PAGE_SIZE, PageBuf, PageInit, PageMut, PageType, RecordBuilder,
        VarColumn,
    };

    /// A page of eight rows, not in the order of their places; one is a ghost where the page may have one.
    fn page(rows: Rows, vars: &[VarColumn<'_>], tag: Option<[u8; 14]>) -> PageBuf {
        use RecordKind::{GhostData, GhostIndex, Index, Primary};
        let mut bytes = [0; PAGE_SIZE];
        let (kind, [live, ghost], pminlen) = match rows {
            Rows::Data => (PageType::Data, [Primary, GhostData], 12),
            Rows::IndexLeaf => (PageType::Index, [Index, GhostIndex], 9),
            Rows::Node => (PageType::Index, [Index, Index], 9),
        };
        let id = page_at(FileId(1), 9);
        let mut init = PageInit::new(id, kind, AllocUnitId(7 << 16), pminlen);
        init.level = u8::from(rows == Rows::Node);
        let mut page = PageMut::new(&mut bytes);
        page.format(&init);
        for row in 0..8 {
            let kind = if row == 3 { ghost } else { live };
            let fixed = [row; 8];
            let builder = RecordBuilder {
                columns: 3,
                vars,
                version_tag: tag.filter(|_| row == 5),
                ..RecordBuilder::new(kind, &fixed)
            };
            let mut record = Vec::new();
            assert!(builder.build(&mut record).is_some());
            assert_eq!(page.insert(u16::from(row / 2), &record), Ok(()));
        }
        bytes
    }

    /// Whether the page counts as plain; if so, the general rules must agree.
    fn is_plain(shared: &Shared<'_>, bytes: &PageBuf) -> bool {
        let (id, view) = (page_at(FileId(1), 9), Page::new(bytes));
        if ![PageType::Data, PageType::Index].contains(&view.page_type()) {
            return false;
        }
        let site = Site::new(id, NO_UNIT, view, None);
        let (mut plain, mut general) = (Worker::new(shared), Worker::new(shared));
        let Some(ghosts) = plain.plain_rows(site.kind(), view) else {
            return false;
        };
        plain.leftovers(id, NO_UNIT, view);
        assert!(general.frame(id, NO_UNIT, view));
        assert_eq!(general.slots, plain.slots);
        assert_eq!(plain.slots.len(), usize::from(view.slot_count()));
        let mut along = Along::default();
        general.all_rows(&site, &mut along);
        assert_eq!(along.ghosts, ghosts);
        assert_eq!(along.live, plain.slots.len() as u64 - u64::from(ghosts));
        assert_eq!(general.findings.list, plain.findings.list);
        assert!(general.facts.stubs.is_empty() && general.facts.moved.is_empty());
        true
    }

    /// Calls `look` with what all workers share, in a check of no files.
    fn with_shared(look: &dyn Fn(&Shared<'_>)) {
        let (source, plan) = (MemoryFiles::new(), Plan::default());
        let (maps, wanted) = (Maps::read(&Pages::new(&source), &[]), Wanted::default());
        let options = Options {
            depth: Depth::Physical,
            ..Options::default()
        };
        let (plan, maps) = ((&plan, &options), (&maps, &wanted));
        look(&Shared::new((&source, None), &[], plan, maps));
    }

    /// The page with other free bytes: those that its rows leave by the general rules.
    fn recounted(shared: &Shared<'_>, bytes: &PageBuf) -> Option<PageBuf> {
        let view = Page::new(bytes);
        let mut worker = Worker::new(shared);
        worker.frame(page_at(FileId(1), 9), NO_UNIT, view);
        let rooms = worker
            .slots
            .iter()
            .map(|place| view.room_of(place.len.into()));
        let taken = rooms.sum::<usize>() + SLOT_SIZE * usize::from(view.slot_count());
        let free = u16::try_from(BODY_SIZE.checked_sub(taken)?).ok()?;
        let mut other = *bytes;
        other[28..30].copy_from_slice(&free.to_le_bytes());
        Some(other)
    }

    #[test]
    fn a_page_that_counts_as_plain_has_no_finding_by_the_general_rules() {
        let two = [&b"ab"[..], &b"cde"[..]].map(|bytes| VarColumn {
            bytes,
            complex: false,
        });
        with_shared(&|shared| {
            for rows in [Rows::Data, Rows::IndexLeaf, Rows::Node] {
                for (vars, tag) in [(&two[..0], None), (&two[..], Some([7; 14]))] {
                    let sound = page(rows, vars, tag);
                    assert!(is_plain(shared, &sound), "{rows:?}");
                    let used = usize::from(Page::new(&sound).free_data());
                    let mut plain = 0;
                    for at in (0..used).chain(PAGE_SIZE - 16..PAGE_SIZE) {
                        for other in (0..8)
                            .map(|bit| sound[at] ^ 1 << bit)
                            .chain([0, 1, 96, 255])
                        {
                            let mut bytes = sound;
                            bytes[at] = other;
                            plain += usize::from(is_plain(shared, &bytes));
                            if let Some(bytes) = recounted(shared, &bytes) {
                                plain += usize::from(is_plain(shared, &bytes));
                            }
                        }
                    }
                    // Bytes of keys and values say nothing of the page.
                    assert!(plain > 1000, "{rows:?}: {plain}");
                }
            }
        });
    }

    #[test]
    fn rows_that_overlap_have_moved_are_empty_or_out_of_line_are_not_plain() {
        with_shared(&|shared| {
            let sound = page(Rows::Data, &[], None);
            let (last, before) = (PAGE_SIZE - 2, PAGE_SIZE - 4);
            let mut twice = sound;
            twice.copy_within(before..last, last);
            let mut empty = sound;
            empty[last..].fill(0);
            let mut moved = sound;
            let first = usize::from(Page::new(&sound).slot_offset(0).unwrap_or(0));
            moved[first] = Status::new(RecordKind::Forwarded, Status::NULL_BITMAP).0;
            // A deleted row that had moved: its second byte is 1.
            let mut deleted = page(Rows::Data, &[], None);
            deleted[first] = Status::new(RecordKind::GhostData, Status::NULL_BITMAP).0;
            assert!(is_plain(shared, &deleted));
            deleted[first + 1] = 1;
            // Records of 15 bytes, on a page that says that they begin at multiples of four.
            let mut aligned = sound;
            let flags = Page::new(&sound).flags().with(PageFlags::ALIGNED);
            PageMut::new(&mut aligned).set_flags(flags);
            let free = (BODY_SIZE - 8 * (16 + SLOT_SIZE)) as u16;
            aligned[28..30].copy_from_slice(&free.to_le_bytes());
            for page in [&twice, &empty, &moved, &deleted, &aligned] {
                assert!(!is_plain(shared, page));
            }
        });
    }
}
