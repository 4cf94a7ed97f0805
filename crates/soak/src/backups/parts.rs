//! Parts of the database restored: a file of the copy, pages of the database in use.

use super::machine::{COPY, Machine, NAME, Silent, has, of_backup};
use super::media::{Taken, Wanted};
use crate::engine::failure;
use crate::subject::Failure;
use furrow_backup::{
    BackupError, MediaSet, Parts, RestoreRequest, recover_only, restore_files, restore_log,
    restore_pages,
};
use furrow_engine::Instance;
use furrow_format::{PageId, PageNo};
use furrow_io::random::{Rng, SeededRng};
use std::sync::Arc;

/// Pages of one restore.
const MOST_PAGES: usize = 6;

impl Machine {
    /// RESTORE DATABASE copy FILE = ... WITH NORECOVERY, of one file of a backup that has it.
    pub(super) fn restore_file(
        &self,
        instance: &Arc<Instance>,
        from: &Taken,
    ) -> Result<(), BackupError> {
        let media = MediaSet::open(&self.volume, &from.paths)?;
        let info = media.info(1)?;
        let data = || info.files.iter().filter(|f| f.filegroup != 0 && f.present);
        let nth = from.set.0[0] as usize % data().count().max(1);
        let Some(file) = data().nth(nth) else {
            return Ok(());
        };
        let parts = Parts {
            files: vec![file.name.clone()],
            ..Parts::default()
        };
        let request = RestoreRequest {
            name: COPY.to_owned(),
            ..RestoreRequest::default()
        };
        restore_files(instance, &media, (&request, &parts), &mut Silent).map(drop)
    }

    /// Restores some pages of the database in use from a full backup and the log backups since; whether it
    /// could be done.
    pub(super) fn restore_some_pages(
        &self,
        rng: &mut SeededRng,
        (full, logs): (&Taken, &[Taken]),
    ) -> Result<bool, Failure> {
        let (instance, db) = (self.instance()?, self.database()?);
        let files = db.file_list().map_err(failure)?;
        let data: Vec<_> = files.iter().filter(|f| f.filegroup != 0).collect();
        let mut pages: Vec<PageId> = Vec::new();
        for _ in 0..rng.random_range(1..=MOST_PAGES) {
            let Some(file) = data.get(rng.random_range(0..data.len().max(1))) else {
                continue;
            };
            let page = PageNo(rng.random_range(8..file.size_pages.clamp(9, 600) as u32));
            pages.push(PageId {
                file: file.id,
                page,
            });
        }
        let request = RestoreRequest {
            name: NAME.to_owned(),
            ..RestoreRequest::default()
        };
        let media = MediaSet::open(&self.volume, &full.paths).map_err(of_backup)?;
        // Pages that were not allocated then, and those of maps, are refused one by one.
        let mut some = false;
        for page in pages {
            match restore_pages(instance, &media, (&request, &[page]), &mut Silent) {
                Ok(_) => some = true,
                Err(e) if has(&e, &[3111, 3183, 3194, 3195, 4346]) => {}
                Err(e) => return Err(of_backup(e)),
            }
        }
        if !some {
            return Ok(false);
        }
        for log in logs {
            let media = MediaSet::open(&self.volume, &log.paths).map_err(of_backup)?;
            match restore_log(instance, &media, &request, &mut Silent) {
                Ok(_) => {}
                Err(e) if has(&e, &[4326]) => {}
                Err(e) => return Err(of_backup(e)),
            }
        }
        recover_only(instance, NAME).map_err(of_backup)?;
        Ok(true)
    }
}

/// The last full backup and all log backups since.
pub(super) fn since_last_full(taken: &[Taken]) -> Option<(Taken, Vec<Taken>)> {
    let is_full = |t: &Taken| t.wanted == Wanted::Full;
    let at = taken.iter().rposition(is_full)?;
    let logs = taken.iter().skip(at).filter(|t| t.wanted == Wanted::Log);
    Some((taken.get(at)?.clone(), logs.cloned().collect()))
}
