//! Tables of a database at rest: as far as their rows can be read.

#![deny(clippy::indexing_slicing)]

use super::catalog_rows::TableRows;
use super::index::{Index, IndexKind, LeafColumn, Rowset};
use super::meta::{Column, FindRowset, Storage, Table};
use crate::error::{EngineError, refuse};
use furrow_format::RowsetId;
use furrow_format::catalog::{IndexStat, RowsetValue, index_status, layout_status};
use furrow_types::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Status bits of what has no rows to read: a disabled index, a hypothetical one, statistics.
const UNUSED: i32 = index_status::DISABLED | index_status::HYPOTHETICAL | index_status::STATISTICS;

impl Table {
    /// The table that these rows describe. Indexes that cannot be read are left out, and named in `words`;
    /// where that is the table itself, it has the columns and `nothing` for rows.
    pub(crate) fn resting(
        mut rows: TableRows,
        older: &[RowsetValue],
        nothing: &Arc<Rowset>,
        open: FindRowset<'_>,
        words: &mut Vec<String>,
    ) -> Table {
        let columns = rows.columns.iter().map(|c| Self::resting_column(&rows, c));
        let mut columns: Vec<Column> = columns.collect();
        let stats = rows.usable_stats();
        let mut indexes: Vec<Index> = Vec::new();
        let mut unreadable = None;
        for stat in &stats {
            let made = match rows.obstacle(stat) {
                Some(why) => Err(why),
                None => Self::resting_index(&rows, stat, older, open),
            };
            let placed = made.and_then(|mut index| {
                let base = indexes.first().unwrap_or(&index);
                let place = Self::locator_in(base, &index);
                index.locator = place.ok_or("its rows do not lead to the table's")?;
                Ok(index)
            });
            match placed {
                Ok(index) => indexes.push(index),
                Err(why) if stat.indid <= 1 => {
                    unreadable = Some(why);
                    break;
                }
                Err(why) => words.push(format!(
                    "index '{}' of table '{}.{}' is left out: {why}",
                    stat.name.as_deref().unwrap_or_default(),
                    rows.schema,
                    rows.object.name
                )),
            }
        }
        if indexes.is_empty() {
            unreadable.get_or_insert_with(|| "the catalog does not describe it".to_owned());
            indexes.push(Self::no_index(rows.columns.len(), nothing));
        }
        if let Some(why) = &unreadable {
            words.push(format!(
                "table '{}.{}' cannot be read: {why}",
                rows.schema, rows.object.name
            ));
        }
        if let Some(base) = indexes.first() {
            take_stored(&mut columns, base);
        }
        rows.indexes = stats;
        Self::at_rest(rows, columns, indexes, unreadable)
    }

    fn no_index(columns: usize, nothing: &Arc<Rowset>) -> Index {
        Index {
            id: 0,
            name: String::new(),
            kind: IndexKind::Heap,
            fill_factor: 0,
            status: index_status::INDEX,
            key: Vec::new(),
            included: Vec::new(),
            rowset: Arc::clone(nothing),
            leaf: Vec::new(),
            leaf_of: vec![None; columns],
            locator: Vec::new(),
            uniquifier: false,
            older: Arc::default(),
            template: None,
        }
    }

    fn resting_index(
        rows: &TableRows,
        stat: &IndexStat,
        older: &[RowsetValue],
        open: FindRowset<'_>,
    ) -> Result<Index, String> {
        let rowset = open(rows, RowsetId(stat.rowset as u64)).map_err(|e| e.to_string())?;
        let fits = "it does not fit its columns";
        let mut index = Self::index(rows, stat, rowset).ok_or(fits)?;
        if index.kind == IndexKind::Nonclustered {
            let leaf = Self::resting_leaf(rows, stat).ok_or(fits)?;
            let columns = 0..rows.columns.len();
            let place = |c| leaf.iter().position(|l| *l == LeafColumn::Table(c));
            index.leaf_of = columns.map(place).collect();
            index.leaf = leaf;
        }
        if index.leaf.len() != index.shape().leaf.columns().len() {
            return Err(fits.to_owned());
        }
        index.older = Arc::new(older_values(rows, stat, older));
        Ok(index)
    }

    /// What the leaf columns of a nonclustered index are: those that the catalog names by their places, then
    /// what of the table's key, or of the row's address, is not among them, in key order.
    fn resting_leaf(rows: &TableRows, stat: &IndexStat) -> Option<Vec<LeafColumn>> {
        let column_at = |colid: i32| rows.columns.iter().position(|c| c.colid == colid);
        let of = |indid: i32| {
            rows.index_columns
                .iter()
                .filter(move |c| c.idminor == indid)
        };
        let named: Vec<i32> = of(stat.indid).map(|c| c.intprop).collect();
        let base = rows.indexes.iter().find(|i| i.indid <= 1)?;
        let mut locator: Vec<_> = rows
            .stored_columns(base.rowset)
            .filter(|c| c.status & layout_status::DROPPED == 0 && c.ordkey > 0)
            .filter(|c| c.status & layout_status::UNIQUIFIER != 0 || !named.contains(&c.rscolid))
            .collect();
        locator.sort_by_key(|c| c.ordkey);
        let mut locator = locator.into_iter();
        let live =
            |c: &&furrow_format::catalog::RowsetColumn| c.status & layout_status::DROPPED == 0;
        let layout: Vec<_> = rows.stored_columns(stat.rowset).filter(live).collect();
        let mut order: Vec<usize> = (0..layout.len()).collect();
        order.sort_by_key(|&at| layout.get(at).map(|c| c.rscolid));
        let mut leaf = vec![LeafColumn::Rid; layout.len()];
        for at in order {
            let column = layout.get(at)?;
            let member = of(stat.indid).find(|m| m.subid == column.rscolid);
            let what = match member {
                Some(member) => LeafColumn::Table(column_at(member.intprop)?),
                None if base.indid == 0 => LeafColumn::Rid,
                None => match locator.next()? {
                    c if c.status & layout_status::UNIQUIFIER != 0 => LeafColumn::Uniquifier,
                    c => LeafColumn::Table(column_at(c.rscolid)?),
                },
            };
            *leaf.get_mut(at)? = what;
        }
        Some(leaf)
    }

    /// Why its rows cannot be read, where that is so.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// An error where its rows cannot be read.
    #[inline]
    pub(crate) fn check_readable(&self) -> Result<(), EngineError> {
        match &self.unreadable {
            None => Ok(()),
            Some(why) => {
                let text = format!("Table '{}' cannot be read: {why}.", self.full_name());
                Err(refuse(40516, 16, 1, &text))
            }
        }
    }
}

/// Computed columns that are persisted lie in the rows like any other.
fn take_stored(columns: &mut [Column], base: &Index) {
    for (column, place) in columns.iter_mut().zip(&base.leaf_of) {
        if column.storage == Storage::Computed && place.is_some() {
            column.storage = Storage::Row;
        }
    }
}

impl TableRows {
    /// The indexes, the heap or the clustered one first, each with its first rowset.
    fn usable_stats(&self) -> Vec<IndexStat> {
        let is_index =
            |i: &&IndexStat| i.status & index_status::INDEX != 0 && i.status & UNUSED == 0;
        let mut stats: Vec<IndexStat> = self.indexes.iter().filter(is_index).cloned().collect();
        for stat in &mut stats {
            let mut rowsets = self.rowsets.iter();
            let first = rowsets.find(|r| r.idminor == stat.indid);
            stat.rowset = first.map_or(stat.rowset, |r| r.rowsetid);
        }
        stats.sort_by_key(|i| i.indid);
        stats
    }
}

/// Values of columns in rows that are older than the column, by place of the column in the table.
fn older_values(
    rows: &TableRows,
    stat: &IndexStat,
    older: &[RowsetValue],
) -> HashMap<usize, Value> {
    let values = older.iter().filter(|v| v.id == stat.rowset);
    let found = values.filter_map(|value| {
        let Value::Variant(inner) = &value.value else {
            return None;
        };
        let mut layout = rows.stored_columns(stat.rowset);
        let column = layout.find(|c| i64::from(c.hbcolid) == value.subid)?;
        let place = rows
            .columns
            .iter()
            .position(|c| c.colid == column.rscolid)?;
        Some((place, inner.1.clone()))
    });
    found.collect()
}

impl Storage {
    /// Why values stored so cannot be read, where that is so.
    pub(crate) fn obstacle(self) -> Option<&'static str> {
        match self {
            Storage::Row | Storage::Sparse => None,
            Storage::Computed => Some("it is computed, and its values are not stored"),
            Storage::ColumnSet => {
                Some("it is a column set, whose values are made of sparse columns")
            }
            Storage::Filestream => Some("its values are files of their own (FILESTREAM)"),
            Storage::Unknown => Some("its type is not known"),
        }
    }
}
