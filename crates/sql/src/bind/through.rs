//! Changing rows through a query: the rows of a common table expression, of a derived table or of a view over
//! one table are rows of that table, and a statement that changes them changes those.
//!
//! The query's SELECT gives, behind its own columns, the table's row and the name of that row, without names:
//! nothing but the statement finds them.

use super::from::{Resolved, renamed, table_hints};
use super::query::BoundQuery;
use super::scope::{Binder, CteDef};
use crate::error::{Result, refuse, unsupported};
use crate::temp::is_temp;
use furrow_engine::{Database, LockHints, Module, Table};
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{Query, QueryBody, TableHint, TableRef};
use std::sync::Arc;

/// The query in FROM through which a statement changes rows.
#[derive(Debug)]
pub(crate) struct Through {
    /// What FROM calls it.
    pub(crate) name: String,
    /// What it calls the query that it is of in turn, and so on inwards, where it is not the table's own.
    inner: Vec<String>,
    /// How many of these queries are being bound.
    depth: usize,
    /// Whether the next SELECT is that of the next of them.
    armed: bool,
    /// Once one is bound: which column of the table each of its own columns is, if any.
    pub(crate) columns: Option<Vec<Option<usize>>>,
}

impl Through {
    pub(crate) fn new(name: &str, inner: Vec<String>) -> Through {
        Through {
            name: name.to_owned(),
            inner,
            depth: 0,
            armed: false,
            columns: None,
        }
    }

    /// The name that the next query goes by in the FROM around it.
    fn next(&self) -> Option<&str> {
        match self.depth.checked_sub(1) {
            None => Some(&self.name),
            Some(at) => self.inner.get(at).map(String::as_str),
        }
    }
}

/// The table beneath a query.
pub(crate) struct Beneath {
    pub(crate) db: Arc<Database>,
    pub(crate) table: Arc<Table>,
    pub(crate) hints: LockHints,
    /// What the innermost query calls it.
    pub(crate) name: String,
    /// The queries between the one asked about and the table, outermost first, as FROM calls them.
    pub(crate) inner: Vec<String>,
}

impl Beneath {
    /// The same, asked of a query around this one, which is called `name` there.
    fn within(mut self, name: &str) -> Beneath {
        self.inner.insert(0, name.to_owned());
        self
    }
}

impl BoundQuery {
    /// Gives its columns the names of an alias; what it gives besides stays without.
    pub(super) fn rename(&mut self, names: &[Ident], of: &str) -> Result<()> {
        let own = self.columns.len().saturating_sub(self.hidden);
        let hidden = self.columns.split_off(own);
        let columns = std::mem::take(&mut self.columns);
        self.columns = renamed(columns, names, of)?;
        self.columns.extend(hidden);
        Ok(())
    }
}

impl Binder<'_> {
    /// A query of this name in FROM is about to be bound. Only the statement's own FROM counts: within other
    /// queries the target is put aside.
    pub(super) fn arm(&mut self, name: &str) {
        let own_from = self.target.is_some();
        if let Some(through) = &mut self.through
            && own_from
            && through.columns.is_none()
            && through.next().is_some_and(|n| n.eq_ignore_ascii_case(name))
        {
            through.armed = true;
        }
    }

    /// Whether what is about to be bound is the query through which rows are changed.
    pub(super) fn is_armed(&self) -> bool {
        self.through.as_ref().is_some_and(|t| t.armed)
    }

    /// The same, asked by the SELECT that takes it on.
    pub(super) fn disarm(&mut self) -> bool {
        let Some(through) = self.through.as_mut() else {
            return false;
        };
        let armed = std::mem::take(&mut through.armed);
        through.depth += usize::from(armed);
        armed
    }

    /// The table beneath a common table expression.
    pub(crate) fn beneath_cte(&mut self, cte: &CteDef, hints: &[TableHint]) -> Result<Beneath> {
        let hidden = self.ctes.split_off(cte.sees.min(self.ctes.len()));
        let found = self.beneath(&cte.query, &cte.name, hints);
        self.ctes.extend(hidden);
        found
    }

    /// The table beneath a view of a user.
    pub(crate) fn beneath_view(
        &mut self,
        db: Arc<Database>,
        view: &Module,
        hints: &[TableHint],
    ) -> Result<Beneath> {
        let written = self.view_text(view)?;
        let ctes = std::mem::take(&mut self.ctes);
        let home = self.home.replace(db);
        let found = self
            .define(&written.query.ctes)
            .and_then(|()| self.beneath(&written.query, view.name(), hints));
        (self.ctes, self.home) = (ctes, home);
        found
    }

    /// The table beneath a query: its FROM has to be that table alone, its rows must be rows of it (4403).
    pub(crate) fn beneath(
        &mut self,
        query: &Query,
        of: &str,
        hints: &[TableHint],
    ) -> Result<Beneath> {
        let QueryBody::Select(select) = &query.body else {
            return Err(unsupported("changing rows through a set operation"));
        };
        if select.distinct || select.group_by.is_some() || select.having.is_some() {
            return refuse(4403, &[of.into()]);
        }
        let (name, alias, own) = match select.from.as_slice() {
            [TableRef::Table(table)] => (
                table.name.clone(),
                table.alias.as_ref(),
                table.hints.as_slice(),
            ),
            [TableRef::Variable { variable, alias }] => (
                ObjectName::single(variable.clone()),
                alias.as_ref(),
                &[][..],
            ),
            [TableRef::Derived { query, alias }] => {
                let name = &*alias.name.value;
                return Ok(self.beneath(query, name, hints)?.within(name));
            }
            [TableRef::Pivot(_) | TableRef::Unpivot(_)] => return refuse(4403, &[of.into()]),
            [TableRef::Join(_)] | [_, _, ..] => {
                return Err(unsupported("changing rows through a join"));
            }
            _ => return Err(unsupported("changing rows through a query of no table")),
        };
        let hints: Vec<TableHint> = own.iter().chain(hints).cloned().collect();
        let shown = |own: &str| alias.map_or(own, |alias| &*alias.value).to_owned();
        match self.resolve(&name)? {
            Resolved::Table(db, table) => {
                // A temporary table goes by the name it was given, not by the one that `tempdb` has for it.
                let name = match is_temp(name.name()) {
                    true => shown(name.name()),
                    false => shown(table.name()),
                };
                Ok(Beneath {
                    hints: table_hints(&table, &hints)?.0,
                    db,
                    table,
                    name,
                    inner: Vec::new(),
                })
            }
            Resolved::Cte(cte) => {
                let name = shown(&cte.name);
                Ok(self.beneath_cte(&cte, &hints)?.within(&name))
            }
            Resolved::Module(db, view) => {
                let name = shown(view.name());
                Ok(self.beneath_view(db, &view, &hints)?.within(&name))
            }
            Resolved::View(..) => Err(unsupported("changing rows through a system view")),
        }
    }
}
