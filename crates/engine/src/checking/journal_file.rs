//! The file of a repair's journal.
//!
//! | bytes | content |
//! |---|---|
//! | 0-511 | magic, bytes of the head u64, count of pages u32, checksum of what follows u64, another u32 |
//! | 512-.. | the head: files with their headers, boot pages, numbers of the pages; padded to 512 bytes |
//! | .. | the pages, in that order |
//!
//! The second checksum is that of the first 20 bytes and the head: where it is right, the files of a damaged
//! journal are known.
//!
//! # Invariants
//! 1. *The first sector is written when all the rest is durable.* So a journal without it was cut short, and
//!    nothing of it is in the data files; one with it that does not add up was damaged since.
//! 2. *What the device cannot read of a journal is damage of the journal* (40517), never a reason for another
//!    log.
//! 3. *Memory is bounded*: pages are written, checked and read 64 at a time.

use crate::files::is_known_page;
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId};
use furrow_io::{AlignedBuf, File, IoError, IoErrorKind};
use furrow_tables::{EngineError, refuse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const MAGIC: &[u8; 8] = b"FURROWR4";
/// Journals of other versions begin so.
pub(super) const KIND: &[u8] = b"FURROWR";
/// The version before: its first sector has the magic, the length of all that follows u64, its checksum u64.
const BEFORE: &[u8; 8] = b"FURROWR3";
/// Most bytes of a journal of that version that are read for the files that it is of.
const MOST_BEFORE_BYTES: u64 = 16 << 20;
const SECTOR_BYTES: usize = 512;
/// Bytes of the first sector in front of its checksums.
const COUNTED_BYTES: usize = 20;
/// Pages that are written or read at once.
const BATCH_PAGES: usize = 64;
/// Most bytes of a head: that of a repair of 100 million pages.
const MOST_HEAD_BYTES: u64 = 1 << 30;

/// A data file as the repair found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) id: FileId,
    /// Least size in pages.
    pub(super) size: u32,
    pub(super) path: PathBuf,
    /// Page 0 before and after.
    pub(super) header: [Box<PageBuf>; 2],
}

/// A repair that is to be written.
pub(crate) struct Journal<'p> {
    pub(super) files: Vec<Known>,
    /// The boot page before and after.
    pub(super) boot: [Box<PageBuf>; 2],
    /// All pages but the boot page and the headers.
    pub(super) pages: Content<'p>,
    /// Whether the log is lost, and a new one is to be made.
    pub(super) new_log: bool,
}

/// Takes a run of pages.
type Each<'a> = dyn FnMut(&[PageId], &AlignedBuf) -> Result<(), EngineError> + 'a;

/// Where the pages of a journal are.
pub(super) enum Content<'p> {
    /// In memory, on their way to the journal.
    Computed(&'p BTreeMap<PageId, Box<PageBuf>>),
    /// In the journal's file, from this byte on, in the order of these numbers.
    Kept {
        file: Arc<dyn File>,
        at: u64,
        ids: Vec<PageId>,
    },
}

impl Content<'_> {
    /// The numbers of all pages but those that the journal itself has.
    fn ids(&self) -> Vec<PageId> {
        match self {
            Content::Computed(pages) => {
                let ids = pages.keys().copied();
                ids.filter(|id| !is_known_page(*id)).collect()
            }
            Content::Kept { ids, .. } => ids.clone(),
        }
    }

    /// Calls `each` with runs of pages, in order.
    pub(super) fn each(&self, each: &mut Each<'_>) -> Result<(), EngineError> {
        let mut offset = match self {
            Content::Computed(_) => 0,
            Content::Kept { at, .. } => *at,
        };
        for run in self.ids().chunks(BATCH_PAGES) {
            let mut bytes = AlignedBuf::new(run.len() * PAGE_SIZE);
            match self {
                Content::Computed(pages) => {
                    let places = bytes.as_chunks_mut::<PAGE_SIZE>().0.iter_mut();
                    for (place, id) in places.zip(run) {
                        if let Some(page) = pages.get(id) {
                            place.copy_from_slice(&**page);
                        }
                    }
                }
                Content::Kept { file, .. } => read_at(&**file, offset, &mut bytes)?,
            }
            offset += bytes.len() as u64;
            each(run, &bytes)?;
        }
        Ok(())
    }
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

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes(8)?.first_chunk()?))
    }

    fn page(&mut self) -> Option<Box<PageBuf>> {
        let page: &PageBuf = self.bytes(PAGE_SIZE)?.first_chunk()?;
        Some(Box::new(*page))
    }
}

/// What a file is. Of one that cannot be applied, the files that it is of and no pages, where they are known.
pub(super) enum Found<'p> {
    /// A journal that is whole.
    Whole(Journal<'p>),
    /// One that was cut short while it was written.
    Unfinished,
    /// One that was whole, and is not any more.
    Damaged(Option<Journal<'p>>),
    /// One of another version.
    Other(Option<Journal<'p>>),
}

/// 40517: a journal that is damaged keeps the database closed.
pub(super) fn damaged(path: &Path) -> EngineError {
    let text = format!(
        "'{}' is the journal of a repair, and is damaged: a part of the repair may be in the data files. \
         Restore the database from a backup, or remove the journal and repair the database again.",
        path.display()
    );
    refuse(40517, 16, 2, &text)
}

/// An error of the device about the journal itself; damage where the device cannot read it.
pub(super) fn of_journal(path: &Path, error: IoError) -> EngineError {
    match error.kind.is_medium() || error.kind == IoErrorKind::PastEnd {
        true => damaged(path),
        false => error.into(),
    }
}

fn read_at(file: &dyn File, at: u64, bytes: &mut [u8]) -> Result<(), EngineError> {
    let read = file.read_at(at, bytes);
    read.map_err(|error| of_journal(file.path(), error))
}

fn encode_head(journal: &Journal<'_>, ids: &[PageId]) -> Vec<u8> {
    let mut head = vec![u8::from(journal.new_log)];
    head.extend((journal.files.len() as u16).to_le_bytes());
    for file in &journal.files {
        let path = file.path.to_string_lossy();
        head.extend(file.id.0.to_le_bytes());
        head.extend(file.size.to_le_bytes());
        head.extend((path.len() as u16).to_le_bytes());
        head.extend(path.as_bytes());
        for page in &file.header {
            head.extend_from_slice(&**page);
        }
    }
    for page in &journal.boot {
        head.extend_from_slice(&**page);
    }
    for id in ids {
        head.extend(id.to_bytes());
    }
    head.resize(head.len().next_multiple_of(SECTOR_BYTES), 0);
    head
}

/// What the head has: whether the log is new, the files, the boot pages, the numbers of the pages.
type Head = (bool, Vec<Known>, [Box<PageBuf>; 2], Vec<PageId>);

fn decode_head(bytes: &[u8], count: u32) -> Option<Head> {
    let mut take = Take(bytes);
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
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(PageId::from_bytes(*take.bytes(6)?.first_chunk()?));
    }
    Some((new_log, files, boot, ids))
}

/// Writes a journal, durably: the first sector last.
pub(super) fn write(journal: &Journal<'_>, file: &dyn File) -> Result<(), EngineError> {
    let ids = journal.pages.ids();
    let head = encode_head(journal, &ids);
    let mut sum = crc32c::crc32c(&head);
    file.write_at(SECTOR_BYTES as u64, &AlignedBuf::copy_of(&head))?;
    let mut at = (SECTOR_BYTES + head.len()) as u64;
    journal.pages.each(&mut |_, bytes| {
        sum = crc32c::crc32c_append(sum, bytes);
        file.write_at(at, bytes)?;
        at += bytes.len() as u64;
        Ok(())
    })?;
    file.sync()?;
    let mut first = MAGIC.to_vec();
    first.extend((head.len() as u64).to_le_bytes());
    first.extend((ids.len() as u32).to_le_bytes());
    let of_head = crc32c::crc32c_append(crc32c::crc32c(&first), &head);
    first.extend(u64::from(sum).to_le_bytes());
    first.extend(of_head.to_le_bytes());
    first.resize(SECTOR_BYTES, 0);
    file.write_durable_at(0, &AlignedBuf::copy_of(&first))?;
    Ok(())
}

/// The first sector: bytes of the head, count of pages, checksum of all, checksum of the head.
fn first_sector(bytes: &[u8]) -> Option<(u64, u32, u64, u32)> {
    let mut take = Take(bytes);
    let is_ours = take.bytes(8)? == MAGIC;
    let numbers = (take.u64()?, take.u32()?, take.u64()?, take.u32()?);
    is_ours.then_some(numbers)
}

/// Reads a journal and verifies it.
pub(super) fn read(file: &Arc<dyn File>) -> Result<Found<'static>, EngineError> {
    match read_whole(file) {
        Err(error) if error.has(40517) => Ok(Found::Damaged(None)),
        found => found,
    }
}

fn read_whole(file: &Arc<dyn File>) -> Result<Found<'static>, EngineError> {
    let length = file.len_bytes()?;
    if length < SECTOR_BYTES as u64 {
        return Ok(Found::Unfinished);
    }
    let mut first = AlignedBuf::new(SECTOR_BYTES);
    read_at(&**file, 0, &mut first)?;
    if first.iter().all(|byte| *byte == 0) {
        return Ok(Found::Unfinished);
    }
    if first.starts_with(KIND) && !first.starts_with(MAGIC) {
        return read_other(file, &first, length);
    }
    let Some((head_bytes, count, sum, of_head)) = first_sector(&first) else {
        return Ok(Found::Damaged(None));
    };
    let at = (SECTOR_BYTES as u64).saturating_add(head_bytes);
    if head_bytes > MOST_HEAD_BYTES || at > length {
        return Ok(Found::Damaged(None));
    }
    let mut head = AlignedBuf::new(head_bytes as usize);
    read_at(&**file, SECTOR_BYTES as u64, &mut head)?;
    let counted = first.get(..COUNTED_BYTES).unwrap_or_default();
    let actual = crc32c::crc32c_append(crc32c::crc32c(counted), &head);
    let decoded = decode_head(&head, count).filter(|_| actual == of_head);
    let Some((new_log, files, boot, ids)) = decoded else {
        return Ok(Found::Damaged(None));
    };
    let file = Arc::clone(file);
    let journal = Journal {
        files,
        boot,
        pages: Content::Kept { file, at, ids },
        new_log,
    };
    let end = at.saturating_add(u64::from(count) * PAGE_SIZE as u64);
    let mut actual = crc32c::crc32c(&head);
    let summed = match end > length {
        true => return Ok(Found::Damaged(Some(journal))),
        false => journal.pages.each(&mut |_, bytes| {
            actual = crc32c::crc32c_append(actual, bytes);
            Ok(())
        }),
    };
    match summed {
        Ok(()) if u64::from(actual) == sum => Ok(Found::Whole(journal)),
        Err(error) if !error.has(40517) => Err(error),
        _ => Ok(Found::Damaged(Some(journal))),
    }
}

/// A journal of another version. One of the version before that does not add up was cut short, for that
/// version wrote its first sector with the rest.
fn read_other(
    file: &Arc<dyn File>,
    first: &[u8],
    length: u64,
) -> Result<Found<'static>, EngineError> {
    let mut take = Take(first);
    if take.bytes(8) != Some(BEFORE) {
        return Ok(Found::Other(None));
    }
    let (body, sum) = (take.u64().unwrap_or(0), take.u64().unwrap_or(0));
    let start = SECTOR_BYTES as u64;
    let padded = body.checked_next_multiple_of(SECTOR_BYTES as u64);
    if padded.is_none_or(|padded| padded > length.saturating_sub(start)) {
        return Ok(Found::Unfinished);
    }
    let (mut actual, mut at, mut known) = (0, 0, Vec::new());
    while at < body {
        let run = (body - at).min((BATCH_PAGES * PAGE_SIZE) as u64);
        let mut bytes = AlignedBuf::new((run as usize).next_multiple_of(SECTOR_BYTES));
        read_at(&**file, start + at, &mut bytes)?;
        let bytes = bytes.get(..run as usize).unwrap_or_default();
        actual = crc32c::crc32c_append(actual, bytes);
        if at < MOST_BEFORE_BYTES {
            known.extend_from_slice(bytes);
        }
        at += run;
    }
    if u64::from(actual) != sum {
        return Ok(Found::Unfinished);
    }
    let journal = decode_head(&known, 0).map(|(new_log, files, boot, ids)| {
        let file = Arc::clone(file);
        let pages = Content::Kept { file, at: 0, ids };
        Journal {
            files,
            boot,
            pages,
            new_log,
        }
    });
    Ok(Found::Other(journal))
}
