//! FILE, FILEGROUP and PAGE of BACKUP and RESTORE.

use super::{abnormally, text};
use furrow_backup::Parts;
use furrow_backup::media::SetInfo;
use furrow_context::error::{Result, unsupported};
use furrow_context::run::Run;
use furrow_engine::{MOST_RESTORED_PAGES, page_of_text};
use furrow_format::PageId;
use furrow_messages::Message;
use furrow_tsql::ast::database::{BackupPart, NameOrText};
use std::collections::BTreeMap;

/// A name, or the text of a constant or variable.
fn name(run: &mut Run<'_>, written: &NameOrText) -> Result<String> {
    match written {
        NameOrText::Name(name) => Ok(name.value.to_string()),
        NameOrText::Text(expr) => text(run, expr),
    }
}

/// The files, filegroups and pages that a statement names. 3217 for an invalid or too long list of pages.
pub(super) fn named(
    run: &mut Run<'_>,
    written: &[BackupPart],
    statement: &str,
) -> Result<(Parts, Vec<PageId>)> {
    let (mut parts, mut pages) = (Parts::default(), Vec::new());
    for part in written {
        match part {
            BackupPart::File(file) => parts.files.push(name(run, file)?),
            BackupPart::Filegroup(group) => parts.filegroups.push(name(run, group)?),
            BackupPart::ReadWriteFilegroups => {
                return Err(unsupported(&format!("{statement} READ_WRITE_FILEGROUPS")));
            }
            BackupPart::Pages(list) => {
                for page in text(run, list)?.split(',') {
                    match page_of_text(page) {
                        Some(page) => pages.push(page),
                        None => return invalid(statement),
                    }
                }
            }
        }
    }
    let mut of_file: BTreeMap<u16, usize> = BTreeMap::new();
    for page in &pages {
        *of_file.entry(page.file.0).or_default() += 1;
    }
    match of_file.values().any(|count| *count > MOST_RESTORED_PAGES) {
        true => invalid(statement),
        false => Ok((parts, pages)),
    }
}

fn invalid<T>(statement: &str) -> Result<T> {
    let messages = vec![Message::new(3217, &["PAGE".into()])];
    Err(abnormally(messages, &format!("{statement} DATABASE")))
}

/// The names of the data files that are in a set, or were restored from it.
pub(super) fn names(info: &SetInfo) -> String {
    let present = info.files.iter().filter(|f| f.filegroup != 0 && f.present);
    let names: Vec<&str> = present.map(|f| f.name.as_str()).collect();
    names.join(",")
}
