//! The files of a database: on their volume, in the catalog, in memory.
//!
//! # Three places that agree
//! 1. `sysprufiles` has a row for each file; it decides which files there are.
//! 2. Page 0 of each data file says which file of which database it is, and how large.
//! 3. Memory: the pool reads and writes them, the space allocates in them, the [`FileBook`] knows names and
//!    paths.
//!
//! # Adding a file, so that a crash leaves no trace of half a file
//! 1. Its row enters the catalog in the state *being made*, durably.
//! 2. The file is made on its volume: header and maps, synced.
//! 3. The row becomes *online*, durably; the file joins pool and space. Redo finds it in the catalog.
//!
//! A restart that finds a row *being made* (or *being removed*) deletes the file, if it is ours, and the row.

mod book;
mod candidate;
mod file_path;
mod metered;
mod patched;
mod physical;
mod resting;
mod rows;
mod spec;
mod staged;
mod undo_file;
mod unsynced;

pub(crate) use book::{AbsentEntry, BackupTurn, FileBook, FileEntry, GroupEntry, LogEntry};
pub(crate) use candidate::{Candidate, put_images_back};
pub use file_path::file_path;
pub(crate) use metered::Metered;
pub(crate) use patched::{Patched, Patches};
pub(crate) use physical::{
    Guarded, Made, PageReadError, bears, check_directory, check_free, double_write_path, head_of,
    is_known_page, is_own, is_own_boot, open_error, read_boot, read_header, read_page, remove_any,
    remove_own, repair_path,
};
pub(crate) use resting::{RestingFile, RestingFiles};
pub(crate) use rows::{
    FILES1_PAGE, FileStatus, ParsedFile, file_row, files_in_pool, find_log_row, parse_file,
    read_files1,
};
pub(crate) use staged::{Outcome, Staged};
pub(crate) use undo_file::{
    BadUndo, UndoFile, put_back, undo_file_is_blank, undo_file_is_of, undo_file_is_short,
};

pub use physical::directory_error;
pub use spec::{DatabaseSpec, FileGrowth, FileSpec, FilegroupSpec, log_name};

pub(crate) use spec::{
    Asked, DatabasePlan, FilePlan, check_filegroup, default_log_path, plan_file, round_growth,
};
