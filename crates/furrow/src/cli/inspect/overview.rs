//! The overview of a database: version, files, tables with rows and sizes, pages, damage.

use super::super::args::InspectArguments;
use super::super::{FAILED, Failure};
use super::{Opened, open_files, rows};
use furrow_check::damage_message;
use furrow_datafile::{Database, FileSummary};
use furrow_datafile::{Pages, Survey, TableUse};
use furrow_format::{FileId, PageId, PageType};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;

pub(super) fn run(options: &InspectArguments) -> Result<u8, Failure> {
    let files = open_files(&options.files)?;
    let pages = Pages::new(&files);
    let opened = Opened::new(&files, &pages)?;
    let mut out = std::io::stdout().lock();
    if let Some(name) = &options.table {
        return rows::show(&opened, name, options.rows, &mut out);
    }
    if options.quick {
        head(&opened.database, &mut out).map_err(Failure::of_printing)?;
        catalog_tables(&opened.database, &mut out).map_err(Failure::of_printing)?;
        return Ok(if opened.lost > 0 { FAILED } else { 0 });
    }
    let survey = Survey::of(&pages, &opened.database);
    if options.json {
        let file = options.files.first().map(|path| path.display().to_string());
        let text = as_json(&file.unwrap_or_default(), &opened.database, &survey);
        writeln!(out, "{text:#}").map_err(Failure::of_printing)?;
    } else {
        head(&opened.database, &mut out).map_err(Failure::of_printing)?;
        tables(&survey.tables, &mut out).map_err(Failure::of_printing)?;
        page_kinds(&survey.files, &mut out).map_err(Failure::of_printing)?;
    }
    let bad = opened.lost + opened.database.missing_files().len() + report_damage(&opened, &survey);
    Ok(if bad > 0 { FAILED } else { 0 })
}

/// The release of SQL Server that writes files of this version.
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

fn head(database: &Database<'_>, out: &mut impl Write) -> std::io::Result<()> {
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
    Ok(())
}

fn kind(is_heap: bool) -> &'static str {
    if is_heap { "heap" } else { "clustered" }
}

/// Tables with the catalog's counts, without reading the tables.
fn catalog_tables(database: &Database<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let tables = database.tables();
    writeln!(out, "\n{} tables, by the catalog's counters:", tables.len())?;
    for table in &tables {
        writeln!(
            out,
            "  {:>10} rows  {:<9}  {}.{} ({} columns)",
            table.row_count,
            kind(table.is_heap),
            table.schema,
            table.name,
            table.columns.len()
        )?;
    }
    Ok(())
}

fn tables(tables: &[TableUse], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "\n{} tables:", tables.len())?;
    if !tables.is_empty() {
        writeln!(
            out,
            "  {:>10}       {:>10}  {:>10}  {:>10}",
            "", "data", "indexes", "large"
        )?;
    }
    for entry in tables {
        let table = &entry.table;
        let kb = |pages: u64| format!("{} KB", pages * 8);
        writeln!(
            out,
            "  {:>10} rows  {:>10}  {:>10}  {:>10}  {:<9}  {}.{} ({} columns){}",
            entry.rows,
            kb(entry.data_pages),
            kb(entry.index_pages),
            kb(entry.large_pages),
            kind(table.is_heap),
            table.schema,
            table.name,
            table.columns.len(),
            remark(entry)
        )?;
    }
    Ok(())
}

/// An additional remark for the line of a table.
fn remark(entry: &TableUse) -> String {
    let compressed = entry.table.rowsets.iter().any(|r| r.cmprlevel != 0);
    if compressed {
        return ", compressed: rows by the catalog's counter".to_owned();
    }
    if i64::try_from(entry.rows).is_ok_and(|rows| rows == entry.table.row_count) {
        return String::new();
    }
    format!(", {} rows by the catalog's counter", entry.table.row_count)
}

fn page_kinds(files: &[(FileId, FileSummary)], out: &mut impl Write) -> std::io::Result<()> {
    for (file, found) in files {
        writeln!(
            out,
            "\nfile {file}: {} pages, {} in use: {} proven by checksum, {} by torn bits, {} unprotected, \
             {} damaged",
            found.pages,
            found.allocated_pages,
            found.checksum_ok,
            found.torn_bits_ok,
            found.unprotected,
            found.bad_pages.len() + found.unreadable_pages.len()
        )?;
        writeln!(
            out,
            "  {} extents, {} free",
            found.extents, found.free_extents
        )?;
        for (&byte, pages) in &found.allocated_by_type {
            writeln!(
                out,
                "  {pages:>8} pages of type {byte:>2}, {}",
                PageType::from_byte(byte)
            )?;
        }
    }
    Ok(())
}

/// Reports damage on standard error; returns the number of damaged pages.
fn report_damage(opened: &Opened<'_>, survey: &Survey) -> usize {
    let mut bad = 0;
    for (file, found) in &survey.files {
        if found.missing_pages > 0 {
            eprintln!(
                "file {file} is cut off: its header counts {} pages, it has {}; what was on the others is \
                 lost",
                u64::from(found.pages) + u64::from(found.missing_pages),
                found.pages
            );
            bad += 1;
        }
        let is_reported = |page: &PageId| opened.reported_headers.contains(page);
        for (page, fault) in found.bad_pages.iter().filter(|bad| !is_reported(&bad.0)) {
            let message = damage_message(*page, fault, &opened.files, opened.database_id);
            eprintln!("{message}");
        }
        for (page, reason) in &found.unreadable_pages {
            eprintln!("page {page} cannot be read: {reason}");
        }
        for map in &found.lost_maps {
            eprintln!(
                "page {map} is no allocation map: free extents of its part of the file are not counted"
            );
        }
        bad += found.bad_pages.len() + found.unreadable_pages.len() + found.lost_maps.len();
    }
    bad
}

/// The figures for tools: sums over several files, and `bad_pages` as `file:page`.
fn as_json(file: &str, database: &Database<'_>, survey: &Survey) -> serde_json::Value {
    let sum = |figure: fn(&FileSummary) -> u32| -> u64 {
        survey
            .files
            .iter()
            .map(|(_, found)| u64::from(figure(found)))
            .sum()
    };
    let mut types: BTreeMap<u8, u64> = BTreeMap::new();
    for (_, found) in &survey.files {
        for (&byte, &pages) in &found.allocated_by_type {
            *types.entry(byte).or_default() += u64::from(pages);
        }
    }
    // Page types as numbers are sorted by value, not as text.
    let types: serde_json::Map<String, serde_json::Value> = types
        .into_iter()
        .map(|(byte, pages)| (byte.to_string(), pages.into()))
        .collect();
    let several = survey.files.len() > 1;
    let number = |page: PageId| {
        if several {
            json!(page.to_string())
        } else {
            json!(page.page.0)
        }
    };
    let bad = survey.files.iter().flat_map(|(_, found)| {
        let failed = found.bad_pages.iter().map(|bad| bad.0);
        failed.chain(found.unreadable_pages.iter().map(|bad| bad.0))
    });
    json!({
        "file": file,
        "version": database.version(),
        "created_version": database.create_version(),
        "pages": sum(|found| found.pages),
        "extents": sum(|found| found.extents),
        "free_extents": sum(|found| found.free_extents),
        "allocated_pages": sum(|found| found.allocated_pages),
        "page_types": types,
        "bad_pages": bad.map(number).collect::<Vec<_>>(),
        "tables": survey.tables.iter().map(|entry| json!({
            "schema": entry.table.schema,
            "name": entry.table.name,
            "rows": entry.rows,
        })).collect::<Vec<_>>(),
    })
}
