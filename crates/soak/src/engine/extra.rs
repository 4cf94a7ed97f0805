//! Operations of small worlds on a database, besides rows: indexes, sizes, removal of files, other
//! directories.

use super::session::table_name;
use super::{EngineStore, failure, in_volume};
use crate::subject::Failure;
use furrow_engine::{AttachOptions, FileChange, IndexSpec, Session, Shrink};
use std::sync::Arc;

/// The index that worlds make and drop.
const EXTRA_INDEX: &str = "extra";

impl EngineStore {
    fn statement<T>(
        &self,
        body: impl FnOnce(&mut Session) -> Result<T, furrow_engine::EngineError>,
    ) -> Result<(), Failure> {
        let mut session = Session::new(&self.db).map_err(failure)?;
        body(&mut session).map(|_| ()).map_err(failure)
    }

    /// Builds one more index on a table that has rows.
    pub(crate) fn build_index(&self, table: u16) -> Result<(), Failure> {
        let index = IndexSpec::new(EXTRA_INDEX, ["version"]).include(&["text"]);
        self.statement(|session| session.create_index(&table_name(table), &index))
    }

    /// Drops it.
    pub(crate) fn drop_index(&self, table: u16) -> Result<(), Failure> {
        self.statement(|session| session.drop_index(&table_name(table), EXTRA_INDEX))
    }

    /// Rebuilds a table and all its indexes.
    pub(crate) fn rebuild(&self, table: u16) -> Result<(), Failure> {
        self.statement(|session| session.rebuild("dbo", &table_name(table), None))
    }

    /// Makes a data file larger by so many KB.
    pub(crate) fn enlarge(&self, file: &str, by_kb: u64) -> Result<(), Failure> {
        let files = self.db.file_list().map_err(failure)?;
        let now = files.iter().find(|view| view.name == file);
        let now_kb = now.map_or(0, |view| view.size_pages * 8);
        let change = FileChange {
            size_kb: Some(now_kb + by_kb),
            ..FileChange::default()
        };
        self.db.modify_file(file, &change).map_err(failure)
    }

    /// Makes a file smaller, to so many KB if that can be.
    pub(crate) fn shrink(&self, file: &str, to_kb: u64) -> Result<(), Failure> {
        let how = Shrink::Full(Some(to_kb / 8));
        self.db.shrink_file(file, how).map(drop).map_err(failure)
    }

    /// Moves all out of a file that was added, and removes it.
    pub(crate) fn remove_file(&self, number: u16) -> Result<(), Failure> {
        let name = format!("extra{number}");
        self.db.empty_file(&name).map_err(failure)?;
        self.db.remove_file(&name).map_err(failure)
    }

    /// Detaches the database and attaches it again.
    pub(crate) fn move_house(self) -> Result<EngineStore, Failure> {
        let EngineStore {
            instance,
            db,
            volume,
            home,
            layout,
        } = self;
        drop(db);
        instance.detach_database("soak").map_err(failure)?;
        let primary = in_volume(&home, 0, "primary.mdf");
        let db = instance.attach_database(&primary, &AttachOptions::default());
        let db = db.map_err(failure)?;
        Ok(EngineStore {
            instance: Arc::clone(&instance),
            db,
            volume,
            home,
            layout,
        })
    }
}
