//! The changed-extent maps at a checkpoint: the bits of memory come to their pages.
//!
//! This is not logged, as the checkpoint's LSN in the file headers is not: the checkpoint writes the pages
//! before it ends. After a crash before that, redo begins where the checkpoint before this one says, and sets
//! the same bits again. See [`furrow_txn::ChangedExtents`] for the invariants.

use crate::RecoveryError;
use furrow_format::{PageId, add_map_bits};
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
        if write_page(store, page)? {
            written.push(page);
        }
    }
    Ok(written)
}

/// `false` for a page that cannot take the bits. A page of a file that was removed or made shorter is not
/// needed. A reader of a damaged page must treat all of its extents as changed.
fn write_page(store: &Store, id: PageId) -> Result<bool, RecoveryError> {
    let mut page = match store.write(id, LatchRank::ChangeMap) {
        Ok(page) => page,
        Err(TxnError::Pool(PoolError::UnknownFile { .. })) => return Ok(false),
        Err(TxnError::Pool(PoolError::Io { source, .. }))
            if source.kind == IoErrorKind::PastEnd =>
        {
            return Ok(false);
        }
        Err(TxnError::Pool(error @ PoolError::BadPage { .. })) => {
            tracing::warn!(%error, "a changed-extent map cannot take its bits");
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    if !furrow_format::Page::new(&page).page_type().is_bitmap() {
        // The file is growing: the map is formatted by a record behind this checkpoint's first.
        return Ok(false);
    }
    page.begin_change();
    let mut sound = true;
    store.changed.add_to_page(id, |index, bits| {
        sound &= add_map_bits(&mut page, index, bits);
    });
    if !sound {
        tracing::warn!(page = %id, "a changed-extent map cannot take its bits");
    }
    Ok(true)
}
