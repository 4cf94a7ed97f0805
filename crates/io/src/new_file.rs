//! A file that gets its name when it is complete.
//!
//! It is written under a temporary name in the directory of its destination. What lies at the destination
//! stays as it is until [`NewFile::publish`] renames the file, and stays for good where that is never called.

use crate::random::random_seed;
use crate::stream::destination;
use crate::system::{lock, must_be_regular, sync_directory_of};
use crate::{Access, File, IoError, IoErrorKind, IoOp, Open, SystemVolume, Volume};
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Temporary names of files that are being written.
static UNPUBLISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the files that have no final name yet: for a program that ends without dropping them.
pub fn remove_unpublished() {
    for temporary in std::mem::take(&mut *UNPUBLISHED.lock()) {
        let _ = SystemVolume::new().remove(&temporary);
    }
}

/// What happens to a file that is at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new file is refused.
    Refuse,
    /// The new file takes its name, and its permissions; but not those of a file that has come there since.
    Replace,
}

/// The name of a file that is being written. Dropping it removes the file, unless it was published.
#[derive(Debug)]
pub struct NewFile {
    /// `None` once the file has its final name.
    temporary: Option<PathBuf>,
    destination: PathBuf,
    existing: Existing,
    /// The file at the destination when this one was created.
    replaces: Option<Identity>,
}

/// Which file it is: its device, and its number there.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    let found = rustix::fs::stat(path).ok()?;
    Some((found.st_dev, found.st_ino))
}

impl NewFile {
    /// Creates a file with a temporary name. It refuses a destination that cannot be created or replaced.
    pub fn create(path: &Path, existing: Existing) -> Result<(NewFile, Arc<dyn File>), IoError> {
        let destination = match existing {
            Existing::Refuse => path.to_path_buf(),
            Existing::Replace => destination(path),
        };
        let failed = |kind| IoError::new(IoOp::Create, path, 0, kind);
        if path.as_os_str().as_bytes().ends_with(b"/") || path.is_dir() {
            return Err(failed(IoErrorKind::IsADirectory));
        }
        if destination.file_name().is_none() {
            return Err(failed(IoErrorKind::NotFound));
        }
        match (existing, std::fs::symlink_metadata(&destination)) {
            (Existing::Refuse, Ok(_)) => return Err(failed(IoErrorKind::AlreadyExists)),
            (Existing::Replace, Ok(_)) => must_be_replaceable(&destination)?,
            (_, Err(_)) => {}
        }
        let replaces = identity(&destination);
        let name = format!(".furrow-{}-{:016x}.tmp", std::process::id(), random_seed());
        let temporary = destination.with_file_name(name);
        let file = SystemVolume::new()
            .open(&temporary, Open::Create, Access::Log)
            .map_err(|e| failed(e.kind))?;
        UNPUBLISHED.lock().insert(temporary.clone());
        let new = NewFile {
            temporary: Some(temporary),
            destination,
            existing,
            replaces,
        };
        Ok((new, file))
    }

    /// Whether the file has its final name.
    pub fn is_published(&self) -> bool {
        self.temporary.is_none()
    }

    /// Gives the file its final name; later calls have no effect. The content must be durable before, so that
    /// the name never leads to less.
    pub fn publish(&mut self) -> Result<(), IoError> {
        let Some(temporary) = &self.temporary else {
            return Ok(());
        };
        let to = &self.destination;
        let renamed = match self.existing {
            Existing::Replace if self.replaces.is_some() && identity(to) == self.replaces => {
                // It may have been opened since.
                must_be_replaceable(to)?;
                if let Ok(replaced) = rustix::fs::stat(to) {
                    let mode = Mode::from_raw_mode(replaced.st_mode);
                    // A file system without permissions has none to take over.
                    let _ = rustix::fs::chmodat(CWD, temporary, mode, AtFlags::empty());
                }
                rustix::fs::rename(temporary, to)
            }
            Existing::Refuse | Existing::Replace => rename_to_free_name(temporary, to),
        };
        renamed.map_err(|errno| IoError::of_errno(IoOp::Create, to, 0, errno))?;
        UNPUBLISHED.lock().remove(temporary);
        self.temporary = None;
        sync_directory_of(IoOp::Create, to)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary
            && UNPUBLISHED.lock().remove(temporary)
        {
            let _ = SystemVolume::new().remove(temporary);
        }
    }
}

/// Refuses what is not a regular file, what the user may not write, and what is open elsewhere for writing.
fn must_be_replaceable(path: &Path) -> Result<(), IoError> {
    let failed = |errno| IoError::of_errno(IoOp::Create, path, 0, errno);
    let found = rustix::fs::stat(path).map_err(failed)?;
    must_be_regular(IoOp::Create, path, found.st_mode)?;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    lock(&open, path)
}

/// Renames a file unless the new name is taken.
fn rename_to_free_name(from: &Path, to: &Path) -> Result<(), Errno> {
    match rustix::fs::link(from, to) {
        Ok(()) => rustix::fs::unlink(from),
        Err(Errno::EXIST) => Err(Errno::EXIST),
        // A file system without hard links.
        Err(_) if std::fs::symlink_metadata(to).is_ok() => Err(Errno::EXIST),
        Err(_) => rustix::fs::rename(from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(dir: &Path) -> Vec<PathBuf> {
        let all = SystemVolume::new().list(dir).unwrap();
        let name = |path: PathBuf| PathBuf::from(path.file_name().unwrap());
        all.into_iter().map(name).collect()
    }

    #[test]
    fn a_destination_stays_as_it_is_until_the_file_is_published() {
        let dir = tempfile::tempdir().unwrap();
        let (old, link) = (dir.path().join("old"), dir.path().join("link"));
        std::fs::write(&old, "old").unwrap();
        let shared = std::fs::Permissions::from_mode(0o604);
        std::fs::set_permissions(&old, shared).unwrap();
        symlink("old", &link).unwrap();
        let (dropped, _file) = NewFile::create(&link, Existing::Replace).unwrap();
        assert_eq!(names(dir.path()).len(), 3);
        drop(dropped);
        assert_eq!(std::fs::read(&old).unwrap(), b"old");
        let (mut new, file) = NewFile::create(&link, Existing::Replace).unwrap();
        file.resize(4096, crate::Fill::Allocate).unwrap();
        assert!(!new.is_published());
        new.publish().unwrap();
        new.publish().unwrap();
        drop(new);
        assert_eq!(std::fs::read(&old).unwrap().len(), 4096);
        assert_eq!(
            std::fs::metadata(&old).unwrap().permissions().mode() & 0o777,
            0o604
        );
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("old"));
        assert_eq!(names(dir.path()), [Path::new("link"), Path::new("old")]);
    }

    #[test]
    fn a_file_that_has_come_to_the_destination_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        for there in [false, true] {
            if there {
                std::fs::write(&path, "old").unwrap();
            }
            let (mut new, _file) = NewFile::create(&path, Existing::Replace).unwrap();
            let other = dir.path().join("other");
            std::fs::write(&other, "later").unwrap();
            std::fs::rename(&other, &path).unwrap();
            assert_eq!(new.publish().unwrap_err().kind, IoErrorKind::AlreadyExists);
            drop(new);
            assert_eq!(std::fs::read(&path).unwrap(), b"later");
        }
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let (mut new, _file) = NewFile::create(&path, Existing::Refuse).unwrap();
        std::fs::write(&path, "faster").unwrap();
        assert_eq!(new.publish().unwrap_err().kind, IoErrorKind::AlreadyExists);
        drop(new);
        assert_eq!(std::fs::read(&path).unwrap(), b"faster");
        let again = NewFile::create(&path, Existing::Refuse);
        assert_eq!(again.unwrap_err().kind, IoErrorKind::AlreadyExists);
        assert_eq!(names(dir.path()), [Path::new("new")]);
    }

    #[test]
    fn directories_and_files_that_are_locked_are_no_destinations() {
        let dir = tempfile::tempdir().unwrap();
        let kind = |path: &Path| NewFile::create(path, Existing::Replace).unwrap_err().kind;
        assert_eq!(kind(dir.path()), IoErrorKind::IsADirectory);
        assert_eq!(kind(&dir.path().join("new/")), IoErrorKind::IsADirectory);
        assert_eq!(kind(&dir.path().join("no/new")), IoErrorKind::NotFound);
        assert_eq!(kind(Path::new("")), IoErrorKind::NotFound);
        let path = dir.path().join("data.mdf");
        let volume = SystemVolume::new();
        let held = volume.open(&path, Open::Create, Access::Data).unwrap();
        assert_eq!(kind(&path), IoErrorKind::InUse);
        drop(held);
        NewFile::create(&path, Existing::Replace).unwrap();
    }
}
