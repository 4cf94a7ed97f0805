//! What is to be checked, and how deep.

/// How deep a check goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Everything.
    #[default]
    Full,
    /// Everything but the rows of nonclustered indexes of users' tables against the rows of their tables.
    NoIndexes,
    /// Pages, record headers, links of trees and allocation: no values, no index rows, no catalog.
    Physical,
}

/// What a check is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// The whole database.
    #[default]
    Database,
    /// One table with its indexes, by object id. Only the pages that its IAM chains name are read.
    Object(i32),
    /// The tables and the allocation of one filegroup, by its number. Only its files are read.
    Filegroup(u16),
    /// The rows of the catalog against each other.
    Catalog,
}

/// Memory of a check, if nothing else is said.
pub const MEMORY_BYTES: u64 = 256 << 20;

/// How to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How deep.
    pub depth: Depth,
    /// Of what.
    pub scope: Scope,
    /// Threads; 0 = one for each processor.
    pub workers: usize,
    /// Whether counts in the catalog must be exact: of a database that is open they may lag behind.
    pub counts: bool,
    /// Most bytes that are read in a second; 0 = as many as the device gives.
    pub bytes_per_s: u64,
    /// Memory that facts of pages and sums of rows may take before they go to the scratch file.
    pub memory_bytes: u64,
    /// Whether the source is at rest, although the database is open or was not shut down cleanly.
    pub at_rest: bool,
    /// Whether files may be missing, of a database that is open without them: what lies in their filegroups
    /// is not checked.
    pub partial: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            depth: Depth::Full,
            scope: Scope::Database,
            workers: 0,
            counts: true,
            bytes_per_s: 0,
            memory_bytes: MEMORY_BYTES,
            at_rest: false,
            partial: false,
        }
    }
}
