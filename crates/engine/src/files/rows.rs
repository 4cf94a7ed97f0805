//! Rows of `sysprufiles`: made, read through trees, and read page by page before there are any.

#![deny(clippy::indexing_slicing)]

use super::book::{FileEntry, LogEntry};
use super::physical::{PageReadError, PageReads, bad_page, read_page};
use crate::files::FilePlan;
use furrow_format::boot::field;
use furrow_format::catalog::{
    AllocUnit, BaseRow, BaseTable, DatabaseFile, File1, SYSALLOCUNITS, SYSFILES1, SYSPRUFILES,
};
use furrow_format::{
    BOOT_PAGE, FileGrowth, FileId, Lsn, Page, PageBuf, PageId, PageType, Record, RowLayout,
};
use furrow_io::File;
use furrow_pool::LatchRank;
use furrow_tables::EngineError;
use furrow_txn::Store;
use furrow_types::Guid;
use std::path::PathBuf;
use std::sync::Arc;

/// Where SQL Server has `sysfiles1`.
pub(crate) const FILES1_PAGE: PageId = PageId::new(1, 32);

/// How far a file of the catalog has come: `filestate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileStatus {
    /// In use.
    Online,
    /// Being made or removed: defunct, to be cleared away when met at a restart.
    Defunct,
}

impl FileStatus {
    /// As `filestate` has it.
    pub(crate) fn code(self) -> u8 {
        match self {
            FileStatus::Online => 0,
            FileStatus::Defunct => 7,
        }
    }
}

/// The number of the log.
const LOG_ID: i32 = 2;
const PERCENT: i32 = 0x20;
const SET: i32 = 0x200;

fn pages(pages: u32) -> i32 {
    i32::try_from(pages).unwrap_or(i32::MAX)
}

fn growth_columns(growth: FileGrowth) -> (i32, i32) {
    match growth {
        FileGrowth::None => (0, 0),
        FileGrowth::Pages(n) => (pages(n), 0),
        FileGrowth::Percent(n) => (pages(n), PERCENT),
    }
}

/// Puts name, limit and growth in a row.
fn fill_row(row: &mut DatabaseFile, name: &str, max_pages: Option<u32>, growth: FileGrowth) {
    let (growth, percent) = growth_columns(growth);
    row.lname = name.to_owned();
    row.maxsize = max_pages.map_or(-1, pages);
    row.growth = growth;
    row.status = row.status & !PERCENT | percent;
}

impl FileEntry {
    /// Puts what may change of a data file in its row.
    pub(crate) fn fill_row(&self, row: &mut DatabaseFile) {
        fill_row(row, &self.name, self.max_pages, self.growth);
    }
}

impl LogEntry {
    /// Puts what may change of the log in its row.
    pub(crate) fn fill_row(&self, row: &mut DatabaseFile) {
        fill_row(row, &self.name, self.max_pages, self.growth);
    }
}

/// The row of a file.
pub(crate) fn file_row(
    plan: &FilePlan,
    guid: Guid,
    status: FileStatus,
    created: Lsn,
) -> DatabaseFile {
    let (growth, percent) = growth_columns(plan.growth);
    DatabaseFile {
        status: SET | percent,
        filestate: status.code(),
        size: pages(plan.size_pages),
        maxsize: plan.max_pages.map_or(-1, pages),
        growth,
        lname: plan.name.clone(),
        pname: plan.path.to_string_lossy().into_owned(),
        createlsn: Some(created.to_bytes().to_vec()),
        ..DatabaseFile::plain(i32::from(plan.id), i32::from(plan.filegroup), guid)
    }
}

/// What a row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedFile {
    pub(crate) plan: FilePlan,
    pub(crate) guid: Guid,
    pub(crate) status: FileStatus,
    /// Where the log was when it was made.
    pub(crate) created: Lsn,
}

fn created_of(row: &DatabaseFile) -> Lsn {
    let bytes = row
        .createlsn
        .as_deref()
        .and_then(|bytes| bytes.first_chunk());
    bytes.map_or(Lsn::ZERO, |bytes| Lsn::from_bytes(*bytes))
}

/// Reads a row; `None` when a number is out of its range.
pub(crate) fn parse_file(row: &DatabaseFile) -> Option<ParsedFile> {
    let growth = u32::try_from(row.growth).ok()?;
    let plan = FilePlan {
        id: u16::try_from(row.fileid).ok()?,
        filegroup: u16::try_from(row.grpid).ok()?,
        name: row.lname.clone(),
        path: PathBuf::from(&row.pname),
        size_pages: u32::try_from(row.size).ok()?,
        max_pages: u32::try_from(row.maxsize).ok(),
        growth: match growth {
            0 => FileGrowth::None,
            n if row.status & PERCENT != 0 => FileGrowth::Percent(n),
            n => FileGrowth::Pages(n),
        },
    };
    let online = row.filestate == FileStatus::Online.code();
    let status = if online {
        FileStatus::Online
    } else {
        FileStatus::Defunct
    };
    Some(ParsedFile {
        plan,
        guid: row.fileguid.unwrap_or_default(),
        status,
        created: created_of(row),
    })
}

impl ParsedFile {
    /// Its number and its filegroup.
    pub(crate) fn place(&self) -> (u16, u16) {
        (self.plan.id, self.plan.filegroup)
    }

    /// The file as the book keeps it.
    pub(crate) fn entry(&self, file: Arc<dyn File>) -> FileEntry {
        FileEntry {
            id: FileId(self.plan.id),
            filegroup: self.plan.filegroup,
            name: self.plan.name.clone(),
            path: file.path().to_path_buf(),
            max_pages: self.plan.max_pages,
            growth: self.plan.growth,
            guid: self.guid,
            file,
            next_path: None,
        }
    }

    /// The log as the book keeps it.
    pub(crate) fn log_entry(&self, path: PathBuf) -> LogEntry {
        LogEntry {
            name: self.plan.name.clone(),
            path,
            max_pages: self.plan.max_pages,
            growth: self.plan.growth,
            guid: self.guid,
            recorded_pages: None,
            next_path: None,
        }
    }
}

/// Rows read page by page, and how many pages lie in files that are not known yet.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<ParsedFile>,
    pub(crate) out_of_reach: usize,
}

/// The rows of `sysprufiles` as far as they lie in files that `known` names: at a restart, when the primary
/// file is redone and the catalog gives the places of the others. No tree can be opened yet, so pages are
/// walked.
pub(crate) fn files_in_pool(
    store: &Store,
    known: &dyn Fn(FileId) -> bool,
) -> Result<Found, EngineError> {
    let way_in = {
        let boot = store.read(BOOT_PAGE, LatchRank::Boot)?;
        field::CATALOG_PAGE.get_page(&boot)
    };
    let wanted = SYSPRUFILES.unit_id().0 as i64;
    let mut root = None;
    // Units of base tables have the smallest ids: they lie on the first leaf, which every walk meets first.
    Walk {
        store,
        known,
        table: &SYSALLOCUNITS,
        out_of_reach: 0,
    }
    .tree(way_in, &mut |values| {
        let unit = AllocUnit::from_values(values);
        root = root.or(unit.filter(|u| u.auid == wanted).map(|u| u.pgroot));
        root.is_none()
    })?;
    let root = root.ok_or_else(|| damaged("sysallocunits does not name sysprufiles"))?;
    let mut found = Found::default();
    let mut walk = Walk {
        store,
        known,
        table: &SYSPRUFILES,
        out_of_reach: 0,
    };
    let mut bad = false;
    walk.tree(root, &mut |values| {
        match DatabaseFile::from_values(values)
            .as_ref()
            .and_then(parse_file)
        {
            Some(file) => found.files.push(file),
            None => bad = true,
        }
        true
    })?;
    if bad {
        return Err(damaged("a row of sysprufiles makes no sense"));
    }
    found.out_of_reach = walk.out_of_reach;
    Ok(found)
}

fn damaged(what: &str) -> EngineError {
    EngineError::Damaged(what.to_owned())
}

/// Most levels that a tree can have; more is a circle.
const MOST_LEVELS: usize = 12;

struct Walk<'a> {
    store: &'a Store,
    known: &'a dyn Fn(FileId) -> bool,
    table: &'static BaseTable,
    out_of_reach: usize,
}

type Seen<'s> = dyn FnMut(Vec<furrow_types::Value>) -> bool + 's;

impl Walk<'_> {
    /// Hands each live row of the tree to `seen`, in key order, until that has enough.
    fn tree(&mut self, root: PageId, seen: &mut Seen<'_>) -> Result<(), EngineError> {
        let layout = self
            .table
            .row_layout()
            .map_err(|e| damaged(&e.to_string()))?;
        self.page(root, &layout, seen, 0).map(|_| ())
    }

    /// `false` once `seen` has enough.
    fn page(
        &mut self,
        id: PageId,
        layout: &RowLayout,
        seen: &mut Seen<'_>,
        depth: usize,
    ) -> Result<bool, EngineError> {
        if !(self.known)(id.file) {
            self.out_of_reach += 1;
            return Ok(true);
        }
        if depth > MOST_LEVELS {
            return Err(damaged("the pages of a base table form a circle"));
        }
        // A copy, so that no page is latched while its children are read.
        let page: Box<PageBuf> = Box::new(*self.store.read(id, LatchRank::Data)?);
        let view = Page::new(&page);
        if view.unit() != self.table.unit_id() {
            return Err(damaged(&format!("page {id} is not of {}", self.table.name)));
        }
        if view.page_type() == PageType::Index && view.level() > 0 {
            for slot in 0..view.slot_count() {
                let record = view.record(slot);
                let record = record.and_then(|r| Record::index(r, view.pminlen()));
                let child = record.and_then(Record::child);
                let child =
                    child.ok_or_else(|| damaged(&format!("page {id} has no child {slot}")))?;
                if !self.page(child, layout, seen, depth + 1)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        for slot in 0..view.slot_count() {
            let record = view
                .record(slot)
                .and_then(|r| layout.record(r, view.pminlen()));
            let record = record.ok_or_else(|| damaged(&format!("row {slot} of page {id}")))?;
            if record.is_ghost() {
                continue;
            }
            let values = self.table.decode_row(layout, record);
            let values = values.ok_or_else(|| damaged(&format!("row {slot} of page {id}")))?;
            if !seen(values) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Pages of the primary file between two looks whether the open was cancelled.
const LOOK_PAGES: u32 = 1024;

/// The path of the log if the page of `sysfiles1` cannot be read. It is that of the log's row of
/// `sysprufiles`, which may be on any page of the primary file; of several rows the one written last counts.
pub(crate) fn find_log_row(
    file: &(impl PageReads + ?Sized),
) -> Result<Option<PathBuf>, EngineError> {
    let layout = SYSPRUFILES
        .row_layout()
        .map_err(|e| damaged(&e.to_string()))?;
    let pages = file.length()? / furrow_format::PAGE_SIZE as u64;
    let mut found: Option<(Lsn, PathBuf)> = None;
    for number in 0..u32::try_from(pages).unwrap_or(u32::MAX) {
        if number.is_multiple_of(LOOK_PAGES) {
            EngineError::check_cancelled()?;
        }
        // Other pages that cannot be read do not matter here.
        let Ok(page) = read_page(file, PageId::new(1, number)) else {
            continue;
        };
        let view = Page::new(&page);
        if view.unit() != SYSPRUFILES.unit_id() || view.page_type() != PageType::Data {
            continue;
        }
        let rows = view.records().filter_map(|(_, bytes)| {
            let record = layout.record(bytes, view.pminlen())?;
            let record = Some(record).filter(|record| !record.is_ghost())?;
            DatabaseFile::from_values(SYSPRUFILES.decode_row(&layout, record)?)
        });
        let log = rows
            .into_iter()
            .find(|row| row.fileid == LOG_ID && !row.pname.is_empty());
        let newer = found.as_ref().is_none_or(|(lsn, _)| *lsn <= view.lsn());
        if let Some(row) = log.filter(|_| newer) {
            found = Some((view.lsn(), PathBuf::from(row.pname)));
        }
    }
    Ok(found.map(|(_, path)| path))
}

/// The rows of `sysfiles1`: numbers and paths of the first files, the log among them. Read past the pool: the
/// page is written once, before the database is first used.
pub(crate) fn read_files1(
    file: &(impl PageReads + ?Sized),
) -> Result<Vec<(u16, PathBuf)>, EngineError> {
    let page = match read_page(file, FILES1_PAGE) {
        Ok(page) => page,
        Err(PageReadError::Io(e)) => return Err(e.into()),
        Err(PageReadError::Bad(what)) => {
            return Err(bad_page(FILES1_PAGE, file.place(), &what));
        }
    };
    let layout = SYSFILES1
        .row_layout()
        .map_err(|e| damaged(&e.to_string()))?;
    let view = Page::new(&page);
    let rows = view.records().filter_map(|(_, bytes)| {
        let record = layout.record(bytes, view.pminlen())?;
        let row = File1::from_values(SYSFILES1.decode_row(&layout, record)?)?;
        Some((
            u16::try_from(row.fileid).ok()?,
            PathBuf::from(row.filename.trim_end_matches(' ')),
        ))
    });
    Ok(rows.collect())
}
