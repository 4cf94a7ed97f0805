//! Damage that a reader meets, in SQL Server's words.

use furrow_datafile::MdfError;
use furrow_datafile::SourceFile;
use furrow_format::{FileId, PAGE_SIZE, PageFault, PageId};
use furrow_messages::{Arg, Message};

/// The message of what is wrong with a page: 824 with the file and the place in it.
pub fn damage_message(
    page: PageId,
    fault: &PageFault,
    files: &[SourceFile],
    database_id: u16,
) -> Message {
    let file = files.iter().find(|file| file.id == page.file);
    let args = [
        Arg::from(fault.to_string()),
        Arg::from("read"),
        Arg::page(page.file.0, page.page.0),
        Arg::from(i64::from(database_id)),
        Arg::from(u64::from(page.page.0) * PAGE_SIZE as u64),
        Arg::from(file.map_or("", |file| file.name.as_str())),
    ];
    Message::new(824, &args)
}

/// What is said of a data file that was not given: which one, by its place in the catalog, and what to do.
/// `recorded` is its path there, where that could be read.
pub fn missing_file_text(file: FileId, recorded: Option<&str>) -> String {
    let name = recorded.map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let name = name.map_or_else(String::new, |name| format!(" ({name})"));
    format!(
        "file {file}{name} was not given: name every data file of the database, the primary file first"
    )
}

/// The text of a reader's error: message 824 for a page that failed verification, else its own text.
pub fn reader_error_text(error: &MdfError, files: &[SourceFile], database_id: u16) -> String {
    match error {
        MdfError::DamagedPage { page, fault } => {
            damage_message(*page, fault, files, database_id).to_string()
        }
        MdfError::MissingFile { file, .. } => missing_file_text(*file, None),
        _ => error.to_string(),
    }
}
