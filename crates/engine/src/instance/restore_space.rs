//! Whether the volumes have the space for the files of a database that is to be restored.

use super::Instance;
use super::restore::RestoreSpec;
use crate::shared::Listed;
use furrow_format::PAGE_SIZE;
use furrow_io::{Access, Open};
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn directory(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

impl Instance {
    /// 3257 where the files of a restored database need more than is free and than its restore gives back:
    /// the files of the database that has its name, and with REPLACE files that lie at its places. Only the
    /// directory of each file is looked at: two directories of one volume are not added up.
    pub(super) fn space_suffices(
        &self,
        old: Option<&Listed>,
        spec: &RestoreSpec,
    ) -> Result<(), EngineError> {
        let volume = &*self.shared.volume;
        let mut going = old.map_or_else(Vec::new, |old| self.sizes_of(old));
        let files = spec.files.iter().filter(|f| !spec.absent.contains(&f.id.0));
        let mut needed: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for file in files {
            let bytes = u64::from(file.size_pages) * PAGE_SIZE as u64;
            *needed.entry(directory(&file.path)).or_default() += bytes;
            if spec.replace && !going.iter().any(|(path, _)| *path == file.path) {
                going.extend(
                    self.size_at(&file.path)
                        .map(|bytes| (file.path.clone(), bytes)),
                );
            }
        }
        for (directory_of_new, bytes) in needed {
            let Ok(space) = volume.space(&directory_of_new) else {
                continue;
            };
            // Volumes of one size may be the same one.
            let on_it = |path: &Path| {
                let other = volume.space(&directory(path));
                other.is_ok_and(|other| other.total_bytes == space.total_bytes)
            };
            let given_back = going.iter().filter(|(path, _)| on_it(path));
            let given_back: u64 = given_back.map(|(_, bytes)| bytes).sum();
            let free = space.free_bytes.saturating_add(given_back);
            if bytes > free {
                let place = directory_of_new.display().to_string();
                let args = [place.into(), bytes.into(), free.into()];
                return Err(EngineError::refused(3257, &args));
            }
        }
        Ok(())
    }

    /// What RESTORE VERIFYONLY reports about space: the error of a restore of these files that replaces what
    /// lies at their places.
    pub fn restore_lacks_space(&self, spec: &RestoreSpec) -> Option<EngineError> {
        let spec = RestoreSpec {
            replace: true,
            ..spec.clone()
        };
        self.space_suffices(None, &spec).err()
    }

    /// The files of a database, and their bytes.
    fn sizes_of(&self, old: &Listed) -> Vec<(PathBuf, u64)> {
        let page = PAGE_SIZE as u64;
        let open = self.open_of(old).and_then(|open| open.file_list().ok());
        match open {
            Some(files) => files
                .into_iter()
                .map(|f| (f.path, f.size_pages * page))
                .collect(),
            None => {
                let plans = old.layout.iter();
                plans
                    .map(|p| (p.path.clone(), u64::from(p.size_pages) * page))
                    .collect()
            }
        }
    }

    /// The bytes of the file at a path, if there is one.
    fn size_at(&self, path: &Path) -> Option<u64> {
        let file = self.shared.volume.open(path, Open::ReadOnly, Access::Data);
        file.ok()?.len_bytes().ok()
    }
}
