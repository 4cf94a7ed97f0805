//! The contents of a database: pages by kind, tables with their actual rows and pages, and the damage.
//!
//! One pass over the files, first page to last. Rows are counted where they lie, so that the figures are true
//! even if the catalog's counters are not. Of compressed tables, whose rows this reader does not support, the
//! catalog's counter is taken.

use crate::{Database, FileSummary, Pages, Table, summarize_with};
use furrow_format::catalog::unit_kind;
use furrow_format::{FileId, Page, PageType, RecordKind, Status};
use std::collections::HashMap;

/// A table, and what it takes.
#[derive(Debug, Clone)]
pub struct TableUse {
    /// The table.
    pub table: Table,
    /// Rows.
    pub rows: u64,
    /// Pages of its rows, and of the levels above them.
    pub data_pages: u64,
    /// Pages of its nonclustered indexes.
    pub index_pages: u64,
    /// Pages of large values and of columns that left their rows.
    pub large_pages: u64,
}

/// A database's files and tables.
#[derive(Debug, Clone)]
pub struct Survey {
    /// What each file holds, by number.
    pub files: Vec<(FileId, FileSummary)>,
    /// User tables by name.
    pub tables: Vec<TableUse>,
}

/// Which counter a unit's pages and rows go to.
#[derive(Clone, Copy)]
enum Part {
    Data,
    Index,
    Large,
}

impl Survey {
    /// Reads all files.
    pub fn of(source: &Pages<'_>, database: &Database<'_>) -> Survey {
        let mut tables: Vec<TableUse> = database.tables().into_iter().map(nothing).collect();
        let places = places(database, &tables);
        let mut count = |page: Page<'_>| {
            let unit = database.unit(page.unit());
            let Some(&(table, part)) = unit.and_then(|unit| places.get(&unit.auid)) else {
                return;
            };
            let Some(table) = tables.get_mut(table) else {
                return;
            };
            match part {
                Part::Data => table.data_pages += 1,
                Part::Index => table.index_pages += 1,
                Part::Large => table.large_pages += 1,
            }
            if matches!(part, Part::Data) && page.page_type() == PageType::Data {
                table.rows += rows_on(page);
            }
        };
        let files = source.files();
        let files = files
            .into_iter()
            .map(|file| {
                let summary = summarize_with(source, file, &mut |_, page| count(page));
                (file, summary)
            })
            .collect();
        for table in &mut tables {
            if table
                .table
                .rowsets
                .iter()
                .any(|rowset| rowset.cmprlevel != 0)
            {
                table.rows = u64::try_from(table.table.row_count).unwrap_or(0);
            }
        }
        Survey { files, tables }
    }
}

fn nothing(table: Table) -> TableUse {
    TableUse {
        table,
        rows: 0,
        data_pages: 0,
        index_pages: 0,
        large_pages: 0,
    }
}

/// The table and the part of it that each allocation unit belongs to.
fn places(database: &Database<'_>, tables: &[TableUse]) -> HashMap<i64, (usize, Part)> {
    let by_object: HashMap<i32, usize> = (0..)
        .zip(tables)
        .map(|(at, entry)| (entry.table.id, at))
        .collect();
    let rowsets: HashMap<i64, (i32, i32)> = database
        .rowsets()
        .iter()
        .map(|rowset| (rowset.rowsetid, (rowset.idmajor, rowset.idminor)))
        .collect();
    let place = |unit: &furrow_format::catalog::AllocUnit| {
        let &(object, index) = rowsets.get(&unit.ownerid)?;
        let part = match (unit.kind, index) {
            (unit_kind::IN_ROW, 0 | 1) => Part::Data,
            (unit_kind::IN_ROW, _) => Part::Index,
            _ => Part::Large,
        };
        Some((unit.auid, (*by_object.get(&object)?, part)))
    };
    database.alloc_units().iter().filter_map(place).collect()
}

/// Rows counted for a data page: its own, and those that moved away and left a stub.
fn rows_on(page: Page<'_>) -> u64 {
    let is_row = |bytes: &[u8]| {
        let status = Status(bytes.first().copied().unwrap_or(0));
        let kind = status.kind();
        !status.is_ghost() && matches!(kind, RecordKind::Primary | RecordKind::ForwardingStub)
    };
    page.records().filter(|(_, bytes)| is_row(bytes)).count() as u64
}
