//! The tree of a plan, and the interface of what runs it.

use super::aggregate::AggregatePlan;
use super::expr::{Cond, Expr};
use super::join::JoinPlan;
use super::markup::MarkupPlan;
use super::parallel::ParallelPlan;
use super::recursive::{self, RecursivePlan};
use super::scan::ScanPlan;
use super::set::SetPlan;
use super::sort::{SortPlan, TopPlan};
use super::spool::SpoolPlan;
use super::table_function::TableFunctionPlan;
use super::window::WindowPlan;
use crate::view::ViewPlan;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_types::{DataType, Value};
use std::fmt;
use std::sync::Arc;

/// Rows, one at a time. Operators pull from each other through [`Cursor`].
pub trait Operator {
    /// Puts the next row in `out`; `false` when there is none. Columns that no operator above reads are left
    /// as they are: the caller passes the same buffer each time, or an empty one.
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool>;

    /// Closes scans. Called once; it ends what was not run to its end.
    fn close(&mut self, cx: &mut Context);
}

/// A plan that runs. Each row is pulled through it, and each pull polls whether the statement is to end: an
/// operator polls itself only where it works long without a pull.
pub struct Cursor<'p> {
    operator: Box<dyn Operator + 'p>,
    closed: bool,
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").finish_non_exhaustive()
    }
}

impl<'p> Cursor<'p> {
    /// The cursor of an operator.
    pub fn new(operator: impl Operator + 'p) -> Cursor<'p> {
        Cursor {
            operator: Box::new(operator),
            closed: false,
        }
    }

    /// [`Operator::next`], unless the statement is to end.
    #[inline]
    pub fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        debug_assert!(!self.closed, "a closed cursor has no rows");
        cx.check_cancel()?;
        self.operator.next(cx, out)
    }

    /// [`Operator::close`].
    pub(crate) fn close(&mut self, cx: &mut Context) {
        debug_assert!(!self.closed, "a cursor is closed once");
        self.closed = true;
        self.operator.close(cx);
    }
}

/// What rows come from.
#[derive(Debug, Clone)]
pub enum Plan {
    /// One row of no columns.
    One,
    /// Rows of expressions.
    Values(Vec<Vec<Expr>>),
    /// Rows of a table.
    Scan(Arc<ScanPlan>),
    /// Rows of a system view or function.
    View(Arc<ViewPlan>),
    /// Rows that a table function makes of its arguments.
    TableFunction(Box<TableFunctionPlan>),
    /// Rows as one text of XML or JSON.
    Markup(Box<MarkupPlan>),
    /// Rows for which a condition is true.
    Filter(Box<Plan>, Box<Cond>),
    /// Expressions on each row.
    Project(Box<Plan>, Vec<Expr>),
    /// Rows of two plans matched.
    Join(Box<JoinPlan>),
    /// Groups with their aggregates.
    Aggregate(Box<AggregatePlan>),
    /// Rows in order.
    Sort(Box<SortPlan>),
    /// The first rows, or those behind an offset.
    Top(Box<TopPlan>),
    /// Rows that differ, under these types.
    Distinct(Box<Plan>, Vec<DataType>),
    /// UNION, EXCEPT, INTERSECT.
    Set(Box<SetPlan>),
    /// Rows with the values of window functions behind them.
    Window(Box<WindowPlan>),
    /// A recursive common table expression.
    Recursive(Box<RecursivePlan>),
    /// The row that the recursive part of one works on, by its slot.
    Work(usize),
    /// Rows by key, stored for one statement.
    Spool(Box<SpoolPlan>),
    /// Rows that several threads read together, in any order.
    Parallel(Arc<ParallelPlan>),
}

impl Plan {
    /// Starts it: 8631 where the stack has no space for what is below it.
    pub fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        furrow_context::depth::check()?;
        Ok(match self {
            Plan::One => Cursor::new(Rows {
                rows: std::slice::from_ref(&NO_EXPRESSIONS),
                next: 0,
            }),
            Plan::Values(rows) => Cursor::new(Rows { rows, next: 0 }),
            Plan::Scan(scan) => scan.open(cx)?,
            Plan::View(view) => view.open(cx)?,
            Plan::TableFunction(function) => function.open(cx)?,
            Plan::Markup(markup) => markup.open(cx)?,
            Plan::Filter(input, cond) => Cursor::new(Filter {
                input: input.open(cx)?,
                cond,
            }),
            Plan::Project(input, exprs) => Cursor::new(Project {
                input: input.open(cx)?,
                exprs,
                row: Vec::new(),
            }),
            Plan::Join(join) => join.open(cx)?,
            Plan::Aggregate(aggregate) => aggregate.open(cx)?,
            Plan::Sort(sort) => sort.open(cx)?,
            Plan::Top(top) => top.open(cx)?,
            Plan::Distinct(input, types) => super::set::distinct(input, types, cx)?,
            Plan::Set(set) => set.open(cx)?,
            Plan::Window(window) => window.open(cx)?,
            Plan::Recursive(plan) => plan.open(cx)?,
            Plan::Spool(spool) => spool.open(cx)?,
            Plan::Parallel(parallel) => parallel.open(cx)?,
            Plan::Work(slot) => recursive::work_row(*slot, cx),
        })
    }

    /// Runs it to the end.
    pub fn for_each(
        &self,
        cx: &mut Context,
        each: &mut dyn FnMut(&mut Context, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = self.open(cx)?;
        let mut row = Vec::new();
        let done = loop {
            match cursor.next(cx, &mut row) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
            if let Err(e) = each(cx, &row) {
                break Err(e);
            }
        };
        cursor.close(cx);
        done
    }
}

static NO_EXPRESSIONS: Vec<Expr> = Vec::new();

/// Rows of expressions.
struct Rows<'p> {
    rows: &'p [Vec<Expr>],
    next: usize,
}

impl Operator for Rows<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let Some(row) = self.rows.get(self.next) else {
            return Ok(false);
        };
        self.next += 1;
        out.clear();
        for expr in row {
            out.push(expr.eval(&[], cx)?.into_owned());
        }
        Ok(true)
    }

    fn close(&mut self, _: &mut Context) {}
}

struct Filter<'p> {
    input: Cursor<'p>,
    cond: &'p Cond,
}

impl Operator for Filter<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        while self.input.next(cx, out)? {
            if self.cond.holds(out, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self, cx: &mut Context) {
        self.input.close(cx);
    }
}

struct Project<'p> {
    input: Cursor<'p>,
    exprs: &'p [Expr],
    row: Vec<Value>,
}

impl Operator for Project<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if !self.input.next(cx, &mut self.row)? {
            return Ok(false);
        }
        out.clear();
        for expr in self.exprs {
            out.push(expr.eval(&self.row, cx)?.into_owned());
        }
        Ok(true)
    }

    fn close(&mut self, cx: &mut Context) {
        self.input.close(cx);
    }
}

/// Rows that are there already.
pub(crate) struct Ready {
    rows: std::vec::IntoIter<Vec<Value>>,
    /// What they take.
    _grant: Option<Grant>,
}

impl Ready {
    pub(crate) fn new(rows: Vec<Vec<Value>>) -> Ready {
        Ready {
            rows: rows.into_iter(),
            _grant: None,
        }
    }

    /// Many rows.
    pub(crate) fn kept(rows: Vec<Vec<Value>>, grant: Grant) -> Ready {
        Ready {
            rows: rows.into_iter(),
            _grant: Some(grant),
        }
    }
}

impl Operator for Ready {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        match self.rows.next() {
            Some(row) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn close(&mut self, _: &mut Context) {}
}
