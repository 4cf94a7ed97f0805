//! The rows of the catalog against each other: what other rows prove is made again, the rest goes.
//!
//! # Steps
//! 1. Definitions of base tables are the same in every database: missing ones are put in.
//! 2. A unit without a row is found by its pages; a rowset without a row by its index and its columns;
//!    columns of rowsets by the rules of layout ([`super::layouts`]); names that are lost are replaced.
//! 3. An index whose definition cannot be made again goes, with its pages. So does a table, if its own rows
//!    cannot be read without the definition.
//! 4. Rows that belong to nothing go.

use super::layouts::{agrees, declared_layout, is_whole, of_index, of_table, sizes_of};
use super::store::Store;
use super::survey::Survey;
use furrow_datafile::SourceFile;
use furrow_format::FileHeader;
use furrow_format::catalog::{
    AllocUnit, BASE_TABLES, BaseRow, BaseTable, Bootstrap, Column, IndexColumn, IndexStat, Rowset,
    RowsetColumn, RowsetLayout, SYSALLOCUNITS, SYSCOLPARS, SYSIDXSTATS, SYSISCOLS, SYSROWSETS,
    SYSRSCOLS, SYSSCHOBJS, SchemaObject, TablePlace, UnitPlace, bootstrap_rows, column_row,
    index_column_status, index_kind, index_status, layout_status, object_type, rowset_status,
    schema_id,
};
use furrow_types::{Collation, DataType, DateTime};
use std::collections::{BTreeMap, BTreeSet};

/// Ids of objects of users begin here.
const USERS: i32 = 100;

/// What is worked on.
pub(super) struct Work<'w> {
    pub(super) store: Store,
    pub(super) survey: &'w Survey,
    pub(super) files: &'w [SourceFile],
    /// Their headers.
    pub(super) headers: &'w [Option<FileHeader>],
    /// Base tables whose rows may be incomplete.
    pub(super) damaged: BTreeSet<i32>,
    /// Rows by rowset, where that is known exactly: of a database that was shut down cleanly.
    pub(super) counts: BTreeMap<i64, u64>,
    /// Whether every table and index that there was is still in the catalog.
    pub(super) has_all_tables: bool,
    /// Allocation units that earlier passes dropped.
    pub(super) dropped: &'w BTreeSet<i64>,
    /// What is said to the user.
    pub(super) notes: Vec<String>,
    /// Why nothing is written.
    pub(super) refusals: Vec<String>,
}

pub(super) fn is_base(id: i32) -> bool {
    id < USERS
}

impl Work<'_> {
    /// Does all steps; `false` where `goes_on` ended it.
    pub(super) fn reconcile(&mut self, goes_on: &dyn Fn() -> bool) -> bool {
        let steps: [fn(&mut Self); 12] = [
            Work::definitions,
            Work::lost_rowsets,
            Work::lost_units,
            Work::lost_stats,
            Work::lost_members,
            Work::lost_layouts,
            Work::lost_objects,
            Work::lost_columns,
            Work::lost_tables,
            Work::drop_incomplete,
            Work::drop_orphans,
            Work::lost_names,
        ];
        for step in steps {
            if !goes_on() {
                return false;
            }
            step(self);
        }
        true
    }

    pub(super) fn created(&self) -> DateTime {
        self.survey.created.unwrap_or(DateTime::EPOCH)
    }

    /// What every database has. Owners, types and classes may have been removed on purpose: they are put in
    /// only where their table is damaged.
    fn definitions(&mut self) {
        let place = |table: &&BaseTable| {
            let (root, first_iam) = self.survey.place_of(table.unit_id().0);
            let rows = UnitPlace {
                first: root,
                root,
                first_iam,
                ..UnitPlace::NONE
            };
            let table_id = table.id;
            TablePlace { table_id, rows }
        };
        let places: Vec<TablePlace> = BASE_TABLES.iter().map(place).collect();
        let rows = bootstrap_rows(&Bootstrap {
            created: self.created(),
            places: &places,
            filegroups: &[],
            files: &[],
        });
        let always: Vec<i32> = [
            &SYSRSCOLS,
            &SYSROWSETS,
            &SYSALLOCUNITS,
            &SYSSCHOBJS,
            &SYSCOLPARS,
            &SYSIDXSTATS,
            &SYSISCOLS,
        ]
        .map(|table| table.id)
        .to_vec();
        for (table, rows) in rows.into_iter().filter(|(table, _)| !table.is_heap()) {
            if !always.contains(&table.id) && !self.damaged.contains(&table.id) {
                continue;
            }
            let lost = rows
                .into_iter()
                .filter(|values| self.store.add(table, values.clone()))
                .count();
            if lost > 0 {
                self.notes.push(format!(
                    "{lost} rows of sys.{} that every database has are put in again.",
                    table.name
                ));
            }
        }
    }

    pub(super) fn layouts_of(&self) -> BTreeMap<i64, Vec<RowsetColumn>> {
        let mut of: BTreeMap<i64, Vec<RowsetColumn>> = BTreeMap::new();
        for column in self.store.all::<RowsetColumn>() {
            of.entry(column.rsid).or_default().push(column);
        }
        of
    }

    /// A rowset that an index names: its sizes from its columns, and from its pages.
    fn lost_rowsets(&mut self) {
        let known: BTreeSet<i64> = self
            .store
            .all::<Rowset>()
            .iter()
            .map(|r| r.rowsetid)
            .collect();
        let (layouts, units) = (self.layouts_of(), self.store.all::<AllocUnit>());
        for stat in self.store.all::<IndexStat>() {
            let has_rows = stat.status & index_status::INDEX != 0 && stat.rowset != 0;
            if !has_rows || known.contains(&stat.rowset) {
                continue;
            }
            let columns = layouts.get(&stat.rowset).map_or(&[][..], Vec::as_slice);
            let Some(sizes) = self.sizes_of_lost(&stat, columns) else {
                continue;
            };
            let unit = units.iter().find(|unit| unit.ownerid == stat.rowset);
            let seen = unit.and_then(|unit| self.survey.units.get(&(unit.auid as u64)));
            let is_data = stat.kind != index_kind::NONCLUSTERED;
            let unique = stat.status & index_status::UNIQUE != 0;
            let bit = |set: bool, bit: i32| if set { bit } else { 0 };
            let leaf = seen.and_then(|seen| seen.leaf_min).map(|min| min as i16);
            let node = seen.and_then(|seen| seen.node_min).map(|min| min as i16);
            self.store.put(&Rowset {
                rowsetid: stat.rowset,
                ownertype: 1,
                idmajor: stat.id,
                idminor: stat.indid,
                numpart: 1,
                status: rowset_status::USER
                    | bit(is_data, rowset_status::DATA)
                    | bit(unique, rowset_status::UNIQUE)
                    | rowset_status::NULLABLE_KEYS,
                fgidfs: 0,
                rcrows: 0,
                cmprlevel: 0,
                fillfact: 0,
                maxnullbit: sizes.maxnullbit,
                maxleaf: sizes.maxleaf,
                maxint: sizes.maxint,
                minleaf: leaf.unwrap_or(sizes.minleaf),
                minint: node.unwrap_or(sizes.minint),
                rsguid: None,
                lockres: None,
                scope_id: None,
            });
        }
    }

    /// The sizes of a rowset whose row is lost: by what the table declares where what is left of its columns
    /// agrees with that, else by what is left. A table has all columns that it declares, even so.
    fn sizes_of_lost(&self, stat: &IndexStat, left: &[RowsetColumn]) -> Option<RowsetLayout> {
        let sizes = sizes_of(stat.rowset, stat.indid, left);
        if stat.indid > 1 {
            return sizes;
        }
        let unique = stat.status & index_status::UNIQUE != 0;
        let mut declared: Vec<Column> = self.store.all();
        declared.retain(|c| c.id == stat.id && c.number == 0);
        let mut key: Vec<IndexColumn> = self.store.all();
        key.retain(|m| (m.idmajor, m.idminor) == (stat.id, stat.indid));
        let key: Vec<&IndexColumn> = key.iter().collect();
        let made = declared_layout((stat.rowset, stat.indid), &declared, &key, unique);
        if made.as_ref().is_some_and(|made| agrees(made, left)) {
            return made;
        }
        let least = declared.len() + usize::from(stat.indid == 1 && !unique);
        sizes.map(|sizes| RowsetLayout {
            maxnullbit: sizes
                .maxnullbit
                .max(i16::try_from(least).unwrap_or(i16::MAX)),
            ..sizes
        })
    }

    /// A table in words.
    pub(super) fn name_of(&self, id: i32) -> String {
        let found: Option<SchemaObject> = self.store.get(&[id.into()]);
        found.map_or_else(
            || format!("object {id}"),
            |object| format!("table {}", object.name),
        )
    }

    /// Columns of clustered keys, which the layout of the rows has as well.
    fn lost_members(&mut self) {
        let layouts = self.layouts_of();
        let members: Vec<IndexColumn> = self.store.all();
        let members: BTreeSet<(i32, i32, i32)> = members
            .iter()
            .map(|m| (m.idmajor, m.idminor, m.subid))
            .collect();
        for rowset in self.store.all::<Rowset>() {
            if rowset.idminor != 1 || is_base(rowset.idmajor) {
                continue;
            }
            let of = layouts.get(&rowset.rowsetid).into_iter().flatten();
            let keyed = of.filter(|c| c.ordkey > 0 && c.rscolid > 0);
            for column in keyed {
                let subid = i32::from(column.ordkey);
                let key = (rowset.idmajor, 1, subid);
                if members.contains(&key) {
                    continue;
                }
                let descending = match column.status & layout_status::DESCENDING {
                    0 => 0,
                    _ => index_column_status::DESCENDING,
                };
                self.store.put(&IndexColumn {
                    idmajor: rowset.idmajor,
                    idminor: 1,
                    subid,
                    status: index_column_status::COLUMN | index_column_status::KEY | descending,
                    intprop: column.rscolid,
                    tinyprop1: column.ordkey as u8,
                    tinyprop2: 0,
                    tinyprop3: 0,
                });
            }
        }
    }

    /// Columns of rowsets, tables before their indexes.
    fn lost_layouts(&mut self) {
        let mut rowsets: Vec<Rowset> = self.store.all();
        rowsets.retain(|rowset| !is_base(rowset.idmajor));
        rowsets.sort_by_key(|rowset| (rowset.idmajor, rowset.idminor));
        let mut columns: BTreeMap<i32, Vec<Column>> = BTreeMap::new();
        for column in self.store.all::<Column>() {
            if column.number == 0 {
                columns.entry(column.id).or_default().push(column);
            }
        }
        let members: Vec<IndexColumn> = self.store.all();
        let mut members_of: BTreeMap<(i32, i32), Vec<&IndexColumn>> = BTreeMap::new();
        for member in &members {
            let of = members_of.entry((member.idmajor, member.idminor));
            of.or_default().push(member);
        }
        let bases = rowsets.iter().filter(|r| r.idminor <= 1);
        let bases: BTreeMap<i32, i64> = bases.map(|r| (r.idmajor, r.rowsetid)).collect();
        let mut layouts = self.layouts_of();
        for rowset in &rowsets {
            let of = |id: i64| layouts.get(&id).map_or(&[][..], Vec::as_slice);
            let left = of(rowset.rowsetid);
            if is_whole(rowset, left) {
                continue;
            }
            let unique = rowset.status & rowset_status::UNIQUE != 0;
            let key = (rowset.idmajor, rowset.idminor);
            let mine = members_of.get(&key).map_or(&[][..], Vec::as_slice);
            let made = if rowset.idminor <= 1 {
                let declared = columns.get(&rowset.idmajor);
                let declared = declared.map_or(&[][..], Vec::as_slice);
                of_table(rowset, left, declared, mine, unique)
            } else {
                let base = bases.get(&rowset.idmajor);
                let base = base.map_or(&[][..], |base| of(*base));
                of_index(rowset, left, base, mine, unique)
            };
            let Some(mut made) = made.map(|made| made.columns) else {
                continue;
            };
            for column in &mut made {
                match left.iter().find(|known| known.hbcolid == column.hbcolid) {
                    Some(known) => *column = known.clone(),
                    None => _ = self.store.add(&SYSRSCOLS, column.to_values()),
                }
            }
            layouts.insert(rowset.rowsetid, made);
        }
    }

    /// Tables whose rows are there, and whose names are lost.
    fn lost_objects(&mut self) {
        let known: BTreeSet<i32> = self
            .store
            .all::<SchemaObject>()
            .iter()
            .map(|o| o.id)
            .collect();
        let rowsets: Vec<Rowset> = self.store.all();
        let columns: Vec<Column> = self.store.all();
        for rowset in rowsets
            .iter()
            .filter(|r| r.idminor <= 1 && !known.contains(&r.idmajor))
        {
            let id = rowset.idmajor;
            let highest = columns.iter().filter(|c| c.id == id).map(|c| c.colid).max();
            let name = format!("lost_table_{id}");
            let created = self.created();
            self.store.put(&SchemaObject {
                id,
                name: name.clone(),
                nsid: schema_id::DBO,
                nsclass: 0,
                status: 0,
                kind: object_type::USER_TABLE,
                pid: 0,
                pclass: 1,
                intprop: highest.unwrap_or(0),
                created,
                modified: created,
                status2: 0,
            });
            self.notes.push(format!(
                "The name of the table with object id {id} is lost: it is called dbo.{name}."
            ));
        }
    }

    /// Columns that rows have, and whose names are lost.
    fn lost_columns(&mut self) {
        let layouts = self.layouts_of();
        let mut columns: Vec<Column> = self.store.all();
        columns.retain(|c| c.number == 0);
        let known: BTreeSet<(i32, i32)> = columns.iter().map(|c| (c.id, c.colid)).collect();
        for rowset in self.store.all::<Rowset>() {
            if rowset.idminor > 1 || is_base(rowset.idmajor) {
                continue;
            }
            for stored in layouts.get(&rowset.rowsetid).into_iter().flatten() {
                let (id, number) = (rowset.idmajor, stored.rscolid);
                let dropped = stored.status & layout_status::DROPPED != 0 || number >= 0x0400_0000;
                let named = known.contains(&(id, number));
                let data_type = DataType::from_ti(stored.ti, Collation(stored.cid as u32));
                let Some(data_type) = data_type.filter(|_| number > 0 && !dropped && !named) else {
                    continue;
                };
                let name = format!("lost_column_{number}");
                let nullable = stored.status & layout_status::NOT_NULL == 0;
                let row = column_row(id, number, &name, &data_type, nullable);
                let table = self.name_of(id);
                self.store.put(&row);
                columns.push(row);
                self.notes.push(format!(
                    "The name of column {number} of {table} is lost, with its default and its identity: it \
                     is called {name}."
                ));
            }
        }
        let mut objects: Vec<SchemaObject> = self.store.all();
        let mut highest_of: BTreeMap<i32, i32> = BTreeMap::new();
        for column in &columns {
            let highest = highest_of.entry(column.id).or_default();
            *highest = column.colid.max(*highest);
        }
        for object in &mut objects {
            let highest = highest_of.get(&object.id).copied().unwrap_or(0);
            let is_table = object.kind == object_type::USER_TABLE;
            if is_table && object.intprop < highest {
                object.intprop = highest;
                self.store.put(object);
            }
        }
    }
}
