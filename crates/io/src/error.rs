//! The error of every I/O operation.

use rustix::io::Errno;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

impl IoOp {
    /// The operation in messages: a verb, in lower case.
    pub const fn text(self) -> &'static str {
        match self {
            IoOp::Open => "open",
            IoOp::Create => "create",
            IoOp::Read => "read",
            IoOp::Write => "write",
            IoOp::Sync => "sync",
            IoOp::Resize => "resize",
            IoOp::Length => "length",
            IoOp::List => "list",
            IoOp::Remove => "remove",
            IoOp::Space => "space",
        }
    }
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
    /// The device, the quota or the simulated disk is full, or a file as large as it may be.
    NoSpace,
    /// Fewer bytes than requested lie at that place.
    PastEnd,
    /// An earlier sync or durable write of this file failed; nothing is guaranteed until it is opened again.
    Poisoned,
    /// The simulated machine lost its power after this handle was opened.
    Crashed,
    /// The file system is mounted read-only.
    ReadOnly,
    /// The path leads to a directory, where a file is wanted.
    IsADirectory,
    /// A part of the path is a file, not a directory.
    NotADirectory,
    /// The path, or a part of it, is longer than the file system takes.
    NameTooLong,
    /// The path leads to something that is not a file of bytes, such as a named pipe or a device: what it is.
    NotRegular(&'static str),
    /// Any other error of the system: number and text.
    Os(i32, String),
}

impl IoErrorKind {
    /// The kind of an error of the standard library, so that its text is the same as of our own operations.
    pub fn of_std(error: &std::io::Error) -> IoErrorKind {
        use std::io::ErrorKind;
        if let Some(number) = error.raw_os_error() {
            return IoErrorKind::of_errno(Errno::from_raw_os_error(number));
        }
        match error.kind() {
            ErrorKind::NotFound => IoErrorKind::NotFound,
            ErrorKind::AlreadyExists => IoErrorKind::AlreadyExists,
            ErrorKind::PermissionDenied => IoErrorKind::Denied,
            ErrorKind::StorageFull => IoErrorKind::NoSpace,
            ErrorKind::ReadOnlyFilesystem => IoErrorKind::ReadOnly,
            ErrorKind::IsADirectory => IoErrorKind::IsADirectory,
            ErrorKind::NotADirectory => IoErrorKind::NotADirectory,
            _ => IoErrorKind::Os(0, error.to_string()),
        }
    }

    fn of_errno(errno: Errno) -> IoErrorKind {
        match errno {
            Errno::NOENT => IoErrorKind::NotFound,
            Errno::EXIST => IoErrorKind::AlreadyExists,
            Errno::ACCESS | Errno::PERM => IoErrorKind::Denied,
            Errno::ROFS => IoErrorKind::ReadOnly,
            Errno::ISDIR => IoErrorKind::IsADirectory,
            Errno::BUSY | Errno::TXTBSY => IoErrorKind::InUse,
            // A file that may not grow (`ulimit -f`, the file system's own limit) is as good as a full disk.
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => IoErrorKind::NoSpace,
            Errno::NOTDIR => IoErrorKind::NotADirectory,
            Errno::NAMETOOLONG => IoErrorKind::NameTooLong,
            other => IoErrorKind::Os(other.raw_os_error(), other.to_string()),
        }
    }

    /// The system's error number, also for the kinds that have a name; 0 for our own kinds.
    pub fn os_number(&self) -> i32 {
        match self {
            IoErrorKind::NotFound => Errno::NOENT.raw_os_error(),
            IoErrorKind::AlreadyExists => Errno::EXIST.raw_os_error(),
            IoErrorKind::Denied => Errno::ACCESS.raw_os_error(),
            IoErrorKind::InUse => Errno::BUSY.raw_os_error(),
            IoErrorKind::NoSpace => Errno::NOSPC.raw_os_error(),
            IoErrorKind::ReadOnly => Errno::ROFS.raw_os_error(),
            IoErrorKind::IsADirectory => Errno::ISDIR.raw_os_error(),
            IoErrorKind::NotADirectory => Errno::NOTDIR.raw_os_error(),
            IoErrorKind::NameTooLong => Errno::NAMETOOLONG.raw_os_error(),
            IoErrorKind::NotRegular(_) => Errno::INVAL.raw_os_error(),
            IoErrorKind::Os(number, _) => *number,
            IoErrorKind::PastEnd | IoErrorKind::Poisoned | IoErrorKind::Crashed => 0,
        }
    }

    /// Whether the device, or the path to it, cannot read or write these bytes. File systems report `EIO`.
    /// Without their cache the error of the block layer comes through: `ENODATA` is a bad sector. Any other
    /// error, such as a lack of memory, says nothing about the bytes.
    pub fn is_medium(&self) -> bool {
        let IoErrorKind::Os(number, _) = self else {
            return false;
        };
        let found = Errno::from_raw_os_error(*number);
        #[cfg(target_os = "linux")]
        if found == Errno::REMOTEIO {
            return true;
        }
        let of_medium = [
            Errno::IO,
            Errno::NODATA,
            Errno::ILSEQ,
            Errno::TIMEDOUT,
            Errno::NOLINK,
        ];
        of_medium.contains(&found)
    }
}

impl fmt::Display for IoErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoErrorKind::NotFound => "no such file or directory",
            IoErrorKind::AlreadyExists => "the file exists already",
            IoErrorKind::Denied => "access is denied",
            IoErrorKind::InUse => "the file is in use by another process or handle",
            IoErrorKind::NoSpace => "there is no space left on the device",
            IoErrorKind::PastEnd => "the file ends before that place",
            IoErrorKind::Poisoned => "an earlier sync of this file failed; it must be opened again",
            IoErrorKind::Crashed => "the simulated machine has lost its power",
            IoErrorKind::ReadOnly => "the file system is read-only",
            IoErrorKind::IsADirectory => "it is a directory",
            IoErrorKind::NotADirectory => "a part of the path is not a directory",
            IoErrorKind::NameTooLong => "the file name is too long",
            IoErrorKind::NotRegular(found) => {
                return write!(f, "it is {found}, not a regular file");
            }
            IoErrorKind::Os(_, text) => text,
        })
    }
}

/// Where in the file, for what happens at a place of it.
struct Place(IoOp, u64);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IoOp::Read | IoOp::Write | IoOp::Resize => write!(f, " at byte {}", self.1),
            _ => Ok(()),
        }
    }
}

/// An I/O operation that failed: what, where, why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} of '{}' failed{}: {kind}", op.text(), path.display(), Place(*op, *offset))]
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
        IoError {
            op,
            path: path.to_path_buf(),
            offset,
            kind,
        }
    }

    /// An error that the system reported.
    pub(crate) fn of_errno(op: IoOp, path: &Path, offset: u64, errno: Errno) -> IoError {
        IoError::new(op, path, offset, IoErrorKind::of_errno(errno))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_file_system_is_no_lack_of_rights() {
        let found = IoError::of_errno(IoOp::Create, Path::new("a"), 0, Errno::ROFS);
        assert_eq!(found.kind, IoErrorKind::ReadOnly);
        assert_eq!(found.kind.os_number(), Errno::ROFS.raw_os_error());
        let numbered = std::io::Error::from_raw_os_error(Errno::ROFS.raw_os_error());
        let named = std::io::Error::other(numbered.to_string());
        assert_eq!(IoErrorKind::of_std(&numbered), IoErrorKind::ReadOnly);
        assert_eq!(IoErrorKind::of_std(&named).to_string(), named.to_string());
        // An error of the crate `tempfile` has a kind and no number.
        let wrapped = std::io::Error::new(numbered.kind(), "within a directory");
        assert_eq!(IoErrorKind::of_std(&wrapped), IoErrorKind::ReadOnly);
    }
}
