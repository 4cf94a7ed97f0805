//! Groups of changes: several pages, one log record.

use super::codec::{take, take_page};
use super::kinds::{Change, ChangeError};
use crate::PageId;

/// Tag bit: same page as the entry before.
const SAME_PAGE: u8 = 0x80;

/// Appends changes to a buffer.
#[derive(Debug)]
pub struct ChangeWriter<'v> {
    out: &'v mut Vec<u8>,
    page: Option<PageId>,
}

impl<'v> ChangeWriter<'v> {
    /// Starts a group at the end of `out`.
    pub fn new(out: &'v mut Vec<u8>) -> ChangeWriter<'v> {
        ChangeWriter { out, page: None }
    }

    /// Adds a change of `page`.
    pub fn push(&mut self, page: PageId, change: &Change<'_>) {
        if self.page.replace(page) == Some(page) {
            self.out.push(change.tag() | SAME_PAGE);
        } else {
            self.out.push(change.tag());
            self.out.extend_from_slice(&page.to_bytes());
        }
        change.encode_fields(self.out);
    }
}

/// Gives a group's changes back in order. Ends at the end of the bytes, or behind the first error.
#[derive(Debug, Clone)]
pub struct ChangeReader<'a> {
    rest: &'a [u8],
    page: Option<PageId>,
}

impl<'a> ChangeReader<'a> {
    /// Reads the group that is all of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> ChangeReader<'a> {
        ChangeReader {
            rest: bytes,
            page: None,
        }
    }

    fn read(&mut self) -> Result<(PageId, Change<'a>), ChangeError> {
        let [tag] = take(&mut self.rest)?;
        let page = match self.page {
            _ if tag & SAME_PAGE == 0 => take_page(&mut self.rest)?,
            Some(page) => page,
            None => return Err(ChangeError::NoPage),
        };
        self.page = Some(page);
        Ok((
            page,
            Change::decode_fields(tag & !SAME_PAGE, &mut self.rest)?,
        ))
    }
}

impl<'a> Iterator for ChangeReader<'a> {
    type Item = Result<(PageId, Change<'a>), ChangeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.read();
        if entry.is_err() {
            self.rest = &[];
        }
        Some(entry)
    }
}
