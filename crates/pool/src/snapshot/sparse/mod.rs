//! Sparse files: the images of a snapshot that outlives the process.
//!
//! # Invariants
//! 1. *An image is durable before its page is overwritten in the data file.* [`SparseFile::put`] writes
//!    images and the block of the journal that names them, then syncs; only then the bit of each is set.
//! 2. *One block is in flight.* A block is written after the one before it is durable. So of the journal
//!    that a crash leaves, only the last block and its images may be torn: its images are proven by their
//!    checksums, and one that is torn counts as absent. Its page was not yet overwritten.
//! 3. *An image is written once* when the snapshot is whole.

mod layout;
#[cfg(test)]
mod tests;

pub use layout::{SparseHeader, SparseState};

use layout::{BLOCK_BYTES, Block, MOST_ENTRIES, block_at, image_at};

use furrow_format::{FileId, Lsn, PAGE_SIZE, PageId, PageNo};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, File, IoError, IoErrorKind, IoOp, WriteRun};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::IoSlice;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Receives the failure of a snapshot that outlives the process.
pub trait FailureSink: Send + Sync + Debug {
    /// The snapshot has failed: it cannot be read any more. Called once.
    fn failed(&self, error: &IoError);
}

/// Why a sparse file cannot be used.
#[derive(Debug)]
pub enum SparseFault {
    /// It cannot be read.
    Io(IoError),
    /// It is no sparse file of this snapshot, or is damaged.
    Damaged,
    /// An image is missing.
    Suspect,
}

impl From<IoError> for SparseFault {
    fn from(error: IoError) -> SparseFault {
        SparseFault::Io(error)
    }
}

/// One bit for each page.
#[derive(Debug)]
struct Bits(Box<[AtomicU64]>);

impl Bits {
    fn new(pages: u32) -> Bits {
        let words = pages.div_ceil(64) as usize;
        Bits((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    fn get(&self, page: PageNo) -> bool {
        let word = self.0.get((page.0 / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (page.0 % 64) & 1 == 1)
    }

    fn set(&self, page: PageNo) {
        let word = self.0.get((page.0 / 64) as usize);
        debug_assert!(word.is_some(), "a page with an image lies in the file");
        if let Some(word) = word {
            word.fetch_or(1 << (page.0 % 64), Ordering::AcqRel);
        }
    }

    fn count(&self) -> u64 {
        let ones = |word: &AtomicU64| u64::from(word.load(Ordering::Acquire).count_ones());
        self.0.iter().map(ones).sum()
    }
}

/// The next block of the journal, and the memory to write it from.
#[derive(Debug)]
struct Tail {
    next: u64,
    block: AlignedBuf,
}

/// The sparse file of one data file.
#[derive(Debug)]
pub struct SparseFile {
    file: Arc<dyn File>,
    /// As at creation, until the split is known.
    first: SparseHeader,
    placed: OnceLock<(SparseHeader, Bits)>,
    tail: Mutex<Tail>,
}

fn tail(next: u64) -> Mutex<Tail> {
    let block = AlignedBuf::new(BLOCK_BYTES);
    Mutex::new(Tail { next, block })
}

impl SparseFile {
    /// Writes the first header to a new, empty file: a start of the instance that finds it removes it.
    pub fn create(file: Arc<dyn File>, header: SparseHeader) -> Result<SparseFile, IoError> {
        debug_assert_eq!(header.state, SparseState::Creating, "a new file");
        let sparse = SparseFile {
            file,
            first: header,
            placed: OnceLock::new(),
            tail: tail(0),
        };
        sparse.write_header(SparseState::Creating)?;
        Ok(sparse)
    }

    /// Opens the file of a snapshot that is whole, and reads its journal.
    pub fn open(
        file: Arc<dyn File>,
        (snapshot, id): ([u8; 16], FileId),
    ) -> Result<SparseFile, SparseFault> {
        if file.len_bytes()? < PAGE_SIZE as u64 {
            return Err(SparseFault::Damaged);
        }
        let mut page = AlignedBuf::new(PAGE_SIZE);
        file.read_at(0, &mut page)?;
        let header = SparseHeader::decode(&page).ok_or(SparseFault::Damaged)?;
        if header.snapshot != snapshot || header.file != id || header.split == Lsn::ZERO {
            return Err(SparseFault::Damaged);
        }
        match header.state {
            SparseState::Creating => return Err(SparseFault::Damaged),
            SparseState::Suspect => return Err(SparseFault::Suspect),
            SparseState::Whole => {}
        }
        let sparse = SparseFile {
            file,
            first: header,
            placed: OnceLock::new(),
            tail: tail(0),
        };
        sparse.place(header.pages, header.split);
        sparse.read_journal()?;
        Ok(sparse)
    }

    /// What the file is of.
    pub fn header(&self) -> SparseHeader {
        self.placed.get().map_or(self.first, |(header, _)| *header)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Notes how long the data file was at the split: from here on images have their places.
    pub(crate) fn place(&self, pages: u32, split: Lsn) {
        let header = SparseHeader {
            pages,
            split,
            ..self.first
        };
        let placed = self.placed.set((header, Bits::new(pages)));
        debug_assert!(placed.is_ok(), "a split is found once");
    }

    fn write_header(&self, state: SparseState) -> Result<(), IoError> {
        let mut page = AlignedBuf::new(PAGE_SIZE);
        let header = SparseHeader {
            state,
            ..self.header()
        };
        header.encode(&mut page);
        self.file.write_at(0, &page)?;
        self.file.sync()
    }

    fn read_block(&self, number: u64, into: &mut AlignedBuf) -> Result<Option<Block>, IoError> {
        let header = self.header();
        let at = block_at(header.pages, number);
        if at + BLOCK_BYTES as u64 > self.file.len_bytes()? {
            return Ok(None);
        }
        match self.file.read_at(at, into) {
            Ok(()) => Ok(Block::decode(&header, number, into)),
            // A block that was being written when the power went may be unreadable.
            Err(error) if error.kind.is_medium() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_journal(&self) -> Result<(), SparseFault> {
        let mut bytes = AlignedBuf::new(BLOCK_BYTES);
        let mut number = 0;
        while let Some(mut block) = self.read_block(number, &mut bytes)? {
            if self.read_block(number + 1, &mut bytes)?.is_none() {
                number += u64::from(self.prove_last(&mut block)?);
                break;
            }
            block.entries.iter().for_each(|(page, _)| self.set(*page));
            number += 1;
        }
        // A block behind one that is missing: the journal has lost images.
        if self.read_block(number + 1, &mut bytes)?.is_some() {
            return Err(SparseFault::Damaged);
        }
        debug_assert!(
            self.count() <= u64::from(self.header().pages),
            "an image a page"
        );
        self.tail.lock().next = number;
        Ok(())
    }

    /// Takes the images of the last block that are whole; whether there are any. The block is written again
    /// without the others, for once another block follows, all that a block names counts.
    fn prove_last(&self, block: &mut Block) -> Result<bool, IoError> {
        let named = block.entries.len();
        block.entries.retain(|(page, crc)| self.proves(*page, *crc));
        if block.entries.is_empty() {
            return Ok(false);
        }
        if block.entries.len() < named {
            let header = self.header();
            let mut bytes = AlignedBuf::new(BLOCK_BYTES);
            block.encode(&header, &mut bytes);
            let at = block_at(header.pages, block.number);
            self.file.write_at(at, &bytes)?;
            self.file.sync()?;
        }
        block.entries.iter().for_each(|(page, _)| self.set(*page));
        Ok(true)
    }

    fn proves(&self, page: PageNo, crc: u32) -> bool {
        let mut image = AlignedBuf::new(PAGE_SIZE);
        let read = self.file.read_at(image_at(page), &mut image);
        read.is_ok() && crc32c::crc32c(&image) == crc
    }

    fn set(&self, page: PageNo) {
        if let Some((_, bits)) = self.placed.get() {
            bits.set(page);
        }
    }

    /// Pages that have an image here.
    pub(crate) fn count(&self) -> u64 {
        self.placed.get().map_or(0, |(_, bits)| bits.count())
    }

    /// Whether the page has an image here.
    pub fn has(&self, page: PageNo) -> bool {
        self.placed.get().is_some_and(|(_, bits)| bits.get(page))
    }

    /// Reads the images of neighbours from `page` on.
    pub fn read(&self, page: PageNo, into: &mut [u8]) -> Result<(), IoError> {
        debug_assert!(self.has(page), "a page without an image is read elsewhere");
        self.file.read_at(image_at(page), into)
    }

    /// Makes images durable. `bytes` holds those of `pages`, which ascend, one behind the other.
    pub fn put(&self, pages: &[PageNo], bytes: &[u8]) -> Result<(), IoError> {
        debug_assert!(pages.is_sorted(), "images in the order of their pages");
        let header = self.header();
        debug_assert!(self.placed.get().is_some(), "images have places");
        let mut tail = self.tail.lock();
        let chunks = pages.chunks(MOST_ENTRIES);
        for (pages, bytes) in chunks.zip(bytes.chunks(MOST_ENTRIES * PAGE_SIZE)) {
            let crcs = bytes.chunks_exact(PAGE_SIZE).map(crc32c::crc32c);
            let block = Block {
                number: tail.next,
                entries: pages.iter().copied().zip(crcs).collect(),
            };
            debug_assert_eq!(block.entries.len(), pages.len(), "an image for each page");
            block.encode(&header, &mut tail.block);
            let bufs = slices(pages, bytes);
            let mut runs: Vec<WriteRun<'_, '_>> = bufs
                .iter()
                .map(|(first, buf)| WriteRun {
                    offset: image_at(*first),
                    bufs: std::slice::from_ref(buf),
                })
                .collect();
            let journal = [IoSlice::new(&tail.block)];
            runs.push(WriteRun {
                offset: block_at(header.pages, tail.next),
                bufs: &journal,
            });
            self.file.write(&runs)?;
            self.file.sync()?;
            tail.next += 1;
            pages.iter().for_each(|page| self.set(*page));
        }
        Ok(())
    }
}

/// The images of neighbours together: the first page of each stretch, and its bytes.
fn slices<'b>(pages: &[PageNo], bytes: &'b [u8]) -> Vec<(PageNo, IoSlice<'b>)> {
    let mut from = 0;
    let mut runs = Vec::new();
    for run in pages.chunk_by(|a, b| a.0 + 1 == b.0) {
        let to = from + run.len() * PAGE_SIZE;
        if let (Some(first), Some(bytes)) = (run.first(), bytes.get(from..to)) {
            runs.push((*first, IoSlice::new(bytes)));
        }
        from = to;
    }
    runs
}

/// The sparse files of a snapshot, one for each data file of the source.
#[derive(Debug)]
pub struct SparseFiles {
    files: BTreeMap<FileId, SparseFile>,
    sink: Box<dyn FailureSink>,
}

impl SparseFiles {
    /// The files of a snapshot; `sink` receives its failure.
    pub fn new(files: Vec<SparseFile>, sink: Box<dyn FailureSink>) -> SparseFiles {
        let by_id = |file: SparseFile| (file.first.file, file);
        SparseFiles {
            files: files.into_iter().map(by_id).collect(),
            sink,
        }
    }

    pub(crate) fn file(&self, id: FileId) -> Option<&SparseFile> {
        self.files.get(&id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (FileId, &SparseFile)> {
        self.files.iter().map(|(id, file)| (*id, file))
    }

    pub(crate) fn has(&self, page: PageId) -> bool {
        self.file(page.file).is_some_and(|file| file.has(page.page))
    }

    fn known(&self, id: FileId) -> Result<&SparseFile, IoError> {
        let missing = || IoError::new(IoOp::Write, Path::new(""), 0, IoErrorKind::NotFound);
        self.file(id).ok_or_else(missing)
    }

    pub(crate) fn read(&self, page: PageId, into: &mut [u8]) -> Result<(), IoError> {
        self.known(page.file)?.read(page.page, into)
    }

    /// Makes images of one file durable.
    pub(crate) fn put(&self, id: FileId, pages: &[PageNo], bytes: &[u8]) -> Result<(), IoError> {
        self.known(id)?.put(pages, bytes)
    }

    /// Writes to all files that the snapshot is whole.
    pub(crate) fn seal(&self) -> Result<(), IoError> {
        let mut files = self.files.values();
        files.try_for_each(|file| file.write_header(SparseState::Whole))
    }

    /// Notes in the files that the snapshot has failed, as far as they can be written.
    pub(crate) fn fail(&self, error: &IoError) {
        for file in self.files.values() {
            if let Err(error) = file.write_header(SparseState::Suspect) {
                let path = file.path().display();
                tracing::warn!(%path, %error, "a failed snapshot is not marked in this file");
            }
        }
        self.sink.failed(error);
    }
}
