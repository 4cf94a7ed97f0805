//! The journal of a repair: pages on their way to the data files.
//!
//! A journal is written beside the primary file, durably, before the first of its pages is written to a data
//! file. One that is whole is written to the files before they are opened; one that is not is removed.
//!
//! # Invariants
//! 1. *A journal is applied only to the files that it was computed from*, as they were then. Each sector of
//!    page 0 of each file (binding GUID, file GUID, greatest LSN), and of the boot page, is that of before or
//!    that of after. The boot page is written last. Any use of the database since would have changed it, for
//!    opening clears its flag of a clean shutdown. Proof: `a_journal_of_another_state_is_not_applied`.
//! 2. *After a repair the backup chain is broken*: the boot page of after has no log chain and no base of
//!    differential backups. Log backups from after cannot follow on pages from before. Proof:
//!    `after_a_repair_the_log_chain_begins_anew`.
//! 3. *All of a repair is durable, or the database of before is there*, wherever it is cut short. Proof:
//!    `a_power_loss_in_a_repair_leaves_the_database_of_before_or_the_repaired_one`.
//!
//! # A new log
//! The journal of an EMERGENCY repair says that the log is lost, whatever there is of it. Its boot page of
//! after says that the database was shut down cleanly, at an LSN that no page exceeds, and the headers name
//! one checkpoint behind it: so opening makes a new log (`crate::opening`). The journal stays until the
//! boot page has lost that flag; an interrupted opening removes what there is of the new log and begins
//! again.

use super::known_pages::{
    Locked, LogAfter, boot_pages, header_pages, is_between, is_same_but_checkpoint, newest_lsn,
    not_so, raw_page,
};
use crate::files::{double_write_path, open_error};
use crate::shared::Moved;
use crate::shared::Shared;
use furrow_check::Repaired;
use furrow_format::{BOOT_PAGE, FileId, Lsn, PAGE_SIZE, PageBuf, PageId, PageNo};
use furrow_io::{Access, AlignedBuf, File, Fill, Open};
use furrow_tables::EngineError;
use std::path::{Path, PathBuf};

pub(super) const MAGIC: &[u8; 8] = b"FURROWR3";
/// Journals of other versions begin so.
pub(super) const KIND: &[u8] = b"FURROWR";
/// Magic, length of the body, checksum of the body.
const HEADER_BYTES: usize = 512;
const SECTOR_BYTES: usize = 512;

/// A data file as the repair found it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    id: FileId,
    /// Least size in pages.
    size: u32,
    path: PathBuf,
    /// Page 0 before and after.
    header: [Box<PageBuf>; 2],
}

/// A repair that is to be written.
#[derive(Debug)]
pub(crate) struct Journal {
    files: Vec<Known>,
    /// The boot page before and after.
    boot: [Box<PageBuf>; 2],
    /// All pages but the boot page and the headers.
    pages: Vec<(PageId, Box<PageBuf>)>,
    /// Whether the log is lost, and a new one is to be made.
    pub(super) new_log: bool,
}

/// Takes numbers from the front of a slice.
struct Take<'b>(&'b [u8]);

impl<'b> Take<'b> {
    fn bytes(&mut self, len: usize) -> Option<&'b [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes(2)?.first_chunk()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?))
    }

    fn page(&mut self) -> Option<Box<PageBuf>> {
        let page: &PageBuf = self.bytes(PAGE_SIZE)?.first_chunk()?;
        Some(Box::new(*page))
    }
}

impl Journal {
    /// Of what was computed from these files, which have not changed since.
    pub(crate) fn of(
        repaired: &Repaired,
        files: &Locked,
        log: LogAfter,
    ) -> Result<Journal, EngineError> {
        let primary = files.get(&FileId(1));
        let primary = primary.ok_or_else(|| not_so("no primary file: no repair"))?;
        let (newest, checkpoint) = match log {
            LogAfter::Stays => (Lsn::ZERO, None),
            LogAfter::New(_) => {
                let newest = newest_lsn(repaired, files)?;
                let behind = Lsn::new(newest.vlf().saturating_add(1), 0, 0);
                let behind = behind.ok_or_else(|| not_so("no LSN is left: no repair"))?;
                (newest, Some(behind))
            }
        };
        let boot = boot_pages(&**primary, log, newest)?;
        let mut known = Vec::new();
        for (id, file) in files {
            known.push(Known {
                id: *id,
                size: repaired.sizes.get(id).copied().unwrap_or(0),
                path: file.path().to_path_buf(),
                header: header_pages(&**file, *id, checkpoint)?,
            });
        }
        // By these pages the journal knows its files.
        if repaired
            .pages
            .keys()
            .any(|id| id.page.0 == 0 || *id == BOOT_PAGE)
        {
            return Err(not_so(
                "a file header or the boot page is damaged: no repair",
            ));
        }
        let pages = repaired.pages.iter().map(|(id, page)| (*id, page.clone()));
        Ok(Journal {
            files: known,
            boot,
            pages: pages.collect(),
            new_log: log != LogAfter::Stays,
        })
    }

    pub(crate) fn encode(&self) -> AlignedBuf {
        let mut body = vec![u8::from(self.new_log)];
        body.extend((self.files.len() as u16).to_le_bytes());
        for file in &self.files {
            let path = file.path.to_string_lossy();
            body.extend(file.id.0.to_le_bytes());
            body.extend(file.size.to_le_bytes());
            body.extend((path.len() as u16).to_le_bytes());
            body.extend(path.as_bytes());
            for page in &file.header {
                body.extend_from_slice(&**page);
            }
        }
        for page in &self.boot {
            body.extend_from_slice(&**page);
        }
        body.extend((self.pages.len() as u32).to_le_bytes());
        for (id, page) in &self.pages {
            body.extend(id.to_bytes());
            body.extend_from_slice(&**page);
        }
        let whole = HEADER_BYTES + body.len().next_multiple_of(SECTOR_BYTES);
        let mut bytes = AlignedBuf::new(whole);
        let mut head = MAGIC.to_vec();
        head.extend((body.len() as u64).to_le_bytes());
        head.extend(u64::from(crc32c::crc32c(&body)).to_le_bytes());
        if let Some(place) = bytes.get_mut(..head.len()) {
            place.copy_from_slice(&head);
        }
        if let Some(place) = bytes.get_mut(HEADER_BYTES..HEADER_BYTES + body.len()) {
            place.copy_from_slice(&body);
        }
        bytes
    }

    /// `None` where the bytes are not a whole journal.
    pub(super) fn decode(bytes: &[u8]) -> Option<Journal> {
        let mut head = Take(bytes.get(..HEADER_BYTES)?);
        if head.bytes(8)? != MAGIC {
            return None;
        }
        let len = u64::from_le_bytes(*head.bytes(8)?.first_chunk()?);
        let sum = u64::from_le_bytes(*head.bytes(8)?.first_chunk()?);
        let end = HEADER_BYTES.checked_add(usize::try_from(len).ok()?)?;
        let body = bytes.get(HEADER_BYTES..end)?;
        if u64::from(crc32c::crc32c(body)) != sum {
            return None;
        }
        let mut take = Take(body);
        let new_log = take.bytes(1)? == [1];
        let mut files = Vec::new();
        for _ in 0..take.u16()? {
            let (id, size) = (FileId(take.u16()?), take.u32()?);
            let len = take.u16()?;
            let path = PathBuf::from(std::str::from_utf8(take.bytes(len.into())?).ok()?);
            files.push(Known {
                id,
                size,
                path,
                header: [take.page()?, take.page()?],
            });
        }
        let boot = [take.page()?, take.page()?];
        let mut pages = Vec::new();
        for _ in 0..take.u32()? {
            let id = PageId::from_bytes(*take.bytes(6)?.first_chunk()?);
            pages.push((id, take.page()?));
        }
        Some(Journal {
            files,
            boot,
            pages,
            new_log,
        })
    }

    /// Makes files that are cut off as long as they should be: before the journal is there, for it may fail.
    pub(crate) fn make_room(&self, files: &Locked) -> Result<(), EngineError> {
        for known in &self.files {
            let Some(file) = files.get(&known.id) else {
                continue;
            };
            let bytes = u64::from(known.size) * PAGE_SIZE as u64;
            if file.len_bytes()? < bytes {
                file.resize(bytes, Fill::Allocate)?;
                file.sync()?;
            }
        }
        Ok(())
    }

    /// Writes the pages to the data files, durably; the boot page when all others are.
    pub(crate) fn write(&self, files: &Locked) -> Result<(), EngineError> {
        self.make_room(files)?;
        for (id, file) in files {
            for (page_id, page) in self.pages.iter().filter(|page| page.0.file == *id) {
                let at = u64::from(page_id.page.0) * PAGE_SIZE as u64;
                file.write_at(at, &AlignedBuf::copy_of(&**page))?;
            }
            let known = self.files.iter().find(|known| known.id == *id);
            if let Some([before, after]) = known.map(|known| &known.header)
                && before != after
            {
                file.write_at(0, &AlignedBuf::copy_of(&**after))?;
            }
            file.sync()?;
        }
        let [_, after] = &self.boot;
        if let Some(primary) = files.get(&FileId(1)) {
            let at = u64::from(BOOT_PAGE.page.0) * PAGE_SIZE as u64;
            primary.write_at(at, &AlignedBuf::copy_of(&**after))?;
            primary.sync()?;
        }
        Ok(())
    }

    /// Whether the journal was computed from this primary file, and the database was not opened since. It may
    /// be written already: writing it again changes nothing.
    fn is_of(&self, primary: &dyn File) -> Result<bool, EngineError> {
        let page = raw_page(primary, BOOT_PAGE.page)?;
        let Some(now) = page else {
            return Ok(false);
        };
        if !self.knows(FileId(1), primary)? {
            return Ok(false);
        }
        Ok(is_between(&now, &self.boot))
    }

    fn knows(&self, id: FileId, file: &dyn File) -> Result<bool, EngineError> {
        let known = self.files.iter().find(|known| known.id == id);
        let header = raw_page(file, PageNo(0))?;
        let (Some(known), Some(header)) = (known, header) else {
            return Ok(false);
        };
        let [_, after] = &known.header;
        // The first checkpoint of the new log may be in the headers already.
        let in_new_log = self.new_log && is_same_but_checkpoint(&header, after, id);
        Ok(is_between(&header, &known.header) || in_new_log)
    }

    /// Writes what a crash has left to write, or nothing: `false` where the journal is not of these files.
    pub(super) fn finish(
        &self,
        shared: &Shared,
        primary: &Path,
        moved: &Moved,
    ) -> Result<bool, EngineError> {
        let open = |path: &Path| {
            let file = shared.volume.open(path, Open::Existing, Access::Data);
            file.map_err(|e| open_error(path, &e))
        };
        let primary = open(primary)?;
        if !self.is_of(&*primary)? {
            return Ok(false);
        }
        let mut files = Locked::from([(FileId(1), primary)]);
        for known in self.files.iter().filter(|known| known.id != FileId(1)) {
            let file = open(&moved.find(shared, (known.id.0, &known.path))?)?;
            // The primary file waits for its own: the journal stays until it comes.
            if !self.knows(known.id, &*file)? {
                return Err(EngineError::refused(5173, &[]));
            }
            files.insert(known.id, file);
        }
        if self.new_log {
            // Images that were for the log that is lost.
            for file in files.values() {
                let images = double_write_path(file.path());
                if shared.volume.exists(&images)? {
                    shared.volume.remove(&images)?;
                }
            }
        }
        self.write(&files)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{MemoryVolume, Volume};
    use std::sync::Arc;

    #[test]
    fn a_journal_comes_back_whole_or_not_at_all() {
        let id = PageId {
            file: FileId(3),
            page: PageNo(77),
        };
        let journal = Journal {
            files: vec![Known {
                id: FileId(3),
                size: 5,
                path: PathBuf::from("d/three.ndf"),
                header: [Box::new([3; PAGE_SIZE]), Box::new([4; PAGE_SIZE])],
            }],
            new_log: true,
            boot: [Box::new([1; PAGE_SIZE]), Box::new([2; PAGE_SIZE])],
            pages: vec![(id, Box::new([7; PAGE_SIZE]))],
        };
        let bytes = journal.encode();
        let back = Journal::decode(&bytes).unwrap();
        assert_eq!((back.files, back.boot), (journal.files, journal.boot));
        assert_eq!((back.pages, back.new_log), (journal.pages, true));
        for cut in [0, 100, 512, 5000, bytes.len() - 512] {
            assert!(Journal::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
        let mut bent = bytes.to_vec();
        bent[4000] ^= 1;
        assert!(Journal::decode(&bent).is_none());
    }

    fn put(file: &dyn File, number: PageNo, byte: u8) {
        let at = u64::from(number.0) * PAGE_SIZE as u64;
        let page = AlignedBuf::copy_of(&[byte; PAGE_SIZE]);
        file.write_at(at, &page).unwrap();
    }

    #[test]
    fn a_journal_of_another_state_is_not_applied() {
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("d")).unwrap();
        let path = Path::new("d/one.mdf");
        let file = volume.open(path, Open::Create, Access::Data).unwrap();
        file.resize(20 * PAGE_SIZE as u64, Fill::Zero).unwrap();
        put(&*file, PageNo(0), 5);
        put(&*file, BOOT_PAGE.page, 1);
        let target = PageId {
            file: FileId(1),
            page: PageNo(12),
        };
        let journal = Journal {
            files: vec![Known {
                id: FileId(1),
                size: 0,
                path: path.to_path_buf(),
                header: [Box::new([5; PAGE_SIZE]), Box::new([5; PAGE_SIZE])],
            }],
            new_log: false,
            boot: [Box::new([1; PAGE_SIZE]), Box::new([2; PAGE_SIZE])],
            pages: vec![(target, Box::new([7; PAGE_SIZE]))],
        };
        let files = Locked::from([(FileId(1), Arc::clone(&file))]);
        assert!(journal.is_of(&*file).unwrap());
        // The boot page is torn between before and after.
        let at = u64::from(BOOT_PAGE.page.0) * PAGE_SIZE as u64;
        let half = AlignedBuf::copy_of(&[2; SECTOR_BYTES * 3]);
        file.write_at(at, &half).unwrap();
        assert!(journal.is_of(&*file).unwrap());
        // The database was opened since.
        put(&*file, BOOT_PAGE.page, 3);
        assert!(!journal.is_of(&*file).unwrap());
        put(&*file, BOOT_PAGE.page, 1);
        // Another database has the path, or the file was written since.
        put(&*file, PageNo(0), 6);
        assert!(!journal.is_of(&*file).unwrap());
        put(&*file, PageNo(0), 5);
        journal.write(&files).unwrap();
        assert!(journal.is_of(&*file).unwrap());
        let written = raw_page(&*file, target.page).unwrap().unwrap();
        assert_eq!(*written, [7; PAGE_SIZE]);
    }
}
