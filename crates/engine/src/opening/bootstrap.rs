//! The first pages of a new database: boot page and base tables.
//!
//! 1. Extent 1 of the primary file is a mixed extent that holds the boot page (1:9); the IAM pages of the
//!    base tables fill the rest of it and the mixed extents that follow.
//! 2. Each base table gets its allocation unit and its root page, in such an order that `sysfiles1` comes to
//!    lie at (1:32), where SQL Server has it and where a restart finds the log's path before it has redone
//!    anything.
//! 3. The rows that describe all this are inserted like any other rows, in the engine's own name: never
//!    undone.
//! 4. What is missing to the extents that a new database takes is set aside for the catalog to grow into.

use crate::files::{DatabasePlan, FILES1_PAGE, FileGrowth};
use furrow_access::{By, Shape, Tree, TreeParts};
use furrow_format::boot::field;
use furrow_format::catalog::{
    BASE_TABLES, BaseTable, Bootstrap, BootstrapFile, SYSALLOCUNITS, SYSCOLPARS, SYSFILES1,
    SYSIDXSTATS, SYSISCOLS, SYSROWSETS, SYSRSCOLS, SYSSCHOBJS, TablePlace, UnitPlace, base_layout,
    bootstrap_rows,
};
use furrow_format::{
    BOOT_PAGE, Boot, Change, EXTENT_PAGES, FileId, Fullness, Page, PageId, PageInit, PageNo,
    PageType, PfsByte, RowForm,
};
use furrow_pool::LatchRank;
use furrow_space::{Space, Unit};
use furrow_tables::EngineError;
use furrow_txn::{Author, Mini, Store};
use furrow_types::{DateTime, Guid, Value};
use std::sync::Arc;

// Counter of allocation units of a new database: ids of users' units begin at 1 << 56.
const FIRST_UNIT: u64 = 1 << 40;
/// Object ids of users begin here.
pub(crate) const FIRST_OBJECT_ID: i32 = 245_575_913;
/// Fewest extents of a primary file in which room is set aside for the catalog.
const ROOMY_EXTENTS: u64 = 80;
/// More than the largest step here writes to the log.
const LOG_BYTES: u64 = 16 * 1024;

/// Pages of a primary file that are in use before anything is allocated.
pub(crate) const SYSTEM_PAGES: [(PageNo, PfsByte); 1] = [(BOOT_PAGE.page, PfsByte::BOOT)];

/// Puts the boot page in its place, which the file was made with.
pub(crate) fn write_boot(store: &Store, boot: &Boot) -> Result<(), EngineError> {
    let record = boot
        .record()
        .map_err(|e| EngineError::Damaged(e.to_string()))?;
    store.promise(LOG_BYTES)?;
    store.log().give_back(LOG_BYTES);
    let mut mini = Mini::new(store);
    let page = mini.adopt(store.create(BOOT_PAGE, LatchRank::Boot)?);
    mini.push(page, &Change::Format(Boot::page_init()));
    mini.push(
        page,
        &Change::HeapPut {
            slot: 0,
            bytes: &record,
        },
    );
    mini.commit(&Author::System)?;
    Ok(())
}

/// A base table on its pages.
struct Placed {
    table: &'static BaseTable,
    unit: Arc<Unit>,
    root: PageId,
}

/// The base tables in the order in which they get their extents. The third gets extent 4, which begins with
/// (1:32).
fn placing_order() -> impl Iterator<Item = &'static BaseTable> {
    let first = [&SYSRSCOLS, &SYSROWSETS, &SYSFILES1];
    let rest = BASE_TABLES
        .into_iter()
        .filter(move |t| first.iter().all(|f| f.id != t.id));
    first.into_iter().chain(rest)
}

fn place(store: &Store, space: &Space, table: &'static BaseTable) -> Result<Placed, EngineError> {
    let unit = space.create_unit(table.unit_id(), 1)?;
    let layout = base_layout(table);
    let mut pages = space.reserve(&unit, 1, None)?;
    let root = pages.take()?;
    store.promise(LOG_BYTES)?;
    store.log().give_back(LOG_BYTES);
    let mut mini = Mini::new(store);
    let page = mini.adopt(store.create(root, LatchRank::Data)?);
    let init = PageInit::new(root, PageType::Data, unit.id(), layout.minleaf as u16);
    mini.push(page, &Change::Format(init));
    pages.allocate(&mut mini, root, PfsByte(PfsByte::ALLOCATED))?;
    mini.commit(&Author::System)?;
    pages.done();
    if table.id == SYSFILES1.id && root != FILES1_PAGE {
        let text = format!("sysfiles1 would lie at {root}, not at {FILES1_PAGE}");
        return Err(EngineError::Damaged(text));
    }
    Ok(Placed { table, unit, root })
}

/// Makes and fills the base tables. The space knows the primary file alone, so that all of them lie in it.
pub(crate) fn write_base_tables(
    store: &Arc<Store>,
    space: &Arc<Space>,
    plan: &DatabasePlan,
    (created, system_extents): (DateTime, u32),
    guids: &[Guid],
) -> Result<(), EngineError> {
    let placed: Result<Vec<_>, _> = placing_order().map(|t| place(store, space, t)).collect();
    let placed = placed?;
    let places: Vec<TablePlace> = placed.iter().map(place_row).collect();
    let filegroups: Vec<(u16, String)> = plan
        .filegroups
        .iter()
        .skip(1)
        .map(|g| (g.0, g.1.clone()))
        .collect();
    let files = bootstrap_files(plan, guids);
    let rows = bootstrap_rows(&Bootstrap {
        created,
        places: &places,
        filegroups: &filegroups,
        files: &files,
    });
    for (table, rows) in rows {
        let Some(at) = placed.iter().find(|p| p.table.id == table.id) else {
            continue;
        };
        if table.is_heap() {
            fill_heap(store, space, at, &rows)?;
        } else {
            fill_tree(store, space, at, &rows)?;
        }
    }
    let way_in = placed.iter().find(|p| p.table.id == SYSALLOCUNITS.id);
    patch_boot(store, way_in.map_or(PageId::NONE, |p| p.root))?;
    let primary_pages = plan.files.first().map_or(0, |f| f.size_pages);
    set_aside(space, &placed, (primary_pages, system_extents))
}

fn place_row(placed: &Placed) -> TablePlace {
    let rows = UnitPlace {
        first: placed.root,
        root: placed.root,
        first_iam: placed.unit.first_iam(),
        used_pages: 2,
        data_pages: 1,
        reserved_pages: i64::from(EXTENT_PAGES) + 1,
    };
    TablePlace {
        table_id: placed.table.id,
        rows,
    }
}

fn bootstrap_files(plan: &DatabasePlan, guids: &[Guid]) -> Vec<BootstrapFile> {
    let file = |(file, guid): (&crate::files::FilePlan, &Guid)| BootstrapFile {
        file_id: file.id,
        filegroup_id: file.filegroup,
        size_pages: file.size_pages,
        max_pages: file.max_pages,
        growth: match file.growth {
            FileGrowth::None => 0,
            FileGrowth::Pages(n) | FileGrowth::Percent(n) => n,
        },
        growth_is_percent: matches!(file.growth, FileGrowth::Percent(_)),
        logical_name: file.name.clone(),
        physical_name: file.path.to_string_lossy().into_owned(),
        guid: *guid,
    };
    plan.files.iter().zip(guids).map(file).collect()
}

fn bad_row(e: &dyn std::fmt::Display) -> EngineError {
    EngineError::Damaged(e.to_string())
}

/// What the rows of a base table look like.
pub(crate) fn base_shape(table: &BaseTable) -> Result<Shape, EngineError> {
    let layout = base_layout(table);
    let form = if table.is_heap() {
        RowForm::Heap
    } else {
        RowForm::ClusteredLeaf
    };
    let sizes = (layout.minleaf as u16, layout.minint as u16);
    Shape::from_catalog(form, &layout.columns, sizes.0, sizes.1, true).map_err(|e| bad_row(&e))
}

fn fill_tree(
    store: &Arc<Store>,
    space: &Arc<Space>,
    at: &Placed,
    rows: &[Vec<Value>],
) -> Result<(), EngineError> {
    let shape = base_shape(at.table)?;
    let layout = at.table.row_layout().map_err(|e| bad_row(&e))?;
    let tree = Tree::open(TreeParts {
        store: Arc::clone(store),
        space: Arc::clone(space),
        unit: Arc::clone(&at.unit),
        rowset: at.table.rowset_id(),
        index_id: 1,
        root: at.root,
        shape,
    });
    let mut bytes = Vec::new();
    for row in rows {
        bytes.clear();
        at.table
            .encode_row(&layout, row, &mut bytes)
            .map_err(|e| bad_row(&e))?;
        let key = tree
            .shape()
            .key_of(&bytes)
            .ok_or_else(|| bad_row(&at.table.name))?;
        tree.insert(&mut By::System, &key, &bytes)?;
    }
    Ok(())
}

/// `sysfiles1`: as many rows as its first page takes, which is ten: the primary file and the log always are
/// among them.
fn fill_heap(
    store: &Store,
    space: &Space,
    at: &Placed,
    rows: &[Vec<Value>],
) -> Result<(), EngineError> {
    let layout = at.table.row_layout().map_err(|e| bad_row(&e))?;
    for (slot, row) in (0_u16..).zip(rows) {
        let mut bytes = Vec::new();
        at.table
            .encode_row(&layout, row, &mut bytes)
            .map_err(|e| bad_row(&e))?;
        store.promise(LOG_BYTES)?;
        store.log().give_back(LOG_BYTES);
        let page = store.write(at.root, LatchRank::Data)?;
        let view = Page::new(&page);
        if !view.fits(bytes.len()) {
            break;
        }
        let left = view.free_count().saturating_sub(bytes.len() as u16 + 2);
        let mut mini = Mini::new(store);
        let page = mini.adopt(page);
        mini.push(
            page,
            &Change::HeapPut {
                slot,
                bytes: &bytes,
            },
        );
        space.set_fullness(&at.unit, &mut mini, at.root, Fullness::of_free_bytes(left))?;
        mini.commit(&Author::System)?;
    }
    Ok(())
}

fn patch_boot(store: &Store, way_in: PageId) -> Result<(), EngineError> {
    store.promise(LOG_BYTES)?;
    store.log().give_back(LOG_BYTES);
    let mut mini = Mini::new(store);
    let page = mini.adopt(store.write(BOOT_PAGE, LatchRank::Boot)?);
    mini.push(page, &field::CATALOG_PAGE.change(&way_in.to_bytes()));
    mini.push(page, &field::NEXT_UNIT.change(&FIRST_UNIT.to_le_bytes()));
    mini.push(
        page,
        &field::NEXT_OBJECT_ID.change(&FIRST_OBJECT_ID.to_le_bytes()),
    );
    mini.commit(&Author::System)?;
    Ok(())
}

/// Sets extents aside for the tables that grow with every table a user makes, until `system_extents` of the
/// primary file are taken. In a primary file of less than 80 extents nothing is set aside.
fn set_aside(
    space: &Space,
    placed: &[Placed],
    (primary_pages, system_extents): (u32, u32),
) -> Result<(), EngineError> {
    let growing = [
        &SYSCOLPARS,
        &SYSRSCOLS,
        &SYSSCHOBJS,
        &SYSIDXSTATS,
        &SYSISCOLS,
        &SYSALLOCUNITS,
        &SYSROWSETS,
    ];
    // Kept until the end, so that each round gets pages of its own.
    let mut kept = Vec::new();
    let extents = u64::from(primary_pages / EXTENT_PAGES);
    for table in growing.into_iter().cycle() {
        let free = space
            .free_extents()
            .iter()
            .find(|f| f.0 == FileId(1))
            .map_or(0, |f| f.1);
        if extents < ROOMY_EXTENTS || extents - free.min(extents) >= u64::from(system_extents) {
            break;
        }
        let Some(at) = placed.iter().find(|p| p.table.id == table.id) else {
            break;
        };
        kept.push(space.reserve(&at.unit, EXTENT_PAGES, None)?);
    }
    Ok(())
}
