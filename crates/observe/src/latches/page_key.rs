//! Which latches of pages the statistics distinguish.

use crate::table::class_table;

class_table! {
    /// What a page is for, as far as waits for its latch are distinguished.
    pub enum PageKind: bool {
        Pfs "PFS" true, "Page free space.";
        Gam "GAM" true, "Global allocation map.";
        Sgam "SGAM" true, "Shared global allocation map.";
        Iam "IAM" false, "Index allocation map.";
        Catalog "CATALOG" false, "A page of a system table.";
        Index "INDEX" false, "An upper page of a B-tree, or a leaf of a nonclustered one.";
        Data "DATA" false, "Rows of a heap or of a clustered index.";
        Other "OTHER" false, "Any other page: file headers, change maps, large values.";
    }
}

impl PageKind {
    /// Whether each such page has a row of its own.
    pub fn is_allocation_map(self) -> bool {
        self.extra()
    }
}

/// Allocation pages that get rows of their own.
pub(super) const MOST_PAGES: usize = 4096;

/// What a row of the statistics is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageLatchKey {
    /// The database.
    pub db: u16,
    /// The kind of page.
    pub kind: PageKind,
    /// The mode that was asked for: `SH`, `UP` or `EX`.
    pub mode: &'static str,
    /// File and page, for an allocation page.
    pub page: Option<(u16, u32)>,
}
