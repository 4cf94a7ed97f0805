//! Which row of a nonclustered index each row of a table must have.

use super::types::{ColumnPlan, IndexMatch, Origin, Plan, RowsetPlan};
use furrow_datafile::Database;
use furrow_format::catalog::{
    IndexColumn, IndexStat, RowsetValue, SYSSEOBJVALUES, index_kind, index_status,
};
use furrow_types::{Value, encode_into};
use std::collections::HashMap;

impl Plan {
    /// Pairs tables and indexes that can be held against each other row by row.
    pub(super) fn plan_matches(&mut self, database: &Database<'_>) {
        let defaults: Vec<RowsetValue> = database
            .read_table(&SYSSEOBJVALUES, SYSSEOBJVALUES.id)
            .unwrap_or_default();
        let indexes = self.catalog.indexes.clone();
        let comparable = |stat: &&IndexStat| {
            let other = index_status::DISABLED | index_status::FILTERED;
            stat.kind == index_kind::NONCLUSTERED
                && stat.status & index_status::INDEX != 0
                && stat.status & other == 0
                && stat.indid > 1
        };
        for stat in indexes.iter().filter(comparable) {
            self.plan_match(stat, &defaults);
        }
    }

    fn plan_match(&mut self, stat: &IndexStat, defaults: &[RowsetValue]) {
        let of = |index: &dyn Fn(i32) -> bool| {
            let mut found = self
                .catalog
                .rowsets
                .iter()
                .filter(|r| r.idmajor == stat.id && index(r.idminor));
            // Partitions of table and index need not agree: such pairs are left to counts.
            found
                .next()
                .filter(|_| found.next().is_none())
                .map(|r| r.rowsetid)
        };
        let (Some(base), Some(index)) = (of(&|id| id <= 1), of(&|id| id == stat.indid)) else {
            return;
        };
        let (Some(base_unit), Some(index_unit)) = (self.row_unit(base), self.row_unit(index))
        else {
            return;
        };
        let group = |unit: u32| self.unit(unit).map_or(0, |unit| unit.filegroup);
        if self.is_absent(group(base_unit)) || self.is_absent(group(index_unit)) {
            return;
        }
        let place_of = |unit: u32| self.unit(unit).and_then(|unit| unit.rows);
        let (Some(base_at), Some(index_at)) = (place_of(base_unit), place_of(index_unit)) else {
            return;
        };
        let (Some(base_rows), Some(index_rows)) =
            (self.rowsets.get(base_at), self.rowsets.get(index_at))
        else {
            return;
        };
        let members: Vec<&IndexColumn> = self
            .catalog
            .index_columns
            .iter()
            .filter(|c| c.idmajor == stat.id && c.idminor == stat.indid)
            .collect();
        let overflows = self.overflows(base);
        let Some(from) = sources(base_rows, index_rows, &members, overflows) else {
            return;
        };
        let mut filled = HashMap::new();
        for value in defaults.iter().filter(|v| v.id == base) {
            let stored = |c: &ColumnPlan| i64::from(c.stored.order) == value.subid;
            let at = base_rows.leaf.columns.iter().position(stored);
            if let (Some(at), Value::Variant(inner)) = (at, &value.value) {
                let mut bytes = Vec::new();
                if encode_into(&inner.0, &inner.1, &mut bytes).is_ok() {
                    filled.insert(at, bytes);
                }
            }
        }
        let place = self.matches.len();
        self.matches.push(IndexMatch {
            from,
            index_unit,
            base_unit,
            defaults: filled,
            name: stat.name.clone().unwrap_or_default(),
            index_id: stat.indid,
        });
        if let Some(rows) = self.rowsets.get_mut(base_at) {
            rows.expects.push(place);
        }
        if let Some(rows) = self.rowsets.get_mut(index_at) {
            rows.is_index = Some(place);
        }
    }
}

/// The source of each leaf column: those that the catalog names, then what of the table's key (or the row's
/// address) is not among them, in key order.
fn sources(
    base: &RowsetPlan,
    index: &RowsetPlan,
    members: &[&IndexColumn],
    overflows: bool,
) -> Option<Vec<Origin>> {
    let base_column = |id: i32| {
        let is_it = |c: &ColumnPlan| c.stored.column_id == id && !c.uniquifier;
        base.leaf.columns.iter().position(is_it)
    };
    let named: Vec<i32> = members.iter().map(|member| member.intprop).collect();
    let mut locator = base.leaf.key.iter().filter(|key| {
        let column = base.leaf.columns.get(key.column);
        column.is_some_and(|c| c.uniquifier || !named.contains(&c.stored.column_id))
    });
    let mut order: Vec<usize> = (0..index.leaf.columns.len()).collect();
    order.sort_by_key(|&at| index.leaf.columns.get(at).map(|c| c.stored.column_id));
    let mut from = vec![Origin::Nothing; index.leaf.columns.len()];
    for at in order {
        let column = index.leaf.columns.get(at)?;
        let member = members.iter().find(|m| m.subid == column.stored.column_id);
        let source = match member {
            Some(member) => base_column(member.intprop).map_or(Origin::Nothing, Origin::Column),
            None if base.is_heap => Origin::Address,
            None => Origin::Column(locator.next()?.column),
        };
        let keeps = |source: &usize| {
            let table = base.leaf.columns.get(*source);
            table.is_some_and(|c| !(c.may_leave() || overflows && c.place.offset < 0))
        };
        let comparable = match source {
            Origin::Column(source) => keeps(&source) && !column.may_leave(),
            _ => true,
        };
        if let (true, Some(place)) = (comparable, from.get_mut(at)) {
            *place = source;
        }
    }
    // An index that has nothing of its own left to compare proves nothing.
    from.iter()
        .any(|source| *source != Origin::Nothing)
        .then_some(from)
}
