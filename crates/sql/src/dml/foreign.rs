//! Foreign keys: checks of the rows that a statement changes, in both directions.
//!
//! # Steps
//! 1. While the statement changes rows, it collects two sets: the keys that the new rows refer to, and the
//!    keys that no longer exist.
//! 2. At its end, rows of other tables follow (CASCADE, SET NULL, SET DEFAULT) by statements of their own,
//!    which check their own foreign keys in turn.
//! 3. Then every key referred to must exist, and no row may refer to a key that no longer exists (547).
//!
//! Both checks read committed rows, whatever the session's isolation level is, and run after the change. If
//! one transaction removes a key and another refers to it, the one that checks second finds the row of the
//! other locked, and waits for its commit or rollback.

use super::rules::Verb;
use super::target::TargetOf;
use furrow_bind::Binder;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError, refuse, unsupported};
use furrow_context::memory::row_bytes;
use furrow_context::parse::read;
use furrow_context::run::{NoInterpreter, Run};
use furrow_context::scope::Scope;
use furrow_context::sink::{Notice, ResultColumn, Sink};
use furrow_engine::{Database, ForeignKey, ReferentialAction, Table};
use furrow_tsql::ast::Statement;
use furrow_types::{DataType, Value, encode};
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes that an entry of a set takes besides its key.
const SEEN_BYTES: usize = 64;

/// Values of a key's columns, and their new values.
type Moved = (Vec<Value>, Option<Vec<Value>>);

/// A foreign key of the table that is changed.
#[derive(Clone)]
struct Own {
    key: ForeignKey,
    referenced: Arc<Table>,
    /// Positions of its columns: in the changed table, and in the referenced one.
    places: Vec<(usize, usize)>,
    seen: HashSet<Vec<u8>>,
    wanted: Vec<Vec<Value>>,
}

/// A foreign key that refers to the table that is changed.
#[derive(Clone)]
struct Others {
    key: ForeignKey,
    referencing: Arc<Table>,
    /// Positions of its columns: in the referring table, and in the changed one.
    places: Vec<(usize, usize)>,
    gone: Vec<Moved>,
}

/// The foreign key checks of a statement.
#[derive(Clone)]
pub(super) struct Foreign {
    verb: Verb,
    db: Arc<Database>,
    table: Arc<Table>,
    own: Vec<Own>,
    others: Vec<Others>,
}

/// Positions of a key's columns in its own table and in the referenced one.
fn places(key: &ForeignKey, own: &Table, referenced: &Table) -> Option<Vec<(usize, usize)>> {
    let at = |table: &Table, id: i32| table.columns().iter().position(|c| c.id == id);
    let pairs = key.columns.iter();
    pairs
        .map(|&(a, b)| at(own, a).zip(at(referenced, b)))
        .collect()
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// The values at these positions; `None` if one is NULL or missing.
fn tuple(row: &[Value], places: impl Iterator<Item = usize>) -> Option<Vec<Value>> {
    let values = places.map(|at| row.get(at).filter(|v| !v.is_null()).cloned());
    values.collect()
}

/// A tuple as bytes that are the same for the same values.
fn bytes_of(values: &[Value], types: impl Iterator<Item = DataType>) -> Vec<u8> {
    let mut all = Vec::new();
    for (value, of) in values.iter().zip(types) {
        let bytes = encode(&of, value).unwrap_or_default();
        all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        all.extend_from_slice(&bytes);
    }
    all
}

impl Foreign {
    /// The checks that a change of this kind needs. A cached plan depends also on the tables on the other
    /// side: their keys may be created, changed and dropped.
    pub(super) fn of(binder: &mut Binder<'_>, verb: Verb, target: &TargetOf) -> Result<Foreign> {
        let (db, table) = (&target.db, &target.table);
        let session = binder.cx.sessions.of_table(db, table.name())?;
        let mut foreign = Foreign {
            verb,
            db: Arc::clone(db),
            table: Arc::clone(table),
            own: Vec::new(),
            others: Vec::new(),
        };
        if verb != Verb::Insert {
            for (referencing, key) in session.referencing(table) {
                let places = places(&key, &referencing, table).unwrap_or_default();
                if key.disabled || places.is_empty() {
                    continue;
                }
                foreign.others.push(Others {
                    key,
                    referencing,
                    places,
                    gone: Vec::new(),
                });
            }
        }
        if verb != Verb::Delete {
            for key in table.foreign_keys().iter().filter(|k| !k.disabled) {
                let Some(referenced) = session.table_by_id(key.referenced) else {
                    continue;
                };
                let places = places(key, table, &referenced).unwrap_or_default();
                foreign.own.push(Own {
                    key: key.clone(),
                    referenced,
                    places,
                    seen: HashSet::new(),
                    wanted: Vec::new(),
                });
            }
        }
        let own = foreign.own.iter().map(|own| &own.referenced);
        let others = foreign.others.iter().map(|others| &others.referencing);
        own.chain(others)
            .for_each(|table| binder.basis.table(db.id(), table));
        Ok(foreign)
    }

    /// Whether changed rows have to be collected.
    pub(super) fn asks(&self) -> bool {
        !self.own.is_empty() || !self.others.is_empty()
    }

    /// Collects a changed row: its new values, followed by its old values, as OUTPUT sees them. Returns the
    /// bytes that the collected keys take.
    pub(super) fn note(&mut self, row: &[Value]) -> usize {
        let mut noted = 0;
        if !self.asks() {
            return noted;
        }
        let width = self.table.columns().len();
        let (first, second) = row.split_at(width.min(row.len()));
        let second = second.get(..width).unwrap_or(&[]);
        let (new, old) = match self.verb {
            Verb::Insert => (first, &[][..]),
            Verb::Delete => (&[][..], first),
            Verb::Update | Verb::Merge => (first, second),
        };
        let types = |places: &[(usize, usize)], mine: fn(&(usize, usize)) -> usize| {
            let columns = self.table.columns();
            let of = |p: &(usize, usize)| columns.get(mine(p)).map(|c| c.data_type);
            places.iter().filter_map(of).collect::<Vec<DataType>>()
        };
        for own in &mut self.own {
            let here = || own.places.iter().map(|p| p.0);
            let Some(now) = tuple(new, here()) else {
                continue;
            };
            if tuple(old, here()).is_some_and(|before| before == now) {
                continue;
            }
            let bytes = bytes_of(&now, types(&own.places, |p| p.0).into_iter());
            let size = row_bytes(&now) + bytes.len() + SEEN_BYTES;
            if own.seen.insert(bytes) {
                noted += size;
                own.wanted.push(now);
            }
        }
        for others in &mut self.others {
            let here = || others.places.iter().map(|p| p.1);
            let Some(before) = tuple(old, here()) else {
                continue;
            };
            let now = tuple(new, here());
            if now.as_ref() != Some(&before) {
                noted += row_bytes(&before) + row_bytes(now.as_deref().unwrap_or(&[]));
                others.gone.push((before, now));
            }
        }
        noted
    }

    /// Runs at the end of the statement: other rows follow, and every key referred to must exist.
    pub(super) fn settle(self, cx: &mut Context) -> Result<()> {
        for others in &self.others {
            for moved in &others.gone {
                self.follow(cx, others, moved)?;
            }
        }
        for others in &self.others {
            for (before, _) in &others.gone {
                self.unreferenced(cx, others, before)?;
            }
        }
        for own in &self.own {
            for key in &own.wanted {
                let there = own.places.iter().map(|p| p.1);
                if !self.is_there(cx, &own.referenced, there, key)? {
                    return self.conflict(Side::Own(own));
                }
            }
        }
        Ok(())
    }

    fn full_name(&self, table: &Table) -> String {
        let parts = [self.db.name(), table.schema(), table.name()];
        parts.map(bracketed).join(".")
    }

    /// `[a] = @k1 AND [b] = @k2`
    fn matching(table: &Table, places: impl Iterator<Item = usize>) -> String {
        let named = (1..).zip(places).map(|(n, at)| {
            let name = table.columns().get(at).map_or("", |c| &c.name);
            format!("{} = @k{n}", bracketed(name))
        });
        named.collect::<Vec<String>>().join(" AND ")
    }

    /// The variables that hold a key and its new value.
    fn scope(table: &Table, places: &[usize], key: &[Value], now: Option<&[Value]>) -> Scope {
        let mut scope = Scope::default();
        for (letter, values) in [("k", Some(key)), ("n", now)] {
            for (n, (value, &at)) in (1..).zip(values.unwrap_or(&[]).iter().zip(places)) {
                if let Some(column) = table.columns().get(at) {
                    scope.declare(&format!("@{letter}{n}"), column.data_type, value.clone());
                }
            }
        }
        scope
    }

    /// Whether a committed row has these values in these columns.
    fn is_there(
        &self,
        cx: &mut Context,
        table: &Table,
        places: impl Iterator<Item = usize>,
        key: &[Value],
    ) -> Result<bool> {
        let places: Vec<usize> = places.collect();
        let text = format!(
            "SELECT TOP (1) 1 FROM {} WITH (READCOMMITTED) WHERE {}",
            self.full_name(table),
            Self::matching(table, places.iter().copied())
        );
        let scope = Self::scope(table, &places, key, None);
        within(cx, scope, |cx| super::super::ddl::some_row(cx, &text))
    }

    /// Applies the action of a key to the rows that refer to a key that no longer exists.
    fn follow(&self, cx: &mut Context, others: &Others, (before, now): &Moved) -> Result<()> {
        let action = match now {
            None => others.key.on_delete,
            Some(_) => others.key.on_update,
        };
        let table = &others.referencing;
        let there: Vec<usize> = others.places.iter().map(|p| p.0).collect();
        let set = |value: &dyn Fn(usize) -> String| {
            let named = there.iter().enumerate().map(|(n, &at)| {
                let name = table.columns().get(at).map_or("", |c| &c.name);
                format!("{} = {}", bracketed(name), value(n + 1))
            });
            named.collect::<Vec<String>>().join(", ")
        };
        let name = self.full_name(table);
        let matching = Self::matching(table, there.iter().copied());
        let text = match (action, now) {
            (ReferentialAction::NoAction, _) => return Ok(()),
            (ReferentialAction::Cascade, None) => format!("DELETE FROM {name} WHERE {matching}"),
            (ReferentialAction::Cascade, Some(_)) => {
                let set = set(&|n| format!("@n{n}"));
                format!("UPDATE {name} SET {set} WHERE {matching}")
            }
            (ReferentialAction::SetNull, _) => {
                let set = set(&|_| "NULL".to_owned());
                format!("UPDATE {name} SET {set} WHERE {matching}")
            }
            (ReferentialAction::SetDefault, _) => {
                let set = set(&|_| "DEFAULT".to_owned());
                format!("UPDATE {name} SET {set} WHERE {matching}")
            }
        };
        let scope = Self::scope(table, &there, before, now.as_deref());
        within(cx, scope, |cx| change(cx, &text)).map_err(|e| self.ours(e))
    }

    /// Reports a conflict of a cascaded statement as a conflict of the statement that caused it.
    fn ours(&self, mut error: Box<SqlError>) -> Box<SqlError> {
        for message in error.messages.iter_mut().filter(|m| m.number == 547) {
            if let Some((_, rest)) = message.text.split_once(" statement conflicted ") {
                let verb = self.verb.word();
                message.text = format!("The {verb} statement conflicted {rest}");
            }
        }
        error
    }

    /// 547 if a row refers to a key that no longer exists.
    fn unreferenced(&self, cx: &mut Context, others: &Others, key: &[Value]) -> Result<()> {
        let here = others.places.iter().map(|p| p.1);
        if self.is_there(cx, &self.table, here, key)? {
            return Ok(());
        }
        let there = others.places.iter().map(|p| p.0);
        match self.is_there(cx, &others.referencing, there, key)? {
            true => self.conflict(Side::Others(others)),
            false => Ok(()),
        }
    }

    fn conflict(&self, side: Side<'_>) -> Result<()> {
        let (key, table, places) = match side {
            Side::Own(own) => {
                let places: Vec<usize> = own.places.iter().map(|p| p.1).collect();
                (&own.key, &own.referenced, places)
            }
            Side::Others(others) => {
                let places: Vec<usize> = others.places.iter().map(|p| p.0).collect();
                (&others.key, &others.referencing, places)
            }
        };
        let what = match (side, table.id() == self.table.id()) {
            (Side::Own(_), false) => "FOREIGN KEY",
            (Side::Own(_), true) => "FOREIGN KEY SAME TABLE",
            (Side::Others(_), false) => "REFERENCE",
            (Side::Others(_), true) => "SAME TABLE REFERENCE",
        };
        let column = match places[..] {
            [at] => table.columns().get(at),
            _ => None,
        };
        let (before, name, after) = match column {
            Some(column) => (", column '", column.name.as_str(), "'"),
            None => ("", "", ""),
        };
        let args = [
            self.verb.word().into(),
            what.into(),
            key.name.as_str().into(),
            self.db.name().into(),
            format!("{}.{}", table.schema(), table.name()).into(),
            before.into(),
            name.into(),
            after.into(),
        ];
        refuse(547, &args)
    }
}

/// Which side of a foreign key a conflict is on.
#[derive(Clone, Copy)]
enum Side<'a> {
    Own(&'a Own),
    Others(&'a Others),
}

/// Calls `body` with another scope of variables.
fn within<T>(
    cx: &mut Context,
    scope: Scope,
    body: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    let outer = std::mem::replace(&mut cx.scope, scope);
    let result = body(cx);
    cx.scope = outer;
    result
}

/// Discards the messages of statements that the server runs itself.
struct Silent;

impl Sink for Silent {
    fn columns(&mut self, _columns: &[ResultColumn]) {}
    fn row(&mut self, _row: &[Value]) {}
    fn done(&mut self, _rows: Option<u64>) {}
    fn notice(&mut self, _notice: &Notice) {}
}

/// Runs a DELETE or UPDATE as a part of the current statement.
fn change(cx: &mut Context, text: &str) -> Result<()> {
    let rows = std::mem::take(&mut cx.set.row_count);
    let last = cx.last.clone();
    let done = read(text, cx).and_then(|read| {
        let mut run = Run {
            cx: &mut *cx,
            sink: &mut Silent,
            worst: 0,
            tries: 0,
            text,
            plans: None,
            interpreter: &NoInterpreter,
        };
        match read.statements.first().map(|s| &s.kind) {
            Some(Statement::Delete(written)) => super::delete(&mut run, written),
            Some(Statement::Update(written)) => super::update(&mut run, written),
            _ => Err(unsupported("this referential action")),
        }
    });
    cx.set.row_count = rows;
    cx.last = last;
    done
}
