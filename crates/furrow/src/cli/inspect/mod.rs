//! `furrow inspect`: what is in a data file, read without a server and without changing a byte.

mod export;
mod fill;
mod overview;
mod page;
mod rows;

use super::args::{InspectArguments, InspectCommand};
use super::{FAILED, Failure, USAGE};
use furrow_check::{DataFiles, Pages, SourceError, SourceFile, reader_error_text};
use furrow_format::boot::{BOOT_PAGE, field};
use furrow_format::mdf::{Database, MdfError, PageSource, Table};
use furrow_format::{FileId, Page, PageType};
use furrow_io::SystemVolume;
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
    /// Pages and rows of the catalog that could not be read: of what they told, nobody knows.
    lost: usize,
}

impl<'s> Opened<'s> {
    /// Reads the catalog; what of it is damaged is told on standard error.
    fn new(files: &DataFiles, pages: &'s Pages<'s>) -> Result<Opened<'s>, Failure> {
        let files = furrow_check::PageSource::files(files);
        let database_id = admit(pages, &files)?;
        let (database, damage) = Database::open_damaged(pages).map_err(|error| {
            Failure::new(FAILED, reader_error_text(&error, &files, database_id))
        })?;
        let opened = Opened {
            database,
            files,
            database_id,
            lost: damage.len(),
        };
        for error in &damage {
            opened.tell(error);
        }
        Ok(opened)
    }

    /// A reader's error, on standard error.
    fn tell(&self, error: &MdfError) {
        eprintln!(
            "{}",
            reader_error_text(error, &self.files, self.database_id)
        );
    }

    fn find(&self, name: &str) -> Result<Table, Failure> {
        // A name with a dot of its own is found as it is.
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

/// Refuses what is no database, with a word on what it is; the number of the database otherwise.
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
        let message = furrow_check::damage_message(BOOT_PAGE, &fault, files, 0);
        return Err(Failure::new(FAILED, message.to_string()));
    }
    if Page::new(&boot).page_type() != PageType::Boot {
        return refuse("page 9 is no boot page");
    }
    let version = field::VERSION.get_u16(&boot);
    if !(515..=1100).contains(&version) {
        return refuse(&format!("database version {version} is not known"));
    }
    Ok(field::DATABASE_ID.get_u16(&boot))
}
