//! Copies of logs that are given up: `LOGFILE.lost`, or `LOGFILE.lost2` and so on.
//!
//! # Invariants
//! 1. *No log is removed without a copy of it.* What the device cannot read of it is zeros in the copy.
//!    Proof: `a_log_that_comes_back_before_its_successor_is_made_is_kept`.
//! 2. *A copy is never overwritten.*

use crate::shared::Shared;
use furrow_format::{Lsn, NEW_LOG_APART};
use furrow_io::{
    Access, AlignedBuf, File, IoErrorKind, IoOp, Open, Volume, copy_around, copy_file, read_around,
};
use furrow_log::{LogError, LogScan};
use furrow_observe::errorlog::Source;
use furrow_recovery::RecoveryError;
use furrow_tables::EngineError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is compared at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The copy of a log.
#[derive(Debug)]
pub(crate) struct KeptLog {
    pub(crate) path: PathBuf,
    /// Whether all bytes of the log were read.
    pub(crate) is_read: bool,
}

/// Keeps a copy of a log that is about to be replaced. One that `is_doubted` is read byte by byte, which says
/// whether the device can read it.
pub(crate) fn keep_log(
    shared: &Shared,
    log: &Path,
    is_doubted: bool,
) -> Result<KeptLog, EngineError> {
    let volume = &*shared.volume;
    let path = free_path(volume, log)?;
    let copied = copy(volume, (log, &path), is_doubted);
    let copied = copied.and_then(|missing| EngineError::check_cancelled().map(|()| missing));
    let missing_bytes = match copied {
        Ok(missing_bytes) => missing_bytes,
        Err(error) => {
            if has_made(&error, (log, &path)) && volume.exists(&path)? {
                volume.remove(&path)?;
            }
            return Err(error);
        }
    };
    let mut text = format!(
        "The log '{}' is kept as '{}': it is to be replaced.",
        log.display(),
        path.display()
    );
    if missing_bytes > 0 {
        text.push_str(&format!(
            " {missing_bytes} bytes that the device cannot read are zeros there."
        ));
    }
    shared.error_log.write(Source::Server, &text);
    Ok(KeptLog {
        path,
        is_read: missing_bytes == 0,
    })
}

/// Copies a log, and returns how many bytes of it could not be read.
fn copy(
    volume: &dyn Volume,
    (log, to): (&Path, &Path),
    is_doubted: bool,
) -> Result<u64, EngineError> {
    let is_cancelled = &furrow_observe::task::is_cancelled;
    if !is_doubted {
        match copy_file(volume, log, to, is_cancelled).map_err(EngineError::from) {
            Err(error) if is_unreadable(&error, log) => {
                if has_made(&error, (log, to)) && volume.exists(to)? {
                    volume.remove(to)?;
                }
            }
            copied => return copied.map(|()| 0),
        }
    }
    Ok(copy_around(volume, log, to, is_cancelled)?)
}

/// Whether a copy that failed may have created its file: not if there was one already, nor if the log could
/// not be opened.
fn has_made(error: &EngineError, (log, to): (&Path, &Path)) -> bool {
    let EngineError::Io(io) = error else {
        return true;
    };
    match *io.path == *to {
        true => io.kind != IoErrorKind::AlreadyExists,
        false => io.op != IoOp::Open || *io.path != *log,
    }
}

/// Keeps a copy of a log before opening the database replaces it. A repair has kept one before its journal
/// was whole; another log may have come since. A log that was made since, with this binding, is not kept.
pub(super) fn keep_unknown_log(
    shared: &Shared,
    (path, file): (&Path, &Arc<dyn File>),
    (binding, boot_lsn): ([u8; 16], Lsn),
) -> Result<(), EngineError> {
    let first = boot_lsn.vlf().saturating_add(NEW_LOG_APART);
    let is_new = furrow_log::is_unfinished(&**file, binding).unwrap_or(false)
        || LogScan::from_checkpoint(Arc::clone(file), binding)
            .is_ok_and(|scan| scan.checkpoint().vlf() >= first);
    if is_new || is_kept(&*shared.volume, (path, &**file))? {
        return Ok(());
    }
    keep_log(shared, path, false).map(drop)
}

/// Whether there is a copy of a log.
fn is_kept(volume: &dyn Volume, (path, file): (&Path, &dyn File)) -> Result<bool, EngineError> {
    for number in 1.. {
        let copy = numbered(path, number);
        if !volume.exists(&copy)? {
            return Ok(false);
        }
        let copy = volume.open(&copy, Open::ReadOnly, Access::Log)?;
        if is_same(file, &*copy)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two files have the same bytes, those that cannot be read being zeros.
fn is_same(one: &dyn File, other: &dyn File) -> Result<bool, EngineError> {
    let length = one.len_bytes()?;
    if length != other.len_bytes()? {
        return Ok(false);
    }
    let [mut mine, mut theirs] = [(); 2].map(|()| AlignedBuf::new(CHUNK_BYTES));
    for at in (0..length).step_by(CHUNK_BYTES) {
        EngineError::check_cancelled()?;
        let wanted = (length - at).min(CHUNK_BYTES as u64) as usize;
        let (mine, theirs) = (mine.get_mut(..wanted), theirs.get_mut(..wanted));
        let (mine, theirs) = (mine.unwrap_or_default(), theirs.unwrap_or_default());
        read_around(one, at, mine)?;
        read_around(other, at, theirs)?;
        if mine != theirs {
            return Ok(false);
        }
    }
    Ok(true)
}

fn numbered(log: &Path, number: u32) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".lost");
    if number > 1 {
        path.push(number.to_string());
    }
    PathBuf::from(path)
}

/// The first path that no earlier log is kept under.
fn free_path(volume: &dyn Volume, log: &Path) -> Result<PathBuf, EngineError> {
    let mut number = 1;
    loop {
        let path = numbered(log, number);
        if !volume.exists(&path)? {
            return Ok(path);
        }
        number += 1;
    }
}

/// Whether the device could not read this file, or write it.
pub(crate) fn is_unreadable(error: &EngineError, path: &Path) -> bool {
    match error {
        EngineError::Io(io)
        | EngineError::Log(LogError::Io(io))
        | EngineError::Recovery(RecoveryError::Log(LogError::Io(io))) => {
            io.kind.is_medium() && *io.path == *path
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{MemoryVolume, read_file, write_file};

    #[test]
    fn a_copy_of_another_log_that_is_there_already_is_not_removed() {
        let volume = MemoryVolume::new();
        let (log, to) = (Path::new("l.ldf"), Path::new("l.ldf.lost"));
        write_file(&volume, log, &[1; 512]).unwrap();
        write_file(&volume, to, &[2; 512]).unwrap();
        for is_doubted in [false, true] {
            let failed = copy(&volume, (log, to), is_doubted).unwrap_err();
            assert!(!has_made(&failed, (log, to)), "{failed}");
        }
        assert_eq!(read_file(&volume, to).unwrap(), [2; 512]);
        volume.remove(log).unwrap();
        volume.remove(to).unwrap();
        let failed = copy(&volume, (log, to), true).unwrap_err();
        assert!(!has_made(&failed, (log, to)), "{failed}");
    }
}
