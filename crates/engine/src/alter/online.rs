//! Files that come, change and go while the database is in use.

use crate::database::Database;
use crate::files::file_row;
use crate::files::{
    AbsentEntry, Asked, FileEntry, FileGrowth, FilePlan, FileSpec, FileStatus, Guarded, Made,
    check_free, double_write_path, plan_file, remove_own, round_growth,
};
use crate::opening::{birth, header_of};
use furrow_access::By;
use furrow_format::catalog::DatabaseFile;
use furrow_format::{Change, EXTENT_PAGES, FileHeader, FileId, PageId, PageNo};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_io::{Fill, random};
use furrow_messages::Message;
use furrow_pool::{LatchRank, double_write};
use furrow_recovery::stamp_new_file;
use furrow_space::{DataFile, FileState, SpaceError, new_file_pages};
use furrow_tables::EngineError;
use furrow_txn::{Author, Mini};
use furrow_types::{Guid, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of a file of which nothing was said, in KB.
const DEFAULT_KB: u64 = 1024;
/// State of 5170 in ADD FILE.
const TAKEN_STATE: u8 = 1;
/// More than a change of a file header writes to the log.
pub(crate) const HEADER_LOG_BYTES: u64 = 16 * 1024;

/// What MODIFY FILE changes; what is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// A larger size, in KB.
    pub size_kb: Option<u64>,
    /// Another limit, in KB; `Some(None)` takes the limit away.
    pub max_size_kb: Option<Option<u64>>,
    /// Another growth.
    pub growth: Option<FileGrowth>,
    /// Another logical name.
    pub new_name: Option<String>,
}

impl FileEntry {
    /// The file as the space takes it.
    pub(crate) fn for_space(&self, size_pages: u32) -> DataFile {
        DataFile {
            file_id: self.id,
            filegroup: self.filegroup,
            name: self.name.clone(),
            file: Arc::clone(&self.file),
            size_pages,
            max_pages: self.max_pages,
            growth: self.growth,
            state: FileState::Online,
        }
    }
}

fn not_initialised(state: u8) -> Message {
    Message::new(5009, &[]).with_state(state)
}

impl Database {
    /// ALTER DATABASE ADD FILE: to PRIMARY unless a filegroup is named.
    pub fn add_file(
        &self,
        spec: &FileSpec,
        filegroup: Option<&str>,
    ) -> Result<FileId, EngineError> {
        let _entered = self.shared.enter();
        let plan = self.make_and_add(spec, filegroup)?;
        let id = FileId(plan.id);
        self.change_layout(|files| files.push(plan))?;
        Ok(id)
    }

    fn make_and_add(
        &self,
        spec: &FileSpec,
        filegroup: Option<&str>,
    ) -> Result<FilePlan, EngineError> {
        self.must_be_writable()?;
        let _turn = self.files.turn_to_change()?;
        let plan = self.plan_new_file(spec, filegroup);
        let plan = plan.map_err(|e| e.followed_by(not_initialised(8)))?;
        for path in [plan.path.clone(), double_write_path(&plan.path)] {
            check_free(&*self.shared.volume, &path, TAKEN_STATE).map_err(|e| {
                if e.has(5170) {
                    e.after(not_initialised(1))
                } else {
                    refused(e)
                }
            })?;
        }
        let guid = Guid(random::guid_v4());
        let created = birth(&self.store);
        let first = match mutated(Mutation::FileNotMade) {
            true => FileStatus::Online,
            false => FileStatus::Defunct,
        };
        self.insert_row(&file_row(&plan, guid, first, created))?;
        let data = match self.make_file(&plan, guid) {
            Ok(data) => data,
            Err(error) => {
                self.delete_row(&file_row(&plan, guid, FileStatus::Defunct, created))?;
                return Err(refused(error.of_expansion()));
            }
        };
        let id = FileId(plan.id);
        // From here on the file stays: if this row does not become durable, the next open removes it.
        if let Err(error) = self.replace_row(&file_row(&plan, guid, FileStatus::Online, created)) {
            self.leave_checkpoints(id)?;
            return Err(error);
        }
        let entry = FileEntry {
            id,
            filegroup: plan.filegroup,
            name: plan.name.clone(),
            path: plan.path.clone(),
            max_pages: plan.max_pages,
            growth: plan.growth,
            guid,
            file: data.file,
            next_path: None,
        };
        self.space.add_file(&entry.for_space(plan.size_pages))?;
        // No checkpoint: it would write every file of the database for each one that is added.
        self.files.put(entry);
        Ok(plan)
    }

    fn plan_new_file(
        &self,
        spec: &FileSpec,
        filegroup: Option<&str>,
    ) -> Result<FilePlan, EngineError> {
        let group =
            match filegroup {
                None => 1,
                Some(name) => self.files.group_named(name).map(|g| g.0).ok_or_else(|| {
                    EngineError::refused(1921, &["filegroup".into(), name.into()])
                })?,
            };
        self.check_new_name(&spec.name, 4)?;
        let taken = self.files.paths().contains(&spec.path);
        if taken {
            let path = spec.path.display().to_string();
            return Err(EngineError::refused(12106, &[path.into()]));
        }
        self.group_takes_files(group)?;
        let id = self.files.free_id(self.removed_file()?);
        let id = id.ok_or_else(|| EngineError::refused(5033, &[32_767.into()]))?;
        plan_file(spec, (id, group), DEFAULT_KB, Asked::Add)
    }

    fn check_new_name(&self, name: &str, state: u8) -> Result<(), EngineError> {
        let of_log = self.keeper.log_entry().name.to_lowercase() == name.to_lowercase();
        let named = |f: &AbsentEntry| f.plan.name.to_lowercase() == name.to_lowercase();
        if of_log || self.files.named(name).is_some() || self.files.absent().iter().any(named) {
            let message = Message::new(1828, &[name.into()]).with_state(state);
            return Err(EngineError::of(message));
        }
        Ok(())
    }

    fn make_file(&self, plan: &FilePlan, guid: Guid) -> Result<Guarded, EngineError> {
        let mut made = match self.is_temporary() {
            true => Made::temporary(&*self.shared.volume),
            false => Made::new(&*self.shared.volume),
        };
        let data = made.data_file(&plan.path, TAKEN_STATE)?;
        self.store.changed.forget(FileId(plan.id));
        let header = header_of(plan, self.files.binding, guid, birth(&self.store));
        new_file_pages(&*data.file, &header, &[], self.shared.file_fill())?;
        // Whatever the disk refuses, it refuses before the file is there to stay.
        let guard_bytes = double_write::first_bytes(self.shared.config.double_write_pages);
        if let Some(double_write) = &data.double_write {
            double_write.resize(guard_bytes, Fill::Allocate)?;
        }
        self.join_checkpoints(FileId(plan.id), &data)?;
        made.keep();
        Ok(data)
    }

    /// Lets later checkpoints write a new file, and records the earlier ones in its header. The catalog may
    /// name it afterwards only: a file that it names and that lies behind a checkpoint is taken for an old
    /// copy at the next open.
    fn join_checkpoints(&self, id: FileId, data: &Guarded) -> Result<(), EngineError> {
        let joined = self.keeper.between_checkpoints(|| {
            self.registration.add_file(id, data)?;
            Ok(stamp_new_file(&self.store, id)?)
        });
        joined.inspect_err(|_| {
            // It may not have come so far.
            let _ = self.leave_checkpoints(id);
        })
    }

    /// Makes the pool forget a file. A checkpoint under way would miss it.
    fn leave_checkpoints(&self, id: FileId) -> Result<(), EngineError> {
        self.keeper
            .between_checkpoints(|| self.registration.remove_file(id))
    }

    /// ALTER DATABASE REMOVE FILE: the file must be empty (5042).
    pub fn remove_file(&self, name: &str) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let id = self.empty_and_remove(name)?;
        self.change_layout(|files| files.retain(|file| file.id != id.0))
    }

    fn empty_and_remove(&self, name: &str) -> Result<FileId, EngineError> {
        self.must_be_writable()?;
        self.refuse_with_snapshots()?;
        let _turn = self.files.turn_to_change()?;
        if self.keeper.log_entry().name.to_lowercase() == name.to_lowercase() {
            return Err(EngineError::refused(5020, &[]));
        }
        self.files.refuse_absent_file(name)?;
        let entry = self.files.named(name);
        let entry = entry.ok_or_else(|| EngineError::of(not_initialised(9)))?;
        if entry.id == FileId(1) {
            return Err(EngineError::refused(5020, &[]));
        }
        self.file_may_change(&entry)?;
        let last = self
            .files
            .files()
            .iter()
            .filter(|f| f.filegroup == entry.filegroup)
            .count()
            == 1;
        if last && self.files.default_group() == entry.filegroup {
            return Err(EngineError::refused(5031, &[name.into()]));
        }
        self.space.remove_file(entry.id).map_err(|e| match e {
            SpaceError::NotEmpty(_) => EngineError::refused(5042, &["file".into(), name.into()]),
            other => other.into(),
        })?;
        self.note_removed_file(entry.id)?;
        self.update_row(entry.id, |row| row.filestate = FileStatus::Defunct.code())?;
        // After this checkpoint no record of the file's pages is ever redone: its number may be used again.
        if !mutated(Mutation::RemoveEarly) {
            self.checkpoint()?;
        }
        self.leave_checkpoints(entry.id)?;
        self.files.remove(entry.id);
        let id = entry.id;
        let cleared = (id, entry.path.clone());
        drop(entry);
        self.clear_away(&[cleared])?;
        Ok(id)
    }

    /// Deletes a file that is ours; one that is not is left alone, and said.
    fn clear_file(&self, path: &Path) -> Result<(), EngineError> {
        if !remove_own(&*self.shared.volume, path, self.files.binding)? {
            let text = format!(
                "File '{}' is not of database '{}' any more; it is left where it is.",
                path.display(),
                self.name
            );
            self.error_log
                .write(furrow_observe::errorlog::Source::Server, &text);
        }
        Ok(())
    }

    /// Files that were being made or removed go, then their rows.
    pub(crate) fn clear_away(&self, defunct: &[(FileId, PathBuf)]) -> Result<(), EngineError> {
        for (id, path) in defunct {
            self.clear_file(path)?;
            for row in self
                .catalog
                .bases()
                .rows::<DatabaseFile>(&[Value::Int(i32::from(id.0))])?
            {
                self.delete_row(&row)?;
            }
        }
        Ok(())
    }

    /// ALTER DATABASE MODIFY FILE.
    pub fn modify_file(&self, name: &str, change: &FileChange) -> Result<(), EngineError> {
        let _entered = self.shared.enter();
        let (id, size_pages) = self.change_file(name, change)?;
        self.change_layout(|files| {
            for file in files.iter_mut().filter(|file| file.id == id.0) {
                file.size_pages = size_pages.unwrap_or(file.size_pages);
                self.describe(file);
            }
        })
    }

    /// Brings name, limit and growth of a file into a plan of it.
    fn describe(&self, plan: &mut FilePlan) {
        let log = self.keeper.log_entry();
        let files = self.files.files();
        let (name, max_pages, growth) = match files.into_iter().find(|f| f.id.0 == plan.id) {
            Some(file) => (file.name, file.max_pages, file.growth),
            None => (log.name, log.max_pages, log.growth),
        };
        plan.name = name;
        plan.max_pages = max_pages;
        plan.growth = growth;
    }

    /// Which file was changed, and its new size where it has one.
    fn change_file(
        &self,
        name: &str,
        change: &FileChange,
    ) -> Result<(FileId, Option<u32>), EngineError> {
        self.must_be_writable()?;
        let _turn = self.files.turn.lock();
        if *change == FileChange::default() {
            return Err(EngineError::refused(5038, &[name.into()]));
        }
        if let Some(new) = change
            .new_name
            .as_deref()
            .filter(|n| !n.eq_ignore_ascii_case(name))
        {
            self.check_new_name(new, 3)?;
        }
        if self.keeper.log_entry().name.to_lowercase() == name.to_lowercase() {
            return Ok((FileId(2), self.modify_log(change)?));
        }
        self.files.refuse_absent_file(name)?;
        let missing = || EngineError::refused(5041, &[name.into()]);
        let mut entry = self.files.named(name).ok_or_else(missing)?;
        self.file_may_change(&entry)?;
        let size_pages = self.file_size_pages(entry.id);
        let wanted = self.new_size(change, size_pages)?;
        entry.max_pages = new_limit(change, entry.max_pages, wanted.unwrap_or(size_pages))?;
        entry.growth = change.growth.map_or(entry.growth, round_growth);
        if let Some(new) = &change.new_name {
            entry.name.clone_from(new);
        }
        self.space
            .set_limits(entry.id, entry.max_pages, entry.growth)?;
        if let Some(pages) = wanted {
            self.space.grow_to(entry.id, pages)?;
        }
        self.rewrite_header(&entry)?;
        self.update_row(entry.id, |row| entry.fill_row(row))?;
        let id = entry.id;
        self.files.put(entry);
        Ok((id, wanted))
    }

    fn new_size(&self, change: &FileChange, now_pages: u32) -> Result<Option<u32>, EngineError> {
        let Some(kb) = change.size_kb else {
            return Ok(None);
        };
        let pages = u32::try_from(kb.div_ceil(64).saturating_mul(u64::from(EXTENT_PAGES)));
        let pages = pages.map_err(|_| EngineError::refused(1842, &[]))?;
        if pages <= now_pages {
            return Err(EngineError::refused(5039, &[]));
        }
        Ok(Some(pages))
    }

    fn modify_log(&self, change: &FileChange) -> Result<Option<u32>, EngineError> {
        let mut entry = self.keeper.log_entry();
        let bytes = self.store.log().file().len_bytes()?;
        let size_pages = u32::try_from(bytes / furrow_format::PAGE_SIZE as u64).unwrap_or(u32::MAX);
        let wanted = self.new_size(change, size_pages)?;
        entry.max_pages = new_limit(change, entry.max_pages, wanted.unwrap_or(size_pages))?;
        entry.growth = change.growth.map_or(entry.growth, round_growth);
        if let Some(new) = &change.new_name {
            entry.name.clone_from(new);
        }
        if let Some(pages) = wanted {
            let more = u64::from(pages - size_pages) * furrow_format::PAGE_SIZE as u64;
            self.store.log().grow(more)?;
            self.keeper.log_resized.store(true, Ordering::Release);
        }
        self.keeper.set_log_entry(entry.clone());
        self.update_row(FileId(2), |row| entry.fill_row(row))?;
        self.note_log_size()?;
        Ok(wanted)
    }

    /// Writes name, limit and growth into page 0 of a file.
    fn rewrite_header(&self, entry: &FileEntry) -> Result<(), EngineError> {
        self.store.promise(HEADER_LOG_BYTES)?;
        self.store.log().give_back(HEADER_LOG_BYTES);
        let id = PageId {
            file: entry.id,
            page: PageNo(0),
        };
        let page = self.store.write(id, LatchRank::FileHeader)?;
        let bad =
            |e: furrow_format::FileHeaderError| EngineError::Damaged(format!("page {id}: {e}"));
        let mut header = FileHeader::decode(&page).map_err(bad)?;
        header.name.clone_from(&entry.name);
        header.max_size_pages = entry.max_pages;
        header.growth = entry.growth;
        let record = header.updated_record(&page).map_err(bad)?;
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(page);
        mini.push(
            page,
            &Change::ReplaceRow {
                slot: 0,
                bytes: &record,
            },
        );
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// Logical name of a data file.
    pub(crate) fn file_name(&self, id: FileId) -> String {
        let files = self.files.files();
        let file = files.into_iter().find(|file| file.id == id);
        file.map_or_else(|| id.to_string(), |file| file.name)
    }

    /// Size of a data file as the space knows it; 0 for one that it does not know.
    pub(crate) fn file_size_pages(&self, id: FileId) -> u32 {
        let usage = self.space.usage().unwrap_or_default();
        usage
            .iter()
            .find(|f| f.file == id)
            .map_or(0, |f| f.size_pages)
    }

    /// The files that CREATE DATABASE made besides the primary join the space.
    pub(crate) fn join_other_files(
        &self,
        files: impl Iterator<Item = DataFile>,
    ) -> Result<(), EngineError> {
        for (id, group) in self.files.groups() {
            self.space.add_filegroup(group.spec(id));
        }
        for file in files {
            self.space.add_file(&file)?;
        }
        Ok(())
    }

    /// A file has grown: its row follows. An error leaves an old size there, which nothing relies on.
    pub(crate) fn note_size(&self, file: FileId, size_pages: u32) {
        let size = i32::try_from(size_pages).unwrap_or(i32::MAX);
        if let Err(error) = self.change_row(file, |row| row.size = size) {
            tracing::warn!(%error, file = file.0, "the catalog does not know a file's new size");
        }
    }

    /// The log has grown: its row follows.
    pub(crate) fn note_log_size(&self) -> Result<(), EngineError> {
        if self.keeper.log_resized.swap(false, Ordering::AcqRel) {
            let pages = self.store.log().file().len_bytes()? / furrow_format::PAGE_SIZE as u64;
            let size = i32::try_from(pages).unwrap_or(i32::MAX);
            self.change_row(FileId(2), |row| row.size = size)?;
        }
        Ok(())
    }

    fn insert_row(&self, row: &DatabaseFile) -> Result<(), EngineError> {
        self.catalog.bases().insert(&mut By::System, row)?;
        Ok(self.store.log().flush_all()?)
    }

    fn delete_row(&self, row: &DatabaseFile) -> Result<(), EngineError> {
        self.catalog.bases().delete(&mut By::System, row)?;
        Ok(self.store.log().flush_all()?)
    }

    fn replace_row(&self, row: &DatabaseFile) -> Result<(), EngineError> {
        self.catalog.bases().replace(&mut By::System, row)?;
        Ok(self.store.log().flush_all()?)
    }

    fn change_row(
        &self,
        file: FileId,
        change: impl FnOnce(&mut DatabaseFile),
    ) -> Result<(), EngineError> {
        let _turn = self.files.rows.lock();
        let bases = self.catalog.bases();
        let found: Vec<DatabaseFile> = bases.rows(&[Value::Int(i32::from(file.0))])?;
        let Some(mut row) = found.into_iter().next() else {
            return Ok(());
        };
        change(&mut row);
        bases.replace(&mut By::System, &row)
    }

    pub(crate) fn update_row(
        &self,
        file: FileId,
        change: impl FnOnce(&mut DatabaseFile),
    ) -> Result<(), EngineError> {
        self.change_row(file, change)?;
        Ok(self.store.log().flush_all()?)
    }
}

fn refused(error: EngineError) -> EngineError {
    error.followed_by(not_initialised(8))
}

fn new_limit(
    change: &FileChange,
    now: Option<u32>,
    size_pages: u32,
) -> Result<Option<u32>, EngineError> {
    let limit = match change.max_size_kb {
        None => return Ok(now.map(|max| max.max(size_pages))),
        Some(None) => return Ok(None),
        Some(Some(kb)) => u32::try_from(kb / 64 * u64::from(EXTENT_PAGES)),
    };
    let limit = limit.map_err(|_| EngineError::refused(1842, &[]))?;
    if limit < size_pages {
        return Err(EngineError::refused(5040, &[]));
    }
    Ok(Some(limit))
}
