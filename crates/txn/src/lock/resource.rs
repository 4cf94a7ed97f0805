//! What can be locked, and how SQL Server prints it.

use std::fmt;
use std::hash::Hasher;

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;
use furrow_format::{AllocUnitId, DatabaseId, FileId, ObjectId, PageId, RowId, RowsetId};

use super::mode::LockMode;

/// Hash that stands for the gap above the last key of a rowset.
const INFINITY: u64 = u64::MAX;

/// A lockable resource. 24 bytes: every part of it is what the lock table is keyed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A whole database.
    Database(DatabaseId),
    /// A file of a database.
    File(DatabaseId, FileId),
    /// A table or another object.
    Object(DatabaseId, ObjectId),
    /// A heap or one B+tree.
    Hobt(DatabaseId, RowsetId),
    /// A page of a heap or of one B+tree. The same page used later by another rowset is another resource.
    Page(DatabaseId, RowsetId, PageId),
    /// A row of a heap.
    Rid(DatabaseId, RowId),
    /// A key of a B+tree by its hash. Make one with [`Resource::key`] or [`Resource::infinity`].
    Key(DatabaseId, RowsetId, u64),
    /// An extent, named by its first page.
    Extent(DatabaseId, PageId),
    /// An allocation unit.
    AllocationUnit(DatabaseId, AllocUnitId),
    /// A name that applications agree on, by its hash.
    Application(DatabaseId, u64),
}

impl Resource {
    /// The key of `rowset` whose bytes hash to `hash`. Keys with one hash share a lock: they block each
    /// other needlessly, never too little.
    pub const fn key(db: DatabaseId, rowset: RowsetId, hash: u64) -> Resource {
        let hash = if hash == INFINITY { INFINITY - 1 } else { hash };
        Resource::Key(db, rowset, hash)
    }

    /// The gap above the last key of `rowset`.
    pub const fn infinity(db: DatabaseId, rowset: RowsetId) -> Resource {
        Resource::Key(db, rowset, INFINITY)
    }

    /// The database it belongs to.
    pub const fn database(&self) -> DatabaseId {
        match *self {
            Resource::Database(db)
            | Resource::File(db, _)
            | Resource::Object(db, _)
            | Resource::Hobt(db, _)
            | Resource::Page(db, _, _)
            | Resource::Rid(db, _)
            | Resource::Key(db, _, _)
            | Resource::Extent(db, _)
            | Resource::AllocationUnit(db, _)
            | Resource::Application(db, _) => db,
        }
    }

    /// `resource_type` of `sys.dm_tran_locks`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Resource::Database(_) => "DATABASE",
            Resource::File(..) => "FILE",
            Resource::Object(..) => "OBJECT",
            Resource::Hobt(..) => "HOBT",
            Resource::Page(..) => "PAGE",
            Resource::Rid(..) => "RID",
            Resource::Key(..) => "KEY",
            Resource::Extent(..) => "EXTENT",
            Resource::AllocationUnit(..) => "ALLOCATION_UNIT",
            Resource::Application(..) => "APPLICATION",
        }
    }

    /// Whether lock escalation counts it: rows, keys and pages.
    pub const fn is_fine(&self) -> bool {
        matches!(
            self,
            Resource::Rid(..) | Resource::Key(..) | Resource::Page(..)
        )
    }

    /// Whether `mode` has a meaning here: range modes belong to keys, intent modes to what has rows below.
    pub const fn accepts(&self, mode: LockMode) -> bool {
        match self {
            Resource::Key(..) => {
                mode.is_range_mode() || matches!(mode, LockMode::S | LockMode::U | LockMode::X)
            }
            Resource::Rid(..) | Resource::Application(..) => {
                !mode.is_range_mode() && !matches!(mode, LockMode::SchS | LockMode::SchM)
            }
            _ => !mode.is_range_mode(),
        }
    }

    /// Three integers that distinguish resources.
    const fn words(&self) -> [u64; 3] {
        let (tag, a, b) = match *self {
            Resource::Database(_) => (0, 0, 0),
            Resource::File(_, file) => (1, file.0 as u64, 0),
            Resource::Object(_, object) => (2, object.0 as u32 as u64, 0),
            Resource::Hobt(_, rowset) => (3, rowset.0, 0),
            Resource::Page(_, rowset, page) => (4, page_word(page), rowset.0),
            Resource::Rid(_, row) => (5, page_word(row.page), row.slot as u64),
            Resource::Key(_, rowset, hash) => (6, rowset.0, hash),
            Resource::Extent(_, page) => (7, page_word(page), 0),
            Resource::AllocationUnit(_, unit) => (8, unit.0, 0),
            Resource::Application(_, hash) => (9, hash, 0),
        };
        [(self.database().0 as u64) << 8 | tag, a, b]
    }

    /// The hash that places it in the lock table. All bits of the result depend on all bits of the resource.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = FoldHasher::with_seed(0, SharedSeed::global_fixed());
        for word in self.words() {
            hasher.write_u64(word);
        }
        hasher.finish()
    }
}

const fn page_word(page: PageId) -> u64 {
    (page.file.0 as u64) << 32 | page.page.0 as u64
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let db = self.database().0;
        match *self {
            Resource::Database(_) => write!(f, "DATABASE: {db}:0"),
            Resource::File(_, file) => write!(f, "FILE: {db}:{file}"),
            Resource::Object(_, object) => write!(f, "OBJECT: {db}:{}:0", object.0),
            Resource::Hobt(_, rowset) => write!(f, "HOBT: {db}:{}", rowset.0),
            Resource::Page(_, _, page) => write!(f, "PAGE: {db}:{}:{}", page.file, page.page),
            Resource::Rid(_, row) => {
                write!(
                    f,
                    "RID: {db}:{}:{}:{}",
                    row.page.file, row.page.page, row.slot
                )
            }
            Resource::Key(_, rowset, hash) => {
                write!(
                    f,
                    "KEY: {db}:{} ({:012x})",
                    rowset.0,
                    hash & 0xffff_ffff_ffff
                )
            }
            Resource::Extent(_, page) => write!(f, "EXTENT: {db}:{}:{}", page.file, page.page),
            Resource::AllocationUnit(_, unit) => write!(f, "ALLOCATION_UNIT: {db}:{}", unit.0),
            Resource::Application(_, hash) => write!(f, "APPLICATION: {db}:0:({hash:016x})"),
        }
    }
}
