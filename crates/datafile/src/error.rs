//! What can be wrong with a file.

use furrow_format::{FileId, PageFault, PageId, RowId};
use furrow_types::TypeError;

/// Why a file, or a part of it, can't be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MdfError {
    /// The bytes are no primary data file.
    #[error("not a SQL Server primary data file: {reason}")]
    NotADataFile {
        /// What gives it away.
        reason: String,
    },
    /// The page isn't in the files that were given.
    #[error("page {page} is not in the files given ({wanted_by})")]
    MissingPage {
        /// The page.
        page: PageId,
        /// What leads to it.
        wanted_by: String,
    },
    /// The page lies in a file that was not given: it may be sound.
    #[error("file {file} was not given ({wanted_by})")]
    MissingFile {
        /// The file.
        file: FileId,
        /// What leads to it.
        wanted_by: String,
    },
    /// The source could not read the page.
    #[error("page {page} cannot be read: {reason}")]
    UnreadablePage {
        /// The page.
        page: PageId,
        /// The device's message.
        reason: String,
    },
    /// The page was verified and failed.
    #[error("page {page} is damaged: {fault}")]
    DamagedPage {
        /// The page.
        page: PageId,
        /// What is wrong.
        fault: PageFault,
    },
    /// The page belongs to another allocation unit, or is of another type than it must be.
    #[error("page {page} is not what {wanted_by} needs: {found}")]
    WrongPage {
        /// The page.
        page: PageId,
        /// What leads to it.
        wanted_by: String,
        /// What it is.
        found: String,
    },
    /// A chain or tree of pages comes back to a page.
    #[error("the pages of {wanted_by} run in a circle at {page}")]
    Circle {
        /// The page reached twice.
        page: PageId,
        /// What leads there.
        wanted_by: String,
    },
    /// A record, or a column of it, doesn't hold together.
    #[error("record {at}: {what}")]
    DamagedRecord {
        /// Where.
        at: RowId,
        /// What is wrong.
        what: String,
    },
    /// A large value doesn't hold together.
    #[error("large value at {at}: {what}")]
    DamagedLob {
        /// Where.
        at: RowId,
        /// What is wrong.
        what: String,
    },
    /// A value that its column's type can't have.
    #[error("record {at}, column {column}: {error}")]
    BadValue {
        /// Where.
        at: RowId,
        /// Column id.
        column: i32,
        /// What is wrong.
        error: TypeError,
    },
    /// The catalog contradicts itself.
    #[error("catalog: {what}")]
    Catalog {
        /// How.
        what: String,
    },
    /// Sound, but in a form that this reader does not support.
    #[error("{what} can't be read by this version")]
    Unsupported {
        /// What it is.
        what: String,
    },
}

impl MdfError {
    /// The page that is to blame, where it is one.
    pub const fn page(&self) -> Option<PageId> {
        match self {
            MdfError::MissingPage { page, .. }
            | MdfError::UnreadablePage { page, .. }
            | MdfError::DamagedPage { page, .. }
            | MdfError::WrongPage { page, .. }
            | MdfError::Circle { page, .. } => Some(*page),
            _ => None,
        }
    }
}
