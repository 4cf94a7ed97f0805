//! One page rolled forward by records of the log: what a restore of single pages does.

use crate::RecoveryError;
use furrow_format::{Change, ChangeReader, Lsn, Page, PageBuf, PageId, PageMut, apply};
use furrow_log::{OwnedRecord, RecordKind};

/// The pages that a record changes.
pub fn pages_of(record: &OwnedRecord) -> Vec<PageId> {
    let view = record.get();
    let mut pages = Vec::new();
    if matches!(view.kind, RecordKind::Change | RecordKind::Compensation) {
        pages.extend(
            ChangeReader::new(view.redo)
                .filter_map(Result::ok)
                .map(|c| c.0),
        );
        pages.sort_unstable();
        pages.dedup();
    }
    pages
}

/// Repeats what a record does to a page, if the page is older; whether it did. Records come in the order of
/// the log. A page whose rows a minimally logged load wrote past the log cannot be rebuilt.
pub fn roll_forward_page(
    page: &mut PageBuf,
    id: PageId,
    record: &OwnedRecord,
) -> Result<bool, RecoveryError> {
    let (view, lsn) = (record.get(), record.lsn);
    if !matches!(view.kind, RecordKind::Change | RecordKind::Compensation) {
        return Ok(false);
    }
    let mine = || {
        let changes = ChangeReader::new(view.redo).filter_map(Result::ok);
        changes.filter(|(page, _)| *page == id).map(|c| c.1)
    };
    // What a record does to a page before it rebuilds it leaves nothing.
    let start = mine().position(|change| change.rebuilds()).unwrap_or(0);
    let Some(first) = mine().nth(start) else {
        return Ok(false);
    };
    let known = Page::new(page);
    let (is_it, page_lsn) = (known.page_id() == id, known.lsn());
    if is_it && page_lsn >= lsn {
        return Ok(false);
    }
    if matches!(first, Change::FormatForced(_)) {
        let reason = format!("its rows are not in the log, and it is older than {lsn}");
        return Err(RecoveryError::Broken { page: id, reason });
    }
    for change in mine().skip(start) {
        apply(&change, page).map_err(|source| RecoveryError::Redo {
            lsn,
            page: id,
            page_lsn,
            source,
        })?;
    }
    PageMut::new(page).set_lsn(lsn);
    debug_assert!(
        Page::new(page).lsn() == lsn && lsn > Lsn::ZERO,
        "a page has the LSN of its change"
    );
    Ok(true)
}
