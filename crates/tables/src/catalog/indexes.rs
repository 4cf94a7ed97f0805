//! CREATE INDEX and DROP INDEX on a table that is there, and keys that come and go.

use super::create::IndexPlan;
use super::rowsets::Size;
use super::{Catalog, DdlChanges};
use crate::error::{EngineError, refuse};
use crate::schema::{ConstraintSpec, IndexSpec, check_index, check_keys, same_name};
use crate::table::{Index, IndexKind, Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::{AllocUnit, index_kind, object_type};
use std::sync::Arc;

/// The result of a change of a table.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) table: Arc<Table>,
    /// Whether all its rows have to be copied; otherwise new indexes are to be filled.
    pub(crate) rewritten: bool,
}

impl Catalog {
    /// Enters an index without rows. The caller holds Sch-M on the table.
    pub(crate) fn create_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        spec: &IndexSpec,
    ) -> Result<Changed, EngineError> {
        let columns = table.column_specs();
        check_index(&columns, spec, &table.name)?;
        if table.index_named(&spec.name).is_some() {
            let args = [
                spec.name.as_str().into(),
                "table".into(),
                table.full_name().into(),
            ];
            return Err(EngineError::refused(1913, &args));
        }
        let own = spec.filegroup.as_deref();
        let same = table.rows.indexes.first().map_or(1, |i| i.dataspace as u16);
        let filegroup = own.map_or(Ok(same), |name| self.filegroup(Some(name)))?;
        let plan = Self::plan_of(spec, filegroup);
        self.add_index(by, changes, (table, table.rows.clone()), plan)
    }

    /// Enters one more index: a clustered one takes the place of a heap.
    pub(super) fn add_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (table, mut rows): (&Table, TableRows),
        mut plan: IndexPlan<'_>,
    ) -> Result<Changed, EngineError> {
        if plan.kind == index_kind::CLUSTERED {
            if table.base().kind != IndexKind::Heap {
                let text = format!(
                    "Cannot create more than one clustered index on table '{}'. Drop the existing \
                    clustered index '{}' before creating another.",
                    table.full_name(),
                    table.base().name
                );
                return Err(refuse(1902, 16, 3, &text));
            }
            plan.id = 1;
            let mut plans: Vec<IndexPlan<'_>> = Self::plans_of(table);
            plans.retain(|p| p.kind != index_kind::HEAP);
            plans.push(plan);
            let table = self.rewrite(by, changes, (table, rows), plans)?;
            let rewritten = true;
            return Ok(Changed { table, rewritten });
        }
        let used = |id: i32| table.indexes.iter().any(|i| i.id as i32 == id);
        plan.id = (2..).find(|&id| !used(id)).unwrap_or(2);
        let (rowsets, indexes) = (rows.rowsets.len(), rows.indexes.len());
        self.index_rows(&table.column_specs(), &plan, &mut rows)?;
        self.write_differences(by, &table.rows, &rows)?;
        let size = Size::of(self, table)?;
        self.enter_rows(by, changes, &mut rows, (rowsets, size))?;
        self.write_index_rows(by, &rows, indexes)?;
        let table = self.note_table(changes, rows, Some(table))?;
        let rewritten = false;
        Ok(Changed { table, rewritten })
    }

    /// ADD CONSTRAINT PRIMARY KEY or UNIQUE: its object, and an index without rows.
    pub(crate) fn add_key(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        spec: &ConstraintSpec,
    ) -> Result<Changed, EngineError> {
        check_keys(
            &table.column_specs(),
            std::slice::from_ref(spec),
            &table.name,
        )?;
        if spec.primary && table.indexes.iter().any(Index::is_primary_key) {
            return Err(EngineError::refused(1779, &[table.name.as_str().into()]));
        }
        let mut rows = table.rows.clone();
        let same = rows.indexes.first().map_or(1, |i| i.dataspace as u16);
        let plan = self.key_plan(spec, &mut rows, same, changes)?;
        if table.index_named(&plan.name).is_some() {
            let args = [
                plan.name.as_str().into(),
                "table".into(),
                table.full_name().into(),
            ];
            return Err(EngineError::refused(1913, &args));
        }
        self.add_index(by, changes, (table, rows), plan)
    }

    /// Takes an index out. The caller holds Sch-M on the table.
    pub(crate) fn drop_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        name: &str,
    ) -> Result<Changed, EngineError> {
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
            return Err(EngineError::refused(3723, &[full.into(), kind.into()]));
        }
        let rows = table.rows.clone();
        self.remove_index(by, changes, (table, rows), index)
    }

    /// Takes the object of a key out, and its index.
    pub(super) fn drop_key(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        index: &Index,
    ) -> Result<Changed, EngineError> {
        self.check_key_unreferenced(changes, table, index)?;
        let mut rows = table.rows.clone();
        let is_key =
            |kind| kind == object_type::PRIMARY_KEY || kind == object_type::UNIQUE_CONSTRAINT;
        rows.children
            .retain(|c| !(is_key(c.kind) && same_name(&c.name, &index.name)));
        self.remove_index(by, changes, (table, rows), index)
    }

    /// What was clustered becomes a heap.
    fn remove_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (table, mut rows): (&Table, TableRows),
        index: &Index,
    ) -> Result<Changed, EngineError> {
        let number = index.id as i32;
        if number == 1 {
            let mut plans = Self::plans_of(table);
            let filegroup = plans.first().map_or(1, |p| p.filegroup);
            plans.retain(|p| p.id != 1);
            plans.push(Self::heap_plan(filegroup));
            let table = self.rewrite(by, changes, (table, rows), plans)?;
            let rewritten = true;
            return Ok(Changed { table, rewritten });
        }
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
        self.write_differences(by, &table.rows, &rows)?;
        let table = self.note_table(changes, rows, Some(table))?;
        let rewritten = false;
        Ok(Changed { table, rewritten })
    }

    /// New rowsets for one nonclustered index.
    pub(crate) fn rebuild_index(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        index: &Index,
    ) -> Result<Changed, EngineError> {
        if index.is_base() {
            let table = self.rebuild_table(by, changes, table)?;
            let rewritten = true;
            return Ok(Changed { table, rewritten });
        }
        let plans = Self::plans_of(table);
        let plan = plans.into_iter().find(|p| p.id == index.id as i32);
        let plan = plan.ok_or_else(|| EngineError::Damaged("an index has no row".to_owned()))?;
        let gone = self.remove_index(by, changes, (table, table.rows.clone()), index)?;
        let rows = gone.table.rows.clone();
        self.add_index(by, changes, (&gone.table, rows), plan)
    }
}
