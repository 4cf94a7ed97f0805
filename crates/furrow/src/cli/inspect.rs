//! `furrow inspect`: version, files, tables and rows of a data file, read without a server.

use super::args::InspectArguments;
use super::{FAILED, Failure};
use furrow_format::mdf::{Database, MdfImage, PageSource, Table, summarize};
use furrow_io::{Access, Open, SystemVolume, Volume};
use std::io::Write;
use std::path::Path;

pub(super) fn run(options: &InspectArguments) -> Result<u8, Failure> {
    let image = open(options)?;
    let about = |e: furrow_format::mdf::MdfError| Failure::new(FAILED, e.to_string());
    let database = Database::open(&image).map_err(about)?;
    let mut out = std::io::stdout().lock();
    let shown = match &options.table {
        Some(name) => return show_rows(&database, name, options.rows, &mut out),
        None => overview(&database, &mut out),
    };
    shown.map_err(closed)?;
    if options.verify {
        verify(&image, &mut out)
    } else {
        Ok(0)
    }
}

/// Standard output that is closed early (`| head`) is no failure of ours, but there is no more to do.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn closed(error: std::io::Error) -> Failure {
    Failure::new(FAILED, format!("cannot print: {error}"))
}

fn open(options: &InspectArguments) -> Result<MdfImage, Failure> {
    let mut image: Option<MdfImage> = None;
    for path in &options.files {
        let bytes = read(path)?;
        let about = |e| Failure::new(FAILED, format!("{}: {e}", path.display()));
        match &mut image {
            None => image = Some(MdfImage::open(&bytes).map_err(about)?),
            Some(image) => {
                image.add_file(&bytes).map_err(about)?;
            }
        }
    }
    image.ok_or_else(|| Failure::new(super::USAGE, "name a data file"))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let about = |e: furrow_io::IoError| {
        Failure::new(
            FAILED,
            format!("{} cannot be read: {}", path.display(), e.kind),
        )
    };
    let file = SystemVolume::new()
        .open(path, Open::ReadOnly, Access::Data)
        .map_err(about)?;
    let len = usize::try_from(file.len_bytes().map_err(about)?)
        .map_err(|_| Failure::new(FAILED, format!("{} is too large", path.display())))?;
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes).map_err(about)?;
    Ok(bytes)
}

/// The release that made files of this version.
fn release(version: u16) -> &'static str {
    match version {
        611 | 612 => "SQL Server 2005",
        655..=663 => "SQL Server 2008 or 2008 R2",
        706 => "SQL Server 2012",
        782 => "SQL Server 2014",
        852 => "SQL Server 2016",
        868 | 869 => "SQL Server 2017",
        895..=904 => "SQL Server 2019",
        950..=957 => "SQL Server 2022",
        _ => "another release",
    }
}

fn overview(database: &Database<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let version = database.version();
    writeln!(
        out,
        "version {version} ({}), made by version {}",
        release(version),
        database.create_version()
    )?;
    writeln!(out, "\nfiles:")?;
    for file in database.files() {
        let kind = if file.filetype == 1 { "log" } else { "data" };
        let mib = i64::from(file.size) * 8 / 1024;
        writeln!(
            out,
            "  {:>3}  {kind:<4}  {mib:>8} MB  {}  {}",
            file.fileid, file.lname, file.pname
        )?;
    }
    let tables = database.tables();
    writeln!(out, "\n{} tables:", tables.len())?;
    for table in &tables {
        let kind = if table.is_heap { "heap" } else { "clustered" };
        let name = format!("{}.{}", table.schema, table.name);
        writeln!(
            out,
            "  {:>10} rows  {kind:<9}  {name} ({} columns)",
            table.row_count,
            table.columns.len()
        )?;
    }
    Ok(())
}

fn find(database: &Database<'_>, name: &str) -> Result<Table, Failure> {
    let (schema, table) = match name.split_once('.') {
        Some((schema, table)) => (Some(schema), table),
        None => (None, name),
    };
    database.table(schema, table).ok_or_else(|| {
        Failure::new(
            FAILED,
            format!("there is no table {name}; without --table all tables are listed"),
        )
    })
}

fn show_rows(
    database: &Database<'_>,
    name: &str,
    most: usize,
    out: &mut impl Write,
) -> Result<u8, Failure> {
    let table = find(database, name)?;
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    writeln!(out, "{}", names.join("\t")).map_err(closed)?;
    let rows = database
        .rows(&table)
        .map_err(|e| Failure::new(FAILED, e.to_string()))?;
    let mut code = 0;
    for row in rows.take(most) {
        match row {
            Ok(values) => {
                let words: Vec<String> = values
                    .iter()
                    .map(|value| value.to_string().replace(['\t', '\n', '\r'], " "))
                    .collect();
                writeln!(out, "{}", words.join("\t")).map_err(closed)?;
            }
            // The next row may be sound: whoever looks into a damaged file wants to see it.
            Err(e) => {
                eprintln!("furrow: {e}");
                code = FAILED;
            }
        }
    }
    Ok(code)
}

fn verify(image: &MdfImage, out: &mut impl Write) -> Result<u8, Failure> {
    let mut bad = 0;
    for file in image.files() {
        let found = summarize(image, file).map_err(|e| Failure::new(FAILED, e.to_string()))?;
        writeln!(
            out,
            "\nfile {}: {} pages, {} in use: {} proven by checksum, {} by torn bits, {} unprotected, \
             {} damaged",
            file.0,
            found.pages,
            found.allocated_pages,
            found.checksum_ok,
            found.torn_bits_ok,
            found.unprotected,
            found.bad_pages.len()
        )
        .map_err(closed)?;
        for (page, fault) in &found.bad_pages {
            writeln!(out, "  page {page}: {fault}").map_err(closed)?;
        }
        bad += found.bad_pages.len();
    }
    Ok(if bad == 0 { 0 } else { FAILED })
}
