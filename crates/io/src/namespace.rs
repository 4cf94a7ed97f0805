//! Names of the files and directories of a volume that lives in memory.
//!
//! It follows the system's rules, so that code that works here works there: a file needs its directory, and a
//! directory that is not empty cannot be removed.

use crate::{IoError, IoErrorKind, IoOp};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Longest name of a file or directory, as on most of the system's file systems.
const MAX_COMPONENT_BYTES: usize = 255;

/// Directories, and files each with the volume's data about it.
#[derive(Debug, Clone)]
pub(crate) struct Namespace<T> {
    dirs: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, T>,
}

impl<T: Clone> Namespace<T> {
    /// Only the roots: the empty path, `.` and `/`.
    pub(crate) fn new() -> Namespace<T> {
        let dirs = ["", ".", "/"].into_iter().map(PathBuf::from).collect();
        Namespace {
            dirs,
            files: BTreeMap::new(),
        }
    }

    pub(crate) fn file(&self, op: IoOp, path: &Path) -> Result<T, IoError> {
        match self.files.get(path) {
            Some(file) => Ok(file.clone()),
            None => Err(IoError::new(op, path, 0, IoErrorKind::NotFound)),
        }
    }

    pub(crate) fn files(&self) -> &BTreeMap<PathBuf, T> {
        &self.files
    }

    pub(crate) fn is_dir(&self, path: &Path) -> bool {
        self.dirs.contains(path)
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.dirs.contains(path) || self.files.contains_key(path)
    }

    /// Whether a file may be created at `path`.
    pub(crate) fn check_create(&self, path: &Path) -> Result<(), IoError> {
        let too_long = |part: &OsStr| part.len() > MAX_COMPONENT_BYTES;
        let kind = if path.iter().any(too_long) {
            IoErrorKind::NameTooLong
        } else if self.exists(path) {
            IoErrorKind::AlreadyExists
        } else if path.parent().is_none_or(|dir| self.dirs.contains(dir)) {
            return Ok(());
        } else {
            IoErrorKind::NotFound
        };
        Err(IoError::new(IoOp::Create, path, 0, kind))
    }

    pub(crate) fn insert(&mut self, path: &Path, file: T) {
        self.files.insert(path.to_path_buf(), file);
    }

    /// The directory and those above it that are missing, the outermost first.
    pub(crate) fn missing_dirs(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let mut missing = Vec::new();
        for step in dir.ancestors() {
            if self.files.contains_key(step) {
                return Err(IoError::new(
                    IoOp::Create,
                    step,
                    0,
                    IoErrorKind::AlreadyExists,
                ));
            }
            if self.dirs.contains(step) {
                break;
            }
            missing.push(step.to_path_buf());
        }
        missing.reverse();
        Ok(missing)
    }

    pub(crate) fn insert_dir(&mut self, dir: &Path) {
        self.dirs.insert(dir.to_path_buf());
    }

    /// The entries of `dir`, sorted.
    pub(crate) fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        if !self.dirs.contains(dir) {
            return Err(IoError::new(IoOp::List, dir, 0, IoErrorKind::NotFound));
        }
        let inside = |path: &&PathBuf| path.parent() == Some(dir) && !path.as_os_str().is_empty();
        let mut entries: Vec<PathBuf> = self.files.keys().filter(inside).cloned().collect();
        entries.extend(
            self.dirs
                .iter()
                .filter(inside)
                .filter(|path| path.as_path() != dir)
                .cloned(),
        );
        entries.retain(|path| path != Path::new("."));
        entries.sort();
        Ok(entries)
    }

    /// Whether `path` is a file or an empty directory.
    pub(crate) fn check_remove(&self, path: &Path) -> Result<(), IoError> {
        if self.files.contains_key(path) {
            return Ok(());
        }
        if !self.dirs.contains(path) {
            return Err(IoError::new(IoOp::Remove, path, 0, IoErrorKind::NotFound));
        }
        if self.list(path)?.is_empty() {
            return Ok(());
        }
        let errno = rustix::io::Errno::NOTEMPTY;
        Err(IoError::of_errno(IoOp::Remove, path, 0, errno))
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        if self.files.remove(path).is_none() {
            self.dirs.remove(path);
        }
    }
}
