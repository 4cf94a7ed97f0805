//! What the experiment asks of an engine, so that it can be driven against any, and tested without one.

use super::options::Layout;
use furrow_io::Volume;
use furrow_observe::files::FileSnapshot;
use furrow_observe::latches::LatchRow;
use furrow_observe::spinlocks::SpinRow;
use furrow_observe::waits::WaitSnapshot;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The database of one run.
#[derive(Debug, Clone)]
pub struct DatabaseShape {
    /// Its name.
    pub name: String,
    /// Its data files, the primary one first.
    pub data: Vec<PathBuf>,
    /// Bytes of each data file.
    pub file_bytes: u64,
    /// Its log.
    pub log: PathBuf,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the buffer pool.
    pub pool_bytes: u64,
    /// The table.
    pub layout: Layout,
}

/// Everything an engine counts, since it was started.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Waits of all tasks.
    pub waits: Option<WaitSnapshot>,
    /// Latch classes.
    pub latches: Vec<LatchRow>,
    /// Spinlock classes.
    pub spinlocks: Vec<SpinRow>,
    /// Files of the database.
    pub files: Vec<FileSnapshot>,
}

/// The few figures that are looked at ten times a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Checkpoints that ended.
    pub checkpoints: u64,
    /// Pages that checkpoints wrote.
    pub checkpoint_pages: u64,
    /// Pages written to make room in the pool.
    pub lazy_pages: u64,
    /// Bytes of each data file, by place.
    pub sizes: Vec<u64>,
    /// Free extents of each data file, by file id; empty where the engine doesn't tell.
    pub free_extents: Vec<(u32, u64)>,
}

/// An engine that runs the load. Errors are sentences: they end up in the journal.
pub trait Target: Debug {
    /// Where it lies, for the report: `embedded`.
    fn name(&self) -> String;

    /// Every path that [`Target::create`] will make, so that it can be claimed before.
    fn paths(&self, shape: &DatabaseShape) -> Vec<PathBuf>;

    /// Bytes beside the data files and the log, for each data file.
    fn extra_bytes_per_file(&self) -> u64;

    /// Makes the database and its table.
    fn create(&mut self, volume: &Arc<dyn Volume>, shape: &DatabaseShape) -> Result<(), String>;

    /// A session; `place` counts from 0.
    fn connect(&self, place: u32) -> Result<Box<dyn Connection>, String>;

    /// What it has counted so far.
    fn counters(&self) -> Counters;

    /// The part of it that moves during a run.
    fn pulse(&self) -> Pulse;

    /// Rows of the table, counted by reading it.
    fn count_rows(&self) -> Result<u64, String>;

    /// Closes the database; no error when there is none. Its files may stay: the lab removes them.
    fn close(&mut self) -> Result<(), String>;
}

/// One session of the load, used by one thread.
pub trait Connection: Send {
    /// Inserts this many rows as one transaction, durable on return.
    fn insert(&mut self, rows: u64) -> Result<(), String>;

    /// Waits of this session so far.
    fn waits(&self) -> Option<WaitSnapshot>;
}

/// Where the files of a run lie: data files dealt to the volumes in turn, the log on the first.
pub(crate) fn place_files(
    directories: &[PathBuf],
    files: u64,
) -> (Vec<(PathBuf, PathBuf)>, (PathBuf, PathBuf)) {
    let here = PathBuf::from(".");
    let directory = |place: usize| {
        directories
            .get(place % directories.len().max(1))
            .unwrap_or(&here)
    };
    let data = (0..files as usize).map(|n| {
        let name = if n == 0 {
            "data1.mdf".to_string()
        } else {
            format!("data{}.ndf", n + 1)
        };
        (directory(n).clone(), directory(n).join(name))
    });
    let log = (directory(0).clone(), directory(0).join("log.ldf"));
    (data.collect(), log)
}

/// The volume that a path lies on, as the user gave it.
pub(super) fn volume_of(path: &Path, volumes: &[PathBuf]) -> String {
    let longest = volumes
        .iter()
        .filter(|v| path.starts_with(v))
        .max_by_key(|v| v.as_os_str().len());
    longest.map_or_else(String::new, |v| v.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_dealt_to_the_volumes_in_turn() {
        let volumes = [PathBuf::from("/a"), PathBuf::from("/b")];
        let (data, log) = place_files(&volumes, 3);
        let paths: Vec<String> = data
            .iter()
            .map(|(_, path)| path.display().to_string())
            .collect();
        assert_eq!(paths, ["/a/data1.mdf", "/b/data2.ndf", "/a/data3.ndf"]);
        assert_eq!(log.1, PathBuf::from("/a/log.ldf"));
        assert_eq!(volume_of(&data[1].1, &volumes), "/b");
        assert_eq!(volume_of(Path::new("/c/x"), &volumes), "");
    }
}
