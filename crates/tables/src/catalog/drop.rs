//! DROP TABLE and DROP INDEX: rows go within the transaction, pages after it.

use super::{Catalog, DdlChanges, name_key};
use crate::error::EngineError;
use crate::table::{Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::{self, RowsetColumn};

impl Catalog {
    /// Takes a table out. The caller holds Sch-M on it.
    pub(crate) fn drop_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
    ) -> Result<(), EngineError> {
        self.check_unreferenced(changes, table, 3726)?;
        let rows = &table.rows;
        self.drop_rowsets(by, changes, rows, |_| true)?;
        for member in &rows.index_columns {
            self.bases.delete(by, member)?;
        }
        for index in &rows.indexes {
            self.bases.delete(by, index)?;
        }
        for value in &rows.values {
            self.bases.delete(by, value)?;
        }
        for reference in &rows.references {
            self.bases.delete(by, reference)?;
        }
        for child in &rows.children {
            self.bases.delete(by, child)?;
        }
        for column in &rows.columns {
            self.bases.delete(by, column)?;
        }
        self.bases.delete(by, &rows.object)?;
        changes.note(table.id, name_key(&table.schema, &table.name), None);
        Ok(())
    }

    /// Marks the units of rowsets as to be dropped, and deletes the rows of the rowsets.
    pub(super) fn drop_rowsets(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        rows: &TableRows,
        which: impl Fn(&catalog::Rowset) -> bool,
    ) -> Result<(), EngineError> {
        for rowset in rows.rowsets.iter().filter(|r| which(r)) {
            let columns = rows.layouts.iter().filter(|l| l.rsid == rowset.rowsetid);
            for column in columns {
                self.bases.delete::<RowsetColumn>(by, column)?;
            }
            {
                let _turn = self.change.lock();
                self.bases.delete(by, rowset)?;
            }
            for unit in rows.units.iter().filter(|u| u.ownerid == rowset.rowsetid) {
                self.set_unit_kind(by, unit, super::rowsets::TO_DROP)?;
                changes.note_unit(unit, false);
            }
        }
        Ok(())
    }
}
