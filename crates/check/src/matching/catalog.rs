//! The catalog against itself: every row that another needs is there.

use super::Matcher;
use crate::base_rows::{FILES1_PAGE, names_log};
use crate::foreign::broken_keys;
use crate::plan::{ColumnPlan, RowsetPlan};
use furrow_format::catalog::{
    IndexColumn, Rowset, SchemaObject, index_status, object_type, rowset_status, unit_kind,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Rows without the row that they need: message 3853 within 8992.
const NO_PARTNER: i64 = 3853;

impl Matcher<'_> {
    pub(super) fn match_catalog(&mut self) {
        let plan = self.shared.plan;
        let catalog = &plan.catalog;
        let objects: HashSet<i32> = catalog.objects.iter().map(|o| o.id).collect();
        let rowsets: HashSet<i64> = catalog.rowsets.iter().map(|r| r.rowsetid).collect();
        let laid_out: HashSet<i64> = catalog.laid_out.iter().copied().collect();
        let with_unit: HashSet<i64> = plan
            .units
            .iter()
            .filter(|unit| unit.kind == unit_kind::IN_ROW)
            .map(|unit| unit.rowset_id)
            .collect();
        let mut wrong = Vec::new();
        for rowset in &catalog.rowsets {
            let (id, object) = (rowset.rowsetid, rowset.idmajor);
            if !objects.contains(&object) {
                wrong.push(format!(
                    "Row (rowsetid={id}) in sys.sysrowsets does not have a matching row (id={object}) in \
                     sys.sysschobjs."
                ));
            }
            if !laid_out.contains(&id) {
                wrong.push(format!(
                    "Row (rowsetid={id}) in sys.sysrowsets does not have a matching row (rsid={id}) in \
                     sys.sysrscols."
                ));
            }
            if !with_unit.contains(&id) {
                wrong.push(format!(
                    "Row (rowsetid={id}) in sys.sysrowsets does not have a matching row (ownerid={id}) in \
                     sys.sysallocunits."
                ));
            }
        }
        let kept = plan.units.iter().filter(|u| u.kind != 0);
        for unit in kept.filter(|u| !rowsets.contains(&u.rowset_id)) {
            wrong.push(format!(
                "Row (auid={}) in sys.sysallocunits does not have a matching row (rowsetid={}) in \
                 sys.sysrowsets.",
                unit.id, unit.rowset_id
            ));
        }
        let index = |status: i32| status & index_status::INDEX != 0;
        for stat in catalog.indexes.iter().filter(|s| index(s.status)) {
            let (id, number, rowset) = (stat.id, stat.indid, stat.rowset);
            if rowset != 0 && !rowsets.contains(&rowset) {
                wrong.push(format!(
                    "Row (id={id},indid={number}) in sys.sysidxstats does not have a matching row \
                     (rowsetid={rowset}) in sys.sysrowsets."
                ));
            }
        }
        self.orphans(&objects, &mut wrong);
        self.gaps(&mut wrong);
        for text in wrong {
            plan.catalog_finding(&mut self.findings, (NO_PARTNER, text));
        }
    }

    /// Numbers that count up without gaps: columns of indexes. And what only databases of ours must have.
    fn gaps(&self, wrong: &mut Vec<String>) {
        let plan = self.shared.plan;
        let catalog = &plan.catalog;
        let mut members: BTreeMap<(i32, i32), (i32, i32)> = BTreeMap::new();
        for member in &catalog.index_columns {
            let of = members.entry((member.idmajor, member.idminor)).or_default();
            *of = (of.0 + 1, of.1.max(member.subid));
        }
        for ((id, index), (count, last)) in members.into_iter().filter(|m| m.1.0 != m.1.1) {
            wrong.push(format!(
                "Index (object_id={id},index_id={index}) has {count} rows in sys.sysiscols, the last of \
                 which is number {last}."
            ));
        }
        if plan.own {
            self.columns(wrong);
            self.tables(wrong);
            self.keys(wrong);
            self.foreign_keys(wrong);
            self.files1(wrong);
        }
        let stats: HashSet<(i32, i32)> = catalog.indexes.iter().map(|s| (s.id, s.indid)).collect();
        let lone = |r: &&Rowset| !stats.contains(&(r.idmajor, r.idminor));
        for rowset in catalog.rowsets.iter().filter(lone).filter(|_| plan.own) {
            wrong.push(format!(
                "Row (rowsetid={}) in sys.sysrowsets does not have a matching row (id={},indid={}) in \
                 sys.sysidxstats.",
                rowset.rowsetid, rowset.idmajor, rowset.idminor
            ));
        }
    }

    /// Tables: each has a rowset of its rows.
    fn tables(&self, wrong: &mut Vec<String>) {
        let catalog = &self.shared.plan.catalog;
        let bases = catalog.rowsets.iter().filter(|r| r.idminor <= 1);
        let bases: HashSet<i32> = bases.map(|r| r.idmajor).collect();
        let lone = |o: &&SchemaObject| o.kind == object_type::USER_TABLE && !bases.contains(&o.id);
        for object in catalog.objects.iter().filter(lone) {
            wrong.push(format!(
                "Row (object_id={}) in sys.sysschobjs does not have a matching row (idmajor={}) in \
                 sys.sysrowsets.",
                object.id, object.id
            ));
        }
    }

    /// Columns of indexes: the key in the rows of clustered and of unique indexes is that of the definition.
    /// Rows of a nonclustered index have its columns, and what of the address of the table's row is not among
    /// them.
    fn keys(&self, wrong: &mut Vec<String>) {
        let plan = self.shared.plan;
        let mut members: HashMap<(i32, i32), Vec<&IndexColumn>> = HashMap::new();
        for member in &plan.catalog.index_columns {
            let of = members.entry((member.idmajor, member.idminor));
            of.or_default().push(member);
        }
        let of_rows = plan.units.iter().filter(|u| u.kind == unit_kind::IN_ROW);
        let planned = of_rows.filter_map(|u| Some((u.rowset_id, plan.rowsets.get(u.rows?)?)));
        let planned: HashMap<i64, &RowsetPlan> = planned.collect();
        let rowsets = plan.catalog.rowsets.iter();
        let rowsets = rowsets.filter_map(|r| Some((r, *planned.get(&r.rowsetid)?)));
        let bases = rowsets.clone().filter(|(r, _)| r.idminor <= 1);
        let bases: HashMap<i32, &RowsetPlan> = bases.map(|(r, rows)| (r.idmajor, rows)).collect();
        for (rowset, rows) in rowsets.filter(|(r, _)| r.idminor > 0) {
            let key = (rowset.idmajor, rowset.idminor);
            let mine = members.get(&key).map_or(&[][..], Vec::as_slice);
            let in_key = |m: &&&IndexColumn| m.tinyprop1 > 0;
            let defined = mine.iter().filter(in_key).count();
            let stored = key_of(rows).filter(|column| !column.uniquifier).count();
            let is_unique = rowset.idminor == 1 || rowset.status & rowset_status::UNIQUE != 0;
            let base = bases.get(&key.0).filter(|_| rowset.idminor > 1);
            let all = base.map_or(rows.leaf.columns.len(), |base| {
                mine.len() + others_of(base, mine)
            });
            if is_unique && stored != defined || all != rows.leaf.columns.len() {
                wrong.push(format!(
                    "Index (object_id={},index_id={}) has other columns in sys.sysrscols than in \
                     sys.sysiscols.",
                    key.0, key.1
                ));
            }
        }
    }

    /// `sysfiles1`, where opening a database finds the log. A page in use that cannot be read is a finding of
    /// its own.
    fn files1(&self, wrong: &mut Vec<String>) {
        let in_use = self.shared.maps.is_in_use(FILES1_PAGE);
        let is_right = match self.library.get(FILES1_PAGE) {
            Some((page, Ok(_))) => in_use && names_log(&page),
            _ => in_use,
        };
        if !is_right {
            wrong.push(format!(
                "Page {FILES1_PAGE} does not have the row (fileid=2) of the log in sys.sysfiles1."
            ));
        }
    }

    fn foreign_keys(&self, wrong: &mut Vec<String>) {
        let catalog = &self.shared.plan.catalog;
        for at in broken_keys(&catalog.objects, &catalog.references) {
            let key = catalog.objects.get(at).map_or(0, |object| object.id);
            wrong.push(format!(
                "Row (object_id={key}) in sys.sysschobjs does not have matching rows (depid={key}) in \
                 sys.syssingleobjrefs that lead to a table."
            ));
        }
    }

    /// Columns of tables of ours: each lies in the rows, and nothing else does. Ids are not used again, so
    /// that those of dropped columns are missing; the object has the highest that was ever given.
    fn columns(&self, wrong: &mut Vec<String>) {
        let catalog = &self.shared.plan.catalog;
        let stored: HashSet<i32> = catalog.rowsets.iter().map(|r| r.idmajor).collect();
        let columns = catalog.columns.iter();
        let columns = columns.filter(|c| c.number == 0 && stored.contains(&c.id));
        let named: BTreeSet<(i32, i32)> = columns.map(|c| (c.id, c.colid)).collect();
        for (id, column) in named.difference(&catalog.placed) {
            wrong.push(format!(
                "Row (object_id={id},column_id={column}) in sys.syscolpars does not have a matching row \
                 in sys.sysrscols."
            ));
        }
        for (id, column) in catalog.placed.difference(&named) {
            wrong.push(format!(
                "A row in sys.sysrscols does not have a matching row (object_id={id},column_id={column}) in \
                 sys.syscolpars."
            ));
        }
        let highest: HashMap<i32, i32> =
            catalog.objects.iter().map(|o| (o.id, o.intprop)).collect();
        for (id, column) in named {
            let highest = highest.get(&id).copied().unwrap_or(i32::MAX);
            if column > highest {
                wrong.push(format!(
                    "Row (object_id={id}) in sys.sysschobjs has {highest} as its highest column, \
                     sys.syscolpars has {column}."
                ));
            }
        }
    }

    fn orphans(&self, objects: &HashSet<i32>, wrong: &mut Vec<String>) {
        let catalog = &self.shared.plan.catalog;
        let stats: HashSet<(i32, i32)> = catalog.indexes.iter().map(|s| (s.id, s.indid)).collect();
        for column in catalog.columns.iter().filter(|c| !objects.contains(&c.id)) {
            wrong.push(format!(
                "Row (object_id={},column_id={}) in sys.syscolpars does not have a matching row \
                 (object_id={}) in sys.sysschobjs.",
                column.id, column.colid, column.id
            ));
        }
        for stat in catalog.indexes.iter().filter(|s| !objects.contains(&s.id)) {
            wrong.push(format!(
                "Row (id={},indid={}) in sys.sysidxstats does not have a matching row (id={}) in \
                 sys.sysschobjs.",
                stat.id, stat.indid, stat.id
            ));
        }
        let lone = |c: &&IndexColumn| !stats.contains(&(c.idmajor, c.idminor));
        for column in catalog.index_columns.iter().filter(lone) {
            wrong.push(format!(
                "Row (idmajor={},idminor={},subid={}) in sys.sysiscols does not have a matching row \
                 (id={},indid={}) in sys.sysidxstats.",
                column.idmajor, column.idminor, column.subid, column.idmajor, column.idminor
            ));
        }
    }
}

/// The columns of the key of a leaf.
fn key_of(rows: &RowsetPlan) -> impl Iterator<Item = &ColumnPlan> {
    let columns = &rows.leaf.columns;
    rows.leaf
        .key
        .iter()
        .filter_map(|key| columns.get(key.column))
}

/// How many columns of the address of a table's row are none of an index.
fn others_of(base: &RowsetPlan, members: &[&IndexColumn]) -> usize {
    let is_other = |column: &&ColumnPlan| {
        let id = column.stored.column_id;
        column.uniquifier || members.iter().all(|member| member.intprop != id)
    };
    match base.is_heap {
        true => 1,
        false => key_of(base).filter(is_other).count(),
    }
}
