//! Files on their volume: made, proven to be what they claim, opened, deleted.

#![deny(clippy::indexing_slicing)]

use super::unsynced::Unsynced;
use furrow_format::{
    BOOT_PAGE, Boot, FileHeader, FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, PageNo, PageType,
    admit,
};
use furrow_io::{
    Access, AlignedBuf, File, IoError, IoErrorKind, Open, Volume, random, read_around,
};
use furrow_messages::{Arg, Message};
use furrow_tables::{EngineError, os_error};
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the double-write file of a data file lies: beside it, with `.dw` behind its whole name.
pub(crate) fn double_write_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".dw");
    PathBuf::from(name)
}

/// Where the journal of a repair lies: beside the primary file.
pub(crate) fn repair_path(primary: &Path) -> PathBuf {
    let mut name = primary.as_os_str().to_owned();
    name.push("_MSSQL_REPAIR");
    PathBuf::from(name)
}

/// Whether a page is one by which files are known: a header, or the boot page.
pub(crate) fn is_known_page(id: PageId) -> bool {
    id.page.0 == 0 || id == BOOT_PAGE
}

/// A data file with what guards its pages.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    pub(crate) file: Arc<dyn File>,
    /// None of a temporary database: its pages are never repaired.
    pub(crate) double_write: Option<Arc<dyn File>>,
}

/// Files that a statement has made so far; dropped without [`Made::keep`] they are removed again.
#[derive(Debug)]
pub(crate) struct Made<'v> {
    volume: &'v dyn Volume,
    paths: Vec<PathBuf>,
    temporary: bool,
}

impl<'v> Made<'v> {
    pub(crate) fn new(volume: &'v dyn Volume) -> Made<'v> {
        Made {
            volume,
            paths: Vec::new(),
            temporary: false,
        }
    }

    /// Files of a temporary database: nothing in them is made durable, and they have no double-write files.
    pub(crate) fn temporary(volume: &'v dyn Volume) -> Made<'v> {
        let mut made = Made::new(volume);
        made.temporary = true;
        made
    }

    /// Makes an empty file. `state_5170` is the state of the message when the path is taken.
    pub(crate) fn create(
        &mut self,
        path: &Path,
        access: Access,
        state_5170: u8,
    ) -> Result<Arc<dyn File>, EngineError> {
        let file = self.volume.open(path, Open::Create, access);
        let file = file.map_err(|e| create_error(self.volume, path, &e, state_5170))?;
        self.paths.push(path.to_path_buf());
        Ok(match self.temporary {
            true => Unsynced::wrap(file),
            false => file,
        })
    }

    /// Makes an empty data file and, unless it is temporary, its double-write file.
    pub(crate) fn data_file(&mut self, path: &Path, state: u8) -> Result<Guarded, EngineError> {
        let file = self.create(path, Access::Data, state)?;
        let double_write = match self.temporary {
            true => None,
            false => Some(self.double_write_file(path, state)?),
        };
        Ok(Guarded { file, double_write })
    }

    fn double_write_file(&mut self, path: &Path, state: u8) -> Result<Arc<dyn File>, EngineError> {
        let made = self.create(&double_write_path(path), Access::Data, state);
        // The name that was asked for is too long for the one that it needs beside it.
        made.map_err(|e| match e.has(5105) {
            true => name_too_long(path),
            false => e,
        })
    }

    /// Makes an empty file as a trial, beside a data file what will be its double-write file, if there is
    /// none.
    pub(crate) fn probe(
        &mut self,
        path: &Path,
        access: Access,
        state: u8,
    ) -> Result<(), EngineError> {
        self.create(path, Access::Data, state)?;
        if access == Access::Data && !self.volume.exists(&double_write_path(path))? {
            self.double_write_file(path, state)?;
        }
        Ok(())
    }

    /// The files are there to stay.
    pub(crate) fn keep(mut self) {
        self.paths.clear();
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for path in self.paths.iter().rev() {
            if let Err(error) = self.volume.remove(path) {
                tracing::warn!(%error, "a file of a statement that failed is left behind");
            }
        }
    }
}

/// Whether a path can be made, before anything is: the directory is there (5133), the path is free (5170).
pub(crate) fn check_free(volume: &dyn Volume, path: &Path, state: u8) -> Result<(), EngineError> {
    let dir = path.parent().unwrap_or(Path::new(""));
    let found = volume
        .exists(dir)
        .map_err(|e| directory_error(path, &e.kind))?;
    if !found {
        return Err(directory_error(path, &IoErrorKind::NotFound));
    }
    match volume.exists(path) {
        Ok(false) => Ok(()),
        Ok(true) => Err(taken(path, state)),
        Err(e) => Err(create_error(volume, path, &e, state)),
    }
}

/// Whether files can be made in the directory of a file that is there: one is made and removed again.
pub(crate) fn check_directory(
    volume: &dyn Volume,
    path: &Path,
    state: u8,
) -> Result<(), EngineError> {
    let probe = path.with_file_name(Guid(random::guid_v4()).to_string());
    let made = volume.open(&probe, Open::Create, Access::Data);
    made.map_err(|e| create_error(volume, path, &e, state))?;
    Ok(volume.remove(&probe)?)
}

fn shown(path: &Path) -> Arg {
    path.display().to_string().into()
}

fn taken(path: &Path, state: u8) -> EngineError {
    EngineError::of(Message::new(5170, &[shown(path)]).with_state(state))
}

/// 5133: the directory of a file that is to be created is not there or cannot be searched. 5105 where its
/// name is too long.
pub fn directory_error(path: &Path, kind: &IoErrorKind) -> EngineError {
    if *kind == IoErrorKind::NameTooLong {
        return name_too_long(path);
    }
    EngineError::refused(5133, &[shown(path), os_error(kind).into()])
}

fn create_error(volume: &dyn Volume, path: &Path, e: &IoError, state: u8) -> EngineError {
    let dir = path.parent().unwrap_or(Path::new(""));
    match e.kind {
        IoErrorKind::AlreadyExists => taken(path, state),
        IoErrorKind::NameTooLong => name_too_long(path),
        IoErrorKind::NotADirectory => directory_error(path, &e.kind),
        IoErrorKind::NotFound if !volume.exists(dir).unwrap_or(true) => {
            directory_error(path, &e.kind)
        }
        _ => EngineError::refused(5123, &[os_error(&e.kind).into(), shown(path)]),
    }
}

/// 5105: the file system takes no name as long as this.
pub(crate) fn name_too_long(path: &Path) -> EngineError {
    EngineError::refused(5105, &[shown(path)])
}

/// 5120: a file of a database that is to be opened cannot be. 5105 where its name is too long.
pub(crate) fn open_error(path: &Path, e: &IoError) -> EngineError {
    if e.kind == IoErrorKind::NameTooLong {
        return name_too_long(path);
    }
    let args = [
        shown(path),
        e.kind.os_number().into(),
        e.kind.to_string().into(),
    ];
    EngineError::refused(5120, &args)
}

/// Where pages are read past the pool.
pub(crate) trait PageReads {
    /// Reads a page as it is, or would be once what was torn is put back.
    fn page_bytes(&self, page: PageNo, bytes: &mut [u8]) -> Result<(), IoError>;
    fn length(&self) -> Result<u64, IoError>;
    fn place(&self) -> &Path;
}

impl PageReads for dyn File {
    fn page_bytes(&self, page: PageNo, bytes: &mut [u8]) -> Result<(), IoError> {
        self.read_at(u64::from(page.0) * PAGE_SIZE as u64, bytes)
    }

    fn length(&self) -> Result<u64, IoError> {
        self.len_bytes()
    }

    fn place(&self) -> &Path {
        self.path()
    }
}

fn read_raw(from: &(impl PageReads + ?Sized), page: PageNo) -> Result<Box<PageBuf>, IoError> {
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    from.page_bytes(page, &mut bytes)?;
    let mut page: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
    page.copy_from_slice(&bytes);
    Ok(page)
}

/// Page 0 as it is, and what it should call itself.
pub(crate) fn header_page(
    from: &(impl PageReads + ?Sized),
    file: FileId,
) -> Result<(Box<PageBuf>, PageId), IoError> {
    let page = PageNo(0);
    Ok((read_raw(from, page)?, PageId { file, page }))
}

/// Reads a page past the pool, proven.
pub(crate) fn read_page(
    from: &(impl PageReads + ?Sized),
    id: PageId,
) -> Result<Box<PageBuf>, PageReadError> {
    let mut page = read_raw(from, id.page).map_err(PageReadError::Io)?;
    admit(&mut page, id).map_err(|fault| PageReadError::Bad(fault.to_string()))?;
    Ok(page)
}

/// Why a page could not be read past the pool.
#[derive(Debug)]
pub(crate) enum PageReadError {
    Io(IoError),
    Bad(String),
}

/// Least that a device writes at once.
const SECTOR_BYTES: usize = 512;
/// What boot pages of ours bear.
const OWN_MAGIC: [u8; 8] = *b"FURROW\x01\x00";

/// Property that 5172 complains of where the page as a whole is wrong.
const PAGE_AUDIT: &str = "PageAudit";

fn not_a_header(path: &Path, property: &str) -> EngineError {
    EngineError::refused(5172, &[shown(path), property.into()])
}

/// Reads and proves the header of a data file: 5171 or 5172 when it is none, 5125 when the file is too short
/// for it.
pub(crate) fn read_header(
    file: &(impl PageReads + ?Sized),
    path: &Path,
    expected: FileId,
) -> Result<FileHeader, EngineError> {
    let primary = expected == FileId(1);
    let stranger = |property: &str| {
        if primary {
            EngineError::refused(5171, &[shown(path)])
        } else {
            not_a_header(path, property)
        }
    };
    if file.length()? < PAGE_SIZE as u64 {
        return Err(stranger("file size"));
    }
    let id = PageId {
        file: expected,
        page: PageNo(0),
    };
    let page = match read_page(file, id) {
        Ok(page) => page,
        Err(PageReadError::Io(e)) => return Err(e.into()),
        Err(PageReadError::Bad(_)) => {
            return Err(of_another_number(file, path, expected, stranger));
        }
    };
    let header = FileHeader::decode(&page).map_err(|_| stranger(PAGE_AUDIT))?;
    if header.file != expected {
        return Err(wrong_number(path, expected, header.file));
    }
    check_length(file, path, header.size_pages)?;
    Ok(header)
}

/// A page 0 that is not what was expected: perhaps a whole header of another file, which is worth saying.
fn of_another_number(
    file: &(impl PageReads + ?Sized),
    path: &Path,
    expected: FileId,
    stranger: impl Fn(&str) -> EngineError,
) -> EngineError {
    let Ok(mut page) = read_raw(file, PageNo(0)) else {
        return stranger(PAGE_AUDIT);
    };
    let view = Page::new(&page);
    let claimed = view.page_id();
    let is_header = view.page_type() == PageType::FileHeader && claimed.page.0 == 0;
    if is_header && claimed.file != expected && admit(&mut page, claimed).is_ok() {
        if expected == FileId(1) {
            return stranger(PAGE_AUDIT);
        }
        return wrong_number(path, expected, claimed.file);
    }
    stranger(PAGE_AUDIT)
}

fn wrong_number(path: &Path, expected: FileId, found: FileId) -> EngineError {
    if expected == FileId(1) {
        return EngineError::refused(5171, &[shown(path)]);
    }
    EngineError::refused(5161, &[expected.0.into(), found.0.into(), shown(path)])
}

/// 5125 when the file is shorter than `size_pages`.
fn check_length(
    file: &(impl PageReads + ?Sized),
    path: &Path,
    size_pages: u32,
) -> Result<(), EngineError> {
    let expected = u64::from(size_pages) * PAGE_SIZE as u64;
    let actual = file.length()?;
    if actual < expected {
        let args = [
            shown(path),
            (expected / 1024).into(),
            (actual / 1024).into(),
        ];
        return Err(EngineError::refused(5125, &args));
    }
    Ok(())
}

/// Whether a boot page is one of ours.
pub(crate) fn is_own_boot(page: &PageBuf) -> bool {
    furrow_format::boot::field::MAGIC.get(page) == OWN_MAGIC
}

/// Reads and proves the boot page of a primary file of ours.
pub(crate) fn read_boot(
    file: &(impl PageReads + ?Sized),
    path: &Path,
) -> Result<(Boot, Lsn), EngineError> {
    let page = match read_page(file, BOOT_PAGE) {
        Ok(page) => page,
        Err(PageReadError::Io(e)) => return Err(e.into()),
        Err(PageReadError::Bad(what)) => return Err(bad_page(BOOT_PAGE, path, &what)),
    };
    let boot = Boot::decode(&page).map_err(|e| bad_page(BOOT_PAGE, path, &e.to_string()))?;
    if !is_own_boot(&page) {
        let text = format!(
            "The database '{}' in file '{}' has version {} and was not made by this engine: it can be \
             attached READ_ONLY, and is not written.",
            boot.name,
            path.display(),
            boot.version
        );
        return Err(EngineError::of(Message::custom(948, 20, 1, &text)));
    }
    Ok((boot, Page::new(&page).lsn()))
}

/// 824 for a page that was read past the pool.
pub(crate) fn bad_page(id: PageId, path: &Path, what: &str) -> EngineError {
    let offset = u64::from(id.page.0) * PAGE_SIZE as u64;
    let page = Arg::page(id.file.0, id.page.0);
    let args = [
        what.into(),
        "read".into(),
        page,
        0.into(),
        offset.into(),
        shown(path),
    ];
    EngineError::refused(824, &args)
}

/// Removes a data or log file with its double-write file, if it is of the database with this binding GUID, or
/// empty as a creation that was cut short leaves it. Anything else is left alone. Whether the path is free
/// now.
pub(crate) fn remove_own(volume: &dyn Volume, path: &Path, binding: Guid) -> Result<bool, IoError> {
    let found = volume.exists(path)?;
    if found && !is_own(volume, path, binding)? {
        return Ok(false);
    }
    remove_any(volume, path)?;
    Ok(true)
}

/// Removes a file with its double-write file and the journal of a repair, as far as they are there, whatever
/// they hold.
pub(crate) fn remove_any(volume: &dyn Volume, path: &Path) -> Result<(), IoError> {
    for path in [&repair_path(path), path, &double_write_path(path)] {
        if volume.exists(path)? {
            volume.remove(path)?;
        }
    }
    Ok(())
}

/// Whether a file that bears the name of one of ours is it. What a crash left of a file that was being made
/// may be torn: a first sector of zeros is one that was never written, and the GUID is looked for wherever a
/// sector may have kept it.
pub(crate) fn is_own(volume: &dyn Volume, path: &Path, binding: Guid) -> Result<bool, IoError> {
    let head = head_of(volume, path)?;
    let unwritten = head.iter().take(SECTOR_BYTES).all(|&b| b == 0);
    Ok(unwritten || bears(&head, binding))
}

/// The beginning of a file, where those of ours have the binding of their database. What cannot be read was
/// being written: it is zeros.
pub(crate) fn head_of(volume: &dyn Volume, path: &Path) -> Result<Vec<u8>, IoError> {
    let file = volume.open(path, Open::ReadOnly, Access::Data)?;
    let len = file.len_bytes()?.min(PAGE_SIZE as u64) as usize;
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    let Some(head) = bytes.get_mut(..len) else {
        return Ok(Vec::new());
    };
    if !head.is_empty() {
        read_around(&*file, 0, head)?;
    }
    Ok(head.to_vec())
}

/// Whether the beginning of a file has this binding.
pub(crate) fn bears(head: &[u8], binding: Guid) -> bool {
    let mut windows = head.windows(binding.0.len());
    binding != Guid([0; 16]) && windows.any(|window| window == binding.0)
}
