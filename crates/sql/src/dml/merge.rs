//! MERGE.
//!
//! 1. The source is joined with the target; each row gets the first WHEN that fits it. A row of the target
//!    that is to be changed twice is refused (8672).
//! 2. Where a WHEN speaks of rows that the source lacks, the target is read once more for those that were not
//!    met.
//! 3. What was found is done, so that no change is met by what finds rows.

use super::insert::{columns_of, put_whole, row_of};
use super::rules::{Rules, Verb, tell};
use super::target::{TargetOf, resolve, topped};
use super::update::{Change, Set, bind_sets, evaluate};
use crate::bind::{Binder, Node};
use crate::context::Context;
use crate::error::{Result, refuse};
use crate::exec::{Cond, Expr};
use crate::interp::Run;
use furrow_engine::{RowKey, Table};
use furrow_format::types::Value;
use furrow_tsql::ast::dml::{Merge, MergeAction, MergeClause, MergeWhen};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Join, JoinKind, TableRef, TableSource};
use std::collections::HashSet;
use std::ops::Range;

/// An INSERT of a WHEN: columns, values, and defaults of the others.
struct Added {
    columns: Vec<usize>,
    values: Vec<Expr>,
    fills: Vec<(usize, Expr)>,
}

enum Action {
    Update(Vec<Set>),
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
    Delete(RowKey, Vec<Value>),
    Insert(usize, Vec<Value>),
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
}

/// Runs a MERGE.
pub(crate) fn merge(run: &mut Run<'_>, written: &Merge) -> Result<()> {
    let (rows, told) = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let target = resolve(&mut binder, &written.target)?;
        let mut rules = Rules::bind(&mut binder, Verb::Merge, &target, &written.output)?;
        let whole = rules.whole();
        let mut found = Found::default();

        let joined = TableRef::Join(Box::new(Join {
            left: written.source.clone(),
            right: source_of(written)?,
            kind: JoinKind::Left,
            on: Some(written.on.clone()),
            hint: None,
        }));
        let (node, places) = from(&mut binder, written, &target, joined)?;
        let by_target = |w: MergeWhen| w != MergeWhen::NotMatchedBySource;
        let whens = whens(
            &mut binder,
            written,
            &target.table,
            &rules,
            &places,
            by_target,
        )?;
        if whole {
            binder.use_all(places.row.clone());
        }
        let plan = binder.place(node, Vec::new());
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        plan.for_each(cx, &mut |cx, row| {
            look(cx, row, &places, &whens, &mut found)
        })?;

        let by_source = |w: MergeWhen| w == MergeWhen::NotMatchedBySource;
        if written.clauses.iter().any(|c| by_source(c.when)) {
            let mut binder = Binder::new(cx);
            binder.define(&written.ctes)?;
            let alone = source_of(written)?;
            let (node, places) = from(&mut binder, written, &target, alone)?;
            let whens = self::whens(
                &mut binder,
                written,
                &target.table,
                &rules,
                &places,
                by_source,
            )?;
            if whole {
                binder.use_all(places.row.clone());
            }
            let plan = binder.place(node, Vec::new());
            plan.for_each(cx, &mut |cx, row| {
                look_alone(cx, row, &places, &whens, &mut found)
            })?;
        }
        let mut rows = 0_u64;
        for task in &found.tasks {
            rows += u64::from(apply(cx, &target, &mut rules, task, &whens)?);
        }
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
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

fn from(
    binder: &mut Binder<'_>,
    written: &Merge,
    target: &TargetOf,
    source: TableRef,
) -> Result<(Node, Places)> {
    let name = super::target::named(&written.target)?;
    let exposed = match &written.alias {
        Some(alias) => alias.value.to_string(),
        None => name.name().to_owned(),
    };
    binder.target = Some((target.table.id(), exposed.clone()));
    let node = binder.from(&[source])?;
    binder.target = None;
    let sources = &binder.level().sources;
    let of_target = sources.iter().find(|s| {
        s.columns.last().is_some_and(|c| c.name.is_empty()) && s.name.eq_ignore_ascii_case(&exposed)
    });
    let (Some(node), Some(of_target)) = (node, of_target) else {
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
            Action::Update(bind_sets(binder, sets, table, places.row.start)?)
        }
        MergeAction::Delete => Action::Delete,
        MergeAction::Insert(names, values) => {
            let names: Vec<ObjectName> = names.iter().cloned().map(ObjectName::single).collect();
            let columns = columns_of(table, &names)?;
            let values = row_of(binder, table, &columns, values)?;
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
        found.tasks.push(Task::Insert(at, values));
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
    match &when.action {
        Action::Update(sets) => {
            let values = evaluate(sets, row, cx)?;
            found.tasks.push(Task::Update(Change { key, values, old }));
        }
        Action::Delete => found.tasks.push(Task::Delete(key, old)),
        Action::Insert(_) => {}
    }
    Ok(())
}

/// Does it; says whether a row was changed.
fn apply(
    cx: &mut Context,
    target: &TargetOf,
    rules: &mut Rules,
    task: &Task,
    whens: &[When],
) -> Result<bool> {
    let table = &target.table;
    let nothing = || vec![Value::Null; table.columns().len()];
    let (mut row, old, action) = match task {
        Task::Update(change) => {
            let session = cx.sessions.of(&target.db)?;
            let done = session.hinted(target.hints, |s| {
                s.update(table, &change.key, &change.values)
            })?;
            if !done {
                return Ok(false);
            }
            let row = change.new_row(table);
            rules.check(cx, target, &row)?;
            (row, change.old.clone(), "UPDATE")
        }
        Task::Delete(key, old) => {
            let session = cx.sessions.of(&target.db)?;
            if !session.hinted(target.hints, |s| s.delete(table, key))? {
                return Ok(false);
            }
            (nothing(), old.clone(), "DELETE")
        }
        Task::Insert(at, values) => {
            let Some(When {
                action: Action::Insert(added),
                ..
            }) = whens.get(*at)
            else {
                return Ok(false);
            };
            rules.fills.clone_from(&added.fills);
            let row = put_whole(cx, target, &added.columns, values, rules)?;
            (row, nothing(), "INSERT")
        }
    };
    if rules.whole() {
        row.extend(old);
        row.push(Value::NVarChar(action.to_owned()));
        rules.put_out(cx, &row)?;
    }
    Ok(true)
}
