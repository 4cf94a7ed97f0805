//! DBCC SHRINKFILE to a size: what lies at the end of a file moves to the front, and the file is cut.
//!
//! # Steps of a data file
//! 1. A ceiling at the target: nothing is handed out above it (`space::shrink`).
//! 2. Each index with pages above it is rebuilt, in a transaction of its own, as for EMPTYFILE: its new pages
//!    lie below. If it does not fit there a second time, the ceiling is raised for it as far as necessary. An
//!    index that fits nowhere before the end stays, and so does the catalog. If another session needs the
//!    space meanwhile, the ceiling is removed and nothing more is moved.
//! 3. The file ends at its last extent in use, or at the target. A checkpoint follows, and then the space
//!    behind the end is returned to the disk.
//!
//! # Steps of the log
//! A checkpoint frees the log that is no longer needed. If the log ends in the part to remove, it continues
//! in a virtual log file at the front, and another checkpoint follows. Then unused virtual log files are
//! removed from the end of the file.
//!
//! Whatever moment a crash chooses, each index is where it was or where it is to be, and a file is at most
//! longer than its header says.

use super::empty::cannot_find;
use crate::database::{Database, Session};
use crate::files::FileEntry;
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_log::Kept;
use furrow_messages::Message;
use furrow_observe::task::{self, Task};
use furrow_tables::EngineError;
use furrow_tables::{Index, Table};
use std::sync::Arc;

/// No data file becomes smaller than this: 512 KB, as of 5174.
const LEAST_PAGES: u32 = 64;

/// What is to be done with a file; targets are in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shrink {
    /// Move what lies behind the target, then cut; without a target, to the size that the file was made with.
    Full(Option<u64>),
    /// NOTRUNCATE: move only.
    Move(Option<u64>),
    /// TRUNCATEONLY: cut only, at the last extent in use.
    Cut,
}

impl Shrink {
    fn target(self) -> Option<u64> {
        match self {
            Shrink::Full(target) | Shrink::Move(target) => target.filter(|&pages| pages > 0),
            Shrink::Cut => None,
        }
    }
}

/// What a file is like after it was to become smaller, in pages: a row of DBCC SHRINKFILE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk {
    /// The file.
    pub file: FileId,
    /// Its size before.
    pub was_pages: u64,
    /// Its size.
    pub size_pages: u64,
    /// The smallest size that it had.
    pub least_pages: u64,
    /// In use.
    pub used_pages: u64,
    /// What it could be shrunk to.
    pub estimated_pages: u64,
    /// Why it did not become smaller, or not as small as it was to be.
    pub reported: Vec<Message>,
}

/// An index that is to move, or all of a table.
struct Piece {
    table: Arc<Table>,
    /// `None`: the whole table.
    index: Option<String>,
    /// What its pages take.
    bytes: u64,
}

impl Database {
    /// DBCC SHRINKFILE without EMPTYFILE, of a data file or the log. Others work on, but wait for the
    /// tables that are being moved.
    pub fn shrink_file(
        self: &Arc<Database>,
        name: &str,
        how: Shrink,
    ) -> Result<Shrunk, EngineError> {
        self.check_changes()?;
        let log = self.keeper.log_entry();
        if log.name.to_lowercase() == name.to_lowercase() {
            return self.shrink_log(how);
        }
        let entry = self.files.named(name);
        let entry = entry.ok_or_else(|| cannot_find(self, name))?;
        self.file_may_change(&entry)?;
        let was_pages = self.file_size_pages(entry.id);
        let Some(_alone) = self.files.shrinking.try_lock() else {
            let args = [entry.id.0.into(), self.id().0.into()];
            return self.shrunk(&entry, was_pages, vec![Message::new(5240, &args)]);
        };
        self.files.not_backed_up()?;
        let target = match how.target() {
            Some(pages) => u32::try_from(pages).unwrap_or(u32::MAX),
            None => self.space.least_size(entry.id)?,
        };
        if target > was_pages && how != Shrink::Cut {
            let kb = |pages: u32| i64::from(pages) * 8;
            let args = [
                entry.id.0.into(),
                self.id().0.into(),
                kb(target).into(),
                kb(was_pages).into(),
            ];
            return self.shrunk(&entry, was_pages, vec![Message::new(5241, &args)]);
        }
        let target = target.max(LEAST_PAGES);
        if how != Shrink::Cut {
            self.move_below(&entry, target)?;
        }
        match how {
            Shrink::Full(_) => self.cut_file(&entry, target)?,
            Shrink::Cut => self.cut_file(&entry, LEAST_PAGES)?,
            Shrink::Move(_) => {}
        }
        self.shrunk(&entry, was_pages, Vec::new())
    }

    /// The row of DBCC SHRINKFILE for a data file.
    pub fn shrink_state(&self, file: FileId) -> Result<Shrunk, EngineError> {
        let files = self.files.files();
        let entry = files.iter().find(|f| f.id == file);
        let entry = entry.ok_or_else(|| cannot_find(self, &file.to_string()))?;
        self.shrunk(entry, self.file_size_pages(file), Vec::new())
    }

    fn shrunk(
        &self,
        entry: &FileEntry,
        was_pages: u32,
        reported: Vec<Message>,
    ) -> Result<Shrunk, EngineError> {
        let usage = self.space.usage()?;
        let usage = usage.iter().find(|f| f.file == entry.id);
        let used = usage.map_or(0, |f| f.allocated_extents * u64::from(EXTENT_PAGES));
        Ok(Shrunk {
            file: entry.id,
            was_pages: u64::from(was_pages),
            size_pages: usage.map_or(0, |f| u64::from(f.size_pages)),
            least_pages: u64::from(self.space.least_size(entry.id)?),
            used_pages: used,
            estimated_pages: used,
            reported,
        })
    }

    /// Moves what it can of what lies at or behind page `target` to the part before it.
    fn move_below(self: &Arc<Database>, file: &FileEntry, target: u32) -> Result<(), EngineError> {
        if self.space.used_end(file.id)? <= target {
            return Ok(());
        }
        self.space.set_ceiling(file.id, target)?;
        let moved = self.move_tables(file, target);
        self.space.lift_ceiling(file.id)?;
        moved
    }

    fn move_tables(self: &Arc<Database>, file: &FileEntry, target: u32) -> Result<(), EngineError> {
        let task = task::current();
        let moved = self.move_them(file, target, &task);
        task.set_progress(0.0);
        moved
    }

    fn move_them(
        self: &Arc<Database>,
        file: &FileEntry,
        target: u32,
        task: &Task,
    ) -> Result<(), EngineError> {
        let mut session = Session::new(self)?;
        let list = self.list_below(file, target)?;
        let all: u64 = list.iter().map(|piece| piece.bytes).sum();
        let mut seen = 0;
        for Piece {
            table,
            index,
            bytes,
        } in &list
        {
            if !self.space.has_ceiling(file.id)? {
                return Ok(());
            }
            task.set_progress((seen as f64 / all.max(1) as f64 * 100.0) as f32);
            seen += bytes;
            if !self.make_place(table, index.as_deref(), (file, target))? {
                continue;
            }
            match session.rebuild(table.schema(), table.name(), index.as_deref()) {
                // It was dropped meanwhile.
                Err(e) if matches!(e.number(), 4902 | 7999) => {}
                other => {
                    other?;
                    self.shrink_bytes.fetch_add(*bytes, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// What is to move, of all tables.
    fn list_below(&self, file: &FileEntry, target: u32) -> Result<Vec<Piece>, EngineError> {
        let mut list = Vec::new();
        for table in self.catalog.tables() {
            let indexes = match self.to_move_below(&table, file, target) {
                // It was dropped meanwhile, and its maps with it.
                Err(_) if self.catalog.table_by_id(table.id()).is_none() => continue,
                found => found?,
            };
            for index in indexes {
                let bytes = self.bytes_of(&table, index.as_deref())?;
                list.push(Piece {
                    table: Arc::clone(&table),
                    index,
                    bytes,
                });
            }
        }
        Ok(list)
    }

    /// Bytes of the pages of an index, or of all of a table.
    fn bytes_of(&self, table: &Table, index: Option<&str>) -> Result<u64, EngineError> {
        let mut pages = 0;
        let wanted = |i: &&Index| index.is_none_or(|name| i.name() == name);
        for index in table.indexes().iter().filter(wanted) {
            pages += self.space.page_counts(index.rowset().unit())?.data;
        }
        Ok(pages * PAGE_SIZE as u64)
    }

    /// Sets the ceiling where a second copy of an index, or of all of a table, fits below it: at the
    /// target, or as little above it as will do. `false` when there is no such place before the end of what
    /// is in use.
    fn make_place(
        &self,
        table: &Table,
        index: Option<&str>,
        (file, target): (&FileEntry, u32),
    ) -> Result<bool, EngineError> {
        let wanted = self.extents_of(table, index, file.filegroup)?;
        let end = self.space.used_end(file.id)?;
        let mut ceiling = target;
        while ceiling < end {
            self.space.set_ceiling(file.id, ceiling)?;
            let free = self.free_in_group(file.filegroup);
            let Some(lacking) = wanted.checked_sub(free).filter(|&n| n > 0) else {
                return Ok(true);
            };
            let lacking = u32::try_from(lacking).unwrap_or(u32::MAX);
            ceiling = ceiling.saturating_add(lacking.saturating_mul(EXTENT_PAGES));
        }
        self.space.set_ceiling(file.id, target)?;
        Ok(false)
    }

    /// The indexes of a table that reach behind the target; `None` is the whole table.
    fn to_move_below(
        &self,
        table: &Table,
        file: &FileEntry,
        target: u32,
    ) -> Result<Vec<Option<String>>, EngineError> {
        let mut moved = Vec::new();
        for index in table.indexes() {
            let unit = index.rowset().unit();
            if !self.space.reaches(unit, file.id, target)? {
                continue;
            }
            match index.id() <= 1 {
                true => return Ok(vec![None]),
                false => moved.push(Some(index.name().to_owned())),
            }
        }
        Ok(moved)
    }

    /// Extents that a copy of an index, or of all of a table, takes in a filegroup; one for its map.
    fn extents_of(
        &self,
        table: &Table,
        index: Option<&str>,
        filegroup: u16,
    ) -> Result<u64, EngineError> {
        let mut extents = 1;
        let wanted = |i: &&Index| index.is_none_or(|name| i.name() == name);
        for index in table.indexes().iter().filter(wanted) {
            let unit = index.rowset().unit();
            if unit.filegroup() == filegroup {
                extents += self.space.page_counts(unit)?.reserved / u64::from(EXTENT_PAGES);
            }
        }
        Ok(extents)
    }

    /// Extents that the files of a filegroup have to hand out.
    fn free_in_group(&self, filegroup: u16) -> u64 {
        let files = self.files.files();
        let here = |id: FileId| files.iter().any(|f| f.id == id && f.filegroup == filegroup);
        let free = self.space.free_extents();
        free.iter().filter(|f| here(f.0)).map(|f| f.1).sum()
    }

    /// Ends the file at its last extent in use, or at page `least`.
    fn cut_file(&self, file: &FileEntry, least: u32) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let _turn = self.files.turn_to_change()?;
        self.space.cut(file.id, least)?;
        // No record of a page behind the end may be redone once it is gone.
        if !mutated(Mutation::CutEarly) {
            self.checkpoint()?;
        }
        Ok(self.space.release_tail(file.id)?)
    }

    /// Releases what a shrink has cut off that a crash, a cancel or a failed checkpoint ended before its last
    /// step. To be called after the checkpoint of a recovery; the snapshots of the database are bound.
    pub(crate) fn release_tails(&self) {
        for file in self.files.files() {
            if let Err(error) = self.space.release_tail(file.id) {
                // The file is longer than it needs to be, which does no harm; the next start tries again.
                tracing::warn!(database = self.id().0, file = file.id.0, %error, "a tail stays");
            }
        }
    }

    fn shrink_log(self: &Arc<Database>, how: Shrink) -> Result<Shrunk, EngineError> {
        let _entered = self.shared.enter();
        let _turn = self.files.turn_to_change()?;
        let log = self.store.log();
        let was_pages = self.log_pages()?;
        let target = how.target().unwrap_or(0).saturating_mul(PAGE_SIZE as u64);
        let mut reported = Vec::new();
        // NOTRUNCATE leaves log files as they are.
        if !matches!(how, Shrink::Move(_)) {
            self.checkpoint()?;
            let mut kept = log.cut(target)?;
            if kept == Kept::InUse && target > 0 && log.turn_back(target)? {
                self.checkpoint()?;
                kept = log.cut(target)?;
            }
            self.keeper.log_resized.store(true, Ordering::Release);
            self.note_log_size()?;
            if target > 0 {
                reported.extend(self.why_kept(kept, target));
            }
        }
        let size_pages = self.log_pages()?;
        // As with data files, whole extents are spoken of.
        let whole = u64::from(EXTENT_PAGES);
        Ok(Shrunk {
            file: FileId(2),
            was_pages,
            size_pages,
            least_pages: size_pages,
            used_pages: size_pages / whole * whole,
            estimated_pages: size_pages / whole * whole,
            reported,
        })
    }

    fn log_pages(&self) -> Result<u64, EngineError> {
        Ok(self.store.log().file().len_bytes()? / PAGE_SIZE as u64)
    }

    /// The message about a log that could not be cut at its target.
    fn why_kept(&self, kept: Kept, target: u64) -> Option<Message> {
        let name = self.keeper.log_entry().name;
        let file = || [2.into(), name.as_str().into()];
        let [id, name] = file();
        match kept {
            Kept::Nothing => None,
            Kept::InUse => Some(Message::new(9008, &file())),
            Kept::FewVlfs => Some(Message::new(9006, &[id, name, 2.into()])),
            Kept::Larger => {
                let kb = i64::try_from(target / 1024).unwrap_or(i64::MAX);
                Some(Message::new(9007, &[id, name, kb.into()]))
            }
            Kept::Promised => Some(Message::new(9009, &file())),
        }
    }
}
