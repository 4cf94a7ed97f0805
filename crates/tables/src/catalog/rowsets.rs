//! Trees and heaps of users: creating, opening, freeing.

use super::Catalog;
use super::overlay::rowset_of;
use crate::error::EngineError;
use crate::table::{Body, Rowset, TableRows};
use furrow_access::{AccessError, By, Heap, HeapParts, Shape, Tree, TreeParts};
use furrow_format::catalog::{
    self, AllocUnit, IndexStat, RowsetColumn, SYSALLOCUNITS, index_kind, rowset_status, unit_kind,
};
use furrow_format::{
    AllocUnitId, Change, PageId, PageInit, PageType, PfsByte, RowForm, RowsetId, SINGLE_PAGE_SLOTS,
};
use furrow_pool::LatchRank;
use furrow_space::Unit;
use furrow_txn::{Author, Mini};
use std::sync::Arc;

/// Type of a unit whose pages are to be freed.
pub(super) const TO_DROP: u8 = 0;
/// Log space for a root page and its map bits.
const ROOT_LOG_BYTES: u64 = 16 * 1024;

pub(super) fn damaged(what: String) -> EngineError {
    EngineError::Damaged(what)
}

/// How many pages a new rowset will have at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Few: where pages come from mixed extents, its first ones do.
    Small,
    /// Eight or more: it gets extents only.
    Large,
}

impl Size {
    /// Of a copy of a table, or of an index on it: as large as the table is.
    pub(super) fn of(catalog: &Catalog, table: &crate::table::Table) -> Result<Size, EngineError> {
        if !catalog.space.has_mixed_pages() {
            return Ok(Size::Large);
        }
        let counts = catalog.space.page_counts(table.base().rowset().unit())?;
        Ok(match counts.data >= u64::from(SINGLE_PAGE_SLOTS) {
            true => Size::Large,
            false => Size::Small,
        })
    }
}

fn form_of(is_data: bool, has_key: bool) -> RowForm {
    match (is_data, has_key) {
        (true, true) => RowForm::ClusteredLeaf,
        (true, false) => RowForm::Heap,
        (false, _) => RowForm::IndexLeaf,
    }
}

/// Whether a user's rowset is a heap: index 0.
fn is_heap(rowset: &catalog::Rowset) -> bool {
    rowset.idminor == 0
}

/// The shape of a user's rowset.
pub(super) fn shape_of(
    rowset: &catalog::Rowset,
    columns: &[RowsetColumn],
) -> Result<Shape, EngineError> {
    let is_data = rowset.status & rowset_status::DATA != 0;
    let has_key = columns.iter().any(|c| c.ordkey > 0);
    let unique = rowset.status & rowset_status::UNIQUE != 0;
    let sizes = (rowset.minleaf as u16, rowset.minint as u16);
    Shape::from_catalog(form_of(is_data, has_key), columns, sizes.0, sizes.1, unique)
        .map_err(|e| damaged(format!("rowset {}: {e}", rowset.rowsetid)))
}

impl Catalog {
    /// Allocates a unit with a root page, and enters it as one to be dropped: so it is freed unless the
    /// transaction changes its type. It is entered before its pages are allocated, so that a crash in
    /// between leaves no page without an entry. No latch may be held.
    pub(super) fn make_unit(
        &self,
        (id, filegroup): (AllocUnitId, u16),
        rowset: &catalog::Rowset,
        size: Size,
    ) -> Result<(AllocUnit, Arc<Unit>), EngineError> {
        let small = size == Size::Small && self.space.has_mixed_pages();
        let entered = AllocUnit {
            auid: id.0 as i64,
            kind: TO_DROP,
            ownerid: rowset.rowsetid,
            status: 0,
            fgid: filegroup as i16,
            pgfirst: PageId::NONE,
            pgroot: PageId::NONE,
            pgfirstiam: PageId::NONE,
            // These counts are true once the root page is there. For a heap, which has no page yet, the
            // next checkpoint writes the counts.
            pcused: 2,
            pcdata: 1,
            pcreserved: if small { 2 } else { 9 },
        };
        self.bases.insert(&mut By::System, &entered)?;
        let made = self.make_entered(&entered, rowset, size);
        if made.is_err() {
            self.pass_number(&entered)?;
            self.bases.delete(&mut By::System, &entered)?;
        }
        made
    }

    fn make_entered(
        &self,
        entered: &AllocUnit,
        rowset: &catalog::Rowset,
        size: Size,
    ) -> Result<(AllocUnit, Arc<Unit>), EngineError> {
        let id = AllocUnitId(entered.auid as u64);
        let filegroup = entered.fgid as u16;
        let unit = match size {
            Size::Small => self.space.create_unit(id, filegroup)?,
            Size::Large => self.space.create_large_unit(id, filegroup)?,
        };
        // A heap's first page comes with its first row.
        let root = match is_heap(rowset) {
            true => Ok(PageId::NONE),
            false => self.make_root(&unit, rowset),
        };
        let written_down = root.and_then(|root| {
            let row = AllocUnit {
                pgfirst: root,
                pgroot: root,
                pgfirstiam: unit.first_iam(),
                ..entered.clone()
            };
            let _turn = self.change.lock();
            self.bases.replace(&mut By::System, &row)?;
            Ok(row)
        });
        match written_down {
            Ok(row) => Ok((row, unit)),
            Err(error) => {
                self.space.drop_unit(&unit)?;
                Err(error)
            }
        }
    }

    /// Frees the pages of a unit that was entered, and perhaps allocated, but not recorded as finished
    /// before a crash.
    pub(super) fn free_unfinished(&self, unit: &AllocUnit) -> Result<(), EngineError> {
        let found = self.space.find_unit(AllocUnitId(unit.auid as u64))?;
        if let Some(pgfirstiam) = found {
            let found = AllocUnit {
                pgfirstiam,
                ..unit.clone()
            };
            return self.free_unit(&found);
        }
        let _turn = self.change.lock();
        self.bases.delete(&mut By::System, unit)
    }

    fn make_root(&self, unit: &Arc<Unit>, rowset: &catalog::Rowset) -> Result<PageId, EngineError> {
        let mut pages = self.space.reserve(unit, 1, None)?;
        let root = pages.take()?;
        self.store.promise(ROOT_LOG_BYTES)?;
        self.store.log().give_back(ROOT_LOG_BYTES);
        let is_data = rowset.status & rowset_status::DATA != 0;
        let kind = if is_data {
            PageType::Data
        } else {
            PageType::Index
        };
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(self.store.create(root, LatchRank::Data)?);
        mini.push(
            page,
            &Change::Format(PageInit::new(root, kind, unit.id(), rowset.minleaf as u16)),
        );
        pages.allocate(&mut mini, root, PfsByte(PfsByte::ALLOCATED))?;
        mini.commit(&Author::System)?;
        pages.done();
        Ok(root)
    }

    /// Changes the type of a unit within a transaction.
    pub(super) fn set_unit_kind(
        &self,
        by: &mut By<'_>,
        unit: &AllocUnit,
        kind: u8,
    ) -> Result<(), EngineError> {
        let _turn = self.change.lock();
        let mut row = self.unit_row(unit.auid)?;
        row.kind = kind;
        self.bases.replace(by, &row)
    }

    /// A unit's row as it is now.
    pub(super) fn unit_row(&self, auid: i64) -> Result<AllocUnit, EngineError> {
        let rows: Vec<AllocUnit> = self.bases.rows(&[auid.into()])?;
        let missing = || {
            damaged(format!(
                "allocation unit {auid} is not in {}",
                SYSALLOCUNITS.name
            ))
        };
        rows.into_iter().next().ok_or_else(missing)
    }

    /// Opens a tree and lists it.
    pub(super) fn list_rowset(
        &self,
        rowset: &catalog::Rowset,
        columns: &[RowsetColumn],
        unit: Arc<Unit>,
        root: PageId,
        new: bool,
    ) -> Result<Arc<Rowset>, EngineError> {
        let id = RowsetId(rowset.rowsetid as u64);
        let (store, space) = (Arc::clone(&self.store), Arc::clone(&self.space));
        let shape = shape_of(rowset, columns)?;
        let body = match is_heap(rowset) {
            true => Body::Heap(Box::new(Heap::open(HeapParts {
                store,
                space,
                unit,
                rowset: id,
                shape,
            }))),
            false => Body::Tree(Tree::open(TreeParts {
                store,
                space,
                unit,
                rowset: id,
                index_id: rowset.idminor as u32,
                root,
                shape,
            })),
        };
        let rows = if new {
            self.store.counts.set(id, 0);
            0
        } else {
            self.store.counts.open(id, rowset.rcrows)
        };
        let made = Arc::new(Rowset::new(body, rows, new));
        made.set_offline(self.space.is_offline(made.filegroup()));
        if rows != rowset.rcrows {
            made.mark_changed();
        }
        Ok(Arc::clone(self.rowsets.write().entry(id).or_insert(made)))
    }

    /// The rowset in memory, or opened by these rows.
    pub(super) fn rowset_by_rows(
        &self,
        rows: &TableRows,
        id: RowsetId,
    ) -> Result<Arc<Rowset>, EngineError> {
        if let Some(found) = self.rowsets.read().get(&id) {
            return Ok(Arc::clone(found));
        }
        let number = id.0 as i64;
        let missing = |what: &str| damaged(format!("rowset {number} has no {what}"));
        let rowset = rows.rowsets.iter().find(|r| r.rowsetid == number);
        let rowset = rowset.ok_or_else(|| missing("row in sysrowsets"))?;
        let unit = rows
            .units
            .iter()
            .find(|u| u.ownerid == number && u.kind == unit_kind::IN_ROW);
        let unit = unit.ok_or_else(|| missing("allocation unit"))?;
        let columns: Vec<RowsetColumn> = rows
            .layouts
            .iter()
            .filter(|l| l.rsid == number)
            .cloned()
            .collect();
        let opened = self.open_unit(unit)?;
        self.list_rowset(rowset, &columns, opened, unit.pgroot, false)
    }

    pub(super) fn open_unit(&self, unit: &AllocUnit) -> Result<Arc<Unit>, EngineError> {
        let id = AllocUnitId(unit.auid as u64);
        Ok(self
            .space
            .open_unit(id, unit.fgid as u16, unit.pgfirstiam)?)
    }

    /// The rowset with this number, also one of a transaction that is being undone.
    pub(super) fn find_rowset(&self, id: RowsetId) -> Result<Arc<Rowset>, EngineError> {
        if let Some(found) = self.rowsets.read().get(&id) {
            return Ok(Arc::clone(found));
        }
        let number = id.0 as i64;
        let missing = |what: &str| damaged(format!("rowset {number} has no {what}"));
        let rowset: Option<catalog::Rowset> = self.bases.rows(&[number.into()])?.into_iter().next();
        let rowset = rowset.ok_or_else(|| missing("row in sysrowsets"))?;
        let columns: Vec<RowsetColumn> = self.bases.rows(&[number.into()])?;
        let units: Vec<AllocUnit> = self.bases.all()?;
        let unit = units.into_iter().find(|u| rowset_of(u) == id);
        let unit = unit.ok_or_else(|| missing("allocation unit"))?;
        let opened = self.open_unit(&unit)?;
        self.list_rowset(&rowset, &columns, opened, unit.pgroot, false)
    }

    /// Frees the pages of a unit that is entered as one to be dropped, and takes it off the list. May
    /// be interrupted and begun again.
    pub(crate) fn free_unit(&self, unit: &AllocUnit) -> Result<(), EngineError> {
        let id = rowset_of(unit);
        let opened = {
            let mut listed = self.rowsets.write();
            let mine = listed
                .get(&id)
                .is_some_and(|r| r.unit_id().0 as i64 == unit.auid);
            match listed.remove(&id).filter(|_| mine) {
                Some(rowset) => Arc::clone(rowset.unit()),
                None => self.open_unit(unit)?,
            }
        };
        {
            let _alone = self.freeing.write();
            self.space.drop_unit(&opened)?;
        }
        self.store.counts.retain(|rowset| rowset != id);
        self.pass_number(unit)?;
        let _turn = self.change.lock();
        match self.bases.delete(&mut By::System, unit) {
            Err(EngineError::Access(AccessError::NotFound)) => Ok(()),
            other => other,
        }
    }

    /// Rows of `sysrowsets` for an index.
    pub(super) fn rowset_row(
        rowset: RowsetId,
        index: &IndexStat,
        layout: &catalog::RowsetLayout,
        unique: bool,
    ) -> catalog::Rowset {
        let mut status = rowset_status::USER;
        if index.kind != index_kind::NONCLUSTERED {
            status |= rowset_status::DATA;
        }
        if unique {
            status |= rowset_status::UNIQUE;
        }
        catalog::Rowset {
            rowsetid: rowset.0 as i64,
            ownertype: 1,
            idmajor: index.id,
            idminor: index.indid,
            numpart: 1,
            status: status | rowset_status::NULLABLE_KEYS,
            fgidfs: 0,
            rcrows: 0,
            cmprlevel: 0,
            fillfact: 0,
            maxnullbit: layout.maxnullbit,
            maxleaf: layout.maxleaf,
            maxint: layout.maxint,
            minleaf: layout.minleaf,
            minint: layout.minint,
            rsguid: None,
            lockres: None,
            scope_id: None,
        }
    }
}
