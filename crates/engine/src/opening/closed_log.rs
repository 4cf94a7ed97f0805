//! The log of a database that cannot be opened, and what its primary file says.
//!
//! The primary file is redone in memory, so that the catalog is as of the end of the log. Nothing is undone
//! or logged: the pages are forgotten, and the next attempt to open the database finds what this one found.

use super::open::{Opening, begin, log_error, open_primary};
use crate::checking::{Leftover, finish_repair};
use crate::database::Registration;
use crate::files::{ParsedFile, files_in_pool};
use crate::shared::{Moved, Shared};
use furrow_format::{BOOT_PAGE, Boot, DatabaseId, FileHeader, FileId, PAGE_SIZE, PageId, TxnId};
use furrow_observe::errorlog::Source;
use furrow_pool::LatchRank;
use furrow_recovery::{RecoveryError, redo};
use furrow_tables::EngineError;
use furrow_txn::Store;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The header of the primary file.
const HEADER: PageId = PageId::new(1, 0);

/// The log of a database, and what its primary file says.
#[derive(Debug)]
pub(crate) struct ClosedLog {
    pub(crate) store: Arc<Store>,
    pub(crate) boot: Boot,
    /// The rows of all files, the log among them.
    pub(crate) files: Vec<ParsedFile>,
    pub(crate) log_path: PathBuf,
    /// Of the primary file.
    pub(crate) primary: FileHeader,
    pub(crate) registration: Registration,
}

/// Reads the primary file of a database that cannot be opened, and its log to the end.
pub(crate) fn open_log(
    shared: &Arc<Shared>,
    id: DatabaseId,
    name: &str,
    path: &Path,
) -> Result<ClosedLog, EngineError> {
    let moved = Moved {
        home: path.parent().unwrap_or(Path::new("")).to_path_buf(),
        ..Moved::default()
    };
    if finish_repair(shared, path, &moved)? != Leftover::Nothing {
        // A repair in EMERGENCY has put the log out of use.
        return Err(EngineError::refused(9004, &[name.into()]));
    }
    let primary = open_primary(shared, path)?;
    let mut opening = begin(shared, (id, name), &moved, (primary, false))?;
    redo_primary(&mut opening)?;
    let bad = |what: String| EngineError::Damaged(what);
    let found = files_in_pool(&opening.store, &|file| file == FileId(1))?;
    if found.out_of_reach > 0 {
        return Err(bad(
            "rows of sysprufiles lie in other files than the primary one".into(),
        ));
    }
    let (boot, header) = {
        let page = opening.store.read(BOOT_PAGE, LatchRank::Boot)?;
        let boot = Boot::decode(&page).map_err(|e| bad(e.to_string()))?;
        drop(page);
        let page = opening.store.read(HEADER, LatchRank::FileHeader)?;
        let header = FileHeader::decode(&page).map_err(|e| bad(e.to_string()))?;
        (boot, header)
    };
    let there = opening.primary.len_bytes()? / PAGE_SIZE as u64;
    Ok(ClosedLog {
        primary: FileHeader {
            size_pages: header
                .size_pages
                .max(u32::try_from(there).unwrap_or(u32::MAX)),
            ..header
        },
        boot,
        files: found.files,
        log_path: opening.log_file.path().to_path_buf(),
        registration: opening.registration,
        store: opening.store,
    })
}

/// Redo of the primary file. What is wrong with its pages is no obstacle: the pages that are needed are read
/// afterwards. What is wrong with the log is one.
fn redo_primary(opening: &mut Opening<'_>) -> Result<(), EngineError> {
    let analysis = &opening.analysis;
    if analysis.clean {
        return Ok(());
    }
    let span = (analysis.span.redo_point, analysis.span.end);
    let losers: HashSet<TxnId> = analysis.losers.iter().map(|l| l.id).collect();
    let log = Arc::clone(&opening.log_file);
    let primary = |file| file == FileId(1);
    let done = redo(&opening.store, log, span, &primary, &|txn| {
        losers.contains(&txn)
    });
    match done {
        Ok(_) | Err(RecoveryError::Broken { .. } | RecoveryError::Redo { .. }) => Ok(()),
        Err(error) => {
            let warn = |text: &str| opening.shared.error_log.write(Source::Server, text);
            let path = opening.log_file.path();
            Err(log_error(path, error, &opening.name, &warn))
        }
    }
}
