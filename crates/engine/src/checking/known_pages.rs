//! Pages by which the journal of a repair knows its files: the boot page and page 0 of each file, as they are
//! before a repair and after it.

use crate::files::is_own_boot;
use furrow_check::Repaired;
use furrow_format::boot::field;
use furrow_format::{
    BOOT_PAGE, FileHeader, FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, PageMut, PageNo,
    UserAccess, admit, stamp_checksum,
};
use furrow_io::{AlignedBuf, File, IoError, read_around};
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Data files by number.
pub(crate) type Paths = BTreeMap<FileId, PathBuf>;

/// The same files, open and locked.
pub(crate) type Locked = BTreeMap<FileId, Arc<dyn File>>;

/// What is written at once, or not at all.
const SECTOR_BYTES: usize = 512;
/// Stands for a sector that the device could not read. No page has such a sector.
const UNREADABLE: [u8; SECTOR_BYTES] = [0xED; SECTOR_BYTES];
/// Pages that are read at once when the newest is looked for.
const RUN_PAGES: usize = 64;

/// What a repair makes of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogAfter {
    /// It stays: the database was shut down cleanly.
    Stays,
    /// It stays, and nothing is written that it does not have: backups can follow on each other.
    Recovered,
    /// It is lost, and a new one is made; the database keeps this user access.
    New(UserAccess),
}

impl LogAfter {
    /// Whether a new log is made.
    pub(crate) fn is_new(self) -> bool {
        matches!(self, LogAfter::New(_))
    }
}

/// A page as it is on disk. Sectors that the device cannot read are [`UNREADABLE`].
pub(super) struct RawPage {
    pub(super) bytes: Box<PageBuf>,
    /// The device's error, if there is such a sector.
    pub(super) error: Option<IoError>,
}

impl RawPage {
    /// Whether a sector could be read that has more than zeros: it can prove which page this is.
    pub(super) fn proves(&self) -> bool {
        let mut sectors = self.bytes.as_chunks::<SECTOR_BYTES>().0.iter();
        sectors.any(|sector| *sector != UNREADABLE && *sector != [0; SECTOR_BYTES])
    }
}

/// A page as it is on disk; `None` behind the end of the file.
pub(super) fn raw_page(file: &dyn File, number: PageNo) -> Result<Option<RawPage>, EngineError> {
    let at = u64::from(number.0) * PAGE_SIZE as u64;
    if file.len_bytes()? < at + PAGE_SIZE as u64 {
        return Ok(None);
    }
    let mut read = AlignedBuf::new(PAGE_SIZE);
    let unreadable = read_around(file, at, &mut read)?;
    let mut bytes = Box::new([0; PAGE_SIZE]);
    bytes.copy_from_slice(&read);
    for (range, _) in &unreadable {
        let sectors = bytes.get_mut(range.clone()).unwrap_or_default();
        sectors.as_chunks_mut().0.fill(UNREADABLE);
    }
    let error = unreadable.into_iter().next().map(|(_, error)| error);
    Ok(Some(RawPage { bytes, error }))
}

pub(super) fn not_so(what: &str) -> EngineError {
    EngineError::Damaged(what.to_owned())
}

/// Whether each sector of a page is that of before or that of after. One that cannot be read now may be
/// either; so may one that could not be read before.
pub(super) fn is_between(now: &PageBuf, [before, after]: &[Box<PageBuf>; 2]) -> bool {
    let sectors = |page: &PageBuf| page.as_chunks::<SECTOR_BYTES>().0.to_vec();
    let (before, after) = (sectors(before), sectors(after));
    let mut each = sectors(now).into_iter().zip(before.iter().zip(&after));
    each.all(|(now, (before, after))| {
        let is_known = now != UNREADABLE && *before != UNREADABLE;
        !is_known || now == *before || now == *after
    })
}

/// Whether two pages 0 of a file are the same header but for the checkpoint that they name.
pub(super) fn is_same_but_checkpoint(now: &PageBuf, then: &PageBuf, file: FileId) -> bool {
    let decoded = |page: &PageBuf| {
        let mut page = *page;
        let id = PageId {
            file,
            page: PageNo(0),
        };
        admit(&mut page, id).ok()?;
        let header = FileHeader::decode(&page).ok()?;
        Some(FileHeader {
            max_lsn: Lsn::ZERO,
            ..header
        })
    };
    decoded(now).is_some_and(|now| decoded(then) == Some(now))
}

/// The boot page before a repair and after it: at rest, and without a chain of backups if a page was changed
/// that the log does not have.
pub(super) fn boot_pages(
    (file, mended): (&dyn File, Option<&PageBuf>),
    log: LogAfter,
    newest: Lsn,
) -> Result<[Box<PageBuf>; 2], EngineError> {
    let none = || not_so("the boot page cannot be read: no repair");
    let before = raw_page(file, BOOT_PAGE.page)?.ok_or_else(none)?.bytes;
    let mut after = Box::new(*mended.unwrap_or(&before));
    admit(&mut after, BOOT_PAGE).map_err(|_| none())?;
    if !is_own_boot(&after) {
        return Err(none());
    }
    match log {
        LogAfter::Stays | LogAfter::Recovered if field::CLEAN_SHUTDOWN.get(&after) != [1] => {
            return Err(not_so("the database was not shut down cleanly: no repair"));
        }
        LogAfter::Stays | LogAfter::Recovered => {}
        LogAfter::New(access) => {
            field::CLEAN_SHUTDOWN.set(&mut after, [1]);
            field::READ_ONLY.set(&mut after, [0]);
            field::USER_ACCESS.set(&mut after, [access.to_byte()]);
            PageMut::new(&mut after).set_lsn(newest);
        }
    }
    if log != LogAfter::Recovered {
        field::LOG_BACKUP_LSN.set(&mut after, Lsn::ZERO.to_bytes());
        field::FULL_BACKUP_LSN.set(&mut after, Lsn::ZERO.to_bytes());
        field::DIFFERENTIAL_BASE.set(&mut after, [0; 16]);
    }
    stamp_checksum(&mut after);
    Ok([before, after])
}

/// Page 0 before a repair and after it. Where the log is new, its checkpoint lies behind all pages.
pub(super) fn header_pages(
    (file, mended): (&dyn File, Option<&PageBuf>),
    id: FileId,
    checkpoint: Option<Lsn>,
) -> Result<[Box<PageBuf>; 2], EngineError> {
    let none = || not_so("a file without a header: no repair");
    let before = raw_page(file, PageNo(0))?.ok_or_else(none)?.bytes;
    let mut after = Box::new(*mended.unwrap_or(&before));
    if let Some(checkpoint) = checkpoint {
        let page = PageNo(0);
        admit(&mut after, PageId { file: id, page }).map_err(|_| none())?;
        FileHeader::set_max_lsn(&mut after, checkpoint).map_err(|_| none())?;
        stamp_checksum(&mut after);
    }
    Ok([before, after])
}

/// Reads pages together, or one by one where the device cannot read them all. Pages that it cannot read are
/// empty: the repair has new contents for them.
fn read_what_can_be_read(file: &dyn File, first: u64, run: &mut [u8]) {
    if file.read_at(first * PAGE_SIZE as u64, run).is_ok() {
        return;
    }
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    for (page, number) in run.as_chunks_mut::<PAGE_SIZE>().0.iter_mut().zip(first..) {
        match file.read_at(number * PAGE_SIZE as u64, &mut bytes) {
            Ok(()) => page.copy_from_slice(&bytes),
            Err(_) => page.fill(0),
        }
    }
}

/// The greatest LSN of sound pages: of what the repair writes, and of what it leaves.
pub(super) fn newest_lsn(repaired: &Repaired, files: &Locked) -> Result<Lsn, EngineError> {
    let written = repaired.pages.values().map(|page| Page::new(page).lsn());
    let mut newest = written.max().unwrap_or(Lsn::ZERO);
    let mut bytes = AlignedBuf::new(RUN_PAGES * PAGE_SIZE);
    for (id, file) in files {
        let (mut at, end) = (0, file.len_bytes()? / PAGE_SIZE as u64);
        while at < end {
            EngineError::check_cancelled()?;
            let count = (end - at).min(RUN_PAGES as u64);
            let run = bytes.get_mut(..count as usize * PAGE_SIZE);
            let run = run.unwrap_or_default();
            read_what_can_be_read(&**file, at, run);
            for (page, number) in run.as_chunks_mut::<PAGE_SIZE>().0.iter_mut().zip(at..) {
                let page_id = PageId {
                    file: *id,
                    page: PageNo(number as u32),
                };
                if admit(page, page_id).is_ok() {
                    newest = newest.max(Page::new(page).lsn());
                }
            }
            at += count;
        }
    }
    Ok(newest)
}
