//! Prints results: in columns as sqlcmd does, as CSV, as JSON.

use super::destination::{Destination, Guarded};
use super::exit::ExitValue;
use crate::cli::args::SqlArguments;
use crate::cli::csv::CsvLine;
use furrow_scalar::display::{display_width, is_right_aligned, write_cell, write_value};
use furrow_sql::{Notice, ResultColumn, Sink};
use furrow_types::{DataType, Value};
use std::io::{self, BufWriter, Write};

/// Largest width of a printed column.
const MAX_WIDTH: usize = 8000;

/// The number of a RAISERROR message without a number of its own.
const RAISED: u32 = 50_000;

/// The state of a message that ends the script; the message's number becomes the exit code.
const ENDING_STATE: u8 = 127;

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Columns,
    Csv,
    Json,
}

/// Prints results as they arrive.
pub(super) struct Printer {
    out: BufWriter<Destination>,
    form: Form,
    separator: String,
    trimmed: bool,
    /// Rows between two lines of headings: `None` for no headings, 0 for one at the top.
    headings: Option<u64>,
    /// Column at which lines are broken.
    wrap: Option<usize>,
    types: Vec<DataType>,
    names: Vec<String>,
    widths: Vec<usize>,
    rows: u64,
    in_set: bool,
    line: String,
    csv: CsvLine,
    /// The exit code for `:exit (query)`, from the batch so far.
    pub(super) exit_value: ExitValue,
    /// Whether rows are evaluated for it.
    pub(super) asked_for_exit_value: bool,
    /// The number of an error with state 127, which ends the script.
    pub(super) ending_number: Option<u32>,
    /// Whether informational messages are left out.
    pub(super) quiet: bool,
    /// An error of writing: a closed pipe, a full disk.
    pub(super) failed: Option<io::Error>,
    /// The files that results must not replace.
    pub(super) guarded: Guarded,
    /// Whether the results of a batch are shown when it ends: someone may wait for them.
    pub(super) shows_batches: bool,
    /// Whether a batch was run since the destination was set.
    has_run: bool,
}

impl Printer {
    pub(super) fn new(options: &SqlArguments, out: Destination, guarded: Guarded) -> Printer {
        let form = match (options.csv, options.json) {
            (true, _) => Form::Csv,
            (_, true) => Form::Json,
            _ => Form::Columns,
        };
        Printer {
            out: BufWriter::new(out),
            form,
            separator: options.separator.clone().unwrap_or_else(|| " ".to_owned()),
            trimmed: options.trim,
            headings: u64::try_from(options.headings.unwrap_or(0)).ok(),
            wrap: options.width.map(usize::from),
            types: Vec::new(),
            names: Vec::new(),
            widths: Vec::new(),
            rows: 0,
            in_set: false,
            line: String::new(),
            csv: CsvLine::new(),
            exit_value: ExitValue::default(),
            asked_for_exit_value: false,
            ending_number: None,
            quiet: false,
            failed: None,
            guarded,
            shows_batches: false,
            has_run: false,
        }
    }

    fn put(&mut self, text: &str) {
        if self.failed.is_none()
            && let Err(e) = self.out.write_all(text.as_bytes())
        {
            self.failed = Some(e);
        }
    }

    /// Begins a batch: resets the exit code of the one before.
    pub(super) fn begin_batch(&mut self) {
        self.exit_value = ExitValue::default();
        self.ending_number = None;
        self.has_run = true;
    }

    /// Ends the array of a result that an error interrupted, so that the output stays valid JSON.
    pub(super) fn end_result(&mut self) {
        if std::mem::take(&mut self.in_set) && self.form == Form::Json {
            self.put("]\n");
        }
    }

    fn put_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.push('\n');
        self.put(&line);
        line.clear();
        self.line = line;
    }

    /// Sets the destination of the output from here on. A file that was the destination so far is complete.
    pub(super) fn redirect(&mut self, out: Destination) {
        self.show();
        // What could not be written is dropped with the old destination.
        let _ = std::mem::replace(&mut self.out, BufWriter::new(out)).into_parts();
        self.has_run = false;
    }

    /// Writes all output, and shows it: a file gets its name.
    fn show(&mut self) {
        if self.failed.is_none()
            && let Err(e) = self.out.flush().and_then(|()| self.out.get_mut().show())
        {
            self.failed = Some(e);
        }
    }

    /// Ends the output. After an error that came before the first batch, the old content of a file stays.
    pub(super) fn finish(&mut self, is_failed: bool) {
        match is_failed && !self.has_run {
            true => self.flush(),
            false => self.show(),
        }
    }

    /// Prints a text of the shell's own.
    pub(super) fn echo(&mut self, text: &str) {
        self.put(text);
    }

    /// Prints the cells of a line. Cells that do not fit begin another line; a cell that is longer than a
    /// line is split.
    fn put_cells(&mut self, cells: &[String]) {
        let Some(wrap) = self.wrap else {
            self.line.push_str(&cells.join(&self.separator));
            return self.put_line();
        };
        let mut used = 0;
        for (at, cell) in cells.iter().enumerate() {
            let width = cell.chars().count();
            let between = if at > 0 {
                self.separator.chars().count()
            } else {
                0
            };
            if at > 0 && used + between + width > wrap {
                self.put_line();
                self.line.push_str(&self.separator);
                used = 0;
            } else if at > 0 {
                self.line.push_str(&self.separator);
            }
            used += between;
            for character in cell.chars() {
                if used >= wrap {
                    self.put_line();
                    used = 0;
                }
                self.line.push(character);
                used += 1;
            }
        }
        self.put_line();
    }

    /// Writes all output.
    pub(super) fn flush(&mut self) {
        if self.shows_batches && self.has_run {
            return self.show();
        }
        if self.failed.is_none()
            && let Err(e) = self.out.flush()
        {
            self.failed = Some(e);
        }
    }

    fn heading(&mut self) {
        let of = |at: usize| self.widths.get(at).copied().unwrap_or(0);
        let (mut names, mut rules) = (Vec::new(), Vec::new());
        for (at, name) in self.names.iter().enumerate() {
            let length = name.chars().count();
            let width = if self.trimmed { length } else { of(at) };
            names.push(format!("{name:<width$}"));
            rules.push("-".repeat(width));
        }
        self.put_cells(&names);
        self.put_cells(&rules);
    }

    fn put_csv_line(&mut self) {
        let done = self.csv.write_to(&mut self.out);
        if self.failed.is_none()
            && let Err(e) = done
        {
            self.failed = Some(e);
        }
    }

    fn row_in_columns(&mut self, row: &[Value]) {
        if self
            .headings
            .is_some_and(|every| every > 0 && self.rows > 0 && self.rows.is_multiple_of(every))
        {
            self.put("\n");
            self.heading();
        }
        let mut cells = Vec::with_capacity(row.len());
        for (at, value) in row.iter().enumerate() {
            let Some(of) = self.types.get(at) else {
                continue;
            };
            let mut cell = String::new();
            if self.trimmed {
                write_value(value, &mut cell);
                cell.truncate(cell.trim_end_matches(' ').len());
            } else {
                let width = self.widths.get(at).copied().unwrap_or(0);
                let last = at + 1 == row.len();
                write_cell(value, of.id, width, &mut cell);
                if last && !is_right_aligned(of.id) && width > 256 {
                    cell.truncate(cell.trim_end_matches(' ').len());
                }
            }
            cells.push(cell);
        }
        self.put_cells(&cells);
    }
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bit(bit) => (*bit).into(),
        Value::TinyInt(n) => (*n).into(),
        Value::SmallInt(n) => (*n).into(),
        Value::Int(n) => (*n).into(),
        Value::BigInt(n) => (*n).into(),
        Value::Float(n) => (*n).into(),
        Value::Real(n) => f64::from(*n).into(),
        // Exact numbers are printed as text: a JSON number would lose digits.
        other => other.to_string().into(),
    }
}

impl Sink for Printer {
    fn columns(&mut self, columns: &[ResultColumn]) {
        self.end_result();
        self.types = columns.iter().map(|c| c.data_type).collect();
        self.names = columns.iter().map(|c| c.name.clone()).collect();
        self.widths = columns
            .iter()
            .map(|c| {
                let of_type = display_width(&c.data_type) as usize;
                let nullable = if c.nullable { 4 } else { 0 };
                of_type
                    .max(c.name.chars().count())
                    .max(nullable)
                    .min(MAX_WIDTH)
            })
            .collect();
        self.rows = 0;
        self.in_set = true;
        match self.form {
            Form::Columns if self.headings.is_some() => self.heading(),
            Form::Columns => {}
            Form::Csv if self.headings.is_some() => {
                for name in &self.names {
                    self.csv.push_text(name);
                }
                self.put_csv_line();
            }
            Form::Csv => {}
            Form::Json => self.put("["),
        }
    }

    fn row(&mut self, row: &[Value]) {
        if self.asked_for_exit_value {
            self.exit_value = ExitValue::of_row(row);
        }
        match self.form {
            Form::Columns => self.row_in_columns(row),
            Form::Csv => {
                for value in row {
                    self.csv.push_value(value);
                }
                self.put_csv_line();
            }
            Form::Json => {
                // The columns keep their order.
                let mut text = String::from("{");
                let mut seen: Vec<&str> = Vec::new();
                for (at, value) in row.iter().enumerate() {
                    let name = self.names.get(at).map_or("", String::as_str);
                    let key = match name.is_empty() || seen.contains(&name) {
                        true => format!("column{}", at + 1),
                        false => name.to_owned(),
                    };
                    seen.push(name);
                    if at > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::Value::from(key).to_string());
                    text.push(':');
                    text.push_str(&json_value(value).to_string());
                }
                text.push('}');
                let comma = if self.rows > 0 { ",\n" } else { "" };
                self.put(comma);
                self.put(&text);
            }
        }
        self.rows += 1;
    }

    fn done(&mut self, rows: Option<u64>) {
        let in_set = std::mem::replace(&mut self.in_set, false);
        match self.form {
            Form::Json if in_set => self.put("]\n"),
            Form::Json | Form::Csv => {}
            Form::Columns => match rows {
                Some(1) => self.put("\n(1 row affected)\n"),
                Some(rows) => self.put(&format!("\n({rows} rows affected)\n")),
                None if in_set => self.put("\n"),
                None => {}
            },
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let message = &notice.message;
        if message.is_error() {
            self.exit_value = ExitValue::Error;
        }
        if message.state == ENDING_STATE {
            self.ending_number = Some(message.number);
        }
        if self.quiet && !message.is_error() {
            return;
        }
        let text = match (&notice.procedure, message.is_error()) {
            (Some(procedure), true) => format!(
                "Msg {}, Level {}, State {}, Procedure {procedure}, Line {}\n{}\n",
                message.number, message.level, message.state, message.line, message.text
            ),
            _ => format!("{message}\n"),
        };
        match self.form {
            Form::Columns => {
                self.put(&text);
                // RAISERROR WITH NOWAIT reports the progress of a long batch: it must be printed at once.
                if message.number == RAISED {
                    self.show();
                }
            }
            // Output for programs contains rows only.
            Form::Csv | Form::Json => {
                self.flush();
                eprint!("{text}");
            }
        }
    }
}
