//! Files read, written and copied as a whole.

use crate::{
    Access, AlignedBuf, File, Fill, IoError, IoErrorKind, IoOp, Open, ReadRun, Volume, WriteRun,
    read_around,
};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

/// What a write is a multiple of.
const BLOCK: usize = 4096;

/// The whole content of a file.
pub fn read_file(volume: &dyn Volume, path: &Path) -> Result<Vec<u8>, IoError> {
    read_all(volume.open(path, Open::ReadOnly, Access::Log)?.as_ref())
}

/// All bytes of a file that is open.
pub fn read_all(file: &dyn File) -> Result<Vec<u8>, IoError> {
    let length = usize::try_from(file.len_bytes()?).map_err(|_| {
        IoError::new(
            IoOp::Read,
            file.path(),
            0,
            IoErrorKind::Os(0, "too long".to_string()),
        )
    })?;
    let mut bytes = vec![0; length];
    if !bytes.is_empty() {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        file.read(&mut [ReadRun {
            offset: 0,
            bufs: &mut slices,
        }])?;
    }
    Ok(bytes)
}

/// Writes a file that was not there, durably. `AlreadyExists` when it was.
pub fn write_file(volume: &dyn Volume, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let file = volume.open(path, Open::Create, Access::Log)?;
    let mut block = AlignedBuf::new(bytes.len().max(1).div_ceil(BLOCK) * BLOCK);
    block[..bytes.len()].copy_from_slice(bytes);
    file.resize(block.len() as u64, Fill::Allocate)?;
    let slices = [IoSlice::new(&block)];
    file.write_durable(&[WriteRun {
        offset: 0,
        bufs: &slices,
    }])?;
    file.resize(bytes.len() as u64, Fill::Allocate)
}

/// What is copied at once.
const COPIED_AT_ONCE: usize = 1 << 20;

/// Copies a file to a path where there is none, durably: shares its blocks where the file system can, else
/// copies its bytes. A copy that is cancelled stays as it is, incomplete.
pub fn copy_file(
    volume: &dyn Volume,
    from: &Path,
    to: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), IoError> {
    if volume.share_blocks(from, to)? {
        // That the blocks are shared is lost in a power loss until the file is synced.
        return volume.open(to, Open::Existing, Access::Log)?.sync();
    }
    let mut read = |source: &dyn File, offset, bytes: &mut [u8]| source.read_at(offset, bytes);
    copy_bytes(volume, (from, to), is_cancelled, &mut read)
}

/// The same, always byte by byte, with zeros for what the device cannot read of the file; returns the number
/// of those bytes.
pub fn copy_around(
    volume: &dyn Volume,
    from: &Path,
    to: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<u64, IoError> {
    let mut missing_bytes = 0;
    let mut read = |source: &dyn File, offset, bytes: &mut [u8]| {
        for (range, _) in read_around(source, offset, bytes)? {
            missing_bytes += range.len() as u64;
        }
        Ok(())
    };
    copy_bytes(volume, (from, to), is_cancelled, &mut read)?;
    Ok(missing_bytes)
}

/// Fills a buffer from a place in a file.
type ReadInto<'r> = dyn FnMut(&dyn File, u64, &mut [u8]) -> Result<(), IoError> + 'r;

fn copy_bytes(
    volume: &dyn Volume,
    (from, to): (&Path, &Path),
    is_cancelled: &dyn Fn() -> bool,
    read: &mut ReadInto<'_>,
) -> Result<(), IoError> {
    let source = volume.open(from, Open::ReadOnly, Access::Log)?;
    let copy = volume.open(to, Open::Create, Access::Log)?;
    let length = source.len_bytes()?;
    let step = COPIED_AT_ONCE as u64;
    copy.resize(length.div_ceil(BLOCK as u64) * BLOCK as u64, Fill::Allocate)?;
    let mut buffer = AlignedBuf::new(COPIED_AT_ONCE);
    let mut offset = 0;
    while offset < length && !is_cancelled() {
        let take = usize::try_from((length - offset).min(step)).unwrap_or(COPIED_AT_ONCE);
        let whole = take.div_ceil(BLOCK) * BLOCK;
        buffer[take..whole].fill(0);
        read(&*source, offset, &mut buffer[..take])?;
        copy.write_at(offset, &buffer[..whole])?;
        offset += take as u64;
    }
    copy.resize(length, Fill::Allocate)?;
    copy.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Crash, Effect, Fault, OpKind, Ops, SimOptions};
    use crate::{MemoryVolume, SimVolume, Space, SystemVolume};
    use std::path::PathBuf;
    use std::sync::Arc;

    /// A volume that shares blocks.
    #[derive(Debug)]
    struct Sharing(SimVolume);

    impl Volume for Sharing {
        fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
            self.0.open(path, how, access)
        }

        fn exists(&self, path: &Path) -> Result<bool, IoError> {
            self.0.exists(path)
        }

        fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
            self.0.list(dir)
        }

        fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
            self.0.create_dir(dir)
        }

        fn remove(&self, path: &Path) -> Result<(), IoError> {
            self.0.remove(path)
        }

        fn space(&self, dir: &Path) -> Result<Space, IoError> {
            self.0.space(dir)
        }

        fn share_blocks(&self, from: &Path, to: &Path) -> Result<bool, IoError> {
            let bytes = self.0.contents(from)?;
            let copy = self.0.open(to, Open::Create, Access::Log)?;
            copy.write_at(0, &AlignedBuf::copy_of(&bytes))?;
            Ok(true)
        }
    }

    fn simulated() -> SimVolume {
        let volume = SimVolume::new(SimOptions::default());
        volume.create_dir(Path::new("d")).unwrap();
        write_file(&volume, Path::new("d/a"), &[7; 3 * BLOCK]).unwrap();
        volume
    }

    #[test]
    fn a_copy_that_shares_its_blocks_survives_a_power_loss() {
        let sharing = Sharing(simulated());
        copy_file(&sharing, Path::new("d/a"), Path::new("d/b"), &|| false).unwrap();
        let after = sharing.0.crash(&Crash::DropAll);
        let copy = read_file(&after, Path::new("d/b")).unwrap();
        assert!(copy == [7; 3 * BLOCK], "{} bytes", copy.len());
    }

    #[test]
    fn a_copy_around_what_cannot_be_read_has_zeros_there() {
        let volume = simulated();
        let (from, to) = (Path::new("d/a"), Path::new("d/b"));
        let unreadable = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
        volume.inject(unreadable.under("d/a").sticky());
        let missing = copy_around(&volume, from, to, &|| false).unwrap();
        assert_eq!(missing, 3 * BLOCK as u64);
        volume.heal();
        assert!(read_file(&volume, to).unwrap() == [0; 3 * BLOCK]);
        volume.remove(to).unwrap();
        assert_eq!(copy_around(&volume, from, to, &|| false).unwrap(), 0);
        assert!(read_file(&volume, to).unwrap() == [7; 3 * BLOCK]);
    }

    fn copies(volume: &dyn Volume, dir: &Path) {
        for length in [0, 1, 4096, COPIED_AT_ONCE + 4097] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let (from, to) = (
                dir.join(format!("a{length}")),
                dir.join(format!("b{length}")),
            );
            write_file(volume, &from, &bytes).unwrap();
            copy_file(volume, &from, &to, &|| false).unwrap();
            assert!(read_file(volume, &to).unwrap() == bytes, "{length} bytes");
            assert!(
                copy_file(volume, &from, &to, &|| false).is_err(),
                "it is there"
            );
        }
    }

    #[test]
    fn a_copy_has_the_bytes_of_its_source_on_disk_and_in_memory() {
        let memory = MemoryVolume::new();
        memory.create_dir(Path::new("/d")).unwrap();
        copies(&memory, Path::new("/d"));
        let dir = tempfile::tempdir().unwrap();
        copies(&SystemVolume::new(), dir.path());
    }

    #[test]
    fn a_tree_goes_with_its_content_and_what_a_link_in_it_leads_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, other) = (dir.path().join("tree"), dir.path().join("other"));
        let volume = SystemVolume::new();
        volume.create_dir(&tree.join("deeper")).unwrap();
        volume.create_dir(&other).unwrap();
        for file in [tree.join("deeper/a"), other.join("precious")] {
            write_file(&volume, &file, b"x").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(&other, tree.join("link")).unwrap();
        volume.remove_tree(&tree).unwrap();
        assert!(!volume.exists(&tree).unwrap());
        assert!(volume.exists(&other.join("precious")).unwrap());
    }
}
