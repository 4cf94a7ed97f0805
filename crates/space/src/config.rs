//! The description of files and filegroups that the engine passes when it opens a database.

use crate::SpaceError;
use furrow_format::{FileGrowth, FileId};
use furrow_io::{File, Fill, IoError};
use std::fmt::Debug;
use std::sync::Arc;

/// Whether objects may get space in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Its pages are read and written, and it gets new extents.
    Online,
    /// Its pages can be used, but it gets no new extents and does not grow (it is being emptied).
    Closed,
}

/// A data file as the engine passes it. It is registered with the pool already.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Number of the file.
    pub file_id: FileId,
    /// Its filegroup.
    pub filegroup: u16,
    /// Logical name.
    pub name: String,
    /// The file itself.
    pub file: Arc<dyn File>,
    /// Size in the caller's records. It is not used: the header in page 0 decides.
    pub size_pages: u32,
    /// Largest size; `None` = until the disk is full.
    pub max_pages: Option<u32>,
    /// How it grows.
    pub growth: FileGrowth,
    /// Whether objects may get space in it.
    pub state: FileState,
}

/// A filegroup as the engine passes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilegroupSpec {
    /// Its number; 1 is PRIMARY.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Whether all files grow when one has to (AUTOGROW_ALL_FILES).
    pub autogrow_all: bool,
    /// Whether objects that name no filegroup go to this one.
    pub is_default: bool,
}

/// How space is allocated.
#[derive(Debug, Clone, Copy)]
pub struct SpaceOptions {
    /// Consecutive extents that are allocated in a file when it is its turn: 1, or 64 with the startup option
    /// -E.
    pub extents_a_turn: u32,
    /// How a file's new bytes are filled: allocated (instant file initialisation) or zeroed.
    pub fill: Fill,
    /// Whether nothing is ever allocated. Maps that cannot be read then count as full, so that the rest of
    /// the files can be used.
    pub at_rest: bool,
}

impl SpaceOptions {
    /// Extents a turn under the startup option -E.
    pub const E_RUN: u32 = 64;
}

impl Default for SpaceOptions {
    fn default() -> SpaceOptions {
        SpaceOptions {
            extents_a_turn: 1,
            fill: Fill::Allocate,
            at_rest: false,
        }
    }
}

/// The catalog's part in growth: it stores the new sizes, and the options of files.
pub trait FileCatalog: Send + Sync + Debug {
    /// Records that the file now has `size_pages` pages. Called after the new size is in the log, with no
    /// latch held: it may change rows, and these may need space.
    fn resized(&self, file: FileId, size_pages: u32) -> Result<(), SpaceError>;

    /// How bytes that a file gains are filled; `None` leaves it to [`SpaceOptions`].
    fn fill(&self) -> Option<Fill> {
        None
    }

    /// Called when a file has grown automatically, which took `took_ms`. The growth latch may be held: the
    /// callee must not change anything.
    fn grew(&self, file: FileId, took_ms: u64) {
        let _ = (file, took_ms);
    }

    /// Called when a file should have grown automatically, and the operating system refused. The rules of
    /// [`FileCatalog::grew`] apply.
    fn not_expanded(&self, file: FileId, error: &IoError) {
        let _ = (file, error);
    }
}

/// Gets the lines of trace flag 1165.
pub trait FillTrace: Send + Sync + Debug {
    /// The lines of one recalculation, in order.
    fn recalculated(&self, lines: &[String]);
}

/// What [`crate::Space::open`] needs besides the files.
#[derive(Debug)]
pub struct SpaceConfig {
    /// Name of the database, for trace lines.
    pub database: String,
    /// The filegroups that hold data files.
    pub filegroups: Vec<FilegroupSpec>,
    /// The data files.
    pub files: Vec<DataFile>,
    /// How space is allocated.
    pub options: SpaceOptions,
    /// Called when sizes change.
    pub catalog: Option<Arc<dyn FileCatalog>>,
    /// Gets trace lines.
    pub trace: Option<Arc<dyn FillTrace>>,
}
