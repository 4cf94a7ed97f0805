//! A new log in place of a lost one: CREATE DATABASE FOR ATTACH, and FOR ATTACH_REBUILD_LOG.
//!
//! A database that was shut down cleanly needs nothing of its log, and its boot page says that it was. If the
//! log is not at its place, a new one is made; of any other database the log is needed, and the attach ends
//! with 1813.
//!
//! # Why the boot page may be believed
//! A clean shutdown takes a checkpoint, then writes the flag, then takes another one: with the flag, the disk
//! has everything. An open writes the page without the flag, durably, before it changes any other page.
//!
//! # A log that was not finished
//! The new log is a whole one, with a checkpoint, before the flag goes. What a crash leaves of one before
//! that holds nothing: while the boot page has the flag, it is removed, and a new one is made. From the
//! moment the flag goes the log is needed, and stays even if the attach fails.
//!
//! # LSNs go on
//! No page of a database that was shut down cleanly has a higher LSN than its boot page, which was written
//! last. The new log begins in a later virtual log file than that. So a log that comes back after it was
//! rebuilt shows: it ends before the LSN of the boot page, and is refused (5108, 5173). So does an old copy
//! of a log, by the checkpoints that the headers of the data files know of.

use super::kept_log::keep_unknown_log;
use crate::files::{
    Candidate, FILES1_PAGE, Made, default_log_path, find_log_row, open_error, read_files1,
};
use crate::shared::{Moved, Shared};
use furrow_format::{Boot, FileHeader, Lsn, NEW_LOG_APART};
use furrow_io::{Access, File, IoErrorKind, Open, Volume};
use furrow_log::{Log, LogConfig, is_unfinished};
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_recovery::{Analysis, LogSpan};
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Size of a new log, as documented.
const NEW_LOG_BYTES: u64 = 1 << 20;

/// The log of a database that is being opened.
pub(crate) struct FoundLog<'s> {
    pub(crate) file: Arc<dyn File>,
    pub(crate) path: PathBuf,
    /// Of a new one: removed again unless the database comes so far that it needs it.
    pub(crate) made: Option<Made<'s>>,
    /// What there is to say about that.
    pub(crate) reported: Vec<Message>,
}

/// Where the log was when it was made, or where the catalog has it since `sysfiles1` was damaged. Without any
/// row of it, that is the default path beside the primary file.
pub(super) fn recorded_log(
    shared: &Shared,
    name: &str,
    primary: &Candidate,
) -> Result<PathBuf, EngineError> {
    let row = log_row(shared, name, primary)?;
    Ok(row.unwrap_or_else(|| default_log_path(primary.path())))
}

/// The path of the log in its row of `sysfiles1`, or of `sysprufiles`.
pub(super) fn log_row(
    shared: &Shared,
    name: &str,
    primary: &Candidate,
) -> Result<Option<PathBuf>, EngineError> {
    let why = match read_files1(primary) {
        Ok(rows) => match rows.into_iter().find(|row| row.0 == 2) {
            Some((_, path)) => return Ok(Some(path)),
            None => "it has no row of the log".to_owned(),
        },
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => error.to_string(),
    };
    let row = find_log_row(primary)?;
    let path = row
        .clone()
        .unwrap_or_else(|| default_log_path(primary.path()));
    let text = format!(
        "The page {FILES1_PAGE} of sysfiles1 of database '{name}' cannot be used: {why}. The log is expected \
         at '{}'. Run DBCC CHECKDB.",
        path.display()
    );
    shared.error_log.write(Source::Server, &text);
    Ok(row)
}

/// Opens the log, or makes a new one if it is lost and that may be: at an attach, or because an EMERGENCY
/// repair has made the database one that was shut down cleanly. Then `discard` says that the log counts
/// for nothing, whatever there is of it, and the new one takes its place. There is a copy of it then.
pub(crate) fn find_log<'s>(
    shared: &'s Arc<Shared>,
    (name, discard): (&str, bool),
    moved: &Moved,
    (recorded, boot, binding): (&Path, (&Boot, Lsn), Guid),
) -> Result<FoundLog<'s>, EngineError> {
    let path = with_its_blanks(&*shared.volume, moved.find(shared, (2, recorded))?);
    let (boot, boot_lsn) = boot;
    let needed = !boot.own.clean_shutdown || boot.own.read_only;
    debug_assert!(
        !(discard && needed),
        "a repair that loses the log leaves the database at rest"
    );
    let may_be_made = moved.attaching || discard;
    let is_log =
        |file: &dyn File| Ok::<_, EngineError>(!discard && !is_unfinished(file, binding.0)?);
    let lost = match shared.volume.open(&path, Open::Existing, Access::Log) {
        Ok(file) if needed || !may_be_made || is_log(&*file)? => {
            let (made, reported) = (None, Vec::new());
            return Ok(FoundLog {
                file,
                path,
                made,
                reported,
            });
        }
        Ok(file) => {
            if discard {
                keep_unknown_log(shared, (&path, &file), (binding.0, boot_lsn))?;
            }
            drop(file);
            shared.volume.remove(&path)?;
            path
        }
        Err(e) if e.kind == IoErrorKind::NotFound && may_be_made => path,
        Err(e) => return Err(open_error(&path, &e)),
    };
    let inactive = Message::new(5111, &[lost.display().to_string().into()]);
    if needed {
        let aborted = Message::new(1813, &[name.into()]);
        let why = Message::new(5113, &[]);
        return Err(EngineError::Refused(vec![inactive, why, aborted]));
    }
    // After an EMERGENCY repair the log stays where it was, unless its directory is gone, too.
    let is_home_better = match discard {
        true => lost
            .parent()
            .is_some_and(|dir| shared.volume.list(dir).is_err()),
        false => !moved.paths.contains(&lost),
    };
    let path = match recorded.file_name() {
        Some(name) if is_home_better => moved.home.join(name),
        _ => lost,
    };
    let mut made = Made::new(&*shared.volume);
    let file = made.create(&path, Access::Log, 1)?;
    let new = Message::new(5182, &[path.display().to_string().into()]);
    Ok(FoundLog {
        file,
        path,
        made: Some(made),
        reported: vec![inactive, new],
    })
}

/// The path under which a log is there. `sysfiles1` loses blanks at the end of a name. Before file names were
/// stored without them, logs were made under names with blanks: one such file is the log.
pub(super) fn with_its_blanks(volume: &dyn Volume, path: PathBuf) -> PathBuf {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else {
        return path;
    };
    let files = volume.list(dir).unwrap_or_default();
    let is_log = |file: &&PathBuf| {
        let found = file.file_name().and_then(|n| n.to_str());
        found.is_some_and(|found| found.trim_end_matches(' ') == name)
    };
    match files.iter().filter(is_log).collect::<Vec<_>>().as_slice() {
        [only] => dir.join(only.file_name().unwrap_or_default()),
        _ => path,
    }
}

/// Makes the log in its empty file, and says of it what analysis would say after a clean shutdown.
pub(crate) fn new_log(
    (file, binding, config): (Arc<dyn File>, [u8; 16], LogConfig),
    boot_lsn: Lsn,
) -> Result<Analysis, EngineError> {
    let first = boot_lsn.vlf().saturating_add(NEW_LOG_APART);
    let log = Log::create_from(file, NEW_LOG_BYTES, binding, config, first)?;
    let tail = log.tail();
    Ok(Analysis {
        log,
        span: LogSpan {
            checkpoint: tail,
            redo_point: tail,
            end: tail,
            in_new_log: true,
            unreadable_at: None,
        },
        losers: Vec::new(),
        next_txn: 1,
        records: 0,
        committed: 0,
        clean: true,
        // As the catalog has them since the shutdown.
        counts: None,
    })
}

/// 5108 and 5173 for a log that ends before a page was written last: it was rebuilt since, or is an old copy.
/// A page is written when the log is durable up to it.
pub(super) fn prove_reaches(path: &Path, end: Lsn, page_lsn: Lsn) -> Result<(), EngineError> {
    match page_lsn > end {
        true => Err(ended_before(path)),
        false => Ok(()),
    }
}

fn ended_before(path: &Path) -> EngineError {
    let why = Message::new(5108, &[path.display().to_string().into()]);
    EngineError::Refused(vec![why, Message::new(5173, &[])])
}

/// 5108 and 5173 for a log that ends before the boot page was written last, or before the last checkpoint
/// that the file has: it was rebuilt since, or is an old copy. 9003 for a primary file that is older than the
/// log's checkpoint: recovery would not give it what it lacks.
pub(crate) fn prove_current(
    path: &Path,
    span: &LogSpan,
    (name, header, boot_lsn): (&str, &FileHeader, Lsn),
) -> Result<(), EngineError> {
    prove_reaches(path, span.end, boot_lsn)?;
    if span.ends_before(header) {
        return Err(ended_before(path));
    }
    if span.lies_behind(header) {
        let behind = header.max_lsn.to_string();
        return Err(EngineError::refused(9003, &[behind.into(), name.into()]));
    }
    Ok(())
}
