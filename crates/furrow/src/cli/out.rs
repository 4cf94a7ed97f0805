//! A file written sequentially.

use furrow_io::{AlignedBuf, Existing, File, Fill, IoError, IoErrorKind, NewFile};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Bytes written at once.
const BLOCK: usize = 1 << 20;
/// Until the end is known, lengths are rounded up to this: direct I/O needs whole sectors.
const SECTOR: usize = 4096;

/// A new file. It gets its name by [`OutFile::publish`]; dropped before, it leaves nothing behind.
pub(crate) struct OutFile {
    file: Arc<dyn File>,
    name: NewFile,
    block: AlignedBuf,
    filled: usize,
    /// Bytes of whole blocks written.
    written: u64,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
pub(super) fn other(error: IoError) -> std::io::Error {
    let kind = match error.kind {
        IoErrorKind::AlreadyExists => std::io::ErrorKind::AlreadyExists,
        _ => std::io::ErrorKind::Other,
    };
    std::io::Error::new(kind, error.kind.to_string())
}

impl OutFile {
    /// Creates a file that gets this name when it is published.
    pub(crate) fn create(path: &Path, existing: Existing) -> std::io::Result<OutFile> {
        let (name, file) = NewFile::create(path, existing).map_err(other)?;
        Ok(OutFile {
            file,
            name,
            block: AlignedBuf::new(BLOCK),
            filled: 0,
            written: 0,
        })
    }

    /// Makes all data durable and gives the file its name. More may be written afterwards.
    pub(crate) fn publish(&mut self) -> std::io::Result<()> {
        self.flush()?;
        self.name.publish().map_err(other)
    }

    pub(crate) fn is_published(&self) -> bool {
        self.name.is_published()
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = BLOCK - self.filled;
        let taken = bytes.len().min(room);
        self.block[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        if self.filled == BLOCK {
            self.file
                .write_at(self.written, &self.block)
                .map_err(other)?;
            self.written += BLOCK as u64;
            self.filled = 0;
        }
        Ok(taken)
    }

    /// Makes all data in the file durable; more may be written afterwards.
    fn flush(&mut self) -> std::io::Result<()> {
        let padded = self.filled.div_ceil(SECTOR) * SECTOR;
        if padded > 0 {
            self.block[self.filled..padded].fill(0);
            self.file
                .write_at(self.written, &self.block[..padded])
                .map_err(other)?;
        }
        let length = self.written + self.filled as u64;
        self.file.resize(length, Fill::Allocate).map_err(other)?;
        self.file.sync().map_err(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{SystemVolume, Volume};

    #[test]
    fn bytes_of_every_length_arrive_when_the_file_is_published() {
        let dir = tempfile::tempdir().unwrap();
        let read = |path: &Path| furrow_io::read_file(&SystemVolume::new(), path).unwrap();
        for length in [
            0,
            1,
            SECTOR,
            SECTOR + 1,
            BLOCK - 1,
            BLOCK,
            BLOCK + 1,
            3 * BLOCK + 17,
        ] {
            let path = dir.path().join(length.to_string());
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            let mut out = OutFile::create(&path, Existing::Refuse).unwrap();
            let (first, rest) = bytes.split_at(length / 3);
            out.write_all(first).unwrap();
            // A flush in the middle pads the file: the data after it must overwrite the padding.
            out.flush().unwrap();
            assert!(!SystemVolume::new().exists(&path).unwrap());
            out.write_all(rest).unwrap();
            out.publish().unwrap();
            drop(out);
            assert!(read(&path) == bytes, "{length}");
            assert!(OutFile::create(&path, Existing::Refuse).is_err());
            let mut other = OutFile::create(&path, Existing::Replace).unwrap();
            other.write_all(b"other").unwrap();
            drop(other);
            assert!(read(&path) == bytes, "{length}");
            let mut empty = OutFile::create(&path, Existing::Replace).unwrap();
            empty.publish().unwrap();
            empty.write_all(b"more").unwrap();
            empty.flush().unwrap();
            assert_eq!(read(&path), b"more");
        }
    }
}
