//! TRUNCATE TABLE: new, empty rowsets in the place of the old ones.

use super::rowsets::Size;
use super::{Catalog, DdlChanges};
use crate::error::EngineError;
use crate::schema::ColumnSpec;
use crate::table::{Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::Identity;
use std::sync::Arc;

impl Catalog {
    /// Gives every index of a table new, empty rowsets; the old ones are to be dropped. The caller
    /// holds Sch-M.
    pub(crate) fn truncate_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
    ) -> Result<Arc<Table>, EngineError> {
        self.check_unreferenced(changes, table, 4712)?;
        let columns = table.column_specs();
        let mut rows = table.rows.clone();
        self.drop_rowsets(by, changes, &rows, |_| true)?;
        for index in &rows.indexes {
            self.bases.delete(by, index)?;
        }
        for member in &rows.index_columns {
            self.bases.delete(by, member)?;
        }
        let plans = Self::plans_of(table);
        rows.indexes.clear();
        rows.index_columns.clear();
        rows.rowsets.clear();
        rows.layouts.clear();
        rows.units.clear();
        for plan in &plans {
            self.index_rows(&columns, plan, &mut rows)?;
        }
        self.renew_identity(by, &mut rows, &columns)?;
        self.enter_rows(by, changes, &mut rows, (0, Size::Small))?;
        self.write_index_rows(by, &rows, 0)?;
        self.note_table(changes, rows, None)
    }

    /// Restarts the identity values of a table whose rows were deleted because there was no space to
    /// truncate it. The caller holds Sch-M.
    pub(crate) fn restart_identity(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
    ) -> Result<Arc<Table>, EngineError> {
        self.check_unreferenced(changes, table, 4712)?;
        let columns = table.column_specs();
        let mut rows = table.rows.clone();
        self.renew_identity(by, &mut rows, &columns)?;
        self.note_table(changes, rows, None)
    }

    fn renew_identity(
        &self,
        by: &mut By<'_>,
        rows: &mut TableRows,
        columns: &[ColumnSpec],
    ) -> Result<(), EngineError> {
        for (column, made) in rows.columns.iter_mut().zip(columns) {
            let value = Some(made).zip(column.idtval.as_deref());
            let Some(fresh) = value.and_then(|(c, v)| {
                let identity = Identity::decode(&c.data_type, v)?;
                Identity::new(identity.seed, identity.increment).encode(&c.data_type)
            }) else {
                continue;
            };
            column.idtval = Some(fresh);
            self.bases.replace(by, column)?;
        }
        Ok(())
    }
}
