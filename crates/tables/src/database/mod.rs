//! An open database as tables and sessions use it.
//!
//! The crate `engine` opens, recovers and closes a database, and owns its files and threads. What tables and
//! sessions need of it is in [`DatabaseCore`]: pages and log, space, locks, catalog, options, state.

mod error_text;
mod options;
mod state;
mod updateability;
mod user_access;

pub use options::{DatabaseOptions, Durability};
pub use state::{DatabaseState, StateCell};
pub use updateability::Updateability;
pub use user_access::DatabaseRef;

use crate::catalog::Catalog;
use crate::error::EngineError;
use crate::table::{IndexKind, Table};
use furrow_format::{DatabaseId, RecoveryModel};
use furrow_io::sync::RwLock;
use furrow_io::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use furrow_observe::Instruments;
use furrow_observe::errorlog::ErrorLog;
use furrow_observe::traceflags::TraceFlag;
use furrow_space::Space;
use furrow_txn::Store;
use furrow_txn::lock::LockManager;
use std::fmt;
use std::sync::Arc;

/// Leaves that one call of [`DatabaseCore::purge_ghosts`] cleans.
pub const GHOST_LEAVES: usize = 64;

/// The parts of a database that its opening provides.
#[derive(Debug)]
pub struct CoreParts {
    /// Name.
    pub name: String,
    /// Options of the boot page.
    pub options: DatabaseOptions,
    /// Pages and log.
    pub store: Arc<Store>,
    /// Files and allocation.
    pub space: Arc<Space>,
    /// Catalog.
    pub catalog: Catalog,
    /// State.
    pub state: Arc<StateCell>,
    /// Whether it takes changes.
    pub access: Updateability,
    /// Locks of the instance.
    pub locks: LockManager,
    /// Instruments of the instance.
    pub instruments: Arc<Instruments>,
    /// Error log of the instance.
    pub error_log: Arc<ErrorLog>,
    /// Whether a backup is under way.
    pub backed_up: Arc<AtomicBool>,
}

/// An open database without its files and threads.
///
/// A session calls [`DatabaseCore::check`] at the start of each statement, and holds a [`DatabaseRef`] of
/// [`DatabaseCore::enter`] as long as it lives: a database in use is not closed or dropped.
pub struct DatabaseCore {
    /// Number within the instance.
    pub id: DatabaseId,
    /// Name.
    pub name: String,
    /// Pages and log.
    pub store: Arc<Store>,
    /// Files and allocation.
    pub space: Arc<Space>,
    /// Locks of the instance.
    pub locks: LockManager,
    /// Instruments of the instance.
    pub instruments: Arc<Instruments>,
    /// Error log of the instance.
    pub error_log: Arc<ErrorLog>,
    /// Catalog.
    pub catalog: Catalog,
    /// Options, as the boot page has them.
    pub options: RwLock<DatabaseOptions>,
    /// State.
    pub state: Arc<StateCell>,
    /// Whether it takes changes.
    pub access: Updateability,
    /// The option that each commit reads.
    pub durability: Durability,
    /// Rows loaded in bulk.
    pub bulk_rows: AtomicU64,
    /// Whether a backup is under way.
    backed_up: Arc<AtomicBool>,
    /// Number of sessions in the database, and whether further ones may enter.
    users: AtomicU32,
}

impl fmt::Debug for DatabaseCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseCore")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl DatabaseCore {
    /// A database of these parts.
    pub fn new(parts: CoreParts) -> Arc<DatabaseCore> {
        Arc::new(DatabaseCore {
            id: parts.store.db(),
            name: parts.name,
            store: parts.store,
            space: parts.space,
            locks: parts.locks,
            instruments: parts.instruments,
            error_log: parts.error_log,
            catalog: parts.catalog,
            durability: Durability::new(parts.options.delayed_durability),
            options: RwLock::new(parts.options),
            state: parts.state,
            access: parts.access,
            bulk_rows: AtomicU64::new(0),
            backed_up: parts.backed_up,
            users: AtomicU32::new(0),
        })
    }

    /// Number within the instance.
    pub fn id(&self) -> DatabaseId {
        self.id
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// State.
    pub fn state(&self) -> DatabaseState {
        self.state.get()
    }

    /// Options.
    pub fn options(&self) -> DatabaseOptions {
        *self.options.read()
    }

    /// Catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Whether bulk loads may fill new pages without logging their rows. While a backup is under way they may
    /// not: it would have to copy these pages again and again before its log can end.
    pub(crate) fn logs_minimally(&self) -> bool {
        let model = self.options.read().recovery_model;
        model == RecoveryModel::Simple && !self.backed_up.load(Ordering::Acquire)
    }

    /// An error (926, 942, ...) unless the database is online. The cost is one load.
    #[inline]
    pub fn check(&self) -> Result<(), EngineError> {
        self.state.check(&self.name)
    }

    /// A transaction could not be ended: what it has logged may be lost. Marks the database suspect. Called
    /// before the locks of the transaction are released, so that no other session gives its client what was
    /// under them.
    pub(crate) fn fail(&self, error: &EngineError) {
        // A database that was let go is not online, and reports nothing any more.
        if self.state() == DatabaseState::Online {
            self.store.poison(error.to_string());
            self.state.fail_online(error, &self.name, &self.error_log);
        }
        debug_assert_ne!(
            self.state(),
            DatabaseState::Online,
            "no session reads any more"
        );
    }

    /// Removes ghosts that no transaction can restore, of at most [`GHOST_LEAVES`] leaves. Returns the
    /// number of rows removed.
    pub fn purge_ghosts(&self) -> Result<usize, EngineError> {
        self.check()?;
        if self.is_read_only() {
            return Ok(0);
        }
        self.catalog.purge_ghosts(&self.locks, GHOST_LEAVES)
    }

    /// Counts units that were dropped, and removes ghosts of the catalog now and then. The commit before is
    /// durable: a failure is not its own, and the ghosts stay queued.
    pub(crate) fn purge_after_drop(&self, units: u64) {
        let rests = self
            .instruments
            .trace_flags
            .is_on_globally(TraceFlag::NO_GHOST_CLEANUP);
        let purges = units > 0 && !rests && self.check().is_ok();
        if purges && let Err(error) = self.catalog.purge_after_drop(units, GHOST_LEAVES) {
            tracing::warn!(%error, "ghosts could not be removed");
        }
    }

    /// 652 for a table that has an index, or itself lies, in a read-only filegroup.
    ///
    /// 8653 or 8607 for one in a filegroup that is not online.
    #[inline]
    pub(crate) fn check_filegroups(&self, table: &Table) -> Result<(), EngineError> {
        if self.space.has_offline() {
            self.check_online(table)?;
        }
        if self.space.has_read_only() {
            self.check_indexes(table)?;
        }
        Ok(())
    }

    /// 8653 for a table that lies in a filegroup that is not online, 8607 for one with such an index.
    #[cold]
    fn check_online(&self, table: &Table) -> Result<(), EngineError> {
        let mut indexes = table.indexes().iter();
        let Some(index) = indexes.find(|index| index.is_offline()) else {
            return Ok(());
        };
        let number = match index.kind() {
            IndexKind::Nonclustered => 8607,
            IndexKind::Heap | IndexKind::Clustered => 8653,
        };
        Err(EngineError::refused(number, &[table.name().into()]))
    }

    #[cold]
    fn check_indexes(&self, table: &Table) -> Result<(), EngineError> {
        for index in table.indexes() {
            let group = index.rowset().filegroup();
            if !self.space.is_read_only(group) {
                continue;
            }
            let groups = self.space.filegroups();
            let group = groups.iter().find(|g| g.id == group);
            let group = group.map_or("", |g| g.name.as_str());
            // A heap has no name.
            let name = if index.id() == 0 { "" } else { index.name() };
            let of = format!("{}.{}", table.schema(), table.name());
            let args = [
                name.into(),
                of.into(),
                index.rowset().id().0.into(),
                group.into(),
            ];
            return Err(EngineError::refused(652, &args));
        }
        Ok(())
    }
}
