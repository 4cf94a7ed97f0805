//! A file that grows at its end, over the I/O seam.

use furrow_io::{
    Access, AlignedBuf, File, Fill, IoError, IoErrorKind, Open, Volume, WriteRun, read_all,
};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

/// Writes are whole blocks of this size.
const BLOCK: usize = 4096;

/// A file that is appended to, durably, in aligned blocks padded with newlines.
#[derive(Debug)]
pub struct AppendFile {
    file: Arc<dyn File>,
    /// Bytes behind the last full block; the block is written again with each append.
    tail: Vec<u8>,
    /// Where the tail begins.
    tail_at: u64,
    /// Length of the file.
    capacity: u64,
}

impl AppendFile {
    /// A new, empty file.
    pub fn create(volume: &dyn Volume, path: &Path) -> Result<AppendFile, IoError> {
        let file = volume.open(path, Open::Create, Access::Log)?;
        Ok(AppendFile {
            file,
            tail: Vec::new(),
            tail_at: 0,
            capacity: 0,
        })
    }

    /// Opens a file to continue, and returns its content; the file is locked from here on. Call
    /// [`AppendFile::keep`] before the first append.
    pub fn open(volume: &dyn Volume, path: &Path) -> Result<(AppendFile, Vec<u8>), IoError> {
        let file = volume.open(path, Open::Existing, Access::Log)?;
        let content = read_all(file.as_ref())?;
        let capacity = content.len() as u64;
        Ok((
            AppendFile {
                file,
                tail: Vec::new(),
                tail_at: 0,
                capacity,
            },
            content,
        ))
    }

    /// Continues behind `kept`, the beginning of the content; the bytes behind it are cut off.
    pub fn keep(&mut self, kept: &[u8]) -> Result<(), IoError> {
        let full = kept.len() / BLOCK * BLOCK;
        self.tail = kept[full..].to_vec();
        self.tail_at = full as u64;
        self.trim()
    }

    /// Appends `bytes`; they are durable when it returns.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        let filled = self.tail.len() + bytes.len();
        let mut block = AlignedBuf::new(filled.div_ceil(BLOCK) * BLOCK);
        block[..self.tail.len()].copy_from_slice(&self.tail);
        block[self.tail.len()..filled].copy_from_slice(bytes);
        block[filled..].fill(b'\n');
        let end = self.tail_at + block.len() as u64;
        if end > self.capacity {
            self.file.resize(end, Fill::Zero)?;
            self.capacity = end;
        }
        let slices = [IoSlice::new(&block)];
        self.file.write_durable(&[WriteRun {
            offset: self.tail_at,
            bufs: &slices,
        }])?;
        let full = filled / BLOCK * BLOCK;
        self.tail = block[full..filled].to_vec();
        self.tail_at += full as u64;
        Ok(())
    }

    /// The path that it was created or opened by.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Whether its path still leads to what was appended: a file that was deleted takes every write.
    pub fn is_in_place(&self, volume: &dyn Volume) -> Result<bool, IoError> {
        let there = match volume.open(self.file.path(), Open::ReadOnly, Access::Log) {
            Ok(there) => there,
            Err(error) if error.kind == IoErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let end = self.tail_at + self.tail.len() as u64;
        if there.len_bytes()? < end {
            return Ok(false);
        }
        let mut tail = vec![0; self.tail.len()];
        there.read_at(self.tail_at, &mut tail)?;
        Ok(tail == self.tail)
    }

    /// Cuts the padding off.
    pub fn trim(&mut self) -> Result<(), IoError> {
        let end = self.tail_at + self.tail.len() as u64;
        if self.file.len_bytes()? != end {
            self.file.resize(end, Fill::Allocate)?;
        }
        self.capacity = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{MemoryVolume, read_file, write_file};
    use std::path::PathBuf;

    #[test]
    fn appends_of_every_size_come_back_in_order() {
        let volume = MemoryVolume::new();
        let path = PathBuf::from("/log");
        let mut file = AppendFile::create(&volume, &path).unwrap();
        let mut want = Vec::new();
        for size in [0, 1, 4_095, 4_096, 4_097, 10_000, 3, 8_192, 100] {
            let bytes = vec![b'a' + (size % 26) as u8; size];
            file.append(&bytes).unwrap();
            want.extend_from_slice(&bytes);
            let seen = read_file(&volume, &path).unwrap();
            assert_eq!(&seen[..want.len()], &want[..]);
            assert!(seen[want.len()..].iter().all(|&byte| byte == b'\n'));
            assert_eq!(seen.len() % BLOCK, 0);
        }
        file.trim().unwrap();
        assert_eq!(read_file(&volume, &path).unwrap(), want);
    }

    #[test]
    fn a_file_that_was_deleted_or_replaced_is_not_in_place() {
        let volume = MemoryVolume::new();
        let path = PathBuf::from("/log");
        let mut file = AppendFile::create(&volume, &path).unwrap();
        file.append(b"a first line\n").unwrap();
        assert!(file.is_in_place(&volume).unwrap());
        volume.remove(&path).unwrap();
        file.append(b"without a reader\n").unwrap();
        assert!(!file.is_in_place(&volume).unwrap());
        for other in [&b"short"[..], &[b'x'; 8192]] {
            write_file(&volume, &path, other).unwrap();
            assert!(!file.is_in_place(&volume).unwrap());
            volume.remove(&path).unwrap();
        }
    }

    #[test]
    fn whole_files_are_written_once() {
        let volume = MemoryVolume::new();
        let path = PathBuf::from("/results.json");
        write_file(&volume, &path, b"{}").unwrap();
        assert_eq!(read_file(&volume, &path).unwrap(), b"{}");
        assert!(write_file(&volume, &path, b"[]").is_err());
        write_file(&volume, &PathBuf::from("/empty"), b"").unwrap();
        assert!(
            read_file(&volume, &PathBuf::from("/empty"))
                .unwrap()
                .is_empty()
        );
    }
}
