//! A database: its files, its log, its catalog, and who works on them.

mod assemble;
mod attach;
mod bootstrap;
mod close;
mod create;
mod doors;
mod error;
mod open;
mod options;
mod rebuild;
mod spec;
mod state;
pub(crate) mod temporary;
mod updateability;
mod words;

pub use doors::Stay;
pub use error::{ColumnFault, EngineError};
pub use options::DatabaseOptions;
pub use spec::{DatabaseSpec, FileGrowth, FileSpec, FilegroupSpec, log_name};
pub use state::DatabaseState;

pub(crate) use attach::{RestingPrimary, attach_resting, open_resting};
pub(crate) use bootstrap::FILES1_PAGE;
pub(crate) use create::{check_paths, create, header_of, now};
pub(crate) use error::os_error;
pub(crate) use open::{Moved, birth, open, sniff, state_after};
pub(crate) use spec::{Asked, DatabasePlan, FilePlan, check_filegroup, plan_file, round_growth};
pub(crate) use state::StateCell;
pub(crate) use updateability::Updateability;
pub(crate) use words::is_full;

use crate::background::{Background, Keeper};
use crate::catalog::Catalog;
use crate::files::{FileBook, Hooks};
use crate::instance::Shared;
use assemble::Registration;
use furrow_format::{DatabaseId, RecoveryModel};
use furrow_io::sync::atomic::{AtomicU32, AtomicU64};
use furrow_io::sync::{Mutex, RwLock};
use furrow_messages::Message;
use furrow_observe::Instruments;
use furrow_observe::errorlog::ErrorLog;
use furrow_space::Space;
use furrow_txn::Store;
use furrow_txn::lock::LockManager;
use std::fmt;
use std::sync::Arc;

/// An open database.
///
/// # What this half of the engine asks of the catalog
/// - `Catalog::open(&Arc<Store>, &Arc<Space>) -> Result<Catalog, EngineError>`: pages are redone, nothing is
///   undone yet; the boot page ([`furrow_format::BOOT_PAGE`]) says where it begins.
/// - `Catalog: furrow_txn::Undo`, by reference, also before undo is finished.
/// - `Catalog::bases(&self) -> &Bases`: typed rows of base tables (`sysprufiles`, `sysphfg`, `sysclsobjs`).
/// - `Catalog::after_undo(&self) -> Result<(), EngineError>`: once, when undo is done: forget what was
///   cached, go on with drops that were interrupted.
/// - `Catalog::write_counts(&self) -> Result<(), EngineError>`: before a checkpoint, with no latch held:
///   counts of rows and pages. May wait for log space, therefore never called while making room in the log.
/// - `Catalog::purge_ghosts(&self, locks: &LockManager, limit: usize) -> Result<usize, EngineError>`: removes
///   up to `limit` leaves' ghosts whose keys nobody has locked.
///
/// Sessions call [`Database::check`] at the start of each statement, and keep what [`Database::enter`] gives
/// them as long as they live: a database in use is not dropped.
pub struct Database {
    pub(crate) id: DatabaseId,
    pub(crate) name: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) store: Arc<Store>,
    pub(crate) space: Arc<Space>,
    pub(crate) locks: LockManager,
    pub(crate) instruments: Arc<Instruments>,
    pub(crate) error_log: Arc<ErrorLog>,
    pub(crate) catalog: Catalog,
    pub(crate) options: RwLock<DatabaseOptions>,
    pub(crate) state: Arc<StateCell>,
    pub(crate) files: FileBook,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) registration: Registration,
    pub(crate) background: Mutex<Option<Background>>,
    pub(crate) access: Updateability,
    /// Of a temporary database: the files that it is made of when the instance starts.
    pub(crate) layout: Option<Mutex<Vec<FilePlan>>>,
    pub(crate) durability: options::Durability,
    /// Sessions in it.
    pub(crate) users: AtomicU32,
    /// Rows loaded in bulk.
    pub(crate) bulk_rows: AtomicU64,
    /// Bytes moved to make files smaller.
    pub(crate) shrink_bytes: AtomicU64,
    /// What its opening has to say to who asked for it.
    pub(crate) told: Mutex<Vec<Message>>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Database");
        shown
            .field("id", &self.id)
            .field("name", &self.name)
            .field("state", &self.state());
        shown.finish_non_exhaustive()
    }
}

impl Database {
    /// Its number within the instance.
    pub fn id(&self) -> DatabaseId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its opening has to say to who asked for it, such as that its log is a new one; once.
    pub fn take_told(&self) -> Vec<Message> {
        std::mem::take(&mut *self.told.lock())
    }

    /// Its state.
    pub fn state(&self) -> DatabaseState {
        self.state.get()
    }

    /// Whether bulk loads may put rows on new pages past the log.
    pub(crate) fn logs_minimally(&self) -> bool {
        self.options.read().recovery_model == RecoveryModel::Simple
    }

    /// An error (926, 942, ...) unless it is online. Cheap: one load.
    #[inline]
    pub fn check(&self) -> Result<(), EngineError> {
        self.state.check(&self.name)
    }
}
