//! The end of a restore: recovery, or not yet.

use super::types::{RestoreReport, RestoreRequest};
use crate::BackupError;
use crate::media::SetInfo;
use crate::run::{FilePages, Listener};
use furrow_engine::{Instance, Restoring};
use furrow_io::time::Moment;
use furrow_messages::Message;
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
        pages: files.iter().map(|f| f.pages).sum(),
        info,
        database,
        elapsed_us: restored.begun.elapsed_us(),
        notice: restored.notice,
    })
}
