//! A file that is read with some pages of it from memory: what EMERGENCY shows of a file whose header or boot
//! page is damaged. It is never written.

use furrow_format::{PAGE_SIZE, PageBuf, PageNo};
use furrow_io::{File, Fill, IoError, IoErrorKind, IoOp, ReadRun, WriteRun};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const PAGE_BYTES: u64 = PAGE_SIZE as u64;

/// Pages by their numbers.
pub(crate) type Patches = BTreeMap<PageNo, Box<PageBuf>>;

/// The file, and the pages that are read instead of its own.
#[derive(Debug)]
pub(crate) struct Patched {
    file: Arc<dyn File>,
    pages: Patches,
}

impl Patched {
    pub(crate) fn wrap(file: Arc<dyn File>, pages: Patches) -> Arc<dyn File> {
        Arc::new(Patched { file, pages })
    }

    /// Puts the pages over what was read of a run.
    fn patch(&self, run: &mut ReadRun<'_, '_>) {
        let mut at = run.offset;
        for buf in run.bufs.iter_mut() {
            let end = at + buf.len() as u64;
            for (number, page) in &self.pages {
                let start = u64::from(number.0) * PAGE_BYTES;
                let (from, to) = (start.max(at), (start + PAGE_BYTES).min(end));
                if from >= to {
                    continue;
                }
                let source = page.get((from - start) as usize..(to - start) as usize);
                let target = buf.get_mut((from - at) as usize..(to - at) as usize);
                if let (Some(source), Some(target)) = (source, target) {
                    target.copy_from_slice(source);
                }
            }
            at = end;
        }
    }

    /// Whether a run is one page that is read from memory: then the device need not be able to read it.
    fn has_all_of(&self, run: &ReadRun<'_, '_>) -> bool {
        let number = u32::try_from(run.offset / PAGE_BYTES).unwrap_or(u32::MAX);
        let inside = run.offset % PAGE_BYTES + run.len_bytes() <= PAGE_BYTES;
        inside && self.pages.contains_key(&PageNo(number))
    }

    fn read_only(&self) -> IoError {
        debug_assert!(false, "a patched file is only read");
        IoError::new(IoOp::Write, self.file.path(), 0, IoErrorKind::Denied)
    }
}

impl File for Patched {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let read = self.file.read(runs);
        if read.is_err() && !runs.iter().all(|run| self.has_all_of(run)) {
            return read;
        }
        runs.iter_mut().for_each(|run| self.patch(run));
        Ok(())
    }

    fn write(&self, _runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        Err(self.read_only())
    }

    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn resize(&self, _bytes: u64, _fill: Fill) -> Result<(), IoError> {
        Err(self.read_only())
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.file.len_bytes()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{Access, AlignedBuf, MemoryVolume, Open, Volume};

    #[test]
    fn pages_in_memory_are_read_instead_of_those_of_the_file() {
        let volume = MemoryVolume::new();
        let file = volume.open(Path::new("d"), Open::Create, Access::Data);
        let file = file.unwrap();
        file.resize(4 * PAGE_BYTES, Fill::Zero).unwrap();
        file.write_at(0, &AlignedBuf::copy_of(&vec![1; 4 * PAGE_SIZE]))
            .unwrap();
        let pages = Patches::from([(PageNo(1), Box::new([7; PAGE_SIZE]))]);
        let patched = Patched::wrap(file, pages);
        let mut all = AlignedBuf::new(4 * PAGE_SIZE);
        patched.read_at(0, &mut all).unwrap();
        let of = |byte: usize| all.get(byte).copied().unwrap();
        assert_eq!([of(8191), of(8192), of(16_383), of(16_384)], [1, 7, 7, 1]);
        let mut half = AlignedBuf::new(PAGE_SIZE);
        patched.read_at(PAGE_BYTES + 4096, &mut half).unwrap();
        assert_eq!((half.first(), half.last()), (Some(&7), Some(&1)));
    }
}
