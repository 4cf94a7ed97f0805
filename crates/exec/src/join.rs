//! Joins: nested loops, with the inner side opened again for each outer row, and hash joins.
//!
//! The row of a join is columns of the left row and columns of the right row behind them: those that are
//! looked at above. A right join is a left join of the two sides exchanged: the binder does that.

use super::expr::{Cond, Expr};
use super::hash::Hash;
use super::operator::{Cursor, Operator, Plan};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_types::{DataType, Value};

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without one.
    Left,
    /// Pairs, and rows of either side without one.
    Full,
}

/// How pairs are found.
#[derive(Debug, Clone)]
pub enum Method {
    /// The right side is run for each left row, which it sees through the frame.
    Loop {
        /// Places of the frame, and what of the left row goes there.
        takes: Vec<(usize, Expr)>,
    },
    /// The right side is run once and stored; each left row is compared with all of it.
    Materialized,
    /// The right side is run once and stored by key.
    Hash {
        /// Keys of the left side.
        left: Vec<Expr>,
        /// Keys of the right side.
        right: Vec<Expr>,
        /// The types that keys are compared as.
        types: Vec<DataType>,
    },
}

/// A join.
#[derive(Debug, Clone)]
pub struct JoinPlan {
    /// The outer side.
    pub left: Plan,
    /// The inner side.
    pub right: Plan,
    /// Inner, left, right, full, semi or anti.
    pub kind: JoinKind,
    /// How rows are matched.
    pub method: Method,
    /// What a pair must satisfy besides, on the joined row.
    pub on: Option<Cond>,
    /// Places of the left and of the right row that the joined row has; the others end here.
    pub left_columns: Vec<usize>,
    /// Columns of the right side that are read above, in its own numbering.
    pub right_columns: Vec<usize>,
}

impl JoinPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let left = self.left.open(cx)?;
        if let Method::Loop { takes } = &self.method {
            return Ok(Cursor::new(Loop {
                plan: self,
                takes,
                left,
                right: None,
                row: Vec::new(),
                found: Vec::new(),
                paired: false,
            }));
        }
        Ok(Cursor::new(Hash::new(self, left)))
    }
}

struct Loop<'p> {
    plan: &'p JoinPlan,
    takes: &'p [(usize, Expr)],
    left: Cursor<'p>,
    right: Option<Cursor<'p>>,
    row: Vec<Value>,
    found: Vec<Value>,
    paired: bool,
}

/// Puts a joined row together. `right`: the columns that it has of the right row, none for a row of NULLs.
pub(super) fn joined<'r>(
    plan: &JoinPlan,
    left: &[Value],
    right: impl Iterator<Item = &'r Value>,
    out: &mut Vec<Value>,
) {
    out.clear();
    let left = plan.left_columns.iter().map(|at| left.get(*at));
    out.extend(left.map(|value| value.cloned().unwrap_or(Value::Null)));
    out.extend(right.cloned());
    let width = plan.left_columns.len() + plan.right_columns.len();
    debug_assert!(
        out.len() <= width,
        "a right row has more columns than are joined"
    );
    out.resize(width, Value::Null);
}

/// The columns of a right row that the joined row has.
pub(super) fn picked<'r>(plan: &'r JoinPlan, row: &'r [Value]) -> impl Iterator<Item = &'r Value> {
    let columns = plan.right_columns.iter();
    columns.map(|at| row.get(*at).unwrap_or(&Value::Null))
}

impl Operator for Loop<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            if self.right.is_none() {
                if !self.left.next(cx, &mut self.row)? {
                    return Ok(false);
                }
                self.paired = false;
                for (place, from) in self.takes {
                    let value = from.eval(&self.row, cx)?.into_owned();
                    if cx.frame.len() <= *place {
                        cx.frame.resize(place + 1, Value::Null);
                    }
                    cx.frame[*place] = value;
                }
                self.right = Some(self.plan.right.open(cx)?);
            }
            let Some(right) = &mut self.right else {
                continue;
            };
            while right.next(cx, &mut self.found)? {
                let right = picked(self.plan, &self.found);
                joined(self.plan, &self.row, right, out);
                if let Some(on) = &self.plan.on
                    && !on.holds(out, cx)?
                {
                    continue;
                }
                self.paired = true;
                return Ok(true);
            }
            right.close(cx);
            self.right = None;
            if !self.paired && self.plan.kind == JoinKind::Left {
                joined(self.plan, &self.row, [].iter(), out);
                return Ok(true);
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Some(mut right) = self.right.take() {
            right.close(cx);
        }
        self.left.close(cx);
    }
}
