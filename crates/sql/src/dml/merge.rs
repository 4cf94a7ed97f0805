//! MERGE.
//!
//! 1. The source is joined with the target; each row gets the first WHEN that fits it. A row of the target
//!    that is to be changed twice is refused (8672).
//! 2. Where a WHEN speaks of rows that the source lacks, the target is read once more for those that were not
//!    met.
//! 3. What was found is done, so that no change is met by what finds rows: first rows go, then rows change,
//!    then rows come, so that a key which one gives up another may take.

use super::insert::{columns_of, put_whole, row_of};
use super::rules::{Rules, Verb, tell};
use super::target::{TargetOf, resolve, topped};
use super::update::{
    Change, Set, bind_sets, change_rows, check_prefixes, evaluate, sets_unique_key,
};
use crate::bind::{Binder, Node, SourceNode};
use crate::context::Context;
use crate::error::{Result, refuse};
use crate::exec::{Cond, Expr, Plan};
use crate::interp::{Run, bound};
use furrow_engine::{RowKey, Table};
use furrow_tsql::ast::dml::{Merge, MergeAction, MergeClause, MergeWhen};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Join, JoinKind, TableRef, TableSource};
use furrow_types::Value;
use std::collections::HashSet;
use std::ops::Range;

/// An INSERT of a WHEN: columns, values, and defaults of the others.
struct Added {
    columns: Vec<usize>,
    values: Vec<Expr>,
    fills: Vec<(usize, Expr)>,
}

enum Action {
    Update {
        sets: Vec<Set>,
        /// Whether a key changes that no two rows may share.
        key: bool,
    },
    Delete,
    Insert(Added),
}

/// A WHEN, bound.
struct When {
    when: MergeWhen,
    cond: Option<Cond>,
    action: Action,
}

/// What is to be done with a row.
enum Task {
    Update(Change),
    /// The row's name, what it was, and the source's row with it.
    Delete(RowKey, Vec<Value>, Vec<Value>),
    /// The WHEN, the values, and the source's row.
    Insert(usize, Vec<Value>, Vec<Value>),
}

/// What is found in the wide row.
struct Places {
    row: Range<usize>,
    name: usize,
}

/// What was found to be done.
#[derive(Default)]
struct Found {
    tasks: Vec<Task>,
    /// Names of the target's rows that the source has.
    met: HashSet<Vec<u8>>,
    changed: HashSet<Vec<u8>>,
    /// How much of the wide row is the source's, where OUTPUT looks at it.
    around: usize,
    /// Whether keys change that no two rows may share.
    keys: bool,
}

impl Found {
    /// The rows that change, with their places among the tasks.
    fn changes(&self) -> impl Iterator<Item = (usize, &Change)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter_map(|(at, task)| match task {
            Task::Update(change) => Some((at, change)),
            _ => None,
        })
    }

    /// The source's row, where OUTPUT looks at it; NULLs for a row that the source lacks.
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
    rules: Rules,
    pass: Pass,
    /// How much of the wide row is the source's, where OUTPUT looks at it.
    around: usize,
}

/// A reading of rows, and what is done with them.
struct Pass {
    plan: Plan,
    places: Places,
    whens: Vec<When>,
}

/// Runs a MERGE.
pub(crate) fn merge(run: &mut Run<'_>, written: &Merge) -> Result<()> {
    let (rows, told) = run.cx.statement(|cx| {
        let MergePlan {
            target,
            mut rules,
            pass,
            around,
        } = bound(cx, |binder| bind(binder, written))?;
        let mut found = Found {
            around,
            ..Found::default()
        };
        let Pass { places, whens, .. } = &pass;
        pass.plan
            .for_each(cx, &mut |cx, row| look(cx, row, places, whens, &mut found))?;
        if written.clauses.iter().any(|c| is_by_source(c.when)) {
            let alone = bound(cx, |binder| bind_alone(binder, written, &target, &rules))?;
            let Pass { places, whens, .. } = &alone;
            alone.plan.for_each(cx, &mut |cx, row| {
                look_alone(cx, row, places, whens, &mut found)
            })?;
        }
        let rows = apply(cx, &target, &mut rules, &found, whens)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}

fn is_by_source(when: MergeWhen) -> bool {
    when == MergeWhen::NotMatchedBySource
}

/// Binds the source joined with the target.
fn bind(binder: &mut Binder<'_>, written: &Merge) -> Result<MergePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let target = resolve(binder, &written.target)?;
    let joined = TableRef::Join(Box::new(Join {
        left: written.source.clone(),
        right: source_of(written)?,
        kind: JoinKind::Left,
        on: Some(written.on.clone()),
        hint: None,
    }));
    let (node, places) = from(binder, written, &joined)?;
    let mut around = binder.level().sources.clone();
    around.retain(|s| s.start < places.row.start);
    let seen = (None, around.as_slice());
    let rules = Rules::bind(binder, Verb::Merge, &target, &written.output, seen)?;
    let by_target = |w: MergeWhen| !is_by_source(w);
    let whens = whens(binder, written, &target.table, &rules, &places, by_target)?;
    if rules.whole() {
        binder.use_all(places.row.clone());
    }
    let plan = binder.place(node, Vec::new());
    let plan = topped(binder, plan, written.top.as_ref())?;
    Ok(MergePlan {
        around: match rules.looks_around {
            true => places.row.start,
            false => 0,
        },
        target,
        rules,
        pass: Pass {
            plan,
            places,
            whens,
        },
    })
}

/// Binds the target alone, for its rows that the source lacks.
fn bind_alone(
    binder: &mut Binder<'_>,
    written: &Merge,
    target: &TargetOf,
    rules: &Rules,
) -> Result<Pass> {
    binder.define(&written.ctes)?;
    let alone = source_of(written)?;
    let (node, places) = from(binder, written, &alone)?;
    let whens = whens(binder, written, &target.table, rules, &places, is_by_source)?;
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
    Ok(TableRef::Table(Box::new(TableSource {
        name: super::target::named(&written.target)?,
        system_time: None,
        alias: written.alias.clone(),
        sample: None,
        hints: written.target.hints.clone(),
    })))
}

/// Binds the target, alone or on the right of its join with the source, and finds its row.
fn from(binder: &mut Binder<'_>, written: &Merge, source: &TableRef) -> Result<(Node, Places)> {
    binder.target = Some(SourceNode::of(match source {
        TableRef::Join(join) => &join.right,
        alone => alone,
    }));
    let node = binder.from(std::slice::from_ref(source))?;
    let at = binder.target_at.take();
    let (Some(node), Some(of_target)) = (node, at.and_then(|at| binder.level().sources.get(at)))
    else {
        let name = super::target::named(&written.target)?;
        return refuse(208, &[crate::bind::shown(&name).into()]);
    };
    let name = of_target.start + of_target.columns.len() - 1;
    let row = of_target.start..name;
    Ok((node, Places { row, name }))
}

fn whens(
    binder: &mut Binder<'_>,
    written: &Merge,
    table: &Table,
    rules: &Rules,
    places: &Places,
    wanted: impl Fn(MergeWhen) -> bool,
) -> Result<Vec<When>> {
    let mut bound = Vec::new();
    for clause in written.clauses.iter().filter(|c| wanted(c.when)) {
        if let MergeAction::Update(sets) = &clause.action {
            check_prefixes(binder, sets, &written.target, places.row.start)?;
        }
        bound.push(when(binder, clause, table, rules, places)?);
    }
    Ok(bound)
}

fn when(
    binder: &mut Binder<'_>,
    clause: &MergeClause,
    table: &Table,
    rules: &Rules,
    places: &Places,
) -> Result<When> {
    let cond = match &clause.condition {
        Some(condition) => Some(binder.cond(condition)?),
        None => None,
    };
    let action = match &clause.action {
        MergeAction::Update(sets) => {
            let sets = bind_sets(binder, sets, table, places.row.start)?;
            let key = sets_unique_key(table, &sets);
            Action::Update { sets, key }
        }
        MergeAction::Delete => Action::Delete,
        MergeAction::Insert(names, values) => {
            let names: Vec<ObjectName> = names.iter().cloned().map(ObjectName::single).collect();
            let columns = columns_of(table, &names)?;
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
        when: clause.when,
        cond,
        action,
    })
}

/// The first WHEN of a kind whose condition holds.
fn chosen<'w>(
    cx: &mut Context,
    row: &[Value],
    whens: &'w [When],
    kind: MergeWhen,
) -> Result<Option<(usize, &'w When)>> {
    for (at, when) in whens.iter().enumerate().filter(|(_, w)| w.when == kind) {
        let holds = match &when.cond {
            Some(cond) => cond.holds(row, cx)?,
            None => true,
        };
        if holds {
            return Ok(Some((at, when)));
        }
    }
    Ok(None)
}

/// A row of the source with the target's row that it matches, if it matches one.
fn look(
    cx: &mut Context,
    row: &[Value],
    places: &Places,
    whens: &[When],
    found: &mut Found,
) -> Result<()> {
    if let Some(Value::Binary(name)) = row.get(places.name) {
        found.met.insert(name.clone());
        return change(cx, row, places, (whens, MergeWhen::Matched), found);
    }
    let when = chosen(cx, row, whens, MergeWhen::NotMatchedByTarget)?;
    if let Some((
        at,
        When {
            action: Action::Insert(added),
            ..
        },
    )) = when
    {
        let mut values = Vec::with_capacity(added.values.len());
        for value in &added.values {
            values.push(value.eval(row, cx)?.into_owned());
        }
        let seen = found.seen(row, MergeWhen::NotMatchedByTarget);
        found.tasks.push(Task::Insert(at, values, seen));
    }
    Ok(())
}

/// A row of the target: done where the source has none for it.
fn look_alone(
    cx: &mut Context,
    row: &[Value],
    places: &Places,
    whens: &[When],
    found: &mut Found,
) -> Result<()> {
    match row.get(places.name) {
        Some(Value::Binary(name)) if !found.met.contains(name) => change(
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
    found: &mut Found,
) -> Result<()> {
    let Some((_, when)) = chosen(cx, row, whens, kind)? else {
        return Ok(());
    };
    let Some(Value::Binary(name)) = row.get(places.name) else {
        return Ok(());
    };
    if !found.changed.insert(name.clone()) {
        return refuse(8672, &[]);
    }
    let Some(key) = RowKey::from_bytes(name) else {
        return Ok(());
    };
    let old = row.get(places.row.clone()).unwrap_or(&[]).to_vec();
    let around = found.seen(row, kind);
    match &when.action {
        Action::Update { sets, key: of_key } => {
            found.keys |= of_key;
            let values = evaluate(sets, row, cx)?;
            found.tasks.push(Task::Update(Change {
                key,
                values,
                old,
                around,
            }));
        }
        Action::Delete => found.tasks.push(Task::Delete(key, old, around)),
        Action::Insert(_) => {}
    }
    Ok(())
}

/// Does what was found; gives the number of rows that changed. What OUTPUT shows comes in the order in
/// which it was found.
fn apply(
    cx: &mut Context,
    target: &TargetOf,
    rules: &mut Rules,
    found: &Found,
    whens: &[When],
) -> Result<u64> {
    let table = &target.table;
    let mut after: Vec<Option<Vec<Value>>> = found.tasks.iter().map(|_| None).collect();
    let nothing = || vec![Value::Null; table.columns().len()];
    for (task, slot) in found.tasks.iter().zip(&mut after) {
        if let Task::Delete(key, ..) = task {
            let session = cx.sessions.by_table(target.db.id(), table)?;
            let gone = session.hinted(target.hints, |s| s.delete(table, key))?;
            *slot = gone.then(nothing);
        }
    }
    let changes: Vec<(usize, &Change)> = found.changes().collect();
    let all: Vec<&Change> = changes.iter().map(|(_, change)| *change).collect();
    let there = change_rows(cx, target, &all, found.keys)?;
    for ((at, change), there) in changes.iter().zip(there) {
        if let Some(slot) = after.get_mut(*at).filter(|_| there) {
            let row = change.new_row(table);
            rules.check(cx, target, &row)?;
            *slot = Some(row);
        }
    }
    for (task, slot) in found.tasks.iter().zip(&mut after) {
        if let Task::Insert(at, values, _) = task
            && let Some(When {
                action: Action::Insert(added),
                ..
            }) = whens.get(*at)
        {
            rules.fills.clone_from(&added.fills);
            *slot = Some(put_whole(cx, target, &added.columns, values, rules)?);
        }
    }
    let mut rows = 0_u64;
    for (task, row) in found.tasks.iter().zip(after) {
        let Some(mut row) = row else { continue };
        rows += 1;
        if rules.whole() {
            let (old, action, around) = match task {
                Task::Update(change) => (change.old.clone(), "UPDATE", &change.around),
                Task::Delete(_, old, around) => (old.clone(), "DELETE", around),
                Task::Insert(_, _, around) => (nothing(), "INSERT", around),
            };
            row.extend(old);
            row.push(Value::NVarChar(action.to_owned()));
            row.extend_from_slice(around);
            rules.put_out(cx, &row)?;
        }
    }
    Ok(rows)
}
