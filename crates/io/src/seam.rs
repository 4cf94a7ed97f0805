//! The seam between the engine and the storage of its bytes.

use crate::IoError;
use std::fmt::Debug;
use std::io::{IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// An existing file, for reading and writing, locked against other processes.
    Existing,
    /// An existing file, for reading only, not locked.
    ReadOnly,
    /// A new, empty file; fails with `AlreadyExists` when the path is taken. Durable on return.
    Create,
}

/// What a file is for; a volume may open the two kinds with different flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Pages, read and written at random, synced now and then. Direct I/O where the system has it.
    Data,
    /// A log: sequential small durable writes.
    Log,
}

/// How the new bytes of a file that grows are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Space is allocated (`fallocate`) where the file system has it; contents read as zeros.
    Allocate,
    /// Zeros are really written, so that later overwrites need no change of the file's metadata.
    Zero,
}

/// A contiguous run to be read: `bufs` are filled one after the other from `offset` on.
#[derive(Debug)]
pub struct ReadRun<'a, 'b> {
    /// Byte offset in the file; a multiple of 512 for data files.
    pub offset: u64,
    /// Where the bytes go.
    pub bufs: &'a mut [IoSliceMut<'b>],
}

impl ReadRun<'_, '_> {
    /// Its length in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.bufs.iter().map(|buf| buf.len() as u64).sum()
    }

    /// The first byte after it.
    pub fn end_bytes(&self) -> u64 {
        self.offset.saturating_add(self.len_bytes())
    }
}

/// A contiguous run to be written: `bufs` are written one after the other from `offset` on.
#[derive(Debug)]
pub struct WriteRun<'a, 'b> {
    /// Byte offset in the file; a multiple of 512 for data files.
    pub offset: u64,
    /// Where the bytes come from.
    pub bufs: &'a [IoSlice<'b>],
}

impl WriteRun<'_, '_> {
    /// How many bytes it brings.
    pub fn len_bytes(&self) -> u64 {
        self.bufs.iter().map(|buf| buf.len() as u64).sum()
    }

    /// The first byte after it.
    pub fn end_bytes(&self) -> u64 {
        self.offset.saturating_add(self.len_bytes())
    }
}

/// Space on the device behind a directory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that a user's process may still allocate.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// A file: an array of bytes read and written in batches.
///
/// All methods may be called from many threads at once. A batch has no order inside; it is done when
/// the call returns, or has failed as a whole (some of its runs may have been written).
pub trait File: Send + Sync + Debug {
    /// Reads every run wholly.
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError>;
    /// Writes every run wholly; not durable until [`File::sync`]. A run that ends past the end of the
    /// file makes it longer, and that length is no more durable than the bytes.
    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError>;
    /// Writes every run and makes these bytes durable; may be called while others are under way.
    /// Earlier writes are not thereby durable: only [`File::sync`] promises that.
    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.write(runs)?;
        self.sync()
    }
    /// Makes all writes that returned before this call durable.
    fn sync(&self) -> Result<(), IoError>;
    /// Sets the length, durably; new bytes read as zeros.
    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError>;
    /// The length in bytes.
    fn len_bytes(&self) -> Result<u64, IoError>;
    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Reads `buf.len()` bytes from `offset`: a batch of one run of one buffer.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), IoError> {
        self.read(&mut [ReadRun {
            offset,
            bufs: &mut [IoSliceMut::new(buf)],
        }])
    }

    /// Writes `bytes` at `offset`: a batch of one run of one buffer.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.write(&[WriteRun {
            offset,
            bufs: &[IoSlice::new(bytes)],
        }])
    }

    /// Writes `bytes` at `offset` and makes them durable.
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.write_durable(&[WriteRun {
            offset,
            bufs: &[IoSlice::new(bytes)],
        }])
    }
}

/// A namespace of files.
pub trait Volume: Send + Sync + Debug {
    /// Opens or creates a file.
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError>;
    /// Whether a file or directory exists at `path`.
    fn exists(&self, path: &Path) -> Result<bool, IoError>;
    /// The entries of a directory, full paths, sorted.
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError>;
    /// Makes a directory and its parents, durably; no error when it exists.
    fn create_dir(&self, dir: &Path) -> Result<(), IoError>;
    /// Removes a file or an empty directory, durably.
    fn remove(&self, path: &Path) -> Result<(), IoError>;
    /// Space on the device behind `dir`.
    fn space(&self, dir: &Path) -> Result<Space, IoError>;

    /// Removes a directory and all that is in it. A link in it is removed, what it leads to is not.
    fn remove_tree(&self, dir: &Path) -> Result<(), IoError> {
        for entry in self.list(dir)? {
            if self.list(&entry).is_ok() {
                self.remove_tree(&entry)?;
            } else {
                self.remove(&entry)?;
            }
        }
        self.remove(dir)
    }

    /// Makes `to`, a file that does not exist yet, share the blocks of `from` until one of them is written
    /// to. `false` where the file system cannot do that: then nothing was created. The directory has `to`
    /// durably; what `to` shares is durable when it is synced.
    fn share_blocks(&self, _from: &Path, _to: &Path) -> Result<bool, IoError> {
        Ok(false)
    }
}
