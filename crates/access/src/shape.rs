//! What the rows of a rowset look like: leaf layout, non-leaf layout, key.

use crate::AccessError;
use crate::key::Key;
use furrow_format::catalog::{RowsetColumn, layout_status, row_layout};
use furrow_format::{
    AllocUnitId, Page, PageBuf, PageId, PageType, Record, RowError, RowForm, RowLayout,
};
use furrow_types::{Collation, DataType, TypeId, compare};
use std::cmp::Ordering;

/// Most bytes of a whole key: 900 of an index, 900 of the clustered key behind it, two uniquifiers.
pub(crate) const MAX_WHOLE_KEY_BYTES: usize = 1808;

/// A key column of a tree.
#[derive(Debug, Clone, Copy)]
pub struct KeyColumn {
    /// Its number among the leaf layout's columns.
    pub leaf: usize,
    /// Its number among the non-leaf layout's columns.
    pub node: usize,
    /// Its type.
    pub data_type: DataType,
    /// Whether its order is descending.
    pub descending: bool,
    /// Whether it is the uniquifier: the hidden number that makes equal keys unique.
    pub uniquifier: bool,
}

/// The rows of a heap or of a tree, on both levels.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Leaf rows, or the heap's.
    pub leaf: RowLayout,
    /// Non-leaf rows; none for a heap.
    pub node: Option<RowLayout>,
    /// The key in key order; empty for a heap. Non-leaf rows and comparisons use the whole key.
    pub key: Vec<KeyColumn>,
    /// Whether a key occurs once even without the uniquifier or locator.
    pub unique: bool,
    /// Whether the rows lie in files that no process changes and that another engine may have written. Such
    /// trees number their levels differently: leaves with data are recognized by the type of their page.
    pub at_rest: bool,
}

fn variable_uniquifier(column: &RowsetColumn) -> bool {
    column.status & layout_status::UNIQUIFIER != 0
}

impl Shape {
    /// The shape that the catalog describes: columns in physical order, `minleaf` and `minint` of
    /// `sysrowsets`.
    pub fn from_catalog(
        form: RowForm,
        columns: &[RowsetColumn],
        minleaf: u16,
        minint: u16,
        unique: bool,
    ) -> Result<Shape, RowError> {
        let mut keyed: Vec<(i16, usize, &RowsetColumn, DataType)> = Vec::new();
        let live = columns
            .iter()
            .filter(|c| c.status & layout_status::DROPPED == 0);
        for (leaf, column) in live.enumerate() {
            let data_type = DataType::from_ti(column.ti, Collation(column.cid as u32));
            let bad = RowError::Layout {
                column_id: column.rscolid as u32,
            };
            let data_type = data_type.ok_or(bad)?;
            if column.ordkey > 0 {
                keyed.push((column.ordkey, leaf, column, data_type));
            }
        }
        keyed.sort_by_key(|k| k.0);
        let key = keyed
            .iter()
            .enumerate()
            .map(|(node, &(_, leaf, column, data_type))| KeyColumn {
                leaf,
                node,
                data_type,
                descending: column.status & layout_status::DESCENDING != 0,
                uniquifier: variable_uniquifier(column),
            });
        let node = match form {
            RowForm::Heap => None,
            _ => Some(row_layout(RowForm::IndexNode, columns, minint)?),
        };
        let key = key.collect();
        Ok(Shape {
            leaf: row_layout(form, columns, minleaf)?,
            node,
            key,
            unique,
            at_rest: false,
        })
    }

    /// The same for rows in files that no process changes: [`Shape::at_rest`].
    #[must_use]
    pub fn resting(mut self) -> Shape {
        self.at_rest = true;
        self
    }

    /// Whether a page holds leaf rows.
    #[inline]
    pub fn is_leaf(&self, page: Page<'_>) -> bool {
        match self.at_rest && self.leaf.form().is_data() {
            false => page.level() == 0,
            true => page.page_type() == PageType::Data,
        }
    }

    /// Whether a page is one of this allocation unit. Clustered leaves that SQL Server 2000 wrote have no
    /// index number.
    #[inline]
    pub fn owns(&self, page: Page<'_>, unit: AllocUnitId) -> bool {
        page.unit() == unit
            || self.at_rest
                && page.page_type() == PageType::Data
                && page.index_part() == 0
                && page.object_part() == unit.object_part()
    }

    /// Type of leaf pages.
    pub fn leaf_type(&self) -> PageType {
        if self.leaf.form().is_data() {
            PageType::Data
        } else {
            PageType::Index
        }
    }

    /// The key of a leaf row.
    pub fn key_of(&self, row: &[u8]) -> Option<Key> {
        let record = self.leaf.record(row, self.leaf.pminlen())?;
        let mut key = Key::new();
        for column in &self.key {
            key.push(self.leaf.value(record, column.leaf).ok()?);
        }
        debug_assert_eq!(key.len(), self.key.len(), "a row has the whole key");
        Some(key)
    }

    /// The key of the entry in a slot of a non-leaf page. Slot 0 has none: it is less than every key.
    pub(crate) fn key_of_entry(&self, page: Page<'_>, slot: u16) -> Option<Key> {
        let node = self.node.as_ref()?;
        let record = node.record(
            page.record_start(slot).filter(|_| slot > 0)?,
            page.pminlen(),
        )?;
        let mut key = Key::new();
        for column in &self.key {
            key.push(node.value(record, column.node).ok()?);
        }
        Some(key)
    }

    /// The key of a leaf row with these values (one for each leaf column).
    pub fn key_of_values(&self, values: &[Option<&[u8]>]) -> Key {
        let mut key = Key::new();
        for column in &self.key {
            key.push(values.get(column.leaf).copied().flatten());
        }
        key
    }

    /// A non-leaf row for a child whose rows all have this key or a greater one.
    pub(crate) fn node_row(
        &self,
        key: &Key,
        child: PageId,
        out: &mut Vec<u8>,
    ) -> Result<usize, AccessError> {
        let node = self.node.as_ref().ok_or(RowError::Child)?;
        let mut values = key.columns();
        debug_assert_eq!(values.len(), self.key.len(), "an entry has the whole key");
        for (value, column) in values.iter_mut().zip(&self.key) {
            // A row without a uniquifier has the number 0, and so has its entry in the page above.
            if column.uniquifier && value.is_none() {
                *value = Some(&[]);
            }
        }
        Ok(node.encode_node(&values, child, out)?)
    }

    /// Bytes of the largest possible non-leaf row, with its slot.
    pub(crate) fn largest_node_row(&self) -> usize {
        let values = self
            .key
            .iter()
            .map(|c| usize::from(c.data_type.max_in_row_len()));
        let values = values.sum::<usize>().min(MAX_WHOLE_KEY_BYTES);
        // Status, child, column count, null bitmap, count of variable columns and their ends, slot.
        values + 2 * self.key.len() + 1 + 6 + 2 + self.key.len() / 8 + 1 + 2 + 2
    }

    /// How the row in `slot` compares with `key`, by as many columns as the key has. A row that cannot be
    /// read is an error.
    #[inline]
    pub(crate) fn compare_at(
        &self,
        page: &PageBuf,
        slot: u16,
        key: &Key,
    ) -> Result<Ordering, AccessError> {
        let view = Page::new(page);
        let is_leaf = self.is_leaf(view);
        self.try_compare(view, is_leaf, slot, key)
            .ok_or_else(|| AccessError::Damaged {
                page: view.page_id(),
                what: "a record cannot be read",
            })
    }

    #[inline]
    fn try_compare(&self, page: Page<'_>, is_leaf: bool, slot: u16, key: &Key) -> Option<Ordering> {
        let start = page.record_start(slot)?;
        let layout = if is_leaf {
            &self.leaf
        } else {
            self.node.as_ref()?
        };
        let mut record: Option<Record<'_>> = None;
        for (at, column) in self.key.iter().enumerate().take(key.len()) {
            let number = if is_leaf { column.leaf } else { column.node };
            let mine = match layout.fixed_value(start, number) {
                Some(bytes) => Some(bytes),
                None => {
                    let record = match record {
                        Some(r) => r,
                        None => *record.insert(layout.record(start, page.pminlen())?),
                    };
                    layout.value(record, number).ok()?
                }
            };
            let order = compare_column(column, mine, key.column(at));
            if order != Ordering::Equal {
                return Some(if column.descending {
                    order.reverse()
                } else {
                    order
                });
            }
        }
        Some(Ordering::Equal)
    }

    /// Whether two keys are equal but for their uniquifiers. Values can be equal in different bytes: 'b' and
    /// 'B', or 0.0 and -0.0.
    pub fn have_same_values(&self, a: &Key, b: &Key) -> bool {
        let is_value = |key: &&KeyColumn| !key.uniquifier;
        let values = self.key.iter().take_while(is_value).count();
        self.compare_columns(a, b, values) == Ordering::Equal
    }

    /// Compares two keys by the columns that both have.
    pub fn compare_keys(&self, a: &Key, b: &Key) -> Ordering {
        self.compare_columns(a, b, a.len().min(b.len()))
    }

    #[inline]
    fn compare_columns(&self, a: &Key, b: &Key, columns: usize) -> Ordering {
        for (at, column) in self.key.iter().enumerate().take(columns) {
            let order = compare_column(column, a.column(at), b.column(at));
            if order != Ordering::Equal {
                return if column.descending {
                    order.reverse()
                } else {
                    order
                };
            }
        }
        Ordering::Equal
    }
}

/// NULL comes before every value; a missing uniquifier is 0.
#[inline]
fn compare_column(column: &KeyColumn, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    if column.uniquifier {
        let number = |v: Option<&[u8]>| {
            v.and_then(|v| v.first_chunk())
                .map_or(0, |c| i32::from_le_bytes(*c))
        };
        return number(a).cmp(&number(b));
    }
    match (a, b) {
        (Some(a), Some(b)) if column.data_type.id == TypeId::BigInt => {
            match (a.first_chunk(), b.first_chunk()) {
                (Some(a), Some(b)) => i64::from_le_bytes(*a).cmp(&i64::from_le_bytes(*b)),
                _ => compare(&column.data_type, a, b),
            }
        }
        (Some(a), Some(b)) => compare(&column.data_type, a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
