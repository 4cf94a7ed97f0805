//! Rows as CSV.

use crate::cli::csv::CsvLine;
use furrow_datafile::TableColumn;
use furrow_types::Value;
use std::io::{BufWriter, Write};

/// Writes CSV.
pub(super) struct Csv<W: Write> {
    out: BufWriter<W>,
    line: CsvLine,
}

impl<W: Write> Csv<W> {
    /// Begins with a line of column names.
    pub(super) fn new(out: W, columns: &[(usize, &TableColumn)]) -> std::io::Result<Csv<W>> {
        let mut csv = Csv {
            out: BufWriter::with_capacity(1 << 16, out),
            line: CsvLine::new(),
        };
        for (_, column) in columns {
            csv.line.push_text(&column.name);
        }
        csv.line.write_to(&mut csv.out)?;
        Ok(csv)
    }

    pub(super) fn line(&mut self, values: &[&Value]) -> std::io::Result<()> {
        for value in values {
            self.line.push_value(value);
        }
        self.line.write_to(&mut self.out)
    }

    pub(super) fn end(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
