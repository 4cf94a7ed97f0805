//! DBCC SHRINKFILE ... EMPTYFILE: a file's pages go to the other files of its filegroup.
//!
//! # Steps
//! 1. The file is closed: nothing is allocated in it any more.
//! 2. Each index with pages there is rebuilt, in a transaction of its own: its new pages lie in the other
//!    files, and its old ones are freed when the transaction has committed. A heap, or a clustered index,
//!    takes its nonclustered indexes along.
//! 3. The file is empty. Otherwise it is opened again and 2555 is reported: the catalog's pages do not move.
//!
//! A crash leaves each index where it was, or where it is to be. The file stays closed until the database is
//! opened again, or the file is removed.

use crate::database::{Database, Session};
use crate::files::FileEntry;
use furrow_format::FileId;
use furrow_tables::EngineError;
use furrow_tables::{Index, Table};
use std::sync::Arc;

impl Database {
    /// DBCC SHRINKFILE with EMPTYFILE. Others work on, but wait for the tables that are being moved.
    pub fn empty_file(self: &Arc<Database>, name: &str) -> Result<(), EngineError> {
        self.check_changes()?;
        let Some(entry) = self.files.named(name) else {
            return Err(self.not_emptied(name, 8985));
        };
        let alone = |other: &FileEntry| other.filegroup == entry.filegroup && other.id != entry.id;
        if entry.id == FileId(1) || !self.files.files().iter().any(alone) {
            return Err(self.not_emptied(name, 2555));
        }
        self.file_may_change(&entry)?;
        self.space.set_closed(entry.id, true)?;
        let mut empty = self.move_out(&entry, false);
        // Maps of tables whose rows lie elsewhere may be what is left.
        if matches!(empty, Ok(false)) {
            empty = self.move_out(&entry, true);
        }
        let empty = empty.and_then(|empty| match empty {
            true => Ok(()),
            false => Err(self.not_emptied(name, 2555)),
        });
        if empty.is_err() {
            self.space.set_closed(entry.id, false)?;
        }
        empty
    }

    fn not_emptied(&self, name: &str, number: u32) -> EngineError {
        match number {
            8985 => cannot_find(self, name),
            _ => EngineError::refused(number, &[name.into()]),
        }
    }

    /// Rebuilds what has pages in a file, or all of its filegroup; gives whether the file is empty then.
    fn move_out(self: &Arc<Database>, file: &FileEntry, all: bool) -> Result<bool, EngineError> {
        let mut session = Session::new(self)?;
        for table in self.catalog.tables() {
            let in_group = |i: &Index| i.rowset().unit().filegroup() == file.filegroup;
            if !table.indexes().iter().any(in_group) {
                continue;
            }
            let moved = match all {
                true => vec![None],
                false => self.to_move(&table, file.id)?,
            };
            for index in moved {
                EngineError::check_cancelled()?;
                let rebuilt = session.rebuild(table.schema(), table.name(), index.as_deref());
                match rebuilt {
                    // It was dropped meanwhile.
                    Err(e) if matches!(e.number(), 4902 | 7999) => {}
                    other => drop(other?),
                }
            }
        }
        Ok(self.space.is_file_empty(file.id)?)
    }

    /// The indexes of a table that have pages in a file; `None` is the whole table.
    fn to_move(&self, table: &Table, file: FileId) -> Result<Vec<Option<String>>, EngineError> {
        let mut moved = Vec::new();
        for index in table.indexes() {
            let unit = index.rowset().unit();
            let walks = self.space.walks_by_file(unit)?;
            let there = walks.iter().any(|(id, _)| *id == file) || unit.first_iam().file == file;
            match (there, index.id() <= 1) {
                (true, true) => return Ok(vec![None]),
                (true, false) => moved.push(Some(index.name().to_owned())),
                (false, _) => {}
            }
        }
        Ok(moved)
    }
}

/// 8985: there is no such file.
pub(crate) fn cannot_find(db: &Database, name: &str) -> EngineError {
    EngineError::refused(8985, &[name.into(), db.name().into()])
}
