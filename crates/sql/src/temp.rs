//! Temporary tables and table variables: tables of `tempdb` that one connection sees.
//!
//! `#t` is a table of `tempdb` under a name that no other connection has: its own, filled up, and a number. A
//! procedure's temporary tables go when it ends, those of the connection with it; a table variable goes with
//! the batch or procedure that declares it, and no other sees it. What is to go while a transaction is open
//! goes when that has ended. Changes of table variables are part of the transaction, other than in the
//! product.

use crate::context::Context;
use crate::error::{Result, refuse};
use crate::server::TEMPDB;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::{Statement, Stmt};

/// A temporary table or table variable.
#[derive(Debug)]
struct TempTable {
    /// With its `#` or `@`, in lower case.
    name: String,
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
}

/// Whether this names a temporary table of one connection, or a table variable.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with('@') || (name.starts_with('#') && !name.starts_with("##"))
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
        }
        let number = self.server.next_temp();
        let inner = match lower.starts_with('@') {
            true => format!("#{number:08X}"),
            false => format!("{name:_<116}{number:012X}"),
        };
        self.temp.tables.push(TempTable {
            name: lower,
            inner: inner.clone(),
            depth,
        });
        Ok(Some(in_tempdb(&inner)))
    }

    fn is_there(&mut self, inner: &str) -> bool {
        let Ok(db) = self.server.instance().database(TEMPDB) else {
            return false;
        };
        let session = self.sessions.of(&db);
        session.is_ok_and(|s| s.table_in("dbo", inner).is_ok())
    }

    /// A procedure, text or batch has ended: what it made goes, but for the temporary tables of the
    /// connection itself.
    pub(crate) fn leave_temp(&mut self) {
        let depth = self.procedures.len();
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut self.temp.tables)
            .into_iter()
            .partition(|t| t.depth <= depth && !(t.depth == depth && t.name.starts_with('@')));
        self.temp.tables = stay;
        self.temp.gone.extend(go.into_iter().map(|t| t.inner));
        self.drop_gone();
    }

    /// The connection ends.
    pub(crate) fn end_temp(&mut self) {
        let _ = self.sessions.roll_back_all();
        let all = std::mem::take(&mut self.temp.tables);
        self.temp.gone.extend(all.into_iter().map(|t| t.inner));
        self.drop_gone();
    }

    /// Drops what is to go, once no transaction is open: one that is rolled back would bring it back.
    fn drop_gone(&mut self) {
        if self.temp.gone.is_empty() || self.sessions.count() > 0 || self.sessions.in_statement() {
            return;
        }
        for inner in std::mem::take(&mut self.temp.gone) {
            // What was rolled back or dropped before is not there any more: nothing to do.
            let _ = self.statement(|cx| {
                let db = cx.server.instance().database(TEMPDB)?;
                cx.sessions.of(&db)?.drop_table_in("dbo", &inner)?;
                Ok(())
            });
        }
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
                false => known(self, &mut written.name),
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
