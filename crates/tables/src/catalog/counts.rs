//! Values that are written back apart from the statements that change tables: counts of rows and pages,
//! identity values, where the catalog begins.

use super::Catalog;
use super::bases::first_leaf;
use super::ids::is_user_number;
use super::overlay::rowset_of;
use crate::error::EngineError;
use crate::table::{Body, Rowset, Table};
use furrow_access::{AccessError, By};
use furrow_format::boot::field;
use furrow_format::catalog::{self, AllocUnit, unit_kind};
use furrow_format::{BOOT_PAGE, PageId, RowsetId};
use furrow_io::sync::atomic::Ordering;
use furrow_pool::LatchRank;
use furrow_space::Unit;
use furrow_txn::{Author, Mini};
use std::sync::Arc;

/// Log space for the boot page's fields.
const BOOT_LOG_BYTES: u64 = 4096;
/// How far behind a dropped unit the boot page's next number is put.
const NUMBERS_AHEAD: u64 = 64;

/// A row that is gone meanwhile has no counts to be written.
fn unless_gone(result: Result<(), EngineError>) -> Result<(), EngineError> {
    match result {
        Err(EngineError::Access(AccessError::NotFound)) => Ok(()),
        other => other,
    }
}

impl Catalog {
    /// Writes counts of rows and pages of what has changed since the last time, and where the catalog
    /// begins. With no latch held; may wait for log space.
    pub fn write_counts(&self) -> Result<(), EngineError> {
        let mut all: Vec<Arc<Rowset>> = self.rowsets.read().values().cloned().collect();
        // In one order always, so that equal runs write equal logs.
        all.sort_unstable_by_key(|rowset| rowset.id());
        for rowset in all.into_iter().filter(|r| r.take_changed()) {
            match self.write_counts_of(&rowset) {
                Ok(()) => {}
                // A damaged page of one table must not keep the database from its checkpoint, or from
                // opening. The counts of the table stay as they are until it changes again.
                Err(e) if e.is_damage() => {
                    let rowset = rowset.id().0;
                    tracing::warn!(rowset, error = %e, "counts cannot be written");
                }
                Err(e) => {
                    rowset.mark_changed();
                    return Err(e);
                }
            }
        }
        for base in self.bases.iter() {
            let (id, rows) = (base.table.rowset_id(), base.rows.load(Ordering::Relaxed));
            self.write_row_count(id, rows)?;
            let tree = &base.tree;
            let first = first_leaf(&self.store, tree.root())?;
            let (unit, uppers) = (base.table.unit_id().0 as i64, tree.upper_pages()?);
            self.write_unit_counts(unit, tree.unit(), (first, None), uppers)?;
        }
        self.write_identities()?;
        self.write_boot()
    }

    /// After a crash: pages that came or went since the last checkpoint are not in the counts.
    pub fn counts_are_behind(&self) {
        for rowset in self.rowsets.read().values() {
            rowset.mark_changed();
        }
    }

    fn write_counts_of(&self, rowset: &Rowset) -> Result<(), EngineError> {
        // This must not wait. A thread that frees pages may wait for log space, log space may wait for a
        // checkpoint, and this call is a part of the checkpoint.
        let here = self.freeing.try_read();
        if here.is_none() || !self.rowsets.read().contains_key(&rowset.id()) {
            rowset.mark_changed();
            return Ok(());
        }
        // The committed count. Only the log has a newer one, and a count without its log records is as
        // good as this.
        let rows = self.store.counts.get(rowset.id());
        let rows = rows.unwrap_or_else(|| rowset.row_count());
        // Other sessions do not see a table that is being created or dropped.
        if !self.write_row_count(rowset.id(), rows)? {
            rowset.mark_changed();
            return Ok(());
        }
        if rowset.is_offline() {
            // Its pages are not there: the counts of them stay as they are.
            return Ok(());
        }
        // As in SQL Server's files the root of a heap is its first page.
        let (first, uppers) = match rowset.body() {
            Body::Tree(tree) => {
                let first = first_leaf(&self.store, tree.root())?;
                ((first, None), tree.upper_pages()?)
            }
            Body::Heap(heap) => {
                let first = self.space.pages(heap.unit())?.next().transpose()?;
                let first = first.unwrap_or(PageId::NONE);
                ((first, Some(first)), 0)
            }
        };
        self.write_unit_counts(rowset.unit_id().0 as i64, rowset.unit(), first, uppers)
    }

    /// Writes the number of rows of a rowset; `false` when that is not there.
    fn write_row_count(&self, rowset: RowsetId, rows: i64) -> Result<bool, EngineError> {
        let id = rowset.0 as i64;
        let _turn = self.change.lock();
        let row: Option<catalog::Rowset> = self.bases.rows(&[id.into()])?.into_iter().next();
        let Some(mut row) = row else {
            return Ok(false);
        };
        if row.rcrows != rows {
            row.rcrows = rows;
            unless_gone(self.bases.replace(&mut By::System, &row))?;
        }
        Ok(true)
    }

    /// `first` is the first page, and the root where that may have changed; `uppers` the number of pages
    /// above the leaves, which are no data pages.
    fn write_unit_counts(
        &self,
        auid: i64,
        unit: &Unit,
        (first, root): (PageId, Option<PageId>),
        uppers: u64,
    ) -> Result<(), EngineError> {
        let counts = self.space.page_counts(unit)?;
        let _turn = self.change.lock();
        let Ok(before) = self.unit_row(auid) else {
            return Ok(());
        };
        let row = AllocUnit {
            pgfirst: first,
            pgroot: root.unwrap_or(before.pgroot),
            pcused: counts.used as i64,
            pcdata: counts.data.saturating_sub(uppers) as i64,
            pcreserved: counts.reserved as i64,
            ..before.clone()
        };
        if row != before {
            unless_gone(self.bases.replace(&mut By::System, &row))?;
        }
        Ok(())
    }

    fn write_boot(&self) -> Result<(), EngineError> {
        let root = self.bases.tree(&catalog::SYSALLOCUNITS)?.root();
        let first = first_leaf(&self.store, root)?;
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let boot = self.store.write(BOOT_PAGE, LatchRank::Boot)?;
        // Under the latch: what a drop has put there ([`Catalog::pass_number`]) is not taken back.
        let numbers = self
            .ids
            .read()
            .as_ref()
            .map(|ids| (ids.next_unit(), ids.next_object()));
        let Some((unit, object)) = numbers else {
            return Ok(());
        };
        let page = boot.page();
        let same = field::CATALOG_PAGE.get_page(page) == first
            && field::NEXT_UNIT.get(page) == unit.to_le_bytes()
            && field::NEXT_OBJECT_ID.get(page) == object.to_le_bytes();
        if same {
            return Ok(());
        }
        let mut mini = Mini::new(&self.store);
        let at = mini.adopt(boot);
        mini.push(at, &field::CATALOG_PAGE.change(&first.to_bytes()));
        mini.push(at, &field::NEXT_UNIT.change(&unit.to_le_bytes()));
        mini.push(at, &field::NEXT_OBJECT_ID.change(&object.to_le_bytes()));
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// Before a unit is taken off the list: after a crash its number is not used again, since its pages keep
    /// their content. The boot page gets a number some way behind it, so that few drops write it.
    pub(super) fn pass_number(&self, unit: &AllocUnit) -> Result<(), EngineError> {
        let number = unit.auid as u64 >> 16;
        if !is_user_number(number) || self.store.log().is_temporary() {
            return Ok(());
        }
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let boot = self.store.write(BOOT_PAGE, LatchRank::Boot)?;
        let noted = u64::from_le_bytes(field::NEXT_UNIT.get(boot.page()));
        if noted > number {
            return Ok(());
        }
        let mut mini = Mini::new(&self.store);
        let at = mini.adopt(boot);
        let next = number + NUMBERS_AHEAD;
        mini.push(at, &field::NEXT_UNIT.change(&next.to_le_bytes()));
        mini.commit(&Author::System)?;
        Ok(())
    }

    /// Writes identity values as they are, so that a clean shutdown leaves no gap. The session that takes
    /// the next value reserves a range in the log again.
    fn write_identities(&self) -> Result<(), EngineError> {
        for table in self.tables() {
            self.write_identity(&table)?;
        }
        Ok(())
    }

    fn write_identity(&self, table: &Table) -> Result<(), EngineError> {
        let Some(counter) = &table.identity else {
            return Ok(());
        };
        let mut state = counter.state.lock();
        let now = state.now;
        if now == state.logged {
            return Ok(());
        }
        self.store_identity(table, counter.colid, now.encode(&counter.data_type))?;
        state.logged = now;
        Ok(())
    }

    /// Puts the bytes of an identity value in its column's row, in the engine's own name: no rollback
    /// takes it back.
    pub(crate) fn store_identity(
        &self,
        table: &Table,
        colid: i32,
        value: Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        let row = table.rows.columns.iter().find(|c| c.colid == colid);
        let Some(mut row) = row.cloned() else {
            return Ok(());
        };
        row.idtval = value;
        let _turn = self.change.lock();
        self.bases.replace(&mut By::System, &row)
    }

    /// Rowsets of units that wait to be freed: for checks.
    pub fn units_to_drop(&self) -> Result<Vec<RowsetId>, EngineError> {
        let units: Vec<AllocUnit> = self.bases.all()?;
        let waiting = units
            .iter()
            .filter(|u| u.kind != unit_kind::IN_ROW && u.pgfirstiam != PageId::NONE);
        Ok(waiting.map(rowset_of).collect())
    }
}
