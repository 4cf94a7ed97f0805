//! Reading the catalog once undo is done: tables, names, numbers in use, drops to be continued.

use super::ids::Ids;
use super::rowsets::TO_DROP;
use super::{Catalog, Module, ModuleKind};
use crate::error::EngineError;
use crate::table::{Rowset, Table, TableRows};
use furrow_format::boot::field;
use furrow_format::catalog::{
    self, AllocUnit, ClassObject, Column, IndexColumn, IndexStat, ObjectValue, RowsetColumn,
    SchemaObject, SingleReference, class, object_type,
};
use furrow_format::{BOOT_PAGE, RowsetId};
use furrow_pool::LatchRank;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Rows by the object they belong to.
pub(super) fn by_object<R>(rows: Vec<R>, object: impl Fn(&R) -> i32) -> HashMap<i32, Vec<R>> {
    let mut map: HashMap<i32, Vec<R>> = HashMap::new();
    for row in rows {
        map.entry(object(&row)).or_default().push(row);
    }
    map
}

pub(super) fn by_rowset<R>(rows: Vec<R>, rowset: impl Fn(&R) -> i64) -> HashMap<i64, Vec<R>> {
    let mut map: HashMap<i64, Vec<R>> = HashMap::new();
    for row in rows {
        map.entry(rowset(&row)).or_default().push(row);
    }
    map
}

pub(super) fn take<K: std::hash::Hash + Eq, R>(map: &mut HashMap<K, Vec<R>>, key: &K) -> Vec<R> {
    map.remove(key).unwrap_or_default()
}

impl Catalog {
    /// To be called once, when undo is done: reads the catalog, and continues drops that were interrupted.
    pub fn after_undo(&self) -> Result<(), EngineError> {
        let units: Vec<AllocUnit> = self.bases.all()?;
        self.free_dropped(&units)?;
        let numbered: Vec<u64> = units.iter().map(|u| u.auid as u64).collect();
        let rest = |u: &AllocUnit| u.kind != TO_DROP || self.space.is_offline(u.fgid as u16);
        let mut kept: Vec<AllocUnit> = units.into_iter().filter(rest).collect();
        let waiting = |u: &&AllocUnit| u.kind == TO_DROP;
        let owners: Vec<i64> = kept.iter().filter(waiting).map(|u| u.ownerid).collect();
        let rowsets: Vec<catalog::Rowset> = self.bases.all()?;
        self.settle_counts(&rowsets);
        let (next_unit, next_object) = {
            let boot = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
            let unit = u64::from_le_bytes(field::NEXT_UNIT.get(boot.page()));
            let object = i32::from_le_bytes(field::NEXT_OBJECT_ID.get(boot.page()));
            (unit, object)
        };
        *self.ids.write() = Some(Ids::new(
            numbered.into_iter().filter(|id| id >> 48 == 256),
            rowsets
                .iter()
                .map(|r| r.rowsetid as u64)
                // Numbers of rowsets whose pages have yet to be freed are not used again.
                .chain(owners.into_iter().map(|owner| owner as u64))
                .filter(|id| id >> 48 == 256),
            (next_unit, next_object),
        ));
        kept.retain(|u| u.kind != TO_DROP);
        *self.schemas.write() = self.bases.all()?;
        self.bases.count()?;
        self.load_tables(kept, rowsets)
    }

    /// Continues drops that were interrupted, but for units whose files are not there.
    fn free_dropped(&self, units: &[AllocUnit]) -> Result<(), EngineError> {
        let dropped = |u: &&AllocUnit| u.kind == TO_DROP && !self.space.is_offline(u.fgid as u16);
        for unit in units.iter().filter(dropped) {
            match unit.pgfirstiam.is_none() {
                true => self.free_unfinished(unit)?,
                false => self.free_unit(unit)?,
            }
        }
        Ok(())
    }

    /// Units of a filegroup whose files are not there yet that wait to be freed. From when it is online on a
    /// transaction that has not ended may have such units, too.
    pub fn waiting_units(&self, filegroup: u16) -> Result<Vec<AllocUnit>, EngineError> {
        debug_assert!(self.space.is_offline(filegroup), "nothing is dropped there");
        let mut units: Vec<AllocUnit> = self.bases.all()?;
        units.retain(|unit| unit.fgid as u16 == filegroup && unit.kind == TO_DROP);
        Ok(units)
    }

    /// The files of a filegroup are there again: the drops of the units that waited for them continue.
    pub fn after_online(&self, filegroup: u16, units: &[AllocUnit]) -> Result<(), EngineError> {
        let rowsets = self.rowsets.read();
        let of_group = |rowset: &&Arc<Rowset>| rowset.filegroup() == filegroup;
        for rowset in rowsets.values().filter(of_group) {
            rowset.set_offline(false);
            rowset.mark_changed();
        }
        drop(rowsets);
        self.free_dropped(units)
    }

    /// Corrects counts: what was undone had not been counted, and numbers of dropped rowsets may be used
    /// again.
    fn settle_counts(&self, rowsets: &[catalog::Rowset]) {
        let counts = &self.store.counts;
        let known: HashSet<u64> = rowsets.iter().map(|r| r.rowsetid as u64).collect();
        counts.retain(|rowset| known.contains(&rowset.0));
        for (id, rowset) in self.rowsets.read().iter() {
            if let Some(rows) = counts.get(*id) {
                rowset.set_rows(rows);
            }
        }
    }

    fn load_tables(
        &self,
        units: Vec<AllocUnit>,
        rowsets: Vec<catalog::Rowset>,
    ) -> Result<(), EngineError> {
        let objects: Vec<SchemaObject> = self.bases.all()?;
        let mut columns = by_object(self.bases.all::<Column>()?, |c| c.id);
        let mut indexes = by_object(self.bases.all::<IndexStat>()?, |i| i.id);
        let mut members = by_object(self.bases.all::<IndexColumn>()?, |c| c.idmajor);
        let mut values = by_object(self.bases.all::<ObjectValue>()?, |v| v.objid);
        let mut references = by_object(self.bases.all::<SingleReference>()?, |r| r.depid);
        let mut rowsets = by_object(rowsets, |r| r.idmajor);
        let mut layouts = by_rowset(self.bases.all::<RowsetColumn>()?, |l| l.rsid);
        let mut units = by_rowset(units, |u| u.ownerid);
        let (tables, others): (Vec<_>, Vec<_>) = objects
            .into_iter()
            .partition(|o| o.kind == object_type::USER_TABLE);
        let (modules, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|o| ModuleKind::of_code(o.kind).is_some());
        let mut children = by_object(others, |o| o.pid);
        let schemas = self.schemas.read().clone();
        let schema_of = |object: &SchemaObject| {
            let own = |s: &&ClassObject| s.class == class::SCHEMA && s.id == object.nsid;
            let found = schemas.iter().find(own);
            found.map_or_else(String::new, |s| s.name.clone())
        };
        let mut named = self.named.write();
        for object in modules {
            let texts = take(&mut values, &object.id);
            let schema = schema_of(&object);
            let columns = take(&mut columns, &object.id);
            if let Some(module) = Module::from_rows(object, &schema, &texts, columns) {
                named.put_module(Arc::new(module));
            }
        }
        for object in tables {
            let id = object.id;
            let mut rows = TableRows {
                schema: schema_of(&object),
                columns: take(&mut columns, &id),
                indexes: take(&mut indexes, &id),
                index_columns: take(&mut members, &id),
                rowsets: take(&mut rowsets, &id),
                layouts: Vec::new(),
                units: Vec::new(),
                children: take(&mut children, &id),
                values: Vec::new(),
                references: Vec::new(),
                object,
            };
            for rowset in &rows.rowsets {
                rows.layouts.extend(take(&mut layouts, &rowset.rowsetid));
                rows.units.extend(take(&mut units, &rowset.rowsetid));
            }
            for child in &rows.children {
                rows.values.extend(take(&mut values, &child.id));
                rows.references.extend(take(&mut references, &child.id));
            }
            let mut rowset = |rows: &TableRows, id: RowsetId| self.rowset_by_rows(rows, id);
            named.put_table(Arc::new(Table::from_rows(rows, None, &mut rowset)?));
        }
        Ok(())
    }
}
