//! What a restore is asked for, and what it has done.

use crate::media::SetInfo;
use furrow_engine::{Database, StopPoint};
use furrow_messages::Message;
use std::path::PathBuf;
use std::sync::Arc;

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
