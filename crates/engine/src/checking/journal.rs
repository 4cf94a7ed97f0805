//! The journal of a repair: pages on their way to the data files.
//!
//! A journal is written beside the primary file, durably, before the first of its pages is written to a data
//! file. One that is whole is written to the files before they are opened; one that is not is removed.

use crate::shared::Shared;
use furrow_check::Repaired;
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId};
use furrow_io::{Access, AlignedBuf, File, Fill, Open};
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the journal's name ends with.
const SUFFIX: &str = "_MSSQL_REPAIR";
const MAGIC: &[u8; 8] = b"FURROWRJ";
/// Magic, length of the body, checksum of the body.
const HEADER_BYTES: usize = 512;
const SECTOR_BYTES: usize = 512;

/// Data files by number.
pub(crate) type Paths = BTreeMap<FileId, PathBuf>;

/// The same files, open and locked.
pub(crate) type Locked = BTreeMap<FileId, Arc<dyn File>>;

/// A repair that is to be written.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    files: Vec<(FileId, u32, PathBuf)>,
    pages: Vec<(PageId, Box<PageBuf>)>,
}

/// The path of a database's journal.
pub(crate) fn journal_path(primary: &Path) -> PathBuf {
    let mut name = primary.as_os_str().to_owned();
    name.push(SUFFIX);
    PathBuf::from(name)
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
}

impl Journal {
    pub(crate) fn of(repaired: &Repaired, paths: &Paths) -> Journal {
        let size = |id: FileId| repaired.sizes.get(&id).copied().unwrap_or(0);
        let files = paths
            .iter()
            .map(|(id, path)| (*id, size(*id), path.clone()));
        let pages = repaired.pages.iter().map(|(id, page)| (*id, page.clone()));
        Journal {
            files: files.collect(),
            pages: pages.collect(),
        }
    }

    pub(crate) fn encode(&self) -> AlignedBuf {
        let mut body = Vec::new();
        body.extend((self.files.len() as u16).to_le_bytes());
        for (id, size, path) in &self.files {
            let path = path.to_string_lossy();
            body.extend(id.0.to_le_bytes());
            body.extend(size.to_le_bytes());
            body.extend((path.len() as u16).to_le_bytes());
            body.extend(path.as_bytes());
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
        let mut journal = Journal::default();
        for _ in 0..take.u16()? {
            let (id, size, len) = (FileId(take.u16()?), take.u32()?, take.u16()?);
            let path = std::str::from_utf8(take.bytes(len.into())?).ok()?;
            journal.files.push((id, size, PathBuf::from(path)));
        }
        for _ in 0..take.u32()? {
            let id = PageId::from_bytes(*take.bytes(6)?.first_chunk()?);
            let page: &PageBuf = take.bytes(PAGE_SIZE)?.first_chunk()?;
            journal.pages.push((id, Box::new(*page)));
        }
        Some(journal)
    }

    /// Writes the pages to the data files, durably.
    pub(crate) fn write(&self, files: &Locked) -> Result<(), EngineError> {
        for (id, size, _) in &self.files {
            let Some(file) = files.get(id) else { continue };
            let bytes = u64::from(*size) * PAGE_SIZE as u64;
            if file.len_bytes()? < bytes {
                file.resize(bytes, Fill::Allocate)?;
            }
            for (page_id, page) in self.pages.iter().filter(|page| page.0.file == *id) {
                let at = u64::from(page_id.page.0) * PAGE_SIZE as u64;
                file.write_at(at, &AlignedBuf::copy_of(&**page))?;
            }
            file.sync()?;
        }
        Ok(())
    }
}

/// Finishes a repair that a crash interrupted, or removes what there is of its journal.
pub(crate) fn finish_repair(shared: &Shared, primary: &Path) -> Result<(), EngineError> {
    let volume = &*shared.volume;
    let path = journal_path(primary);
    if !volume.exists(&path)? {
        return Ok(());
    }
    let journal = {
        let file = volume.open(&path, Open::ReadOnly, Access::Data)?;
        let mut bytes = AlignedBuf::new(usize::try_from(file.len_bytes()?).unwrap_or(0));
        file.read_at(0, &mut bytes)?;
        Journal::decode(&bytes)
    };
    if let Some(journal) = journal {
        let mut files = Locked::new();
        for (id, _, path) in &journal.files {
            files.insert(*id, volume.open(path, Open::Existing, Access::Data)?);
        }
        journal.write(&files)?;
    }
    Ok(volume.remove(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::PageNo;

    #[test]
    fn a_journal_comes_back_whole_or_not_at_all() {
        let id = PageId {
            file: FileId(3),
            page: PageNo(77),
        };
        let journal = Journal {
            files: vec![(FileId(3), 5, PathBuf::from("d/three.ndf"))],
            pages: vec![(id, Box::new([7; PAGE_SIZE]))],
        };
        let bytes = journal.encode();
        let back = Journal::decode(&bytes).unwrap();
        assert_eq!((back.files, back.pages), (journal.files, journal.pages));
        for cut in [0, 100, 512, 5000, bytes.len() - 512] {
            assert!(Journal::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
        let mut bent = bytes.to_vec();
        bent[4000] ^= 1;
        assert!(Journal::decode(&bent).is_none());
    }
}
