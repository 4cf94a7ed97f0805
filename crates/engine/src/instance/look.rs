//! Looks at pages and space, for DBCC and the views: nothing here changes anything.

use crate::database::Database;
use furrow_format::{
    BOOT_PAGE, Bitmap, Boot, EXTENT_PAGES, FileId, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, Iam, Lsn,
    Page, PageBuf, PageId, PageNo, TxnId, dcm_page_of, interval_extents,
};
use furrow_pool::{LatchRank, PoolError};
use furrow_space::{FileUsage, PageCounts};
use furrow_tables::EngineError;
use furrow_tables::Rowset;
use furrow_txn::TxnError;
use furrow_types::DateTime;

impl Database {
    /// A copy of a page, through the buffer pool: 824 and its like where it is damaged, 823 beyond the file.
    pub fn page(&self, page: PageId) -> Result<Box<PageBuf>, EngineError> {
        self.check()?;
        let _entered = self.shared.enter();
        let guard = self.store.read(page, LatchRank::Data)?;
        Ok(Box::new(*guard))
    }

    /// What each data file holds, read from its maps.
    pub fn space_usage(&self) -> Result<Vec<FileUsage>, EngineError> {
        self.check()?;
        Ok(self.space.usage()?)
    }

    /// Pages of an index or heap, counted from its maps.
    pub fn page_counts(&self, rowset: &Rowset) -> Result<PageCounts, EngineError> {
        match rowset.is_offline() {
            // Its pages are not there.
            true => Ok(PageCounts::default()),
            false => Ok(self.space.page_counts(rowset.unit())?),
        }
    }

    /// Pages of an index or heap that are in use, IAM pages left out, in allocation order.
    pub fn pages_of(&self, rowset: &Rowset) -> Result<Vec<PageId>, EngineError> {
        if rowset.is_offline() {
            return Ok(Vec::new());
        }
        let mut walk = self.space.walk(rowset.unit())?;
        let mut pages = Vec::new();
        while let Some(batch) = walk.next_batch(&self.space)? {
            pages.extend(batch);
        }
        Ok(pages)
    }

    /// The IAM pages of an index or heap: each names the next.
    pub fn iam_chain(&self, rowset: &Rowset) -> Result<Vec<PageId>, EngineError> {
        let mut chain = Vec::new();
        if rowset.is_offline() {
            return Ok(chain);
        }
        let mut at = rowset.unit().first_iam();
        while !at.is_none() {
            if chain.contains(&at) {
                return Err(EngineError::Damaged(format!(
                    "a circle of IAM pages at {at}"
                )));
            }
            chain.push(at);
            at = Page::new(&*self.page(at)?).next();
        }
        Ok(chain)
    }

    /// Pages that an index or heap has reserved, by file: all of its extents, its pages of mixed extents, its
    /// IAM pages.
    pub fn reserved_by_file(&self, rowset: &Rowset) -> Result<Vec<(FileId, u64)>, EngineError> {
        let mut counted: Vec<(FileId, u64)> = Vec::new();
        let mut add = |file, pages| match counted.iter_mut().find(|(of, _)| *of == file) {
            Some((_, sum)) => *sum += pages,
            None => counted.push((file, pages)),
        };
        for id in self.iam_chain(rowset)? {
            let bytes = self.page(id)?;
            let iam = Iam::new(&bytes);
            let iam = iam.ok_or_else(|| EngineError::Damaged(format!("IAM page {id}")))?;
            add(id.file, 1);
            let extents = iam.extents().count(GAM_INTERVAL_EXTENTS);
            add(iam.interval_start().file, u64::from(extents * EXTENT_PAGES));
            for page in iam.single_pages().filter(|p| !p.is_none()) {
                add(page.file, 1);
            }
        }
        counted.retain(|(_, pages)| *pages > 0);
        Ok(counted)
    }

    /// The bits of a changed-extent page, where they can be read. Where they cannot, all extents of the page
    /// count as changed from now on.
    pub(crate) fn changed_page(&self, id: PageId) -> Result<Option<Box<PageBuf>>, EngineError> {
        let bytes = match self.page(id) {
            Ok(bytes) => Some(bytes).filter(|bytes| Bitmap::new(bytes).is_some()),
            Err(EngineError::Txn(TxnError::Pool(PoolError::BadPage { .. }))) => None,
            Err(error) => return Err(error),
        };
        if bytes.is_none() {
            self.store.changed.lose(id);
        }
        Ok(bytes)
    }

    /// Extents of a data file that have changed since the last full backup: all where a map is damaged.
    pub fn modified_extents(&self, file: FileId, size_pages: u32) -> Result<u64, EngineError> {
        let mut modified = 0;
        for start in (0..size_pages).step_by(GAM_INTERVAL as usize).map(PageNo) {
            let id = PageId {
                file,
                page: dcm_page_of(start),
            };
            let bytes = self.changed_page(id)?;
            let map = bytes.as_deref().and_then(Bitmap::new);
            let extents = interval_extents(start, size_pages);
            let words = (0..extents.div_ceil(64)).map(|index| {
                let on_page = map.as_ref().map_or(0, |map| map.word(index));
                let word = on_page | self.store.changed.word(id, index as usize);
                // Bits past the end of the file count for nothing.
                let behind = (index * 64 + 64).saturating_sub(extents);
                u64::from((word << behind).count_ones())
            });
            modified += words.sum::<u64>();
        }
        Ok(modified)
    }

    /// When it was made, as its boot page has it.
    pub fn created(&self) -> Option<DateTime> {
        let bytes = self.page(BOOT_PAGE).ok()?;
        Boot::decode(&bytes).ok().map(|boot| boot.created)
    }

    /// Transactions that have changed something and are still open.
    pub fn active_transactions(&self) -> usize {
        self.store.active.count()
    }

    /// The active transaction whose first record is the oldest: its number, and that record's LSN at the
    /// latest. Transactions that have changed nothing have no record.
    pub fn oldest_transaction(&self) -> Option<(TxnId, Lsn)> {
        let listed = self.store.active.list(self.store.log().tail());
        let oldest = listed.into_iter().min_by_key(|txn| txn.first)?;
        Some((oldest.id, oldest.first))
    }
}
