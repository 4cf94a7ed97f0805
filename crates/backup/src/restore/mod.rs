//! A database put back from its stripes.
//!
//! 1. The stripes of the media set are opened and proven to be all of one set (`media_set`).
//! 2. The engine makes the files, which are empty, and notes that the database is being restored.
//! 3. Each stripe is read by a thread of its own, which puts pages and log blocks in their places (`copy`).
//! 4. The engine recovers.
//!
//! VERIFYONLY does the third step with nowhere to put anything.

mod copy;
mod media_set;
mod parts;
mod stop;

pub use media_set::MediaSet;
pub use parts::{restore_files, restore_pages};

use crate::BackupError;
use crate::error::shown;
use crate::media::{BackupKind, SetFile, SetInfo};
use crate::run::{FilePages, Listener};
use copy::{Copying, Place};
use furrow_engine::{
    Database, DatabaseState, Instance, RestoreFile, RestoreSpec, Restoring, StopPoint,
};
use furrow_format::{FileId, Lsn};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::time::Moment;
use furrow_messages::Message;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use stop::Stops;

/// How a database is restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreRequest {
    /// The name it gets.
    pub name: String,
    /// MOVE: logical names and where these files go.
    pub moves: Vec<(String, PathBuf)>,
    /// REPLACE.
    pub replace: bool,
    /// RECOVERY rather than NORECOVERY.
    pub recovery: bool,
    /// FILE: the position of the set; the first one if it is not stated.
    pub position: Option<u16>,
    /// CHECKSUM or NO_CHECKSUM, if stated.
    pub checksum: Option<bool>,
    /// CONTINUE_AFTER_ERROR.
    pub continue_after_error: bool,
    /// STOPAT, STOPATMARK, STOPBEFOREMARK.
    pub stop: Option<StopPoint>,
}

/// What a restore has done.
#[derive(Debug)]
pub struct RestoreReport {
    /// What was restored.
    pub info: SetInfo,
    /// The database; `None` while it is RESTORING.
    pub database: Option<Arc<Database>>,
    /// Pages of data files and log.
    pub pages: u64,
    /// How long it took.
    pub elapsed_us: u64,
    /// What is to be said: 4322 or 4329 where the point to stop at was not reached, so that the database is
    /// RESTORING whatever was asked for.
    pub notice: Option<Message>,
}

fn pages_of(info: &SetInfo, log: bool) -> Vec<FilePages> {
    let files = info
        .files
        .iter()
        .filter(|f| (f.filegroup == 0) == log && f.present);
    let named = files.map(|f| FilePages {
        name: f.name.clone(),
        pages: f.pages,
    });
    named.collect()
}

/// Restores a database.
pub fn restore_database(
    instance: &Arc<Instance>,
    media: &MediaSet,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let begun = Moment::now();
    media.complete()?;
    let position = request.position.unwrap_or(1);
    let info = media.info(position)?;
    let checks = page_checks(&info, request.checksum)?;
    let notice = match &request.stop {
        Some(stop) => Some(stop::of_database(&info, stop)?),
        None => None,
    };
    let restoring = match info.kind {
        BackupKind::Differential => begin_differential(instance, &info, request)?,
        _ => {
            may_restore(instance, &info, request)?;
            instance.begin_restore(&spec_of(instance, &info, request)?)?
        }
    };
    let copying = Copying {
        place: Place::Files(&restoring),
        checks,
        go_on: request.continue_after_error,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    let restored = Restored {
        restoring,
        info,
        begun,
        notice,
    };
    ended(instance, restored, request, listener)
}

/// A differential backup goes over its base alone (3136), and not back behind log that is in place.
fn begin_differential(
    instance: &Arc<Instance>,
    info: &SetInfo,
    request: &RestoreRequest,
) -> Result<Restoring, BackupError> {
    let restoring = instance.resume_restore(&request.name)?;
    if restoring.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    let on_base = restoring.base()? == info.base || mutated(Mutation::TakeWrongBase);
    if !on_base || Lsn(info.last_lsn) < restoring.applied() {
        return Err(BackupError::refused(3136, &[]));
    }
    let spec = spec_of(instance, info, request)?;
    Ok(instance.begin_differential(restoring, &spec)?)
}

/// A backup whose pages and log are in place.
struct Restored {
    restoring: Restoring,
    info: SetInfo,
    begun: Moment,
    /// What is to be said where the restore did not come to the point where it is to stop.
    notice: Option<Message>,
}

/// Everything is in place: recovery, or not yet.
fn ended(
    instance: &Arc<Instance>,
    restored: Restored,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let info = restored.info;
    let mut files = pages_of(&info, false);
    files.extend(pages_of(&info, true));
    listener.files_done(request.position.unwrap_or(1), &files);
    let database = match request.recovery && restored.notice.is_none() {
        true => Some(instance.recover_restored(restored.restoring)?),
        false => {
            instance.leave_restoring(restored.restoring)?;
            None
        }
    };
    Ok(RestoreReport {
        pages: files.iter().map(|f| f.pages).sum(),
        info,
        database,
        elapsed_us: restored.begun.elapsed_us(),
        notice: restored.notice,
    })
}

/// Restores a log backup to a database that is RESTORING.
pub fn restore_log(
    instance: &Arc<Instance>,
    media: &MediaSet,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let begun = Moment::now();
    media.complete()?;
    let position = request.position.unwrap_or(1);
    let info = media.info(position)?;
    if info.kind != BackupKind::Log {
        return Err(BackupError::refused(3122, &[position.into()]));
    }
    if let Some(db) = parts::restoring_pages(instance, &request.name) {
        return parts::pages_from_log(&db, media, (&info, request, begun), listener);
    }
    let mut restoring = instance.resume_restore(&request.name)?;
    if restoring.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    follows(&info, restoring.applied())?;
    let stops = match &request.stop {
        Some(point) => stop::find(media, (position, &info), point, restoring.applied())?,
        None => Stops::Nowhere,
    };
    // A file that is in place stays there; one that was added since is made.
    let spec = spec_of(instance, &info, request)?;
    instance.extend_restore(&mut restoring, &spec)?;
    let notice = match stops {
        Stops::Nowhere => None,
        Stops::Behind(notice) => Some(notice),
        Stops::Before(lsn) => {
            restoring.stop_at(lsn);
            None
        }
    };
    let copying = Copying {
        place: Place::Files(&restoring),
        checks: false,
        go_on: request.continue_after_error,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    let restored = Restored {
        restoring,
        info,
        begun,
        notice,
    };
    ended(instance, restored, request, listener)
}

/// Whether a log backup goes on where the log in place ends: 4305 where log between them is missing, 4326
/// where all of it is in place.
fn follows(info: &SetInfo, applied: Lsn) -> Result<(), BackupError> {
    let shown = |lsn: u64| Lsn(lsn).to_numeric().to_string().into();
    let next = applied.0 + 1;
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
    Ok(())
}

/// RESTORE DATABASE ... WITH RECOVERY without media: brings a database online that was left RESTORING.
pub fn recover_only(instance: &Arc<Instance>, name: &str) -> Result<Arc<Database>, BackupError> {
    if let Some(db) = parts::restoring_pages(instance, name) {
        db.complete_page_restore()?;
        return Ok(db);
    }
    Ok(instance.recover_restoring(name)?)
}

/// RESTORE VERIFYONLY: reads all of a set and proves it.
pub fn verify(
    media: &MediaSet,
    position: Option<u16>,
    checksum: Option<bool>,
    listener: &mut dyn Listener,
) -> Result<u16, BackupError> {
    media.complete()?;
    let position = position.unwrap_or(1);
    let info = media.info(position)?;
    let copying = Copying {
        place: Place::Nowhere,
        checks: page_checks(&info, checksum)?,
        go_on: false,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    Ok(position)
}

/// Whether the checksums of pages are verified: as long as the backup did so, and it is not declined.
fn page_checks(info: &SetInfo, asked: Option<bool>) -> Result<bool, BackupError> {
    match asked {
        Some(true) if !info.checksums => Err(BackupError::refused(3187, &[])),
        Some(asked) => Ok(asked),
        None => Ok(info.checksums && !info.damaged),
    }
}

/// What a database that is there already says to this.
fn may_restore(
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

fn spec_of(
    instance: &Arc<Instance>,
    info: &SetInfo,
    request: &RestoreRequest,
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
        let path = moved.map_or_else(|| PathBuf::from(&file.path), |m| m.1.clone());
        if let Some(other) = claimed.insert(path.clone(), file) {
            let args = [
                shown(&path),
                other.name.as_str().into(),
                other.id.into(),
                file.name.as_str().into(),
                file.id.into(),
            ];
            return Err(planned(Message::new(3176, &args)));
        }
        let there = instance.volume().exists(&path).unwrap_or(false);
        if there && !request.replace && !own.contains(&path) && !left_over(instance, request) {
            let args = [file.name.as_str().into(), shown(&path)];
            return Err(planned(Message::new(3142, &args)));
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
        vlfs: info.log.vlfs.clone(),
        log_sector_bytes: info.log.sector_bytes,
        base: match info.copy_only {
            true => Guid([0; 16]),
            false => info.set,
        },
    })
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
