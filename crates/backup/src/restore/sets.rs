//! Whole sets restored: full, differential and log backups.

use super::copy::{Copying, Place};
use super::ended::{Restored, ended, may_stand_by};
use super::media_set::{MediaSet, OpenedSet};
use super::parts;
use super::plan::{follows, forks_of, left_out, may_restore, page_checks, spec_of};
use super::stop::{self, Stops};
use super::types::{RestoreReport, RestoreRequest};
use crate::BackupError;
use crate::media::{BackupKind, SetFile, SetInfo};
use crate::run::Listener;
use furrow_engine::{Database, DatabaseState, Instance, RestoreSpec, Restoring};
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_messages::Message;
use std::path::PathBuf;
use std::sync::Arc;

/// Restores a database.
pub fn restore_database(
    instance: &Arc<Instance>,
    media: &MediaSet,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let OpenedSet {
        begun,
        position,
        mut info,
    } = media.opened(request.position)?;
    if request.partial.is_some() && info.kind != BackupKind::Database {
        let what = "RESTORE WITH PARTIAL of a backup that is not a full one of the database";
        return Err(BackupError::unsupported(what));
    }
    let checks = page_checks(&info, request.checksum)?;
    let notice = match &request.stop {
        Some(stop) => Some(stop::of_database(&info, stop)?),
        None => None,
    };
    let restoring = match info.kind {
        BackupKind::Differential => begin_differential(instance, &info, request)?,
        _ => {
            may_restore(instance, &info, request)?;
            let absent = match &request.partial {
                Some(partial) => left_out(&info, partial)?,
                None => Vec::new(),
            };
            if request.standby.is_some() && !absent.is_empty() {
                let what = "RESTORE WITH STANDBY of a database with files that are not online";
                return Err(BackupError::unsupported(what));
            }
            may_stand_by(instance, (&info, request), (true, &[]))?;
            let spec = spec_of(instance, &info, request, &|f| !absent.contains(&f.id))?;
            for file in info.files.iter_mut().filter(|f| absent.contains(&f.id)) {
                file.present = false;
            }
            instance.begin_restore(&RestoreSpec { absent, ..spec })?
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

/// A differential backup goes over its base alone (3136), and not back behind log that is in place, nor
/// behind what a file that stays needs: its header would no longer say so.
fn begin_differential(
    instance: &Arc<Instance>,
    info: &SetInfo,
    request: &RestoreRequest,
) -> Result<Restoring, BackupError> {
    may_stand_by(instance, (info, request), (false, &[]))?;
    let standing = instance.standing(&request.name);
    let restoring = instance.resume_restore(&request.name)?;
    match differential_fits(instance, info, &restoring, request) {
        Ok(spec) => Ok(instance.begin_differential(restoring, &spec)?),
        Err(refused) => Err(stood(instance, (restoring, standing), refused)),
    }
}

fn differential_fits(
    instance: &Arc<Instance>,
    info: &SetInfo,
    restoring: &Restoring,
    request: &RestoreRequest,
) -> Result<RestoreSpec, BackupError> {
    if restoring.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    let on_base = restoring.base()? == info.base || mutated(Mutation::TakeWrongBase);
    let older = restoring.is_older_than(Lsn(info.database_backup_lsn))?;
    let last = Lsn(info.last_lsn);
    let newer = last < restoring.applied() || restoring.is_newer_than(last)?;
    let strays = !restoring.is_on_path(&forks_of(info), last)?;
    if !on_base || older || newer || strays {
        return Err(BackupError::refused(3136, &[]));
    }
    let spec = spec_of(instance, info, request, &|_| true)?;
    instance.may_take_differential(restoring, &spec)?;
    Ok(spec)
}

/// Restores a log backup to a database that is RESTORING.
pub fn restore_log(
    instance: &Arc<Instance>,
    media: &MediaSet,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let OpenedSet {
        begun,
        position,
        info,
    } = media.opened(request.position)?;
    if info.kind != BackupKind::Log {
        return Err(BackupError::refused(3122, &[position.into()]));
    }
    if request.partial.is_some() {
        return Err(BackupError::unsupported("RESTORE LOG WITH PARTIAL"));
    }
    if let Some(db) = parts::restoring_pages(instance, &request.name) {
        return parts::pages_from_log(&db, media, (&info, request, begun), listener);
    }
    may_stand_by(instance, (&info, request), (false, &[]))?;
    let is_piece = instance.restores_piece(&request.name);
    if is_piece && request.stop.is_some() {
        let what = "RESTORE LOG WITH STOPAT of files of a database that is online";
        return Err(BackupError::unsupported(what));
    }
    let standing = instance.standing(&request.name);
    let mut restoring = match is_piece {
        true => instance.resume_piece(&request.name)?,
        false => instance.resume_restore(&request.name)?,
    };
    let fits = log_fits((instance, media), (&info, position), &restoring, request);
    let (stops, spec) = match fits {
        Ok(fits) => fits,
        Err(refused) => return Err(stood(instance, (restoring, standing), refused)),
    };
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

/// Whether a log backup goes on where a restore stands; where it is to stop, and the files that it adds.
fn log_fits(
    (instance, media): (&Arc<Instance>, &MediaSet),
    (info, position): (&SetInfo, u16),
    restoring: &Restoring,
    request: &RestoreRequest,
) -> Result<(Stops, RestoreSpec), BackupError> {
    if restoring.family()? != info.family {
        return Err(BackupError::refused(3154, &[request.name.as_str().into()]));
    }
    follows(info, restoring)?;
    let stops = match &request.stop {
        Some(point) => {
            stop::not_passed(point, restoring)?;
            stop::find(media, (position, info), point, restoring.applied())?
        }
        None => Stops::Nowhere,
    };
    // A file that is in place stays there; one that was added since is made.
    let looked_at = |f: &SetFile| restoring.looks_at(f.id, f.filegroup);
    let spec = spec_of(instance, info, request, &looked_at)?;
    instance.may_extend(restoring, &spec)?;
    Ok((stops, spec))
}

/// A set was refused before it changed anything: a database that was in standby is so again. Where that
/// fails, it is RESTORING.
fn stood(
    instance: &Arc<Instance>,
    (restoring, standing): (Restoring, Option<PathBuf>),
    refused: BackupError,
) -> BackupError {
    if let Some(undo) = standing {
        let _ = instance.stand_again(restoring, &undo);
    }
    refused
}

/// RESTORE DATABASE ... WITH RECOVERY without media: brings a database online that was left RESTORING.
pub fn recover_only(instance: &Arc<Instance>, name: &str) -> Result<Arc<Database>, BackupError> {
    if let Some(db) = parts::restoring_pages(instance, name) {
        db.complete_page_restore()?;
        return Ok(db);
    }
    Ok(instance.recover_restoring(name)?)
}

/// RESTORE DATABASE ... WITH NORECOVERY without media: nothing, of a database that is RESTORING or that pages
/// are on their way into; 3153 of any other.
pub fn stay_restoring(instance: &Arc<Instance>, name: &str) -> Result<(), BackupError> {
    let target = instance.restore_target(name);
    let target = target.ok_or_else(|| BackupError::refused(911, &[name.into()]))?;
    let pages = target.database.is_some_and(|db| db.restores_pages());
    match pages || target.state == DatabaseState::Restoring {
        true => Ok(()),
        false => Err(BackupError::refused(3153, &[])),
    }
}

/// RESTORE VERIFYONLY: reads all of a set and proves it.
pub fn verify(
    media: &MediaSet,
    position: Option<u16>,
    checksum: Option<bool>,
    listener: &mut dyn Listener,
) -> Result<u16, BackupError> {
    let OpenedSet { position, info, .. } = media.opened(position)?;
    let copying = Copying {
        place: Place::Nowhere,
        checks: page_checks(&info, checksum)?,
        go_on: false,
        database: &info.database,
    };
    copying.run(media, (position, &info), listener)?;
    Ok(position)
}

/// What RESTORE VERIFYONLY reports besides: 3181 and 3257 where the volumes lack the space for a restore of
/// the set. Both inform only: the set is valid nevertheless. The sets of other backups create no files.
pub fn space_warnings(
    instance: &Arc<Instance>,
    media: &MediaSet,
    request: &RestoreRequest,
) -> Result<Vec<Message>, BackupError> {
    let OpenedSet { info, .. } = media.opened(request.position)?;
    if info.kind != BackupKind::Database {
        return Ok(Vec::new());
    }
    let spec = spec_of(instance, &info, request, &|_| false)?;
    let Some(lacking) = instance.restore_lacks_space(&spec) else {
        return Ok(Vec::new());
    };
    let details = lacking.messages().into_iter();
    let details = details.map(|m| Message::custom(m.number, 10, m.state, &m.text));
    Ok(std::iter::once(Message::new(3181, &[]))
        .chain(details)
        .collect())
}
