//! The changed-extent maps at a checkpoint: the bits of memory come to their pages.
//!
//! This is not logged, as the checkpoint's LSN in the file headers is not: the checkpoint writes the pages
//! before it ends. After a crash before that, redo begins at the redo point of the checkpoint before this
//! one, and sets the same bits again. See [`furrow_txn::ChangedExtents`] for the invariants.

use crate::RecoveryError;
use furrow_format::{
    FileId, GAM_INTERVAL, Lsn, PageBuf, PageId, PageNo, add_map_bits, dcm_page_of, set_map_word,
};
use furrow_io::IoErrorKind;
use furrow_pool::{LatchRank, PoolError};
use furrow_txn::{Store, TxnError};

/// Adds the bits that are new to their pages; the pages. To be called after the checkpoint's first record.
pub(crate) fn write_changed(store: &Store) -> Result<Vec<PageId>, RecoveryError> {
    let behind = store.changed.behind();
    // The maps change, too.
    behind.iter().for_each(|&page| store.changed.mark(page));
    let mut written = Vec::new();
    for page in behind {
        let wrote = write_page(store, page, |bytes| {
            let mut sound = true;
            store.changed.add_to_page(page, |index, bits| {
                sound &= add_map_bits(bytes, index, bits);
            });
            sound
        })?;
        if wrote {
            written.push(page);
        }
    }
    Ok(written)
}

/// Makes a full backup the base of differential backups from now on, and records that in the boot page
/// durably: the maps of these files, by number and pages, lose the bits from before it.
pub fn restart_changed(store: &Store, files: &[(FileId, u32)]) -> Result<(), RecoveryError> {
    debug_assert!(
        files.iter().all(|file| file.1 > 0),
        "a data file has a header"
    );
    for &(file, size_pages) in files {
        for start in (0..size_pages).step_by(GAM_INTERVAL as usize).map(PageNo) {
            let page = dcm_page_of(start);
            let id = PageId { file, page };
            store.changed.mark(id);
            write_page(store, id, |bytes| {
                let mut sound = true;
                store.changed.restart_page(id, |index, bits| {
                    sound &= set_map_word(bytes, index, bits);
                });
                sound
            })?;
        }
    }
    Ok(())
}

/// Changes a map by `change`, which returns whether the map was sound. `false` for a page that cannot take
/// bits. A page of a file that was removed or made shorter is not needed. All extents of a damaged page count
/// as changed.
fn write_page(
    store: &Store,
    id: PageId,
    change: impl FnOnce(&mut PageBuf) -> bool,
) -> Result<bool, RecoveryError> {
    let mut page = match store.write(id, LatchRank::ChangeMap) {
        Ok(page) => page,
        Err(TxnError::Pool(PoolError::UnknownFile { .. })) => return Ok(false),
        Err(TxnError::Pool(PoolError::Io { source, .. }))
            if source.kind == IoErrorKind::PastEnd =>
        {
            return Ok(false);
        }
        Err(TxnError::Pool(error @ PoolError::BadPage { .. })) => {
            tracing::warn!(%error, "a changed-extent map is damaged: all of its extents count as changed");
            store.changed.lose(id);
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    if !furrow_format::Page::new(&page).page_type().is_bitmap() {
        // The file is growing: the map is formatted by a record behind this checkpoint's first.
        return Ok(false);
    }
    page.begin_change();
    let pool = store.pool();
    pool.preserve(std::slice::from_ref(&page), Lsn::MAX);
    if !change(&mut page) {
        tracing::warn!(page = %id, "a changed-extent map is damaged: all of its extents count as changed");
        store.changed.lose(id);
    }
    Ok(true)
}
