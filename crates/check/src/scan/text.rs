//! Large values: their records on text pages, and the pointers that lead to them.

use super::worker::Worker;
use crate::facts::{TextNode, TextRef};
use crate::finding::page;
use furrow_format::{Page, PageBuf, PageId, PageType, RecordKind, RowId, Status};

/// Kinds of records.
const SMALL_ROOT: u16 = 0;
const INTERNAL: u16 = 2;
const DATA: u16 = 3;
const LARGE_ROOT_2000: u16 = 4;
const LARGE_ROOT: u16 = 5;
/// Kinds that later versions know; what is below them is not looked at.
const LAST_KIND: u16 = 8;

/// Bytes of a record before its body.
const BODY: usize = 14;
/// A record whose bytes are not counted.
pub(crate) const ANY_LENGTH: u64 = u64::MAX;

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(u16::from_le_bytes)
}

/// Cumulative end, and where the piece is, for each link.
fn links(record: &[u8], from: usize, size: usize) -> Option<Vec<(u64, RowId)>> {
    let count = usize::from(u16_at(record, 16)?);
    let entries = record.get(from..from.checked_add(count * size)?)?;
    let wide = size == 16;
    let entry = |entry: &[u8]| {
        let end = if wide {
            u64::from_le_bytes(chunk(entry, 0)?)
        } else {
            u64::from(u32::from_le_bytes(chunk(entry, 0)?))
        };
        Some((end, RowId::from_bytes(chunk(entry, size - 8)?)))
    };
    entries.chunks_exact(size).map(entry).collect()
}

impl Worker<'_> {
    pub(super) fn text_page(&mut self, id: PageId, unit: u32, bytes: &PageBuf) {
        let view = Page::new(bytes);
        self.frame(id, unit, view);
        let slots = std::mem::take(&mut self.slots);
        for place in &slots {
            let at = RowId {
                page: id,
                slot: place.slot,
            };
            let record = view.record(place.slot).unwrap_or_default();
            let status = Status(record.first().copied().unwrap_or(0));
            let sound = status.kind() == RecordKind::BlobFragment && status.0 & 0x81 == 0;
            if !sound || self.text_node(unit, at, record, view.page_type()).is_none() {
                let test = ("text record", (status.0.into(), record.len() as i64));
                self.findings
                    .row_test(self.shared.plan, unit, (id, place.slot), test);
            }
        }
        self.slots = slots;
    }

    fn text_node(&mut self, unit: u32, at: RowId, record: &[u8], on: PageType) -> Option<()> {
        let blob = u64::from_le_bytes(chunk(record, 4)?);
        let kind = u16_at(record, 12)?;
        let links = match kind {
            INTERNAL => links(record, 20, 16)?,
            LARGE_ROOT | LARGE_ROOT_2000 => links(record, 24, 12)?,
            _ => Vec::new(),
        };
        let bytes = match kind {
            SMALL_ROOT => {
                let size = u16_at(record, BODY)?;
                record.get(20..20 + usize::from(size))?;
                size.into()
            }
            DATA => record.len().checked_sub(BODY)? as u64,
            INTERNAL | LARGE_ROOT | LARGE_ROOT_2000 => links.last().map_or(0, |link| link.0),
            _ => ANY_LENGTH,
        };
        let plan = self.shared.plan;
        let named = [page(at.page), at.slot.into(), blob.into(), kind.into()];
        if kind > LAST_KIND {
            let means = format!(
                "The piece {at} of a large value {}is of no known kind.",
                plan.of(unit)
            );
            self.findings
                .of_unit(plan, (8962, unit), at.page, &named, means);
        }
        let tree_page = on == PageType::TextTree;
        if tree_page != (kind == INTERNAL) && kind <= LARGE_ROOT {
            let means = format!(
                "The piece {at} of a large value {}is misplaced.",
                plan.of(unit)
            );
            let mut args = named.to_vec();
            args.push(on.to_byte().into());
            self.findings
                .of_unit(plan, (8963, unit), at.page, &args, means);
        }
        self.text_links((unit, false), at, blob, &links);
        self.facts.text_nodes.push(TextNode {
            at,
            blob,
            bytes,
            unit,
        });
        Some(())
    }

    fn text_links(
        &mut self,
        (unit, ghost): (u32, bool),
        from: RowId,
        blob: u64,
        links: &[(u64, RowId)],
    ) {
        let mut before = 0;
        for &(end, to) in links {
            self.facts.text_refs.push(TextRef {
                from,
                to,
                blob,
                bytes: Some(end.wrapping_sub(before)),
                unit,
                ghost,
            });
            before = end;
        }
    }

    /// A pointer in a row.
    pub(super) fn text_pointer(&mut self, of: (u32, bool), from: RowId, pointer: &[u8]) {
        let read = match (pointer.len(), pointer.first()) {
            (16, _) => self.text_root(of, from, pointer),
            (_, Some(2 | 4)) => self.inline_root(of, from, pointer),
            // No reader finds a value by it.
            _ => None,
        };
        if read.is_none() {
            let test = ("pointer to a large value", (pointer.len() as i64, 16));
            self.findings
                .row_test(self.shared.plan, of.0, (from.page, from.slot), test);
        }
    }

    fn text_root(&mut self, (unit, ghost): (u32, bool), from: RowId, pointer: &[u8]) -> Option<()> {
        self.facts.text_refs.push(TextRef {
            from,
            to: RowId::from_bytes(chunk(pointer, 8)?),
            blob: u64::from_le_bytes(chunk(pointer, 0)?),
            bytes: None,
            unit,
            ghost,
        });
        Some(())
    }

    fn inline_root(&mut self, of: (u32, bool), from: RowId, pointer: &[u8]) -> Option<()> {
        let blob = u64::from(u32::from_le_bytes(chunk(pointer, 8)?)) << 16;
        let (entries, rest) = pointer.get(12..)?.as_chunks::<12>();
        if !rest.is_empty() || entries.is_empty() {
            return None;
        }
        let link = |entry: &[u8; 12]| {
            let end = u32::from_le_bytes(chunk(entry, 0)?);
            Some((u64::from(end), RowId::from_bytes(chunk(entry, 4)?)))
        };
        let links: Option<Vec<(u64, RowId)>> = entries.iter().map(link).collect();
        self.text_links(of, from, blob, &links?);
        Some(())
    }
}
