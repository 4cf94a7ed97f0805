//! A volume whose requests take the time of a model.
//!
//! A [`ModelledVolume`] wraps any other volume: the system's files, memory, the crash simulation. Bytes,
//! errors and durability are those of the volume below. Files in and below a directory with a model take the
//! modelled time; all other files are passed on.
//!
//! # How a request travels
//! 1. The file's extents map its bytes to places on the array ([`crate::placement`]).
//! 2. The requests go to the array, and the volume below does the work at the same time.
//! 3. The call returns when both are done. Where the volume below was slower than the model, the request
//!    counts as late ([`ArrayFigures::late`]): its time was not the modelled one.
//!
//! # What costs what
//! - A batch has no order inside: its requests are all under way at once.
//! - A durable write costs what a write costs, as with forced unit access, and the time of `sync=` where
//!   that is given. A sync costs the overhead of the controller and its `sync` time.
//! - Growth with zeros costs the writing of zeros. Allocation, names and directories cost nothing.
//! - After a restart the places of files are chosen again, from their lengths alone.
//!
//! # What can fail
//! The volume below, and a full array ([`IoErrorKind::NoSpace`]).

mod file;
mod pacer;

pub use pacer::Pace;

use crate::array::Totals;
use crate::placement::{Extents, Placement};
use crate::spec::{ModelSpec, VolumeSpec};
use file::ModelledFile;
use furrow_io::{Access, File, IoError, IoErrorKind, IoOp, Open, Space, Volume};
use pacer::Pacer;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Why there is no volume.
#[derive(Debug, Error)]
pub enum VolumeError {
    /// Two models for one directory.
    #[error("{} and {} are the same directory; give it once", first.display(), second.display())]
    Twice {
        /// As it was given first.
        first: PathBuf,
        /// As it was given then.
        second: PathBuf,
    },
    /// The system gives no thread.
    #[error("cannot start the thread of a modelled array: {0}")]
    Thread(#[from] std::io::Error),
}

/// What an array did since the volume was created.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayFigures {
    /// The directory.
    pub dir: PathBuf,
    /// The model in one line.
    pub model: String,
    /// Drives of the array.
    pub drives: u32,
    /// Modelled time since the volume was created.
    pub elapsed_ns: u64,
    /// What the array did.
    pub totals: Totals,
    /// Calls in which the volume below was slower than the model.
    pub late: u64,
}

/// Files of a directory and the array that they lie on.
#[derive(Debug)]
struct MountedArray {
    given: PathBuf,
    dir: PathBuf,
    model: ModelSpec,
    pacer: Pacer,
    places: Mutex<Places>,
    late: AtomicU64,
}

#[derive(Debug)]
struct Places {
    placement: Placement,
    files: BTreeMap<PathBuf, Extents>,
}

impl MountedArray {
    fn new(spec: &VolumeSpec, model: &ModelSpec, pace: Pace) -> Result<MountedArray, VolumeError> {
        let placement = Placement::new(
            model.array.capacity_bytes(),
            model.partition_offset,
            model.unit_bytes,
            model.seed,
        );
        Ok(MountedArray {
            given: spec.dir.clone(),
            dir: resolve(&spec.dir),
            model: model.clone(),
            pacer: Pacer::start(&model.array, model.seed, pace)?,
            places: Mutex::new(Places {
                placement,
                files: BTreeMap::new(),
            }),
            late: AtomicU64::new(0),
        })
    }

    /// Makes the extents of a file cover `bytes`.
    fn cover(&self, op: IoOp, path: &Path, bytes: u64) -> Result<(), IoError> {
        let mut places = self.places.lock();
        let Places { placement, files } = &mut *places;
        let extents = files.entry(path.to_path_buf()).or_default();
        if extents.bytes() >= bytes {
            return Ok(());
        }
        let full = |_| IoError::new(op, path, bytes, IoErrorKind::NoSpace);
        placement.extend(extents, bytes).map_err(full)
    }

    fn cut(&self, path: &Path, bytes: u64) {
        let mut places = self.places.lock();
        let Places { placement, files } = &mut *places;
        if let Some(extents) = files.get_mut(path) {
            placement.truncate(extents, bytes);
        }
    }

    fn forget(&self, path: &Path) {
        let mut places = self.places.lock();
        let Places { placement, files } = &mut *places;
        if let Some(mut extents) = files.remove(path) {
            placement.release(&mut extents);
        }
    }

    fn figures(&self) -> ArrayFigures {
        let (elapsed_ns, totals) = self.pacer.totals();
        ArrayFigures {
            dir: self.given.clone(),
            model: self.model.describe(),
            drives: self.model.array.raid.drives(),
            elapsed_ns,
            totals,
            late: self.late.load(Ordering::Relaxed),
        }
    }
}

/// A volume with models before some of its directories; clones are the same volume.
#[derive(Debug, Clone)]
pub struct ModelledVolume {
    inner: Arc<dyn Volume>,
    /// Deeper directories first, so that the first match is the nearest.
    arrays: Arc<Vec<Arc<MountedArray>>>,
}

impl ModelledVolume {
    /// Puts the models of `specs` before `inner`; directories without a model stay as they are.
    pub fn new(
        inner: Arc<dyn Volume>,
        specs: &[VolumeSpec],
        pace: Pace,
    ) -> Result<ModelledVolume, VolumeError> {
        let mut arrays: Vec<Arc<MountedArray>> = Vec::new();
        for spec in specs {
            let Some(model) = &spec.model else {
                continue;
            };
            let array = MountedArray::new(spec, model, pace)?;
            if let Some(other) = arrays.iter().find(|other| other.dir == array.dir) {
                return Err(VolumeError::Twice {
                    first: other.given.clone(),
                    second: spec.dir.clone(),
                });
            }
            arrays.push(Arc::new(array));
        }
        arrays.sort_by_key(|array| std::cmp::Reverse(array.dir.components().count()));
        Ok(ModelledVolume {
            inner,
            arrays: Arc::new(arrays),
        })
    }

    /// What each array did so far.
    pub fn figures(&self) -> Vec<ArrayFigures> {
        self.arrays.iter().map(|array| array.figures()).collect()
    }

    fn array_of(&self, path: &Path) -> Option<(&Arc<MountedArray>, PathBuf)> {
        if self.arrays.is_empty() {
            return None;
        }
        let resolved = resolve(path);
        let array = self
            .arrays
            .iter()
            .find(|array| resolved.starts_with(&array.dir))?;
        Some((array, resolved))
    }
}

/// Puts the models of `specs` before `inner`, in real time; gives `inner` back where there is none.
pub fn with_models(
    inner: Arc<dyn Volume>,
    specs: &[VolumeSpec],
) -> Result<Arc<dyn Volume>, VolumeError> {
    if specs.iter().all(|spec| spec.model.is_none()) {
        return Ok(inner);
    }
    Ok(Arc::new(ModelledVolume::new(inner, specs, Pace::Real)?))
}

/// A path without links, as far as it exists: two names of one directory are one directory.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for step in absolute.ancestors() {
        if let Ok(real) = step.canonicalize()
            && let Ok(rest) = absolute.strip_prefix(step)
        {
            return real.join(rest);
        }
    }
    absolute
}

impl Volume for ModelledVolume {
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
        let file = self.inner.open(path, how, access)?;
        let Some((array, resolved)) = self.array_of(path) else {
            return Ok(file);
        };
        array.cover(IoOp::Open, &resolved, file.len_bytes()?)?;
        Ok(Arc::new(ModelledFile::new(
            file,
            Arc::clone(array),
            resolved,
        )))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        self.inner.exists(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        self.inner.create_dir(dir)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let place = self.array_of(path);
        self.inner.remove(path)?;
        if let Some((array, resolved)) = place {
            array.forget(&resolved);
        }
        Ok(())
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        let below = self.inner.space(dir)?;
        let Some((array, _)) = self.array_of(dir) else {
            return Ok(below);
        };
        let free_bytes = array.places.lock().placement.free_bytes();
        Ok(Space {
            free_bytes: below.free_bytes.min(free_bytes),
            total_bytes: below.total_bytes.min(array.model.array.capacity_bytes()),
        })
    }
}
