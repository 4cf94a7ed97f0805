//! Cached plans: a statement of a text that runs again is not bound again.
//!
//! # When a plan is used again
//! A plan depends on
//! - the current database, the visible temporary tables, the variables with their positions and types, and
//!   the settings ([`PlanKey`]): all must be the same;
//! - the tables and views that its names were resolved to ([`Basis`]): none may have been changed or dropped,
//!   and each table must have about as many rows as before.
//!
//! No plan is stored or used while the session itself has uncommitted changes of definitions. A statement
//! that looks up names at execution is bound each time.
//!
//! # Definitions that change meanwhile
//! A statement takes Sch-S on every table that its plan depends on before it reads or changes anything
//! ([`ready`], [`bound`]). If a table has changed since the name was resolved, the statement is bound again.
//!
//! A statement is identified by its address in the parsed text, which does not move while the text is stored.

use crate::error::Result;
use crate::query_stats::{QueryStats, TextStats};
use crate::sessions::Sessions;
use crate::shared_plans::SharedPlans;
use crate::temp::NO_TABLES;
use furrow_engine::{Module, Table};
use furrow_format::DatabaseId;
use furrow_scalar::{Settings, Switches};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A plan is bound again when a table has this many times the rows that it had, or less than one in this
/// many.
const GROWTH: i64 = 8;
/// Most plans that are stored for one text.
const MOST: usize = 1024;
/// Tables of fewer rows are all small.
const SMALL: i64 = 256;

/// What a plan depends on besides the objects that its names were resolved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanKey {
    pub(crate) database: DatabaseId,
    /// The visible temporary tables.
    pub(crate) temp: u64,
    /// Number of running procedures and texts: table variables are visible in one of them only.
    pub(crate) depth: usize,
    /// The variables.
    pub(crate) scope: u64,
    pub(crate) settings: Settings,
    pub(crate) row_count: i64,
    /// Whether SNAPSHOT is the isolation level, which is refused when names are resolved.
    pub(crate) snapshot: bool,
}

/// The settings that a plan depends on.
pub(crate) fn bound_under(mut settings: Settings) -> Settings {
    let others = Switches::NOCOUNT
        .and(Switches::XACT_ABORT)
        .and(Switches::IMPLICIT_TRANSACTIONS)
        .and(Switches::CURSOR_CLOSE_ON_COMMIT);
    settings.switches.set(others, false);
    settings
}

/// The objects that the names of a statement were resolved to.
#[derive(Debug, Default)]
pub struct Basis {
    /// Tables with their databases, and how many rows they had.
    tables: Vec<(DatabaseId, Arc<Table>, i64)>,
    /// Views of users by schema and name.
    modules: Vec<(String, String, Arc<Module>)>,
    /// Schemas and names that were not found before another schema was searched.
    absent: Vec<(String, String)>,
    /// Whether the statement depends on something that cannot be verified later.
    other: bool,
}

impl Basis {
    /// Records that a name was resolved to a table.
    pub fn table(&mut self, db: DatabaseId, table: &Arc<Table>) {
        let rows = table.row_count();
        self.tables.push((db, Arc::clone(table), rows));
    }

    /// Records that a name was resolved to a view of the current database.
    pub fn module(&mut self, schema: &str, name: &str, module: &Arc<Module>) {
        let entry = (schema.to_owned(), name.to_owned(), Arc::clone(module));
        self.modules.push(entry);
    }

    /// Records that a name was not found in this schema of the current database.
    pub fn absent(&mut self, schema: &str, name: &str) {
        self.absent.push((schema.to_owned(), name.to_owned()));
    }

    /// Records that a name was resolved to another object, which cannot be verified later.
    pub fn other(&mut self) {
        self.other = true;
    }

    fn holds(&self, sessions: &mut Sessions) -> bool {
        let same = |(_, table, before): &(DatabaseId, Arc<Table>, i64)| {
            let (now, before) = (table.row_count().max(SMALL), (*before).max(SMALL));
            !table.is_superseded() && now / GROWTH <= before && before / GROWTH <= now
        };
        self.tables.iter().all(same)
            && self.modules.iter().all(|(schema, name, module)| {
                let now = sessions.session().module(schema, name);
                now.is_some_and(|now| Arc::ptr_eq(&now, module))
            })
            && self.absent.iter().all(|(schema, name)| {
                let session = sessions.session();
                session.table_in(schema, name).is_err() && session.module(schema, name).is_none()
            })
    }

    /// Locks the definitions of the tables until the statement ends; `false` if one has changed since its
    /// name was resolved. No other session sees a table variable.
    pub fn hold(&self, sessions: &mut Sessions) -> Result<bool> {
        let mut same = true;
        for (db, table, _) in &self.tables {
            if !sessions.is_table_variable(table.name()) {
                same &= sessions.by_id(*db)?.hold_definition(table)?;
            }
        }
        Ok(same)
    }
}

/// A bound plan and what it depends on.
pub struct CachedPlan {
    key: PlanKey,
    basis: Basis,
    plan: Arc<dyn Any + Send + Sync>,
}

impl CachedPlan {
    /// A plan that was bound under the connection's present settings.
    pub fn new<T: Any + Send + Sync>(key: PlanKey, basis: Basis, plan: &Arc<T>) -> Arc<CachedPlan> {
        Arc::new(CachedPlan {
            key,
            basis,
            plan: Arc::clone(plan) as Arc<dyn Any + Send + Sync>,
        })
    }

    /// [`Basis::hold`].
    pub fn hold(&self, sessions: &mut Sessions) -> Result<bool> {
        self.basis.hold(sessions)
    }
}

impl fmt::Debug for CachedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedPlan")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl CachedPlan {
    /// Whether a connection can use it whose statement depends on `key`.
    fn fits(&self, key: &PlanKey, sessions: &mut Sessions) -> bool {
        self.key == *key && self.basis.holds(sessions)
    }
}

/// A connection's plans of a text, by the addresses of its statements.
#[derive(Debug, Default)]
pub struct Plans {
    made: Mutex<HashMap<usize, Arc<CachedPlan>>>,
    /// Those of other connections.
    shared: Arc<SharedPlans>,
    /// Whether all statements have been compiled together.
    compiled: AtomicBool,
    /// The cost of the text's statements, if it is recorded.
    stats: Mutex<Option<Arc<TextStats>>>,
}

impl Plans {
    /// None, of a text whose plans are shared so.
    pub(crate) fn of(shared: &Arc<SharedPlans>) -> Plans {
        Plans {
            shared: Arc::clone(shared),
            ..Plans::default()
        }
    }

    /// Forgets all.
    pub fn forget(&self) {
        self.made.lock().clear();
    }

    /// Whether all statements have been compiled together.
    pub fn is_compiled(&self) -> bool {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Sets where the cost of the statements is recorded.
    pub fn count_in(&self, stats: Arc<TextStats>) {
        *self.stats.lock() = Some(stats);
    }

    /// The cost of the statements; a new record if the server has discarded the old one.
    pub fn stats(&self, of: &QueryStats) -> Option<Arc<TextStats>> {
        let mut stats = self.stats.lock();
        if let Some(known) = stats.as_mut().filter(|known| known.is_forgotten()) {
            let renewed = of.of(&known.text);
            *known = renewed;
        }
        stats.clone()
    }

    /// Records that all statements have been compiled together.
    pub fn note_compiled(&self) {
        self.compiled.store(true, Ordering::Relaxed);
    }

    /// Stores a plan for the statement at this address, unless its names cannot be verified later or too many
    /// plans are stored.
    pub fn keep(&self, at: usize, made: &Arc<CachedPlan>) {
        if made.basis.other {
            return;
        }
        self.store(at, made);
        // The plan of a connection with temporary tables is its own.
        if made.key.temp == NO_TABLES {
            let offered: Arc<dyn Any + Send + Sync> = Arc::clone(made) as _;
            self.shared.offer(at, &offered);
        }
    }

    fn store(&self, at: usize, made: &Arc<CachedPlan>) {
        let mut all = self.made.lock();
        if all.len() < MOST || all.contains_key(&at) {
            all.insert(at, Arc::clone(made));
        }
    }

    /// The plan of the statement at this address, if it can be used again: the connection's own, or else
    /// that of another connection.
    pub fn find<T: Any + Send + Sync>(
        &self,
        at: usize,
        key: PlanKey,
        sessions: &mut Sessions,
    ) -> Option<Planned<T>> {
        let own = self.made.lock().get(&at).map(Arc::clone);
        let made = match own.filter(|made| made.fits(&key, sessions)) {
            Some(made) => made,
            None => {
                let shared: Arc<CachedPlan> = self.shared.find(at)?.downcast().ok()?;
                if !shared.fits(&key, sessions) {
                    return None;
                }
                self.store(at, &shared);
                shared
            }
        };
        let plan = Arc::downcast(Arc::clone(&made.plan)).ok()?;
        Some((plan, made))
    }
}

/// A plan, and what it depends on.
pub type Planned<T> = (Arc<T>, Arc<CachedPlan>);
