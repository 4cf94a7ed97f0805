//! Whether a set may be restored, and where its files go.

use super::types::RestoreRequest;
use crate::BackupError;
use crate::error::shown;
use crate::media::{BackupKind, SetFile, SetFork, SetInfo};
use crate::run::Parts;
use furrow_engine::{DatabaseState, Instance, RestoreFile, RestoreSpec, Restoring, file_path};
use furrow_format::{FileId, Fork, Forks, Lsn};
use furrow_messages::Message;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether the checksums of pages are verified: as long as the backup did so, and it is not declined.
pub(super) fn page_checks(info: &SetInfo, asked: Option<bool>) -> Result<bool, BackupError> {
    match asked {
        Some(true) if !info.checksums => Err(BackupError::refused(3187, &[])),
        Some(asked) => Ok(asked),
        None => Ok(info.checksums && !info.damaged),
    }
}

/// What a database that is there already says to this.
pub(super) fn may_restore(
    instance: &Arc<Instance>,
    info: &SetInfo,
    request: &RestoreRequest,
) -> Result<(), BackupError> {
    if info.kind != BackupKind::Database {
        return match instance.restore_target(&request.name) {
            None => Err(BackupError::refused(3118, &[request.name.as_str().into()])),
            Some(_) => Err(BackupError::refused(3117, &[])),
        };
    }
    let Some(target) = instance.restore_target(&request.name) else {
        return Ok(());
    };
    if request.replace || target.state == DatabaseState::Restoring {
        return Ok(());
    }
    // What cannot be asked for its family is not written over.
    let Some(open) = target.database else {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    };
    if open.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    if open.holds_log_for_backup() {
        return Err(BackupError::refused(3159, &[request.name.as_str().into()]));
    }
    Ok(())
}

/// Whether a log backup goes on where the log in place ends: 4305 where log between them is missing, 4326
/// where all of it is in place, 4330 where it has gone another way: it is of a copy, or of what a restore
/// left behind.
pub(super) fn follows(info: &SetInfo, restoring: &Restoring) -> Result<(), BackupError> {
    let applied = restoring.applied();
    let shown = |lsn: u64| Lsn(lsn).to_numeric().to_string().into();
    let next = applied.next().0;
    if info.first_lsn > next {
        return Err(BackupError::refused(
            4305,
            &[shown(info.first_lsn), shown(next)],
        ));
    }
    if info.last_lsn < applied.0 {
        return Err(BackupError::refused(
            4326,
            &[shown(info.last_lsn), shown(next)],
        ));
    }
    match restoring.is_on_path(&forks_of(info), Lsn(info.last_lsn))? {
        true => Ok(()),
        false => Err(BackupError::refused(4330, &[])),
    }
}

/// The recovery forks of a set.
pub(crate) fn forks_of(info: &SetInfo) -> Forks {
    let fork = |f: &SetFork| Fork {
        id: f.fork,
        first: Lsn(f.first_lsn),
    };
    match info.forks.is_empty() {
        // Of before forks began with restores.
        true => Forks::new(info.fork),
        false => Forks::of(info.forks.iter().map(fork)),
    }
}

/// The files of a set, and where they go. The places of those that are `looked_at` must be free.
pub(super) fn spec_of(
    instance: &Arc<Instance>,
    info: &SetInfo,
    request: &RestoreRequest,
    looked_at: &dyn Fn(&SetFile) -> bool,
) -> Result<RestoreSpec, BackupError> {
    let own = instance.restore_target(&request.name);
    let own = own
        .and_then(|t| t.database)
        .map(|d| d.file_list())
        .transpose()?;
    let own: Vec<PathBuf> = own.into_iter().flatten().map(|f| f.path).collect();
    let is = |name: &str, file: &SetFile| file.name.to_lowercase() == name.to_lowercase();
    for (name, _) in &request.moves {
        if !info.files.iter().any(|f| is(name, f)) {
            let args = [name.as_str().into(), info.database.as_str().into()];
            return Err(planned(Message::new(3234, &args)));
        }
    }
    let mut files: Vec<RestoreFile> = Vec::new();
    let mut claimed: BTreeMap<PathBuf, &SetFile> = BTreeMap::new();
    for file in &info.files {
        let moved = request.moves.iter().find(|m| is(&m.0, file));
        let path = match moved {
            Some((_, to)) => file_path(to)?,
            None => PathBuf::from(&file.path),
        };
        if looked_at(file) {
            if let Some(other) = claimed.insert(path.clone(), file) {
                return Err(claimed_twice(&path, other, file));
            }
            let there = instance.volume().exists(&path).unwrap_or(false);
            if there && !request.replace && !own.contains(&path) && !left_over(instance, request) {
                let args = [file.name.as_str().into(), shown(&path)];
                return Err(planned(Message::new(3142, &args)));
            }
        }
        files.push(RestoreFile {
            id: FileId(file.id),
            filegroup: file.filegroup,
            name: file.name.clone(),
            path,
            size_pages: file.size_pages,
            guid: file.guid,
            created: Lsn(file.created_lsn),
            first_pages: file.first_pages,
            moved: moved.is_some(),
        });
    }
    Ok(RestoreSpec {
        name: request.name.clone(),
        files,
        replace: request.replace,
        checkpoint: Lsn(info.checkpoint_lsn),
        last_lsn: Lsn(info.last_lsn),
        vlfs: info.log.vlfs.clone(),
        log_sector_bytes: info.log.sector_bytes,
        base: match info.copy_only {
            true => Guid([0; 16]),
            false => info.set,
        },
        source: info.binding,
        forks: forks_of(info),
        absent: Vec::new(),
    })
}

/// 3176 for two files at one place.
fn claimed_twice(path: &Path, one: &SetFile, other: &SetFile) -> BackupError {
    let args = [
        shown(path),
        one.name.as_str().into(),
        one.id.into(),
        other.name.as_str().into(),
        other.id.into(),
    ];
    planned(Message::new(3176, &args))
}

/// The data files of a set that PARTIAL leaves out.
pub(super) fn left_out(info: &SetInfo, partial: &Parts) -> Result<Vec<u16>, BackupError> {
    let named = |file: &SetFile| !partial.is_all() && partial.has(file);
    if !partial.is_all() {
        partial.exist(&info.files, &info.database)?;
    }
    // The primary filegroup is restored, whether or not it is named.
    let out = |f: &&SetFile| f.filegroup > 1 && !named(f);
    Ok(info.files.iter().filter(out).map(|f| f.id).collect())
}

/// Whether a restore of this database was interrupted, or it cannot be opened: its files are its own.
fn left_over(instance: &Arc<Instance>, request: &RestoreRequest) -> bool {
    let target = instance.restore_target(&request.name);
    target.is_some_and(|t| t.database.is_none())
}

/// 3119 behind what a plan fails for.
fn planned(message: Message) -> BackupError {
    BackupError::Refused(vec![message, Message::new(3119, &[])])
}
