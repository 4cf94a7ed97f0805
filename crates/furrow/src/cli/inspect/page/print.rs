//! Prints a page as text, or as JSON.

use super::content::{Cell, RecordDump};
use super::{Dump, Figure, table_of, unit_word};
use furrow_format::Protection;
use furrow_types::Value;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;
use std::io::Write;

/// Characters of a value at a terminal.
const VALUE_WIDTH: usize = 200;
/// Bytes of a record without known columns at a terminal.
const BYTES_SHOWN: usize = 64;

fn protection(dump: &Dump) -> String {
    match &dump.protection {
        Ok(Protection::Checksum) => "proven by its checksum".to_owned(),
        Ok(Protection::TornBits) => "proven by torn bits".to_owned(),
        Ok(Protection::None) => "unprotected".to_owned(),
        Err(fault) if !dump.in_use => format!("left over: {fault}"),
        Err(fault) => format!("DAMAGED: {fault}"),
    }
}

pub(super) fn print(dump: &Dump, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "page {} of {}, {}",
        dump.id,
        dump.file,
        protection(dump)
    )?;
    if !dump.in_use {
        writeln!(out, "this page is not in use; what follows is left over")?;
    }
    if let Some(owner) = &dump.owner {
        let table = table_of(owner).unwrap_or_else(|| format!("object {}", owner.rowset.idmajor));
        let index = match (owner.rowset.idminor, &owner.index) {
            (0, _) => "heap".to_owned(),
            (id, Some(name)) => format!("index {id} {name}"),
            (id, None) => format!("index {id}"),
        };
        writeln!(
            out,
            "owner: {table}, {index}, {}",
            unit_word(owner.unit_kind)
        )?;
    }
    writeln!(out, "\nheader:")?;
    for (name, figure) in &dump.header {
        match figure {
            Figure::Number(number) => writeln!(out, "  {name:<16} {number}")?,
            Figure::Text(text) => writeln!(out, "  {name:<16} {text}")?,
        }
    }
    let content = &dump.content;
    if !content.fields.is_empty() {
        writeln!(out, "\ncontent:")?;
    }
    for (name, text) in &content.fields {
        writeln!(out, "  {name:<22} {text}")?;
    }
    if !content.ranges.is_empty() {
        writeln!(out, "\nmap:")?;
    }
    for range in &content.ranges {
        writeln!(out, "  {} - {}: {}", range.first, range.last, range.says)?;
    }
    for record in &content.records {
        print_record(record, out)?;
    }
    Ok(())
}

fn print_record(record: &RecordDump, out: &mut impl Write) -> std::io::Result<()> {
    write!(out, "\nslot {}, offset {}, ", record.slot, record.offset)?;
    write!(out, "{} bytes: {}", record.length, record.kind)?;
    match &record.note {
        Some(note) => writeln!(out, ", {note}")?,
        None => writeln!(out)?,
    }
    for (name, cell) in &record.columns {
        let text = match cell {
            Cell::Value(value) => shortened(&value.to_string()),
            Cell::Elsewhere(pointer) => format!("elsewhere, by pointer {}", hex(pointer)),
            Cell::Unreadable(why) => format!("unreadable: {why}"),
        };
        writeln!(out, "  {name} = {text}")?;
    }
    if record.columns.is_empty() && !record.bytes.is_empty() {
        let some = record.bytes.get(..BYTES_SHOWN).unwrap_or(&record.bytes);
        let more = if some.len() < record.bytes.len() {
            "..."
        } else {
            ""
        };
        writeln!(out, "  {}{more}", hex(some))?;
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    let mut short: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(VALUE_WIDTH)
        .collect();
    if text.chars().nth(VALUE_WIDTH).is_some() {
        short.push_str("...");
    }
    short
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        let _always = write!(text, "{byte:02X}");
    }
    text
}

pub(super) fn as_json(dump: &Dump) -> Json {
    let header: Map<String, Json> = dump
        .header
        .iter()
        .map(|(name, figure)| {
            let value = match figure {
                Figure::Number(number) => json!(number),
                Figure::Text(text) => json!(text),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    let owner = dump.owner.as_ref().map(|owner| {
        json!({
            "table": table_of(owner),
            "object_id": owner.rowset.idmajor,
            "index_id": owner.rowset.idminor,
            "index": owner.index,
            "holds": unit_word(owner.unit_kind),
        })
    });
    let ranges: Vec<Json> = dump
        .content
        .ranges
        .iter()
        .map(|range| {
            let (first, last) = (range.first.to_string(), range.last.to_string());
            json!({ "first": first, "last": last, "says": range.says })
        })
        .collect();
    let fields: Map<String, Json> = dump
        .content
        .fields
        .iter()
        .map(|(name, text)| ((*name).to_owned(), json!(text)))
        .collect();
    json!({
        "file": dump.file,
        "page": dump.id.to_string(),
        "protection": protection(dump),
        "in_use": dump.in_use,
        "damaged": dump.in_use && dump.protection.is_err(),
        "header": header,
        "owner": owner,
        "content": fields,
        "map": ranges,
        "slots": dump.content.records.iter().map(record_json).collect::<Vec<_>>(),
    })
}

fn record_json(record: &RecordDump) -> Json {
    let columns: Map<String, Json> = record
        .columns
        .iter()
        .map(|(name, cell)| {
            let value = match cell {
                Cell::Value(value) => value_json(value),
                Cell::Elsewhere(pointer) => json!({ "elsewhere": hex(pointer) }),
                Cell::Unreadable(why) => json!({ "unreadable": why }),
            };
            (name.clone(), value)
        })
        .collect();
    json!({
        "slot": record.slot,
        "offset": record.offset,
        "length": record.length,
        "kind": record.kind,
        "note": record.note,
        "columns": columns,
        "bytes": hex(&record.bytes),
    })
}

/// Whole numbers and floating point as numbers, NULL as null, other values in their printed form: no
/// rounding.
fn value_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bit(bit) => json!(bit),
        Value::Real(number) => json!(number),
        Value::Float(number) => json!(number),
        _ => value
            .as_i64()
            .map_or_else(|| json!(value.to_string()), |number| json!(number)),
    }
}
