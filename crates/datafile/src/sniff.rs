//! A primary data file recognised, and data files held in memory.

use crate::versions::{Support, support};
use crate::{MdfError, MemoryFiles, Pages};
use furrow_format::boot::{BOOT_PAGE, field};
use furrow_format::{FileId, PAGE_SIZE, Page, PageId, PageNo, PageType};
use std::ops::Deref;
use std::sync::Arc;

const LEAST_PAGES: usize = 10;

/// Data files of one database in memory, and their verified pages.
#[derive(Debug)]
pub struct MdfImage {
    files: Arc<MemoryFiles>,
    pages: Pages<'static>,
}

impl MdfImage {
    /// A primary data file; refused when it does not look like one.
    pub fn open(bytes: &[u8]) -> Result<MdfImage, MdfError> {
        sniff(bytes)?;
        let mut image = MdfImage {
            files: Arc::default(),
            pages: Pages::new(MemoryFiles::new()),
        };
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
        // The old pages are released first, so that the files are changed in place.
        self.pages = Pages::new(MemoryFiles::new());
        Arc::make_mut(&mut self.files).put(file, pages.to_vec());
        self.pages = Pages::new(Arc::clone(&self.files));
        Ok(file)
    }
}

impl Deref for MdfImage {
    type Target = Pages<'static>;

    fn deref(&self) -> &Pages<'static> {
        &self.pages
    }
}

/// Whether the bytes look like a primary data file; otherwise the error gives the reason.
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
    if support(version) == Support::None {
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
