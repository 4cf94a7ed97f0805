//! The journal of a repair: pages on their way to the data files.
//!
//! A journal is written beside the primary file, durably, before the first of its pages is written to a data
//! file. One that is whole is written to the files before they are opened; one that is not is removed.
//!
//! # Invariants
//! 1. *A journal is applied only to the files that it was computed from*, as they were then. Page 0 of each
//!    file (binding GUID, file GUID, greatest LSN) is byte for byte what the journal knows: a repair does not
//!    write it. The boot page is written last; each of its sectors is that of before or that of after. Any
//!    use of the database since would have changed it, for opening clears its flag of a clean shutdown.
//!    Proof: `a_journal_of_another_state_is_not_applied`.
//! 2. *After a repair the backup chain is broken*: the boot page of after has no log chain and no base of
//!    differential backups. Log backups from after cannot follow on pages from before. Proof:
//!    `after_a_repair_the_log_chain_begins_anew`.

use crate::files::{is_own_boot, open_error, repair_path};
use crate::shared::Moved;
use crate::shared::Shared;
use furrow_check::Repaired;
use furrow_format::boot::field;
use furrow_format::{
    BOOT_PAGE, FileId, Lsn, PAGE_SIZE, PageBuf, PageId, PageNo, admit, stamp_checksum,
};
use furrow_io::{Access, AlignedBuf, File, Fill, Open};
use furrow_observe::errorlog::Source;
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"FURROWR2";
/// Magic, length of the body, checksum of the body.
const HEADER_BYTES: usize = 512;
const SECTOR_BYTES: usize = 512;

/// Data files by number.
pub(crate) type Paths = BTreeMap<FileId, PathBuf>;

/// The same files, open and locked.
pub(crate) type Locked = BTreeMap<FileId, Arc<dyn File>>;

/// A data file as the repair found it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    id: FileId,
    /// Least size in pages.
    size: u32,
    /// Checksum of page 0.
    header: u32,
    path: PathBuf,
}

/// A repair that is to be written.
#[derive(Debug)]
pub(crate) struct Journal {
    files: Vec<Known>,
    /// The boot page before and after.
    boot: [Box<PageBuf>; 2],
    /// All pages but the boot page.
    pages: Vec<(PageId, Box<PageBuf>)>,
}

/// A page as it is on disk; `None` behind the end of the file.
fn raw_page(file: &dyn File, number: PageNo) -> Result<Option<Box<PageBuf>>, EngineError> {
    let at = u64::from(number.0) * PAGE_SIZE as u64;
    if file.len_bytes()? < at + PAGE_SIZE as u64 {
        return Ok(None);
    }
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    file.read_at(at, &mut bytes)?;
    Ok(bytes.first_chunk().map(|page: &PageBuf| Box::new(*page)))
}

fn header_sum(file: &dyn File) -> Result<Option<u32>, EngineError> {
    let page = raw_page(file, PageNo(0))?;
    Ok(page.map(|page| crc32c::crc32c(&*page)))
}

fn not_so(what: &str) -> EngineError {
    EngineError::Damaged(what.to_owned())
}

/// The boot page of a database that is at rest, before a repair and after it: without a chain of backups.
fn boot_pages(file: &dyn File) -> Result<[Box<PageBuf>; 2], EngineError> {
    let none = || not_so("the boot page cannot be read: no repair");
    let before = raw_page(file, BOOT_PAGE.page)?.ok_or_else(none)?;
    let mut after = before.clone();
    admit(&mut after, BOOT_PAGE).map_err(|_| none())?;
    if !is_own_boot(&after) || field::CLEAN_SHUTDOWN.get(&after) != [1] {
        return Err(not_so("the database was not shut down cleanly: no repair"));
    }
    field::LOG_BACKUP_LSN.set(&mut after, Lsn::ZERO.to_bytes());
    field::FULL_BACKUP_LSN.set(&mut after, Lsn::ZERO.to_bytes());
    field::DIFFERENTIAL_BASE.set(&mut after, [0; 16]);
    stamp_checksum(&mut after);
    Ok([before, after])
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
    pub(crate) fn of(repaired: &Repaired, files: &Locked) -> Result<Journal, EngineError> {
        let primary = files.get(&FileId(1));
        let primary = primary.ok_or_else(|| not_so("no primary file: no repair"))?;
        let boot = boot_pages(&**primary)?;
        let mut known = Vec::new();
        for (id, file) in files {
            let header = header_sum(&**file)?;
            known.push(Known {
                id: *id,
                size: repaired.sizes.get(id).copied().unwrap_or(0),
                header: header.ok_or_else(|| not_so("a file without a header: no repair"))?,
                path: file.path().to_path_buf(),
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
        })
    }

    pub(crate) fn encode(&self) -> AlignedBuf {
        let mut body = Vec::new();
        body.extend((self.files.len() as u16).to_le_bytes());
        for file in &self.files {
            let path = file.path.to_string_lossy();
            body.extend(file.id.0.to_le_bytes());
            body.extend(file.size.to_le_bytes());
            body.extend(file.header.to_le_bytes());
            body.extend((path.len() as u16).to_le_bytes());
            body.extend(path.as_bytes());
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
    fn decode(bytes: &[u8]) -> Option<Journal> {
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
        let mut files = Vec::new();
        for _ in 0..take.u16()? {
            let (id, size, header) = (FileId(take.u16()?), take.u32()?, take.u32()?);
            let len = take.u16()?;
            let path = PathBuf::from(std::str::from_utf8(take.bytes(len.into())?).ok()?);
            files.push(Known {
                id,
                size,
                header,
                path,
            });
        }
        let boot = [take.page()?, take.page()?];
        let mut pages = Vec::new();
        for _ in 0..take.u32()? {
            let id = PageId::from_bytes(*take.bytes(6)?.first_chunk()?);
            pages.push((id, take.page()?));
        }
        Some(Journal { files, boot, pages })
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
        let [before, after] = &self.boot;
        let sectors = |page: &PageBuf| page.as_chunks::<SECTOR_BYTES>().0.to_vec();
        let (before, after) = (sectors(before), sectors(after));
        let mut each = sectors(&now).into_iter().zip(before.iter().zip(&after));
        Ok(each.all(|(now, (before, after))| now == *before || now == *after))
    }

    fn knows(&self, id: FileId, file: &dyn File) -> Result<bool, EngineError> {
        let known = self.files.iter().find(|known| known.id == id);
        let header = header_sum(file)?;
        Ok(known.is_some_and(|known| Some(known.header) == header))
    }

    /// Writes what a crash has left to write, or nothing: `false` where the journal is not of these files.
    fn finish(&self, shared: &Shared, primary: &Path, moved: &Moved) -> Result<bool, EngineError> {
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
        self.write(&files)?;
        Ok(true)
    }
}

/// Finishes a repair that a crash interrupted, or removes what there is of its journal.
pub(crate) fn finish_repair(
    shared: &Shared,
    primary: &Path,
    moved: &Moved,
) -> Result<(), EngineError> {
    let volume = &*shared.volume;
    let path = repair_path(primary);
    if !volume.exists(&path)? {
        return Ok(());
    }
    let journal = {
        let file = volume.open(&path, Open::ReadOnly, Access::Data)?;
        let mut bytes = AlignedBuf::new(usize::try_from(file.len_bytes()?).unwrap_or(0));
        file.read_at(0, &mut bytes)?;
        Journal::decode(&bytes)
    };
    let finished = match journal {
        Some(journal) => journal.finish(shared, primary, moved)?,
        None => false,
    };
    let text = match finished {
        true => format!("The repair of '{}' was finished.", primary.display()),
        false => format!(
            "The journal '{}' of a repair was removed: it is not whole, or not of the files beside it.",
            path.display()
        ),
    };
    shared.error_log.write(Source::Server, &text);
    Ok(volume.remove(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{MemoryVolume, Volume};

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
                header: 9,
                path: PathBuf::from("d/three.ndf"),
            }],
            boot: [Box::new([1; PAGE_SIZE]), Box::new([2; PAGE_SIZE])],
            pages: vec![(id, Box::new([7; PAGE_SIZE]))],
        };
        let bytes = journal.encode();
        let back = Journal::decode(&bytes).unwrap();
        assert_eq!((back.files, back.boot), (journal.files, journal.boot));
        assert_eq!(back.pages, journal.pages);
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
                header: crc32c::crc32c(&[5; PAGE_SIZE]),
                path: path.to_path_buf(),
            }],
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
