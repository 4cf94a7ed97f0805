//! Allocation units whose rows are lost: found by their pages, where only one can be meant.
//!
//! # Invariants
//! 1. *A unit is given to a rowset only if no other could be meant*: one rowset without a unit has rows of
//!    this kind and size, and one unit without a row has such pages. A unit without rows is given only if it
//!    is the only one without a row. Where several fit, exact counts of rows decide: a unit does not have
//!    more rows than its rowset counts. If all units together have as many as all rowsets count, each has
//!    lost none, and belongs to the rowset with its count, if no other has the same. Otherwise the catalog is
//!    not repaired, for the rows of a table would go. Proof: `tables_without_units_get_them_by_their_counts`
//!    (soak).
//! 2. *A table without a rowset is dropped only if no page can be one of its rows*: while a unit with rows
//!    belongs to no rowset, nothing is repaired, also where the row of its table is lost; there one page
//!    without an IAM page is not taken for a unit. Proofs:
//!    `tables_that_lost_rowset_and_index_rows_are_not_freed`, `tables_of_which_no_row_is_left_are_not_freed`
//!    (engine).

use super::reconcile::{Work, is_base};
use super::survey::SeenUnit;
use furrow_format::catalog::{
    AllocUnit, IndexStat, Rowset, SYSROWSETS, SchemaObject, object_type, unit_kind,
};
use furrow_format::{AllocUnitId, PageId};
use std::collections::{BTreeMap, BTreeSet};

/// `sysallocunits.type` of a unit that is being dropped.
const TO_DROP: u8 = 0;

/// Whether a unit is of a table of users.
fn of_users(id: u64) -> bool {
    AllocUnitId(id).index_part() >= 256
}

impl Work<'_> {
    /// Units of users that have an IAM page, and no row.
    fn free_units(&self, rows: &[AllocUnit]) -> Vec<u64> {
        let named: BTreeSet<i64> = rows.iter().map(|unit| unit.auid).collect();
        let free = self.survey.units.iter().filter(|(id, seen)| {
            of_users(**id) && !named.contains(&(**id as i64)) && !seen.first_iam.is_none()
        });
        free.map(|(id, _)| *id).collect()
    }

    /// Whether a unit may be that of a rowset; `alone` where no other unit has lost its row.
    fn may_be(&self, id: u64, rowset: &Rowset, alone: bool) -> bool {
        let Some(seen) = self.survey.units.get(&id) else {
            return false;
        };
        let counted = self.counts.get(&rowset.rowsetid);
        let too_many = counted.is_some_and(|count| seen.rows > *count);
        match seen.leaf_min {
            _ if too_many => false,
            Some(min) => min == rowset.minleaf as u16 && seen.is_data == (rowset.idminor <= 1),
            // A tree of which no page is left has no rows, and no root.
            None => alone && (rowset.idminor == 0 || !seen.any.is_none()),
        }
    }

    /// Tables and their units, where exact counts prove which is which; none where a unit may belong to a
    /// table whose own rows in the catalog are lost.
    fn by_counts(&self, lost: &[Rowset], free: &[u64]) -> BTreeSet<(i64, u64)> {
        if !self.has_all_tables || !self.bare_tables().is_empty() {
            return BTreeSet::new();
        }
        let count_of = |rowset: &&Rowset| self.counts.get(&rowset.rowsetid).copied();
        let mut tables: Vec<&Rowset> = lost.iter().filter(|rowset| rowset.idminor <= 1).collect();
        tables.retain(|rowset| count_of(rowset) != Some(0));
        let by_count = tables
            .iter()
            .filter_map(|rowset| Some((count_of(rowset)?, *rowset)));
        let by_count: BTreeMap<u64, &Rowset> = by_count.collect();
        let seen = free
            .iter()
            .filter_map(|id| Some((*id, self.survey.units.get(id)?)));
        let units: Vec<_> = seen
            .filter(|(_, seen)| seen.is_data && seen.rows > 0)
            .collect();
        let pairs = units.iter().filter_map(|(id, seen)| {
            let rowset = by_count.get(&seen.rows)?;
            let fits = self.may_be(*id, rowset, false);
            fits.then_some((rowset.rowsetid, *id))
        });
        let pairs: BTreeSet<(i64, u64)> = pairs.collect();
        let owners: BTreeSet<i64> = pairs.iter().map(|(owner, _)| *owner).collect();
        let counts = [tables.len(), units.len(), pairs.len()];
        match counts.iter().all(|count| *count == owners.len()) {
            true => pairs,
            false => BTreeSet::new(),
        }
    }

    /// Units that no row names, by their pages.
    pub(super) fn lost_units(&mut self) {
        let rows: Vec<AllocUnit> = self.store.all();
        let in_row = rows.iter().filter(|unit| unit.kind == unit_kind::IN_ROW);
        let owned: BTreeSet<i64> = in_row.map(|unit| unit.ownerid).collect();
        let mut lost: Vec<Rowset> = self.store.all();
        lost.retain(|r| !owned.contains(&r.rowsetid) && !is_base(r.idmajor));
        let free = self.free_units(&rows);
        let alone = free.len() == 1;
        let mut given = self.by_counts(&lost, &free);
        for rowset in &lost {
            let is_given = |id: &u64| given.iter().any(|(_, unit)| unit == id);
            let fits = |id: &&u64| !is_given(id) && self.may_be(**id, rowset, alone);
            let mut fitting = free.iter().filter(fits);
            let (Some(id), None) = (fitting.next(), fitting.next()) else {
                continue;
            };
            let has_unit = |r: &Rowset| given.iter().any(|(owner, _)| *owner == r.rowsetid);
            if has_unit(rowset) {
                continue;
            }
            let others = lost
                .iter()
                .filter(|r| !has_unit(r) && self.may_be(*id, r, alone));
            if others.count() == 1 {
                given.insert((rowset.rowsetid, *id));
            }
        }
        // Without its IAM page a unit cannot be given to a table. Its pages are rows all the same.
        let named: BTreeSet<i64> = rows.iter().map(|unit| unit.auid).collect();
        let open = |(id, seen): (&u64, &SeenUnit)| {
            let is_left = !seen.any.is_none() || free.contains(id);
            let data = seen.is_data || seen.leaf_min.is_none();
            let lone = !named.contains(&(*id as i64)) && of_users(*id);
            lone && is_left && data && given.iter().all(|(_, unit)| unit != id)
        };
        let has_open = self.survey.units.iter().any(open);
        for rowset in &lost {
            let unit = given.iter().find(|(owner, _)| *owner == rowset.rowsetid);
            match unit {
                Some((_, id)) => self.give_unit(rowset, *id),
                None if rowset.idminor <= 1 && has_open => {
                    let table = self.name_of(rowset.idmajor);
                    self.refusals.push(format!(
                        "Which pages are those of {table} cannot be decided: the catalog is not repaired. \
                         Restore the database from a backup."
                    ));
                }
                None => {}
            }
        }
    }

    /// Tables that no rowset and no index is left of.
    fn bare_tables(&self) -> Vec<SchemaObject> {
        let rowsets: Vec<Rowset> = self.store.all();
        let stats: Vec<IndexStat> = self.store.all();
        let bases = rowsets.iter().filter(|r| r.idminor <= 1).map(|r| r.idmajor);
        let in_stats = stats.iter().filter(|s| s.indid <= 1 && s.rowset != 0);
        let bases: BTreeSet<i32> = bases.chain(in_stats.map(|s| s.id)).collect();
        let mut bare: Vec<SchemaObject> = self.store.all();
        bare.retain(|o| o.kind == object_type::USER_TABLE && !bases.contains(&o.id));
        bare
    }

    /// Tables that no rowset and no index is left of: they are dropped. Pages of rows whose table is not
    /// known are not freed: nothing is repaired.
    pub(super) fn lost_tables(&mut self) {
        let rowsets: Vec<Rowset> = self.store.all();
        let stats: Vec<IndexStat> = self.store.all();
        let lost = self.bare_tables();
        let owners = rowsets.iter().map(|rowset| rowset.rowsetid);
        let owners: BTreeSet<i64> = owners.chain(stats.iter().map(|s| s.rowset)).collect();
        let rows: Vec<AllocUnit> = self.store.all();
        let owned = rows
            .iter()
            .filter(|unit| unit.kind == TO_DROP || owners.contains(&unit.ownerid));
        let owned: BTreeSet<i64> = owned.map(|unit| unit.auid).collect();
        // Where no table asks for rows, the row of the table may be lost as well. One page with a wrong
        // number of a unit is not a table: that has an IAM page, too.
        let is_lost = self.damaged.contains(&SYSROWSETS.id);
        let is_table = |seen: &SeenUnit| {
            let has_rows = seen.is_data && seen.leaf_min.is_some();
            let is_one_page = seen.leaves == 1 && seen.first_iam.is_none();
            !lost.is_empty() || (is_lost && has_rows && !is_one_page)
        };
        let lone = self.survey.units.iter().filter(|(id, seen)| {
            of_users(**id)
                && !seen.any.is_none()
                && !owned.contains(&(**id as i64))
                && !self.dropped.contains(&(**id as i64))
                && is_table(seen)
        });
        let lone = lone.count();
        if lone > 0 {
            let names: Vec<String> = lost.iter().map(|table| self.name_of(table.id)).collect();
            let of = match names.is_empty() {
                true => format!("Whose rows the pages of {lone} allocation units are"),
                false => format!("Which pages are those of {}", names.join(", ")),
            };
            self.refusals.push(format!(
                "{of} cannot be decided: the catalog is not repaired. Restore the database from a backup."
            ));
            return;
        }
        for table in lost {
            self.drop_table(table.id);
        }
    }

    fn give_unit(&mut self, rowset: &Rowset, id: u64) {
        let (root, first_iam) = self.survey.place_of(id);
        let stats: Vec<IndexStat> = self.store.all();
        let stat = stats.iter().find(|stat| stat.rowset == rowset.rowsetid);
        // Where the root is lost, another page becomes it when the tree is written again.
        let any = self.survey.units.get(&id).map(|seen| seen.any);
        let root = match rowset.idminor {
            0 => PageId::NONE,
            _ if root.is_none() => any.unwrap_or(PageId::NONE),
            _ => root,
        };
        self.store.put(&AllocUnit {
            auid: id as i64,
            kind: unit_kind::IN_ROW,
            ownerid: rowset.rowsetid,
            status: 0,
            fgid: stat.map_or(1, |stat| stat.dataspace as i16).max(1),
            pgfirst: root,
            pgroot: root,
            pgfirstiam: first_iam,
            pcused: 0,
            pcdata: 0,
            pcreserved: 0,
        });
        let table = self.name_of(rowset.idmajor);
        self.notes.push(format!(
            "The pages of allocation unit {id} are those of index {} of {table}: its row is put in again.",
            rowset.idminor
        ));
    }
}
