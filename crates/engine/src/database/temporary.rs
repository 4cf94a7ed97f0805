//! A temporary database: `tempdb`.
//!
//! # Invariants
//! 1. Nothing that it holds is read after a restart. So a commit does not wait for its log, no file of it is
//!    synced, a page may be written before its log record, and it has no double-write files. A checkpoint
//!    writes no page: it only lets the log before the oldest active transaction be reused.
//! 2. The instance's list holds its *layout*: the files that it is made of, with the sizes that a statement
//!    gave them. A start deletes what is left of its files and creates them by the layout. Growth by itself
//!    does not change the layout; ALTER DATABASE does.
//! 3. A crash between the creation of a new file and the change of the layout leaves a file that the next
//!    start does not use.
use super::Database;
use crate::files::FilePlan;
use furrow_tables::EngineError;

impl Database {
    /// Whether it is created at each start.
    pub fn is_temporary(&self) -> bool {
        self.layout.is_some()
    }

    /// Changes the layout of a temporary database, durably; of any other there is none to change. No lock of
    /// the database is held.
    pub(crate) fn change_layout(
        &self,
        change: impl FnOnce(&mut Vec<FilePlan>),
    ) -> Result<(), EngineError> {
        let Some(layout) = &self.layout else {
            return Ok(());
        };
        let mut list = self.shared.list.lock();
        let mut files = layout.lock();
        change(&mut files);
        files.sort_by_key(|file| file.id);
        let (id, paths) = (self.id.0, self.all_paths());
        list.change(|all| {
            for listed in all.iter_mut().filter(|listed| listed.id == id) {
                listed.paths.clone_from(&paths);
                listed.layout.clone_from(&files);
            }
        })?;
        Ok(())
    }
}
