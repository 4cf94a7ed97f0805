//! The error of every I/O operation.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// The operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum IoOp {
    Open,
    Create,
    Read,
    Write,
    Sync,
    Resize,
    Length,
    List,
    Remove,
    Space,
}

/// Why it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoErrorKind {
    /// No such file or directory.
    NotFound,
    /// The path is taken.
    AlreadyExists,
    /// The user may not.
    Denied,
    /// Another process (or another open handle for writing) holds the file.
    InUse,
    /// The device, the quota or the simulated disk is full.
    NoSpace,
    /// Fewer bytes than asked for lie at that place.
    PastEnd,
    /// An earlier write or sync of this file failed; nothing can be promised until it is opened anew.
    Poisoned,
    /// Any other error of the system: number and text.
    Os(i32, String),
}

/// An I/O operation that failed: what, where, why.
#[derive(Debug, Clone, Error)]
#[error("{op:?} of '{}' failed at byte {offset}: {kind:?}", path.display())]
pub struct IoError {
    /// The operation.
    pub op: IoOp,
    /// The path of the file.
    pub path: PathBuf,
    /// Byte offset; 0 where there is none.
    pub offset: u64,
    /// The reason.
    pub kind: IoErrorKind,
}

impl IoError {
    /// An error of `op` on `path`.
    pub fn new(op: IoOp, path: &Path, offset: u64, kind: IoErrorKind) -> IoError {
        IoError { op, path: path.to_path_buf(), offset, kind }
    }
}
