//! Rows of a rowset: over its leaf pages, record by record, column by column.

use std::collections::VecDeque;

use crate::column::{ColumnPlace, Stored, StoredColumn, find_column};
use crate::sparse;
use crate::walk::{
    PageSet, describe, is_beside_leaves, leaves_by_parents, leftmost_leaf, owned_pages,
    pages_by_header, unit_page,
};
use crate::{MdfError, PageRef, Pages, lob};
use furrow_format::catalog::{AllocUnit, layout_status};
use furrow_format::{Page, PageId, PageType, Record, RecordKind, RowId, record_len};
use furrow_types::{Family, Value, decode};

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its address. For a forwarded row, the address of its stub.
    pub at: RowId,
    /// One value per requested column.
    pub values: Vec<Value>,
}

/// Iterates over rows; see [`Database::rows`](super::Database::rows).
///
/// Damage is returned as an error, and the iteration continues:
/// - after a damaged row, with the next row;
/// - after a page that cannot be used, with the rows of all other pages: in key order if the pages above the
///   leaves show that order, in the order of allocation otherwise;
/// - after a map that cannot be used, with the pages whose own headers show that they are in use.
#[derive(Debug)]
pub struct Rows<'s> {
    source: &'s Pages<'s>,
    unit: AllocUnit,
    leaf_type: PageType,
    columns: Vec<StoredColumn>,
    /// Values of columns for rows that are older than the column and do not store it.
    defaults: Vec<Value>,
    /// Errors to be returned before the next page.
    pending: VecDeque<MdfError>,
    /// Pages whose damage was returned: each is returned once.
    reported: Vec<PageId>,
    pages: Way,
    current: Option<(PageId, PageRef)>,
    slot: u16,
}

/// Which pages come next.
#[derive(Debug)]
enum Way {
    /// Those to which the sibling links lead.
    Links { next: PageId, seen: PageSet },
    /// Those of a list.
    List(std::vec::IntoIter<PageId>),
}

/// A record, and the page that holds it.
#[derive(Debug)]
struct Found {
    page: PageRef,
    start: usize,
    end: usize,
}

impl Found {
    fn bytes(&self) -> &[u8] {
        self.page.get(self.start..self.end).unwrap_or_default()
    }
}

impl<'s> Rows<'s> {
    fn new(
        source: &'s Pages<'s>,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
    ) -> Rows<'s> {
        Rows {
            source,
            unit,
            leaf_type,
            defaults: Vec::new(),
            columns,
            pending: VecDeque::new(),
            reported: Vec::new(),
            pages: Way::List(Vec::new().into_iter()),
            current: None,
            slot: 0,
        }
    }

    /// Rows of a tree in key order; no rows if the unit has no pages.
    pub(crate) fn of_tree(
        source: &'s Pages<'s>,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
    ) -> Rows<'s> {
        let mut rows = Rows::new(source, unit, leaf_type, columns);
        if rows.unit.pgroot.is_none() {
            return rows;
        }
        match leftmost_leaf(source, &rows.unit, leaf_type) {
            Ok(next) => {
                let seen = PageSet::default();
                rows.pages = Way::Links { next, seen };
            }
            Err(error) => {
                rows.pending.push_back(error);
                rows.by_allocation(&PageSet::default());
            }
        }
        rows
    }

    /// Rows of a heap or tree in the order of its allocation.
    pub(crate) fn of_unit(
        source: &'s Pages<'s>,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
    ) -> Rows<'s> {
        let mut rows = Rows::new(source, unit, leaf_type, columns);
        rows.by_allocation(&PageSet::default());
        rows
    }

    /// Continues with the leaves in the maps, or, where the maps are damaged, with the pages whose own
    /// headers name the unit.
    fn by_allocation(&mut self, seen: &PageSet) {
        let source = self.source;
        let mut pages = match owned_pages(source, &self.unit) {
            Ok(owned) => {
                self.pending.extend(owned.faults);
                owned.pages
            }
            Err(error) => {
                self.pending.push_back(error);
                pages_by_header(source, &self.unit)
            }
        };
        pages.retain(|&page| {
            !seen.contains(page) && !is_beside_leaves(source, page, self.leaf_type)
        });
        self.pages = Way::List(pages.into_iter());
    }

    /// Continues behind a leaf that cannot be used, and whose links are lost.
    fn go_on_behind(&mut self, lost: PageId, seen: &PageSet) {
        let leaves = leaves_by_parents(self.source, &self.unit, self.leaf_type);
        let place = leaves
            .as_ref()
            .ok()
            .and_then(|leaves| leaves.iter().position(|&leaf| leaf == lost));
        let (Ok(mut leaves), Some(place)) = (leaves, place) else {
            return self.by_allocation(seen);
        };
        leaves.drain(..=place);
        let mut seen = seen.clone();
        let source = self.source;
        // A page beyond the end of its file is an error later. It is not put in the set: a large page number
        // would take memory there.
        leaves.retain(|&leaf| leaf.page.0 >= source.size_pages(leaf.file) || seen.insert(leaf));
        self.pages = Way::List(leaves.into_iter());
    }

    /// The next leaf page.
    fn next_page(&mut self) -> Option<Result<(PageId, PageRef), MdfError>> {
        if let Some(error) = self.pending.pop_front() {
            self.reported.extend(error.page());
            return Some(Err(error));
        }
        let (id, mut seen) = match &mut self.pages {
            Way::List(pages) => {
                let reported = &self.reported;
                let id = pages.find(|page| !reported.contains(page))?;
                return Some(self.open(id).map(|page| (id, page)));
            }
            Way::Links { next, .. } if next.is_none() => return None,
            Way::Links { next, seen } => (*next, std::mem::take(seen)),
        };
        if seen.contains(id) {
            self.pages = Way::List(Vec::new().into_iter());
            return Some(Err(MdfError::Circle {
                page: id,
                wanted_by: describe(&self.unit),
            }));
        }
        match self.open(id) {
            Ok(page) => {
                seen.insert(id);
                let next = Page::new(&page).next();
                self.pages = Way::Links { next, seen };
                Some(Ok((id, page)))
            }
            Err(error) => {
                self.reported.push(id);
                self.go_on_behind(id, &seen);
                Some(Err(error))
            }
        }
    }

    pub(crate) fn with_defaults(mut self, defaults: Vec<Value>) -> Rows<'s> {
        self.defaults = defaults;
        self
    }

    /// The next record that is a row, with the address of the slot in which it was found.
    fn next_record(&mut self) -> Option<Result<(RowId, Found), MdfError>> {
        loop {
            let Some((id, page)) = &self.current else {
                match self.next_page()? {
                    Ok(page) => self.current = Some(page),
                    Err(error) => return Some(Err(error)),
                }
                self.slot = 0;
                continue;
            };
            let view = Page::new(page);
            if self.slot >= view.slot_count() {
                self.current = None;
                continue;
            }
            let at = RowId {
                page: *id,
                slot: self.slot,
            };
            self.slot += 1;
            match find_row(self.source, &self.unit, page, at) {
                Ok(Some(found)) => return Some(Ok((at, found))),
                Ok(None) => {}
                Err(error) => {
                    // If the slot count reaches beyond the page, the other slots are skipped.
                    if view.slot_offset(at.slot).is_none() {
                        self.current = None;
                    }
                    return Some(Err(error));
                }
            }
        }
    }

    fn open(&self, id: PageId) -> Result<PageRef, MdfError> {
        let bytes = unit_page(self.source, &self.unit, id)?;
        let page_type = Page::new(&bytes).page_type();
        if page_type != self.leaf_type {
            let found = format!("a {page_type}");
            return Err(MdfError::WrongPage {
                page: id,
                wanted_by: describe(&self.unit),
                found,
            });
        }
        Ok(bytes)
    }

    fn decode(&self, at: RowId, bytes: &[u8]) -> Result<Row, MdfError> {
        let pminlen = match &self.current {
            Some((_, page)) => Page::new(page).pminlen(),
            None => 0,
        };
        let record = Record::of_page(self.leaf_type, pminlen, bytes).ok_or_else(|| {
            MdfError::DamagedRecord {
                at,
                what: "no sound frame".to_owned(),
            }
        })?;
        let values = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let default = self.defaults.get(index);
                value_of(self.source, at, &record, column, column.leaf, default)
            })
            .collect::<Result<_, _>>()?;
        Ok(Row { at, values })
    }
}

/// A column's value in the record at `at`, on the level of `place`. It is `default` if the row is older than
/// the column.
pub(crate) fn value_of(
    source: &Pages<'_>,
    at: RowId,
    record: &Record<'_>,
    column: &StoredColumn,
    place: ColumnPlace,
    default: Option<&Value>,
) -> Result<Value, MdfError> {
    if column.status & layout_status::SPARSE != 0 {
        return sparse::value(at, record, column);
    }
    let stored = find_column(record, column, place).ok_or_else(|| {
        let what = format!("too short for column {}", column.column_id);
        MdfError::DamagedRecord { at, what }
    })?;
    let fetched;
    let bytes = match stored {
        Stored::Null => return Ok(Value::Null),
        Stored::NotStored => return Ok(default.cloned().unwrap_or(Value::Null)),
        Stored::Bit(bit) => return Ok(Value::Bit(bit)),
        Stored::Pointer(pointer) => {
            fetched = lob::read(source, at, pointer)?;
            &fetched
        }
        // Without a pointer, text lies in the row itself.
        Stored::Bytes(bytes) => bytes,
    };
    // The catalog stores the empty variant as no bytes.
    if bytes.is_empty() && column.data_type.id.family() == Family::Variant {
        return Ok(Value::Null);
    }
    decode(&column.data_type, bytes).map_err(|error| MdfError::BadValue {
        at,
        column: column.column_id,
        error,
    })
}

/// The row of a slot: none for empty slots, ghosts, and rows that moved here.
fn find_row<'s>(
    source: &'s Pages<'s>,
    unit: &AllocUnit,
    page: &PageRef,
    at: RowId,
) -> Result<Option<Found>, MdfError> {
    let damaged = |at: RowId, what: &str| MdfError::DamagedRecord {
        at,
        what: what.to_owned(),
    };
    let view = Page::new(page);
    let start = match view.slot_offset(at.slot) {
        None => return Err(damaged(at, "a slot beyond the page")),
        Some(0) => return Ok(None),
        Some(start) => usize::from(start),
    };
    let bytes = view
        .record(at.slot)
        .ok_or_else(|| damaged(at, "no record where the slot points"))?;
    let Some(&status) = bytes.first() else {
        return Ok(None);
    };
    let found = || Found {
        page: page.clone(),
        start,
        end: start + bytes.len(),
    };
    let status = furrow_format::Status(status);
    if status.is_ghost() {
        return Ok(None);
    }
    if view.page_type() == PageType::Index {
        return Ok(Some(found()));
    }
    match status.kind() {
        RecordKind::Primary => Ok(Some(found())),
        RecordKind::ForwardingStub => {
            let target =
                Record::forwarded_to(bytes).ok_or_else(|| damaged(at, "a damaged stub"))?;
            let moved = unit_page(source, unit, target.page)?;
            let end = moved_row(&moved, target.slot, at)
                .ok_or_else(|| damaged(at, "the stub leads to no row of it"))?;
            Ok(Some(Found {
                page: moved,
                start: end.0,
                end: end.1,
            }))
        }
        // It is read through its stub.
        RecordKind::Forwarded => Ok(None),
        _ => Err(damaged(at, "a record of a kind that no row has")),
    }
}

/// Start and end of the row to which the stub at `stub` leads; `None` if the slot has no row of that stub.
fn moved_row(page: &PageRef, slot: u16, stub: RowId) -> Option<(usize, usize)> {
    let view = Page::new(page);
    let start = usize::from(view.slot_offset(slot)?);
    let bytes = view.record_start(slot)?;
    let len = record_len(view.page_type(), view.pminlen(), bytes)?;
    let from = Record::data(bytes.get(..len)?).and_then(Record::forwarded_from);
    (from == Some(stub)).then_some((start, start + len))
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, MdfError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_record()? {
            Ok((at, found)) => Some(self.decode(at, found.bytes())),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Counting needs no values.
impl Rows<'_> {
    /// The number of rows left, without decoding them.
    pub fn count_rows(mut self) -> Result<u64, MdfError> {
        let mut rows = 0;
        while let Some(record) = self.next_record() {
            record?;
            rows += 1;
        }
        Ok(rows)
    }
}
