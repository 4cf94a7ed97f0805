//! Foreign keys: how they are created, how they are found from the referenced table, and what they forbid.

use super::children::{child_name, object};
use super::{Catalog, DdlChanges};
use crate::error::EngineError;
use crate::schema::{ForeignKeySpec, ReferentialAction, check_name};
use crate::table::{Column, ForeignKey, Index, Table};
use furrow_access::By;
use furrow_format::ObjectId;
use furrow_format::catalog::{
    SingleReference, foreign_key_status, object_status, object_type, reference_class,
};
use furrow_messages::Message;
use std::sync::Arc;

/// Both sides of a foreign key that is to be created, by place of the columns.
struct Sides {
    columns: Vec<usize>,
    referenced: Vec<usize>,
    key_index: i32,
}

fn column(table: &Table, name: &str) -> Option<usize> {
    table.column(name)
}

fn shown(table: &Table, at: usize) -> String {
    let name = table.columns.get(at).map_or("", |c| &c.name);
    format!("{}.{name}", table.name)
}

fn sides(
    table: &Table,
    target: &Table,
    spec: &ForeignKeySpec,
    name: &str,
) -> Result<Sides, EngineError> {
    let mut columns = Vec::new();
    for own in &spec.columns {
        let args = [name.into(), own.as_str().into(), table.name.as_str().into()];
        columns.push(column(table, own).ok_or_else(|| EngineError::refused(1769, &args))?);
    }
    let mut referenced = Vec::new();
    if spec.referenced_columns.is_empty() {
        let key = target.indexes.iter().find(|i| i.is_primary_key());
        let args = [name.into(), spec.referenced.1.as_str().into()];
        let key = key.ok_or_else(|| EngineError::refused(1773, &args))?;
        referenced.extend(key.key.iter().map(|k| k.column));
    }
    for other in &spec.referenced_columns {
        let args = [
            name.into(),
            other.as_str().into(),
            target.name.as_str().into(),
        ];
        referenced.push(column(target, other).ok_or_else(|| EngineError::refused(1770, &args))?);
    }
    if columns.len() != referenced.len() {
        return Err(EngineError::refused(8139, &[table.name.as_str().into()]));
    }
    let key_index = key_of(target, &referenced).ok_or_else(|| {
        let args = [target.full_name().into(), name.into()];
        EngineError::refused(1776, &args)
    })?;
    for (&own, &other) in columns.iter().zip(&referenced) {
        alike(table, target, (own, other), name)?;
    }
    Ok(Sides {
        columns,
        referenced,
        key_index,
    })
}

/// The unique index with exactly these key columns, in any order: the primary key first.
fn key_of(target: &Table, columns: &[usize]) -> Option<i32> {
    let fits = |index: &&Index| {
        index.is_unique()
            && index.key.len() == columns.len()
            && index.key.iter().all(|k| columns.contains(&k.column))
    };
    let mut fitting: Vec<&Index> = target.indexes.iter().filter(fits).collect();
    fitting.sort_by_key(|i| (!i.is_primary_key(), i.id));
    fitting.first().map(|i| i.id as i32)
}

/// 1778 and 1753: both columns are of one type.
fn alike(
    table: &Table,
    target: &Table,
    (own, other): (usize, usize),
    name: &str,
) -> Result<(), EngineError> {
    let (Some(a), Some(b)) = (table.columns.get(own), target.columns.get(other)) else {
        return Ok(());
    };
    let (a, b) = (a.data_type, b.data_type);
    let number = match () {
        () if a.id != b.id => 1778,
        () if a.length != b.length || a.scale != b.scale || a.precision != b.precision => 1753,
        () => return Ok(()),
    };
    let args = [
        shown(target, other).into(),
        shown(table, own).into(),
        name.into(),
    ];
    Err(EngineError::refused(number, &args))
}

/// 1761 and 1762: what the actions would write must be allowed.
fn writable(
    table: &Table,
    columns: &[usize],
    spec: &ForeignKeySpec,
    name: &str,
) -> Result<(), EngineError> {
    use ReferentialAction::{SetDefault, SetNull};
    let asked = |action| spec.on_delete == action || spec.on_update == action;
    let of = |fits: fn(&Column) -> bool| {
        columns
            .iter()
            .filter_map(|&at| table.columns.get(at))
            .all(fits)
    };
    if asked(SetNull) && !of(|c| c.nullable) {
        return Err(EngineError::refused(1761, &[name.into()]));
    }
    if asked(SetDefault) && !of(|c| c.nullable || c.has_default()) {
        return Err(EngineError::refused(1762, &[name.into()]));
    }
    Ok(())
}

/// Whether some table is reached in two ways from this one, or from itself.
fn meets_twice(edges: &[(ObjectId, ObjectId)], start: ObjectId) -> bool {
    let mut met = vec![start];
    let mut at = 0;
    while let Some(&from) = met.get(at) {
        at += 1;
        for (_, to) in edges.iter().filter(|(of, _)| *of == from) {
            if met.contains(to) {
                return true;
            }
            met.push(*to);
        }
    }
    false
}

impl Catalog {
    /// The tables that a session sees and that have a foreign key to this one, this one itself included.
    pub(crate) fn referencing(
        &self,
        changes: &DdlChanges,
        id: ObjectId,
    ) -> Vec<(Arc<Table>, ForeignKey)> {
        let mut found = Vec::new();
        let mut look = |table: &Arc<Table>| {
            for key in table.foreign_keys().iter().filter(|k| k.referenced == id) {
                found.push((Arc::clone(table), key.clone()));
            }
        };
        if changes.is_empty() && !self.named.read().is_referenced(id) {
            return found;
        }
        for table in self.named.read().tables() {
            if changes.by_id(table.id).is_none() {
                look(table);
            }
        }
        changes
            .objects()
            .filter_map(|c| c.table.as_ref())
            .for_each(look);
        found.sort_by_key(|(_, key)| key.id.0);
        found
    }

    /// ADD CONSTRAINT FOREIGN KEY; rows are not held against it. The caller holds Sch-M on both tables.
    pub(crate) fn add_foreign_key(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (table, target): (&Table, &Table),
        spec: &ForeignKeySpec,
    ) -> Result<Arc<Table>, EngineError> {
        let mut rows = table.rows.clone();
        let id = self.new_child_id(&rows, changes)?;
        let first = spec.columns.first().map(String::as_str);
        let made = || child_name("FK", &table.name, first, id);
        let name = spec.name.clone().unwrap_or_else(made);
        check_name(&name)?;
        self.check_child_name(&name, &rows, changes)?;
        let sides = sides(table, target, spec, &name)?;
        writable(table, &sides.columns, spec, &name)?;
        self.check_paths(changes, (table, target), spec, &name)?;
        let mut child = object(
            id,
            &name,
            rows.object.nsid,
            object_type::FOREIGN_KEY,
            table.id.0,
        );
        if spec.name.is_none() {
            child.status |= object_status::SYSTEM_NAMED;
        }
        if !spec.trusted {
            child.status |= object_status::NOT_TRUSTED;
        }
        child.status |= i32::from(spec.on_delete.number()) << foreign_key_status::DELETE_SHIFT;
        child.status |= i32::from(spec.on_update.number()) << foreign_key_status::UPDATE_SHIFT;
        let colid = |of: &Table, at: usize| of.columns.get(at).map_or(0, |c| c.id);
        child.intprop = sides.columns.first().map_or(0, |&at| colid(table, at));
        rows.children.push(child);
        let reference = |class: u8, place: i32, to: (ObjectId, i32)| SingleReference {
            class,
            depid: id.0,
            depsubid: place,
            indepid: to.0.0,
            indepsubid: to.1,
            status: 0,
        };
        let to = (target.id, sides.key_index);
        rows.references
            .push(reference(reference_class::KEY_TO_TABLE, 0, to));
        for (place, (&own, &other)) in (1..).zip(sides.columns.iter().zip(&sides.referenced)) {
            let own = (table.id, colid(table, own));
            let other = (target.id, colid(target, other));
            rows.references
                .push(reference(reference_class::KEY_COLUMN, place, own));
            rows.references
                .push(reference(reference_class::KEY_TO_COLUMN, place, other));
        }
        let made = self.redefine(by, changes, table, rows)?;
        if target.id != table.id {
            // The referenced table gets a new definition too, so that plans compiled against it are
            // compiled again.
            self.redefine(by, changes, target, target.rows.clone())?;
        }
        Ok(made)
    }

    /// 1785 where rows of some table could follow a change in two ways, or follow themselves. Deletes and
    /// updates are checked separately.
    fn check_paths(
        &self,
        changes: &DdlChanges,
        (table, target): (&Table, &Table),
        spec: &ForeignKeySpec,
        name: &str,
    ) -> Result<(), EngineError> {
        let all = self.foreign_keys_seen(changes);
        let of_deletes: fn(&ForeignKey) -> ReferentialAction = |key| key.on_delete;
        let of_updates: fn(&ForeignKey) -> ReferentialAction = |key| key.on_update;
        for (asked, of) in [(spec.on_delete, of_deletes), (spec.on_update, of_updates)] {
            if asked == ReferentialAction::NoAction {
                continue;
            }
            let follows = all
                .iter()
                .filter(|(_, key)| of(key) != ReferentialAction::NoAction);
            let mut edges: Vec<(ObjectId, ObjectId)> =
                follows.map(|(from, key)| (key.referenced, *from)).collect();
            edges.push((target.id, table.id));
            if edges.iter().any(|(start, _)| meets_twice(&edges, *start)) {
                let args = [name.into(), table.name.as_str().into()];
                return Err(EngineError::refused(1785, &args));
            }
        }
        Ok(())
    }

    /// All foreign keys that a session sees, with the tables they belong to.
    fn foreign_keys_seen(&self, changes: &DdlChanges) -> Vec<(ObjectId, ForeignKey)> {
        let mut all = Vec::new();
        let mut take = |table: &Arc<Table>| {
            let keys = table.foreign_keys().iter();
            all.extend(keys.map(|k| (table.id, k.clone())));
        };
        for table in self.named.read().tables() {
            if changes.by_id(table.id).is_none() {
                take(table);
            }
        }
        changes
            .objects()
            .filter_map(|c| c.table.as_ref())
            .for_each(take);
        all
    }

    /// 3726 where another table references this one.
    pub(crate) fn check_unreferenced(
        &self,
        changes: &DdlChanges,
        table: &Table,
        number: u32,
    ) -> Result<(), EngineError> {
        let all = self.referencing(changes, table.id);
        if all.iter().all(|(from, _)| from.id == table.id) {
            return Ok(());
        }
        let name = match number {
            3726 => format!("{}.{}", table.schema, table.name),
            _ => table.name.clone(),
        };
        Err(EngineError::refused(number, &[name.into()]))
    }

    /// 3725 where a foreign key references this index of the table.
    pub(super) fn check_key_unreferenced(
        &self,
        changes: &DdlChanges,
        table: &Table,
        index: &Index,
    ) -> Result<(), EngineError> {
        let all = self.referencing(changes, table.id);
        let found = all.iter().find(|(_, k)| k.key_index == index.id as i32);
        let Some((from, key)) = found else {
            return Ok(());
        };
        let args = [
            index.name.as_str().into(),
            from.name.as_str().into(),
            key.name.as_str().into(),
        ];
        let refused = EngineError::refused(3725, &args);
        Err(refused.followed_by(Message::new(3727, &[])))
    }

    /// The foreign keys that a column is in, on either side.
    pub(super) fn keys_of_column(
        &self,
        changes: &DdlChanges,
        table: &Table,
        colid: i32,
    ) -> Vec<String> {
        let own = table.foreign_keys().iter();
        let own = own.filter(|k| k.columns.iter().any(|c| c.0 == colid));
        let mut names: Vec<String> = own.map(|k| k.name.clone()).collect();
        for (_, key) in self.referencing(changes, table.id) {
            if key.columns.iter().any(|c| c.1 == colid) && !names.contains(&key.name) {
                names.push(key.name);
            }
        }
        names
    }

    /// 1767 for a foreign key to a table that is not there.
    pub(crate) fn no_target(
        &self,
        changes: &DdlChanges,
        table: &Table,
        spec: &ForeignKeySpec,
    ) -> Result<EngineError, EngineError> {
        let id = self.new_child_id(&table.rows, changes)?;
        let first = spec.columns.first().map(String::as_str);
        let made = || child_name("FK", &table.name, first, id);
        let name = spec.name.clone().unwrap_or_else(made);
        let (schema, target) = &spec.referenced;
        let full = format!("{schema}.{target}");
        Ok(EngineError::refused(1767, &[name.into(), full.into()]))
    }
}
