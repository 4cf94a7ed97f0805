//! Identifiers: newtypes for what must not be mixed.

use std::fmt;

/// Size of a page in bytes.
pub const PAGE_SIZE: usize = 8192;
/// Pages in an extent.
pub const EXTENT_PAGES: u32 = 8;

/// Number of a file within its database: 1 is the primary data file, 2 the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u16);

/// Number of a page within its file, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageNo(pub u32);

/// Number of an extent within its file: pages `8n ..= 8n + 7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ExtentNo(pub u32);

/// A page of a database, printed `(file:page)`. `(0:0)` means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    /// The file.
    pub file: FileId,
    /// The page within it.
    pub page: PageNo,
}

/// Address of a row in a heap: page and slot, printed `(file:page:slot)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RowId {
    /// The page.
    pub page: PageId,
    /// The slot on it.
    pub slot: u16,
}

/// Number of a transaction; 48 bits are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TxnId(pub u64);

/// Number of an object (table, constraint, ...).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectId(pub i32);

/// Number of a database within its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DatabaseId(pub u16);

/// Id of an allocation unit: `index part << 48 | object part << 16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AllocUnitId(pub u64);

/// Id of a rowset (a heap or one B+tree; `hobt_id` in the views).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RowsetId(pub u64);

impl PageId {
    /// No page.
    pub const NONE: PageId = PageId {
        file: FileId(0),
        page: PageNo(0),
    };

    /// Page `page` of file `file`.
    pub const fn new(file: u16, page: u32) -> PageId {
        PageId {
            file: FileId(file),
            page: PageNo(page),
        }
    }

    /// Whether this names no page.
    pub fn is_none(self) -> bool {
        self == PageId::NONE
    }

    /// The extent the page lies in.
    pub fn extent(self) -> ExtentNo {
        ExtentNo(self.page.0 / EXTENT_PAGES)
    }

    /// The six bytes of a pointer on a page: page number u32, file u16.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 6] {
        let [a, b, c, d] = self.page.0.to_le_bytes();
        let [e, f] = self.file.0.to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// From the six bytes of a pointer on a page.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 6]) -> PageId {
        let [a, b, c, d, e, f] = bytes;
        PageId::new(u16::from_le_bytes([e, f]), u32::from_le_bytes([a, b, c, d]))
    }
}

impl RowId {
    /// The eight bytes of a row locator: page number u32, file u16, slot u16.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.page.to_bytes();
        let [g, h] = self.slot.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// From the eight bytes of a row locator.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 8]) -> RowId {
        let [a, b, c, d, e, f, g, h] = bytes;
        let page = PageId::from_bytes([a, b, c, d, e, f]);
        RowId {
            page,
            slot: u16::from_le_bytes([g, h]),
        }
    }
}

impl ExtentNo {
    /// First page of the extent; the last page number for an extent that no file can have.
    pub fn first_page(self) -> PageNo {
        PageNo(self.0.saturating_mul(EXTENT_PAGES))
    }
}

impl AllocUnitId {
    /// From the two parts that page headers carry.
    pub const fn from_parts(index_part: u16, object_part: u32) -> AllocUnitId {
        AllocUnitId((index_part as u64) << 48 | (object_part as u64) << 16)
    }

    /// `m_indexId` of this unit's pages.
    pub const fn index_part(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// `m_objId` of this unit's pages.
    pub const fn object_part(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PageNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.file, self.page)
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{}:{})", self.page.file, self.page.page, self.slot)
    }
}
