//! `furrow inspect page`: the bytes of one page: header, slots, records by the columns of the table that owns
//! it, allocation maps as ranges.

mod content;
mod print;

use super::super::args::PageArguments;
use super::super::{DONE, FAILED, Failure, USAGE};
use super::open_files;
use content::{Content, content};
use furrow_check::{damage_message, reader_error_text};
use furrow_datafile::{Database, Owner, PageSource, Pages, SourceFile, is_allocated};
use furrow_format::catalog::unit_kind;
use furrow_format::{FileId, Page, PageId, PageNo, Protection};
use std::io::Write;

/// The contents of a page for printing.
struct Dump {
    file: String,
    id: PageId,
    /// Its protection, or what is wrong with it.
    protection: Result<Protection, String>,
    header: Vec<(&'static str, Figure)>,
    owner: Option<Owner>,
    /// Whether it is in use, by the PFS.
    in_use: bool,
    content: Content,
}

/// A figure of the header.
enum Figure {
    Number(u64),
    Text(String),
}

pub(super) fn run(options: &PageArguments) -> Result<u8, Failure> {
    let mut paths = vec![options.file.clone()];
    paths.extend(options.others.iter().cloned());
    let first = open_files(std::slice::from_ref(&options.file))?;
    let first = first.files();
    let id = page_id(
        &options.page,
        first.first().map_or(FileId(1), |file| file.id),
    )?;
    let files = open_files(&paths)?;
    let known = files.files();
    let pages = Pages::new(&files);
    let Some(bytes) = pages.page(id) else {
        let why = pages.problem(id).unwrap_or_else(|| {
            let size = pages.size_pages(id.file);
            format!("file {} has {size} pages", id.file)
        });
        return Err(Failure::new(
            FAILED,
            format!("there is no page {id}: {why}"),
        ));
    };
    // The content of an unused page is left over, and may be anything.
    let allocated = is_allocated(&pages, id);
    let in_use = allocated != Ok(false);
    let dump = dump_of(&pages, &known, Page::new(&bytes), (id, in_use));
    let mut out = std::io::stdout().lock();
    let printed = if options.json {
        writeln!(out, "{:#}", print::as_json(&dump))
    } else {
        print::print(&dump, &mut out)
    };
    printed.map_err(Failure::of_printing)?;
    let fault = pages.protection(id).and_then(Result::err);
    let mut code = DONE;
    if let Some(fault) = fault.as_ref().filter(|_| in_use) {
        eprintln!("{}", damage_message(id, fault, &known, 0));
        code = FAILED;
    }
    // Whether the page is in use is unknown, because its PFS page, which is another page, is damaged.
    if let Some(error) = allocated
        .err()
        .filter(|e| e.page() != Some(id) || fault.is_none())
    {
        eprintln!("{}", reader_error_text(&error, &known, 0));
        code = FAILED;
    }
    Ok(code)
}

/// Decodes a page; without the catalog if that cannot be read.
fn dump_of(
    pages: &Pages<'_>,
    known: &[SourceFile],
    page: Page<'_>,
    (id, in_use): (PageId, bool),
) -> Dump {
    let database = Database::open_damaged(pages).ok().map(|opened| opened.0);
    let owner = database.as_ref().and_then(|database| {
        let unit = database.unit(page.unit())?;
        database.owner(unit)
    });
    Dump {
        file: name_of(known, id),
        id,
        protection: match pages.protection(id) {
            Some(protection) => protection.map_err(|fault| fault.to_string()),
            None => Ok(Protection::None),
        },
        header: header(page),
        in_use,
        content: content(
            page,
            id,
            pages.size_pages(id.file),
            owner.as_ref(),
            database.as_ref(),
        ),
        owner,
    }
}

fn name_of(files: &[SourceFile], id: PageId) -> String {
    let file = files.iter().find(|file| file.id == id.file);
    file.map_or_else(String::new, |file| file.name.clone())
}

/// Parses `153`, a page of the first file, or `3:153`.
fn page_id(text: &str, first: FileId) -> Result<PageId, Failure> {
    let wrong = || {
        let text = format!("'{text}' is no page; write a number, or file and number as 3:153");
        Failure::new(USAGE, text)
    };
    let inner = text.trim_start_matches('(').trim_end_matches(')');
    let (file, page) = match inner.split_once(':') {
        Some((file, page)) => (file.parse().map(FileId).map_err(|_| wrong())?, page),
        None => (first, inner),
    };
    let page = page.parse().map(PageNo).map_err(|_| wrong())?;
    Ok(PageId { file, page })
}

fn header(page: Page<'_>) -> Vec<(&'static str, Figure)> {
    let number = |n: u64| Figure::Number(n);
    vec![
        ("page", Figure::Text(page.page_id().to_string())),
        ("header_version", number(page.header_version().into())),
        ("type", number(page.page_type().to_byte().into())),
        ("type_name", Figure::Text(page.page_type().to_string())),
        ("type_flags", number(page.type_flags().into())),
        ("level", number(page.level().into())),
        ("flags", Figure::Text(format!("{:#06x}", page.flags().0))),
        ("object_part", number(page.object_part().into())),
        ("index_part", number(page.index_part().into())),
        ("unit", Figure::Text(format!("{:#x}", page.unit().0))),
        ("previous", Figure::Text(page.prev().to_string())),
        ("next", Figure::Text(page.next().to_string())),
        ("pminlen", number(page.pminlen().into())),
        ("slots", number(page.slot_count().into())),
        ("free_bytes", number(page.free_count().into())),
        ("free_data", number(page.free_data().into())),
        ("reserved_bytes", number(page.reserved_count().into())),
        ("ghosts", number(page.ghost_count().into())),
        ("lsn", Figure::Text(page.lsn().to_string())),
        (
            "torn_bits",
            Figure::Text(format!("{:#010x}", page.torn_bits())),
        ),
    ]
}

/// The content of a unit as one word.
fn unit_word(kind: u8) -> &'static str {
    match kind {
        unit_kind::IN_ROW => "rows",
        unit_kind::LOB => "large values",
        unit_kind::ROW_OVERFLOW => "columns that left their rows",
        _ => "something else",
    }
}

/// Schema and name of the owner's table.
fn table_of(owner: &Owner) -> Option<String> {
    let name = owner.object.as_deref()?;
    Some(match &owner.schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_owned(),
    })
}
