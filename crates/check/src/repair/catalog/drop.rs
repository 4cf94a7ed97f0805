//! What of the catalog cannot be made again, and what belongs to nothing: it goes, and that is said.

use super::layouts::is_whole;
use super::reconcile::{Work, is_base};
use furrow_format::catalog::{
    AllocUnit, BaseTable, Column, IndexColumn, IndexStat, Rowset, SYSALLOCUNITS, SYSCOLPARS,
    SYSIDXSTATS, SYSISCOLS, SYSMULTIOBJREFS, SYSOBJVALUES, SYSROWSETS, SYSRSCOLS, SYSSCHOBJS,
    SYSSEOBJVALUES, SYSSINGLEOBJREFS, SchemaObject, index_column_status, index_status, object_type,
    unit_kind,
};
use furrow_types::Value;
use std::collections::BTreeSet;

/// The number in a column of a row.
fn int(values: &[Value], at: usize) -> i64 {
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
        let mut gone: BTreeSet<(i32, i32)> = BTreeSet::new();
        for rowset in self.store.all::<Rowset>() {
            if is_base(rowset.idmajor) {
                continue;
            }
            let key = (rowset.idmajor, rowset.idminor);
            let columns = layouts.get(&rowset.rowsetid).map_or(&[][..], Vec::as_slice);
            let mine = members.iter().filter(|m| (m.idmajor, m.idminor) == key);
            let mine: Vec<&IndexColumn> = mine.collect();
            let in_key = |m: &&&IndexColumn| m.status & index_column_status::KEY != 0;
            let keyed = mine.iter().filter(in_key).count();
            let numbered = (1..).zip(&mine).all(|(number, m)| m.subid == number);
            let locators = columns
                .iter()
                .filter(|c| c.rscolid > mine.len() as i32)
                .count();
            let base = layouts.iter().find(|(id, _)| {
                stats
                    .iter()
                    .any(|s| s.rowset == **id && s.id == key.0 && s.indid <= 1)
            });
            let base_keys = base.map_or(1, |b| b.1.iter().filter(|c| c.ordkey > 0).count().max(1));
            let right = rowset.idminor <= 1 || keyed > 0 && numbered && locators <= base_keys;
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

    fn drop_table(&mut self, id: i32) {
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
        // Children of tables that are gone, and values and references of objects that are gone.
        let pid = place(&SYSSCHOBJS, "pid");
        self.store.remove(&SYSSCHOBJS, |row| {
            int(row, pid) != 0 && !ids.contains(&int(row, pid))
        });
        let objects: Vec<SchemaObject> = self.store.all();
        let ids: BTreeSet<i64> = objects.iter().map(|object| object.id.into()).collect();
        self.store
            .remove(&SYSOBJVALUES, |row| !ids.contains(&int(row, 1)));
        for table in [&SYSSINGLEOBJREFS, &SYSMULTIOBJREFS] {
            let depends = place(table, "depid");
            self.store
                .remove(table, |row| !ids.contains(&int(row, depends)));
        }
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
}
