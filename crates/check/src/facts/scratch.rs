//! The temporary file of a check, for facts beyond its memory.
//!
//! # Invariants
//! 1. *No scratch file outlives its check, not even by `kill -9`*: it is removed from its directory as soon
//!    as it is open. Proof: `a_scratch_file_is_in_no_directory`.
//! 2. *A read or write that fails ends the check with an error.* The first error is kept, and `check` looks
//!    for it before it reports. Proof: `a_scratch_file_that_cannot_be_written_ends_the_check`.

use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{Access, AlignedBuf, File, IoError, Open, Volume};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// What is read at once by random access; records do not cross its borders.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;

/// Where a check may put facts that exceed its memory.
#[derive(Debug, Clone)]
pub struct Scratch {
    volume: Arc<dyn Volume>,
    path: PathBuf,
}

impl Scratch {
    /// A file of this path, which must not exist. It is created when it is needed first.
    pub fn new(volume: Arc<dyn Volume>, path: PathBuf) -> Scratch {
        Scratch { volume, path }
    }
}

/// The file, once it is needed.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: Arc<dyn File>,
    end: AtomicU64,
    failure: Mutex<Option<IoError>>,
}

impl ScratchFile {
    /// Creates the file.
    pub(super) fn create(place: &Scratch) -> Result<ScratchFile, IoError> {
        let file = place.volume.open(&place.path, Open::Create, Access::Data)?;
        place.volume.remove(&place.path)?;
        Ok(ScratchFile {
            file,
            end: AtomicU64::new(0),
            failure: Mutex::new(None),
        })
    }

    /// Sets bytes aside, whole blocks; where they begin.
    pub(super) fn reserve(&self, bytes: u64) -> u64 {
        let block = BLOCK_BYTES as u64;
        let whole = bytes.div_ceil(block) * block;
        self.end.fetch_add(whole, Ordering::Relaxed)
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Writes whole blocks.
    pub(super) fn write(&self, at: u64, bytes: &AlignedBuf) {
        debug_assert!(bytes.len().is_multiple_of(BLOCK_BYTES));
        if let Err(error) = self.file.write_at(at, bytes) {
            self.failure.lock().get_or_insert(error);
        }
    }

    /// Fills the buffer; `false` where that fails.
    pub(super) fn read(&self, at: u64, into: &mut AlignedBuf) -> bool {
        match self.file.read_at(at, into) {
            Ok(()) => true,
            Err(error) => {
                self.failure.lock().get_or_insert(error);
                false
            }
        }
    }

    /// The first error.
    pub(crate) fn failure(&self) -> Option<IoError> {
        self.failure.lock().clone()
    }
}

/// Blocks of a file that were read last: each has one place.
#[derive(Debug)]
pub(crate) struct BlockCache {
    places: Mutex<Vec<Option<(u64, AlignedBuf)>>>,
}

impl BlockCache {
    /// Of so many bytes, one block at least.
    pub(super) fn new(bytes: usize) -> BlockCache {
        let mut places = Vec::new();
        places.resize_with((bytes / BLOCK_BYTES).max(1), || None);
        BlockCache {
            places: Mutex::new(places),
        }
    }

    /// Calls `look` with the block at an offset; `None` where it cannot be read.
    pub(super) fn with<R>(
        &self,
        file: &ScratchFile,
        at: u64,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let mut places = self.places.lock();
        let count = places.len() as u64;
        let place = places.get_mut((at / BLOCK_BYTES as u64 % count) as usize)?;
        let mut block = match place.take() {
            Some((held, block)) if held == at => {
                let found = look(&block);
                *place = Some((at, block));
                return Some(found);
            }
            Some((_, block)) => block,
            None => AlignedBuf::new(BLOCK_BYTES),
        };
        if !file.read(at, &mut block) {
            return None;
        }
        let found = look(&block);
        *place = Some((at, block));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;
    use std::path::Path;

    #[test]
    fn a_scratch_file_is_in_no_directory() {
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("t")).unwrap();
        let place = Scratch::new(Arc::new(volume.clone()), PathBuf::from("t/scratch"));
        let file = ScratchFile::create(&place).unwrap();
        assert!(volume.list(Path::new("t")).unwrap().is_empty());
        let mut block = AlignedBuf::new(BLOCK_BYTES);
        block.fill(7);
        let at = file.reserve(1);
        file.write(at, &block);
        let cache = BlockCache::new(0);
        assert_eq!(cache.with(&file, at, |b| b[99]), Some(7));
        assert!(file.failure().is_none());
        assert_eq!(cache.with(&file, 1 << 30, |b| b[99]), None);
        assert!(file.failure().is_some());
    }
}
