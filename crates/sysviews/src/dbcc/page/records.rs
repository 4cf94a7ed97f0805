//! Rows of a page: as bytes, or column by column.

use super::Look;
use super::print::Printer;
use furrow_datafile::{Stored, StoredColumn, find_column};
use furrow_format::{MAX_SLOTS, Page, PageId, PageType, Record, RecordKind, RowId, Status};

/// The slots of a page, each with its record.
fn slots(page: Page<'_>) -> impl Iterator<Item = (u16, u16, Option<&[u8]>)> {
    (0..page.slot_count().min(MAX_SLOTS)).map(move |slot| {
        let offset = page.slot_offset(slot).unwrap_or(0);
        let record = if offset == 0 { None } else { page.record(slot) };
        (slot, offset, record)
    })
}

fn kind_word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Primary => "PRIMARY_RECORD",
        RecordKind::Forwarded => "FORWARDED_RECORD",
        RecordKind::ForwardingStub => "FORWARDING_STUB",
        RecordKind::Index => "INDEX_RECORD",
        RecordKind::BlobFragment => "BLOB_FRAGMENT",
        RecordKind::GhostIndex => "GHOST_INDEX_RECORD",
        RecordKind::GhostData => "GHOST_DATA_RECORD",
        RecordKind::GhostVersion => "GHOST_VERSION_RECORD",
    }
}

/// `Record Type`, `Record Attributes`, `Record Size`, and the bytes.
fn frame((offset, bytes): (u16, &[u8]), out: &mut Printer) {
    let status = Status(bytes.first().copied().unwrap_or(0));
    let mut attributes = String::new();
    for (part, word) in [
        (Status::NULL_BITMAP, " NULL_BITMAP"),
        (Status::VARIABLE, " VARIABLE_COLUMNS"),
        (Status::VERSION_TAG, " VERSIONING_INFO"),
    ] {
        if status.has(part) {
            attributes.push_str(word);
        }
    }
    out.item("Record Type", kind_word(status.kind()));
    out.item("Record Attributes", &attributes);
    out.item("Record Size", &bytes.len().to_string());
    out.dump(usize::from(offset), bytes);
}

/// Option 1: each row as bytes, and the offsets of all.
pub(super) fn as_bytes(look: &Look<'_>, out: &mut Printer) {
    out.section("DATA:", "");
    for (slot, offset, record) in slots(look.page) {
        let length = record.map_or(0, <[u8]>::len);
        out.object(&format!(
            "Slot {slot}, Offset {offset:#x}, Length {length}, DumpStyle BYTE"
        ));
        if let Some(bytes) = record {
            frame((offset, bytes), out);
        }
    }
    offsets(look.page, out);
}

/// The slot array, last slot first.
pub(super) fn offsets(page: Page<'_>, out: &mut Printer) {
    out.section("OFFSET TABLE:", "");
    out.text("Row - Offset                        ");
    let all: Vec<(u16, u16)> = slots(page)
        .map(|(slot, offset, _)| (slot, offset))
        .collect();
    for (slot, offset) in all.into_iter().rev() {
        let shown = format!("{slot} ({slot:#x}) - {offset} ({offset:#x})");
        out.entry(
            &slot.to_string(),
            &offset.to_string(),
            format!("{shown:<36}"),
        );
    }
    out.blank();
}

/// Option 3: each row with the values of its columns.
pub(super) fn with_columns(look: &Look<'_>, out: &mut Printer) {
    for (slot, offset, record) in slots(look.page) {
        let length = record.map_or(0, <[u8]>::len);
        let name = format!("Slot {slot} Offset {offset:#x} Length {length}");
        out.section(&name, "");
        let Some(bytes) = record else { continue };
        frame((offset, bytes), out);
        columns(look, slot, bytes, out);
    }
}

fn columns(look: &Look<'_>, slot: u16, bytes: &[u8], out: &mut Printer) {
    let kind = Status(bytes.first().copied().unwrap_or(0)).kind();
    let of_page = look.page.page_type();
    if kind == RecordKind::ForwardingStub {
        if let Some(to) = Record::forwarded_to(bytes) {
            let shown = format!(
                "file {} page {} slot {}",
                to.page.file, to.page.page, to.slot
            );
            out.item("Forwarding to ", &shown);
            out.end_items();
        }
        return;
    }
    let text = matches!(of_page, PageType::TextMix | PageType::TextTree);
    if kind == RecordKind::BlobFragment || text {
        return;
    }
    let Some(record) = Record::of_page(of_page, look.page.pminlen(), bytes) else {
        return;
    };
    let inner = of_page == PageType::Index && is_inner(look);
    let owned = look
        .owner
        .as_ref()
        .map_or(&[][..], |owner| owner.columns.as_slice());
    for (number, (name, column)) in owned.iter().enumerate() {
        let place = if inner { column.inner } else { column.leaf };
        if place.offset != 0 {
            one(
                look,
                (slot, number + 1, name),
                (&record, column, !inner),
                out,
            );
        }
    }
    if inner && let Some(child) = record.child() {
        out.item("Child page", &child.to_string());
        out.end_items();
    }
    if let Some(stub) = record.forwarded_from() {
        let shown = format!(
            "file {} page {} slot {}",
            stub.page.file, stub.page.page, stub.slot
        );
        out.item("Forwarded from ", &shown);
        out.end_items();
    }
}

/// Whether the rows of an index page lead to pages below. The level alone does not show it: in some files the
/// lowest such level of a clustered index is 0.
fn is_inner(look: &Look<'_>) -> bool {
    let clustered = look
        .owner
        .as_ref()
        .is_some_and(|owner| owner.rowset.idminor == 1);
    look.page.level() > 0 || clustered
}

fn one(
    look: &Look<'_>,
    (slot, number, name): (u16, usize, &str),
    (record, column, leaf): (&Record<'_>, &StoredColumn, bool),
    out: &mut Printer,
) {
    let place = if leaf { column.leaf } else { column.inner };
    let start = record.bytes().as_ptr().addr();
    let (offset, length) = match find_column(record, column, place) {
        Some(Stored::Bytes(bytes) | Stored::Pointer(bytes)) if !bytes.is_empty() => {
            // A uniquifier of 0 is not stored in the row.
            let at = bytes.as_ptr().addr().wrapping_sub(start);
            (if at < record.bytes().len() { at } else { 0 }, bytes.len())
        }
        Some(Stored::Bit(_)) => (usize::from(place.offset.unsigned_abs()), 1),
        _ => (0, 0),
    };
    out.object(&format!(
        "Slot {slot} Column {number} Offset {offset:#x} Length {length} Length (physical) {length}"
    ));
    let at = RowId {
        page: PageId { ..look.id },
        slot,
    };
    let shown = match look.catalog.map(|c| c.value(at, record, column, leaf)) {
        Some(Ok(value)) if value.is_null() => "[NULL]".to_owned(),
        Some(Ok(value)) => {
            let mut text = String::new();
            furrow_scalar::display::write_value(&value, &mut text);
            text
        }
        Some(Err(error)) => format!("[{error}]"),
        None => "[?]".to_owned(),
    };
    out.item(name, &shown);
    out.end_items();
}
