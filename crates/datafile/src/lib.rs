//! Reader of detached SQL Server data files, versions 611 to 957: from bytes to tables and rows.
//!
//! Purpose: read a `.mdf` without a server. A [`PageSource`] returns pages: [`DataFiles`] from files on a
//! volume, [`MemoryFiles`] from bytes in memory, the engine from a database at rest or in use. [`Pages`] is
//! the only place where pages are fetched, verified and freed of torn bits. [`Database`] reads the catalog
//! and returns tables and their rows; [`summarize`] reads the allocation maps and counts the results of page
//! verification; [`Survey`] counts pages and rows. The crate `check` verifies the contents.
//!
//! Steps
//! 1. refuse what isn't a data file ([`sniff`]); put torn bits back before any byte is used;
//! 2. boot page: the version, and the first page of `sysallocunits`;
//! 3. `sysallocunits`, `sysrowsets`, `sysrscols` (2005: two tables instead) by the prefix of their layout
//!    that all versions share;
//! 4. everything else by the layouts found there, base tables by column name: unknown columns are skipped.
//!
//! Invariants
//! - `pgfirst` is never used: trees are entered at their root and followed by sibling links, heaps by their
//!   IAM chain; each page on the way must belong to the allocation unit.
//! - Ghosts and deleted slots are no rows; a forwarded row is found through its stub, once.
//! - A dropped column's place is skipped; a column that is newer than a row is NULL, or its stored default.
//! - A damaged or misplaced page costs only its own rows: its error is returned once, and all other
//!   rows follow.
//! - Every page is verified before it is used, maps included. A damaged map is an error, and the page headers
//!   are used instead: no row is missing without an error.
//! - Work is bounded by the size of the files: chains, trees and large values that return to a page end with
//!   an error.
//!
//! What can fail: everything, with a [`MdfError`] that names page and record. Nothing panics, whatever the
//! bytes. Not read, with an error that says so: compressed rowsets, column stores, sparse columns of (max)
//! types. Characters of code pages other than 1252 decode as if they were 1252. A computed column that is not
//! persisted has no values to read ([`TableColumn::computed`]).

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::unreachable
)]

mod base;
mod column;
mod database;
mod error;
mod fixed;
mod lob;
mod pages;
mod physical;
mod rows;
mod sniff;
mod source;
mod space;
mod sparse;
mod survey;
mod table;
mod v611;
mod versions;
mod walk;

pub use base::{UNKNOWN_TYPE, declared_type};
pub use column::{ColumnPlace, Stored, StoredColumn, find_column};
pub use database::Database;
pub use error::MdfError;
pub use fixed::{is_allocated, kind_fault, map_page, required_type};
pub use pages::{PageRef, Pages};
pub use rows::{Row, Rows};
pub use sniff::{MdfImage, sniff};
pub use source::{DataFiles, MemoryFiles, PageForm, PageSource, SourceError, SourceFile, prepare};
pub(crate) use space::summarize_with;
pub use space::{FileSummary, free_extents, summarize};
pub use survey::{Survey, TableUse};
pub use table::{Index, Owner, Table, TableColumn, TableRows};
pub use versions::{NEWEST_VERSION, OLDEST_VERSION, Support, support};
pub use walk::OwnedPages;
