//! Rows of a rowset: over its leaf pages, record by record, column by column.

use super::column::{Stored, StoredColumn, find_column};
use super::walk::{describe, leftmost_leaf, owned_pages, siblings, unit_page};
use super::{MdfError, PageSource, lob};
use crate::catalog::{AllocUnit, layout_status};
use crate::types::{Family, Value, decode};
use crate::{Page, PageId, PageType, Record, RecordKind, RowId, record_len};

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Where it lies: of a forwarded row, where its stub does.
    pub at: RowId,
    /// One value per column asked for.
    pub values: Vec<Value>,
}

/// Iterates over rows; see [`Database::rows`](super::Database::rows).
///
/// A damaged row is an error and the next row follows; a page that can't be used is an error, too.
#[derive(Debug)]
pub struct Rows<'s> {
    source: SourceRef<'s>,
    unit: AllocUnit,
    leaf_type: PageType,
    columns: Vec<StoredColumn>,
    /// Values of columns that rows older than the column don't store.
    defaults: Vec<Value>,
    pages: std::vec::IntoIter<PageId>,
    current: Option<(PageId, Page<'s>)>,
    slot: u16,
}

/// A source, with a `Debug` of its own.
#[derive(Clone, Copy)]
struct SourceRef<'s>(&'s dyn PageSource);

impl std::fmt::Debug for SourceRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} files", self.0.files().len())
    }
}

impl<'s> Rows<'s> {
    fn new(
        source: &'s dyn PageSource,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
        pages: Vec<PageId>,
    ) -> Rows<'s> {
        Rows {
            source: SourceRef(source),
            unit,
            leaf_type,
            defaults: Vec::new(),
            columns,
            pages: pages.into_iter(),
            current: None,
            slot: 0,
        }
    }

    /// Rows of a tree in key order; of a unit without pages none.
    pub(super) fn of_tree(
        source: &'s dyn PageSource,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
    ) -> Result<Rows<'s>, MdfError> {
        let pages = if unit.pgroot.is_none() {
            Vec::new()
        } else {
            siblings(source, &unit, leftmost_leaf(source, &unit, leaf_type)?)?
        };
        Ok(Rows::new(source, unit, leaf_type, columns, pages))
    }

    /// Rows of a heap or tree in the order of its allocation.
    pub(super) fn of_unit(
        source: &'s dyn PageSource,
        unit: AllocUnit,
        leaf_type: PageType,
        columns: Vec<StoredColumn>,
    ) -> Result<Rows<'s>, MdfError> {
        let mut pages = owned_pages(source, &unit)?.pages;
        pages.retain(|&page| {
            source.page(page).map(Page::new).is_none_or(|page| {
                page.page_type() == leaf_type && (leaf_type == PageType::Data || page.level() == 0)
                    || page.page_type() != PageType::Index
            })
        });
        Ok(Rows::new(source, unit, leaf_type, columns, pages))
    }

    pub(super) fn with_defaults(mut self, defaults: Vec<Value>) -> Rows<'s> {
        self.defaults = defaults;
        self
    }

    /// The next record that is a row, with the place it is known by.
    fn next_record(&mut self) -> Option<Result<(RowId, &'s [u8]), MdfError>> {
        loop {
            let Some((id, page)) = self.current else {
                let id = self.pages.next()?;
                match self.open(id) {
                    Ok(page) => self.current = Some((id, page)),
                    Err(error) => return Some(Err(error)),
                }
                self.slot = 0;
                continue;
            };
            if self.slot >= page.slot_count() {
                self.current = None;
                continue;
            }
            let at = RowId {
                page: id,
                slot: self.slot,
            };
            self.slot += 1;
            match row_bytes(self.source.0, &self.unit, page, at) {
                Ok(Some(bytes)) => return Some(Ok((at, bytes))),
                Ok(None) => {}
                Err(error) => {
                    // A slot count beyond the page ends the page, not the machine.
                    if page.slot_offset(at.slot).is_none() {
                        self.current = None;
                    }
                    return Some(Err(error));
                }
            }
        }
    }

    fn open(&self, id: PageId) -> Result<Page<'s>, MdfError> {
        let page = Page::new(unit_page(self.source.0, &self.unit, id)?);
        if page.page_type() != self.leaf_type {
            let found = format!("a {}", page.page_type());
            return Err(MdfError::WrongPage {
                page: id,
                wanted_by: describe(&self.unit),
                found,
            });
        }
        Ok(page)
    }

    fn decode(&self, at: RowId, bytes: &[u8]) -> Result<Row, MdfError> {
        let pminlen = self.current.map_or(0, |(_, page)| page.pminlen());
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
            .map(|(index, column)| self.value(at, &record, column, index))
            .collect::<Result<_, _>>()?;
        Ok(Row { at, values })
    }

    fn value(
        &self,
        at: RowId,
        record: &Record<'_>,
        column: &StoredColumn,
        index: usize,
    ) -> Result<Value, MdfError> {
        if column.status & layout_status::SPARSE != 0 {
            return Err(MdfError::Unsupported {
                what: "a sparse column".to_owned(),
            });
        }
        let stored = find_column(record, column, column.leaf).ok_or_else(|| {
            let what = format!("too short for column {}", column.column_id);
            MdfError::DamagedRecord { at, what }
        })?;
        let fetched;
        let bytes = match stored {
            Stored::Null => return Ok(Value::Null),
            Stored::NotStored => {
                return Ok(self.defaults.get(index).cloned().unwrap_or(Value::Null));
            }
            Stored::Bit(bit) => return Ok(Value::Bit(bit)),
            Stored::Pointer(pointer) => {
                fetched = lob::read(self.source.0, at, pointer)?;
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
}

/// The bytes of the row that a slot stands for: none for empty slots, ghosts, and rows that moved here.
fn row_bytes<'s>(
    source: &'s dyn PageSource,
    unit: &AllocUnit,
    page: Page<'s>,
    at: RowId,
) -> Result<Option<&'s [u8]>, MdfError> {
    let damaged = |at: RowId, what: &str| MdfError::DamagedRecord {
        at,
        what: what.to_owned(),
    };
    match page.slot_offset(at.slot) {
        None => return Err(damaged(at, "a slot beyond the page")),
        Some(0) => return Ok(None),
        Some(_) => {}
    }
    let bytes = page
        .record(at.slot)
        .ok_or_else(|| damaged(at, "no record where the slot points"))?;
    let Some(&status) = bytes.first() else {
        return Ok(None);
    };
    let status = crate::Status(status);
    if status.is_ghost() {
        return Ok(None);
    }
    if page.page_type() == PageType::Index {
        return Ok(Some(bytes));
    }
    match status.kind() {
        RecordKind::Primary => Ok(Some(bytes)),
        RecordKind::ForwardingStub => {
            let target =
                Record::forwarded_to(bytes).ok_or_else(|| damaged(at, "a damaged stub"))?;
            let page = Page::new(unit_page(source, unit, target.page)?);
            let moved = page.record_start(target.slot).and_then(|start| {
                let len = record_len(page.page_type(), page.pminlen(), start)?;
                start.get(..len)
            });
            let moved = moved
                .filter(|bytes| Record::data(bytes).and_then(Record::forwarded_from) == Some(at));
            moved
                .map(Some)
                .ok_or_else(|| damaged(at, "the stub leads to no row of it"))
        }
        // Reached by its stub.
        RecordKind::Forwarded => Ok(None),
        _ => Err(damaged(at, "a record of a kind that no row has")),
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, MdfError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_record()? {
            Ok((at, bytes)) => Some(self.decode(at, bytes)),
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
