//! The files of an instance.

use super::{FileSnapshot, FileStats};
use furrow_io::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The statistics of all open files of an instance, by database and file number.
#[derive(Debug, Default)]
pub struct FileTable {
    files: Mutex<BTreeMap<(u16, u16), Arc<FileStats>>>,
}

impl FileTable {
    /// Statistics for a file that is being opened: new ones, all zero.
    pub fn open(&self, db: u16, file: u16, path: &str) -> Arc<FileStats> {
        let stats = Arc::new(FileStats::new(db, file, path));
        self.files.lock().insert((db, file), Arc::clone(&stats));
        stats
    }

    /// Removes a file that was closed or dropped.
    pub fn close(&self, db: u16, file: u16) {
        self.files.lock().remove(&(db, file));
    }

    /// Removes all files of a database.
    pub fn close_database(&self, db: u16) {
        self.files.lock().retain(|(of, _), _| *of != db);
    }

    /// The statistics of one file.
    pub fn get(&self, db: u16, file: u16) -> Option<Arc<FileStats>> {
        self.files.lock().get(&(db, file)).cloned()
    }

    /// The statistics of the open files: of one database or file, or of all where `None`.
    pub fn list(&self, db: Option<u16>, file: Option<u16>) -> Vec<Arc<FileStats>> {
        let wanted =
            |key: &(u16, u16)| db.is_none_or(|db| db == key.0) && file.is_none_or(|f| f == key.1);
        let files = self.files.lock();
        files
            .iter()
            .filter(|(key, _)| wanted(key))
            .map(|(_, stats)| Arc::clone(stats))
            .collect()
    }

    /// Snapshots of all open files, by database and file number.
    pub fn snapshot(&self) -> Vec<FileSnapshot> {
        self.list(None, None)
            .iter()
            .map(|stats| stats.snapshot())
            .collect()
    }

    /// What happened from `earlier` to `later`, for the files that are in `later`.
    pub fn delta(earlier: &[FileSnapshot], later: &[FileSnapshot]) -> Vec<FileSnapshot> {
        let of = |new: &FileSnapshot| {
            earlier
                .iter()
                .find(|old| (old.db, old.file, &old.path) == (new.db, new.file, &new.path))
        };
        let since = |new| {
            of(new).map_or_else(
                || FileSnapshot::clone(new),
                |old| FileSnapshot::delta(old, new),
            )
        };
        later.iter().map(since).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::IoKind;
    use super::*;

    #[test]
    fn files_are_listed_by_database_and_number_while_open() {
        let table = FileTable::default();
        for (db, file) in [(6, 1), (5, 3), (5, 1)] {
            table.open(db, file, &format!("{db}-{file}"));
        }
        let keys = |db, file| -> Vec<(u16, u16)> {
            table
                .list(db, file)
                .iter()
                .map(|stats| (stats.db(), stats.file()))
                .collect()
        };
        assert_eq!(keys(None, None), [(5, 1), (5, 3), (6, 1)]);
        assert_eq!(keys(Some(5), None), [(5, 1), (5, 3)]);
        assert_eq!(keys(None, Some(1)), [(5, 1), (6, 1)]);
        table.close(5, 3);
        assert!(table.get(5, 3).is_none());
        table.close_database(5);
        assert_eq!(keys(None, None), [(6, 1)]);
    }

    #[test]
    fn a_file_that_came_in_between_counts_wholly() {
        let table = FileTable::default();
        table.open(5, 1, "a").record(IoKind::Read, 0, 100, 1, 0);
        let before = table.snapshot();
        table.get(5, 1).unwrap().record(IoKind::Read, 0, 11, 1, 0);
        table.open(5, 3, "b").record(IoKind::Read, 0, 22, 1, 0);
        let delta = FileTable::delta(&before, &table.snapshot());
        let bytes: Vec<u64> = delta.iter().map(|file| file.reads.bytes).collect();
        assert_eq!(bytes, [11, 22]);
    }
}
