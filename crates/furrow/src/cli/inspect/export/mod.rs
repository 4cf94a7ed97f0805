//! `furrow inspect export`: writes the rows of a table to a file that other tools read.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use super::super::args::ExportArguments;
use super::super::{FAILED, Failure};
use super::{Opened, open_files, rows::shown_columns};
use crate::cli::out::OutFile;
use furrow_datafile::Pages;
use furrow_datafile::{MdfError, Table, TableColumn};
use furrow_types::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Receives rows, with the columns in the order of its creation.
trait Sink {
    /// Receives a row.
    fn row(&mut self, values: &[&Value]) -> std::io::Result<()>;
    /// Ends the file.
    fn finish(&mut self) -> std::io::Result<()>;
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
            write_rows(&opened, &table, &columns, &mut sink, &Failure::of_printing)?
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
    let file = OutFile::create(path).map_err(about)?;
    let kept = file.keeper();
    let done = if parquet {
        parquet_rows(opened, table, columns, file, &about)
    } else {
        csv::Csv::new(file, columns)
            .map_err(about)
            .and_then(|mut sink| write_rows(opened, table, columns, &mut sink, &about))
    };
    // An incomplete file could be taken for a complete one.
    done.inspect_err(|_| kept.remove())
}

#[cfg(feature = "parquet")]
fn parquet_rows(
    opened: &Opened<'_>,
    table: &Table,
    columns: &[(usize, &TableColumn)],
    file: OutFile,
    about: &dyn Fn(std::io::Error) -> Failure,
) -> Result<Done, Failure> {
    let mut sink = parquet::Parquet::new(file, columns).map_err(about)?;
    let done = write_rows(opened, table, columns, &mut sink, about)?;
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
    _file: OutFile,
    _about: &dyn Fn(std::io::Error) -> Failure,
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
    about: &dyn Fn(std::io::Error) -> Failure,
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
        match row {
            Ok(values) => {
                let values: Vec<&Value> = columns
                    .iter()
                    .map(|(at, _)| values.get(*at).unwrap_or(&Value::Null))
                    .collect();
                sink.row(&values).map_err(about)?;
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
    sink.finish().map_err(about)?;
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
