//! Finishing a repair that a crash interrupted.

use super::journal::{Journal, KIND, MAGIC};
use crate::files::repair_path;
use crate::shared::{Moved, Shared};
use furrow_io::{Access, AlignedBuf, Open};
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
    let journal = {
        let file = volume.open(&path, Open::ReadOnly, Access::Data)?;
        let mut bytes = AlignedBuf::new(usize::try_from(file.len_bytes()?).unwrap_or(0));
        file.read_at(0, &mut bytes)?;
        if bytes.starts_with(KIND) && !bytes.starts_with(MAGIC) {
            let text = format!(
                "'{}' is the journal of a repair by another version of Furrow: let that version open the \
                 database once.",
                path.display()
            );
            return Err(refuse(40517, 16, 1, &text));
        }
        Journal::decode(&bytes)
    };
    let (finished, new_log) = match journal {
        Some(journal) => (journal.finish(shared, primary, moved)?, journal.new_log),
        None => (false, false),
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
