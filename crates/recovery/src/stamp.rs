//! The state of each data file: its header stores where its last checkpoint begins.
//!
//! The log names the checkpoint from which a restart reads. A data file that lies behind it (an old copy put
//! back, a volume that went back to a snapshot) lacks what that checkpoint wrote, and the log alone does not
//! show it. So each checkpoint puts its LSN into the header of every data file, among the pages that it
//! writes, before the log's header names it. Opening the database compares the two
//! ([`LogSpan::lies_behind`]). The checkpoint's first record is durable before, so that no file is ahead of
//! its log. A file that is was written with another log, or the log is the old copy
//! ([`LogSpan::ends_before`]).
//!
//! This is not logged. A restart may put an older LSN there by repeating an older change of the header. That
//! happens after the comparison, and the next checkpoint corrects it.

use crate::{LogSpan, RecoveryError};
use furrow_format::{FileHeader, FileHeaderError, FileId, Lsn, Page, PageId, PageNo, PageType};
use furrow_io::mutation::{Mutation, mutated};
use furrow_pool::LatchRank;
use furrow_txn::Store;

/// Puts the LSN into the header of every data file.
pub(crate) fn stamp(store: &Store, checkpoint: Lsn) -> Result<(), RecoveryError> {
    if mutated(Mutation::SkipHeaderStamp) {
        return Ok(());
    }
    store.log().flush_to(checkpoint)?;
    let files = store.pool().files_of(store.db());
    files
        .into_iter()
        .try_for_each(|file| stamp_file(store, file, checkpoint))
}

/// Puts the LSN into the header of a file that is new to the checkpoints: durably, before the catalog names
/// the file. No checkpoint may be in progress between the two: one that ended meanwhile would leave the file
/// behind itself.
pub fn stamp_new_file(store: &Store, file: FileId) -> Result<(), RecoveryError> {
    stamp_file(store, file, store.log().tail())?;
    let page = PageNo(0);
    store
        .pool()
        .force_pages(store.db(), &[(PageId { file, page }, 1)])?;
    Ok(())
}

fn stamp_file(store: &Store, file: FileId, lsn: Lsn) -> Result<(), RecoveryError> {
    let page = PageNo(0);
    let id = PageId { file, page };
    store.changed.mark(id);
    let mut page = store.write(id, LatchRank::FileHeader)?;
    if Page::new(&page).page_type() == PageType::FileHeader {
        page.begin_change();
        let pool = store.pool();
        pool.preserve(std::slice::from_ref(&page), Lsn::MAX);
        let broken = |e: FileHeaderError| RecoveryError::Broken {
            page: id,
            reason: e.to_string(),
        };
        FileHeader::set_max_lsn(&mut page, lsn).map_err(broken)?;
    }
    Ok(())
}

/// Writes the headers of all data files, and these pages, durably.
pub(crate) fn force(store: &Store, also: &[PageId]) -> Result<(), RecoveryError> {
    let page = PageNo(0);
    let files = store.pool().files_of(store.db()).into_iter();
    let mut headers: Vec<_> = files.map(|file| (PageId { file, page }, 1)).collect();
    headers.extend(also.iter().map(|&page| (page, 1)));
    store.pool().force_pages(store.db(), &headers)?;
    Ok(())
}

impl LogSpan {
    /// Whether a data file lacks what was written by the checkpoint from which recovery reads.
    pub fn lies_behind(&self, header: &FileHeader) -> bool {
        // Older versions stored nothing there. A new log begins with a checkpoint that wrote only the
        // headers: a sound copy of a file that was damaged then is as good.
        let kept = header.max_lsn > Lsn::ZERO && !self.in_new_log;
        kept && !mutated(Mutation::TakeOldCopy) && header.max_lsn < self.checkpoint
    }

    /// Whether a data file names a checkpoint that the log does not have: the log is older than the file.
    pub fn ends_before(&self, header: &FileHeader) -> bool {
        // A new log may be the second attempt: the first was not finished, but its checkpoint is in the
        // headers.
        !self.in_new_log && header.max_lsn > self.end
    }
}
