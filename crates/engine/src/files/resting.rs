//! Files that are read and never written: found, proven to belong together, and read page by page before
//! there is a pool that knows them.

#![deny(clippy::indexing_slicing)]

use super::physical::read_header;
use super::physical::{bad_page, is_own_boot, open_error};
use furrow_datafile::{MdfError, PageSource, Pages, SourceError, SourceFile};
use furrow_format::{BOOT_PAGE, FileHeader, FileId, PAGE_SIZE, Page, PageBuf, PageNo, PageType};
use furrow_io::{Access, AlignedBuf, File, IoError, Open, Volume};
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data file, open for reading.
#[derive(Debug)]
pub(crate) struct RestingFile {
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
    pages: u32,
}

/// The data files of a database, open for reading.
#[derive(Debug, Default)]
pub(crate) struct RestingFiles {
    pub(crate) files: BTreeMap<u16, RestingFile>,
    /// Whether a file beside the primary one goes before one that lies where the catalog says.
    pub(crate) beside_first: bool,
}

impl RestingFile {
    /// Opens a data file and proves its header; which one it is, the header says where `expected` does not.
    fn open(
        volume: &dyn Volume,
        path: &Path,
        expected: Option<FileId>,
    ) -> Result<RestingFile, EngineError> {
        let file = volume.open(path, Open::ReadOnly, Access::Data);
        let file = file.map_err(|e| open_error(path, &e))?;
        let expected = match expected {
            Some(expected) => expected,
            None => number_of(&*file)?.unwrap_or(FileId(u16::MAX)),
        };
        RestingFile::proven(file, path, expected)
    }

    /// A file that is open, if its header is that of this file.
    pub(crate) fn proven(
        file: Arc<dyn File>,
        path: &Path,
        id: FileId,
    ) -> Result<RestingFile, EngineError> {
        let header = read_header(&*file, path, id)?;
        let pages = file.len_bytes()? / PAGE_SIZE as u64;
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        Ok(RestingFile {
            file,
            header,
            pages,
        })
    }
}

/// Which file of its database a file says it is; `None` when it begins with no file header.
fn number_of(file: &dyn File) -> Result<Option<FileId>, IoError> {
    if file.len_bytes()? < PAGE_SIZE as u64 {
        return Ok(None);
    }
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    file.read_at(0, &mut bytes)?;
    let mut page: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
    page.copy_from_slice(&bytes);
    let view = Page::new(&page);
    let is_header = view.page_type() == PageType::FileHeader && view.page_id().page.0 == 0;
    Ok(is_header.then(|| view.page_id().file))
}

impl RestingFiles {
    /// Opens the primary file.
    pub(crate) fn open(volume: &dyn Volume, primary: &Path) -> Result<RestingFiles, EngineError> {
        let file = RestingFile::open(volume, primary, Some(FileId(1)))?;
        Ok(RestingFiles::of(file))
    }

    /// With this primary file.
    pub(crate) fn of(primary: RestingFile) -> RestingFiles {
        let mut files = RestingFiles::default();
        files.files.insert(1, primary);
        files
    }

    /// The binding GUID that all its files bear.
    pub(crate) fn binding(&self) -> Guid {
        self.files
            .get(&1)
            .map_or_else(Guid::default, |f| f.header.binding)
    }

    /// Adds a file that the user names. 5173 for one of another database, or one that is there already. Logs
    /// are passed over: `false`.
    pub(crate) fn add(&mut self, volume: &dyn Volume, path: &Path) -> Result<bool, EngineError> {
        if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("ldf"))
        {
            return Ok(false);
        }
        let file = RestingFile::open(volume, path, None)?;
        let id = file.header.file.0;
        if file.header.binding != self.binding() || self.files.contains_key(&id) {
            return Err(EngineError::refused(5173, &[]));
        }
        self.files.insert(id, file);
        Ok(true)
    }

    /// Looks for a file without a given path: where the catalog says, then by its header among the data files
    /// beside the primary file. Returns whether it was found. Of several candidates, the one that was closed
    /// together with the primary file is taken.
    pub(crate) fn find(
        &mut self,
        volume: &dyn Volume,
        id: FileId,
        recorded: Option<&Path>,
        home: &Path,
    ) -> Result<bool, EngineError> {
        let mut other = None;
        for path in self.places(volume, recorded, home) {
            let Ok(file) = RestingFile::open(volume, &path, Some(id)) else {
                continue;
            };
            if file.header.binding != self.binding() {
                continue;
            }
            if self.rests(&file.header) {
                self.files.insert(id.0, file);
                return Ok(true);
            }
            other.get_or_insert(file);
        }
        // It is refused for that, which says more than that there is none.
        let found = other.is_some();
        self.files.extend(other.map(|file| (id.0, file)));
        Ok(found)
    }

    /// Where a file may lie, the likeliest place first.
    fn places(&self, volume: &dyn Volume, recorded: Option<&Path>, home: &Path) -> Vec<PathBuf> {
        let is_data = |path: &PathBuf| {
            let extension = path.extension().and_then(|e| e.to_str());
            extension.is_some_and(|e| ["mdf", "ndf"].contains(&e.to_ascii_lowercase().as_str()))
        };
        let listed = volume.list(home).unwrap_or_default();
        let beside = listed.into_iter().filter(is_data);
        let recorded = recorded.map(Path::to_path_buf);
        if !self.beside_first {
            return recorded.into_iter().chain(beside).collect();
        }
        let name = recorded.as_deref().and_then(Path::file_name);
        let namesake = name.map(|name| home.join(name));
        namesake.into_iter().chain(beside).chain(recorded).collect()
    }

    /// Whether a file of a database of our own was let go together with the primary one. SQL Server's
    /// files do not record it.
    fn rests(&self, header: &FileHeader) -> bool {
        let boot = Pages::new(self)
            .page(BOOT_PAGE)
            .filter(|page| is_own_boot(page));
        let (Some(boot), Some(primary)) = (boot, self.files.get(&1)) else {
            return true;
        };
        let primary = &primary.header;
        header.file == primary.file || header.rests_with(primary, Page::new(&boot).lsn())
    }

    /// Whether all files were let go together.
    pub(crate) fn rest_together(&self) -> bool {
        self.files.values().all(|file| self.rests(&file.header))
    }

    /// What reading the catalog came to, in the engine's words: an operation of the system that failed, a
    /// damaged page with its file, or a catalog that contradicts itself.
    pub(crate) fn error(&self, pages: &Pages<'_>, error: MdfError) -> EngineError {
        if let Some(SourceError::Io(failed)) = pages.take_failure() {
            return failed.into();
        }
        match error {
            MdfError::DamagedPage { page, fault } => {
                let path = self.files.get(&page.file.0).map(|f| f.file.path());
                bad_page(page, path.unwrap_or(Path::new("")), &fault.to_string())
            }
            other => EngineError::Damaged(other.to_string()),
        }
    }
}

impl PageSource for RestingFiles {
    fn files(&self) -> Vec<SourceFile> {
        let files = self.files.iter().map(|(id, file)| SourceFile {
            id: FileId(*id),
            name: file.file.path().display().to_string(),
            pages: file.pages,
        });
        files.collect()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let past_end = SourceError::PastEnd { file, page: first };
        let found = self.files.get(&file.0).ok_or(past_end)?;
        let offset = u64::from(first.0) * PAGE_SIZE as u64;
        Ok(found.file.read_at(offset, into.as_flattened_mut())?)
    }
}
