//! Where pages come from: the trait, and files held in memory.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use super::MdfError;
use crate::boot::{BOOT_PAGE, field};
use crate::{
    FileId, PAGE_SIZE, Page, PageBuf, PageFault, PageFlags, PageId, PageNo, PageType, Protection,
    untear, verify,
};

/// A page of a source: lent by one that keeps all pages, shared by one that fetches and forgets them.
#[derive(Debug, Clone)]
pub enum PageRef<'s> {
    /// Stays where it is as long as the source.
    Lent(&'s PageBuf),
    /// Stays as long as somebody looks at it.
    Shared(Arc<PageBuf>),
}

impl Deref for PageRef<'_> {
    type Target = PageBuf;

    fn deref(&self) -> &PageBuf {
        match self {
            PageRef::Lent(page) => page,
            PageRef::Shared(page) => page,
        }
    }
}

/// Gives pages that are ready for use: torn bits put back, nothing else changed.
pub trait PageSource {
    /// The page; `None` when the source doesn't have it.
    fn page(&self, page: PageId) -> Option<PageRef<'_>>;

    /// The data files there are.
    fn files(&self) -> Vec<FileId>;

    /// Pages of a file; 0 for one that isn't there.
    fn size_pages(&self, file: FileId) -> u32;

    /// How the page is protected, or what is wrong with it, as found before torn bits were put back.
    fn protection(&self, page: PageId) -> Option<Result<Protection, PageFault>>;

    /// Why the page can't be had, where the source knows more than that it hasn't got it.
    fn problem(&self, _page: PageId) -> Option<String> {
        None
    }
}

const LEAST_PAGES: usize = 10;
const VERSIONS: std::ops::RangeInclusive<u16> = 515..=1100;

/// Data files of one database in memory.
#[derive(Debug, Default)]
pub struct MdfImage {
    files: BTreeMap<FileId, FileImage>,
}

#[derive(Debug)]
struct FileImage {
    pages: Vec<PageBuf>,
    protection: Vec<Result<Protection, PageFault>>,
}

impl MdfImage {
    /// A primary data file; refused when it doesn't look like one.
    pub fn open(bytes: &[u8]) -> Result<MdfImage, MdfError> {
        sniff(bytes)?;
        let mut image = MdfImage::default();
        image.add_file(bytes)?;
        Ok(image)
    }

    /// Adds a secondary file of the same database.
    pub fn add_file(&mut self, bytes: &[u8]) -> Result<FileId, MdfError> {
        let (pages, rest) = bytes.as_chunks::<PAGE_SIZE>();
        let refuse = |reason: &str| MdfError::NotADataFile {
            reason: reason.to_owned(),
        };
        let first = pages.first().ok_or_else(|| refuse("shorter than a page"))?;
        if !rest.is_empty() {
            return Err(refuse("its length is no multiple of 8192"));
        }
        let header = Page::new(first);
        if header.page_type() != PageType::FileHeader || header.page_id().page != PageNo(0) {
            return Err(refuse("page 0 is no file header"));
        }
        let file = header.page_id().file;
        let mut pages = pages.to_vec();
        let protection = (0..)
            .zip(&mut pages)
            .map(|(number, page)| {
                prepare(
                    page,
                    PageId {
                        file,
                        page: PageNo(number),
                    },
                )
            })
            .collect();
        self.files.insert(file, FileImage { pages, protection });
        Ok(file)
    }
}

/// Verifies a page and makes it ready for use. Garbage that happens to carry the torn-bits flag stays as it
/// is.
fn prepare(page: &mut PageBuf, id: PageId) -> Result<Protection, PageFault> {
    let protection = verify(page, id);
    let header = Page::new(page);
    if header.page_id() == id && header.flags().has(PageFlags::TORN_BITS) {
        untear(page);
    }
    protection
}

impl PageSource for MdfImage {
    fn page(&self, page: PageId) -> Option<PageRef<'_>> {
        let pages = &self.files.get(&page.file)?.pages;
        pages.get(page.page.0 as usize).map(PageRef::Lent)
    }

    fn files(&self) -> Vec<FileId> {
        self.files.keys().copied().collect()
    }

    fn size_pages(&self, file: FileId) -> u32 {
        self.files
            .get(&file)
            .map_or(0, |image| image.pages.len() as u32)
    }

    fn protection(&self, page: PageId) -> Option<Result<Protection, PageFault>> {
        self.files
            .get(&page.file)?
            .protection
            .get(page.page.0 as usize)
            .cloned()
    }
}

/// Whether the bytes look like a primary data file; the error says why not.
pub fn sniff(bytes: &[u8]) -> Result<(), MdfError> {
    let refuse = |reason: String| Err(MdfError::NotADataFile { reason });
    let (pages, rest) = bytes.as_chunks::<PAGE_SIZE>();
    if !rest.is_empty() {
        return refuse(format!(
            "its length of {} bytes is no multiple of 8192",
            bytes.len()
        ));
    }
    if pages.len() < LEAST_PAGES {
        return refuse(format!("{} pages are too few", pages.len()));
    }
    let (Some(first), Some(boot)) = (pages.first(), pages.get(BOOT_PAGE.page.0 as usize)) else {
        return refuse("no boot page".to_owned());
    };
    let (header, boot_header) = (Page::new(first), Page::new(boot));
    if header.header_version() != 1 || header.page_type() != PageType::FileHeader {
        return refuse("page 0 is no file header".to_owned());
    }
    if header.page_id().page != PageNo(0) {
        return refuse(format!("page 0 says that it is {}", header.page_id()));
    }
    let expected = PageId {
        file: header.page_id().file,
        page: BOOT_PAGE.page,
    };
    if boot_header.page_type() != PageType::Boot || boot_header.page_id() != expected {
        return refuse(format!(
            "page {BOOT_PAGE} is not a boot page: is it a secondary file?"
        ));
    }
    let version = field::VERSION.get_u16(boot);
    if !VERSIONS.contains(&version) {
        return refuse(format!("database version {version} is not known"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(bytes: &[u8]) -> String {
        sniff(bytes).unwrap_err().to_string()
    }

    #[test]
    fn files_that_are_something_else_are_refused_with_a_clear_word() {
        assert!(reason(b"<html>").contains("6 bytes"));
        assert!(reason(&[]).contains("0 pages"));
        assert!(reason(&vec![0; 10 * PAGE_SIZE]).contains("no file header"));
        let mut bytes = vec![0; 10 * PAGE_SIZE];
        bytes[0] = 1;
        bytes[1] = 15;
        bytes[36] = 1;
        assert!(reason(&bytes).contains("is not a boot page"));
        let boot = 9 * PAGE_SIZE;
        bytes[boot + 1] = 13;
        bytes[boot + 32] = 9;
        bytes[boot + 36] = 1;
        assert!(reason(&bytes).contains("version 0"));
        bytes[boot + 100..boot + 102].copy_from_slice(&706u16.to_le_bytes());
        assert_eq!(sniff(&bytes), Ok(()));
    }
}
