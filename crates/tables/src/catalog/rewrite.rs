//! Another definition of a table that has rows: new rowsets in the place of the old ones.
//!
//! # Steps
//! 1. The new catalog rows are built. Those of the indexes are built from plans, which come from the
//!    present indexes.
//! 2. The old rowsets are marked as to be dropped; the new ones get units of their own, empty.
//! 3. The session copies the rows (`session::copy`), and fills the other indexes.
//!
//! Until the transaction commits the old rowsets stay as they are, so that a rollback only lets the new ones
//! go; a crash in between is a rollback. The caller holds Sch-M on the table throughout.

use super::create::IndexPlan;
use super::rowsets::Size;
use super::{Catalog, DdlChanges, name_key};
use crate::error::EngineError;
use crate::schema::{ColumnSpec, KeyColumnSpec};
use crate::table::{Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::{BaseRow, index_kind};
use std::borrow::Cow;
use std::sync::Arc;

/// Deletes, replaces and inserts rows of a base table, from what was to what is to be.
fn differ<R: BaseRow + PartialEq>(
    catalog: &Catalog,
    by: &mut By<'_>,
    (before, after): (&[R], &[R]),
    same: impl Fn(&R, &R) -> bool,
) -> Result<(), EngineError> {
    let bases = catalog.bases();
    for old in before
        .iter()
        .filter(|old| !after.iter().any(|new| same(old, new)))
    {
        bases.delete(by, old)?;
    }
    for new in after {
        match before.iter().find(|old| same(old, new)) {
            Some(old) if old == new => {}
            Some(_) => bases.replace(by, new)?,
            None => bases.insert(by, new)?,
        }
    }
    Ok(())
}

impl Catalog {
    /// The columns as a request would describe them.
    pub(super) fn specs_of(rows: &TableRows) -> Result<Vec<ColumnSpec>, EngineError> {
        let columns = rows.columns.iter().map(|row| Table::made_column(rows, row));
        let columns: Option<Vec<_>> = columns.collect();
        let bad = || EngineError::Damaged("a column has an unknown type".to_owned());
        let spec = |c: crate::table::Column| ColumnSpec {
            nullable: c.nullable,
            ..ColumnSpec::new(&c.name, c.data_type)
        };
        Ok(columns.ok_or_else(bad)?.into_iter().map(spec).collect())
    }

    /// The indexes of a table as plans, the table itself first.
    pub(super) fn plans_of(table: &Table) -> Vec<IndexPlan<'static>> {
        let named = |c: usize| {
            let column = table.columns.get(c);
            column.map_or_else(String::new, |c| c.name.clone())
        };
        let mut plans = Vec::new();
        for stat in &table.rows.indexes {
            let Some(index) = table.indexes.iter().find(|i| i.id as i32 == stat.indid) else {
                continue;
            };
            let key = index.key.iter().map(|k| KeyColumnSpec {
                name: named(k.column),
                descending: k.descending,
            });
            plans.push(IndexPlan {
                id: stat.indid,
                name: index.name.clone(),
                status: stat.status,
                fill_factor: stat.fillfact,
                kind: stat.kind,
                key: Cow::Owned(key.collect()),
                included: Cow::Owned(index.included.iter().map(|&c| named(c)).collect()),
                filegroup: stat.dataspace as u16,
            });
        }
        plans.sort_by_key(|p| p.id);
        plans
    }

    /// Writes what has changed of a table's object, columns, keys, checks, defaults and their texts.
    pub(super) fn write_differences(
        &self,
        by: &mut By<'_>,
        before: &TableRows,
        rows: &TableRows,
    ) -> Result<(), EngineError> {
        let objects = (
            std::slice::from_ref(&before.object),
            std::slice::from_ref(&rows.object),
        );
        differ(self, by, objects, |a, b| a.id == b.id)?;
        let columns = (&before.columns[..], &rows.columns[..]);
        differ(self, by, columns, |a, b| a.colid == b.colid)?;
        let children = (&before.children[..], &rows.children[..]);
        differ(self, by, children, |a, b| a.id == b.id)?;
        let references = (&before.references[..], &rows.references[..]);
        differ(self, by, references, |a, b| {
            a.class == b.class && a.depid == b.depid && a.depsubid == b.depsubid
        })?;
        let values = (&before.values[..], &rows.values[..]);
        differ(self, by, values, |a, b| {
            a.objid == b.objid && a.valnum == b.valnum && a.valclass == b.valclass
        })
    }

    /// Enters a changed definition that needs no other rows.
    pub(super) fn redefine(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        before: &Table,
        rows: TableRows,
    ) -> Result<Arc<Table>, EngineError> {
        let mut rows = rows;
        rows.object.modified = super::create::created_now();
        self.write_differences(by, &before.rows, &rows)?;
        let (old, new) = (
            name_key(&before.schema, &before.name),
            name_key(&rows.schema, &rows.object.name),
        );
        if old != new {
            changes.note(before.id, old, None);
        }
        self.note_table(changes, rows, Some(before))
    }

    /// Enters a changed definition with new, empty rowsets for all indexes.
    pub(super) fn rewrite(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (before, mut rows): (&Table, TableRows),
        mut plans: Vec<IndexPlan<'_>>,
    ) -> Result<Arc<Table>, EngineError> {
        let size = Size::of(self, before)?;
        self.drop_rowsets(by, changes, &before.rows, |_| true)?;
        for index in &before.rows.indexes {
            self.bases.delete(by, index)?;
        }
        for member in &before.rows.index_columns {
            self.bases.delete(by, member)?;
        }
        rows.indexes.clear();
        rows.index_columns.clear();
        rows.rowsets.clear();
        rows.layouts.clear();
        rows.units.clear();
        let specs = Self::specs_of(&rows)?;
        plans.sort_by_key(|p| p.kind == index_kind::NONCLUSTERED);
        for plan in &plans {
            self.index_rows(&specs, plan, &mut rows)?;
        }
        rows.object.modified = super::create::created_now();
        self.write_differences(by, &before.rows, &rows)?;
        self.enter_rows(by, changes, &mut rows, (0, size))?;
        self.write_index_rows(by, &rows, 0)?;
        self.note_table(changes, rows, Some(before))
    }

    /// The same table in new rowsets: what is to be done when a table, or its clustered index, is rebuilt.
    pub(crate) fn rebuild_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        before: &Table,
    ) -> Result<Arc<Table>, EngineError> {
        let plans = Self::plans_of(before);
        self.rewrite(by, changes, (before, before.rows.clone()), plans)
    }
}
