//! Plans that are kept: a statement of a text that runs again is not bound again.
//!
//! # When a plan is used again
//! A plan rests on what it was bound to: the current database, the temporary tables in sight, the variables
//! with their places and types, the settings ([`PlanKey`]); the tables and views that its names led to, none
//! of which may have been changed or dropped since, and about as many rows in the tables as there were
//! ([`Basis`]). Where a session has changed definitions itself and not committed, nothing is kept nor used.
//! What looks into a database by name is bound each time.
//!
//! Statements are told apart by where they lie in their text, which keeps them in place as long as it is
//! kept.

use crate::bind::Binder;
use crate::context::Context;
use crate::error::Result;
use crate::query_stats::{QueryStats, TextStats};
use furrow_engine::{Module, Table};
use furrow_format::DatabaseId;
use furrow_scalar::Settings;
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table has other ways to its rows than before when it has this many times the rows, or less than one in
/// this many.
const GROWTH: i64 = 8;
/// Plans that are kept of one text.
const MOST: usize = 1024;
/// Tables of fewer rows are all small.
const SMALL: i64 = 256;

/// What a plan is bound to besides what its names led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlanKey {
    database: DatabaseId,
    /// The temporary tables in sight.
    temp: u64,
    /// How many procedures and texts are at work: table variables are seen by one only.
    depth: usize,
    /// The variables.
    scope: u64,
    settings: Settings,
    row_count: i64,
    /// Whether SNAPSHOT is wanted, which is refused where names are looked up.
    snapshot: bool,
}

impl PlanKey {
    fn of(cx: &Context) -> PlanKey {
        PlanKey {
            database: cx.sessions.database().id(),
            temp: cx.temp.version(),
            depth: cx.procedures.len(),
            scope: cx.scope.shape(),
            settings: cx.settings(),
            row_count: cx.set.row_count,
            snapshot: cx.sessions.asks_snapshot(),
        }
    }
}

/// What the names of a statement led to.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    /// Tables, and how many rows they had.
    tables: Vec<(Arc<Table>, i64)>,
    /// Views of users by schema and name.
    modules: Vec<(String, String, Arc<Module>)>,
    /// Schemas and names that led to nothing before another schema was searched.
    absent: Vec<(String, String)>,
    /// Whether something can't be looked at again in this way.
    other: bool,
}

impl Basis {
    /// A name led to a table.
    pub(crate) fn table(&mut self, table: &Arc<Table>) {
        let rows = table.row_count();
        self.tables.push((Arc::clone(table), rows));
    }

    /// A name led to a view of the current database.
    pub(crate) fn module(&mut self, schema: &str, name: &str, module: &Arc<Module>) {
        let entry = (schema.to_owned(), name.to_owned(), Arc::clone(module));
        self.modules.push(entry);
    }

    /// A name led to nothing in this schema of the current database.
    pub(crate) fn absent(&mut self, schema: &str, name: &str) {
        self.absent.push((schema.to_owned(), name.to_owned()));
    }

    /// A name led elsewhere.
    pub(crate) fn other(&mut self) {
        self.other = true;
    }

    fn holds(&self, cx: &mut Context) -> bool {
        let same = |(table, before): &(Arc<Table>, i64)| {
            let (now, before) = (table.row_count().max(SMALL), (*before).max(SMALL));
            !table.is_superseded() && now / GROWTH <= before && before / GROWTH <= now
        };
        self.tables.iter().all(same)
            && self.modules.iter().all(|(schema, name, module)| {
                let now = cx.sessions.session().module(schema, name);
                now.is_some_and(|now| Arc::ptr_eq(&now, module))
            })
            && self.absent.iter().all(|(schema, name)| {
                let session = cx.sessions.session();
                session.table_in(schema, name).is_err() && session.module(schema, name).is_none()
            })
    }
}

/// A plan that was made.
struct Made {
    key: PlanKey,
    basis: Basis,
    plan: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The plans of a text, by where their statements lie.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    made: Mutex<HashMap<usize, Arc<Made>>>,
    /// Whether all statements have been compiled together.
    compiled: AtomicBool,
    /// What the text's statements have cost, where that is kept.
    stats: Mutex<Option<Arc<TextStats>>>,
}

impl Plans {
    /// Forgets all.
    pub(crate) fn forget(&self) {
        self.made.lock().clear();
    }

    /// Whether all statements have been compiled together.
    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Keeps what the statements cost.
    pub(crate) fn count_in(&self, stats: Arc<TextStats>) {
        *self.stats.lock() = Some(stats);
    }

    /// What the statements have cost, kept anew where the server has forgotten it.
    pub(crate) fn stats(&self, of: &QueryStats) -> Option<Arc<TextStats>> {
        let mut stats = self.stats.lock();
        if let Some(known) = stats.as_mut().filter(|known| known.is_forgotten()) {
            let anew = of.of(&known.text);
            *known = anew;
        }
        stats.clone()
    }

    pub(crate) fn note_compiled(&self) {
        self.compiled.store(true, Ordering::Relaxed);
    }

    fn find<T: Any + Send + Sync>(&self, at: usize, cx: &mut Context) -> Option<Arc<T>> {
        let made = Arc::clone(self.made.lock().get(&at)?);
        if made.key != PlanKey::of(cx) || !made.basis.holds(cx) {
            return None;
        }
        Arc::downcast(Arc::clone(&made.plan)).ok()
    }
}

/// The plan of the part of a statement that `written` is: the one made before, or a new one. `plans` are
/// those of the text that it is a part of.
pub(crate) fn planned<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<Arc<T>> {
    let plans = plans.filter(|_| !cx.sessions.defines());
    let at = std::ptr::from_ref(written).addr();
    if let Some(plan) = plans.and_then(|plans| plans.find(at, cx)) {
        return Ok(plan);
    }
    let mut binder = Binder::new(cx);
    let plan = Arc::new(bind(&mut binder)?);
    let basis = std::mem::take(&mut binder.basis);
    if let Some(plans) = plans
        && !basis.other
    {
        let made = Made {
            key: PlanKey::of(cx),
            basis,
            plan: Arc::clone(&plan) as Arc<dyn Any + Send + Sync>,
        };
        let mut all = plans.made.lock();
        if all.len() < MOST {
            all.insert(at, Arc::new(made));
        }
    }
    Ok(plan)
}
