//! Large values: from the pointer in a row, over the records of text pages, to the bytes.
//!
//! Three pointers: 16 bytes (`text`, `ntext`, `image`), and two complex columns, the root of a (max) value
//! that lies in the row, and the pointer to a column that left its row. The ends stated along the way must
//! be those of the bytes delivered; a record reached twice is damage, so that work is bounded by the file.

use std::collections::HashSet;

use crate::fixed::sound_page;
use crate::{MdfError, PageRef, Pages};
use furrow_format::lob_record::{
    BLOB_ID_AT, BODY_AT, INLINE_ROOT, KIND_AT, ROW_OVERFLOW, TEXT_POINTER_BYTES, kind,
};
use furrow_format::{Page, PageId, PageType, RowId};
use furrow_format::{chunk, u16_at, u32_at};

const MAX_DEPTH: u32 = 16;
/// The value that a complex column, or the pointer of a `text` column, leads to.
pub(crate) fn read(source: &Pages<'_>, at: RowId, pointer: &[u8]) -> Result<Vec<u8>, MdfError> {
    let mut reader = Reader {
        source,
        seen: HashSet::new(),
        blob: None,
        bytes: Vec::new(),
    };
    let damaged = |what: &str| MdfError::DamagedLob {
        at,
        what: what.to_owned(),
    };
    if pointer.len() == TEXT_POINTER_BYTES {
        reader.blob = chunk(pointer, 0).map(u64::from_le_bytes);
        let root = chunk(pointer, 8).map(RowId::from_bytes);
        reader.record(root.ok_or_else(|| damaged("no address"))?, 0)?;
        return Ok(reader.bytes);
    }
    match pointer.first() {
        Some(&(ROW_OVERFLOW | INLINE_ROOT)) => {}
        Some(kind) => {
            return Err(MdfError::Unsupported {
                what: format!("complex column of kind {kind}"),
            });
        }
        None => return Err(damaged("an empty pointer")),
    }
    reader.blob = u32_at(pointer, 8).map(|id| u64::from(id) << 16);
    let (links, rest) = pointer.get(12..).unwrap_or_default().as_chunks::<12>();
    if !rest.is_empty() || links.is_empty() {
        return Err(damaged("a pointer of a length that no pointer has"));
    }
    for link in links {
        reader.link(at, short_link(link), 0)?;
    }
    Ok(reader.bytes)
}

/// Cumulative end, and where the piece is.
type Link = (u64, RowId);

fn short_link(link: &[u8; 12]) -> Link {
    let [e0, e1, e2, e3, row @ ..] = *link;
    (
        u64::from(u32::from_le_bytes([e0, e1, e2, e3])),
        RowId::from_bytes(row),
    )
}

fn long_link(link: &[u8; 16]) -> Link {
    let [e0, e1, e2, e3, e4, e5, e6, e7, row @ ..] = *link;
    (
        u64::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]),
        RowId::from_bytes(row),
    )
}

struct Reader<'s> {
    source: &'s Pages<'s>,
    seen: HashSet<RowId>,
    blob: Option<u64>,
    bytes: Vec<u8>,
}

impl<'s> Reader<'s> {
    /// Follows one link: the piece must end at the offset in the link, counted from where its parent started.
    fn link_from(&mut self, base: u64, at: RowId, link: Link, depth: u32) -> Result<(), MdfError> {
        let (end, target) = link;
        self.record(target, depth + 1)?;
        let delivered = self.bytes.len() as u64 - base;
        if delivered != end {
            let what = format!("{delivered} bytes where the link to {target} says {end}");
            return Err(MdfError::DamagedLob { at, what });
        }
        Ok(())
    }

    fn link(&mut self, at: RowId, link: Link, depth: u32) -> Result<(), MdfError> {
        self.link_from(0, at, link, depth)
    }

    fn record(&mut self, at: RowId, depth: u32) -> Result<(), MdfError> {
        let damaged = |what: String| MdfError::DamagedLob { at, what };
        if !self.seen.insert(at) || depth > MAX_DEPTH {
            return Err(damaged("reached twice, or too deep".to_owned()));
        }
        let (page, place) = self.find(at)?;
        let record = page.get(place).unwrap_or_default();
        let blob = chunk(record, BLOB_ID_AT).map(u64::from_le_bytes);
        if self.blob.is_some() && blob != self.blob {
            let shown = |blob: Option<u64>| blob.map_or("none".to_owned(), |id| format!("{id:x}"));
            let (found, wanted) = (shown(blob), shown(self.blob));
            return Err(damaged(format!("blob id {found} instead of {wanted}")));
        }
        let short = || damaged("a record too short for its kind".to_owned());
        let links_in = |from: usize, size: usize| {
            let count = usize::from(u16_at(record, 16)?);
            record.get(from..from.checked_add(count.checked_mul(size)?)?)
        };
        match u16_at(record, KIND_AT).ok_or_else(short)? {
            kind::SMALL_ROOT => {
                let size = usize::from(u16_at(record, BODY_AT).ok_or_else(short)?);
                self.bytes
                    .extend(record.get(20..20 + size).ok_or_else(short)?);
            }
            kind::PIECE => self.bytes.extend(record.get(BODY_AT..).ok_or_else(short)?),
            kind::INNER => {
                let base = self.bytes.len() as u64;
                for link in links_in(20, 16).ok_or_else(short)?.as_chunks().0 {
                    self.link_from(base, at, long_link(link), depth)?;
                }
            }
            kind::ROOT | kind::ROOT_OF_2000 => {
                let base = self.bytes.len() as u64;
                for link in links_in(24, 12).ok_or_else(short)?.as_chunks().0 {
                    self.link_from(base, at, short_link(link), depth)?;
                }
            }
            other => return Err(damaged(format!("a record of unknown kind {other}"))),
        }
        Ok(())
    }

    /// The page of a record, and the record's place in it.
    fn find(&self, at: RowId) -> Result<(PageRef, std::ops::Range<usize>), MdfError> {
        let id: PageId = at.page;
        let bytes = sound_page(self.source, id, || "a large value".to_owned())?;
        let page = Page::new(&bytes);
        let wrong = |found: String| MdfError::WrongPage {
            page: id,
            wanted_by: "a large value".to_owned(),
            found,
        };
        if !matches!(page.page_type(), PageType::TextMix | PageType::TextTree) {
            return Err(wrong(format!("a {}", page.page_type())));
        }
        let none = || wrong(format!("no record in slot {}", at.slot));
        let start = usize::from(page.slot_offset(at.slot).ok_or_else(none)?);
        let len = page.record(at.slot).ok_or_else(none)?.len();
        Ok((bytes, start..start + len))
    }
}
