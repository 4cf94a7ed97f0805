//! The files of an internal snapshot: one beside each data file, made when memory is full.
//!
//! A spill file is called `FILE_MSSQL_DBCCn`, where FILE is the data file and n the number of the snapshot.
//! It is not needed after the check. A crash leaves it, and the next open of the database removes it
//! ([`remove_leftovers`]).

use furrow_format::FileId;
use furrow_io::sync::Mutex;
use furrow_io::{Access, File, IoError, IoErrorKind, IoOp, Open, Volume};
use furrow_pool::SpillFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Between the name of the data file and the number of the snapshot.
const SUFFIX: &str = "_MSSQL_DBCC";

/// Spill files beside the data files of a database.
pub(super) struct Spill {
    volume: Arc<dyn Volume>,
    /// Paths by data file.
    paths: BTreeMap<FileId, PathBuf>,
    made: Mutex<Vec<PathBuf>>,
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

impl Spill {
    /// For the data files at these paths.
    pub(super) fn new<'p>(
        volume: &Arc<dyn Volume>,
        number: u16,
        files: impl Iterator<Item = (FileId, &'p Path)>,
    ) -> Spill {
        let path = |(id, path): (FileId, &Path)| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("{SUFFIX}{number}"));
            (id, PathBuf::from(name))
        };
        Spill {
            volume: Arc::clone(volume),
            paths: files.map(path).collect(),
            made: Mutex::default(),
        }
    }
}

impl SpillFiles for Spill {
    fn open(&self, file: FileId) -> Result<Arc<dyn File>, IoError> {
        let missing = || IoError::new(IoOp::Create, Path::new(SUFFIX), 0, IoErrorKind::NotFound);
        let path = self.paths.get(&file).ok_or_else(missing)?;
        let opened = self.volume.open(path, Open::Create, Access::Data)?;
        self.made.lock().push(path.clone());
        Ok(opened)
    }

    fn remove(&self) {
        for path in self.made.lock().drain(..) {
            if let Err(error) = self.volume.remove(&path) {
                tracing::warn!(path = %path.display(), %error, "a spill file cannot be removed");
            }
        }
    }
}

/// Removes the spill files that a crash has left beside these data files.
pub(crate) fn remove_leftovers(volume: &dyn Volume, data_files: &[PathBuf]) -> Result<(), IoError> {
    let directories: BTreeSet<&Path> = data_files.iter().filter_map(|p| p.parent()).collect();
    for directory in directories {
        for path in volume.list(directory)? {
            let is_ours = |data: &PathBuf| {
                let (path, data) = (path.as_os_str(), data.as_os_str());
                let rest = path.as_encoded_bytes();
                let rest = rest.strip_prefix(data.as_encoded_bytes());
                let number = rest.and_then(|rest| rest.strip_prefix(SUFFIX.as_bytes()));
                number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit))
            };
            if data_files.iter().any(is_ours) {
                volume.remove(&path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;

    #[test]
    fn a_start_removes_spill_files_of_its_own_data_files_and_nothing_else() {
        let volume = MemoryVolume::new();
        let dir = Path::new("/data");
        volume.create_dir(dir).unwrap();
        let names = [
            "a.mdf",
            "a.mdf_MSSQL_DBCC7",
            "a.mdf_MSSQL_DBCC",
            "a.mdf_MSSQL_DBCC7x",
            "b.mdf_MSSQL_DBCC7",
        ];
        for name in names {
            volume
                .open(&dir.join(name), Open::Create, Access::Data)
                .unwrap();
        }
        remove_leftovers(&volume, &[dir.join("a.mdf")]).unwrap();
        let left: Vec<String> = volume
            .list(dir)
            .unwrap()
            .iter()
            .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let expected = [
            "a.mdf",
            "a.mdf_MSSQL_DBCC",
            "a.mdf_MSSQL_DBCC7x",
            "b.mdf_MSSQL_DBCC7",
        ];
        assert_eq!(left, expected);
    }
}
