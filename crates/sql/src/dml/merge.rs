//! MERGE.
//!
//! 1. The source is joined with the target; each row gets the first WHEN that applies to it. A row of the
//!    target that would be changed twice is refused (8672).
//! 2. If there is a WHEN NOT MATCHED BY SOURCE, the target is read once more for rows without a match.
//! 3. After all reading, the tasks are carried out: rows are deleted first, then updated, then inserted. So a
//!    row can get a key that another row had before.
//!
//! Tasks are stored as rows of values, in a file if they do not fit into memory. A row has the kind of its
//! task, the clause that requested it, the key of the target's row, the new values, and, if the rules use
//! them, the old row and the source's row.

use super::changes::{Change, OnceOnly, by_name, change_as_one, change_each, values_of};
use super::insert::{put_whole, row_of};
use super::rules::{Rules, Verb, as_kept, send_output};
use super::target::{
    Names, TargetKind, TargetOf, alone, beneath, columns_of, named, names_through, topped,
};
use super::update::{
    Set, bind_sets, check_prefixes, evaluate, note_variables, of_table, sets_unique_key,
};
use furrow_bind::{Binder, Node, SourceNode, UpdatableView, bound};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::memory::Grant;
use furrow_context::run::Run;
use furrow_engine::{RowKey, Table};
use furrow_exec::operator::Operator;
use furrow_exec::spill::{RowWriter, Rows, Store};
use furrow_exec::{Cond, Expr, Plan};
use furrow_tsql::ast::dml::{Merge, MergeAction, MergeClause, MergeWhen};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Join, JoinKind, TableRef, TableSource};
use furrow_types::Value;
use std::collections::HashSet;
use std::ops::Range;

/// An INSERT of a WHEN: columns, values, and defaults of the other columns.
struct Added {
    columns: Vec<usize>,
    values: Vec<Expr>,
    fills: Vec<(usize, Expr)>,
}

enum Action {
    Update {
        sets: Vec<Set>,
        /// The columns that are assigned, in the order of the assignments.
        columns: Vec<usize>,
        /// Whether a unique key changes.
        key: bool,
    },
    Delete,
    Insert(Added),
}

/// A WHEN, bound.
struct When {
    /// Its position among the clauses of the statement.
    clause: usize,
    when: MergeWhen,
    cond: Option<Cond>,
    action: Action,
}

/// Positions in the wide row.
struct Places {
    row: Range<usize>,
    name: usize,
    /// The first column of the target: of the query through which it is changed, or of its row.
    target: usize,
}

/// What a task does with a row of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Delete,
    Update,
    Insert,
}

impl Kind {
    const fn value(self) -> Value {
        Value::TinyInt(match self {
            Kind::Delete => 0,
            Kind::Update => 1,
            Kind::Insert => 2,
        })
    }

    /// The value of `$action`.
    const fn name(self) -> &'static str {
        match self {
            Kind::Delete => "DELETE",
            Kind::Update => "UPDATE",
            Kind::Insert => "INSERT",
        }
    }
}

/// A stored task.
struct Task<'r> {
    kind: Kind,
    clause: usize,
    name: &'r Value,
    /// New values, old row, source's row.
    values: &'r [Value],
}

impl<'r> Task<'r> {
    fn of(row: &'r [Value]) -> Option<Task<'r>> {
        let [Value::TinyInt(kind), Value::Int(clause), name, values @ ..] = row else {
            return None;
        };
        Some(Task {
            kind: match kind {
                0 => Kind::Delete,
                1 => Kind::Update,
                _ => Kind::Insert,
            },
            clause: usize::try_from(*clause).ok()?,
            name,
            values,
        })
    }

    fn key(&self) -> Option<RowKey> {
        match self.name {
            Value::Binary(name) => RowKey::from_bytes(name),
            _ => None,
        }
    }
}

/// Memory of a row key in a set besides its bytes.
const NAME_BYTES: usize = 96;

/// Row keys of the target that have a match in the source, for WHEN NOT MATCHED BY SOURCE.
struct MatchedKeys {
    names: HashSet<Vec<u8>>,
    grant: Grant,
}

/// The tasks of a MERGE.
struct MergeActions<'k> {
    tasks: RowWriter,
    met: Option<MatchedKeys>,
    changed: OnceOnly<'k>,
    /// Whether tasks include the old row.
    whole: bool,
    /// Number of columns of the wide row that belong to the source, if OUTPUT uses them.
    around: usize,
    /// Whether a unique key changes.
    keys: bool,
}

impl MergeActions<'_> {
    /// Stores a task: its kind and clause, the key of its row, and its values.
    fn push(
        &mut self,
        (kind, clause): (Kind, usize),
        name: Value,
        values: Vec<Value>,
    ) -> Result<()> {
        let mut row = vec![kind.value(), Value::Int(clause as i32), name];
        row.extend(values);
        self.tasks.push(row)
    }

    /// The source's row, if OUTPUT uses it; NULLs for a row without a match in the source.
    fn seen(&self, row: &[Value], kind: MergeWhen) -> Vec<Value> {
        match kind {
            MergeWhen::NotMatchedBySource => vec![Value::Null; self.around],
            _ => row.get(..self.around).unwrap_or(&[]).to_vec(),
        }
    }
}

/// A MERGE whose source is joined with its target.
struct MergePlan {
    target: TargetOf,
    kind: TargetKind,
    rules: Rules,
    pass: Pass,
    /// Number of columns of the wide row that belong to the source, if OUTPUT uses them.
    around: usize,
}

/// One pass over rows, and the tasks for them.
struct Pass {
    plan: Plan,
    places: Places,
    whens: Vec<When>,
}

/// Runs a MERGE.
pub(crate) fn merge(run: &mut Run<'_>, written: &Merge) -> Result<()> {
    let (rows, outputs) = run.cx.statement(|cx| {
        let MergePlan {
            target,
            kind,
            mut rules,
            pass,
            around,
        } = bound(cx, |binder| bind(binder, written))?;
        let by_source = written.clauses.iter().any(|c| is_by_source(c.when));
        let by_name = by_name(0);
        let mut found = MergeActions {
            tasks: RowWriter::new(cx),
            met: by_source.then(|| MatchedKeys {
                names: HashSet::new(),
                grant: Grant::new(&cx.memory),
            }),
            changed: OnceOnly::new(&by_name, cx),
            whole: rules.whole(),
            around,
            keys: false,
        };
        let Pass { places, whens, .. } = &pass;
        pass.plan
            .for_each(cx, &mut |cx, row| look(cx, row, places, whens, &mut found))?;
        let alone = match by_source {
            true => {
                let bind =
                    |binder: &mut Binder<'_>| bind_alone(binder, written, (&target, kind), &rules);
                let alone = bound(cx, bind)?;
                let Pass { places, whens, .. } = &alone;
                alone.plan.for_each(cx, &mut |cx, row| {
                    look_alone(cx, row, places, whens, &mut found)
                })?;
                alone.whens
            }
            false => Vec::new(),
        };
        let MergeActions {
            tasks,
            changed,
            keys,
            ..
        } = found;
        changed.finish(cx)?;
        let mut whens: Vec<&When> = whens.iter().chain(&alone).collect();
        whens.sort_by_key(|when| when.clause);
        let executor = TaskExecutor {
            target: &target,
            whens: &whens,
            tasks: tasks.finish()?,
        };
        let rows = executor.apply(cx, &mut rules, keys)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    send_output(run, outputs, rows)
}

fn is_by_source(when: MergeWhen) -> bool {
    when == MergeWhen::NotMatchedBySource
}

/// Binds the join of the source with the target.
fn bind(binder: &mut Binder<'_>, written: &Merge) -> Result<MergePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let (target, kind) = beneath(binder, &written.target)?;
    let joined = TableRef::Join(Box::new(Join {
        left: written.source.clone(),
        right: source_of(written)?,
        kind: JoinKind::Left,
        on: Some(written.on.clone()),
        hint: None,
    }));
    let (node, places, through) = from(binder, written, (&target, kind), &joined)?;
    let mut around = binder.level().sources.clone();
    around.retain(|s| s.start < places.target);
    let seen = (through.as_ref(), around.as_slice());
    let rules = Rules::bind(binder, Verb::Merge, &target, &written.output, seen)?;
    let by_target = |w: MergeWhen| !is_by_source(w);
    let whens = whens(
        binder,
        written,
        (&target.table, through.as_ref()),
        &rules,
        &places,
        by_target,
    )?;
    if rules.whole() {
        binder.use_all(places.row.clone());
    }
    let plan = binder.place(node, Vec::new());
    let plan = topped(binder, plan, written.top.as_ref())?;
    Ok(MergePlan {
        around: match rules.looks_around {
            true => places.target,
            false => 0,
        },
        target,
        kind,
        rules,
        pass: Pass {
            plan,
            places,
            whens,
        },
    })
}

/// Binds the target alone, for its rows without a match in the source.
fn bind_alone(
    binder: &mut Binder<'_>,
    written: &Merge,
    target: (&TargetOf, TargetKind),
    rules: &Rules,
) -> Result<Pass> {
    binder.define(&written.ctes)?;
    let alone = source_of(written)?;
    let (node, places, through) = from(binder, written, target, &alone)?;
    let table = (&*target.0.table, through.as_ref());
    let whens = whens(binder, written, table, rules, &places, is_by_source)?;
    if rules.whole() {
        binder.use_all(places.row.clone());
    }
    let plan = binder.place(node, Vec::new());
    Ok(Pass {
        plan,
        places,
        whens,
    })
}

/// The target as a source.
fn source_of(written: &Merge) -> Result<TableRef> {
    let mut source = alone(&written.target, &named(&written.target)?);
    if let TableRef::Table(table) = &mut source {
        let TableSource { alias, .. } = &mut **table;
        alias.clone_from(&written.alias);
    }
    Ok(source)
}

/// Binds the target, alone or on the right of its join with the source, and finds the position of its row.
fn from(
    binder: &mut Binder<'_>,
    written: &Merge,
    (target, kind): (&TargetOf, TargetKind),
    source: &TableRef,
) -> Result<(Node, Places, Option<Names>)> {
    for clause in &written.clauses {
        if let MergeAction::Update(sets) = &clause.action {
            note_variables(binder, sets);
        }
    }
    let name = named(&written.target)?;
    let through = || UpdatableView::new(name.name());
    binder.updatable_view = (kind == TargetKind::Query).then(through);
    binder.target = Some(SourceNode::of(match source {
        TableRef::Join(join) => &join.right,
        alone => alone,
    }));
    let node = binder.from(std::slice::from_ref(source))?;
    let at = binder.target_at.take();
    let source = at.and_then(|at| binder.level().sources.get(at).cloned());
    let (Some(node), Some(of_target)) = (node, source) else {
        return refuse(208, &[furrow_bind::shown(&name).into()]);
    };
    let names = names_through(binder, &of_target);
    let name = of_target.start + of_target.columns.len() - 1;
    let places = Places {
        row: name - target.table.columns().len()..name,
        name,
        target: of_target.start,
    };
    Ok((node, places, names))
}

fn whens(
    binder: &mut Binder<'_>,
    written: &Merge,
    table: (&Table, Option<&Names>),
    rules: &Rules,
    places: &Places,
    wanted: impl Fn(MergeWhen) -> bool,
) -> Result<Vec<When>> {
    let mut bound = Vec::new();
    let all = written.clauses.iter().enumerate();
    for (at, clause) in all.filter(|(_, c)| wanted(c.when)) {
        if let MergeAction::Update(sets) = &clause.action {
            check_prefixes(binder, sets, &written.target, places.row.start)?;
        }
        binder.only_target = is_by_source(clause.when);
        bound.push(when(binder, (at, clause), table, rules, places)?);
    }
    Ok(bound)
}

fn when(
    binder: &mut Binder<'_>,
    (at, clause): (usize, &MergeClause),
    (table, through): (&Table, Option<&Names>),
    rules: &Rules,
    places: &Places,
) -> Result<When> {
    let cond = match &clause.condition {
        Some(condition) => Some(binder.cond(condition)?),
        None => None,
    };
    let action = match &clause.action {
        MergeAction::Update(sets) => {
            let start = places.row.start;
            let sets = match through {
                Some(names) => bind_sets(binder, &of_table(sets, names, table)?, table, start)?,
                None => bind_sets(binder, sets, table, start)?,
            };
            Action::Update {
                columns: sets.iter().filter_map(Set::column).collect(),
                key: sets_unique_key(table, &sets),
                sets,
            }
        }
        MergeAction::Delete => Action::Delete,
        MergeAction::Insert(names, values) => {
            let names: Vec<ObjectName> = names.iter().cloned().map(ObjectName::single).collect();
            let columns = columns_of(table, through, &names)?;
            let values = row_of(binder, table, &columns, values, !names.is_empty())?;
            let fills = rules.fills_for(binder, table, &columns)?;
            Action::Insert(Added {
                columns,
                values,
                fills,
            })
        }
        MergeAction::InsertDefaults => Action::Insert(Added {
            columns: Vec::new(),
            values: Vec::new(),
            fills: rules.fills_for(binder, table, &[])?,
        }),
    };
    Ok(When {
        clause: at,
        when: clause.when,
        cond,
        action,
    })
}

/// The first WHEN of a kind whose condition is true.
fn chosen<'w>(
    cx: &mut Context,
    row: &[Value],
    whens: &'w [When],
    kind: MergeWhen,
) -> Result<Option<&'w When>> {
    for when in whens.iter().filter(|w| w.when == kind) {
        let holds = match &when.cond {
            Some(cond) => cond.holds(row, cx)?,
            None => true,
        };
        if holds {
            return Ok(Some(when));
        }
    }
    Ok(None)
}

/// Handles a row of the source with its match in the target, if there is one.
fn look(
    cx: &mut Context,
    row: &[Value],
    places: &Places,
    whens: &[When],
    found: &mut MergeActions<'_>,
) -> Result<()> {
    if let Some(Value::Binary(name)) = row.get(places.name) {
        if let Some(met) = &mut found.met
            && met.names.insert(name.clone())
        {
            met.grant.take_beyond(name.len() + NAME_BYTES)?;
        }
        return change(cx, row, places, (whens, MergeWhen::Matched), found);
    }
    let when = chosen(cx, row, whens, MergeWhen::NotMatchedByTarget)?;
    let Some(When {
        clause,
        action: Action::Insert(added),
        ..
    }) = when
    else {
        return Ok(());
    };
    let mut values = Vec::with_capacity(added.values.len());
    for value in &added.values {
        values.push(value.eval(row, cx)?.into_owned());
    }
    values.extend(found.seen(row, MergeWhen::NotMatchedByTarget));
    found.push((Kind::Insert, *clause), Value::Null, values)
}

/// Handles a row of the target, if it has no match in the source.
fn look_alone(
    cx: &mut Context,
    row: &[Value],
    places: &Places,
    whens: &[When],
    found: &mut MergeActions<'_>,
) -> Result<()> {
    let is_met = |name: &Vec<u8>| {
        let met = found.met.as_ref();
        met.is_some_and(|met| met.names.contains(name))
    };
    match row.get(places.name) {
        Some(Value::Binary(name)) if !is_met(name) => change(
            cx,
            row,
            places,
            (whens, MergeWhen::NotMatchedBySource),
            found,
        ),
        _ => Ok(()),
    }
}

fn change(
    cx: &mut Context,
    row: &[Value],
    places: &Places,
    (whens, kind): (&[When], MergeWhen),
    found: &mut MergeActions<'_>,
) -> Result<()> {
    let Some(when) = chosen(cx, row, whens, kind)? else {
        return Ok(());
    };
    let Some(name @ Value::Binary(_)) = row.get(places.name) else {
        return Ok(());
    };
    found.changed.push(name, cx)?;
    let (task, mut values) = match &when.action {
        Action::Update { sets, key, .. } => {
            found.keys |= key;
            let values = evaluate(sets, row, cx)?;
            (Kind::Update, values.into_iter().map(|(_, v)| v).collect())
        }
        Action::Delete => (Kind::Delete, Vec::new()),
        Action::Insert(_) => return Ok(()),
    };
    if found.whole {
        values.extend_from_slice(row.get(places.row.clone()).unwrap_or(&[]));
        values.extend(found.seen(row, kind));
    }
    found.push((task, when.clause), name.clone(), values)
}

/// Carries out the tasks.
struct TaskExecutor<'m> {
    target: &'m TargetOf,
    /// In the order of the clauses.
    whens: &'m [&'m When],
    tasks: Rows,
}

impl TaskExecutor<'_> {
    fn action(&self, clause: usize) -> Option<&Action> {
        let at = self.whens.binary_search_by_key(&clause, |when| when.clause);
        self.whens.get(at.ok()?).map(|when| &when.action)
    }

    /// Carries out all tasks; returns the number of changed rows. OUTPUT gets rows in the order in which they
    /// were found.
    fn apply(&self, cx: &mut Context, rules: &mut Rules, as_one: bool) -> Result<u64> {
        let mut absent = self.delete(cx)?;
        absent.extend(self.update(cx, as_one)?);
        absent.sort_unstable();
        let inserted = self.insert(cx, rules)?;
        if rules.whole() {
            self.put_out(cx, rules, &absent, inserted)?;
        }
        Ok(self.tasks.count() - absent.len() as u64)
    }

    /// Deletes rows; returns the numbers of those that no longer existed.
    fn delete(&self, cx: &mut Context) -> Result<Vec<u64>> {
        let (target, table) = (self.target, &self.target.table);
        let mut absent = Vec::new();
        self.tasks.for_each(|number, row| {
            let task = Task::of(row).filter(|task| task.kind == Kind::Delete);
            let Some(key) = task.and_then(|task| task.key()) else {
                return Ok(());
            };
            cx.check_cancel()?;
            let session = cx.sessions.by_table(target.db.id(), table)?;
            if !session.hinted(target.hints, |s| s.delete(table, &key))? {
                absent.push(number);
            }
            Ok(())
        })?;
        Ok(absent)
    }

    /// The change of a row by an UPDATE.
    fn change(&self, row: &[Value]) -> Option<Change> {
        let task = Task::of(row).filter(|task| task.kind == Kind::Update)?;
        match self.action(task.clause)? {
            Action::Update { columns, .. } => Some((task.key()?, values_of(task.values, columns))),
            Action::Delete | Action::Insert(_) => None,
        }
    }

    /// Updates rows; returns the numbers of those that no longer existed. `as_one`: rows may exchange their
    /// keys.
    fn update(&self, cx: &mut Context, as_one: bool) -> Result<Vec<u64>> {
        match as_one {
            true => change_as_one(cx, self.target, &self.tasks, &|row| self.change(row)),
            false => change_each(cx, self.target, &self.tasks, &|row| self.change(row)),
        }
    }

    /// Inserts rows. Returns them as they are stored, in order, if the rules use them.
    fn insert(&self, cx: &mut Context, rules: &mut Rules) -> Result<RowWriter> {
        let mut inserted = RowWriter::new(cx);
        self.tasks.for_each(|_, row| {
            let Some(task) = Task::of(row).filter(|task| task.kind == Kind::Insert) else {
                return Ok(());
            };
            let Some(Action::Insert(added)) = self.action(task.clause) else {
                return Ok(());
            };
            cx.check_cancel()?;
            rules.fills.clone_from(&added.fills);
            let values = task.values.get(..added.values.len()).unwrap_or(&[]);
            let row = put_whole(cx, self.target, &added.columns, values, rules)?;
            match rules.whole() {
                true => inserted.push(row),
                false => Ok(()),
            }
        })?;
        Ok(inserted)
    }

    /// Checks the changed rows, and passes all rows to OUTPUT.
    fn put_out(
        &self,
        cx: &mut Context,
        rules: &mut Rules,
        absent: &[u64],
        inserted: RowWriter,
    ) -> Result<()> {
        let width = self.target.table.columns().len();
        let mut inserted = Store::from(inserted.finish()?);
        self.tasks.for_each(|number, row| {
            cx.check_cancel()?;
            let Some(task) = Task::of(row).filter(|_| absent.binary_search(&number).is_err())
            else {
                return Ok(());
            };
            let new_values = match self.action(task.clause) {
                Some(Action::Update { columns, .. }) => columns.len(),
                Some(Action::Insert(added)) => added.values.len(),
                Some(Action::Delete) | None => 0,
            };
            let behind = task.values.get(new_values..).unwrap_or(&[]);
            let mut seen = Vec::new();
            let around = match task.kind {
                Kind::Insert => {
                    inserted.next(cx, &mut seen)?;
                    seen.resize(2 * width, Value::Null);
                    behind
                }
                Kind::Delete | Kind::Update => {
                    let (old, around) = behind.split_at_checked(width).unwrap_or((behind, &[]));
                    match task.kind {
                        Kind::Update => {
                            seen.extend(self.changed_row(row, old));
                            rules.check(cx, self.target, &seen)?;
                        }
                        _ => seen.resize(width, Value::Null),
                    }
                    seen.extend_from_slice(old);
                    around
                }
            };
            seen.push(Value::NVarChar(task.kind.name().to_owned()));
            seen.extend_from_slice(around);
            rules.put_out(cx, &seen)
        })
    }

    /// A whole row after its change.
    fn changed_row(&self, task: &[Value], old: &[Value]) -> Vec<Value> {
        let mut row = old.to_vec();
        let changes = self.change(task).map(|(_, values)| values);
        for (column, value) in changes.unwrap_or_default() {
            let of = self.target.table.columns().get(column);
            if let Some((slot, of)) = row.get_mut(column).zip(of) {
                *slot = as_kept(&value, &of.data_type);
            }
        }
        row
    }
}
