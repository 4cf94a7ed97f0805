//! What of the catalog cannot be made again, and what belongs to nothing: it goes, and that is said.

use super::layouts::is_whole;
use super::reconcile::{Work, is_base};
use crate::foreign::broken_keys;
use furrow_format::catalog::{
    AllocUnit, BaseTable, Column, IndexColumn, IndexStat, MultiReference, ObjectValue, Rowset,
    SYSALLOCUNITS, SYSCOLPARS, SYSIDXSTATS, SYSISCOLS, SYSMULTIOBJREFS, SYSOBJVALUES, SYSROWSETS,
    SYSRSCOLS, SYSSCHOBJS, SYSSEOBJVALUES, SYSSINGLEOBJREFS, SchemaObject, SingleReference,
    index_status, object_type, rowset_status, unit_kind, value_class,
};
use furrow_types::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The number in a column of a row.
pub(super) fn int(values: &[Value], at: usize) -> i64 {
    values.get(at).and_then(Value::as_i64).unwrap_or(0)
}

/// The place of a column of a base table.
fn place(table: &BaseTable, name: &str) -> usize {
    let found = table.columns.iter().position(|column| column.name == name);
    debug_assert!(found.is_some(), "a column of the base table");
    found.unwrap_or(usize::MAX)
}

impl Work<'_> {
    /// Indexes and tables whose definitions stay incomplete.
    pub(super) fn drop_incomplete(&mut self) {
        let layouts = self.layouts_of();
        let stats: Vec<IndexStat> = self.store.all();
        let units: Vec<AllocUnit> = self.store.all();
        let members: Vec<IndexColumn> = self.store.all();
        let with_unit: BTreeSet<i64> = units
            .iter()
            .filter(|unit| unit.kind == unit_kind::IN_ROW)
            .map(|unit| unit.ownerid)
            .collect();
        let mut members_of: BTreeMap<(i32, i32), Vec<&IndexColumn>> = BTreeMap::new();
        for member in &members {
            let of = members_of.entry((member.idmajor, member.idminor));
            of.or_default().push(member);
        }
        let bases: BTreeMap<i32, i64> = stats
            .iter()
            .filter(|stat| stat.indid <= 1)
            .map(|stat| (stat.id, stat.rowset))
            .collect();
        let mut gone: BTreeSet<(i32, i32)> = BTreeSet::new();
        for rowset in self.store.all::<Rowset>() {
            if is_base(rowset.idmajor) {
                continue;
            }
            let key = (rowset.idmajor, rowset.idminor);
            let columns = layouts.get(&rowset.rowsetid).map_or(&[][..], Vec::as_slice);
            let mine = members_of.get(&key).map_or(&[][..], Vec::as_slice);
            let in_key = |m: &&&IndexColumn| m.tinyprop1 > 0;
            let keyed = mine.iter().filter(in_key).count();
            let numbered = (1..).zip(mine).all(|(number, m)| m.subid == number);
            // What of the address of the table's row is not among the columns of the index.
            let base = bases.get(&key.0).and_then(|base| layouts.get(base));
            let address = base.into_iter().flatten().filter(|c| c.ordkey > 0);
            let address: Vec<i32> = address.map(|c| c.rscolid).collect();
            let is_other = |id: &&i32| mine.iter().all(|member| member.intprop != **id);
            let others = match address.is_empty() {
                true => 1,
                false => address.iter().filter(is_other).count(),
            };
            // A unique index with a shorter key would take its rows for duplicates.
            let stored = columns.iter().filter(|c| c.ordkey > 0).count();
            let unique = rowset.status & rowset_status::UNIQUE != 0;
            let is_key = keyed > 0 && numbered && (!unique || keyed == stored);
            let right = rowset.idminor <= 1 || is_key && columns.len() == mine.len() + others;
            if !right || !is_whole(&rowset, columns) || !with_unit.contains(&rowset.rowsetid) {
                gone.insert(key);
            }
        }
        // Indexes whose rowsets cannot be made again.
        let rowsets: BTreeSet<i64> = self
            .store
            .all::<Rowset>()
            .iter()
            .map(|r| r.rowsetid)
            .collect();
        for stat in stats.iter().filter(|stat| !is_base(stat.id)) {
            let has_rows = stat.status & index_status::INDEX != 0 && stat.rowset != 0;
            if has_rows && !rowsets.contains(&stat.rowset) {
                gone.insert((stat.id, stat.indid));
            }
        }
        for (id, number) in gone {
            match number {
                0 | 1 => self.drop_table(id),
                _ => self.drop_index(id, number),
            }
        }
    }

    pub(super) fn drop_table(&mut self, id: i32) {
        let table = self.name_of(id);
        self.notes.push(format!(
            "The definition of {table} is lost: the table is dropped, with all its rows and indexes."
        ));
        let numbers: Vec<i32> = self
            .store
            .all::<IndexStat>()
            .iter()
            .filter(|stat| stat.id == id)
            .map(|stat| stat.indid)
            .collect();
        for number in numbers {
            self.drop_rowset(id, number);
        }
        for table in [&SYSCOLPARS, &SYSIDXSTATS, &SYSISCOLS, &SYSSCHOBJS] {
            self.store.remove(table, |row| int(row, 0) == i64::from(id));
        }
        let pid = place(&SYSSCHOBJS, "pid");
        self.store
            .remove(&SYSSCHOBJS, |row| int(row, pid) == i64::from(id));
    }

    fn drop_index(&mut self, id: i32, number: i32) {
        let stats: Vec<IndexStat> = self.store.all();
        let stat = stats.iter().find(|s| (s.id, s.indid) == (id, number));
        let name = stat.and_then(|stat| stat.name.clone());
        let table = self.name_of(id);
        self.notes.push(format!(
            "The definition of index {} of {table} is lost: the index is dropped. Create it again.",
            name.clone().unwrap_or_else(|| number.to_string())
        ));
        self.drop_rowset(id, number);
        for table in [&SYSIDXSTATS, &SYSISCOLS] {
            let is_it = |row: &[Value]| (int(row, 0), int(row, 1)) == (id.into(), number.into());
            self.store.remove(table, is_it);
        }
        let keys = [object_type::PRIMARY_KEY, object_type::UNIQUE_CONSTRAINT];
        let objects: Vec<SchemaObject> = self.store.all();
        let constraint = objects
            .iter()
            .find(|o| o.pid == id && keys.contains(&o.kind) && Some(&o.name) == name.as_ref());
        if let Some(constraint) = constraint {
            let gone = i64::from(constraint.id);
            self.store.remove(&SYSSCHOBJS, |row| int(row, 0) == gone);
        }
    }

    fn drop_rowset(&mut self, id: i32, number: i32) {
        let rowsets: Vec<Rowset> = self.store.all();
        let mine = rowsets
            .iter()
            .filter(|r| (r.idmajor, r.idminor) == (id, number));
        for rowset in mine.map(|rowset| rowset.rowsetid) {
            let owner = place(&SYSALLOCUNITS, "ownerid");
            self.store.remove(&SYSROWSETS, |row| int(row, 0) == rowset);
            self.store.remove(&SYSRSCOLS, |row| int(row, 0) == rowset);
            self.store
                .remove(&SYSALLOCUNITS, |row| int(row, owner) == rowset);
        }
    }

    /// Rows that belong to nothing.
    pub(super) fn drop_orphans(&mut self) {
        let objects: Vec<SchemaObject> = self.store.all();
        let ids: BTreeSet<i64> = objects.iter().map(|object| object.id.into()).collect();
        let rowsets: Vec<Rowset> = self.store.all();
        let rowset_ids: BTreeSet<i64> = rowsets.iter().map(|rowset| rowset.rowsetid).collect();
        for table in [&SYSCOLPARS, &SYSIDXSTATS, &SYSISCOLS] {
            self.store.remove(table, |row| !ids.contains(&int(row, 0)));
        }
        let stats: Vec<IndexStat> = self.store.all();
        let stats: BTreeSet<(i64, i64)> = stats
            .iter()
            .map(|s| (s.id.into(), s.indid.into()))
            .collect();
        self.store.remove(&SYSISCOLS, |row| {
            !stats.contains(&(int(row, 0), int(row, 1)))
        });
        self.store
            .remove(&SYSRSCOLS, |row| !rowset_ids.contains(&int(row, 0)));
        self.store
            .remove(&SYSSEOBJVALUES, |row| !rowset_ids.contains(&int(row, 1)));
        let (owner, kind) = (
            place(&SYSALLOCUNITS, "ownerid"),
            place(&SYSALLOCUNITS, "type"),
        );
        let lone = self.store.remove(&SYSALLOCUNITS, |row| {
            int(row, kind) != 0 && !rowset_ids.contains(&int(row, owner))
        });
        if lone > 0 {
            self.notes.push(format!(
                "{lone} allocation units belong to no table: their pages become free."
            ));
        }
        self.drop_lost_parts(&ids);
        let objects: Vec<SchemaObject> = self.store.all();
        let ids: BTreeSet<i64> = objects.iter().map(|object| object.id.into()).collect();
        let mut columns: Vec<Column> = self.store.all();
        for column in &mut columns {
            if column.dflt != 0 && !ids.contains(&column.dflt.into()) {
                let table = self.name_of(column.id);
                let name = column.name.clone().unwrap_or_default();
                self.notes
                    .push(format!("The default of column {name} of {table} is lost."));
                column.dflt = 0;
                self.store.put(column);
            }
        }
    }

    /// Children of tables that are gone; texts and references of objects that are gone. Each is said.
    fn drop_lost_parts(&mut self, ids: &BTreeSet<i64>) {
        let pid = place(&SYSSCHOBJS, "pid");
        let mut ids = ids.clone();
        for object in self.store.all::<SchemaObject>() {
            if object.pid != 0 && !ids.contains(&object.pid.into()) {
                self.notes.push(format!(
                    "{} belongs to object {}, which is lost: it is dropped.",
                    object.name, object.pid
                ));
            }
        }
        let known = ids.clone();
        self.store.remove(&SYSSCHOBJS, |row| {
            int(row, pid) != 0 && !known.contains(&int(row, pid))
        });
        self.drop_lost_keys();
        let objects = self.store.all::<SchemaObject>();
        ids.retain(|id| objects.binary_search_by_key(id, |o| o.id.into()).is_ok());
        for value in self.store.all::<ObjectValue>() {
            let is_lost = !ids.contains(&value.objid.into());
            if is_lost && value.valclass == value_class::TEXT && value.valnum == 0 {
                let text = value.imageval.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                self.notes.push(format!(
                    "The row of object {} is lost: its text is dropped, which begins: {}",
                    value.objid,
                    first_line(&text)
                ));
            }
        }
        self.store
            .remove(&SYSOBJVALUES, |row| !ids.contains(&int(row, 1)));
        let single = self.store.all::<SingleReference>();
        let multi = self.store.all::<MultiReference>();
        let single = single.iter().map(|r| (r.depid, r.indepid));
        let links: BTreeSet<(i32, i32)> = single
            .chain(multi.iter().map(|r| (r.depid, r.indepid)))
            .filter(|(by, _)| !ids.contains(&i64::from(*by)))
            .collect();
        for (by, on) in links {
            let on = self.name_of(on);
            self.notes.push(format!(
                "The row of object {by} is lost: its reference to {on} is dropped, and a foreign key \
                 that it may have been."
            ));
        }
        for table in [&SYSSINGLEOBJREFS, &SYSMULTIOBJREFS] {
            let depends = place(table, "depid");
            self.store
                .remove(table, |row| !ids.contains(&int(row, depends)));
        }
    }
}

impl Work<'_> {
    /// Foreign keys to tables that are gone, or whose references are incomplete: neither is enforced.
    fn drop_lost_keys(&mut self) {
        let objects: Vec<SchemaObject> = self.store.all();
        let references: Vec<SingleReference> = self.store.all();
        for key in broken_keys(&objects, &references) {
            let Some(key) = objects.get(key) else {
                continue;
            };
            let table = self.name_of(key.pid);
            self.notes.push(format!(
                "Foreign key {} of {table} lost the table that it references, or its columns: it is dropped. \
                 Create it again.",
                key.name
            ));
            let gone = i64::from(key.id);
            self.store.remove(&SYSSCHOBJS, |row| int(row, 0) == gone);
            for table in [&SYSSINGLEOBJREFS, &SYSMULTIOBJREFS] {
                let depends = place(table, "depid");
                self.store.remove(table, |row| int(row, depends) == gone);
            }
        }
    }
}

/// The first line of a text that is not empty, of at most 200 characters.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(200).collect()
}
