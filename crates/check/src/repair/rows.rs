//! Rows of tables and indexes: what is sound is kept, what breaks a rule is given up, and indexes follow
//! their tables.
//!
//! # Steps for a table with damage
//! 1. A heap keeps its sound pages and the places of its rows; a page that cannot be read becomes free.
//! 2. A clustered index is written again from its sound rows. Of rows with the same key, the one on the page
//!    that was written last stays.
//! 3. Each nonclustered index is written again from the rows of its table. A row that would break a unique
//!    index is given up, and the indexes are made once more.

use super::heap::HeapRow;
use super::state::{State, extent_of};
use super::tree::{KeyBytes, Stuck, TreeRow, compare, layout_of};
use crate::plan::{IndexMatch, LevelPlan, Origin};
use crate::scan::{bytes_of, values_of};
use furrow_format::catalog::unit_kind;
use furrow_format::{Lsn, Page, PageId, PageType, Record, RowForm, RowId};
use std::collections::{BTreeMap, BTreeSet};

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct BaseRow {
    pub(super) at: RowId,
    /// The address that indexes know it by.
    pub(super) home: RowId,
    pub(super) key: KeyBytes,
    pub(super) bytes: Vec<u8>,
}

/// The key of a row.
pub(super) fn key_of(level: &LevelPlan, kind: PageType, bytes: &[u8]) -> Option<KeyBytes> {
    let record = Record::of_page(kind, level.fixed_end, bytes)?;
    let values = values_of(level, &record).ok()?;
    let columns = level.key.iter().map(|key| values.get(key.column));
    Some(
        columns
            .map(|value| value.copied().and_then(bytes_of).map(<[u8]>::to_vec))
            .collect(),
    )
}

impl State<'_> {
    /// The rows of a key in words.
    fn words(&self, level: &LevelPlan, kind: PageType, bytes: &[u8], at: RowId) -> String {
        let values = Record::of_page(kind, level.fixed_end, bytes)
            .and_then(|record| values_of(level, &record).ok().map(|v| v.to_vec()));
        let words = values.map(|values| crate::matching::row_words(level, &values));
        let words = words.filter(|words| !words.is_empty());
        words.unwrap_or_else(|| format!("RID = {at}"))
    }

    /// Puts the rows of an object right: all of its indexes, or (`only`) some.
    pub(super) fn mend_object(&mut self, object: i32, only: Option<&BTreeSet<u32>>) {
        let plan = self.plan();
        let base = (0..plan.units.len() as u32).find(|unit| {
            plan.unit(*unit).is_some_and(|u| {
                u.object_id == object && u.kind == unit_kind::IN_ROW && u.index_id <= 1
            })
        });
        let Some(base) = base.filter(|base| self.has_rows(*base)) else {
            return;
        };
        let is_heap = plan.rows_of(base).is_some_and(|rows| rows.is_heap);
        let mend_base = only.is_none_or(|only| only.contains(&base));
        let mut rows = if is_heap {
            Self::base_rows(self.mend_heap(base, mend_base))
        } else {
            self.gather_tree(base, mend_base)
        };
        let indexes: Vec<&IndexMatch> = plan
            .matches
            .iter()
            .filter(|index| index.base_unit == base)
            .filter(|index| only.is_none_or(|only| only.contains(&index.index_unit)))
            .collect();
        let mut lost: BTreeSet<RowId> = BTreeSet::new();
        let mut made: BTreeMap<u32, Vec<TreeRow>> = BTreeMap::new();
        loop {
            let before = lost.len();
            rows.retain(|row| !lost.contains(&row.at));
            for index in &indexes {
                if let Some(of_index) = self.index_rows(index, &rows, &mut lost) {
                    made.insert(index.index_unit, of_index);
                }
            }
            if lost.len() == before {
                break;
            }
        }
        if is_heap {
            self.free_heap_rows(base, &lost);
        } else if mend_base || !lost.is_empty() {
            let rows: Vec<TreeRow> = rows
                .iter()
                .map(|row| TreeRow {
                    key: row.key.clone(),
                    bytes: row.bytes.clone(),
                })
                .collect();
            // A tree that cannot be written stays as it is, and is reported again.
            self.write_tree_or_note(base, &rows);
        }
        for (unit, rows) in made {
            self.write_tree_or_note(unit, &rows);
        }
    }

    pub(super) fn write_tree_or_note(&mut self, unit: u32, rows: &[TreeRow]) {
        let written: Result<(), Stuck> = self.write_tree(unit, rows);
        if written.is_err() {
            self.stuck.insert(unit);
        }
    }

    /// The sound rows of a clustered index, in order, each key once.
    pub(super) fn gather_tree(&mut self, unit: u32, note: bool) -> Vec<BaseRow> {
        let plan = self.plan();
        let Some(rowset) = plan.rows_of(unit) else {
            return Vec::new();
        };
        let mut rows: Vec<(BaseRow, Lsn)> = Vec::new();
        let used: Vec<PageId> = self.pages_with(unit);
        for id in used {
            let Some((page, Ok(_))) = self.library.get(id) else {
                continue;
            };
            let view = Page::new(&page);
            if view.page_type() != rowset.leaf_type {
                continue;
            }
            let lsn = view.lsn();
            let (mut bad, mut good) = (Vec::new(), Vec::new());
            self.judged(id, unit, &page, |judged| {
                for row in judged.iter().filter(|row| !row.ghost) {
                    let at = RowId {
                        page: id,
                        slot: row.slot,
                    };
                    match key_of(&rowset.leaf, rowset.leaf_type, row.bytes).filter(|_| row.sound) {
                        Some(key) => good.push(BaseRow {
                            at,
                            home: at,
                            key,
                            bytes: row.bytes.to_vec(),
                        }),
                        None => bad.push((at, row.bytes.to_vec())),
                    }
                }
            });
            rows.extend(good.into_iter().map(|row| (row, lsn)));
            for (at, bytes) in bad {
                let words = self.words(&rowset.leaf, rowset.leaf_type, &bytes, at);
                self.lose_row(unit, id, words);
            }
        }
        if note {
            self.note_bad_pages(unit);
        }
        let (own, key) = (plan.own, &rowset.leaf.key);
        rows.sort_by(|(a, at), (b, bt)| {
            compare(own, key, &a.key, &b.key)
                .then(bt.cmp(at))
                .then(a.at.cmp(&b.at))
        });
        let mut kept: Vec<BaseRow> = Vec::with_capacity(rows.len());
        for (row, _) in rows {
            let same = |last: &BaseRow| compare(own, key, &last.key, &row.key).is_eq();
            if !key.is_empty() && kept.last().is_some_and(same) {
                let identical = kept.last().is_some_and(|last| last.bytes == row.bytes);
                if !identical {
                    let words = self.words(&rowset.leaf, rowset.leaf_type, &row.bytes, row.at);
                    self.lose_row(unit, row.at.page, words);
                }
                continue;
            }
            kept.push(row);
        }
        kept
    }

    /// Pages whose headers name a unit: those in use, and those that lie in another's extents. If its PFS
    /// page is damaged, one that lies in another's extents may be free, and is left out.
    pub(super) fn pages_with(&self, unit: u32) -> Vec<PageId> {
        let mut pages: BTreeSet<PageId> = self
            .used
            .iter()
            .filter(|(_, used)| used.unit == unit)
            .map(|(id, _)| *id)
            .collect();
        let lost = self.losses.get(&unit);
        let lost = lost.into_iter().flat_map(|loss| loss.pages.iter().copied());
        let is_others = |id: &PageId| {
            let owner = self.claims.get(&extent_of(*id));
            let owner = owner.or_else(|| self.singles.get(id));
            owner.is_some_and(|owner| *owner != unit)
        };
        pages.extend(lost.filter(|id| self.shared.maps.pfs(*id).is_some() || !is_others(id)));
        pages.into_iter().collect()
    }

    /// Pages of a unit that cannot be read are given up.
    pub(super) fn note_bad_pages(&mut self, unit: u32) {
        for bad in self.facts.bad.iter() {
            let file = self.shared.maps.file_index(bad.id.file);
            let owner = file.and_then(|file| {
                self.shared
                    .owner(file, bad.id.page.0 / furrow_format::EXTENT_PAGES)
            });
            if owner == Some(unit) || self.singles.get(&bad.id) == Some(&unit) {
                self.lose_page(unit, bad.id);
            }
        }
    }

    /// The rows that an index must have, in order; rows that break its uniqueness are added to `lost`.
    fn index_rows(
        &mut self,
        index: &IndexMatch,
        rows: &[BaseRow],
        lost: &mut BTreeSet<RowId>,
    ) -> Option<Vec<TreeRow>> {
        let plan = self.plan();
        let base = plan.rows_of(index.base_unit)?;
        let rowset = plan.rows_of(index.index_unit)?;
        let layout = layout_of(&rowset.leaf, RowForm::IndexLeaf)?;
        if index.from.contains(&Origin::Nothing) {
            return None;
        }
        let mut made: Vec<(TreeRow, usize)> = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            let record = Record::of_page(base.leaf_type, base.leaf.fixed_end, &row.bytes)?;
            let values = values_of(&base.leaf, &record).ok()?;
            let address = row.home.to_bytes();
            let mut columns: BTreeMap<u32, Option<Vec<u8>>> = BTreeMap::new();
            for (column, origin) in rowset.leaf.columns.iter().zip(&index.from) {
                let value = match origin {
                    Origin::Column(of) => match values.get(*of) {
                        Some(furrow_datafile::Stored::NotStored) => index.defaults.get(of).cloned(),
                        value => value.copied().and_then(bytes_of).map(<[u8]>::to_vec),
                    },
                    Origin::Address => Some(address.to_vec()),
                    Origin::Nothing => None,
                };
                let zero = |value: &Vec<u8>| value.iter().all(|byte| *byte == 0);
                let value = match value {
                    Some(value) if column.uniquifier && zero(&value) => Some(Vec::new()),
                    value => value,
                };
                columns.insert(column.stored.column_id as u32, value);
            }
            let one = |id: u32| columns.get(&id).and_then(|value| value.as_deref());
            let values: Vec<Option<&[u8]>> = layout
                .columns()
                .iter()
                .map(|column| one(column.column_id))
                .collect();
            let mut bytes = Vec::new();
            layout.encode(&values, &mut bytes).ok()?;
            let key = key_of(&rowset.leaf, PageType::Index, &bytes)?;
            made.push((TreeRow { key, bytes }, number));
        }
        let key = &rowset.leaf.key;
        made.sort_by(|(a, _), (b, _)| compare(plan.own, key, &a.key, &b.key));
        for pair in made.windows(2) {
            let [(a, _), (b, number)] = pair else {
                continue;
            };
            let row = rows.get(*number).filter(|row| !lost.contains(&row.at));
            if let Some(row) = row.filter(|_| compare(plan.own, key, &a.key, &b.key).is_eq()) {
                let words = self.words(&base.leaf, base.leaf_type, &row.bytes, row.at);
                self.lose_row(index.base_unit, row.at.page, words);
                lost.insert(row.at);
            }
        }
        Some(made.into_iter().map(|(row, _)| row).collect())
    }

    /// A heap's rows as rows of a table.
    fn base_rows(rows: Vec<HeapRow>) -> Vec<BaseRow> {
        rows.into_iter()
            .map(|row| BaseRow {
                at: row.at,
                home: row.home,
                key: KeyBytes::new(),
                bytes: row.bytes,
            })
            .collect()
    }
}
