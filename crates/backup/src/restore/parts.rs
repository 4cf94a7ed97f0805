//! Parts of a database restored: files, and single pages.

use super::copy::{Copying, Place};
use super::ended::{Restored, ended, may_stand_by};
use super::media_set::{MediaSet, OpenedSet};
use super::plan::{forks_of, page_checks, spec_of};
use super::types::{RestoreReport, RestoreRequest};
use crate::BackupError;
use crate::error::shown;
use crate::media::{BackupKind, SetFile, SetInfo};
use crate::run::{FilePages, Listener, Parts};
use furrow_engine::{Database, DatabaseState, Instance, PageRestore, PageSource, Restoring};
use furrow_format::{Lsn, PageId};
use furrow_io::time::Moment;
use std::path::Path;
use std::sync::Arc;

/// The open database of this name, if pages are on their way into it.
pub(super) fn restoring_pages(instance: &Arc<Instance>, name: &str) -> Option<Arc<Database>> {
    let open = instance.restore_target(name)?.database?;
    open.restores_pages().then_some(open)
}

/// A set that cannot give what is asked for (3135).
fn unfit(media: &MediaSet, info: &SetInfo) -> BackupError {
    let path = media.stripes.first().map(|s| s.path.as_path());
    let made_by = match info.kind {
        BackupKind::Log => "BACKUP LOG",
        BackupKind::Differential => "BACKUP DATABASE WITH DIFFERENTIAL",
        BackupKind::Files | BackupKind::Database => "BACKUP DATABASE",
    };
    let args = [shown(path.unwrap_or(Path::new(""))), made_by.into()];
    BackupError::refused(3135, &args)
}

/// Restores files from a full backup, or from one of files, into a database that is RESTORING. 3159 where
/// it is not: the tail of its log comes first.
pub fn restore_files(
    instance: &Arc<Instance>,
    media: &MediaSet,
    (request, parts): (&RestoreRequest, &Parts),
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let OpenedSet {
        begun,
        position,
        mut info,
    } = media.opened(request.position)?;
    let checks = page_checks(&info, request.checksum)?;
    let name = || request.name.as_str().into();
    if !matches!(info.kind, BackupKind::Database | BackupKind::Files) {
        return Err(unfit(media, &info));
    }
    let target = instance.restore_target(&request.name);
    let target = target.ok_or_else(|| BackupError::refused(3118, &[name()]))?;
    parts.exist(&info.files, &info.database)?;
    let chosen: Vec<u16> = info
        .files
        .iter()
        .filter(|f| parts.has(f))
        .map(|f| f.id)
        .collect();
    // Files that a piecemeal restore has left out come back beside the open database.
    let open = target
        .database
        .filter(|_| instance.lacks(&request.name, &chosen));
    if target.state != DatabaseState::Restoring && open.is_none() {
        return Err(BackupError::refused(3159, &[name()]));
    }
    let absent = |f: &&SetFile| chosen.contains(&f.id) && !f.present;
    if let Some(absent) = info.files.iter().find(absent) {
        let args = [absent.name.as_str().into(), info.database.as_str().into()];
        return Err(BackupError::refused(3234, &args));
    }
    may_stand_by(instance, (&info, request), (false, &chosen))?;
    let restoring = begin_files(instance, (&info, request), (open.as_ref(), &chosen))?;
    let copying = Copying {
        place: Place::Files(&restoring),
        checks,
        go_on: request.continue_after_error,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    for file in info.files.iter_mut().filter(|f| f.filegroup != 0) {
        file.present = chosen.contains(&file.id);
    }
    let restored = Restored {
        restoring,
        info,
        begun,
        notice: None,
    };
    ended(instance, restored, request, listener)
}

/// Begins to restore files into a database that is RESTORING, or is open without them. 3154 of a backup of
/// another database.
fn begin_files(
    instance: &Arc<Instance>,
    (info, request): (&SetInfo, &RestoreRequest),
    (open, chosen): (Option<&Arc<Database>>, &[u16]),
) -> Result<Restoring, BackupError> {
    // The primary file says whose database it is. Where it is the one that is restored, it may be past that.
    let family = match open {
        Some(open) => open.family(),
        None => instance.restoring_family(&request.name),
    };
    match family {
        Ok(family) if family == info.family => {}
        Ok(_) => {
            let name = request.name.as_str().into();
            return Err(BackupError::refused(3154, &[name]));
        }
        Err(_) if chosen.contains(&1) => {}
        Err(e) => return Err(e.into()),
    }
    // A file that was left out comes back where it was to be, unless it is moved.
    let moves = request.moves.iter();
    let moved: Vec<String> = moves.map(|m| m.0.to_lowercase()).collect();
    let is_moved = |f: &SetFile| moved.contains(&f.name.to_lowercase());
    let wanted = |f: &SetFile| open.is_none() || chosen.contains(&f.id) && is_moved(f);
    let spec = spec_of(instance, info, request, &wanted)?;
    Ok(match open {
        Some(open) => instance.begin_piece(open, &spec, chosen)?,
        None => instance.begin_file_restore(&spec, chosen)?,
    })
}

/// 3116 of a set from other files of the same family, such as a copy: their log may have gone another way.
/// `strays` of one whose log has gone another way at its end: a restore left it behind.
fn same_files(db: &Database, info: &SetInfo, strays: u32) -> Result<(), BackupError> {
    if db.binding() != info.binding {
        return Err(BackupError::refused(3116, &[]));
    }
    match db.is_on_path(&forks_of(info), Lsn(info.last_lsn))? {
        true => Ok(()),
        false => Err(BackupError::refused(strays, &[])),
    }
}

/// 40514 for options that a restore of pages does not have: the database is open, and its files stay where
/// they are.
fn only_pages(request: &RestoreRequest, statement: &str) -> Result<(), BackupError> {
    let option = match request {
        RestoreRequest {
            standby: Some(_), ..
        } => "STANDBY",
        RestoreRequest { stop: Some(_), .. } => "STOPAT",
        RestoreRequest { moves, .. } if !moves.is_empty() => "MOVE",
        _ => return Ok(()),
    };
    let what = format!("{statement} WITH {option} of pages");
    Err(BackupError::unsupported(&what))
}

/// Restores pages from a full or differential backup, or from one of files, into an open database.
pub fn restore_pages(
    instance: &Arc<Instance>,
    media: &MediaSet,
    (request, pages): (&RestoreRequest, &[PageId]),
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    only_pages(request, "RESTORE DATABASE")?;
    let OpenedSet { begun, info, .. } = media.opened(request.position)?;
    let checks = page_checks(&info, request.checksum)?;
    let db = instance.database(&request.name)?;
    if db.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    same_files(&db, &info, 3116)?;
    let last_lsn = Lsn(info.last_lsn);
    let source = match info.kind {
        BackupKind::Log => return Err(unfit(media, &info)),
        BackupKind::Differential => PageSource::Differential {
            base: info.base,
            last_lsn,
        },
        BackupKind::Files | BackupKind::Database => PageSource::Full {
            set: info.set,
            last_lsn,
        },
    };
    let restore = db.begin_page_restore(source, pages)?;
    gathered(
        &db,
        media,
        (restore, checks),
        (info, request, begun),
        listener,
    )
}

/// Rolls pages that are on their way into an open database forward by a log backup.
pub(super) fn pages_from_log(
    db: &Arc<Database>,
    media: &MediaSet,
    (info, request, begun): (&SetInfo, &RestoreRequest, Moment),
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    // The pages are rolled forward to the end of the log of the database.
    only_pages(request, "RESTORE LOG")?;
    if db.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    same_files(db, info, 4330)?;
    let restore = db.continue_page_restore((Lsn(info.first_lsn), Lsn(info.last_lsn)))?;
    gathered(
        db,
        media,
        (restore, false),
        (info.clone(), request, begun),
        listener,
    )
}

/// Reads a set for some pages, then puts them in place if that was asked for.
fn gathered(
    db: &Arc<Database>,
    media: &MediaSet,
    (restore, checks): (PageRestore<'_>, bool),
    (info, request, begun): (SetInfo, &RestoreRequest, Moment),
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let position = request.position.unwrap_or(1);
    let copying = Copying {
        place: Place::Pages(&restore),
        checks,
        go_on: request.continue_after_error,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    let counts = restore.settle()?;
    let name = |id: u16| {
        info.files
            .iter()
            .find(|f| f.id == id)
            .map(|f| f.name.clone())
    };
    let named = counts.iter().map(|(id, pages)| FilePages {
        name: name(id.0).unwrap_or_default(),
        pages: *pages,
    });
    listener.files_done(position, &named.collect::<Vec<_>>());
    let database = match request.recovery {
        true => {
            db.complete_page_restore()?;
            Some(Arc::clone(db))
        }
        false => None,
    };
    Ok(RestoreReport {
        info,
        database,
        pages: counts.values().sum(),
        elapsed_us: begun.elapsed_us(),
        notice: None,
    })
}
