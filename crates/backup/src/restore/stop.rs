//! STOPAT and marks: where a restore of the log stops.
//!
//! The log of the set is read twice: first to find the place, then to put in place what lies before it.

use super::copy::{Copying, Place};
use super::media_set::MediaSet;
use crate::BackupError;
use crate::media::SetInfo;
use crate::run::{FilePages, Listener};
use furrow_engine::{Restoring, StopPoint, StopSearch};
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use furrow_messages::Message;

/// Where the log of a set stops.
pub(super) enum Stops {
    /// All of it is restored.
    Nowhere,
    /// All of it lies before the point: the database stays RESTORING, and this is said.
    Behind(Message),
    /// This record, and what follows it, is left out.
    Before(Lsn),
}

/// Says nothing: the search is not what the percents are of.
struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _: u64, _: u64) {}
    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

/// What is said where the log ends before the point.
fn notice(point: &StopPoint) -> Message {
    match point {
        StopPoint::Time(_) => Message::new(4322, &[]),
        StopPoint::Mark { .. } | StopPoint::Lsn { .. } => Message::new(4329, &[]),
    }
}

/// 4335 where the log in place has a commit that is later than the point in time.
pub(super) fn not_passed(point: &StopPoint, restoring: &Restoring) -> Result<(), BackupError> {
    match point {
        StopPoint::Time(stop) if restoring.last_commit().is_some_and(|last| last > *stop) => {
            Err(BackupError::refused(4335, &[]))
        }
        _ => Ok(()),
    }
}

/// Looks for the point in the log of a set; 4335 where the log in place, which ends with `applied`, lies
/// behind it.
pub(super) fn find(
    media: &MediaSet,
    (position, info): (u16, &SetInfo),
    point: &StopPoint,
    applied: Lsn,
) -> Result<Stops, BackupError> {
    if let StopPoint::Lsn { lsn, inclusive } = point
        && lsn.0.saturating_add(u64::from(*inclusive)) <= applied.0
    {
        return Err(BackupError::refused(4335, &[]));
    }
    // The record in place is the last one.
    if matches!(point, StopPoint::Lsn { lsn, inclusive: true } if *lsn == applied) {
        return Ok(Stops::Before(applied.next()));
    }
    let search = StopSearch::new(point.clone());
    let copying = Copying {
        place: Place::Search(&search),
        checks: false,
        go_on: false,
        database: &info.database,
    };
    copying.run(media, (position, info), &mut Silent)?;
    match search.found(Lsn(info.last_lsn))? {
        None => match point {
            // It lies between two records: all of this log would go past it.
            StopPoint::Lsn { lsn, .. } if lsn.0 <= info.last_lsn => Err(BackupError::unsupported(
                "RESTORE LOG WITH STOPATMARK or STOPBEFOREMARK of an LSN without a log record",
            )),
            _ => Ok(Stops::Behind(notice(point))),
        },
        Some(stop) if stop <= applied => Err(BackupError::refused(4335, &[])),
        Some(stop) => Ok(Stops::Before(stop)),
    }
}

/// A set with pages holds what was committed up to its end: 4338 where that is too late. 3145 in the model
/// SIMPLE, 4340 of a mark without a time. What is said else: the log follows.
pub(super) fn of_database(info: &SetInfo, point: &StopPoint) -> Result<Message, BackupError> {
    if info.recovery_model == "SIMPLE" {
        return Err(BackupError::refused(3145, &[]));
    }
    let time = match point {
        StopPoint::Time(time) => Some(*time),
        StopPoint::Mark { after, .. } => *after,
        StopPoint::Lsn { lsn, .. } if lsn.0 > info.last_lsn => return Ok(notice(point)),
        StopPoint::Lsn { .. } => return Err(BackupError::refused(4338, &[])),
    };
    let Some(time) = time else {
        return Err(BackupError::refused(4340, &[]));
    };
    // Sets of before there were times of commits have the time of their end alone.
    let least = match info.last_commit_us {
        Some(last) => last.max(info.started_us),
        None => info.finished_us,
    };
    match time < WallTime::from_unix_us(least) {
        true => Err(BackupError::refused(4338, &[])),
        false => Ok(notice(point)),
    }
}
