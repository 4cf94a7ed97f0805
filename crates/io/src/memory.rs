//! A volume in memory: no crash model, no faults, no speed of a device. For tests of what lies above.
//!
//! A file outlives its handles as long as the volume lives, so that a database can be closed and opened.

use crate::image::Image;
use crate::namespace::Namespace;
use crate::{
    Access, File, Fill, IoError, IoErrorKind, IoOp, Open, ReadRun, Space, Volume, WriteRun,
};
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Node {
    image: RwLock<Image>,
    locked: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    names: Mutex<Namespace<Arc<Node>>>,
    capacity_bytes: u64,
    used_bytes: AtomicU64,
}

/// A namespace of files in memory; clones are the same volume.
#[derive(Debug, Clone)]
pub struct MemoryVolume(Arc<Shared>);

impl MemoryVolume {
    /// An empty volume of 1 TiB.
    pub fn new() -> MemoryVolume {
        MemoryVolume::with_capacity(1 << 40)
    }

    /// An empty volume on which files may be `capacity_bytes` long in all.
    pub fn with_capacity(capacity_bytes: u64) -> MemoryVolume {
        let names = Mutex::new(Namespace::new());
        MemoryVolume(Arc::new(Shared {
            names,
            capacity_bytes,
            used_bytes: AtomicU64::new(0),
        }))
    }
}

impl Default for MemoryVolume {
    fn default() -> MemoryVolume {
        MemoryVolume::new()
    }
}

impl Shared {
    /// Takes `grow` bytes of the capacity.
    fn take(&self, op: IoOp, path: &Path, grow: u64) -> Result<(), IoError> {
        let taken = self
            .used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(grow)
                    .filter(|&sum| sum <= self.capacity_bytes)
            });
        taken
            .map(|_| ())
            .map_err(|_| IoError::new(op, path, 0, IoErrorKind::NoSpace))
    }

    fn give_back(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _always = self
            .used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

impl Volume for MemoryVolume {
    fn open(&self, path: &Path, how: Open, _access: Access) -> Result<Arc<dyn File>, IoError> {
        let mut names = self.0.names.lock();
        let node = if how == Open::Create {
            names.check_create(path)?;
            let node = Arc::new(Node::default());
            names.insert(path, Arc::clone(&node));
            node
        } else {
            names.file(IoOp::Open, path)?
        };
        let writable = how != Open::ReadOnly;
        if writable && node.locked.swap(true, Ordering::AcqRel) {
            return Err(IoError::new(IoOp::Open, path, 0, IoErrorKind::InUse));
        }
        let volume = Arc::clone(&self.0);
        Ok(Arc::new(MemoryFile {
            path: path.to_path_buf(),
            node,
            volume,
            writable,
        }))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        Ok(self.0.names.lock().exists(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.0.names.lock().list(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        let mut names = self.0.names.lock();
        for step in names.missing_dirs(dir)? {
            names.insert_dir(&step);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let mut names = self.0.names.lock();
        names.check_remove(path)?;
        if let Ok(node) = names.file(IoOp::Remove, path) {
            self.0.give_back(node.image.read().len());
        }
        names.remove(path);
        Ok(())
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        if !self.0.names.lock().is_dir(dir) {
            return Err(IoError::new(IoOp::Space, dir, 0, IoErrorKind::NotFound));
        }
        let total_bytes = self.0.capacity_bytes;
        let used = self.0.used_bytes.load(Ordering::Relaxed);
        Ok(Space {
            free_bytes: total_bytes.saturating_sub(used),
            total_bytes,
        })
    }
}

#[derive(Debug)]
struct MemoryFile {
    path: PathBuf,
    node: Arc<Node>,
    volume: Arc<Shared>,
    writable: bool,
}

impl MemoryFile {
    fn check_writable(&self, op: IoOp) -> Result<(), IoError> {
        if self.writable {
            return Ok(());
        }
        Err(IoError::new(op, &self.path, 0, IoErrorKind::Denied))
    }
}

impl File for MemoryFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        crate::weave::point();
        let image = self.node.image.read();
        for run in runs {
            if run.end_bytes() > image.len() {
                return Err(IoError::new(
                    IoOp::Read,
                    &self.path,
                    run.offset,
                    IoErrorKind::PastEnd,
                ));
            }
            let mut at = run.offset;
            for buf in run.bufs.iter_mut() {
                image.read(at, buf);
                at += buf.len() as u64;
            }
        }
        Ok(())
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        crate::weave::point();
        self.check_writable(IoOp::Write)?;
        let mut image = self.node.image.write();
        for run in runs {
            let grow = run.end_bytes().saturating_sub(image.len());
            self.volume.take(IoOp::Write, &self.path, grow)?;
            let mut at = run.offset;
            for buf in run.bufs {
                image.write(at, buf);
                at += buf.len() as u64;
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), IoError> {
        crate::weave::point();
        Ok(())
    }

    fn resize(&self, bytes: u64, _fill: Fill) -> Result<(), IoError> {
        self.check_writable(IoOp::Resize)?;
        let mut image = self.node.image.write();
        let old = image.len();
        self.volume
            .take(IoOp::Resize, &self.path, bytes.saturating_sub(old))?;
        image.set_len(bytes);
        self.volume.give_back(old.saturating_sub(bytes));
        Ok(())
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        Ok(self.node.image.read().len())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if self.writable {
            self.node.locked.store(false, Ordering::Release);
        }
    }
}
