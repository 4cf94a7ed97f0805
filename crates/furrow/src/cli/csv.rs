//! CSV as RFC 4180 defines it, but with a line feed at the end of a line. NULL is an empty field, an empty
//! text is `""`.

use csv_core::{QuoteStyle, WriteResult, Writer, WriterBuilder};
use furrow_types::Value;
use std::io::{self, Write};

/// A line that is built cell by cell.
#[derive(Debug)]
pub(crate) struct CsvLine {
    /// Quotes a cell if necessary.
    plain: Writer,
    /// Quotes every cell: for an empty text, which must differ from NULL.
    quoting: Writer,
    /// The line so far. Each cell ends with a comma.
    bytes: Vec<u8>,
}

impl CsvLine {
    pub(crate) fn new() -> CsvLine {
        CsvLine {
            plain: Writer::new(),
            quoting: WriterBuilder::new().quote_style(QuoteStyle::Always).build(),
            bytes: Vec::new(),
        }
    }

    /// Appends a text.
    pub(crate) fn push_text(&mut self, text: &str) {
        let writer = if text.is_empty() {
            &mut self.quoting
        } else {
            &mut self.plain
        };
        let start = self.bytes.len();
        // At most: every byte is a doubled quotation mark, two marks enclose the cell, and a comma follows.
        self.bytes.resize(start + 2 * text.len() + 3, 0);
        let free = self.bytes.get_mut(start..).unwrap_or_default();
        let (result, read, written) = writer.field(text.as_bytes(), free);
        debug_assert_eq!((&result, read), (&WriteResult::InputEmpty, text.len()));
        let free = free.get_mut(written..).unwrap_or_default();
        let (result, ended) = writer.delimiter(free);
        debug_assert_eq!(result, WriteResult::InputEmpty);
        self.bytes.truncate(start + written + ended);
    }

    /// Appends a value in its printed form; a number gets a zero before the point, which other programs need.
    pub(crate) fn push_value(&mut self, value: &Value) {
        if value.is_null() {
            return self.bytes.push(b',');
        }
        let text = value.to_string();
        if !matches!(
            value,
            Value::Decimal(_) | Value::Money(_) | Value::SmallMoney(_)
        ) {
            return self.push_text(&text);
        }
        match text.strip_prefix('-') {
            Some(rest) if rest.starts_with('.') => self.push_text(&format!("-0{rest}")),
            None if text.starts_with('.') => self.push_text(&format!("0{text}")),
            _ => self.push_text(&text),
        }
    }

    /// Writes the line and begins the next one.
    pub(crate) fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.bytes.pop();
        self.bytes.push(b'\n');
        let done = out.write_all(&self.bytes);
        self.bytes.clear();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[Value]) -> String {
        let (mut csv, mut out) = (CsvLine::new(), Vec::new());
        for _ in 0..2 {
            values.iter().for_each(|value| csv.push_value(value));
            out.clear();
            csv.write_to(&mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn null_empty_text_and_quotes_differ() {
        let values = [
            Value::Null,
            Value::from(""),
            Value::from("a,b"),
            Value::from("say \"no\"\nor"),
            Value::from("\r"),
            Value::from("\u{20AC} "),
            Value::Money(-200),
            Value::Money(12_345_600),
            Value::Int(-7),
            Value::Null,
        ];
        assert_eq!(
            line(&values),
            ",\"\",\"a,b\",\"say \"\"no\"\"\nor\",\"\r\",\u{20AC} ,-0.0200,1234.5600,-7,\n"
        );
    }

    #[test]
    fn lines_of_no_cell_of_null_and_of_marks_alone_are_whole() {
        assert_eq!(line(&[]), "\n");
        assert_eq!(line(&[Value::Null]), "\n");
        assert_eq!(line(&[Value::from("")]), "\"\"\n");
        let marks = line(&[Value::from("\"".repeat(500).as_str())]);
        assert_eq!(marks.len(), 1003);
    }
}
