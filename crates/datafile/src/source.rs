//! Where pages come from: files of a volume, or files held in memory.

use furrow_format::{
    FileId, PAGE_SIZE, Page, PageBuf, PageFault, PageFlags, PageId, PageNo, PageType, Protection,
    untear, verify,
};
use furrow_io::stream::is_same_file;
use furrow_io::{Access, AlignedBuf, File, IoError, Open, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// Why pages cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The device failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file is not a data file.
    #[error("{name} is not a data file: {reason}")]
    NotADataFile {
        /// The file.
        name: String,
        /// What gives it away.
        reason: String,
    },
    /// A file is among the files twice.
    #[error("{name} is given twice: give it once")]
    GivenTwice {
        /// The file.
        name: String,
    },
    /// Two files have one number in their databases.
    #[error(
        "{name} is a file of another database than {other_name}, or a copy of it: both are file {id}. \
        Give the files of one database"
    )]
    OfAnother {
        /// The file.
        name: String,
        /// The number.
        id: FileId,
        /// The file that was given before.
        other_name: String,
    },
    /// Pages past the end were requested.
    #[error("file {file} has no page {page}")]
    PastEnd {
        /// The file.
        file: FileId,
        /// The first requested page.
        page: PageNo,
    },
    /// A source that is no file failed.
    #[error("page {page} cannot be read: {reason}")]
    Unreadable {
        /// The page.
        page: PageId,
        /// Why.
        reason: String,
    },
}

/// A data file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its number in the database.
    pub id: FileId,
    /// Its name for people.
    pub name: String,
    /// Whole pages there are.
    pub pages: u32,
}

/// In which form a source gives its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageForm {
    /// As they lie on the medium: to be verified, with torn bits in place.
    Stored,
    /// As they are in memory: verified when they were read, torn bits put back. The checksum may be that of
    /// an older content.
    Ready,
}

/// Pages of a database's data files: detached files, files in memory, a database at rest, a snapshot of one
/// that is in use.
///
/// Several threads read at once, each into a buffer of its own; runs of many pages are read with one call.
pub trait PageSource: Sync {
    /// The data files, each once.
    fn files(&self) -> Vec<SourceFile>;

    /// Reads the pages from `first` on, as many as `into` has. Where it fails, `into` holds anything.
    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError>;

    /// The form of all its pages.
    fn form(&self) -> PageForm {
        PageForm::Stored
    }

    /// Whether reads take so long that reading ahead is worth a thread: not from memory.
    fn is_slow(&self) -> bool {
        true
    }
}

impl<S: PageSource + ?Sized> PageSource for &S {
    fn files(&self) -> Vec<SourceFile> {
        (**self).files()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        (**self).read(file, first, into)
    }

    fn form(&self) -> PageForm {
        (**self).form()
    }

    fn is_slow(&self) -> bool {
        (**self).is_slow()
    }
}

impl<S: PageSource + Send + ?Sized> PageSource for Arc<S> {
    fn files(&self) -> Vec<SourceFile> {
        (**self).files()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        (**self).read(file, first, into)
    }

    fn form(&self) -> PageForm {
        (**self).form()
    }

    fn is_slow(&self) -> bool {
        (**self).is_slow()
    }
}

/// Makes a page of a source ready for use: verifies it and puts torn bits back. A page that fails keeps its
/// bytes; where it carries torn bits and its own number, they are put back nevertheless, for a reader that
/// looks at damaged pages.
pub fn prepare(form: PageForm, page: &mut PageBuf, id: PageId) -> Result<Protection, PageFault> {
    if form == PageForm::Ready {
        return Ok(Protection::None);
    }
    let protection = verify(page, id);
    let view = Page::new(page);
    if view.page_id() == id && view.flags().has(PageFlags::TORN_BITS) {
        untear(page);
    }
    protection
}

/// Data files of a volume: a directory's, in memory, on the simulated disk.
#[derive(Debug, Default)]
pub struct DataFiles {
    files: Vec<(SourceFile, Arc<dyn File>)>,
}

impl DataFiles {
    /// No files yet.
    pub fn new() -> DataFiles {
        DataFiles::default()
    }

    /// Opens files of one database, read-only. The number of each comes from its first page.
    pub fn open(volume: &dyn Volume, paths: &[PathBuf]) -> Result<DataFiles, SourceError> {
        let mut files = DataFiles::new();
        for path in paths {
            let file = volume.open(path, Open::ReadOnly, Access::Data)?;
            files.add(file)?;
        }
        Ok(files)
    }

    /// Adds an open file. If its length is no multiple of 8,192 bytes the rest is left out: comparing the
    /// length with the file's header shows what is missing.
    pub fn add(&mut self, file: Arc<dyn File>) -> Result<FileId, SourceError> {
        let name = file.path().display().to_string();
        let refuse = |reason: &str| SourceError::NotADataFile {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        let pages = file.len_bytes()? / PAGE_SIZE as u64;
        let pages = u32::try_from(pages).map_err(|_| refuse("too long"))?;
        if pages == 0 {
            return Err(refuse("shorter than a page"));
        }
        let mut first = AlignedBuf::new(PAGE_SIZE);
        file.read_at(0, &mut first)?;
        let first: &PageBuf = first.first_chunk().ok_or_else(|| refuse("no first page"))?;
        let mut second = AlignedBuf::new(PAGE_SIZE);
        if pages > 1 {
            file.read_at(PAGE_SIZE as u64, &mut second)?;
        }
        let id = file_of(first, second.first_chunk()).map_err(|reason| refuse(&reason))?;
        if let Some((known, other)) = self.files.iter().find(|(known, _)| known.id == id) {
            let other_name = known.name.clone();
            return Err(match is_same_file(file.path(), other.path()) {
                true => SourceError::GivenTwice { name },
                false => SourceError::OfAnother {
                    name,
                    id,
                    other_name,
                },
            });
        }
        self.files.push((SourceFile { id, name, pages }, file));
        self.files.sort_by_key(|(file, _)| file.id);
        Ok(id)
    }

    /// Limits the check to these pages of a file: pages behind a file's size have no owner.
    pub fn limit(&mut self, id: FileId, pages: u32) {
        for (file, _) in self.files.iter_mut().filter(|(file, _)| file.id == id) {
            file.pages = file.pages.min(pages);
        }
    }
}

/// The number of the file that begins with these pages.
fn file_of(first: &PageBuf, second: Option<&PageBuf>) -> Result<FileId, String> {
    let header = Page::new(first);
    if header.header_version() == 1 && header.page_type() == PageType::FileHeader {
        return Ok(header.page_id().file);
    }
    // A damaged page 0 must not hide the whole file from the check: the rest of it identifies the file, or
    // else the PFS page behind it.
    let names = |page: &PageBuf, number: u32| {
        let page = Page::new(page);
        let (id, unit) = (page.page_id(), page.unit());
        let likely = id.page == PageNo(number) && (1..=32_767).contains(&id.file.0);
        (likely && unit == furrow_format::SYSTEM_MAPS_UNIT).then_some(id.file)
    };
    let is_pfs = |page: &&PageBuf| Page::new(page).page_type() == PageType::Pfs;
    names(first, 0)
        .or_else(|| names(second.filter(is_pfs)?, 1))
        .ok_or_else(|| "page 0 is no file header".to_owned())
}

impl PageSource for DataFiles {
    fn files(&self) -> Vec<SourceFile> {
        self.files.iter().map(|(file, _)| file.clone()).collect()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let past_end = SourceError::PastEnd { file, page: first };
        let found = self.files.iter().find(|(known, _)| known.id == file);
        let (known, opened) = found.ok_or(past_end)?;
        if u64::from(first.0) + into.len() as u64 > u64::from(known.pages) {
            return Err(SourceError::PastEnd { file, page: first });
        }
        let offset = u64::from(first.0) * PAGE_SIZE as u64;
        Ok(opened.read_at(offset, into.as_flattened_mut())?)
    }
}

/// Files held in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    files: Vec<(FileId, Vec<PageBuf>)>,
}

impl MemoryFiles {
    /// No files yet.
    pub fn new() -> MemoryFiles {
        MemoryFiles::default()
    }

    /// Adds a file's bytes; a part of a page at the end is left out.
    pub fn add(&mut self, bytes: &[u8]) -> Result<FileId, SourceError> {
        let (pages, _rest) = bytes.as_chunks::<PAGE_SIZE>();
        let refuse = |reason: &str| SourceError::NotADataFile {
            name: "a file in memory".to_owned(),
            reason: reason.to_owned(),
        };
        let first = pages.first().ok_or_else(|| refuse("shorter than a page"))?;
        let id = file_of(first, pages.get(1)).map_err(|reason| refuse(&reason))?;
        self.files.push((id, pages.to_vec()));
        self.files.sort_by_key(|file| file.0);
        Ok(id)
    }

    /// Adds a file of this number, or takes the place of one.
    pub(crate) fn put(&mut self, id: FileId, pages: Vec<PageBuf>) {
        self.files.retain(|file| file.0 != id);
        self.files.push((id, pages));
        self.files.sort_by_key(|file| file.0);
    }

    /// A file's pages.
    pub fn pages(&self, file: FileId) -> &[PageBuf] {
        let found = self.files.iter().find(|(id, _)| *id == file);
        found.map_or(&[], |(_, pages)| pages)
    }

    /// A file's pages, to change, cut or lengthen.
    pub fn pages_mut(&mut self, file: FileId) -> Option<&mut Vec<PageBuf>> {
        let found = self.files.iter_mut().find(|(id, _)| *id == file);
        found.map(|(_, pages)| pages)
    }
}

impl PageSource for MemoryFiles {
    fn files(&self) -> Vec<SourceFile> {
        let files = self.files.iter().map(|(id, pages)| SourceFile {
            id: *id,
            name: format!("file {id}"),
            pages: pages.len() as u32,
        });
        files.collect()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let at = first.0 as usize;
        let pages = self.pages(file).get(at..at + into.len());
        into.copy_from_slice(pages.ok_or(SourceError::PastEnd { file, page: first })?);
        Ok(())
    }

    fn is_slow(&self) -> bool {
        false
    }
}
