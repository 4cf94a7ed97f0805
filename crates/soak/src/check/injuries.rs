//! Ways to damage a database, each of them one that occurs in real databases.

#[path = "more_injuries.rs"]
mod more;

use super::databases::Made;
use furrow_datafile::{MemoryFiles, PageSource};
use furrow_format::catalog::SYSFILES1;
use furrow_format::{
    Bitmap, EXTENT_PAGES, FileId, Iam, Page, PageBuf, PageFlags, PageId, PageMut, PageNo, PageType,
    Pfs, fixed_page_type, gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of, stamp_checksum,
    untear,
};
use furrow_io::random::{Rng, SeededRng};

/// The damage that was done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Pages of which the check must name at least one.
    pub pages: Vec<PageId>,
    /// Description of the damage.
    pub what: String,
    /// Whether refusing the database is as good as naming the page.
    pub may_refuse: bool,
    /// Whether any finding is enough, because what was removed has no page.
    pub anywhere: bool,
}

/// Damages files; `None` if they contain nothing that can be damaged in this way.
type Injure = fn(&mut MemoryFiles, &Made, &mut SeededRng) -> Option<Done>;

/// A way to damage a database.
#[derive(Debug, Clone, Copy)]
pub struct Injury {
    /// Its name.
    pub name: &'static str,
    /// Whether the checksum or the page's own id reveals it.
    pub by_checksum: bool,
    /// Does the damage.
    pub injure: Injure,
}

const fn way(name: &'static str, by_checksum: bool, injure: Injure) -> Injury {
    Injury {
        name,
        by_checksum,
        injure,
    }
}

/// All ways.
pub const INJURIES: &[Injury] = &[
    way("bit flipped", true, flip),
    way("sector of an older write (torn page)", true, tear),
    way("page of zeros", true, zero),
    way("two pages swapped", true, swap),
    way(
        "misdirected write (page over another)",
        true,
        more::misdirect,
    ),
    way("stale page (lost write)", false, stale),
    way("file cut off", false, truncate),
    way("header bit flipped, checksum repaired", false, header_bit),
    way("slot array bit flipped, checksum repaired", false, slot_bit),
    way(
        "record header bit flipped, checksum repaired",
        false,
        record_bit,
    ),
    way("two slots exchanged (keys out of order)", false, key_swap),
    way("sibling link bent", false, link),
    way("child pointer bent", false, child),
    way("index row lost", false, lose_index_row),
    way("index row changed", false, change_index_row),
    way("table row lost", false, lose_row),
    way("table row doubled", false, more::double_row),
    way("row count of the catalog changed", false, more::count),
    way("large value's piece of another", false, more::piece),
    way(
        "catalog row lost (found, no page to name)",
        false,
        lose_catalog_row,
    ),
    way("PFS byte changed", false, pfs_byte),
    way("GAM bit flipped", false, gam_bit),
    way("SGAM bit flipped", false, sgam_bit),
    way("IAM bit set (extent of two)", false, iam_set),
    way(
        "IAM bit cleared (extent without an owner)",
        false,
        iam_cleared,
    ),
];

fn page_of(files: &MemoryFiles, id: PageId) -> Option<&PageBuf> {
    files.pages(id.file).get(id.page.0 as usize)
}

fn page_mut(files: &mut MemoryFiles, id: PageId) -> Option<&mut PageBuf> {
    files.pages_mut(id.file)?.get_mut(id.page.0 as usize)
}

fn in_use(files: &MemoryFiles, id: PageId) -> bool {
    let map = PageId {
        page: pfs_page_of(id.page),
        ..id
    };
    let pfs = page_of(files, map).and_then(Pfs::new);
    pfs.is_some_and(|pfs| pfs.get(pfs_index_of(id.page)).is_allocated())
}

/// Changes a page as a regular write would: its checksum is correct afterwards.
fn edit<R>(
    files: &mut MemoryFiles,
    id: PageId,
    change: impl FnOnce(&mut PageBuf) -> Option<R>,
) -> Option<R> {
    let page = page_mut(files, id)?;
    untear(page);
    let before = *page;
    let done = change(page)?;
    if *page == before {
        return None;
    }
    stamp_checksum(page);
    Some(done)
}

/// Pages in use that meet a condition, in random order of files and pages.
fn pick(
    files: &MemoryFiles,
    rng: &mut SeededRng,
    right: impl Fn(PageId, Page<'_>) -> bool,
) -> Option<PageId> {
    let all = files.files();
    for _ in 0..4000 {
        let file = all.get(rng.random_range(0..all.len()))?;
        let id = PageId {
            file: file.id,
            page: PageNo(rng.random_range(0..file.pages)),
        };
        if !in_use(files, id) {
            continue;
        }
        let mut page = *page_of(files, id)?;
        untear(&mut page);
        if right(id, Page::new(&page)) {
            return Some(id);
        }
    }
    None
}

fn done(pages: &[PageId], what: String) -> Option<Done> {
    Some(Done {
        pages: pages.to_vec(),
        what,
        may_refuse: pages.contains(&PageId::new(1, 9)),
        anywhere: false,
    })
}

fn is_checked(page: Page<'_>) -> bool {
    page.flags().has(PageFlags::CHECKSUM)
}

fn has_rows(_: PageId, page: Page<'_>) -> bool {
    matches!(page.page_type(), PageType::Data | PageType::Index) && page.slot_count() > 0
}

fn flip(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |_, page| is_checked(page))?;
    let (at, bit) = (rng.random_range(0..8192), rng.random_range(0..8));
    *page_mut(files, id)?.get_mut(at)? ^= 1 << bit;
    done(&[id], format!("byte {at} bit {bit} of {id}"))
}

fn tear(files: &mut MemoryFiles, made: &Made, rng: &mut SeededRng) -> Option<Done> {
    let earlier = made.earlier.as_ref()?;
    let id = pick(files, rng, |_, page| is_checked(page))?;
    let old = *page_of(earlier, id)?;
    let page = page_mut(files, id)?;
    let sector = rng.random_range(1..16) * 512;
    let differs = page.get(sector..)? != old.get(sector..)?;
    // If the two halves have a valid checksum together, the page is whole and not torn.
    if !differs || Page::new(&old).page_id() != id {
        return None;
    }
    page.get_mut(sector..)?.copy_from_slice(old.get(sector..)?);
    done(&[id], format!("{id} from byte {sector} on"))
}

fn zero(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |_, _| true)?;
    page_mut(files, id)?.fill(0);
    done(&[id], format!("{id}"))
}

fn swap(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let ordinary = |id: PageId, _: Page<'_>| fixed_page_type(id.page).is_none();
    let (one, other) = (pick(files, rng, ordinary)?, pick(files, rng, ordinary)?);
    if one == other {
        return None;
    }
    let (a, b) = (*page_of(files, one)?, *page_of(files, other)?);
    *page_mut(files, one)? = b;
    *page_mut(files, other)? = a;
    done(&[one, other], format!("{one} and {other}"))
}

fn stale(files: &mut MemoryFiles, made: &Made, rng: &mut SeededRng) -> Option<Done> {
    let earlier = made.earlier.as_ref()?;
    let changed = |id: PageId, page: Page<'_>| {
        let old = page_of(earlier, id).map(Page::new);
        let moved = |old: Page<'_>| {
            old.page_id() == id
                && old.unit() == page.unit()
                && old.slot_count() != page.slot_count()
        };
        fixed_page_type(id.page).is_none() && has_rows(id, page) && old.is_some_and(moved)
    };
    let id = pick(files, rng, changed)?;
    let old = *page_of(earlier, id)?;
    // A lost write of one page contradicts its neighbours, parents, counts and index rows.
    let unit = Page::new(&old).unit();
    *page_mut(files, id)? = old;
    let mut pages = vec![id];
    for file in files.files() {
        for (number, page) in (0..).zip(files.pages(file.id)) {
            if Page::new(page).unit() == unit {
                pages.push(PageId {
                    file: file.id,
                    page: PageNo(number),
                });
            }
        }
    }
    done(&pages, format!("{id}"))
}

fn truncate(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let all = files.files();
    let file = all.get(rng.random_range(0..all.len()))?.id;
    let pages = files.pages_mut(file)?;
    let left = rng.random_range(16..pages.len());
    pages.truncate(left);
    let first = PageId {
        file,
        page: PageNo(left as u32),
    };
    done(&[first], format!("file {file} behind {left} pages"))
}

/// Header fields that describe the page: without its LSN and the transaction that reserved space.
const HEADER: [std::ops::Range<usize>; 6] = [0..2, 3..4, 6..38, 58..60, 64..96, 1..2];

fn header_bit(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, has_rows)?;
    let part = HEADER.get(rng.random_range(0..HEADER.len()))?.clone();
    let (at, bit) = (rng.random_range(part), rng.random_range(0..8));
    edit(files, id, |page| {
        *page.get_mut(at)? ^= 1 << bit;
        Some(())
    })?;
    done(&[id], format!("byte {at} bit {bit} of {id}"))
}

fn slot_bit(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, has_rows)?;
    let slots = usize::from(Page::new(page_of(files, id)?).slot_count());
    let at = 8191 - rng.random_range(0..2 * slots);
    let bit = rng.random_range(0..8);
    edit(files, id, |page| {
        *page.get_mut(at)? ^= 1 << bit;
        Some(())
    })?;
    done(&[id], format!("byte {at} bit {bit} of {id}"))
}

fn record_bit(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, has_rows)?;
    let slots = Page::new(page_of(files, id)?).slot_count();
    let (slot, data) = (rng.random_range(0..slots), PageType::Data);
    let header = if Page::new(page_of(files, id)?).page_type() == data {
        [0, 1, 2, 3].as_slice()
    } else {
        &[0]
    };
    let byte = *header.get(rng.random_range(0..header.len()))?;
    let bit = rng.random_range(0..8);
    edit(files, id, |page| {
        let start = usize::from(Page::new(page).slot_offset(slot)?);
        if start == 0 {
            return None;
        }
        *page.get_mut(start + byte)? ^= 1 << bit;
        Some(())
    })?;
    done(&[id], format!("slot {slot} byte {byte} bit {bit} of {id}"))
}

fn is_tree(_: PageId, page: Page<'_>) -> bool {
    let enough = 2 + lowest_slot(page);
    // sysfiles1 is a heap: its rows have no order.
    has_rows(PageId::NONE, page)
        && page.slot_count() >= enough
        && page.unit() != SYSFILES1.unit_id()
}

/// The first slot whose key is compared.
fn lowest_slot(page: Page<'_>) -> u16 {
    u16::from(page.page_type() == PageType::Index)
}

fn key_swap(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let heaps = heap_units(files);
    let id = pick(files, rng, |id, page| {
        is_tree(id, page) && !heaps.contains(&page.unit().0)
    })?;
    let view = Page::new(page_of(files, id)?);
    let first = rng.random_range(lowest_slot(view)..view.slot_count() - 1);
    edit(files, id, |page| {
        let end = 8192 - 2 * usize::from(first);
        let four = page.get_mut(end - 4..end)?;
        four.rotate_left(2);
        Some(())
    })?;
    done(&[id], format!("slots {first} and {} of {id}", first + 1))
}

/// Units of heaps, whose pages have no order: more than one data page, and no index page of the unit leads to
/// them.
fn heap_units(files: &MemoryFiles) -> Vec<u64> {
    use std::collections::HashMap;
    let mut seen: HashMap<u64, (u32, bool, bool)> = HashMap::new();
    for file in files.files() {
        for (number, page) in (0..).zip(files.pages(file.id)) {
            let id = PageId {
                file: file.id,
                page: PageNo(number),
            };
            let view = Page::new(page);
            if in_use(files, id) && matches!(view.page_type(), PageType::Data | PageType::Index) {
                let of = seen.entry(view.unit().0).or_default();
                of.0 += 1;
                of.1 |= view.page_type() == PageType::Index;
                let pfs = page_of(
                    files,
                    PageId {
                        page: pfs_page_of(id.page),
                        ..id
                    },
                );
                let byte = pfs
                    .and_then(Pfs::new)
                    .map(|pfs| pfs.get(pfs_index_of(id.page)));
                of.2 |= byte.is_some_and(|byte| byte.0 & 7 != 0);
            }
        }
    }
    // PFS stores the fullness of a heap page, and never that of an index page.
    seen.into_iter()
        .filter(|(_, (pages, index, full))| !index && (*pages > 1 || *full))
        .map(|(unit, _)| unit)
        .collect()
}

fn link(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let linked = |id: PageId, page: Page<'_>| {
        has_rows(id, page) && !(page.prev().is_none() && page.next().is_none())
    };
    let id = pick(files, rng, linked)?;
    let other = pick(files, rng, has_rows)?;
    let next: bool = rng.random();
    let view = Page::new(page_of(files, id)?);
    let neighbours = [id, view.prev(), view.next()];
    edit(files, id, |page| {
        let mut page = PageMut::new(page);
        if next {
            page.set_next(other);
        } else {
            page.set_prev(other);
        }
        Some(())
    })?;
    done(
        &neighbours,
        format!(
            "{} link of {id} to {other}",
            if next { "right" } else { "left" }
        ),
    )
}

fn child(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let node = |_: PageId, page: Page<'_>| page.page_type() == PageType::Index && page.level() > 0;
    let id = pick(files, rng, node)?;
    let other = pick(files, rng, has_rows)?;
    let view = Page::new(page_of(files, id)?);
    let slot = rng.random_range(0..view.slot_count().max(1));
    let end = usize::from(view.slot_offset(slot)?) + usize::from(view.pminlen());
    edit(files, id, |page| {
        page.get_mut(end - 6..end)?
            .copy_from_slice(&other.to_bytes());
        Some(())
    })?;
    done(&[id, other], format!("slot {slot} of {id} to {other}"))
}

fn index_leaf(_: PageId, page: Page<'_>) -> bool {
    page.page_type() == PageType::Index && page.level() == 0 && page.slot_count() > 1
}

/// Removes a row from a leaf of a nonclustered index: in a clustered index, no page of level 0 is above the
/// leaves here.
fn lose_index_row(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    lose(files, rng, index_leaf)
}

/// Removes a row of a user table. A missing row of the catalog is found, too, but without its page.
fn lose_row(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    lose(files, rng, |_, page| {
        page.page_type() == PageType::Data && page.slot_count() > 1 && page.index_part() == 256
    })
}

fn lose_catalog_row(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let done = lose(files, rng, |_, page| {
        page.page_type() == PageType::Data && page.slot_count() > 1 && page.index_part() < 256
    })?;
    Some(Done {
        anywhere: true,
        ..done
    })
}

fn lose(
    files: &mut MemoryFiles,
    rng: &mut SeededRng,
    right: impl Fn(PageId, Page<'_>) -> bool,
) -> Option<Done> {
    let live = |page: Page<'_>| page.ghost_count() == 0;
    let id = pick(files, rng, |id, page| right(id, page) && live(page))?;
    let view = Page::new(page_of(files, id)?);
    let (slot, unit) = (rng.random_range(0..view.slot_count()), view.unit());
    edit(files, id, |page| PageMut::new(page).remove(slot).ok())?;
    // The check names the pages that refer to the removed row, or the page with the unit's row count.
    let mut done = done(&[id], format!("slot {slot} of {id}"))?;
    done.pages.extend(all_of(files, unit.0));
    Some(done)
}

/// Pages that refer to a row of a unit: index pages of the table, and its IAM page for the row count.
fn all_of(files: &MemoryFiles, unit: u64) -> Vec<PageId> {
    let mut pages = Vec::new();
    for file in files.files() {
        for (number, page) in (0..).zip(files.pages(file.id)) {
            let view = Page::new(page);
            let near = view.unit().0.abs_diff(unit) < 0x10_0000;
            if near
                && matches!(
                    view.page_type(),
                    PageType::Data | PageType::Index | PageType::Iam
                )
            {
                pages.push(PageId {
                    file: file.id,
                    page: PageNo(number),
                });
            }
        }
    }
    pages
}

fn change_index_row(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |id, page| {
        index_leaf(id, page) && page.ghost_count() == 0 && page.pminlen() > 1
    })?;
    let view = Page::new(page_of(files, id)?);
    let slot = rng.random_range(0..view.slot_count());
    let at =
        usize::from(view.slot_offset(slot)?) + rng.random_range(1..usize::from(view.pminlen()));
    let bit = rng.random_range(0..8);
    edit(files, id, |page| {
        *page.get_mut(at)? ^= 1 << bit;
        Some(())
    })?;
    done(&[id], format!("slot {slot} byte {at} bit {bit} of {id}"))
}

fn pfs_byte(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |id, _| fixed_page_type(id.page).is_none())?;
    let map = PageId {
        page: pfs_page_of(id.page),
        ..id
    };
    // The ghost bit is left out: it is a hint, and no check can verify it.
    let bit = *[0, 1, 2, 4, 5, 6].get(rng.random_range(0..6))?;
    edit(files, map, |page| {
        Pfs::new(page)?;
        let at =
            usize::from(Page::new(page).slot_offset(0)?) + 4 + usize::from(pfs_index_of(id.page));
        *page.get_mut(at)? ^= 1 << bit;
        Some(())
    })?;
    done(&[id, first_of(id)], format!("PFS bit {bit} of {id}"))
}

fn first_of(id: PageId) -> PageId {
    PageId {
        page: PageNo(id.page.0 / EXTENT_PAGES * EXTENT_PAGES),
        ..id
    }
}

/// Flips a bit of a bitmap page.
fn flip_bit(files: &mut MemoryFiles, map: PageId, bit: u32) -> Option<()> {
    edit(files, map, |page| {
        Bitmap::new(page)?;
        let at = usize::from(Page::new(page).slot_offset(1)?) + 4 + bit as usize / 8;
        *page.get_mut(at)? ^= 1 << (bit % 8);
        Some(())
    })
}

fn random_extent(files: &MemoryFiles, rng: &mut SeededRng) -> Option<(FileId, u32)> {
    let all = files.files();
    let file = all.get(rng.random_range(0..all.len()))?;
    Some((
        file.id,
        rng.random_range(1..(file.pages / EXTENT_PAGES).max(2)),
    ))
}

fn map_bit(
    files: &mut MemoryFiles,
    rng: &mut SeededRng,
    map_of: fn(PageNo) -> PageNo,
) -> Option<Done> {
    let (file, extent) = random_extent(files, rng)?;
    let first = PageId {
        file,
        page: PageNo(extent * EXTENT_PAGES),
    };
    let map = PageId {
        page: map_of(first.page),
        ..first
    };
    flip_bit(files, map, extent)?;
    let mut done = done(&[first], format!("bit of extent {first} in {map}"))?;
    let members = (0..EXTENT_PAGES).map(|n| PageId {
        page: PageNo(first.page.0 + n),
        ..first
    });
    done.pages.extend(members);
    Some(done)
}

fn gam_bit(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    map_bit(files, rng, gam_page_of)
}

/// In SQL Server, the SGAM bit of a full mixed extent may be set: that is no damage.
fn sgam_bit(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let (file, extent) = random_extent(files, rng)?;
    let first = PageId {
        file,
        page: PageNo(extent * EXTENT_PAGES),
    };
    let full = (0..EXTENT_PAGES).all(|n| {
        let id = PageId {
            page: PageNo(first.page.0 + n),
            ..first
        };
        in_use(files, id)
    });
    if full {
        return None;
    }
    let map = PageId {
        page: sgam_page_of(first.page),
        ..first
    };
    flip_bit(files, map, extent)?;
    done(&[first], format!("bit of extent {first} in {map}"))
}

fn an_iam(files: &MemoryFiles, rng: &mut SeededRng) -> Option<PageId> {
    pick(files, rng, |_, page| {
        Iam::new(page.bytes()).is_some_and(|iam| iam.extents().count(Bitmap::BITS) > 0)
    })
}

fn iam_bit(files: &mut MemoryFiles, rng: &mut SeededRng, set: bool) -> Option<Done> {
    let (one, other) = (an_iam(files, rng)?, an_iam(files, rng)?);
    let of = |id: PageId| -> Option<(PageId, Vec<u32>)> {
        let mut page = *page_of(files, id)?;
        untear(&mut page);
        let iam = Iam::new(&page)?;
        Some((
            iam.interval_start(),
            iam.extents().iter_set(Bitmap::BITS).collect(),
        ))
    };
    let ((mine, _), (theirs, bits)) = (of(one)?, of(other)?);
    let bit = *bits.get(rng.random_range(0..bits.len()))?;
    let map = if set { one } else { other };
    if set && (one == other || mine != theirs) {
        return None;
    }
    flip_bit(files, map, bit)?;
    let first = PageId {
        page: PageNo(theirs.page.0 + bit * EXTENT_PAGES),
        ..theirs
    };
    let members = (0..EXTENT_PAGES).map(|n| PageId {
        page: PageNo(first.page.0 + n),
        ..first
    });
    let mut done = done(&[first, map], format!("bit of extent {first} in {map}"))?;
    done.pages.extend(members);
    Some(done)
}

fn iam_set(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    iam_bit(files, rng, true)
}

fn iam_cleared(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    iam_bit(files, rng, false)
}
