//! The layout: three columns of `name = value`, dumps of bytes, or a result set with the same items.

use crate::value::{ascii, varchar};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, nullable};
use furrow_format::TxnId;
use furrow_messages::Message;
use furrow_types::Value;
use std::fmt::Write;

/// Characters of a column.
const COLUMN: usize = 36;
/// Most characters in a line: an item that would exceed it begins a new line.
const LINE: usize = 112;
/// Bytes in a line of a dump.
const DUMPED: usize = 20;

static COLUMNS: &[ViewColumn] = &[
    nullable("ParentObject", varchar(255)),
    nullable("Object", varchar(255)),
    nullable("Field", varchar(255)),
    nullable("VALUE", varchar(8000)),
];

/// Collects the parts of a page, as lines of text or as rows.
pub(super) struct Printer {
    table: bool,
    lines: Vec<String>,
    rows: Vec<Vec<Value>>,
    parent: String,
    object: String,
    /// The line to which items are added.
    line: String,
}

/// The number of a transaction in SQL Server's form: two parts.
pub(super) fn transaction(id: TxnId) -> String {
    format!("({}:{})", id.0 >> 32, id.0 & 0xffff_ffff)
}

impl Printer {
    pub(crate) fn new(table: bool) -> Printer {
        Printer {
            table,
            lines: Vec::new(),
            rows: Vec::new(),
            parent: String::new(),
            object: String::new(),
            line: String::new(),
        }
    }

    pub(super) fn title(&mut self, text: &str) {
        self.lines.push(text.to_owned());
        self.blank();
    }

    pub(super) fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// A line that is text.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    /// Begins a section, and the object to which the following items belong.
    pub(super) fn section(&mut self, name: &str, object: &str) {
        name.clone_into(&mut self.parent);
        self.blank();
        self.lines.push(name.to_owned());
        self.blank();
        self.object(object);
    }

    /// Sets the object to which the following items belong; an empty name means that of the section.
    pub(super) fn object(&mut self, object: &str) {
        match object {
            "" => self.object = self.parent.trim_end_matches(':').to_owned(),
            named => {
                named.clone_into(&mut self.object);
                self.blank();
                self.lines.push(named.to_owned());
                self.blank();
            }
        }
    }

    fn row(&mut self, field: &str, value: &str) {
        if self.table {
            let parts = [&*self.parent, &*self.object, field, value];
            self.rows.push(parts.map(ascii).to_vec());
        }
    }

    /// `name = value` in the next column.
    pub(super) fn item(&mut self, name: &str, value: &str) {
        self.row(name, value);
        let shown = format!("{name} = {value}");
        if !self.line.is_empty() && self.line.len() + shown.len() > LINE {
            self.end_items();
        }
        self.line.push_str(&shown);
        let next = self.line.len().div_ceil(COLUMN) * COLUMN;
        // At least one blank is between two items.
        let next = if next == self.line.len() {
            next + COLUMN
        } else {
            next
        };
        if next >= 3 * COLUMN {
            self.end_items();
        } else {
            let _ = write!(self.line, "{:width$}", "", width = next - self.line.len());
        }
    }

    /// Ends the line of items.
    pub(super) fn end_items(&mut self) {
        if !self.line.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    /// Dumps the bytes at an offset of the page.
    pub(super) fn dump(&mut self, offset: usize, bytes: &[u8]) {
        self.end_items();
        self.blank();
        self.lines
            .push(format!("Memory Dump @{offset:#018X}").replace("0X", "0x"));
        self.blank();
        let mut all = Vec::new();
        for (at, chunk) in bytes.chunks(DUMPED).enumerate() {
            let mut hex = String::new();
            for (n, byte) in chunk.iter().enumerate() {
                if n > 0 && n % 4 == 0 {
                    hex.push(' ');
                }
                let _ = write!(hex, "{byte:02x}");
            }
            let shown: String = chunk.iter().map(|b| printable(*b)).collect();
            all.push(format!("{:016X}:   {hex:<44}  {shown}", at * DUMPED));
        }
        for line in all {
            self.row("", &line);
            self.lines.push(line);
        }
        self.blank();
    }

    /// A line of a table of ranges or offsets.
    pub(super) fn entry(&mut self, field: &str, value: &str, line: String) {
        self.row(field, value);
        self.lines.push(line);
    }

    /// Sends everything to the client.
    pub(super) fn finish(mut self, run: &mut Run<'_>) {
        self.end_items();
        if self.table {
            run.show(COLUMNS, self.rows);
            return;
        }
        for line in self.lines {
            run.inform(Message::custom(0, 0, 1, &line));
        }
    }
}

fn printable(byte: u8) -> char {
    match byte {
        b' '..=b'~' => char::from(byte),
        _ => '.',
    }
}

#[cfg(test)]
mod tests {
    use super::Printer;

    #[test]
    fn items_stand_in_three_columns_and_long_ones_take_two() {
        let mut out = Printer::new(false);
        out.item("m_objId (AllocUnitId.idObj)", "68");
        out.item("m_indexId (AllocUnitId.idInd)", "256");
        out.item("Metadata: AllocUnitId", "72057594042384384");
        out.item("Metadata: PartitionId", "72057594038386688");
        out.item("Metadata: IndexId", "1");
        out.item("Metadata: ObjectId", "2073058421");
        out.end_items();
        let expected = [
            "m_objId (AllocUnitId.idObj) = 68    m_indexId (AllocUnitId.idInd) = 256 ",
            "Metadata: AllocUnitId = 72057594042384384                               ",
            "Metadata: PartitionId = 72057594038386688                               Metadata: IndexId = 1",
            "Metadata: ObjectId = 2073058421     ",
        ];
        assert_eq!(out.lines, expected);
    }

    #[test]
    fn bytes_stand_in_five_groups_with_their_characters_behind() {
        let mut out = Printer::new(false);
        out.dump(96, b"\x10\x00\x0c\x00\x01\x00\x00\x00four\x02\x00\x00");
        let line =
            "0000000000000000:   10000c00 01000000 666f7572 020000             ........four...";
        assert_eq!(out.lines[1], "Memory Dump @0x0000000000000060");
        assert_eq!(out.lines[3], line);
    }
}
