//! When a repair in EMERGENCY gives a log up, and the copy of it that is kept.

use super::Instance;
use crate::checking::Paths;
use crate::files::repair_path;
use furrow_format::FileId;
use furrow_io::{IoError, IoErrorKind, Volume, copy_file};
use furrow_log::LogError;
use furrow_recovery::RecoveryError;
use furrow_tables::EngineError;
use std::path::{Path, PathBuf};

/// The device could not read or write.
const EIO: i32 = 5;

impl Instance {
    /// Keeps a copy of a log that is about to be replaced, whatever is wrong with it; `None` where there
    /// is no log.
    pub(super) fn keep_log(&self, log: &Path) -> Result<Option<PathBuf>, EngineError> {
        let volume = &*self.shared.volume;
        if log.as_os_str().is_empty() || !volume.exists(log)? {
            return Ok(None);
        }
        let kept = free_path(volume, log)?;
        let copied = copy_file(volume, log, &kept, &furrow_observe::task::is_cancelled);
        let copied = copied.map_err(EngineError::from);
        let whole = copied.and_then(|()| EngineError::check_cancelled());
        if let Err(error) = whole {
            if volume.exists(&kept)? {
                volume.remove(&kept)?;
            }
            if !is_of_medium(&error) {
                return Err(error);
            }
            self.log_line(&format!(
                "The log '{}' cannot be kept: {error}.",
                log.display()
            ));
            return Ok(None);
        }
        self.log_line(&format!(
            "The log '{}' is kept as '{}': it is to be replaced.",
            log.display(),
            kept.display()
        ));
        Ok(Some(kept))
    }

    /// Removes the copy of a log that was not replaced. Where a journal is left, it may be yet.
    pub(super) fn forget_copy(&self, kept: &Path, paths: &Paths) {
        let volume = &*self.shared.volume;
        let journal = paths.get(&FileId(1)).map(|path| repair_path(path));
        if let Some(Ok(false)) = journal.map(|path| volume.exists(&path)) {
            let removed = volume.remove(kept);
            if let Err(error) = removed {
                self.log_line(&format!("'{}' cannot be removed: {error}.", kept.display()));
            }
        }
    }
}

/// `LOG.lost`, or `LOG.lost2` and so on: an earlier log that was kept is not overwritten.
fn free_path(volume: &dyn Volume, log: &Path) -> Result<PathBuf, EngineError> {
    let mut number = 1_u32;
    loop {
        let mut path = log.as_os_str().to_owned();
        path.push(".lost");
        if number > 1 {
            path.push(number.to_string());
        }
        let path = PathBuf::from(path);
        if !volume.exists(&path)? {
            return Ok(path);
        }
        number += 1;
    }
}

/// Whether the device could not read what it has.
fn is_of_medium(error: &EngineError) -> bool {
    matches!(error, EngineError::Io(io) if matches!(&io.kind, IoErrorKind::Os(EIO, _)))
}

/// Whether a database that cannot be opened for this reason may be opened with another log. Not where
/// files are of another time (5173, 9003): with a new log nothing would show that. Not where the system
/// lacks something at this moment: memory, space, descriptors, a file that another program uses, another
/// version (40517).
pub(super) fn would_a_new_log_help(error: &EngineError, volume: &dyn Volume, log: &Path) -> bool {
    let is_for_now = |error: &IoError| {
        let lost = error.kind == IoErrorKind::NotFound && *error.path == *log;
        let medium = matches!(&error.kind, IoErrorKind::Os(EIO, _));
        !(lost || medium || error.kind == IoErrorKind::PastEnd)
    };
    match error {
        EngineError::Refused(_) if error.has(5108) => true,
        EngineError::Refused(_) if error.has(5120) => !volume.exists(log).unwrap_or(true),
        EngineError::Refused(messages) => {
            let never = [5173, 9003, 9002, 1101, 1105, 701, 3906, 40514, 40517];
            messages
                .iter()
                .all(|message| !never.contains(&message.number))
        }
        EngineError::Thread(_) => false,
        EngineError::Io(io) | EngineError::Log(LogError::Io(io)) => !is_for_now(io),
        EngineError::Recovery(RecoveryError::Log(LogError::Io(io))) => !is_for_now(io),
        error => !error.is_cancelled(),
    }
}
