//! The state of an instance.

use crate::database::Database;
use crate::shared::Shared;
use furrow_format::DatabaseId;
use furrow_io::sync::RwLock;
use furrow_observe::errorlog::{self};
use furrow_tables::DatabaseState;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A database as the instance knows it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: DatabaseId,
    pub(super) name: String,
    pub(super) primary: PathBuf,
    /// Of a snapshot: its source.
    pub(super) source: Option<DatabaseId>,
    pub(super) database: Option<Arc<Database>>,
    /// Of a database that is not open.
    pub(super) state: DatabaseState,
}

/// An instance of the engine.
pub struct Instance {
    pub(super) shared: Arc<Shared>,
    /// By name in lower case.
    pub(super) databases: RwLock<BTreeMap<String, Entry>>,
    /// Brings the error log to its file; ends, and writes what is left, with the instance.
    pub(super) _log_writer: Option<errorlog::Writer>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.databases().into_iter().map(|d| d.name).collect();
        f.debug_struct("Instance")
            .field("databases", &names)
            .finish_non_exhaustive()
    }
}
