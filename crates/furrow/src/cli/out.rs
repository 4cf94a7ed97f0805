//! A file written sequentially.

use furrow_io::{Access, AlignedBuf, File, Fill, IoError, Open, SystemVolume, Volume};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes written at once.
const BLOCK: usize = 1 << 20;
/// Until the end is known, lengths are rounded up to this: direct I/O needs whole sectors.
const SECTOR: usize = 4096;

/// A new file. Unless a write failed, dropping it writes what is buffered and cuts the file to its length.
pub(crate) struct OutFile {
    file: Arc<dyn File>,
    path: PathBuf,
    block: AlignedBuf,
    filled: usize,
    /// Bytes of whole blocks written.
    written: u64,
}

/// Removes the file after its writer is gone.
pub(crate) struct Keeper(PathBuf);

impl Keeper {
    /// Removes the file; an error is ignored.
    pub(crate) fn remove(&self) {
        let _stays = SystemVolume::new().remove(&self.0);
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
pub(super) fn other(error: IoError) -> std::io::Error {
    let kind = match error.kind {
        furrow_io::IoErrorKind::AlreadyExists => std::io::ErrorKind::AlreadyExists,
        _ => std::io::ErrorKind::Other,
    };
    std::io::Error::new(kind, error.kind.to_string())
}

impl OutFile {
    /// Creates a file that must not exist yet.
    pub(crate) fn create(path: &Path) -> std::io::Result<OutFile> {
        let file = SystemVolume::new()
            .open(path, Open::Create, Access::Log)
            .map_err(other)?;
        Ok(OutFile {
            file,
            path: path.to_owned(),
            block: AlignedBuf::new(BLOCK),
            filled: 0,
            written: 0,
        })
    }

    /// Creates a file, or replaces an existing one.
    pub(crate) fn replace(path: &Path) -> std::io::Result<OutFile> {
        let volume = SystemVolume::new();
        if volume.exists(path).map_err(other)? {
            volume.remove(path).map_err(other)?;
        }
        OutFile::create(path)
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper(self.path.clone())
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

    #[test]
    fn bytes_of_every_length_arrive_and_an_existing_file_stays() {
        let dir = tempfile::tempdir().unwrap();
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
            let mut out = OutFile::create(&path).unwrap();
            let (first, rest) = bytes.split_at(length / 3);
            out.write_all(first).unwrap();
            // A flush in the middle pads the file: the data after it must overwrite the padding.
            out.flush().unwrap();
            out.write_all(rest).unwrap();
            out.flush().unwrap();
            let file = SystemVolume::new()
                .open(&path, Open::ReadOnly, Access::Log)
                .unwrap();
            let mut back = vec![0; usize::try_from(file.len_bytes().unwrap()).unwrap()];
            if !back.is_empty() {
                file.read_at(0, &mut back).unwrap();
            }
            assert!(back == bytes, "{length}");
            assert!(OutFile::create(&path).is_err());
            OutFile::replace(&path).unwrap().flush().unwrap();
            assert!(
                furrow_io::read_file(&SystemVolume::new(), &path)
                    .unwrap()
                    .is_empty()
            );
        }
    }
}
