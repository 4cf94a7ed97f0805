//! `furrow inspect export`: writes the rows of a table to a file that other tools read.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use super::super::args::ExportArguments;
use super::super::{FAILED, Failure, INTERRUPTED, interrupt};
use super::{Opened, open_files, rows::shown_columns};
use crate::cli::out::OutFile;
use furrow_datafile::Pages;
use furrow_datafile::{MdfError, Table, TableColumn};
use furrow_io::Existing;
use furrow_types::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Receives rows, with the columns in the order of its creation.
trait Sink {
    /// Receives a row.
    fn row(&mut self, values: &[&Value]) -> std::io::Result<()>;
    /// Ends the file.
    fn finish(&mut self) -> std::io::Result<()>;
}

/// How an export ends early.
struct Output<'a> {
    /// The failure for an error of writing.
    about: &'a dyn Fn(std::io::Error) -> Failure,
    /// Set by Ctrl-C. `None` for standard output, where Ctrl-C ends the program at once.
    stop: Option<&'a AtomicBool>,
}

/// The result of an export.
struct Done {
    rows: u64,
    /// Rows and pages that could not be read.
    damaged: u64,
    /// Whether there may be rows in files that were not given.
    absent: bool,
}

pub(super) fn run(options: &ExportArguments) -> Result<u8, Failure> {
    let files = open_files(&options.files)?;
    let pages = Pages::new(&files);
    let opened = Opened::new(&files, &pages)?;
    let table = opened.find(&options.table)?;
    let columns = shown_columns(&opened, &table);
    let done = match (&options.out, options.parquet) {
        (None, false) => {
            let mut sink =
                csv::Csv::new(std::io::stdout().lock(), &columns).map_err(Failure::of_printing)?;
            let output = Output {
                about: &Failure::of_printing,
                stop: None,
            };
            write_rows(&opened, &table, &columns, &mut sink, &output)?
        }
        (path, parquet) => {
            let usual = PathBuf::from(format!("{}.parquet", table.name.replace('/', "_")));
            let path = path.clone().unwrap_or(usual);
            let done = to_file(&opened, &table, &columns, &path, parquet)?;
            eprintln!(
                "{} rows of {}.{} in {}",
                done.rows,
                table.schema,
                table.name,
                path.display()
            );
            done
        }
    };
    if done.damaged > 0 {
        let what = format!(
            "{} damaged pages and rows are missing from what was written",
            done.damaged
        );
        return Err(Failure::new(FAILED, what));
    }
    if done.absent {
        let what = "rows that lie in files that were not given are missing from what was written";
        return Err(Failure::new(FAILED, what));
    }
    if opened.lost > 0 {
        let what = "the catalog is damaged: there may be columns and rows that it does not list";
        return Err(Failure::new(FAILED, what));
    }
    Ok(0)
}

fn to_file(
    opened: &Opened<'_>,
    table: &Table,
    columns: &[(usize, &TableColumn)],
    path: &Path,
    parquet: bool,
) -> Result<Done, Failure> {
    let about = |error: std::io::Error| {
        Failure::new(
            FAILED,
            format!("{} cannot be written: {error}", path.display()),
        )
    };
    // Before the file exists, so that Ctrl-C never leaves it behind.
    let stop = interrupt::flag("what was written is removed")?;
    // An incomplete file could be taken for a complete one: it gets its name at the end.
    let mut file = OutFile::create(path, Existing::Refuse).map_err(about)?;
    let output = Output {
        about: &about,
        stop: Some(&stop),
    };
    let done = if parquet {
        parquet_rows(opened, table, columns, &mut file, &output)?
    } else {
        let mut sink = csv::Csv::new(&mut file, columns).map_err(about)?;
        write_rows(opened, table, columns, &mut sink, &output)?
    };
    file.publish().map_err(about)?;
    Ok(done)
}

#[cfg(feature = "parquet")]
fn parquet_rows(
    opened: &Opened<'_>,
    table: &Table,
    columns: &[(usize, &TableColumn)],
    file: &mut OutFile,
    output: &Output<'_>,
) -> Result<Done, Failure> {
    let mut sink = parquet::Parquet::new(file, columns).map_err(output.about)?;
    let done = write_rows(opened, table, columns, &mut sink, output)?;
    for warning in sink.warnings() {
        eprintln!("furrow: {warning}");
    }
    Ok(done)
}

#[cfg(not(feature = "parquet"))]
fn parquet_rows(
    _opened: &Opened<'_>,
    _table: &Table,
    _columns: &[(usize, &TableColumn)],
    _file: &mut OutFile,
    _output: &Output<'_>,
) -> Result<Done, Failure> {
    Err(Failure::new(
        FAILED,
        "this furrow was built without Parquet; build it with the feature `parquet`, or write CSV",
    ))
}

fn write_rows(
    opened: &Opened<'_>,
    table: &Table,
    columns: &[(usize, &TableColumn)],
    sink: &mut dyn Sink,
    output: &Output<'_>,
) -> Result<Done, Failure> {
    let mut done = Done {
        rows: 0,
        damaged: 0,
        absent: false,
    };
    let rows = opened
        .database
        .rows(table)
        .map_err(|error| Failure::new(FAILED, error.to_string()))?;
    for row in rows {
        if output.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
            return Err(Failure::new(INTERRUPTED, "interrupted"));
        }
        match row {
            Ok(values) => {
                let values: Vec<&Value> = columns
                    .iter()
                    .map(|(at, _)| values.get(*at).unwrap_or(&Value::Null))
                    .collect();
                sink.row(&values).map_err(output.about)?;
                done.rows += 1;
            }
            Err(error) => {
                opened.report(&error);
                match error {
                    MdfError::MissingFile { .. } => done.absent = true,
                    _ => done.damaged += 1,
                }
            }
        }
    }
    sink.finish().map_err(output.about)?;
    Ok(done)
}

impl<W: Write> Sink for csv::Csv<W> {
    fn row(&mut self, values: &[&Value]) -> std::io::Result<()> {
        self.line(values)
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.end()
    }
}
