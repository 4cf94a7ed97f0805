//! How a page is printed.

use super::view::{Page, PageMut};
use std::fmt;

impl fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("page_id", &format_args!("{}", self.page_id()))
            .field("type", &format_args!("{}", self.page_type()))
            .field("level", &self.level())
            .field("unit", &self.unit())
            .field("prev", &format_args!("{}", self.prev()))
            .field("next", &format_args!("{}", self.next()))
            .field("pminlen", &self.pminlen())
            .field("slot_count", &self.slot_count())
            .field("free_count", &self.free_count())
            .field("free_data", &self.free_data())
            .field("lsn", &format_args!("{}", self.lsn()))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PageMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_page().fmt(f)
    }
}
