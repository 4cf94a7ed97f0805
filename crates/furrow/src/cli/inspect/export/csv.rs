//! CSV as RFC 4180 has it, but for lines that end with a line feed alone. NULL is nothing, empty text is
//! `""`.

use furrow_format::mdf::TableColumn;
use furrow_types::Value;
use std::io::{BufWriter, Write};

/// Writes CSV.
pub(super) struct Csv<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> Csv<W> {
    /// Begins with the names of the columns.
    pub(super) fn new(out: W, columns: &[(usize, &TableColumn)]) -> std::io::Result<Csv<W>> {
        let mut csv = Csv {
            out: BufWriter::with_capacity(1 << 16, out),
        };
        for (at, (_, column)) in columns.iter().enumerate() {
            csv.separate(at)?;
            csv.text(&column.name)?;
        }
        csv.out.write_all(b"\n")?;
        Ok(csv)
    }

    fn separate(&mut self, at: usize) -> std::io::Result<()> {
        if at > 0 {
            self.out.write_all(b",")?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, values: &[&Value]) -> std::io::Result<()> {
        for (at, value) in values.iter().enumerate() {
            self.separate(at)?;
            if !value.is_null() {
                self.text(&csv_text(value))?;
            }
        }
        self.out.write_all(b"\n")
    }

    fn text(&mut self, text: &str) -> std::io::Result<()> {
        if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
            return self.out.write_all(text.as_bytes());
        }
        write!(self.out, "\"{}\"", text.replace('"', "\"\""))
    }

    pub(super) fn end(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// A value as it prints, but with the zero before the point that other programs want.
fn csv_text(value: &Value) -> String {
    let text = value.to_string();
    if !matches!(
        value,
        Value::Decimal(_) | Value::Money(_) | Value::SmallMoney(_)
    ) {
        return text;
    }
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('.') => format!("-0{rest}"),
        None if text.starts_with('.') => format!("0{text}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_empty_text_and_quotes_can_be_told_apart() {
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out, &[]).unwrap();
        let values = [
            Value::Null,
            Value::from(""),
            Value::from("a,b"),
            Value::from("say \"no\"\nor"),
            Value::Money(-200),
            Value::Money(12_345_600),
            Value::Int(-7),
        ];
        csv.line(&values.iter().collect::<Vec<_>>()).unwrap();
        csv.end().unwrap();
        drop(csv);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "\n,\"\",\"a,b\",\"say \"\"no\"\"\nor\",-0.0200,1234.5600,-7\n"
        );
    }
}
