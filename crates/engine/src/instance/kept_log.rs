//! When a repair in EMERGENCY gives a log up, and the copy of it that is kept.

use super::Instance;
use crate::checking::Paths;
use crate::files::repair_path;
use crate::opening::{self, LogLook};
use furrow_format::FileId;
use furrow_io::{IoError, IoErrorKind, Volume};
use furrow_log::LogError;
use furrow_recovery::RecoveryError;
use furrow_tables::EngineError;
use std::path::{Path, PathBuf};

/// A log that is given up, and why.
#[derive(Debug)]
pub(super) struct LostLog {
    pub(super) path: PathBuf,
    pub(super) why: EngineError,
}

/// Looks at the log, or at the file at this path as the log.
type LookAt<'l> = dyn Fn(Option<&Path>) -> Result<LogLook, EngineError> + 'l;

impl Instance {
    /// Keeps a copy of a log that is about to be replaced, whatever is wrong with it; `None` where there is
    /// no log. If it or its copy turns out to be good, or to be readable, the reason why it was given up is
    /// returned: that was of a moment. `look` looks once more at the log, or at another file as the log.
    pub(super) fn keep_log(
        &self,
        lost: LostLog,
        paths: &Paths,
        look: &LookAt<'_>,
    ) -> Result<Option<PathBuf>, EngineError> {
        let LostLog { path, why } = lost;
        let volume = &*self.shared.volume;
        if path.as_os_str().is_empty() || !volume.exists(&path)? {
            return Ok(None);
        }
        let kept = opening::keep_log(&self.shared, &path, opening::is_unreadable(&why, &path))?;
        for (at, path) in [(None, &path), (Some(&*kept.path), &kept.path)] {
            let refused = match look(at).map(|log| log.span) {
                Ok(Ok(_)) => why,
                // The files that belong to it could not be read, or the reason is another one by now.
                Err(error) => error,
                Ok(Err(again)) if !would_a_new_log_help(&again, volume, path) => again,
                Ok(Err(again)) if kept.is_read && opening::is_unreadable(&again, path) => again,
                Ok(Err(_)) => continue,
            };
            self.forget_copy(&kept.path, paths);
            return Err(refused);
        }
        Ok(Some(kept.path))
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

/// Whether a database that cannot be opened for this reason may be opened with another log. Not where
/// files are of another time (5173, 9003): with a new log nothing would show that. Not where the system
/// lacks something at this moment: memory, space, descriptors, a file that another program uses, another
/// version (40517).
pub(super) fn would_a_new_log_help(error: &EngineError, volume: &dyn Volume, log: &Path) -> bool {
    let is_for_now = |error: &IoError| {
        let lost = error.kind == IoErrorKind::NotFound && *error.path == *log;
        !(lost || error.kind.is_medium() || error.kind == IoErrorKind::PastEnd)
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
