//! The one function that changes pages.

use super::kinds::{Change, ChangeError};
use crate::bytes::put;
use crate::maps::{set_bits, set_pfs};
use crate::page::LSN;
use crate::{Bitmap, PAGE_SIZE, Page, PageBuf, PageMut};

/// Applies a change. On an error the page's live content is as before; `m_lsn` never changes.
pub fn apply(change: &Change<'_>, page: &mut PageBuf) -> Result<(), ChangeError> {
    match *change {
        Change::Format(init) | Change::FormatForced(init) => PageMut::new(page).format(&init),
        Change::FormatMap(init) => init.format(page)?,
        Change::InsertRow { slot, bytes } => PageMut::new(page).insert(slot, bytes)?,
        Change::RemoveRow { slot } => PageMut::new(page).remove(slot)?,
        Change::RemoveRows { from, count } => PageMut::new(page).remove_range(from, count)?,
        Change::LoadRows(rows) => PageMut::new(page).append_all(rows.iter())?,
        Change::ReplaceRow { slot, bytes } => PageMut::new(page).replace(slot, bytes)?,
        Change::PatchRow {
            slot,
            offset,
            bytes,
        } => {
            PageMut::new(page).patch(slot, offset, bytes)?;
        }
        Change::HeapPut { slot, bytes } => PageMut::new(page).heap_put(slot, bytes)?,
        Change::HeapFree { slot } => PageMut::new(page).heap_free(slot)?,
        Change::SetLinks { prev, next } => {
            let mut page = PageMut::new(page);
            prev.into_iter().for_each(|prev| page.set_prev(prev));
            next.into_iter().for_each(|next| page.set_next(next));
        }
        Change::SetLevel { level } => PageMut::new(page).set_level(level),
        Change::SetGhosts { delta } => {
            let ghosts = Page::new(page).ghost_count().checked_add_signed(delta);
            let out = ChangeError::OutOfPlace {
                offset: Page::new(page).ghost_count(),
                len: 0,
            };
            PageMut::new(page).set_ghost_count(ghosts.ok_or(out)?);
        }
        Change::SetReserved {
            reserved,
            xact_reserved,
            xdes,
        } => {
            PageMut::new(page).set_reserved(reserved, xact_reserved, xdes);
        }
        Change::PatchBytes { offset, bytes } => patch_bytes(page, offset, bytes)?,
        Change::SetBit { index, value } => set_run(page, index, 1, value)?,
        Change::SetBits {
            first,
            count,
            value,
        } => set_run(page, first, count, value)?,
        Change::SetPfs { index, value } => {
            if !set_pfs(page, index, value) {
                return Err(ChangeError::Unsuitable {
                    kind: Page::new(page).page_type(),
                });
            }
        }
        Change::Image { head, tail } => restore_image(page, head, tail)?,
    }
    Ok(())
}

fn patch_bytes(page: &mut PageBuf, offset: u16, bytes: &[u8]) -> Result<(), ChangeError> {
    let kind = Page::new(page).page_type();
    if kind.holds_rows() {
        return Err(ChangeError::Unsuitable { kind });
    }
    let start = usize::from(offset);
    let meets_lsn = start < LSN.end() && start + bytes.len() > LSN.start();
    if meets_lsn || !put(page, start, bytes) {
        return Err(ChangeError::OutOfPlace {
            offset,
            len: bytes.len(),
        });
    }
    Ok(())
}

fn set_run(page: &mut PageBuf, first: u16, count: u16, value: bool) -> Result<(), ChangeError> {
    if u32::from(first) + u32::from(count) > Bitmap::BITS {
        return Err(ChangeError::OutOfPlace {
            offset: first,
            len: usize::from(count),
        });
    }
    if !set_bits(page, first, count, value) {
        return Err(ChangeError::Unsuitable {
            kind: Page::new(page).page_type(),
        });
    }
    Ok(())
}

fn restore_image(page: &mut PageBuf, head: &[u8], tail: &[u8]) -> Result<(), ChangeError> {
    let misfit = ChangeError::OutOfPlace {
        offset: 0,
        len: head.len() + tail.len(),
    };
    let tail_start = PAGE_SIZE.checked_sub(tail.len()).ok_or(misfit)?;
    if head.len() < crate::HEADER_SIZE || head.len() > tail_start {
        return Err(misfit);
    }
    let lsn = LSN.get(page);
    page.fill(0);
    let _both_fit = put(page, 0, head) && put(page, tail_start, tail);
    LSN.set(page, lsn);
    Ok(())
}
