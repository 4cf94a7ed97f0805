//! Cursors of a connection: their names, states and positions.
//!
//! A cursor has names: the one that it was declared with, and the cursor variables that were set to it. It
//! is deallocated with its last name. A LOCAL cursor and a cursor variable belong to the batch, procedure or
//! text that declares them, and end with it; a GLOBAL cursor belongs to the connection.
//!
//! The rows of an open cursor are those of its query when it was opened: every cursor is a STATIC one, into
//! which SQL Server also converts other kinds when it must. They are stored by [`CursorRows`], which the
//! operators implement.

use crate::error::{Result, refuse};
use crate::scope::Scope;
use crate::sink::ResultColumn;
use furrow_format::{DatabaseId, ObjectId};
use furrow_tsql::ast::expr::CursorName;
use furrow_tsql::ast::flow::DeclareCursor;
use furrow_types::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Rows that are read by number.
pub trait CursorRows: fmt::Debug + Send {
    /// Number of rows.
    fn count(&self) -> u64;
    /// The row with this number, from 0.
    fn get(&mut self, number: u64) -> Result<Option<Vec<Value>>>;
}

/// The rows that FETCH may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrolling {
    /// Only the next one.
    ForwardOnly,
    /// Any.
    Scroll,
}

/// Whether rows are changed through a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorWrites {
    /// Not at all.
    ReadOnly,
    /// WHERE CURRENT OF may change these columns, or all if the list is empty.
    Of(Vec<String>),
}

/// A cursor as it was declared.
#[derive(Debug, Clone)]
pub struct CursorPlan {
    /// The statement.
    pub written: Arc<DeclareCursor>,
    /// Which rows may be fetched.
    pub scrolling: Scrolling,
    /// Whether rows may be changed.
    pub writes: CursorWrites,
    /// The variables at the declaration: its query uses these values.
    pub scope: Scope,
}

/// The rows of an open cursor.
#[derive(Debug)]
pub struct OpenCursor {
    /// The columns of its query.
    pub columns: Vec<ResultColumn>,
    /// The table that WHERE CURRENT OF changes. Behind the columns of the query, each row then has the row of
    /// this table and its name.
    pub target: Option<(DatabaseId, ObjectId)>,
    /// The rows.
    pub rows: Box<dyn CursorRows>,
    /// The number of the row that was fetched last, from 1; 0 before the first row, number of rows + 1 behind
    /// the last.
    pub at: u64,
}

impl OpenCursor {
    /// The row that was fetched last, if there is one.
    pub fn current(&mut self) -> Result<Option<Vec<Value>>> {
        match self.at.checked_sub(1) {
            Some(number) => self.rows.get(number),
            None => Ok(None),
        }
    }
}

/// A cursor.
#[derive(Debug)]
pub struct Cursor {
    /// The declaration.
    pub plan: Arc<CursorPlan>,
    /// Its rows, while it is open.
    pub open: Option<OpenCursor>,
}

/// The scope of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorScope {
    /// The connection.
    Global,
    /// The batch, procedure or text at this depth.
    Local(usize),
    /// The batch, procedure or text at this depth, for a cursor variable.
    Variable(usize),
}

impl CursorScope {
    fn depth(self) -> Option<usize> {
        match self {
            CursorScope::Global => None,
            CursorScope::Local(depth) | CursorScope::Variable(depth) => Some(depth),
        }
    }
}

#[derive(Debug)]
struct Named {
    name: String,
    scope: CursorScope,
    /// `None` for a variable without a cursor.
    cursor: Option<u64>,
}

/// The result of CURSOR_STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorStatus {
    /// There is no such cursor or cursor variable.
    Absent,
    /// The variable has no cursor.
    Unallocated,
    /// It is closed.
    Closed,
    /// It is open and has no rows.
    Empty,
    /// It is open.
    Open,
}

/// The cursors of a connection.
#[derive(Debug, Default)]
pub struct Cursors {
    named: Vec<Named>,
    cursors: BTreeMap<u64, Cursor>,
    next: u64,
    /// @@FETCH_STATUS.
    pub fetch_status: i32,
    /// @@CURSOR_ROWS of the cursor that was opened last.
    pub rows: u64,
}

impl Cursors {
    fn place(&self, name: &str, scope: CursorScope) -> Option<usize> {
        let is_it = |named: &Named| named.scope == scope && named.name == name;
        self.named.iter().position(is_it)
    }

    fn add(&mut self, plan: CursorPlan) -> u64 {
        self.next += 1;
        let plan = Arc::new(plan);
        self.cursors.insert(self.next, Cursor { plan, open: None });
        self.next
    }

    /// Drops the cursors that have no name left.
    fn sweep(&mut self) {
        let named = &self.named;
        self.cursors
            .retain(|id, _| named.iter().any(|named| named.cursor == Some(*id)));
    }

    /// DECLARE c CURSOR: 16915 if the name exists.
    pub fn declare(&mut self, shown: &str, scope: CursorScope, plan: CursorPlan) -> Result<()> {
        let name = shown.to_lowercase();
        if self.place(&name, scope).is_some() {
            return refuse(16_915, &[shown.into()]);
        }
        let cursor = Some(self.add(plan));
        self.named.push(Named {
            name,
            scope,
            cursor,
        });
        Ok(())
    }

    /// DECLARE @c CURSOR. A variable that exists is not changed, as in a loop.
    pub fn declare_variable(&mut self, name: &str, depth: usize) {
        let (name, scope) = (name.to_lowercase(), CursorScope::Variable(depth));
        if self.place(&name, scope).is_none() {
            self.named.push(Named {
                name,
                scope,
                cursor: None,
            });
        }
    }

    /// Whether a cursor variable of this name is declared.
    pub fn is_variable(&self, name: &str, depth: usize) -> bool {
        let scope = CursorScope::Variable(depth);
        self.place(&name.to_lowercase(), scope).is_some()
    }

    fn set(&mut self, shown: &str, depth: usize, cursor: Option<u64>) -> Result<()> {
        let place = self.place(&shown.to_lowercase(), CursorScope::Variable(depth));
        match place.and_then(|at| self.named.get_mut(at)) {
            Some(named) => named.cursor = cursor,
            None => return refuse(16_948, &[shown.into()]),
        }
        self.sweep();
        Ok(())
    }

    /// SET @c = CURSOR ...
    pub fn set_new(&mut self, variable: &str, depth: usize, plan: CursorPlan) -> Result<()> {
        let cursor = self.add(plan);
        self.set(variable, depth, Some(cursor))
    }

    /// SET @c = c
    pub fn set_same(&mut self, variable: &str, depth: usize, from: &CursorName) -> Result<()> {
        let cursor = self.id(from, depth)?;
        self.set(variable, depth, Some(cursor))
    }

    /// The entry of a name: a local cursor is found before a global one.
    fn entry(&self, name: &CursorName, depth: usize) -> Option<usize> {
        let lower = name.name.value.to_lowercase();
        if name.is_variable {
            return self.place(&lower, CursorScope::Variable(depth));
        }
        let local = (!name.global).then_some(CursorScope::Local(depth));
        let scopes = local.into_iter().chain([CursorScope::Global]);
        scopes
            .into_iter()
            .find_map(|scope| self.place(&lower, scope))
    }

    /// The number of the cursor with a name: 16916, and for a variable 16948 and 16950.
    fn id(&self, name: &CursorName, depth: usize) -> Result<u64> {
        let shown = &*name.name.value;
        let found = self.entry(name, depth).and_then(|at| self.named.get(at));
        match found {
            Some(Named {
                cursor: Some(id), ..
            }) => Ok(*id),
            Some(_) => refuse(16_950, &[shown.into()]),
            None if name.is_variable => refuse(16_948, &[shown.into()]),
            None => refuse(16_916, &[shown.into()]),
        }
    }

    /// The cursor with a name.
    pub fn find(&mut self, name: &CursorName, depth: usize) -> Result<&mut Cursor> {
        let id = self.id(name, depth)?;
        match self.cursors.get_mut(&id) {
            Some(cursor) => Ok(cursor),
            None => refuse(16_916, &[(*name.name.value).into()]),
        }
    }

    /// The open cursor with a name: 16917.
    pub fn find_open(&mut self, name: &CursorName, depth: usize) -> Result<&mut OpenCursor> {
        match &mut self.find(name, depth)?.open {
            Some(open) => Ok(open),
            None => refuse(16_917, &[]),
        }
    }

    /// DEALLOCATE: removes the name; a variable still exists, without a cursor.
    pub fn deallocate(&mut self, name: &CursorName, depth: usize) -> Result<()> {
        self.id(name, depth)?;
        if let Some(at) = self.entry(name, depth) {
            match (name.is_variable, self.named.get_mut(at)) {
                (true, Some(named)) => named.cursor = None,
                _ => {
                    self.named.remove(at);
                }
            }
        }
        self.sweep();
        Ok(())
    }

    /// Removes the names of batches, procedures and texts from this depth on.
    pub fn leave(&mut self, depth: usize) {
        if !self.named.is_empty() {
            self.named
                .retain(|named| named.scope.depth().is_none_or(|own| own < depth));
            self.sweep();
        }
    }

    /// Removes all cursors.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        self.cursors.clear();
    }

    /// Closes all cursors, as the end of a transaction does under SET CURSOR_CLOSE_ON_COMMIT ON.
    pub fn close_all(&mut self) {
        for cursor in self.cursors.values_mut() {
            cursor.open = None;
        }
    }

    /// CURSOR_STATUS of a name.
    pub fn status(&self, name: &str, scope: CursorScope) -> CursorStatus {
        let place = self.place(&name.to_lowercase(), scope);
        let Some(named) = place.and_then(|at| self.named.get(at)) else {
            return CursorStatus::Absent;
        };
        let Some(cursor) = named.cursor.and_then(|id| self.cursors.get(&id)) else {
            return CursorStatus::Unallocated;
        };
        match &cursor.open {
            None => CursorStatus::Closed,
            Some(open) if open.rows.count() == 0 => CursorStatus::Empty,
            Some(_) => CursorStatus::Open,
        }
    }
}
