//! Plans that are kept: a statement of a text that runs again is not bound again.
//!
//! # When a plan is used again
//! A plan rests on what it was bound to: the current database, the temporary tables in sight, the variables
//! with their places and types, the settings ([`PlanKey`]); the tables and views that its names led to, none
//! of which may have been changed or dropped since, and about as many rows in the tables as there were
//! ([`Basis`]). Where a session has changed definitions itself and not committed, nothing is kept nor used.
//! What looks into a database by name is bound each time.
//!
//! # Definitions that change meanwhile
//! A statement that begins to run holds Sch-S on every table that its plan rests on before it reads or
//! changes anything ([`ready`], [`bound`]). Where one has changed since the name was looked up, the
//! statement is bound again.
//!
//! Statements are told apart by where they lie in their text, which keeps them in place as long as it is
//! kept.

use crate::bind::Binder;
use crate::context::Context;
use crate::error::Result;
use crate::query_stats::{QueryStats, TextStats};
use crate::temp::is_table_variable;
use furrow_engine::{Module, Table};
use furrow_format::DatabaseId;
use furrow_scalar::{Settings, Switches};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A table has other ways to its rows than before when it has this many times the rows, or less than one in
/// this many.
const GROWTH: i64 = 8;
/// How often a statement is bound before it runs, while others change the tables that its names lead to.
const ATTEMPTS: u32 = 1000;
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
            settings: bound_under(cx.settings()),
            row_count: cx.set.row_count,
            snapshot: cx.sessions.asks_snapshot(),
        }
    }
}

/// The settings that a plan depends on.
fn bound_under(mut settings: Settings) -> Settings {
    let others = Switches::NOCOUNT
        .and(Switches::XACT_ABORT)
        .and(Switches::IMPLICIT_TRANSACTIONS)
        .and(Switches::CURSOR_CLOSE_ON_COMMIT);
    settings.switches.set(others, false);
    settings
}

/// What the names of a statement led to.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    /// Tables with their databases, and how many rows they had.
    tables: Vec<(DatabaseId, Arc<Table>, i64)>,
    /// Views of users by schema and name.
    modules: Vec<(String, String, Arc<Module>)>,
    /// Schemas and names that led to nothing before another schema was searched.
    absent: Vec<(String, String)>,
    /// Whether something can't be looked at again in this way.
    other: bool,
}

impl Basis {
    /// A name led to a table.
    pub(crate) fn table(&mut self, db: DatabaseId, table: &Arc<Table>) {
        let rows = table.row_count();
        self.tables.push((db, Arc::clone(table), rows));
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
        let same = |(_, table, before): &(DatabaseId, Arc<Table>, i64)| {
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

    /// Keeps the tables as they are until the statement ends; `false` where one has changed since its name
    /// led to it. Nobody else sees a table variable.
    fn hold(&self, cx: &mut Context) -> Result<bool> {
        let mut same = true;
        for (db, table, _) in &self.tables {
            if !is_table_variable(table.name()) {
                same &= cx.sessions.by_id(*db)?.hold_definition(table)?;
            }
        }
        Ok(same)
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

    fn find<T: Any + Send + Sync>(&self, at: usize, cx: &mut Context) -> Option<Planned<T>> {
        let made = Arc::clone(self.made.lock().get(&at)?);
        if made.key != PlanKey::of(cx) || !made.basis.holds(cx) {
            return None;
        }
        let plan = Arc::downcast(Arc::clone(&made.plan)).ok()?;
        Some((plan, made))
    }
}

/// A plan, and what it rests on.
type Planned<T> = (Arc<T>, Arc<Made>);

/// The plan of the part of a statement that `written` is: the one made before, or a new one. `plans` are
/// those of the text that it is a part of.
pub(crate) fn planned<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<Arc<T>> {
    Ok(find_or_make(plans, written, cx, bind)?.0)
}

/// The same for a statement that begins to run: the definitions that the plan rests on do not change before
/// the statement ends.
pub(crate) fn ready<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    mut bind: impl FnMut(&mut Binder<'_>) -> Result<T>,
) -> Result<Arc<T>> {
    until_held(cx, |cx| {
        let (plan, made) = find_or_make(plans, written, cx, &mut bind)?;
        let held = made.basis.hold(cx)?;
        Ok((plan, held))
    })
}

/// What a statement that begins to run is bound to, where it is bound each time.
pub(crate) fn bound<T>(
    cx: &mut Context,
    mut bind: impl FnMut(&mut Binder<'_>) -> Result<T>,
) -> Result<T> {
    until_held(cx, |cx| {
        let mut binder = Binder::new(cx);
        let bound = bind(&mut binder)?;
        let basis = std::mem::take(&mut binder.basis);
        let held = basis.hold(cx)?;
        Ok((bound, held))
    })
}

/// Binds until no definition has changed between a name's being looked up and its table's being held. A
/// table that is held stays as it is, so that each attempt settles at least one more; only names that lead to
/// other tables each time can use all attempts up. Nothing of the statement has run before.
fn until_held<T>(
    cx: &mut Context,
    mut bind: impl FnMut(&mut Context) -> Result<(T, bool)>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        let (plan, held) = bind(cx)?;
        // What is stale after so many attempts is refused where it is locked (2801).
        if held || attempt == ATTEMPTS {
            return Ok(plan);
        }
        attempt += 1;
        cx.check_cancel()?;
    }
}

fn find_or_make<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<Planned<T>> {
    let plans = plans.filter(|_| !cx.sessions.defines());
    let at = std::ptr::from_ref(written).addr();
    if let Some(found) = plans.and_then(|plans| plans.find(at, cx)) {
        return Ok(found);
    }
    let mut binder = Binder::new(cx);
    let plan = Arc::new(bind(&mut binder)?);
    let basis = std::mem::take(&mut binder.basis);
    let is_kept = !basis.other;
    let made = Arc::new(Made {
        key: PlanKey::of(cx),
        basis,
        plan: Arc::clone(&plan) as Arc<dyn Any + Send + Sync>,
    });
    if let Some(plans) = plans.filter(|_| is_kept) {
        let mut all = plans.made.lock();
        if all.len() < MOST || all.contains_key(&at) {
            all.insert(at, Arc::clone(&made));
        }
    }
    Ok((plan, made))
}
