//! Changing rows through a query: the rows of a common table expression, of a derived table or of a view over
//! one table are rows of that table, and a statement that changes them changes those.
//!
//! The query's SELECT gives, behind its own columns, the table's row and the name of that row, without names:
//! nothing but the statement finds them.

use super::from::{renamed, table_hints};
use super::query::BoundQuery;
use super::resolve::Resolved;
use super::scope::{Binder, CteDef};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_engine::{Database, LockHints, Module, Table};
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{Query, QueryBody, TableHint, TableRef};
use std::sync::Arc;

/// A source as it is written: two are the same where their nodes are at the same place in memory. The
/// statement at hand, and the definitions that it is bound with, stay where they are while it is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceNode(usize);

impl SourceNode {
    /// The source that a FROM clause names.
    pub fn of(source: &TableRef) -> SourceNode {
        SourceNode(std::ptr::from_ref(source).addr())
    }
}

/// The query in FROM through which a statement changes rows.
#[derive(Debug)]
pub struct UpdatableView {
    /// What FROM calls it.
    pub name: String,
    /// Whether the rows that it gives are about to be changed, and locked for it.
    pub(super) locks: bool,
    /// Whether the next SELECT is that of the query, or of one that this one is over in turn.
    armed: bool,
    /// Once one is bound: which column of the table each of its own columns is, if any.
    pub columns: Option<Vec<Option<usize>>>,
}

impl UpdatableView {
    /// For a view or common table expression of this name.
    pub fn new(name: &str) -> UpdatableView {
        UpdatableView {
            name: name.to_owned(),
            locks: true,
            armed: false,
            columns: None,
        }
    }
}

/// The table beneath a query.
#[derive(Debug)]
pub struct BaseTable {
    /// Its database.
    pub db: Arc<Database>,
    /// The table.
    pub table: Arc<Table>,
    /// Lock hints of the references that led to it.
    pub hints: LockHints,
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
    /// A query in FROM is about to be bound. `is_target`: it is the one that rows are changed through.
    pub(super) fn arm(&mut self, is_target: bool) {
        if let Some(through) = self.updatable_view.as_mut().filter(|_| is_target) {
            through.armed = true;
        }
    }

    /// Whether the SELECT that is about to be bound is that of the query that rows are changed through. The
    /// only source of such a SELECT is the next target.
    pub(super) fn disarm(&mut self, from: &[TableRef]) -> bool {
        let Some(through) = self.updatable_view.as_mut() else {
            return false;
        };
        let armed = std::mem::take(&mut through.armed);
        if armed {
            debug_assert_eq!(
                from.len(),
                1,
                "a query that rows are changed through has one source"
            );
            self.target = from.first().map(SourceNode::of);
        }
        armed
    }

    /// Binds the query of a cursor through which rows may be changed: behind its columns its rows have the
    /// row of the table beneath, and the name of that row. An error means that rows can't be changed through
    /// it, or that the query is wrong; then the binder must not be used again.
    pub fn query_with_rows(&mut self, query: &Query, of: &str) -> Result<(BoundQuery, BaseTable)> {
        if query.for_clause.is_some() {
            return Err(unsupported("changing rows through a query with FOR"));
        }
        let before = self.ctes.len();
        self.define(&query.ctes)?;
        let base = self.base_table(query, of, &[])?;
        self.ctes.truncate(before);
        self.updatable_view = Some(UpdatableView {
            locks: false,
            armed: true,
            ..UpdatableView::new(of)
        });
        let mut bound = self.query(query)?;
        let own = bound.columns.len().saturating_sub(bound.hidden);
        bound.columns.truncate(own);
        Ok((bound, base))
    }

    /// The table beneath a common table expression.
    pub fn base_table_of_cte(&mut self, cte: &CteDef, hints: &[TableHint]) -> Result<BaseTable> {
        let hidden = self.ctes.split_off(cte.sees.min(self.ctes.len()));
        let found = self.base_table(&cte.query, &cte.name, hints);
        self.ctes.extend(hidden);
        found
    }

    /// The table beneath a view of a user, which the statement calls `name`.
    pub fn base_table_of_view(
        &mut self,
        db: Arc<Database>,
        view: &Module,
        name: &ObjectName,
        hints: &[TableHint],
    ) -> Result<BaseTable> {
        let written = self.view_text(view)?;
        self.within_view((db, view), name, |binder| {
            binder.define(&written.query.ctes)?;
            binder.base_table(&written.query, view.name(), hints)
        })
    }

    /// The table beneath a query: its FROM has to be that table alone, its rows must be rows of it (4403).
    pub fn base_table(
        &mut self,
        query: &Query,
        of: &str,
        hints: &[TableHint],
    ) -> Result<BaseTable> {
        let QueryBody::Select(select) = &query.body else {
            return Err(unsupported("changing rows through a set operation"));
        };
        if select.distinct || select.group_by.is_some() || select.having.is_some() {
            return refuse(4403, &[of.into()]);
        }
        let (name, own) = match select.from.as_slice() {
            [TableRef::Table(table)] => (table.name.clone(), table.hints.as_slice()),
            [TableRef::Variable { variable, .. }] => {
                (ObjectName::single(variable.clone()), &[][..])
            }
            [TableRef::Derived { query, alias }] => {
                return self.base_table(query, &alias.name.value, hints);
            }
            [TableRef::Pivot(_) | TableRef::Unpivot(_)] => return refuse(4403, &[of.into()]),
            [TableRef::Join(_)] | [_, _, ..] => {
                return Err(unsupported("changing rows through a join"));
            }
            _ => return Err(unsupported("changing rows through a query of no table")),
        };
        let hints: Vec<TableHint> = own.iter().chain(hints).cloned().collect();
        match self.resolve(&name)? {
            Resolved::Table(db, table) => Ok(BaseTable {
                hints: table_hints(&table, &hints)?.0,
                db,
                table,
            }),
            Resolved::Cte(cte) => self.base_table_of_cte(&cte, &hints),
            Resolved::Module(db, view) => self.base_table_of_view(db, &view, &name, &hints),
            Resolved::View(..) => Err(unsupported("changing rows through a system view")),
        }
    }
}
