//! Temporary tables and table variables: tables of `tempdb` that one connection sees.
//!
//! `#t` is a table of `tempdb` under a name that no other connection has: its own, filled up, and a number. A
//! procedure's temporary tables go when it ends, those of the connection with it; a table variable goes with
//! the batch or procedure that declares it, and no other sees it. What is to go while a transaction is open
//! goes when that has ended. Table variables are made, filled and dropped apart from the transaction:
//! ROLLBACK leaves them as they are.

use crate::context::Context;
use crate::error::{Result, SqlError, refuse};
use crate::server::TEMPDB;
use furrow_observe::counters::Counter;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::{Statement, Stmt};

/// A temporary table or table variable.
#[derive(Debug)]
struct TempTable {
    /// With its `#` or `@`, in lower case.
    name: String,
    /// The same as it was written.
    shown: String,
    /// What it is called in `tempdb`.
    inner: String,
    /// How many procedures and texts were at work when it was made.
    depth: usize,
}

/// Those of a connection.
#[derive(Debug, Default)]
pub(crate) struct Temp {
    /// Innermost last.
    tables: Vec<TempTable>,
    /// Names in `tempdb` of those that are to go.
    gone: Vec<String>,
    /// Tables that all connections see and this one has made: they go with it.
    shared: Vec<String>,
    /// Grows with each change of `tables`.
    version: u64,
}

impl Temp {
    /// A number for which tables there are: names lead to the same ones as long as it is the same.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }
}

/// Temporary tables that are out of sight for a while.
pub(crate) struct Aside(Vec<TempTable>);

/// Whether this names a temporary table of one connection, or a table variable.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with('@') || (name.starts_with('#') && !name.starts_with("##"))
}

/// Whether a table of `tempdb` is a table variable, by what it is called there.
pub(crate) fn is_table_variable(inner: &str) -> bool {
    let digits = inner.strip_prefix('#');
    digits.is_some_and(|d| d.len() == 8 && d.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether this names a table of `tempdb`, whatever the current database.
pub(crate) fn is_temp(name: &str) -> bool {
    name.starts_with(['#', '@'])
}

fn in_tempdb(inner: &str) -> ObjectName {
    ObjectName {
        parts: [TEMPDB, "dbo", inner].into_iter().map(Ident::new).collect(),
    }
}

impl Context {
    /// What a temporary table or table variable is called in `tempdb`, where there is one.
    pub(crate) fn temp_name(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        let here = self.procedures.len();
        let seen = |t: &&TempTable| t.name == name && (t.depth == here || !name.starts_with('@'));
        let found = self.temp.tables.iter().rev().find(seen);
        found.map(|t| t.inner.as_str())
    }

    /// Notes a temporary table or table variable of the procedure or text at work; gives the name that it is
    /// to have in `tempdb`. 2714 where there is one: `Ok(None)` for a table variable, whose DECLARE stands
    /// in a loop.
    pub(crate) fn new_temp(&mut self, name: &str) -> Result<Option<ObjectName>> {
        let depth = self.procedures.len();
        let lower = name.to_lowercase();
        let twin = |t: &TempTable| t.depth == depth && t.name == lower;
        if let Some(at) = self.temp.tables.iter().position(twin) {
            let inner = self.temp.tables[at].inner.clone();
            if self.is_there(&inner) {
                return match lower.starts_with('@') {
                    true => Ok(None),
                    false => refuse(2714, &[name.into()]),
                };
            }
            self.temp.tables.remove(at);
            self.temp.version += 1;
        }
        let number = self.server.next_temp();
        let counters = &self.sessions.task().instruments().counters;
        counters.add(Counter::TempTablesCreationRate, 1);
        let inner = match lower.starts_with('@') {
            true => format!("#{number:08X}"),
            false => format!("{name:_<116}{number:012X}"),
        };
        self.temp.version += 1;
        self.temp.tables.push(TempTable {
            name: lower,
            shown: name.to_owned(),
            inner: inner.clone(),
            depth,
        });
        Ok(Some(in_tempdb(&inner)))
    }

    /// Puts the connection's temporary tables out of sight.
    pub(crate) fn put_temp_aside(&mut self) -> Aside {
        Aside(std::mem::take(&mut self.temp.tables))
    }

    /// Puts them in sight again.
    pub(crate) fn put_temp_back(&mut self, aside: Aside) {
        self.temp.tables = aside.0;
    }

    fn is_there(&mut self, inner: &str) -> bool {
        let Ok(db) = self.server.instance().database(TEMPDB) else {
            return false;
        };
        let session = self.sessions.of_table(&db, inner);
        session.is_ok_and(|s| s.table_in("dbo", inner).is_ok())
    }

    /// A procedure or text has ended, and its caller is at work again: what it made goes.
    pub(crate) fn leave_temp(&mut self) {
        let depth = self.procedures.len();
        self.keep_temp(|t| t.depth <= depth);
    }

    /// A batch has ended: what is left is the connection's temporary tables.
    pub(crate) fn leave_batch(&mut self) {
        self.keep_temp(|t| t.depth == 0 && !t.name.starts_with('@'));
    }

    fn keep_temp(&mut self, stays: impl Fn(&TempTable) -> bool) {
        if self.temp.tables.is_empty() {
            return self.drop_gone();
        }
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut self.temp.tables)
            .into_iter()
            .partition(stays);
        self.temp.tables = stay;
        self.temp.version += u64::from(!go.is_empty());
        self.temp.gone.extend(go.into_iter().map(|t| t.inner));
        self.drop_gone();
    }

    /// The connection ends.
    pub(crate) fn end_temp(&mut self) {
        let _ = self.sessions.roll_back_all();
        let all = std::mem::take(&mut self.temp.tables);
        self.temp.gone.extend(all.into_iter().map(|t| t.inner));
        let shared = std::mem::take(&mut self.temp.shared);
        self.temp.gone.extend(shared);
        self.drop_gone();
    }

    /// Notes that the connection makes a table, which goes with it where all connections see it.
    pub(crate) fn note_shared(&mut self, name: &str) {
        if name.starts_with("##") {
            self.temp.shared.push(name.to_owned());
        }
    }

    /// Drops what is to go: temporary tables once no transaction is open, for one that is rolled back would
    /// bring them back.
    fn drop_gone(&mut self) {
        if self.temp.gone.is_empty() || self.sessions.in_statement() {
            return;
        }
        let open = self.sessions.count() > 0;
        let (go, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut self.temp.gone)
            .into_iter()
            .partition(|inner| !open || is_table_variable(inner));
        self.temp.gone = stay;
        for inner in go {
            // What was rolled back or dropped before is not there any more: nothing to do.
            let _ = self.statement(|cx| {
                let db = cx.server.instance().database(TEMPDB)?;
                let session = cx.sessions.of_table(&db, &inner)?;
                session.drop_table_in("dbo", &inner)?;
                Ok(())
            });
        }
    }

    /// The name that the user knows a table of `tempdb` by, where it is a table variable.
    pub(crate) fn own_name(&self, inner: &str) -> Option<&str> {
        let known = |t: &&TempTable| t.inner == inner && t.shown.starts_with('@');
        self.temp.tables.iter().find(known).map(|t| &*t.shown)
    }

    /// An error with the names that the user knows in place of those of `tempdb`, as the product has them: a
    /// table variable by its name, a temporary table by its short name where a key or a column twice is
    /// concerned, and in messages of our own.
    pub(crate) fn with_own_names(&self, mut error: Box<SqlError>) -> Box<SqlError> {
        for table in &self.temp.tables {
            let (inner, shown) = (table.inner.as_str(), table.shown.as_str());
            for message in &mut error.messages {
                if !message.text.contains(inner) {
                    continue;
                }
                let of_key = matches!(message.number, 2601 | 2627 | 2705 | 40_514);
                let schema = format!("dbo.{inner}");
                message.text = match (of_key, shown.starts_with('@')) {
                    (true, _) => message.text.replace(inner, shown),
                    (false, true) => {
                        let whole = format!("{TEMPDB}.{schema}");
                        let text = message.text.replace(&whole, shown);
                        text.replace(&schema, shown)
                    }
                    (false, false) => continue,
                };
            }
        }
        error
    }

    /// A statement that defines something, with the names that temporary tables have in `tempdb`; `None`
    /// where it speaks of none.
    pub(crate) fn with_temp_names(&mut self, stmt: &Stmt) -> Result<Option<Stmt>> {
        let mut changed = stmt.clone();
        let known = |cx: &Context, name: &mut ObjectName| {
            let inner = match is_temp(name.name()) {
                true if is_own(name.name()) => cx.temp_name(name.name()).map(in_tempdb),
                true => Some(in_tempdb(name.name())),
                false => None,
            };
            let is_some = inner.is_some();
            if let Some(inner) = inner {
                *name = inner;
            }
            is_some
        };
        let any = match &mut changed.kind {
            Statement::CreateTable(written) => match is_own(written.name.name()) {
                true => {
                    let name = written.name.name().to_owned();
                    match self.new_temp(&name)? {
                        Some(inner) => written.name = inner,
                        None => return Ok(None),
                    }
                    true
                }
                false => {
                    self.note_shared(written.name.name());
                    known(self, &mut written.name)
                }
            },
            Statement::Truncate(written) => known(self, &mut written.table),
            Statement::AlterTable(written) => known(self, &mut written.table),
            Statement::CreateIndex(written) => known(self, &mut written.table),
            Statement::AlterIndex(written) => known(self, &mut written.table),
            Statement::DropIndex(written) => {
                let tables = written.indexes.iter_mut().filter_map(|(_, t)| t.as_mut());
                tables.fold(false, |any, table| known(self, table) | any)
            }
            Statement::Drop(written) if &*written.kind == "TABLE" => {
                let mut any = false;
                for name in written.names.iter_mut().filter(|n| is_own(n.name())) {
                    let inner = self.temp_name(name.name()).map(str::to_owned);
                    if let Some(inner) = inner.filter(|inner| self.is_there(inner)) {
                        *name = in_tempdb(&inner);
                        any = true;
                    }
                }
                any
            }
            _ => false,
        };
        Ok(any.then_some(changed))
    }
}
