//! What a repair in EMERGENCY has to know before it computes anything: that the files are those of the
//! database, and whether their log is good.
//!
//! # Invariants
//! 1. *A file of another database is recognised before it is changed*: by its header or the image of it; the
//!    primary file without a header by its boot page. Proof: `a_repair_leaves_files_of_other_databases`. Of a
//!    secondary file without a header nothing proves that, and of no file without one that it is not an older
//!    copy: the repair has a note about each.
//! 2. *A log is good or not by what it holds*, whatever other files keep the database from being opened:
//!    all records that recovery needs were read. Proof: `a_good_log_is_never_replaced`.
//! 3. *A log that ends before a page was written is no log of these files*: the boot page and the headers are
//!    compared with its end here; where one of them is lost, all pages in use are
//!    ([`super::mend_foundation`]). Proof: `an_old_log_is_not_taken_for_good_where_all_headers_are_lost`.

use super::open::log_error;
use super::rebuild::{log_row, prove_current, prove_reaches, with_its_blanks};
use crate::files::{Candidate, default_log_path, open_error, read_boot};
use crate::shared::{Moved, Shared};
use furrow_check::Identity;
use furrow_format::{FileId, Lsn};
use furrow_io::{Access, File, Open};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_recovery::{LogSpan, look};
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data file of a closed database, as the catalog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFile {
    pub(crate) id: FileId,
    pub(crate) path: PathBuf,
    pub(crate) guid: Guid,
}

/// The log of a closed database.
#[derive(Debug)]
pub(crate) struct LogLook {
    pub(crate) path: PathBuf,
    /// How far it reaches; or why recovery cannot read it.
    pub(crate) span: Result<LogSpan, EngineError>,
}

/// 5173 for a file that belongs to another database.
pub(crate) fn prove_own(
    shared: &Shared,
    files: &[OwnFile],
    identity: &Identity,
) -> Result<(), EngineError> {
    for own in files {
        let foreign = |error: EngineError| {
            let text = format!(
                "'{}' is no file of database '{}': it is not changed. Put the file of the database there.",
                own.path.display(),
                identity.name.as_deref().unwrap_or_default()
            );
            error.followed_by(Message::custom(40517, 16, 1, &text))
        };
        let file = Candidate::open(&*shared.volume, &own.path, own.id)?;
        let is_primary = own.id == FileId(1);
        let header = file
            .look_at_header()
            .map_err(|error| match error.has(5173) {
                true => foreign(error),
                false => error,
            })?;
        let is_foreign = match header {
            Some(header) => {
                let other = identity.binding.is_some_and(|ours| ours != header.binding);
                let known = !is_primary && own.guid != Guid::default();
                other || known && header.file_guid != own.guid
            }
            None => is_primary && has_foreign_boot(&file, identity),
        };
        if is_foreign {
            return Err(foreign(EngineError::refused(5173, &[])));
        }
    }
    Ok(())
}

/// Whether the boot page of a primary file without a header is that of another database. One that was
/// restored is of another family than its files; then name and number have to be right.
fn has_foreign_boot(file: &Candidate, identity: &Identity) -> bool {
    let Ok((boot, _)) = read_boot(file, file.path()) else {
        return false;
    };
    let same_name = identity.name.as_ref().is_none_or(|name| *name == boot.name);
    let same_id = identity.database_id.is_none_or(|id| id == boot.database_id);
    identity.binding != Some(boot.family) && !(same_name && same_id)
}

/// Looks whether the log of a closed database is there, and has all that recovery needs. The log is `at` this
/// path, or where the catalog says.
pub(crate) fn look_at_log(
    shared: &Shared,
    files: &[OwnFile],
    (identity, at): (&Identity, Option<&Path>),
) -> Result<LogLook, EngineError> {
    let name = identity.name.as_deref().unwrap_or_default();
    let opened = files.iter().map(|own| {
        let file = Candidate::open(&*shared.volume, &own.path, own.id)?;
        Ok((own.id, file))
    });
    let mut opened = opened.collect::<Result<Vec<_>, EngineError>>()?;
    let binding = match identity.binding {
        Some(binding) => Some(binding),
        None => first_binding(&opened)?,
    };
    let (Some((_, primary)), Some(binding)) = (opened.first(), binding) else {
        return Err(EngineError::Damaged("no header can be read".into()));
    };
    let path = match at {
        Some(path) => path.to_path_buf(),
        None => log_path(shared, name, primary)?,
    };
    let span = reach(shared, (name, &path), (&mut opened, binding));
    Ok(LogLook { path, span })
}

/// Where the log of a closed database is.
fn log_path(shared: &Shared, name: &str, primary: &Candidate) -> Result<PathBuf, EngineError> {
    let home = primary.path().parent().unwrap_or(Path::new(""));
    let path = match log_row(shared, name, primary)? {
        Some(recorded) => {
            let moved = Moved {
                home: home.to_path_buf(),
                ..Moved::default()
            };
            moved.find(shared, (2, &recorded))?
        }
        None => default_log_path(primary.path()),
    };
    Ok(with_its_blanks(&*shared.volume, path))
}

fn first_binding(opened: &[(FileId, Candidate)]) -> Result<Option<Guid>, EngineError> {
    for (_, file) in opened {
        if let Some(header) = file.look_at_header()? {
            return Ok(Some(header.binding));
        }
    }
    Ok(None)
}

/// How far a log reaches, or why it is not the one that these files need.
fn reach(
    shared: &Shared,
    (name, path): (&str, &Path),
    (files, binding): (&mut [(FileId, Candidate)], Guid),
) -> Result<LogSpan, EngineError> {
    let log = shared.volume.open(path, Open::Existing, Access::Log);
    let log: Arc<dyn File> = log.map_err(|e| open_error(path, &e))?;
    let warn = |text: &str| shared.error_log.write(Source::Server, text);
    let span = look(&log, binding.0).map_err(|e| log_error(path, e, name, &warn))?;
    for (id, file) in files {
        file.believe_up_to(span.end);
        let is_primary = *id == FileId(1);
        let boot = is_primary.then(|| read_boot(file, file.path()));
        let boot_lsn = boot.map_or(Lsn::ZERO, |boot| boot.map_or(Lsn::ZERO, |(_, lsn)| lsn));
        prove_reaches(path, span.end, boot_lsn)?;
        let Some(header) = file.look_at_header()? else {
            continue;
        };
        if is_primary {
            prove_current(path, &span, (name, &header, boot_lsn))?;
        } else if span.lies_behind(&header) || span.ends_before(&header) {
            return Err(EngineError::refused(5173, &[]));
        }
    }
    Ok(span)
}
