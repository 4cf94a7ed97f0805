//! Page types and flag bits.

use std::fmt;

/// `m_type`: what a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageType {
    /// 1: rows of a heap, or of the leaf level of a clustered index.
    Data,
    /// 2: index rows: every other level of every index.
    Index,
    /// 3: pieces of large values.
    TextMix,
    /// 4: inner nodes of the trees of large values.
    TextTree,
    /// 7: a sort run.
    Sort,
    /// 8: free extents of an interval.
    Gam,
    /// 9: mixed extents of an interval with a page to spare.
    Sgam,
    /// 10: extents of one allocation unit in an interval.
    Iam,
    /// 11: a status byte per page.
    Pfs,
    /// 13: the database's boot page, (1:9).
    Boot,
    /// 14: the server's configuration, in `master` only.
    Configuration,
    /// 15: page 0 of a file.
    FileHeader,
    /// 16: extents changed since the last full backup (DCM).
    DiffMap,
    /// 17: extents changed by minimally logged work since the last log backup (BCM).
    MlMap,
    /// 18: deallocated by a repair.
    RepairDeallocated,
    /// 19: temporary page of an index rebuild.
    RebuildTemporary,
    /// 20: allocated ahead by bulk load.
    BulkPreallocated,
    /// Anything else, stored as found.
    Unknown(u8),
}

impl PageType {
    /// From the byte of a page header.
    #[inline]
    pub const fn from_byte(byte: u8) -> PageType {
        match byte {
            1 => PageType::Data,
            2 => PageType::Index,
            3 => PageType::TextMix,
            4 => PageType::TextTree,
            7 => PageType::Sort,
            8 => PageType::Gam,
            9 => PageType::Sgam,
            10 => PageType::Iam,
            11 => PageType::Pfs,
            13 => PageType::Boot,
            14 => PageType::Configuration,
            15 => PageType::FileHeader,
            16 => PageType::DiffMap,
            17 => PageType::MlMap,
            18 => PageType::RepairDeallocated,
            19 => PageType::RebuildTemporary,
            20 => PageType::BulkPreallocated,
            other => PageType::Unknown(other),
        }
    }

    /// The byte of a page header.
    #[inline]
    pub const fn to_byte(self) -> u8 {
        match self {
            PageType::Data => 1,
            PageType::Index => 2,
            PageType::TextMix => 3,
            PageType::TextTree => 4,
            PageType::Sort => 7,
            PageType::Gam => 8,
            PageType::Sgam => 9,
            PageType::Iam => 10,
            PageType::Pfs => 11,
            PageType::Boot => 13,
            PageType::Configuration => 14,
            PageType::FileHeader => 15,
            PageType::DiffMap => 16,
            PageType::MlMap => 17,
            PageType::RepairDeallocated => 18,
            PageType::RebuildTemporary => 19,
            PageType::BulkPreallocated => 20,
            PageType::Unknown(other) => other,
        }
    }

    /// Whether the page has a map of one bit per extent (GAM, SGAM, IAM, DCM, BCM).
    pub const fn is_bitmap(self) -> bool {
        matches!(
            self,
            PageType::Gam | PageType::Sgam | PageType::Iam | PageType::DiffMap | PageType::MlMap
        )
    }

    /// Whether the page's content is rows that come and go, so that only row changes may touch it.
    pub const fn holds_rows(self) -> bool {
        matches!(
            self,
            PageType::Data
                | PageType::Index
                | PageType::TextMix
                | PageType::TextTree
                | PageType::Sort
        )
    }
}

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PageType::Data => "DATA_PAGE",
            PageType::Index => "INDEX_PAGE",
            PageType::TextMix => "TEXT_MIX_PAGE",
            PageType::TextTree => "TEXT_TREE_PAGE",
            PageType::Sort => "SORT_PAGE",
            PageType::Gam => "GAM_PAGE",
            PageType::Sgam => "SGAM_PAGE",
            PageType::Iam => "IAM_PAGE",
            PageType::Pfs => "PFS_PAGE",
            PageType::Boot => "BOOT_PAGE",
            PageType::Configuration => "SERVER_CONFIG_PAGE",
            PageType::FileHeader => "FILE_HEADER_PAGE",
            PageType::DiffMap => "DIFF_MAP_PAGE",
            PageType::MlMap => "ML_MAP_PAGE",
            PageType::RepairDeallocated => "REPAIR_DEALLOCATED_PAGE",
            PageType::RebuildTemporary => "REBUILD_TEMPORARY_PAGE",
            PageType::BulkPreallocated => "BULK_PREALLOCATED_PAGE",
            PageType::Unknown(byte) => return write!(f, "UNKNOWN_PAGE({byte})"),
        })
    }
}

/// `m_flagBits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PageFlags(pub u16);

impl PageFlags {
    /// Records start at multiples of four, and their lengths are rounded up to it.
    pub const ALIGNED: PageFlags = PageFlags(0x2);
    /// `m_tornBits` holds the bits that the signature displaced.
    pub const TORN_BITS: PageFlags = PageFlags(0x100);
    /// `m_tornBits` holds a checksum.
    pub const CHECKSUM: PageFlags = PageFlags(0x200);
    /// Records may carry a version tag.
    pub const VERSIONED: PageFlags = PageFlags(0x2000);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: PageFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` set.
    #[must_use]
    pub const fn with(self, other: PageFlags) -> PageFlags {
        PageFlags(self.0 | other.0)
    }

    /// With the bits of `other` clear.
    #[must_use]
    pub const fn without(self, other: PageFlags) -> PageFlags {
        PageFlags(self.0 & !other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_byte_survives_the_round_trip() {
        for byte in 0..=u8::MAX {
            assert_eq!(PageType::from_byte(byte).to_byte(), byte);
        }
        assert_eq!(PageType::from_byte(1).to_string(), "DATA_PAGE");
        assert_eq!(PageType::from_byte(5), PageType::Unknown(5));
        assert_eq!(PageType::Unknown(5).to_string(), "UNKNOWN_PAGE(5)");
    }
}
