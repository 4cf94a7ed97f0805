//! Files that come, go and change their limits.

use crate::config::DataFile;
use crate::error::damaged;
use crate::file::{FileSpace, Limits};
use crate::promise::Promise;
use crate::space::open_file;
use crate::{Space, SpaceError};
use furrow_format::{
    Change, FileGrowth, FileHeader, FileId, PFS_INTERVAL, PageId, PageNo, Pfs, fixed_page_type,
    pfs_page_of,
};
use furrow_io::sync::atomic::Ordering;
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};
use std::sync::Arc;

/// Log space of a changed file header.
const HEADER_LOG_BYTES: usize = 4096;

impl Space {
    /// Adds a file whose first pages [`crate::new_file_pages`] has written and which is registered with the
    /// pool. Extents are allocated from it from now on, and skip targets are recalculated. No latch may be
    /// held.
    pub fn add_file(&self, file: &DataFile) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        if self.files.read().contains_key(&file.file_id) {
            return Err(SpaceError::FileExists(file.file_id));
        }
        let opened = Arc::new(open_file(self.store(), file, self.options)?);
        let before = self.files.write().insert(file.file_id, Arc::clone(&opened));
        debug_assert!(before.is_none(), "a file's number is its own");
        if !opened.is_closed() {
            // The newest comes second in the filling order.
            group
                .fill
                .set_files(|files| files.insert(files.len().min(1), opened));
        }
        Ok(())
    }

    /// Takes an empty file out; the engine then takes it from the pool and deletes it. Error 5042 when an
    /// extent or a page of it belongs to an object. No latch may be held.
    pub fn remove_file(&self, id: FileId) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        let place = group.fill.files().iter().position(|other| other.id == id);
        group
            .fill
            .set_files(|files| files.retain(|other| other.id != id));
        file.closed.store(true, Ordering::Release);
        debug_assert!(
            group.fill.files().iter().all(|other| other.id != id),
            "nothing is handed out of a file that goes"
        );
        // A thread that picked the file before has claimed an extent, so that the file does not count as
        // empty.
        let empty = self.is_empty(&file);
        if !matches!(empty, Ok(true)) {
            if let Some(place) = place {
                file.closed.store(false, Ordering::Release);
                group
                    .fill
                    .set_files(|files| files.insert(place.min(files.len()), file));
            }
            empty?;
            return Err(SpaceError::NotEmpty(id));
        }
        self.files.write().remove(&id);
        Ok(())
    }

    /// Whether no page of the file is in use but those at fixed places.
    fn is_empty(&self, file: &FileSpace) -> Result<bool, SpaceError> {
        let size_pages = file.size_pages();
        let mut all = 0;
        for (_, count) in crate::grow::new_extents(0, size_pages) {
            all += u64::from(count.free);
        }
        if self.all_free(file)? != all {
            return Ok(false);
        }
        for start in (0..size_pages).step_by(PFS_INTERVAL as usize) {
            let id = file.page(pfs_page_of(PageNo(start)));
            let guard = self.store().read(id, LatchRank::Pfs)?;
            let pfs = Pfs::new(&guard).ok_or(damaged(id, "no sound PFS page"))?;
            let mut pages = (start..size_pages).zip(pfs.iter());
            if pages.any(|(page, byte)| byte.is_taken() && fixed_page_type(PageNo(page)).is_none())
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no extent and no page of a file belongs to an object. No latch may be held.
    pub fn is_file_empty(&self, id: FileId) -> Result<bool, SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        self.is_empty(&file)
    }

    /// Gives a file no new extents any more (it is to be emptied), or again. No latch may be held.
    pub fn set_closed(&self, id: FileId, closed: bool) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        if file.closed.swap(closed, Ordering::AcqRel) != closed {
            group.fill.set_files(|files| {
                files.retain(|other| other.id != id);
                if !closed {
                    files.insert(files.len().min(1), file);
                }
            });
            debug_assert_eq!(
                group.fill.files().iter().any(|other| other.id == id),
                !closed,
                "extents are handed out of open files"
            );
        }
        Ok(())
    }

    /// Changes how far and by what a file grows (MODIFY FILE), in its header too. No latch may be held.
    pub fn set_limits(
        &self,
        id: FileId,
        max_pages: Option<u32>,
        growth: FileGrowth,
    ) -> Result<(), SpaceError> {
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        let size_pages = file.size_pages();
        if let Some(asked_pages) = max_pages.filter(|&max| max < size_pages) {
            let what = "it is larger already";
            return Err(SpaceError::BadSize {
                file: id,
                size_pages,
                asked_pages,
                what,
            });
        }
        let _promise = Promise::new(self.store(), HEADER_LOG_BYTES)?;
        let mut mini = Mini::new(self.store());
        self.plan_header(&mut mini, id, |header| {
            header.max_size_pages = max_pages;
            header.growth = growth;
        })?;
        mini.commit(&Author::System)?;
        debug_assert!(
            max_pages.is_none_or(|max| max >= file.size_pages()),
            "a file is not larger than its largest size"
        );
        *file.limits.lock() = Limits { max_pages, growth };
        Ok(())
    }

    /// Sets whether all files of a filegroup grow together (MODIFY FILEGROUP).
    pub fn set_autogrow_all(&self, filegroup: u16, all: bool) -> Result<(), SpaceError> {
        self.filegroup(filegroup)?
            .autogrow_all
            .store(all, Ordering::Relaxed);
        Ok(())
    }

    /// Makes this the default filegroup.
    pub fn set_default(&self, filegroup: u16) -> Result<(), SpaceError> {
        self.filegroup(filegroup)?;
        for group in self.filegroups.read().values() {
            group
                .is_default
                .store(group.id == filegroup, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Plans a change of a file's header.
    pub(crate) fn plan_header<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        file: FileId,
        change: impl FnOnce(&mut FileHeader),
    ) -> Result<(), SpaceError> {
        let id = PageId {
            file,
            page: PageNo(0),
        };
        let at = mini.adopt(self.store().write(id, LatchRank::FileHeader)?);
        let record = FileHeader::decode(mini.page(at)).and_then(|mut header| {
            change(&mut header);
            header.updated_record(mini.page(at))
        });
        let record = record.map_err(|source| SpaceError::Header { file, source })?;
        mini.push(
            at,
            &Change::ReplaceRow {
                slot: 0,
                bytes: &record,
            },
        );
        Ok(())
    }
}
