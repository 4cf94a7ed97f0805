//! How far each data file is: where its last checkpoint begins, in its header.
//!
//! The log names the checkpoint from which a restart reads. A data file that lies behind it (an old copy put
//! back, a volume that went back to a snapshot) lacks what that checkpoint wrote, and nothing in the log
//! would tell. So each checkpoint puts its LSN into the header of every data file, among the pages that it
//! writes, before the log's header names it; and whoever opens the database demands it
//! ([`Analysis::lies_behind`]).
//!
//! This is not logged. A restart may put an older LSN there by repeating an older change of the header; that
//! is after it was looked at, and the next checkpoint puts it right.

use crate::{Analysis, RecoveryError};
use furrow_format::{FileHeader, FileHeaderError, Lsn, Page, PageId, PageNo, PageType};
use furrow_io::mutation::{Mutation, mutated};
use furrow_pool::LatchRank;
use furrow_txn::Store;

/// Puts the LSN into the header of every data file.
pub(crate) fn stamp(store: &Store, checkpoint: Lsn) -> Result<(), RecoveryError> {
    if mutated(Mutation::SkipHeaderStamp) {
        return Ok(());
    }
    for file in store.pool().files_of(store.db()) {
        let page = PageNo(0);
        let id = PageId { file, page };
        let mut page = store.write(id, LatchRank::FileHeader)?;
        if Page::new(&page).page_type() == PageType::FileHeader {
            page.begin_change();
            let broken = |e: FileHeaderError| RecoveryError::Broken {
                page: id,
                reason: e.to_string(),
            };
            FileHeader::set_max_lsn(&mut page, checkpoint).map_err(broken)?;
        }
    }
    Ok(())
}

impl Analysis {
    /// Whether a data file lacks what was written by the checkpoint from which recovery reads.
    pub fn lies_behind(&self, header: &FileHeader) -> bool {
        // Older versions kept nothing there. A new log begins with a checkpoint that had nothing to write but
        // the headers: a sound copy of a file that was damaged then is as good.
        let kept = header.max_lsn > Lsn::ZERO && !self.in_new_log;
        kept && !mutated(Mutation::TakeOldCopy) && header.max_lsn < self.checkpoint
    }
}
