//! Creation, lookup and removal of a connection's temporary tables and table variables.

use crate::context::Context;
use crate::error::{Result, SqlError, refuse};
use crate::system_databases::TEMPDB;
use crate::temp::{HiddenTables, TempKind, TempTable, is_own, is_temp};
use furrow_observe::counters::Counter;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::{Statement, Stmt};

fn in_tempdb(inner: &str) -> ObjectName {
    ObjectName {
        parts: [TEMPDB, "dbo", inner].into_iter().map(Ident::new).collect(),
    }
}

impl Context {
    /// The name in `tempdb` of a temporary table or table variable, if it exists.
    pub fn temp_name(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        let here = self.procedures.len();
        let seen =
            |t: &&TempTable| t.name == name && (t.depth == here || t.kind != TempKind::Variable);
        let found = self.temp.tables.iter().rev().find(seen);
        found.map(|t| t.inner.as_str())
    }

    /// Registers a temporary table or table variable of the running procedure or text; returns its name in
    /// `tempdb`. 2714 if the name exists; `Ok(None)` for a table variable that exists, because its DECLARE is
    /// in a loop.
    pub fn new_temp(&mut self, name: &str) -> Result<Option<ObjectName>> {
        let depth = self.procedures.len();
        let kind = TempKind::of(name).unwrap_or(TempKind::Local);
        let lower = name.to_lowercase();
        let twin = |t: &TempTable| t.depth == depth && t.name == lower;
        if let Some(at) = self.temp.tables.iter().position(twin) {
            let inner = self.temp.tables[at].inner.clone();
            if self.is_there(&inner) {
                return match kind {
                    TempKind::Variable => Ok(None),
                    TempKind::Local | TempKind::Shared => refuse(2714, &[name.into()]),
                };
            }
            self.temp.tables.remove(at);
            self.sessions.remove_table_variable(&inner);
            self.temp.version += 1;
        }
        let number = self.server.next_temp();
        let counters = &self.sessions.task().instruments().counters;
        counters.add(Counter::TempTablesCreationRate, 1);
        let inner = match kind {
            TempKind::Variable => format!("#{number:08X}"),
            TempKind::Local | TempKind::Shared => format!("{name:_<116}{number:012X}"),
        };
        if kind == TempKind::Variable {
            self.sessions.add_table_variable(&inner);
        }
        self.temp.version += 1;
        self.temp.tables.push(TempTable {
            kind,
            name: lower,
            shown: name.to_owned(),
            inner: inner.clone(),
            depth,
        });
        Ok(Some(in_tempdb(&inner)))
    }

    /// Hides the connection's temporary tables.
    pub fn hide_temp_tables(&mut self) -> HiddenTables {
        HiddenTables(std::mem::take(&mut self.temp.tables))
    }

    /// Makes them visible again.
    pub fn restore_temp_tables(&mut self, aside: HiddenTables) {
        self.temp.tables = aside.0;
    }

    fn is_there(&mut self, inner: &str) -> bool {
        let Ok(db) = self.server.instance().database(TEMPDB) else {
            return false;
        };
        let session = self.sessions.of_table(&db, inner);
        session.is_ok_and(|s| s.table_in("dbo", inner).is_ok())
    }

    /// A procedure or text has ended and its caller continues: drops the tables that it created.
    pub fn leave_temp(&mut self) {
        let depth = self.procedures.len();
        self.cursors.leave(depth + 1);
        self.keep_temp(|t| t.depth <= depth);
    }

    /// A batch has ended: only the connection's temporary tables and global cursors remain.
    pub fn leave_batch(&mut self) {
        self.cursors.leave(0);
        self.keep_temp(|t| t.depth == 0 && t.kind != TempKind::Variable);
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
        let gone = go.into_iter().map(|t| (t.kind, t.inner));
        self.temp.gone.extend(gone);
        self.drop_gone();
    }

    /// The connection ends.
    pub fn end_temp(&mut self) {
        let _ = self.sessions.roll_back_all();
        self.cursors.clear();
        let all = std::mem::take(&mut self.temp.tables);
        let gone = all.into_iter().map(|t| (t.kind, t.inner));
        self.temp.gone.extend(gone);
        let shared = std::mem::take(&mut self.temp.shared);
        let gone = shared.into_iter().map(|name| (TempKind::Shared, name));
        self.temp.gone.extend(gone);
        self.drop_gone();
    }

    /// Records that the connection creates a table, which is dropped with it if it is a global temporary
    /// table.
    pub fn note_shared(&mut self, name: &str) {
        if TempKind::of(name) == Some(TempKind::Shared) {
            self.temp.shared.push(name.to_owned());
        }
    }

    /// Drops tables that are to be dropped: temporary tables only when no transaction is open, because a
    /// rollback would bring them back.
    fn drop_gone(&mut self) {
        if self.temp.gone.is_empty() || self.sessions.in_statement() {
            return;
        }
        let open = self.sessions.count() > 0;
        let (go, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut self.temp.gone)
            .into_iter()
            .partition(|(kind, _)| !open || *kind == TempKind::Variable);
        self.temp.gone = stay;
        for (kind, inner) in go {
            // A table that was rolled back or dropped before no longer exists: nothing to do.
            let _ = self.statement(|cx| {
                let db = cx.server.instance().database(TEMPDB)?;
                let session = cx.sessions.of_table(&db, &inner)?;
                session.drop_table_in("dbo", &inner)?;
                Ok(())
            });
            if kind == TempKind::Variable {
                self.sessions.remove_table_variable(&inner);
            }
        }
    }

    /// The user's name of a table of `tempdb`, if it is a table variable.
    pub(crate) fn own_name(&self, inner: &str) -> Option<&str> {
        let known = |t: &&TempTable| t.inner == inner && t.kind == TempKind::Variable;
        self.temp.tables.iter().find(known).map(|t| &*t.shown)
    }

    /// Replaces names of `tempdb` in an error by the names that the user wrote, as in SQL Server: a table
    /// variable by its name. A temporary table gets its short name if the error is about a key or a duplicate
    /// column, and in Furrow's own messages.
    pub(crate) fn with_own_names(&self, mut error: Box<SqlError>) -> Box<SqlError> {
        for table in &self.temp.tables {
            let (inner, shown) = (table.inner.as_str(), table.shown.as_str());
            for message in &mut error.messages {
                if !message.text.contains(inner) {
                    continue;
                }
                let of_key = matches!(message.number, 2601 | 2627 | 2705 | 40_514);
                let schema = format!("dbo.{inner}");
                message.text = match (of_key, table.kind) {
                    (true, _) => message.text.replace(inner, shown),
                    (false, TempKind::Variable) => {
                        let whole = format!("{TEMPDB}.{schema}");
                        let text = message.text.replace(&whole, shown);
                        text.replace(&schema, shown)
                    }
                    (false, TempKind::Local | TempKind::Shared) => continue,
                };
            }
        }
        error
    }

    /// A DDL statement with the names that temporary tables have in `tempdb`; `None` if it names none.
    pub fn with_temp_names(&mut self, stmt: &Stmt) -> Result<Option<Stmt>> {
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
