//! `furrow inspect`: what is in a data file, read without a server and without changing a byte.

mod export;
mod fill;
mod overview;
mod page;
mod rows;

use super::args::{InspectArguments, InspectCommand};
use super::{FAILED, Failure, USAGE};
use furrow_check::{damage_message, missing_file_text, reader_error_text};
use furrow_datafile::{
    DataFiles, Database, MdfError, PageSource, Pages, SourceError, SourceFile, Support, Table,
    support,
};
use furrow_format::boot::{BOOT_PAGE, field};
use furrow_format::{FileId, Page, PageId, PageNo, PageType};
use furrow_io::SystemVolume;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) fn run(options: &InspectArguments) -> Result<u8, Failure> {
    match &options.command {
        Some(InspectCommand::Fill(fill)) => fill::run(fill),
        Some(InspectCommand::Page(page)) => page::run(page),
        Some(InspectCommand::Export(export)) => export::run(export),
        None => overview::run(options),
    }
}

/// Opens files, read-only.
fn open_files(paths: &[PathBuf]) -> Result<DataFiles, Failure> {
    DataFiles::open(&SystemVolume::new(), paths).map_err(|error| {
        let text = match &error {
            SourceError::Io(error) => {
                format!("{} cannot be read: {}", error.path.display(), error.kind)
            }
            _ => error.to_string(),
        };
        Failure::new(FAILED, text)
    })
}

/// A database whose catalog was read, as far as it could be.
struct Opened<'s> {
    database: Database<'s>,
    files: Vec<SourceFile>,
    database_id: u16,
    /// Number of unreadable items that every table depends on: pages and rows of the catalog, file headers.
    lost: usize,
    /// File headers whose damage was reported when the file was opened.
    reported_headers: BTreeSet<PageId>,
    /// Missing files that were reported already: each is reported once.
    reported_missing: RefCell<BTreeSet<FileId>>,
}

impl<'s> Opened<'s> {
    /// Reads the catalog, and reports damage in it on standard error.
    fn new(files: &DataFiles, pages: &'s Pages<'s>) -> Result<Opened<'s>, Failure> {
        let files = files.files();
        let database_id = admit(pages, &files)?;
        let (database, damage) = Database::open_damaged(pages).map_err(|error| {
            report_damaged_pages(pages, &files, database_id);
            Failure::new(FAILED, reader_error_text(&error, &files, database_id))
        })?;
        let mut opened = Opened {
            database,
            files,
            database_id,
            lost: damage.len(),
            reported_headers: BTreeSet::new(),
            reported_missing: RefCell::default(),
        };
        for error in &damage {
            opened.report(error);
        }
        opened.reported_headers = opened.report_headers(pages);
        opened.lost += opened.reported_headers.len();
        for row in opened.database.missing_files() {
            opened.report_missing(FileId(row.fileid as u16));
        }
        Ok(opened)
    }

    /// Reports the file headers that are damaged, and returns them.
    fn report_headers(&self, pages: &Pages<'_>) -> BTreeSet<PageId> {
        let page = |file: &SourceFile| PageId {
            file: file.id,
            page: PageNo(0),
        };
        let faults = self.files.iter().filter_map(|file| {
            let id = page(file);
            Some((id, pages.protection(id)?.err()?))
        });
        let reported = faults.map(|(id, fault)| {
            eprintln!(
                "{}",
                damage_message(id, &fault, &self.files, self.database_id)
            );
            id
        });
        reported.collect()
    }

    /// Prints a reader's error on standard error.
    fn report(&self, error: &MdfError) {
        match error {
            MdfError::MissingFile { file, .. } => self.report_missing(*file),
            _ => eprintln!(
                "{}",
                reader_error_text(error, &self.files, self.database_id)
            ),
        }
    }

    /// Reports, once for each file, that a file of the database was not given.
    fn report_missing(&self, file: FileId) {
        if !self.reported_missing.borrow_mut().insert(file) {
            return;
        }
        let mut rows = self.database.files().iter();
        let row = rows.find(|row| row.fileid == i32::from(file.0));
        let path = row.map(|row| row.pname.as_str());
        eprintln!("{}", missing_file_text(file, path));
    }

    fn find(&self, name: &str) -> Result<Table, Failure> {
        // A table name that contains a dot is found as a whole first.
        let (schema, table) = match name.split_once('.') {
            Some((schema, table)) => (Some(schema), table),
            None => (None, name),
        };
        let found = self.database.table(schema, table);
        found
            .or_else(|| self.database.table(None, name))
            .ok_or_else(|| {
                let text =
                    format!("there is no table {name}; without --table all tables are listed");
                Failure::new(FAILED, text)
            })
    }
}

/// Returns the database's number, or refuses a file that is no database with a hint at what it is.
fn admit(pages: &Pages<'_>, files: &[SourceFile]) -> Result<u16, Failure> {
    let Some(primary) = files.iter().find(|file| file.id == FileId(1)) else {
        let text = "the primary data file (.mdf) is not among the files given";
        return Err(Failure::new(USAGE, text));
    };
    let refuse = |why: &str| {
        let text = format!("{} is not a primary data file: {why}", primary.name);
        Err(Failure::new(FAILED, text))
    };
    let Some(boot) = pages.page(BOOT_PAGE) else {
        return refuse("it has no boot page");
    };
    if let Some(Err(fault)) = pages.protection(BOOT_PAGE) {
        let message = damage_message(BOOT_PAGE, &fault, files, 0);
        return Err(Failure::new(FAILED, message.to_string()));
    }
    if Page::new(&boot).page_type() != PageType::Boot {
        return refuse(&format!("page {BOOT_PAGE} is not a boot page"));
    }
    let version = field::VERSION.get_u16(&boot);
    if support(version) == Support::None {
        return refuse(&format!("database version {version} is not known"));
    }
    Ok(field::DATABASE_ID.get_u16(&boot))
}

/// The most damaged pages that are named where the catalog cannot be read.
const MOST_REPORTED: usize = 100;

/// Reports the damaged pages of all files, because one of them is why the catalog cannot be read.
fn report_damaged_pages(pages: &Pages<'_>, files: &[SourceFile], database_id: u16) {
    let all = files.iter().flat_map(|file| {
        (0..file.pages).map(|page| PageId {
            file: file.id,
            page: PageNo(page),
        })
    });
    let faults = all.filter_map(|id| Some((id, pages.protection(id)?.err()?)));
    for (id, fault) in faults.take(MOST_REPORTED) {
        eprintln!("{}", damage_message(id, &fault, files, database_id));
    }
}
