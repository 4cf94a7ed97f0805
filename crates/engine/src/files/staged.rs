//! A volume whose changes stay in memory: what a repair in EMERGENCY works on until it is agreed to.
//!
//! Files are opened, and so locked, but never written. Blocks of one page that were written are read from
//! memory, all others from the file.
//!
//! # Invariants
//! 1. *Nothing below is changed*: no call of this module writes, resizes, creates or removes a file of the
//!    volume. Proof: `nothing_reaches_the_volume_below`, and the tests of `emergency` that compare all files
//!    of a machine.
//! 2. A file has one state, however often it is opened.
//! 3. *Memory is bounded*: a write that would exceed the limit fails for lack of space, and
//!    [`Staged::is_full`] says so from then on. Proof: `a_write_beyond_the_limit_fails`.

#![deny(clippy::indexing_slicing)]

use furrow_format::{PAGE_SIZE, PageBuf};
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use furrow_io::{
    Access, AlignedBuf, File, Fill, IoError, IoErrorKind, IoOp, Open, ReadRun, Space, Volume,
    WriteRun, read_around,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BLOCK: u64 = PAGE_SIZE as u64;

/// Written blocks of a file, by number.
pub(crate) type Blocks = BTreeMap<u32, Box<PageBuf>>;

/// Of the memory that this process may have, the part that changes may take.
const MEMORY_PART: u64 = 4;

/// How many blocks may be in memory.
#[derive(Debug)]
struct Limit {
    most: u64,
    used: AtomicU64,
    is_exceeded: AtomicBool,
}

impl Limit {
    /// Counts one more block; `false` if that is one too many.
    fn add(&self) -> bool {
        let is_free = self.used.fetch_add(1, Ordering::Relaxed) < self.most;
        if !is_free {
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        is_free
    }
}

/// The volume, and what was done to its files.
#[derive(Debug)]
pub(crate) struct Staged {
    below: Arc<dyn Volume>,
    limit: Arc<Limit>,
    files: Mutex<BTreeMap<PathBuf, Entry>>,
}

/// A path that was used.
#[derive(Debug)]
enum Entry {
    There(Arc<Inner>),
    Removed,
}

#[derive(Debug)]
struct Inner {
    /// None of a file that was created here.
    below: Option<Arc<dyn File>>,
    path: PathBuf,
    limit: Arc<Limit>,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    /// Bytes at the front that the file below has.
    below_len: u64,
    blocks: BTreeMap<u64, Box<PageBuf>>,
}

/// What became of a file.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The file below, open and locked.
    pub(crate) file: Arc<dyn File>,
    pub(crate) len: u64,
    pub(crate) blocks: Blocks,
}

impl Staged {
    /// Changes take a quarter at most of the memory that this process may have.
    pub(crate) fn over(below: &Arc<dyn Volume>) -> Arc<Staged> {
        let memory = furrow_io::host::memory_limit_bytes();
        let most = memory.map_or(u64::MAX, |bytes| bytes / MEMORY_PART / BLOCK);
        Staged::limited(below, most)
    }

    /// The same with a limit in blocks.
    fn limited(below: &Arc<dyn Volume>, most: u64) -> Arc<Staged> {
        Arc::new(Staged {
            below: Arc::clone(below),
            limit: Arc::new(Limit {
                most,
                used: AtomicU64::new(0),
                is_exceeded: AtomicBool::new(false),
            }),
            files: Mutex::new(BTreeMap::new()),
        })
    }

    /// Whether a write has failed because of the limit.
    pub(crate) fn is_full(&self) -> bool {
        self.limit.is_exceeded.load(Ordering::Relaxed)
    }

    /// Takes what became of a file that was there before and still is. It is not read any more.
    pub(crate) fn take_outcome(&self, path: &Path) -> Option<Outcome> {
        let files = self.files.lock();
        let Some(Entry::There(inner)) = files.get(path) else {
            return None;
        };
        let file = Arc::clone(inner.below.as_ref()?);
        let mut state = inner.state.write();
        let blocks = std::mem::take(&mut state.blocks).into_iter();
        let numbered = blocks.filter_map(|(at, block)| Some((u32::try_from(at).ok()?, block)));
        Some(Outcome {
            file,
            len: state.len,
            blocks: numbered.collect(),
        })
    }

    /// A block of a file, if it was written.
    pub(crate) fn block(&self, path: &Path, number: u32) -> Option<Box<PageBuf>> {
        let files = self.files.lock();
        let Some(Entry::There(inner)) = files.get(path) else {
            return None;
        };
        let state = inner.state.read();
        state.blocks.get(&u64::from(number)).cloned()
    }

    /// Files of the volume below that were removed here.
    pub(crate) fn removed(&self) -> Vec<PathBuf> {
        let files = self.files.lock();
        let removed = files.iter().filter(|(_, e)| matches!(e, Entry::Removed));
        removed.map(|(path, _)| path.clone()).collect()
    }

    fn create(
        &self,
        files: &mut BTreeMap<PathBuf, Entry>,
        path: &Path,
    ) -> Result<Arc<Inner>, IoError> {
        let taken = match files.get(path) {
            Some(Entry::There(_)) => true,
            Some(Entry::Removed) => false,
            None => self.below.exists(path)?,
        };
        if taken {
            let kind = IoErrorKind::AlreadyExists;
            return Err(IoError::new(IoOp::Create, path, 0, kind));
        }
        Ok(Inner::new((path, &self.limit), None, 0))
    }
}

impl Inner {
    fn new(
        (path, limit): (&Path, &Arc<Limit>),
        below: Option<Arc<dyn File>>,
        len: u64,
    ) -> Arc<Inner> {
        let state = State {
            len,
            below_len: len,
            blocks: BTreeMap::new(),
        };
        Arc::new(Inner {
            below,
            path: path.to_path_buf(),
            limit: Arc::clone(limit),
            state: RwLock::new(state),
        })
    }

    /// The bytes of the file below from `offset` on; zeros behind its end.
    fn read_below(&self, state: &State, offset: u64, bytes: &mut [u8]) -> Result<(), IoError> {
        let there = state.below_len.saturating_sub(offset);
        let there = there.min(bytes.len() as u64) as usize;
        let (front, behind) = bytes.split_at_mut(there);
        behind.fill(0);
        match &self.below {
            Some(below) if !front.is_empty() => below.read_at(offset, front),
            _ => Ok(()),
        }
    }

    /// A block before it is written for the first time. What the device cannot read of it is zeros.
    fn block(&self, state: &State, number: u64) -> Result<Box<PageBuf>, IoError> {
        let mut block: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
        let there = state.below_len.saturating_sub(number * BLOCK).min(BLOCK) as usize;
        let mut bytes = AlignedBuf::new(PAGE_SIZE);
        if let (Some(below), Some(front)) = (&self.below, bytes.get_mut(..there))
            && !front.is_empty()
        {
            read_around(&**below, number * BLOCK, front)?;
        }
        block.copy_from_slice(&bytes);
        Ok(block)
    }

    fn read_into(&self, state: &State, offset: u64, buf: &mut [u8]) -> Result<(), IoError> {
        let end = offset + buf.len() as u64;
        let touched = offset / BLOCK..end.div_ceil(BLOCK);
        if state.blocks.range(touched).next().is_none() {
            return self.read_below(state, offset, buf);
        }
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let (number, inside) = (at / BLOCK, (at % BLOCK) as usize);
            let count = rest.len().min(PAGE_SIZE - inside);
            let (part, behind) = rest.split_at_mut(count);
            match state.blocks.get(&number) {
                Some(block) => {
                    let source = block.get(inside..inside + count);
                    part.copy_from_slice(source.unwrap_or_default());
                }
                None => self.read_below(state, at, part)?,
            }
            at += count as u64;
            rest = behind;
        }
        Ok(())
    }

    fn write_from(&self, state: &mut State, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, inside) = (at / BLOCK, (at % BLOCK) as usize);
            let (part, behind) = rest.split_at(rest.len().min(PAGE_SIZE - inside));
            if !state.blocks.contains_key(&number) {
                if !self.limit.add() {
                    let kind = IoErrorKind::NoSpace;
                    return Err(IoError::new(IoOp::Write, &self.path, at, kind));
                }
                let block = match part.len() {
                    PAGE_SIZE => Box::new([0; PAGE_SIZE]),
                    _ => self.block(state, number)?,
                };
                state.blocks.insert(number, block);
            }
            let block = state.blocks.get_mut(&number);
            let place = block.and_then(|block| block.get_mut(inside..inside + part.len()));
            if let Some(place) = place {
                place.copy_from_slice(part);
            }
            at += part.len() as u64;
            rest = behind;
        }
        state.len = state.len.max(at);
        Ok(())
    }
}

/// A handle of a file.
#[derive(Debug)]
struct StagedFile(Arc<Inner>);

impl File for StagedFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let state = self.0.state.read();
        for run in runs {
            let mut at = run.offset;
            for buf in run.bufs.iter_mut() {
                if at + buf.len() as u64 > state.len {
                    let kind = IoErrorKind::PastEnd;
                    return Err(IoError::new(IoOp::Read, &self.0.path, run.offset, kind));
                }
                self.0.read_into(&state, at, buf)?;
                at += buf.len() as u64;
            }
        }
        Ok(())
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let mut state = self.0.state.write();
        for run in runs {
            let mut at = run.offset;
            for buf in run.bufs {
                self.0.write_from(&mut state, at, buf)?;
                at += buf.len() as u64;
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn resize(&self, bytes: u64, _fill: Fill) -> Result<(), IoError> {
        let mut state = self.0.state.write();
        if bytes < state.len {
            state.below_len = state.below_len.min(bytes);
            let _cut = state.blocks.split_off(&bytes.div_ceil(BLOCK));
            let inside = (bytes % BLOCK) as usize;
            let last = state.blocks.get_mut(&(bytes / BLOCK));
            if let Some(behind) = last.and_then(|block| block.get_mut(inside..)) {
                behind.fill(0);
            }
        }
        state.len = bytes;
        Ok(())
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        Ok(self.0.state.read().len)
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Volume for Staged {
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
        let mut files = self.files.lock();
        let inner = match (how, files.get(path)) {
            (Open::Create, _) => self.create(&mut files, path)?,
            (_, Some(Entry::There(inner))) => Arc::clone(inner),
            (_, Some(Entry::Removed)) => {
                return Err(IoError::new(IoOp::Open, path, 0, IoErrorKind::NotFound));
            }
            (_, None) => {
                let below = self.below.open(path, Open::Existing, access)?;
                let len = below.len_bytes()?;
                Inner::new((path, &self.limit), Some(below), len)
            }
        };
        files.insert(path.to_path_buf(), Entry::There(Arc::clone(&inner)));
        Ok(Arc::new(StagedFile(inner)))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        match self.files.lock().get(path) {
            Some(Entry::There(_)) => Ok(true),
            Some(Entry::Removed) => Ok(false),
            None => self.below.exists(path),
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let mut paths = self.below.list(dir)?;
        let files = self.files.lock();
        paths.retain(|path| !matches!(files.get(path), Some(Entry::Removed)));
        let made = files.iter().filter(|(path, entry)| {
            matches!(entry, Entry::There(inner) if inner.below.is_none())
                && path.parent() == Some(dir)
        });
        paths.extend(made.map(|(path, _)| path.clone()));
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        match self.below.exists(dir)? {
            true => Ok(()),
            false => Err(IoError::new(IoOp::Create, dir, 0, IoErrorKind::Denied)),
        }
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let mut files = self.files.lock();
        let there = match files.get(path) {
            Some(Entry::There(_)) => true,
            Some(Entry::Removed) => false,
            None => self.below.exists(path)?,
        };
        if !there {
            return Err(IoError::new(IoOp::Remove, path, 0, IoErrorKind::NotFound));
        }
        files.insert(path.to_path_buf(), Entry::Removed);
        Ok(())
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        self.below.space(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;

    fn below() -> Arc<dyn Volume> {
        let volume = MemoryVolume::new();
        let file = volume.open(Path::new("a"), Open::Create, Access::Data);
        let file = file.unwrap();
        file.write_at(0, &AlignedBuf::copy_of(&vec![1; 3 * PAGE_SIZE]))
            .unwrap();
        Arc::new(volume)
    }

    #[test]
    fn what_was_written_is_read_and_the_rest_is_as_below() {
        let staged = Staged::over(&below());
        let file = staged
            .open(Path::new("a"), Open::Existing, Access::Data)
            .unwrap();
        file.write_at(BLOCK + 512, &AlignedBuf::copy_of(&[7; 512]))
            .unwrap();
        file.resize(4 * BLOCK, Fill::Zero).unwrap();
        let again = staged
            .open(Path::new("a"), Open::ReadOnly, Access::Data)
            .unwrap();
        let mut all = AlignedBuf::new(4 * PAGE_SIZE);
        again.read_at(0, &mut all).unwrap();
        let of = |at: usize| all.get(at).copied().unwrap();
        let edges = [8192, 8703, 8704, 9215, 9216, 24_575, 24_576].map(of);
        assert_eq!(edges, [1, 1, 7, 7, 1, 1, 0]);
        file.resize(BLOCK + 1024, Fill::Zero).unwrap();
        file.resize(2 * BLOCK, Fill::Zero).unwrap();
        let mut all = AlignedBuf::new(2 * PAGE_SIZE);
        again.read_at(0, &mut all).unwrap();
        let of = |at: usize| all.get(at).copied().unwrap();
        assert_eq!([8704, 9215, 9216, 16_383].map(of), [7, 7, 0, 0]);
        assert!(again.read_at(2 * BLOCK, &mut [0; 512]).is_err());
    }

    #[test]
    fn nothing_reaches_the_volume_below() {
        let below = below();
        let staged = Staged::over(&below);
        let path = Path::new("a");
        let file = staged.open(path, Open::Existing, Access::Data).unwrap();
        file.write_at(0, &AlignedBuf::copy_of(&[9; 512])).unwrap();
        let outcome = staged.take_outcome(path).unwrap();
        assert_eq!(outcome.blocks.len(), 1);
        drop((file, outcome));
        let made = staged.open(Path::new("b"), Open::Create, Access::Data);
        made.unwrap().resize(BLOCK, Fill::Zero).unwrap();
        staged.remove(path).unwrap();
        assert!(!staged.exists(path).unwrap());
        assert_eq!(staged.removed(), [path.to_path_buf()]);
        assert_eq!(staged.list(Path::new("")).unwrap(), [PathBuf::from("b")]);
        drop(staged);
        assert!(!below.exists(Path::new("b")).unwrap());
        let file = below.open(path, Open::Existing, Access::Data).unwrap();
        let mut bytes = AlignedBuf::new(3 * PAGE_SIZE);
        file.read_at(0, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 1));
    }

    #[test]
    fn a_write_beyond_the_limit_fails() {
        let staged = Staged::limited(&below(), 2);
        let file = staged.open(Path::new("a"), Open::Existing, Access::Data);
        let file = file.unwrap();
        let page = AlignedBuf::copy_of(&[7; PAGE_SIZE]);
        for at in [0, 1, 0, 1] {
            file.write_at(at * BLOCK, &page).unwrap();
        }
        assert!(!staged.is_full());
        let refused = file.write_at(2 * BLOCK, &page).unwrap_err();
        assert_eq!(
            (refused.kind, staged.is_full()),
            (IoErrorKind::NoSpace, true)
        );
    }
}
