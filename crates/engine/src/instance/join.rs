//! Files of a piece join the open database: see the module `piece`.

use crate::database::Database;
use crate::files::{FileEntry, FilePlan, Guarded};
use furrow_format::{
    FileHeader, FileHeaderError, FileId, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, PageId, PageNo,
    dcm_page_of, set_map_word,
};
use furrow_pool::LatchRank;
use furrow_recovery::stamp_new_file;
use furrow_tables::EngineError;
use furrow_txn::Store;
use furrow_types::Guid;
use std::sync::Arc;

/// Files that are ready to join, with what the open database has to know of them.
pub(super) type Ready = Vec<(FilePlan, Guarded)>;

/// Redo of page 0 may have put the binding of the database that was backed up back.
pub(super) fn rebind(store: &Store, file: FileId, binding: Guid) -> Result<(), EngineError> {
    let page = PageNo(0);
    let mut page = store.write(PageId { file, page }, LatchRank::FileHeader)?;
    let bad = |e: FileHeaderError| EngineError::Damaged(e.to_string());
    page.begin_change();
    FileHeader::set_binding(&mut page, binding).map_err(bad)
}

/// No differential backup can leave out what a file was restored from: all of its extents have changed, and
/// the pages of its changed-extent maps say so. Not logged: the checkpoint writes them before it joins.
pub(super) fn count_as_changed(store: &Store, file: FileId, pages: u64) -> Result<(), EngineError> {
    let pages = u32::try_from(pages).unwrap_or(u32::MAX);
    for start in (0..pages).step_by(GAM_INTERVAL as usize).map(PageNo) {
        let page = dcm_page_of(start);
        let id = PageId { file, page };
        if page.0 >= pages {
            continue;
        }
        let mut page = store.write(id, LatchRank::ChangeMap)?;
        page.begin_change();
        let words = GAM_INTERVAL_EXTENTS.div_ceil(64) as usize;
        let mut sound = true;
        for index in 0..words {
            // The last word has fewer extents than bits.
            let behind = (index as u32 * 64 + 64).saturating_sub(GAM_INTERVAL_EXTENTS);
            sound &= set_map_word(&mut page, index, u64::MAX >> behind);
        }
        if !sound {
            let text = format!("page {id} is no changed-extent map");
            return Err(EngineError::Damaged(text));
        }
    }
    Ok(())
}

impl Database {
    /// Makes files known to the pool, and their headers name a checkpoint that is not behind the last one.
    pub(super) fn register(&self, ready: &Ready) -> Result<(), EngineError> {
        let mut known: Vec<u16> = Vec::new();
        let registered = self.keeper.between_checkpoints(|| {
            for (plan, data) in ready {
                let id = FileId(plan.id);
                self.registration.add_file(id, data)?;
                known.push(plan.id);
                self.store.changed.forget(id);
                stamp_new_file(&self.store, id)?;
            }
            Ok(())
        });
        registered.inspect_err(|_: &EngineError| self.unregister(&known))
    }

    /// Writes the paths of files to the catalog, durably.
    pub(super) fn note_places_of(&self, ready: &Ready) -> Result<(), EngineError> {
        for (plan, _) in ready {
            self.note_path(FileId(plan.id), &plan.path)?;
        }
        Ok(self.store.log().flush_all()?)
    }

    /// Makes the pool forget files that have not joined. A checkpoint under way would miss them.
    pub(super) fn unregister(&self, files: &[u16]) {
        self.keeper.between_checkpoints(|| {
            for id in files {
                let _ = self.registration.remove_file(FileId(*id));
            }
        });
    }

    /// Files that were absent join the space, and their filegroups are online.
    pub(super) fn take_back(&self, ready: &Ready) -> Result<(), EngineError> {
        let _turn = self.files.turn.lock();
        let absent = self.files.absent();
        let ids: Vec<u16> = ready.iter().map(|(plan, _)| plan.id).collect();
        self.files.forget_absent(&ids);
        let mut groups: Vec<u16> = Vec::new();
        for (plan, data) in ready {
            let id = FileId(plan.id);
            let known = absent.iter().find(|entry| entry.plan.id == plan.id);
            let known = known.ok_or_else(|| {
                EngineError::Damaged(format!("file {id} is restored and not in the catalog"))
            })?;
            let entry = FileEntry {
                id,
                filegroup: plan.filegroup,
                name: known.plan.name.clone(),
                path: plan.path.clone(),
                max_pages: known.plan.max_pages,
                growth: known.plan.growth,
                guid: known.guid,
                file: Arc::clone(&data.file),
                next_path: None,
            };
            self.space.add_file(&entry.for_space(0))?;
            self.files.put(entry);
            // No differential backup can leave out what it was restored from.
            let pages = self.file_size_pages(id);
            for start in (0..pages).step_by(GAM_INTERVAL as usize).map(PageNo) {
                let page = dcm_page_of(start);
                self.store.changed.lose(PageId { file: id, page });
            }
            groups.push(plan.filegroup);
        }
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let waiting = self.catalog.waiting_units(group)?;
            self.space.set_offline(group, false);
            self.catalog.after_online(group, &waiting)?;
        }
        Ok(())
    }
}
