//! More ways to damage a database: misdirected writes, rows twice, counts, large values.

use super::{Done, done, edit, has_rows, is_checked, page_mut, page_of, pick};
use crate::check::databases::Made;
use furrow_datafile::MemoryFiles;
use furrow_format::catalog::SYSROWSETS;
use furrow_format::{Page, PageMut, PageType, Place, fixed_page_type};
use furrow_io::random::{Rng, SeededRng};

/// A page that was meant for another place lies over a page in use.
pub(super) fn misdirect(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let meant = pick(files, rng, |_, page| is_checked(page))?;
    let hit = pick(files, rng, |id, _| fixed_page_type(id.page).is_none())?;
    if meant == hit {
        return None;
    }
    let bytes = *page_of(files, meant)?;
    *page_mut(files, hit)? = bytes;
    done(&[hit], format!("{meant} over {hit}"))
}

/// A row of a clustered index is there twice.
pub(super) fn double_row(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    // A heap keeps no order: a row more is a row more.
    let id = pick(files, rng, |id, page| {
        has_rows(id, page) && page.page_type() == PageType::Data && page.index_part() == 1
    })?;
    let slots = Page::new(page_of(files, id)?).slot_count();
    let slot = rng.random_range(0..slots);
    edit(files, id, |page| {
        let record = Page::new(page).record(slot)?.to_vec();
        let mut view = PageMut::new(page);
        view.insert(slot + 1, &record).ok()
    })?;
    done(&[id], format!("slot {slot} of {id}"))
}

/// The catalog counts more rows of a table than there are. A ghost is the row of a table that is dropped.
pub(super) fn count(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |id, page| {
        let of_table = page.unit() == SYSROWSETS.unit_id();
        let live = page.ghost_count() == 0;
        has_rows(id, page) && of_table && live && page.page_type() == PageType::Data
    })?;
    let layout = SYSROWSETS.row_layout().ok()?;
    let at = SYSROWSETS.columns.iter().position(|c| c.name == "rcrows")?;
    let Place::Fixed(offset) = layout.columns().get(at)?.place else {
        return None;
    };
    let slots = Page::new(page_of(files, id)?).slot_count();
    let (slot, more) = (rng.random_range(0..slots), rng.random_range(1..100));
    edit(files, id, |page| {
        let start = usize::from(Page::new(page).slot_offset(slot)?) + usize::from(offset);
        let byte = page.get_mut(start)?;
        *byte = byte.wrapping_add(more);
        Some(())
    })?;
    Some(Done {
        anywhere: true,
        ..done(&[id], format!("slot {slot} of {id}"))?
    })
}

/// A piece of a large value says that it is of another value.
pub(super) fn piece(files: &mut MemoryFiles, _: &Made, rng: &mut SeededRng) -> Option<Done> {
    let id = pick(files, rng, |_, page| {
        matches!(page.page_type(), PageType::TextMix | PageType::TextTree) && page.slot_count() > 0
    })?;
    let slots = Page::new(page_of(files, id)?).slot_count();
    let slot = rng.random_range(0..slots);
    edit(files, id, |page| {
        let start = usize::from(Page::new(page).slot_offset(slot)?);
        if start == 0 {
            return None;
        }
        // Behind status and length: the value's id.
        *page.get_mut(start + 5)? ^= 1;
        Some(())
    })?;
    done(&[id], format!("slot {slot} of {id}"))
}
