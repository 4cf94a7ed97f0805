//! The images of a snapshot are written back to its source, which is closed.

use crate::files::{double_write_path, open_error};
use crate::shared::{Listed, Shared};
use furrow_format::boot::field;
use furrow_format::{
    BOOT_PAGE, FileHeader, FileId, Lsn, PAGE_SIZE, PFS_INTERVAL, Page, PageBuf, PageMut, PageNo,
    Pfs, pfs_index_of, pfs_page_of, stamp_checksum,
};
use furrow_io::{Access, AlignedBuf, File, Fill, IoError, Open};
use furrow_messages::Message;
use furrow_pool::{PageSnapshot, SparseFile};
use furrow_tables::EngineError;
use std::path::Path;
use std::sync::Arc;

/// Pages that are written at once.
const BATCH_PAGES: u32 = 128;

/// A data file of the source, and its images.
struct Pair {
    id: FileId,
    data: Arc<dyn File>,
    sparse: SparseFile,
}

/// An LSN that no page of a database exceeds which was open until now.
pub(crate) fn last_lsn(database: &crate::database::Database) -> Lsn {
    database.store.log().tail()
}

/// Proves, before anything is written, that the data files are whole without the images: a page that has
/// none is as of the split. Otherwise 3420: the source was changed by something that did not maintain the
/// snapshot.
pub(crate) fn prove(snapshot: &PageSnapshot, name: &str) -> Result<(), EngineError> {
    let lost = || EngineError::of(Message::new(3420, &[name.into()]));
    let cause_of = |error: IoError| match snapshot.failure() {
        Some(_) => lost(),
        None => error.into(),
    };
    for (file, pages) in snapshot.files() {
        for start in (0..pages).step_by(PFS_INTERVAL as usize) {
            let mut map = vec![[0; PAGE_SIZE]];
            let at = pfs_page_of(PageNo(start));
            snapshot.read(file, at, &mut map).map_err(cause_of)?;
            let map = map.first().and_then(Pfs::new);
            let is_used = |page| map.is_some_and(|map| map.get(pfs_index_of(page)).is_allocated());
            let end = pages.min(start.saturating_add(PFS_INTERVAL));
            for first in (start..end).step_by(BATCH_PAGES as usize) {
                EngineError::check_cancelled()?;
                let some = (PageNo(first), BATCH_PAGES.min(end - first));
                if !snapshot.prove(file, some, &is_used).map_err(cause_of)? {
                    return Err(lost());
                }
            }
        }
    }
    Ok(())
}

/// Makes the data files of `source` what they were at the split of `snapshot`, durably, and removes the log.
/// Returns whether the database was read-only then. Can be repeated.
pub(crate) fn write_back(
    shared: &Shared,
    source: &Listed,
    snapshot: &Listed,
) -> Result<bool, EngineError> {
    let mut pairs = Vec::new();
    for plan in &snapshot.layout {
        let data = source.layout.iter().find(|data| data.id == plan.id);
        let data = data.ok_or_else(|| EngineError::of(Message::new(3137, &[])))?;
        let open = |path: &Path| {
            let opened = shared.volume.open(path, Open::Existing, Access::Data);
            opened.map_err(|e| open_error(path, &e))
        };
        let id = FileId(plan.id);
        let sparse = SparseFile::open(open(&plan.path)?, (snapshot.binding, id));
        let sparse =
            sparse.map_err(|fault| super::open::unusable(&plan.path, &snapshot.name, fault))?;
        let guard = double_write_path(&data.path);
        if shared.volume.exists(&guard)? {
            shared.volume.remove(&guard)?;
        }
        let data = open(&data.path)?;
        pairs.push(Pair { id, data, sparse });
    }
    let mut greatest = source.link.lsn;
    for pair in &pairs {
        pair.save_fixed_pages()?;
        greatest = greatest.max(pair.write()?);
    }
    let boot_lsn = greatest.next();
    let mut read_only = false;
    for pair in &pairs {
        read_only |= pair.settle(boot_lsn)?;
    }
    for plan in source.layout.iter().filter(|plan| plan.filegroup == 0) {
        if shared.volume.exists(&plan.path)? {
            shared.volume.remove(&plan.path)?;
        }
    }
    Ok(read_only)
}

/// Takes what a revert needs on the disk while the source is still open: a full disk ends it here.
pub(crate) fn prepare(snapshot: &PageSnapshot) -> Result<(), EngineError> {
    for (file, _) in snapshot.files() {
        let ready = snapshot.prepare_revert(file, fixed_pages(file), Fill::Allocate);
        ready.map_err(|e| EngineError::from(e).of_expansion())?;
    }
    Ok(())
}

/// Pages that the revert itself changes.
fn fixed_pages(file: FileId) -> &'static [PageNo] {
    match file {
        FileId(1) => &[PageNo(0), BOOT_PAGE.page],
        _ => &[PageNo(0)],
    }
}

impl Pair {
    fn read_data(&self, page: PageNo) -> Result<AlignedBuf, EngineError> {
        let mut bytes = AlignedBuf::new(PAGE_SIZE);
        let offset = u64::from(page.0) * PAGE_SIZE as u64;
        self.data.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn save_fixed_pages(&self) -> Result<(), EngineError> {
        for &page in fixed_pages(self.id) {
            if !self.sparse.has(page) {
                let bytes = self.read_data(page)?;
                self.sparse.put(&[page], &bytes)?;
            }
        }
        Ok(())
    }

    /// Writes the images. Returns the greatest LSN among them.
    fn write(&self) -> Result<Lsn, EngineError> {
        let pages = self.sparse.header().pages;
        let bytes = u64::from(pages) * PAGE_SIZE as u64;
        if self.data.len_bytes()? != bytes {
            let resized = self.data.resize(bytes, Fill::Allocate);
            resized.map_err(|e| EngineError::from(e).of_expansion())?;
        }
        let mut greatest = Lsn::ZERO;
        let mut from = 0;
        while from < pages {
            let to = pages.min(from + BATCH_PAGES);
            let some: Vec<u32> = (from..to).filter(|n| self.sparse.has(PageNo(*n))).collect();
            for run in some.chunk_by(|a, b| a + 1 == *b) {
                greatest = greatest.max(self.write_run(run)?);
            }
            from = to;
        }
        Ok(greatest)
    }

    fn write_run(&self, run: &[u32]) -> Result<Lsn, EngineError> {
        let Some(first) = run.first() else {
            return Ok(Lsn::ZERO);
        };
        let mut bytes = AlignedBuf::new(run.len() * PAGE_SIZE);
        self.sparse.read(PageNo(*first), &mut bytes)?;
        let offset = u64::from(*first) * PAGE_SIZE as u64;
        self.data.write_at(offset, &bytes)?;
        let pages = bytes.as_chunks::<PAGE_SIZE>().0.iter();
        let own = run.iter().zip(pages).filter(|(number, page)| {
            let id = Page::new(page).page_id();
            id.file == self.id && id.page.0 == **number
        });
        let lsns = own.map(|(_, page)| Page::new(page).lsn());
        Ok(lsns.max().unwrap_or(Lsn::ZERO))
    }

    /// Makes the file that of a database which was shut down cleanly, its boot page written last at this LSN.
    fn settle(&self, boot_lsn: Lsn) -> Result<bool, EngineError> {
        let mut read_only = false;
        for &number in fixed_pages(self.id) {
            let mut bytes = self.read_data(number)?;
            let Some(page) = bytes.first_chunk_mut::<PAGE_SIZE>() else {
                continue;
            };
            match number {
                PageNo(0) => {
                    let bad =
                        |e: furrow_format::FileHeaderError| EngineError::Damaged(e.to_string());
                    FileHeader::set_max_lsn(page, boot_lsn.next()).map_err(bad)?;
                }
                _ => read_only = settle_boot(page, boot_lsn),
            }
            stamp_checksum(page);
            let offset = u64::from(number.0) * PAGE_SIZE as u64;
            self.data.write_at(offset, &bytes)?;
        }
        self.data.sync()?;
        Ok(read_only)
    }
}

/// The boot page after a revert: shut down cleanly, without a chain of backups. Whether it was read-only.
fn settle_boot(page: &mut PageBuf, lsn: Lsn) -> bool {
    let read_only = field::READ_ONLY.get(page) != [0];
    field::READ_ONLY.set(page, [0]);
    field::CLEAN_SHUTDOWN.set(page, [1]);
    field::LOG_BACKUP_LSN.set(page, Lsn::ZERO.to_bytes());
    field::FULL_BACKUP_LSN.set(page, Lsn::ZERO.to_bytes());
    field::DIFFERENTIAL_BASE.set(page, [0; 16]);
    PageMut::new(page).set_lsn(lsn);
    read_only
}
