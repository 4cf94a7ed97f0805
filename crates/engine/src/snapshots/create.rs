//! A snapshot is created.

use super::failure::Failure;
use crate::checking::split;
use crate::database::Database;
use crate::files::Made;
use furrow_format::{FileId, Lsn};
use furrow_io::Access;
use furrow_messages::Message;
use furrow_pool::{
    SnapshotFiles, SnapshotGuard, SparseFile, SparseFiles, SparseHeader, SparseState,
};
use furrow_tables::EngineError;
use furrow_types::Guid;
use std::path::PathBuf;

/// State of 5170 in CREATE DATABASE.
const TAKEN_STATE: u8 = 4;
/// Dirty pages that are written between two looks whether the statement is to end.
const WRITE_PAGES: usize = 256;

/// Creates the sparse files at these paths, and the snapshot in them. On an error nothing of it is left.
pub(crate) fn create(
    source: &Database,
    binding: Guid,
    paths: &[(FileId, PathBuf)],
    failure: &Failure,
) -> Result<SnapshotGuard, EngineError> {
    let mut made = Made::new(&*source.shared.volume);
    let mut files = Vec::new();
    for (id, path) in paths {
        let file = made.create(path, Access::Data, TAKEN_STATE)?;
        let header = SparseHeader {
            snapshot: binding.0,
            source: source.files.binding.0,
            file: *id,
            state: SparseState::Creating,
            pages: 0,
            split: Lsn::ZERO,
        };
        files.push(SparseFile::create(file, header)?);
    }
    write_dirty(source)?;
    let _turn = source.files.turn_to_change()?;
    if source.files.files().len() != files.len() {
        // A file was added meanwhile.
        return Err(EngineError::of(Message::new(1823, &[])));
    }
    let sparse = SparseFiles::new(files, Box::new(failure.clone()));
    let taken = split(source, SnapshotFiles::Sparse(sparse), u64::MAX)?;
    taken.recovered.map_err(|e| match e.is_cancelled() {
        true => e,
        false => e.followed_by(Message::new(1823, &[])),
    })?;
    taken.guard.seal()?;
    EngineError::check_cancelled()?;
    made.keep();
    Ok(taken.guard)
}

/// Writes most of what is dirty, in steps: a statement that is cancelled ends between them.
fn write_dirty(source: &Database) -> Result<(), EngineError> {
    if source.check_changes().is_err() {
        return Ok(());
    }
    let (pool, db) = (source.store.pool(), source.store.db());
    let mut left = pool.dirty_count(db);
    while left > 0 {
        EngineError::check_cancelled()?;
        let written = pool.write_oldest(db, WRITE_PAGES)?;
        if written == 0 {
            break;
        }
        left = left.saturating_sub(written);
    }
    // The counts of rows, for the snapshot has no log to take them from.
    source.catalog.write_counts()
}
