//! How the rows of a rowset must look: columns, key, lengths.

use super::types::{ColumnPlan, KeyPlan, LevelPlan, Plan, RowsetPlan};
use furrow_datafile::{ColumnPlace, Database, StoredColumn};
use furrow_format::PageType;
use furrow_format::catalog::{
    Column, Rowset, column_status, layout_status, rowset_status, unit_kind,
};
use furrow_types::{DataType, Family, TypeId};
use std::collections::HashMap;

/// Names of a table's columns by id, and whether each is declared NOT NULL.
pub(super) type Names = HashMap<i32, (String, bool)>;

fn level(columns: &[StoredColumn], names: &Names, inner: bool) -> LevelPlan {
    let place_of = |column: &StoredColumn| if inner { column.inner } else { column.leaf };
    let mut plan = LevelPlan::default();
    let mut keyed = Vec::new();
    for stored in columns {
        let place = place_of(stored);
        if inner && place.offset == 0 {
            continue;
        }
        // Dropped columns keep their place in old rows.
        plan.null_bits = plan.null_bits.max(place.null_bit);
        if place.offset < 0 {
            plan.vars = plan.vars.max(place.offset.unsigned_abs());
        } else {
            let len = stored.data_type.fixed_len().unwrap_or(4);
            plan.fixed_end = plan.fixed_end.max(place.offset.unsigned_abs() + len);
        }
        if stored.is_dropped() {
            continue;
        }
        let declared = names.get(&stored.column_id);
        if stored.key_ordinal > 0 {
            keyed.push((stored.key_ordinal, plan.columns.len(), stored));
        }
        plan.columns.push(ColumnPlan {
            stored: *stored,
            place,
            fixed: fixed_part(stored, place),
            var: (place.offset < 0 && !stored.is_uniquifier())
                .then(|| place.offset.unsigned_abs() - 1),
            name: declared.map(|d| d.0.clone()).unwrap_or_default(),
            // Two columns of sysrowsets are NOT NULL by their layout, declared NULL, and NULL in every row.
            not_null: stored.status & layout_status::NOT_NULL != 0
                && declared.is_none_or(|declared| declared.1)
                && !stored.is_uniquifier(),
            uniquifier: stored.is_uniquifier(),
            any_bytes: takes_any_bytes(stored.data_type.id),
            most: most_bytes(&stored.data_type),
        });
    }
    keyed.sort_by_key(|key| key.0);
    plan.key = keyed
        .into_iter()
        .map(|(_, column, stored)| KeyPlan {
            column,
            data_type: stored.data_type,
            descending: stored.status & layout_status::DESCENDING != 0,
        })
        .collect();
    plan
}

/// Where a fixed column has its bytes; a bit shares one.
fn fixed_part(stored: &StoredColumn, place: ColumnPlace) -> Option<(u16, u16)> {
    let is_alone = place.offset > 0 && stored.data_type.id != TypeId::Bit;
    let len = stored.data_type.fixed_len().filter(|_| is_alone)?;
    Some((place.offset.unsigned_abs(), len))
}

/// Whether all bytes of a type's length are one of its values.
fn takes_any_bytes(id: TypeId) -> bool {
    match id.family() {
        Family::Integer | Family::Guid => true,
        Family::Exact => !matches!(id, TypeId::Decimal | TypeId::Numeric),
        _ => false,
    }
}

/// Most bytes of a value in its row.
fn most_bytes(data_type: &DataType) -> usize {
    if data_type.is_max() || matches!(data_type.id.family(), Family::Lob | Family::Variant) {
        return 8040;
    }
    usize::from(data_type.max_in_row_len())
}

fn is_data(rowset: &Rowset) -> bool {
    rowset.status & rowset_status::DATA != 0 || (0..=1).contains(&rowset.idminor)
}

impl Plan {
    /// Plans the rows of every rowset whose layout is known.
    pub(super) fn plan_rows(&mut self, database: &Database<'_>) {
        let mut names: HashMap<i32, Names> = HashMap::new();
        let named = |c: &&Column| c.number == 0;
        for column in self.catalog.columns.iter().filter(named) {
            let name = column.name.clone().unwrap_or_default();
            let not_null = column.status & column_status::NOT_NULL != 0;
            names
                .entry(column.id)
                .or_default()
                .insert(column.colid, (name, not_null));
        }
        for rowset in self.catalog.rowsets.clone() {
            let Some(columns) = database.layout(rowset.rowsetid) else {
                continue;
            };
            let sparse = |c: &StoredColumn| c.status & layout_status::SPARSE != 0;
            if rowset.cmprlevel != 0 || columns.iter().any(sparse) || rowset.idminor > 1_000_000 {
                // Their rows have another form: pages and links are checked, rows are not.
                continue;
            }
            self.plan_rowset(&rowset, columns, names.get(&rowset.idmajor));
        }
    }

    /// Plans the rows of a rowset with these columns.
    pub(super) fn plan_rowset(
        &mut self,
        rowset: &Rowset,
        columns: &[StoredColumn],
        names: Option<&Names>,
    ) {
        let none = Names::new();
        let unit = self.row_unit(rowset.rowsetid);
        let data = is_data(rowset);
        let of_table = names.filter(|_| data).unwrap_or(&none);
        let mut leaf = level(columns, of_table, false);
        let mut node = level(columns, &none, true);
        let header = if data { 4 } else { 1 };
        leaf.fixed_end = leaf.fixed_end.max(header);
        node.fixed_end = node.fixed_end.max(1).saturating_add(6);
        let known = |planned: u16, stated: i32| match u16::try_from(stated) {
            Ok(stated) if stated > 0 => stated,
            _ => planned,
        };
        if self.own {
            leaf.fixed_end = known(leaf.fixed_end, rowset.minleaf.into());
            node.fixed_end = known(node.fixed_end, rowset.minint.into());
        }
        let place = self.rowsets.len();
        self.rowsets.push(RowsetPlan {
            leaf,
            node,
            leaf_type: if data {
                PageType::Data
            } else {
                PageType::Index
            },
            is_heap: rowset.idminor == 0,
            expects: Vec::new(),
            is_index: None,
            rows: rowset.rcrows,
        });
        if let Some(unit) = unit.and_then(|unit| self.units.get_mut(unit as usize)) {
            unit.rows = Some(place);
        }
    }

    /// Whether rows of this rowset may have columns off the row.
    pub(super) fn overflows(&self, rowset_id: i64) -> bool {
        self.units.iter().any(|unit| {
            unit.rowset_id == rowset_id
                && unit.kind == unit_kind::ROW_OVERFLOW
                && !unit.first_iam.is_none()
        })
    }
}
