//! What page headers show of allocation units, and what files, boot page and catalog say of themselves,
//! without the catalog's trees.
//!
//! All pages in use are read once, front to back. Nothing here relies on a link or on the boot page.

use crate::base_rows::{LOG, rows_on};
use crate::examine::CheckError;
use crate::maps::{Maps, page_at};
use crate::{Listener, Progress};
use furrow_datafile::{Pages, SourceFile};
use furrow_format::catalog::{
    AllocUnit, BASE_TABLES, DatabaseFile, File1, SYSALLOCUNITS, SYSFILES1, SYSPRUFILES, SYSSCHOBJS,
    SchemaObject,
};
use furrow_format::{
    Iam, Lsn, Page, PageBuf, PageId, PageType, RecordKind, Status, fixed_page_type,
};
use furrow_types::DateTime;
use std::collections::BTreeMap;

/// Pages between two looks whether the repair was cancelled.
const LOOK_PAGES: u32 = 1024;
/// The index part of the ids of users' units.
const USERS_PART: u16 = 256;

/// Where every database has its base tables: table, page of the root, first IAM page, in file 1. A database
/// is created in this order, and roots never move. Proof: `base_tables_lie_where_every_database_has_them`
/// (engine).
pub const BASE_PLACES: [(i32, u32, u32); 17] = [
    (3, 16, 8),
    (5, 24, 10),
    (7, 40, 12),
    (8, 32, 11),
    (9, 48, 13),
    (23, 56, 14),
    (24, 64, 15),
    (27, 80, 72),
    (34, 88, 73),
    (41, 96, 74),
    (50, 104, 75),
    (54, 112, 76),
    (55, 120, 77),
    (60, 128, 78),
    (64, 136, 79),
    (74, 152, 144),
    (75, 160, 145),
];

/// An allocation unit as the headers of its pages show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenUnit {
    /// The first IAM page of its chain, by its sequence number.
    pub(super) first_iam: PageId,
    sequence: u32,
    /// The page of the highest level that has no neighbours.
    pub(super) root: PageId,
    level: Option<u8>,
    /// The leaf that has none before it.
    pub(super) first_leaf: PageId,
    /// A page of rows of it.
    pub(super) any: PageId,
    /// Whether its leaves are data pages.
    pub(super) is_data: bool,
    /// Its leaves, counted.
    pub(super) leaves: u32,
    /// Rows on its leaves that count, those that moved once.
    pub(super) rows: u64,
    /// `pminlen` of its leaves.
    pub(super) leaf_min: Option<u16>,
    /// `pminlen` of its other pages.
    pub(super) node_min: Option<u16>,
}

const UNSEEN: SeenUnit = SeenUnit {
    first_iam: PageId::NONE,
    sequence: u32::MAX,
    root: PageId::NONE,
    level: None,
    first_leaf: PageId::NONE,
    any: PageId::NONE,
    is_data: false,
    leaves: 0,
    rows: 0,
    leaf_min: None,
    node_min: None,
};

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The greatest id of a unit of users that any page names, in use or not.
    pub(super) last_unit: u64,
    /// Units by their ids.
    pub(super) units: BTreeMap<u64, SeenUnit>,
    /// Rows of `sysallocunits`, wherever they lie.
    pub(super) unit_rows: BTreeMap<i64, (Lsn, AllocUnit)>,
    /// Rows of `sysprufiles`, wherever they lie.
    pub(super) file_rows: BTreeMap<i32, (Lsn, DatabaseFile)>,
    /// The row of the log in `sysfiles1`.
    pub(super) log: Option<File1>,
    /// When the database was created, by the objects of its base tables.
    pub(super) created: Option<DateTime>,
    /// The greatest LSN of a page in use that is not a file header.
    pub(super) newest: Lsn,
    /// Pages of system tables that this engine does not have.
    pub(super) foreign: u32,
}

/// Reads the headers of all pages in use.
pub(super) fn survey(
    library: &Pages<'_>,
    files: &[SourceFile],
    listener: Option<Listener<'_>>,
) -> Result<Survey, CheckError> {
    let maps = Maps::read(library, files);
    let pages_total = files.iter().map(|file| u64::from(file.pages)).sum();
    let mut seen = Survey::default();
    for file in files {
        for number in 0..file.pages {
            let progress = Progress {
                pages_done: u64::from(number),
                pages_total,
                pages_wanted: pages_total,
            };
            let goes_on = |listener: Listener<'_>| listener(progress);
            if number.is_multiple_of(LOOK_PAGES) && !listener.is_none_or(goes_on) {
                return Err(CheckError::Cancelled);
            }
            let id = page_at(file.id, number);
            let fixed = fixed_page_type(id.page).is_some();
            if let Some((page, Ok(_))) = library.get(id) {
                let unit = Page::new(&page).unit();
                if !fixed && unit.index_part() == USERS_PART {
                    seen.last_unit = seen.last_unit.max(unit.0);
                }
                if fixed || maps.is_in_use(id) {
                    seen.take(id, fixed, &page);
                }
            }
        }
    }
    Ok(seen)
}

/// Puts a row in unless a newer page has one with the same key.
fn newer<K: Ord, R>(rows: &mut BTreeMap<K, (Lsn, R)>, key: K, lsn: Lsn, row: R) {
    match rows.get(&key) {
        Some((known, _)) if *known >= lsn => {}
        _ => drop(rows.insert(key, (lsn, row))),
    }
}

/// Rows of a leaf page that are not deleted; the stub of a row that moved is none.
fn live_rows(view: Page<'_>) -> u64 {
    let statuses = view.records().filter_map(|(_, bytes)| bytes.first());
    let live = statuses.filter(|byte| {
        let status = Status(**byte);
        !status.is_ghost() && status.kind() != RecordKind::ForwardingStub
    });
    live.count() as u64
}

/// Where every database has a base table.
fn default_of(unit: u64) -> Option<(i32, u32, u32)> {
    let table = BASE_TABLES.iter().find(|table| table.unit_id().0 == unit)?;
    BASE_PLACES
        .iter()
        .find(|place| place.0 == table.id)
        .copied()
}

impl Survey {
    fn take(&mut self, id: PageId, fixed: bool, bytes: &PageBuf) {
        let view = Page::new(bytes);
        if view.page_type() != PageType::FileHeader {
            self.newest = self.newest.max(view.lsn());
        }
        if fixed || view.unit() == furrow_format::SYSTEM_MAPS_UNIT {
            return;
        }
        let (kind, lsn) = (view.page_type(), view.lsn());
        let of_rows = matches!(kind, PageType::Data | PageType::Index);
        let known = |table: &&furrow_format::catalog::BaseTable| {
            let is_node = kind == PageType::Index && view.level() > 0;
            table.unit_id() == view.unit() && (kind == PageType::Data || is_node)
        };
        let is_base = (1..100).contains(&view.object_part()) && view.index_part() < 256;
        self.foreign += u32::from(is_base && of_rows && !BASE_TABLES.iter().any(known));
        let unit = self.units.entry(view.unit().0).or_insert(UNSEEN);
        match kind {
            PageType::Iam => {
                let sequence = Iam::new(bytes).map_or(u32::MAX, Iam::sequence);
                if sequence < unit.sequence {
                    (unit.sequence, unit.first_iam) = (sequence, id);
                }
            }
            PageType::Data | PageType::Index => {
                let alone = view.prev().is_none() && view.next().is_none();
                if alone && unit.level.is_none_or(|level| level < view.level()) {
                    (unit.level, unit.root) = (Some(view.level()), id);
                }
                if unit.any.is_none() {
                    unit.any = id;
                }
                if view.level() == 0 && view.prev().is_none() {
                    unit.first_leaf = id;
                }
                let is_leaf = view.level() == 0 && (kind == PageType::Data || !unit.is_data);
                match is_leaf {
                    true => {
                        unit.leaf_min = Some(view.pminlen());
                        unit.leaves += 1;
                        unit.rows += live_rows(view);
                    }
                    false => unit.node_min = Some(view.pminlen()),
                }
                unit.is_data |= kind == PageType::Data;
            }
            _ => {}
        }
        if kind == PageType::Data {
            self.take_rows(view, lsn);
        }
    }

    fn take_rows(&mut self, view: Page<'_>, lsn: Lsn) {
        let bytes = view.bytes();
        if view.unit() == SYSALLOCUNITS.unit_id() {
            for row in rows_on::<AllocUnit>(bytes) {
                newer(&mut self.unit_rows, row.auid, lsn, row);
            }
        } else if view.unit() == SYSPRUFILES.unit_id() {
            for row in rows_on::<DatabaseFile>(bytes) {
                newer(&mut self.file_rows, row.fileid, lsn, row);
            }
        } else if view.unit() == SYSFILES1.unit_id() {
            let log = rows_on::<File1>(bytes)
                .into_iter()
                .find(|row| row.fileid == LOG);
            self.log = self.log.take().or(log);
        } else if view.unit() == SYSSCHOBJS.unit_id() && self.created.is_none() {
            let first = rows_on::<SchemaObject>(bytes).into_iter().next();
            self.created = first.map(|object| object.created);
        }
    }

    /// Where the boot page has to lead: to the first leaf of `sysallocunits`, which is the root while that is
    /// the only page.
    pub(super) fn way_in(&self) -> PageId {
        let unit = SYSALLOCUNITS.unit_id().0;
        let leaf = self.units.get(&unit).map(|seen| seen.first_leaf);
        let leaf = leaf.filter(|leaf| !leaf.is_none());
        leaf.unwrap_or_else(|| self.place_of(unit).0)
    }

    /// The root and the first IAM page of a unit, by its row where there is one, else by its pages. Of a base
    /// table of which neither is left, where every database has it.
    pub(super) fn place_of(&self, unit: u64) -> (PageId, PageId) {
        let seen = self.units.get(&unit).copied().unwrap_or(UNSEEN);
        let default = default_of(unit);
        let or = |page: PageId, default: Option<u32>| match default {
            Some(number) if page.is_none() => PageId::new(1, number),
            _ => page,
        };
        let (root, iam) = match self.unit_rows.get(&(unit as i64)) {
            Some((_, row)) if !row.pgfirstiam.is_none() => (row.pgroot, row.pgfirstiam),
            _ => (seen.root, seen.first_iam),
        };
        (
            or(root, default.map(|d| d.1)),
            or(iam, default.map(|d| d.2)),
        )
    }
}
