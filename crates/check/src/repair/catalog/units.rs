//! Allocation units whose rows are lost: found by their pages, where only one can be meant.
//!
//! # Invariants
//! 1. *A unit is given to a rowset only if no other could be meant*: one rowset without a unit has rows of
//!    this kind and size, and one unit without a row has such pages. A unit without rows is given only if it
//!    is the only one without a row. Otherwise the catalog is not repaired, for the rows of a table would go.

use super::reconcile::{Work, is_base};
use furrow_format::catalog::{AllocUnit, IndexStat, Rowset, unit_kind};
use furrow_format::{AllocUnitId, PageId};
use std::collections::BTreeSet;

impl Work<'_> {
    /// Units of users that have an IAM page, and no row.
    fn free_units(&self, rows: &[AllocUnit]) -> Vec<u64> {
        let named: BTreeSet<i64> = rows.iter().map(|unit| unit.auid).collect();
        let free = self.survey.units.iter().filter(|(id, seen)| {
            let of_users = AllocUnitId(**id).index_part() >= 256;
            of_users && !named.contains(&(**id as i64)) && !seen.first_iam.is_none()
        });
        free.map(|(id, _)| *id).collect()
    }

    /// Whether a unit may be that of a rowset; `alone` where no other unit has lost its row.
    fn may_be(&self, id: u64, rowset: &Rowset, alone: bool) -> bool {
        let Some(seen) = self.survey.units.get(&id) else {
            return false;
        };
        match seen.leaf_min {
            Some(min) => min == rowset.minleaf as u16 && seen.is_data == (rowset.idminor <= 1),
            // A tree of which no page is left has no rows, and no root.
            None => alone && (rowset.idminor == 0 || !seen.any.is_none()),
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
        let mut given: BTreeSet<(i64, u64)> = BTreeSet::new();
        for rowset in &lost {
            let mut fitting = free.iter().filter(|id| self.may_be(**id, rowset, alone));
            let (Some(id), None) = (fitting.next(), fitting.next()) else {
                continue;
            };
            let others = lost.iter().filter(|r| self.may_be(*id, r, alone));
            if others.count() == 1 {
                given.insert((rowset.rowsetid, *id));
            }
        }
        let open = |id: &&u64| {
            let seen = self.survey.units.get(*id);
            let data = seen.is_some_and(|seen| seen.is_data || seen.leaf_min.is_none());
            data && given.iter().all(|(_, unit)| unit != *id)
        };
        let has_open = free.iter().any(|id| open(&id));
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
