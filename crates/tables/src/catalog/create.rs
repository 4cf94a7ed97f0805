//! CREATE TABLE and CREATE INDEX: catalog rows, pages, and the table that they describe.

use super::children::{key_name, object};
use super::rowsets::Size;
use super::{Catalog, DdlChanges, name_key};
use crate::error::{EngineError, refuse};
use crate::schema::{
    ColumnSpec, ConstraintSpec, IndexSpec, KeyColumnSpec, Locator, TableSpec, check_table,
    index_layout, same_name, table_layout,
};
use crate::table::{Table, TableRows};
use furrow_access::By;
use furrow_format::catalog::{
    self, IndexColumn, IndexStat, RowsetLayout, index_column_status, index_kind, index_status,
    object_status, object_type, unit_kind,
};
use furrow_format::{MAX_ROW_SIZE, RowsetId};
use furrow_types::{DateTime, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The definition of an index, in whichever statement it was given.
pub(super) struct IndexPlan<'a> {
    pub(super) id: i32,
    pub(super) name: String,
    pub(super) status: i32,
    pub(super) fill_factor: u8,
    /// One of [`index_kind`].
    pub(super) kind: u8,
    pub(super) key: Cow<'a, [KeyColumnSpec]>,
    pub(super) included: Cow<'a, [String]>,
    pub(super) filegroup: u16,
}

pub(super) fn created_now() -> DateTime {
    match crate::schema::now() {
        Value::DateTime2(at) => DateTime::from_datetime2(at).unwrap_or(DateTime::EPOCH),
        _ => DateTime::EPOCH,
    }
}

fn places(columns: &[ColumnSpec], key: &[KeyColumnSpec]) -> Vec<(usize, bool)> {
    let place = |k: &KeyColumnSpec| {
        let at = columns.iter().position(|c| same_name(&c.name, &k.name));
        at.map(|at| (at, k.descending))
    };
    key.iter().filter_map(place).collect()
}

impl Catalog {
    /// The number of a filegroup by its name; the default one without a name.
    pub(crate) fn filegroup(&self, name: Option<&str>) -> Result<u16, EngineError> {
        let all = self.space.filegroups();
        let found = match name {
            Some(name) => all.iter().find(|f| same_name(&f.name, name)),
            None => all.iter().find(|f| f.is_default).or(all.first()),
        };
        let missing = || {
            let args = ["filegroup".into(), name.unwrap_or("PRIMARY").into()];
            EngineError::refused(1921, &args)
        };
        let found = found.ok_or_else(missing)?;
        if self.space.is_offline(found.id) {
            return Err(EngineError::refused(5056, &[found.name.as_str().into()]));
        }
        if self.space.is_read_only(found.id) {
            return Err(EngineError::refused(1924, &[found.name.as_str().into()]));
        }
        Ok(found.id)
    }

    /// Makes a table. The caller holds X on its name.
    pub(crate) fn create_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        spec: &TableSpec,
    ) -> Result<Arc<Table>, EngineError> {
        check_table(spec)?;
        let schema = self.schema(changes, &spec.schema)?;
        self.check_object_name(&schema.name, &spec.name, changes)?;
        let filegroup = self.filegroup(spec.filegroup.as_deref())?;
        let id = self.new_object_id(changes)?;
        let mut rows = TableRows {
            object: object(id, &spec.name, schema.id, object_type::USER_TABLE, 0),
            schema: schema.name.clone(),
            columns: Vec::new(),
            indexes: Vec::new(),
            index_columns: Vec::new(),
            rowsets: Vec::new(),
            layouts: Vec::new(),
            units: Vec::new(),
            children: Vec::new(),
            references: Vec::new(),
            values: Vec::new(),
        };
        rows.object.intprop = spec.columns.len() as i32;
        for (colid, column) in (1..).zip(&spec.columns) {
            self.add_column_row(colid, column, &mut rows, changes)?;
        }
        for check in &spec.checks {
            self.add_check(&mut rows, check, changes)?;
        }
        let plans = self.index_plans(spec, &mut rows, filegroup, changes)?;
        for plan in &plans {
            self.index_rows(&spec.columns, plan, &mut rows)?;
        }
        self.enter_rows(by, changes, &mut rows, (0, Size::Small))?;
        self.write_table_rows(by, &rows)?;
        self.note_table(changes, rows, None)
    }

    /// The clustered index first, then constraints, then other indexes.
    fn index_plans<'a>(
        &self,
        spec: &'a TableSpec,
        rows: &mut TableRows,
        filegroup: u16,
        changes: &DdlChanges,
    ) -> Result<Vec<IndexPlan<'a>>, EngineError> {
        let mut plans = Vec::new();
        for constraint in &spec.constraints {
            plans.push(self.key_plan(constraint, rows, filegroup, changes)?);
        }
        for index in &spec.indexes {
            let own = index.filegroup.as_deref();
            let filegroup = own.map_or(Ok(filegroup), |name| self.filegroup(Some(name)))?;
            plans.push(Self::plan_of(index, filegroup));
        }
        if !plans.iter().any(|p| p.kind == index_kind::CLUSTERED) {
            plans.push(Self::heap_plan(filegroup));
        }
        plans.sort_by_key(|p| p.kind == index_kind::NONCLUSTERED);
        for (id, plan) in (1..).zip(&mut plans) {
            plan.id = if plan.kind == index_kind::HEAP { 0 } else { id };
        }
        Ok(plans)
    }

    /// The index of a key, and its object.
    pub(super) fn key_plan<'a>(
        &self,
        constraint: &'a ConstraintSpec,
        rows: &mut TableRows,
        filegroup: u16,
        changes: &DdlChanges,
    ) -> Result<IndexPlan<'a>, EngineError> {
        let kind = match constraint.primary {
            true => (object_type::PRIMARY_KEY, "PK", index_status::PRIMARY_KEY),
            false => (
                object_type::UNIQUE_CONSTRAINT,
                "UQ",
                index_status::UNIQUE_CONSTRAINT,
            ),
        };
        let own = constraint.filegroup.as_deref();
        let filegroup = own.map_or(Ok(filegroup), |name| self.filegroup(Some(name)))?;
        let id = self.new_child_id(rows, changes)?;
        let made = || key_name(kind.1, &rows.object.name, &constraint.key, id);
        let name = constraint.name.clone().unwrap_or_else(made);
        self.check_child_name(&name, rows, changes)?;
        let mut child = object(id, &name, rows.object.nsid, kind.0, rows.object.id);
        if constraint.name.is_none() {
            child.status = object_status::SYSTEM_NAMED;
        }
        rows.children.push(child);
        Ok(IndexPlan {
            id: 0,
            name,
            status: index_status::INDEX
                | index_status::NAMED
                | index_status::UNIQUE
                | kind.2
                | constraint.options.bits(),
            kind: kind_of(constraint.clustered),
            fill_factor: constraint.options.fill_factor,
            key: Cow::Borrowed(&constraint.key),
            included: Cow::Borrowed(&[]),
            filegroup,
        })
    }

    /// The rows of a table without a clustered index: index 0, without a name.
    pub(super) fn heap_plan(filegroup: u16) -> IndexPlan<'static> {
        IndexPlan {
            id: 0,
            name: String::new(),
            status: index_status::INDEX,
            kind: index_kind::HEAP,
            fill_factor: 0,
            key: Cow::Borrowed(&[]),
            included: Cow::Borrowed(&[]),
            filegroup,
        }
    }

    pub(super) fn plan_of(index: &IndexSpec, filegroup: u16) -> IndexPlan<'_> {
        let unique = if index.unique {
            index_status::UNIQUE
        } else {
            0
        };
        IndexPlan {
            id: 0,
            name: index.name.clone(),
            status: index_status::INDEX | index_status::NAMED | unique | index.options.bits(),
            kind: kind_of(index.clustered),
            fill_factor: index.options.fill_factor,
            key: Cow::Borrowed(&index.key),
            included: Cow::Borrowed(&index.included),
            filegroup,
        }
    }

    fn new_rowset_id(&self) -> Result<RowsetId, EngineError> {
        let id = self.ids.read().as_ref().map(super::ids::Ids::rowset);
        id.ok_or_else(|| EngineError::Damaged("no ids yet".to_owned()))
    }

    /// Adds the rows of one index.
    pub(super) fn index_rows(
        &self,
        columns: &[ColumnSpec],
        plan: &IndexPlan<'_>,
        rows: &mut TableRows,
    ) -> Result<(), EngineError> {
        let rowset = self.new_rowset_id()?;
        let unique = plan.status & index_status::UNIQUE != 0;
        let key = places(columns, &plan.key);
        let included: Vec<usize> = plan
            .included
            .iter()
            .filter_map(|n| columns.iter().position(|c| same_name(&c.name, n)))
            .collect();
        let stat = IndexStat {
            id: rows.object.id,
            indid: plan.id,
            name: (plan.kind != index_kind::HEAP).then(|| plan.name.clone()),
            status: plan.status,
            intprop: 0,
            fillfact: plan.fill_factor,
            kind: plan.kind,
            tinyprop: 0,
            dataspace: i32::from(plan.filegroup),
            lobds: 0,
            rowset: rowset.0 as i64,
        };
        let layout = layout_of(plan, rowset, columns, rows, (&key, &included));
        check_size(&rows.object.name, plan, &layout)?;
        rows.rowsets
            .push(Self::rowset_row(rowset, &stat, &layout, unique));
        rows.layouts.extend(layout.columns);
        let members = members(rows, plan.id, &key, &included);
        rows.index_columns.extend(members);
        rows.indexes.push(stat);
        Ok(())
    }

    /// Makes the units of the rowsets from `from` on, and their rows.
    pub(super) fn enter_rows(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        rows: &mut TableRows,
        (from, size): (usize, Size),
    ) -> Result<(), EngineError> {
        for at in from..rows.rowsets.len() {
            let Some(rowset) = rows.rowsets.get(at).cloned() else {
                break;
            };
            let id = self.ids.read().as_ref().map(super::ids::Ids::unit);
            let id = id.ok_or_else(|| EngineError::Damaged("no ids yet".to_owned()))?;
            let stat = rows.indexes.iter().find(|i| i.rowset == rowset.rowsetid);
            let filegroup = stat.map_or(1, |i| i.dataspace as u16);
            let (mut row, unit) = self.make_unit((id, filegroup), &rowset, size)?;
            changes.note_unit(&row, true);
            self.set_unit_kind(by, &row, unit_kind::IN_ROW)?;
            row.kind = unit_kind::IN_ROW;
            let columns: Vec<_> = rows
                .layouts
                .iter()
                .filter(|l| l.rsid == rowset.rowsetid)
                .cloned()
                .collect();
            self.list_rowset(&rowset, &columns, unit, row.pgroot, true)?;
            rows.units.push(row);
            self.bases.insert(by, &rowset)?;
            for column in &columns {
                self.bases.insert(by, column)?;
            }
        }
        Ok(())
    }

    fn write_table_rows(&self, by: &mut By<'_>, rows: &TableRows) -> Result<(), EngineError> {
        self.bases.insert(by, &rows.object)?;
        for column in &rows.columns {
            self.bases.insert(by, column)?;
        }
        for child in &rows.children {
            self.bases.insert(by, child)?;
        }
        for value in &rows.values {
            self.bases.insert(by, value)?;
        }
        self.write_index_rows(by, rows, 0)
    }

    pub(super) fn write_index_rows(
        &self,
        by: &mut By<'_>,
        rows: &TableRows,
        from: usize,
    ) -> Result<(), EngineError> {
        for index in rows.indexes.iter().skip(from) {
            self.bases.insert(by, index)?;
            let members = rows
                .index_columns
                .iter()
                .filter(|c| c.idminor == index.indid);
            for member in members {
                self.bases.insert(by, member)?;
            }
        }
        Ok(())
    }

    /// Makes a table of its rows and notes it among the session's changes.
    pub(super) fn note_table(
        &self,
        changes: &mut DdlChanges,
        rows: TableRows,
        before: Option<&Table>,
    ) -> Result<Arc<Table>, EngineError> {
        let mut rowset = |rows: &TableRows, id: RowsetId| self.rowset_by_rows(rows, id);
        let table = Arc::new(Table::from_rows(rows, before, &mut rowset)?);
        let key = name_key(&table.schema, &table.name);
        changes.note(table.id, key, Some(Arc::clone(&table)));
        Ok(table)
    }
}

fn kind_of(clustered: bool) -> u8 {
    match clustered {
        true => index_kind::CLUSTERED,
        false => index_kind::NONCLUSTERED,
    }
}

/// The clustered key in the rows created so far, and whether it is unique; `None` for a heap.
fn base_key(rows: &TableRows) -> Option<(Vec<(usize, bool)>, bool)> {
    rows.indexes.iter().find(|i| i.indid == 1)?;
    let mut members: Vec<&IndexColumn> = rows
        .index_columns
        .iter()
        .filter(|c| c.idminor == 1 && c.tinyprop1 > 0)
        .collect();
    members.sort_by_key(|c| c.tinyprop1);
    let place = |c: &&IndexColumn| {
        let descending = c.status & index_column_status::DESCENDING != 0;
        let at = rows
            .columns
            .iter()
            .position(|column| column.colid == c.intprop);
        at.map(|at| (at, descending))
    };
    let unique = rows
        .indexes
        .iter()
        .any(|i| i.indid == 1 && i.status & index_status::UNIQUE != 0);
    Some((members.iter().filter_map(place).collect(), unique))
}

/// The layout of the rows of an index or a table, by its key and the columns that it includes.
fn layout_of(
    plan: &IndexPlan<'_>,
    rowset: RowsetId,
    columns: &[ColumnSpec],
    rows: &TableRows,
    (key, included): (&[(usize, bool)], &[usize]),
) -> RowsetLayout {
    let ids: Vec<i32> = rows.columns.iter().map(|c| c.colid).collect();
    let unique = plan.status & index_status::UNIQUE != 0;
    match plan.kind {
        index_kind::HEAP => table_layout(rowset, (columns, &ids), Locator::Rid),
        index_kind::CLUSTERED => {
            let locator = Locator::Key { key, unique };
            table_layout(rowset, (columns, &ids), locator)
        }
        _ => {
            let base_key = base_key(rows);
            let base = match &base_key {
                Some((key, unique)) => Locator::Key {
                    key,
                    unique: *unique,
                },
                None => Locator::Rid,
            };
            index_layout(rowset, columns, key, included, unique, base)
        }
    }
}

/// An index's columns in the catalog: those of the key in their order, then the included ones.
fn members(
    rows: &TableRows,
    index: i32,
    key: &[(usize, bool)],
    included: &[usize],
) -> Vec<IndexColumn> {
    let member = |subid: usize, column: usize, ordinal: usize, descending: bool| IndexColumn {
        idmajor: rows.object.id,
        idminor: index,
        subid: subid as i32,
        status: match (ordinal, descending) {
            (0, _) => index_column_status::INCLUDED | 0x2,
            (_, true) => 0x7,
            (_, false) => index_column_status::COLUMN | index_column_status::KEY,
        },
        intprop: rows.columns.get(column).map_or(0, |c| c.colid),
        tinyprop1: ordinal as u8,
        tinyprop2: 0,
        tinyprop3: 0,
    };
    let keyed = (1..).zip(key).map(|(at, k)| member(at, k.0, at, k.1));
    let rest = (key.len() + 1..).zip(included);
    keyed
        .chain(rest.map(|(at, &c)| member(at, c, 0, false)))
        .collect()
}

fn check_size(table: &str, plan: &IndexPlan<'_>, layout: &RowsetLayout) -> Result<(), EngineError> {
    let count = layout.columns.len();
    let is_variable = |c: &&catalog::RowsetColumn| (c.offset as i16) < 0;
    let variable = layout.columns.iter().filter(is_variable).count();
    let overhead = 2 + count.div_ceil(8) + if variable > 0 { 2 + 2 * variable } else { 0 };
    let least = usize::try_from(layout.minleaf)
        .unwrap_or(usize::MAX)
        .saturating_add(overhead);
    if least <= MAX_ROW_SIZE {
        return Ok(());
    }
    if plan.kind != index_kind::NONCLUSTERED {
        let own = overhead + 4;
        let args = [
            table.into(),
            i32::try_from(least).unwrap_or(i32::MAX).into(),
            i32::try_from(own).unwrap_or(i32::MAX).into(),
            (MAX_ROW_SIZE as i32).into(),
        ];
        return Err(EngineError::refused(1701, &args));
    }
    let text = format!(
        "Index '{}' was not created: its rows would take at least {least} bytes, more than the \
        {MAX_ROW_SIZE} of a page.",
        plan.name
    );
    Err(refuse(1944, 16, 2, &text))
}
