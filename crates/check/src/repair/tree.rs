//! A tree written again, in its own pages: leaves full of sound rows in the order of their keys, and the
//! levels above them.
//!
//! The root stays where the catalog has it. Pages that are not needed any more become free. A tree that needs
//! more pages than it has takes free extents of the files that it lies in.

use super::maps::room_of;
use super::state::{Extent, State, Used, pages_of};
use crate::order::order;
use crate::plan::{KeyPlan, LevelPlan, RowsetPlan};
use furrow_format::{
    AllocUnitId, Bitmap, ColumnLayout, EXTENT_PAGES, PAGE_SIZE, Page, PageBuf, PageId, PageInit,
    PageMut, PageType, PfsByte, Place, RowForm, RowLayout, fixed_page_type,
};
use furrow_types::TypeId;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Columns of a key.
pub(super) type KeyBytes = Vec<Option<Vec<u8>>>;

/// A row that is to be in a tree.
#[derive(Debug, Clone)]
pub(super) struct TreeRow {
    pub(super) key: KeyBytes,
    pub(super) bytes: Vec<u8>,
}

/// Compares keys by their first columns.
pub(super) fn compare(own: bool, key: &[KeyPlan], a: &KeyBytes, b: &KeyBytes) -> Ordering {
    let (a, b) = (
        a.iter().map(Option::as_deref),
        b.iter().map(Option::as_deref),
    );
    order(own, key, a, b).unwrap_or(Ordering::Equal)
}

/// The layout that rows of a level are encoded by.
pub(super) fn layout_of(level: &LevelPlan, form: RowForm) -> Option<RowLayout> {
    let is_node = form == RowForm::IndexNode;
    let columns = level.columns.iter().map(|column| {
        let data_type = column.stored.data_type;
        Some(ColumnLayout {
            column_id: column.stored.column_id as u32,
            kind: data_type.id,
            max_len: match data_type.fixed_len() {
                Some(length) => length,
                None if data_type.is_max() => 0,
                None => data_type.max_in_row_len(),
            },
            place: match column.place.offset {
                1.. => Place::Fixed(column.place.offset.unsigned_abs()),
                0 => return None,
                _ => Place::Var(column.place.offset.unsigned_abs() - 1),
            },
            null_bit: column.place.null_bit.checked_sub(1),
            bit_pos: column.place.bit,
            nullable: is_node || !column.not_null,
        })
    });
    RowLayout::from_columns(form, columns.collect::<Option<_>>()?, level.fixed_end).ok()
}

/// Why a tree cannot be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Its rows cannot be encoded.
    Rows,
    /// There are no pages for it.
    Pages,
}

/// Pages that a tree takes one after the other.
struct Room {
    unit: u32,
    free: std::vec::IntoIter<PageId>,
    taken: Vec<PageId>,
}

impl Room {
    fn take(&mut self, state: &mut State<'_>) -> Result<PageId, Stuck> {
        loop {
            if let Some(id) = self.free.next() {
                self.taken.push(id);
                return Ok(id);
            }
            let extent = state.free_extent(self.unit).ok_or(Stuck::Pages)?;
            state.claims.insert(extent, self.unit);
            self.free = pages_of(extent).collect::<Vec<_>>().into_iter();
        }
    }
}

/// A level that is being written.
struct Level<'r> {
    init: PageInit,
    done: Vec<(PageId, KeyBytes, Box<PageBuf>)>,
    rows: &'r RowsetPlan,
}

impl Level<'_> {
    /// Appends a record; `false` where the last page is full, or there is none.
    fn append(&mut self, record: &[u8]) -> bool {
        let last = self.done.last_mut();
        last.is_some_and(|(_, _, page)| PageMut::new(page).append(record).is_ok())
    }

    /// A new page behind the last.
    fn page(&mut self, id: PageId, first: KeyBytes) {
        let prev = self.done.last().map_or(PageId::NONE, |last| last.0);
        let mut page: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
        PageMut::new(&mut page).format(&PageInit {
            page: id,
            prev,
            ..self.init
        });
        if let Some((_, _, before)) = self.done.last_mut() {
            PageMut::new(before).set_next(id);
        }
        self.done.push((id, first, page));
    }
}

impl State<'_> {
    /// A free extent where the unit has an IAM page that can name it.
    fn free_extent(&self, unit: u32) -> Option<Extent> {
        let chain = self.iams.get(&unit)?;
        let mixed = |extent: Extent| {
            pages_of(extent).any(|id| {
                self.singles.contains_key(&id)
                    || fixed_page_type(id.page).is_some()
                    || self.iams.values().flatten().any(|iam| iam.id == id)
                    || id == furrow_format::BOOT_PAGE
            })
        };
        for iam in chain {
            let first = iam.start.page.0 / EXTENT_PAGES;
            let end = (self.size(iam.start.file) / EXTENT_PAGES).min(first + Bitmap::BITS);
            let free = (first.saturating_add(1)..end)
                .map(|extent| (iam.start.file, extent))
                .find(|extent| {
                    let taken = self.claims.contains_key(extent) || mixed(*extent);
                    !taken && (self.plan().readable || self.is_free(*extent))
                });
            if free.is_some() {
                return free;
            }
        }
        None
    }

    /// Whether the maps have an extent as free: of a plan that does not have all units, nothing else proves
    /// it.
    fn is_free(&self, extent: Extent) -> bool {
        let maps = self.shared.maps;
        let first = pages_of(extent).next().unwrap_or_default();
        maps.gam(first) == Some(true)
            && pages_of(extent).all(|id| maps.pfs(id).is_some_and(|pfs| !pfs.is_allocated()))
    }

    /// Writes a tree of these rows, which are in order.
    pub(super) fn write_tree(&mut self, unit: u32, rows: &[TreeRow]) -> Result<(), Stuck> {
        let plan = self.plan();
        let (Some(about), Some(rowset)) = (plan.unit(unit), plan.rows_of(unit)) else {
            return Err(Stuck::Rows);
        };
        let node = layout_of(&rowset.node, RowForm::IndexNode).ok_or(Stuck::Rows)?;
        let root = about.root;
        let mut free = room_of(self, unit);
        if !free.contains(&root) {
            return Err(Stuck::Pages);
        }
        free.retain(|id| *id != root);
        let mut room = Room {
            unit,
            free: free.into_iter(),
            taken: Vec::new(),
        };
        let unit_id = AllocUnitId(about.id);
        let mut level = Level {
            init: PageInit::new(root, rowset.leaf_type, unit_id, rowset.leaf.fixed_end),
            done: Vec::new(),
            rows: rowset,
        };
        for row in rows {
            if !level.append(&row.bytes) {
                let id = room.take(self)?;
                level.page(id, row.key.clone());
                if !level.append(&row.bytes) {
                    return Err(Stuck::Rows);
                }
            }
        }
        if level.done.is_empty() {
            let id = room.take(self)?;
            level.page(id, KeyBytes::new());
        }
        let mut written: Vec<(PageId, Box<PageBuf>)> = Vec::new();
        let mut number = 0;
        while level.done.len() > 1 {
            number += 1;
            let above = self.level_above(&node, &level, number, &mut room)?;
            written.extend(level.done.into_iter().map(|(id, _, page)| (id, page)));
            level = above;
        }
        if let Some((id, _, page)) = level.done.pop() {
            room.taken.retain(|taken| *taken != id);
            written.push((root, moved(&page, root, level.init)?));
        }
        self.used.retain(|_, used| used.unit != unit);
        for (id, page) in written {
            let byte = PfsByte(PfsByte::ALLOCATED);
            self.used.insert(id, Used { unit, byte });
            self.put(id, page);
        }
        Ok(())
    }

    fn level_above<'r>(
        &mut self,
        node: &RowLayout,
        below: &Level<'r>,
        number: u8,
        room: &mut Room,
    ) -> Result<Level<'r>, Stuck> {
        let mut level = Level {
            init: PageInit {
                level: number,
                ..PageInit::new(
                    PageId::NONE,
                    PageType::Index,
                    below.init.unit,
                    below.rows.node.fixed_end,
                )
            },
            done: Vec::new(),
            rows: below.rows,
        };
        for (at, (child, first, _)) in below.done.iter().enumerate() {
            let record = entry(node, &below.rows.node, first, at == 0, *child)?;
            if !level.append(&record) {
                let id = room.take(self)?;
                level.page(id, first.clone());
                if !level.append(&record) {
                    return Err(Stuck::Rows);
                }
            }
        }
        Ok(level)
    }
}

/// The last page of a tree that is written is its root: the page in the root's place.
fn moved(page: &PageBuf, root: PageId, init: PageInit) -> Result<Box<PageBuf>, Stuck> {
    let view = Page::new(page);
    let init = PageInit {
        page: root,
        kind: view.page_type(),
        level: view.level(),
        ..init
    };
    let mut moved: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
    PageMut::new(&mut moved).format(&init);
    for (_, record) in view.records() {
        if PageMut::new(&mut moved).append(record).is_err() {
            return Err(Stuck::Rows);
        }
    }
    Ok(moved)
}

/// An entry of a non-leaf page; that of the first child stands for less than every key.
fn entry(
    layout: &RowLayout,
    level: &LevelPlan,
    key: &KeyBytes,
    lowest: bool,
    child: PageId,
) -> Result<Vec<u8>, Stuck> {
    let mut values: BTreeMap<u32, Option<Vec<u8>>> = BTreeMap::new();
    for (column, value) in level.key.iter().zip(key) {
        let Some(column) = level.columns.get(column.column) else {
            return Err(Stuck::Rows);
        };
        let fixed = column
            .stored
            .data_type
            .fixed_len()
            .filter(|_| !column.uniquifier);
        let value = match (value, fixed) {
            (_, Some(length)) if lowest => Some(vec![0; usize::from(length)]),
            (_, None) if lowest => Some(Vec::new()),
            (Some(value), _) if column.uniquifier && value.iter().all(|byte| *byte == 0) => {
                Some(Vec::new())
            }
            (value, _) => value.clone(),
        };
        values.insert(column.stored.column_id as u32, value);
    }
    let bit = |column: &ColumnLayout| column.kind == TypeId::Bit;
    let one = |column: &ColumnLayout| match values.get(&column.column_id).and_then(|v| v.as_deref())
    {
        Some([]) if bit(column) => Some(&[0_u8][..]),
        other => other,
    };
    let columns: Vec<Option<&[u8]>> = layout.columns().iter().map(one).collect();
    let mut record = Vec::new();
    layout
        .encode_node(&columns, child, &mut record)
        .map_err(|_| Stuck::Rows)?;
    Ok(record)
}
