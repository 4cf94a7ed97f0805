//! Which page of which database.

use furrow_format::{DatabaseId, FileId, PageId, PageNo};
use std::fmt;

/// A page of the instance, printed `database:file:page` as the wait views do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageKey {
    /// The database.
    pub db: DatabaseId,
    /// The page within it.
    pub page: PageId,
}

impl PageKey {
    /// Page `page` of database `db`.
    pub const fn new(db: DatabaseId, page: PageId) -> PageKey {
        PageKey { db, page }
    }

    /// One word: database (16 bits), file (16), page (32). 0 is page `(0:0)` of database 0: no page.
    pub(crate) const fn pack(self) -> u64 {
        (self.db.0 as u64) << 48 | (self.page.file.0 as u64) << 32 | self.page.page.0 as u64
    }

    pub(crate) const fn unpack(word: u64) -> PageKey {
        let page = PageId {
            file: FileId((word >> 32) as u16),
            page: PageNo(word as u32),
        };
        PageKey {
            db: DatabaseId((word >> 48) as u16),
            page,
        }
    }
}

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.db.0, self.page.file, self.page.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_packing_and_prints_as_a_wait_resource() {
        for (db, file, page) in [(2, 1, 1), (1, 0, 0), (u16::MAX, u16::MAX, u32::MAX)] {
            let key = PageKey::new(DatabaseId(db), PageId::new(file, page));
            assert_eq!(PageKey::unpack(key.pack()), key);
            assert_eq!(key.to_string(), format!("{db}:{file}:{page}"));
        }
    }
}
