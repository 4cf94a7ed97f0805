//! Finishing a repair that a crash interrupted.

use super::journal_file::{Found, Journal, damaged, of_journal, read};
use crate::files::repair_path;
use crate::shared::{Moved, Shared};
use furrow_io::{Access, Open};
use furrow_observe::errorlog::Source;
use furrow_tables::{EngineError, refuse};
use std::path::{Path, PathBuf};

/// What there was of an interrupted repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// Nothing, or nothing any more.
    Nothing,
    /// A repair whose log is still to be made; then this journal is to be removed.
    NewLog(PathBuf),
}

/// Finishes a repair that a crash interrupted, or removes what there is of its journal. Where a new log is to
/// be made, the journal stays until it is.
pub(crate) fn finish_repair(
    shared: &Shared,
    primary: &Path,
    moved: &Moved,
) -> Result<Leftover, EngineError> {
    let volume = &*shared.volume;
    let path = repair_path(primary);
    if !volume.exists(&path)? {
        return Ok(Leftover::Nothing);
    }
    let (finished, new_log) = {
        let file = volume.open(&path, Open::ReadOnly, Access::Data);
        let file = file.map_err(|error| of_journal(&path, error))?;
        let is_of = |journal: &Option<Journal<'_>>| match journal {
            Some(journal) => journal.is_of_file(volume, primary),
            None => Ok(true),
        };
        match read(&file)? {
            Found::Whole(journal) => (journal.finish(shared, primary, moved)?, journal.new_log),
            Found::Unfinished => (false, false),
            Found::Other(journal) if is_of(&journal)? => {
                let text = format!(
                    "'{}' is the journal of a repair by another version of Furrow: let that version open \
                     the database once.",
                    path.display()
                );
                return Err(refuse(40517, 16, 1, &text));
            }
            Found::Damaged(journal) if is_of(&journal)? => return Err(damaged(&path)),
            // Files that were copied in, or used since.
            Found::Other(_) | Found::Damaged(_) => (false, false),
        }
    };
    let text = match finished {
        true => format!("The repair of '{}' was finished.", primary.display()),
        false => format!(
            "The journal '{}' of a repair was removed: it is not whole, or not of the files beside it.",
            path.display()
        ),
    };
    shared.error_log.write(Source::Server, &text);
    if finished && new_log {
        return Ok(Leftover::NewLog(path));
    }
    volume.remove(&path)?;
    Ok(Leftover::Nothing)
}
