//! What was counted: rows and pages of tables, extents and pages of files.

use crate::facts::Facts;
use crate::maps::Maps;
use crate::maps::page_at;
use crate::scan::Shared;
use furrow_datafile::SourceFile;
use furrow_format::catalog::unit_kind;
use furrow_format::{EXTENT_PAGES, PfsByte};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;

/// Rows and pages of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectTotal {
    /// Object id.
    pub object_id: i32,
    /// Schema and name.
    pub name: String,
    /// Rows of the heap or the clustered index.
    pub rows: u64,
    /// Pages of the same that hold rows.
    pub pages: u64,
}

/// What is allocated in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTotal {
    /// The file.
    pub file: u16,
    /// Extents in use.
    pub extents: u64,
    /// Pages in use.
    pub used_pages: u64,
    /// Mixed extents among them.
    pub mixed_extents: u64,
    /// Pages in use in mixed extents.
    pub mixed_pages: u64,
}

/// The tables, by object id.
pub(crate) fn objects(shared: &Shared<'_>, facts: &Facts) -> Vec<ObjectTotal> {
    let mut leaves: HashMap<u32, u64> = HashMap::new();
    for page in facts.pages.iter().filter(|page| page.level == 0) {
        *leaves.entry(page.unit).or_default() += 1;
    }
    let mut objects: BTreeMap<i32, ObjectTotal> = BTreeMap::new();
    for (at, unit) in (0..).zip(&shared.plan.units) {
        if unit.kind != unit_kind::IN_ROW || unit.index_id > 1 || unit.object_id == 0 {
            continue;
        }
        if shared.plan.is_absent(unit.filegroup) {
            continue;
        }
        let total = objects
            .entry(unit.object_id)
            .or_insert_with(|| ObjectTotal {
                object_id: unit.object_id,
                name: unit.table.clone(),
                rows: 0,
                pages: 0,
            });
        let rows = shared.rows.get(at as usize);
        total.rows += rows.map_or(0, |rows| rows.load(Ordering::Relaxed));
        total.pages += leaves.get(&at).copied().unwrap_or(0);
    }
    objects.into_values().collect()
}

/// The files, by number.
pub(crate) fn files(maps: &Maps, files: &[SourceFile]) -> Vec<FileTotal> {
    let of_file = |file: &SourceFile| {
        let mut total = FileTotal {
            file: file.id.0,
            extents: 0,
            used_pages: 0,
            mixed_extents: 0,
            mixed_pages: 0,
        };
        for extent in 0..file.pages / EXTENT_PAGES {
            let first = extent * EXTENT_PAGES;
            let pages = (first..first + EXTENT_PAGES).map(|page| maps.pfs(page_at(file.id, page)));
            let bytes: Vec<PfsByte> = pages.flatten().collect();
            let used = bytes.iter().filter(|byte| byte.is_allocated()).count() as u64;
            let mixed = bytes.iter().any(|byte| byte.has(PfsByte::MIXED));
            let in_use = maps.gam(page_at(file.id, first)) == Some(false);
            total.extents += u64::from(in_use);
            total.used_pages += used;
            total.mixed_extents += u64::from(in_use && mixed);
            total.mixed_pages += if in_use && mixed { used } else { 0 };
        }
        total
    };
    files.iter().map(of_file).collect()
}
