//! Indexes whose rows are lost, and the keys that they may belong to.
//!
//! # Invariants
//! 1. *A key gets an index only if no other could be meant*: its table has lost the row of one unique index,
//!    and has one key without an index. Otherwise the key goes, and that is said.

use super::reconcile::{Work, is_base};
use furrow_format::catalog::{
    AllocUnit, IndexStat, Rowset, SYSIDXSTATS, SYSSCHOBJS, SchemaObject, index_kind, index_status,
    object_type, rowset_status,
};
use std::collections::{BTreeMap, BTreeSet};

fn is_unique(rowset: &Rowset) -> bool {
    rowset.idminor > 0 && rowset.status & rowset_status::UNIQUE != 0
}

impl Work<'_> {
    /// Keys whose tables have no index of their name, by table.
    fn keys_without_index(&self) -> BTreeMap<i32, Vec<SchemaObject>> {
        let keys = [object_type::PRIMARY_KEY, object_type::UNIQUE_CONSTRAINT];
        let mut names: BTreeMap<i32, BTreeSet<String>> = BTreeMap::new();
        for stat in self.store.all::<IndexStat>() {
            names.entry(stat.id).or_default().extend(stat.name);
        }
        let mut lone: BTreeMap<i32, Vec<SchemaObject>> = BTreeMap::new();
        for object in self.store.all::<SchemaObject>() {
            let has_index = names
                .get(&object.pid)
                .is_some_and(|names| names.contains(&object.name));
            if keys.contains(&object.kind) && !has_index {
                lone.entry(object.pid).or_default().push(object);
            }
        }
        lone
    }

    /// Indexes that their rowsets prove. Their names are lost, except those of keys.
    pub(super) fn lost_stats(&mut self) {
        let stats: Vec<IndexStat> = self.store.all();
        let known: BTreeSet<(i32, i32)> = stats.iter().map(|s| (s.id, s.indid)).collect();
        let units: Vec<AllocUnit> = self.store.all();
        let first = units.iter().rev();
        let groups: BTreeMap<i64, i16> = first.map(|u| (u.ownerid, u.fgid)).collect();
        let mut lost: Vec<Rowset> = self.store.all();
        lost.retain(|rowset| !known.contains(&(rowset.idmajor, rowset.idminor)));
        let mut unique: BTreeMap<i32, u32> = BTreeMap::new();
        for rowset in lost.iter().filter(|rowset| is_unique(rowset)) {
            *unique.entry(rowset.idmajor).or_default() += 1;
        }
        let keys = self.keys_without_index();
        for rowset in &lost {
            let one = is_unique(rowset) && unique.get(&rowset.idmajor) == Some(&1);
            let key = match keys.get(&rowset.idmajor).map(Vec::as_slice) {
                Some([key]) if one => Some(key),
                _ => None,
            };
            let group = groups.get(&rowset.rowsetid).copied().unwrap_or(1);
            self.lost_stat(rowset, key, group);
        }
        let tables: BTreeSet<i32> = lost.iter().map(|rowset| rowset.idmajor).collect();
        let all = self.damaged.contains(&SYSIDXSTATS.id);
        let lone = self.keys_without_index();
        let lone = lone
            .into_iter()
            .filter(|(id, _)| (all || tables.contains(id)) && !is_base(*id));
        for key in lone.flat_map(|(_, keys)| keys) {
            let table = self.name_of(key.pid);
            self.notes.push(format!(
                "Which index constraint {} of {table} has is lost: the constraint is dropped. Create it \
                 again.",
                key.name
            ));
            let gone = i64::from(key.id);
            self.store
                .remove(&SYSSCHOBJS, |row| super::drop::int(row, 0) == gone);
        }
    }

    fn lost_stat(&mut self, rowset: &Rowset, key: Option<&SchemaObject>, group: i16) {
        let (id, number) = (rowset.idmajor, rowset.idminor);
        let unique = match rowset.status & rowset_status::UNIQUE {
            0 => 0,
            _ => index_status::UNIQUE,
        };
        let of_key = match key.map(|key| key.kind == object_type::PRIMARY_KEY) {
            None => 0,
            Some(true) => index_status::PRIMARY_KEY,
            Some(false) => index_status::UNIQUE_CONSTRAINT,
        };
        let lost = || format!("lost_index_{number}");
        let name = key.map_or_else(lost, |key| key.name.clone());
        let named = if number > 0 { index_status::NAMED } else { 0 };
        self.store.put(&IndexStat {
            id,
            indid: number,
            name: (number > 0).then(|| name.clone()),
            status: index_status::INDEX | named | unique | of_key,
            intprop: 0,
            fillfact: 0,
            kind: match number {
                0 => index_kind::HEAP,
                1 => index_kind::CLUSTERED,
                _ => index_kind::NONCLUSTERED,
            },
            tinyprop: 0,
            dataspace: group.into(),
            lobds: 0,
            rowset: rowset.rowsetid,
        });
        if number == 0 {
            return;
        }
        let table = self.name_of(id);
        self.notes.push(match key {
            Some(_) => {
                format!("The row of index {name} of {table} is put in again, by its constraint.")
            }
            None => format!(
                "The name of index {number} of {table} is lost, and whether it belongs to a constraint: it \
                 is called {name}."
            ),
        });
    }
}
