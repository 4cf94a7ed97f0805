//! Parameters and result of a restore.

use crate::media::SetInfo;
use crate::run::Parts;
use furrow_engine::{Database, StopPoint};
use furrow_messages::Message;
use std::path::PathBuf;
use std::sync::Arc;

/// How a database is restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreRequest {
    /// The name that the database gets.
    pub name: String,
    /// MOVE: logical names and new paths of these files.
    pub moves: Vec<(String, PathBuf)>,
    /// REPLACE.
    pub replace: bool,
    /// RECOVERY rather than NORECOVERY.
    pub recovery: bool,
    /// FILE: the position of the set; the first one by default.
    pub position: Option<u16>,
    /// CHECKSUM or NO_CHECKSUM, if stated.
    pub checksum: Option<bool>,
    /// CONTINUE_AFTER_ERROR.
    pub continue_after_error: bool,
    /// STANDBY: the undo file of the database, which can be read until its next restore.
    pub standby: Option<PathBuf>,
    /// PARTIAL: the primary filegroup is restored, and these files and filegroups. The database is recovered
    /// without the others.
    pub partial: Option<Parts>,
    /// STOPAT, STOPATMARK, STOPBEFOREMARK.
    pub stop: Option<StopPoint>,
}

/// The result of a restore.
#[derive(Debug)]
pub struct RestoreReport {
    /// The set that was restored.
    pub info: SetInfo,
    /// The database; `None` while it is RESTORING.
    pub database: Option<Arc<Database>>,
    /// Pages of data files and log.
    pub pages: u64,
    /// How long it took.
    pub elapsed_us: u64,
    /// Message 4322 or 4329 if the point to stop at was not reached. The database is then RESTORING, also
    /// WITH RECOVERY.
    pub notice: Option<Message>,
}
