//! The end of a restore: recovery, or not yet.

use super::types::{RestoreReport, RestoreRequest};
use crate::BackupError;
use crate::media::{SetFile, SetInfo};
use crate::run::{FilePages, Listener};
use furrow_engine::{Instance, Restoring, StandbyPlan};
use furrow_io::time::Moment;
use furrow_messages::Message;
use std::path::PathBuf;
use std::sync::Arc;

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

/// Refuses STANDBY before anything is changed: of a backup that replaces the database, or brings some files.
pub(super) fn may_stand_by(
    instance: &Arc<Instance>,
    (info, request): (&SetInfo, &RestoreRequest),
    (replaces, brings): (bool, &[u16]),
) -> Result<(), BackupError> {
    let Some(undo) = &request.standby else {
        return Ok(());
    };
    let moves = || request.moves.iter();
    let place = |file: &SetFile| {
        let moved = moves().find(|m| m.0.to_lowercase() == file.name.to_lowercase());
        moved.map_or_else(|| PathBuf::from(&file.path), |m| m.1.clone())
    };
    let files: Vec<PathBuf> = info.files.iter().map(place).collect();
    let plan = StandbyPlan {
        name: &request.name,
        undo,
        files: &files,
        replaces,
        brings,
    };
    Ok(instance.may_stand_by(&plan)?)
}

/// A backup whose pages and log are in place.
pub(super) struct Restored {
    pub(super) restoring: Restoring,
    pub(super) info: SetInfo,
    pub(super) begun: Moment,
    /// What is to be said where the restore did not come to the point where it is to stop.
    pub(super) notice: Option<Message>,
}

/// Everything is in place: recovery, or not yet.
pub(super) fn ended(
    instance: &Arc<Instance>,
    restored: Restored,
    request: &RestoreRequest,
    listener: &mut dyn Listener,
) -> Result<RestoreReport, BackupError> {
    let info = restored.info;
    let mut files = pages_of(&info, false);
    files.extend(pages_of(&info, true));
    listener.files_done(request.position.unwrap_or(1), &files);
    let recovers = request.recovery && restored.notice.is_none();
    let database = match &request.standby {
        Some(undo) => Some(instance.stand_by(restored.restoring, undo)?),
        None if recovers => Some(instance.recover_restored(restored.restoring)?),
        None => {
            instance.leave_restoring(restored.restoring)?;
            None
        }
    };
    Ok(RestoreReport {
        pages: files.iter().fold(0, |sum, f| sum.saturating_add(f.pages)),
        info,
        database,
        elapsed_us: restored.begun.elapsed_us(),
        notice: restored.notice,
    })
}
