//! DROP TABLE and DROP INDEX: rows go within the transaction, pages after it.

use super::{Catalog, DdlChanges, name_key};
use crate::EngineError;
use crate::schema::refuse;
use crate::table::{Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::{self, AllocUnit, RowsetColumn};
use std::sync::Arc;

impl Catalog {
    /// Takes a table out. The caller holds Sch-M on it.
    pub(crate) fn drop_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
    ) -> Result<(), EngineError> {
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

    /// Takes an index out. The caller holds Sch-M on the table.
    pub(crate) fn drop_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        name: &str,
    ) -> Result<Arc<Table>, EngineError> {
        let full = format!("{}.{name}", table.full_name());
        let index = table.index_named(name).filter(|i| i.id != 0);
        let missing =
            || EngineError::refused(3701, &["drop".into(), "index".into(), full.clone().into()]);
        let index = index.ok_or_else(missing)?;
        if index.is_primary_key() || index.is_unique_constraint() {
            let kind = if index.is_primary_key() {
                "PRIMARY KEY"
            } else {
                "UNIQUE KEY"
            };
            let text = format!(
                "An explicit DROP INDEX is not allowed on index '{full}'. It is being used for \
                {kind} constraint \
                 enforcement."
            );
            return Err(refuse(3723, 16, 4, &text));
        }
        if index.id == 1 {
            let text = format!(
                "The clustered index '{full}' cannot be dropped: a table that has one keeps it."
            );
            return Err(refuse(40054, 16, 2, &text));
        }
        let number = index.id as i32;
        let mut rows = table.rows.clone();
        self.drop_rowsets(by, changes, &rows, |r| r.idminor == number)?;
        let gone: Vec<i64> = rows
            .rowsets
            .iter()
            .filter(|r| r.idminor == number)
            .map(|r| r.rowsetid)
            .collect();
        for member in rows.index_columns.iter().filter(|c| c.idminor == number) {
            self.bases.delete(by, member)?;
        }
        for stat in rows.indexes.iter().filter(|i| i.indid == number) {
            self.bases.delete(by, stat)?;
        }
        rows.index_columns.retain(|c| c.idminor != number);
        rows.indexes.retain(|i| i.indid != number);
        rows.rowsets.retain(|r| r.idminor != number);
        rows.layouts.retain(|l| !gone.contains(&l.rsid));
        rows.units
            .retain(|u: &AllocUnit| !gone.contains(&u.ownerid));
        self.note_table(changes, rows, Some(table))
    }
}
