//! Recursive common table expressions.
//!
//! The rows of the anchor are given as they come and put on a stack. Then the newest row is taken off, the
//! recursive part is run on it alone, and what that gives is given on and put on the stack in its turn: the
//! order in which SQL Server gives such rows. Each row knows how deep it is; one that is deeper than
//! MAXRECURSION ends the statement (530).

use super::operator::{Cursor, Operator, Plan};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::memory::{Grant, row_bytes};
use furrow_types::Value;

/// A recursive common table expression.
#[derive(Debug, Clone)]
pub struct RecursivePlan {
    /// The part that does not refer to itself.
    pub anchor: Plan,
    /// The parts that name the expression itself.
    pub steps: Vec<Plan>,
    /// The slot where the current row is stored for them.
    pub slot: usize,
    /// MAXRECURSION; 0 is no limit.
    pub limit: u32,
}

impl RecursivePlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        Ok(Cursor::new(Recursion {
            plan: self,
            anchor: Some(self.anchor.open(cx)?),
            stack: Vec::new(),
            grant: Grant::new(&cx.memory),
            step: None,
        }))
    }
}

struct Step<'p> {
    cursor: Cursor<'p>,
    /// Which of the steps.
    number: usize,
    row: Vec<Value>,
    depth: u32,
}

struct Recursion<'p> {
    plan: &'p RecursivePlan,
    anchor: Option<Cursor<'p>>,
    stack: Vec<(u32, Vec<Value>)>,
    /// What the stack takes.
    grant: Grant,
    step: Option<Step<'p>>,
}

impl Recursion<'_> {
    /// Begins the next step: the one behind the last on the same row, or the first on the newest row.
    fn begin(&mut self, cx: &mut Context, last: Option<(usize, u32, Vec<Value>)>) -> Result<bool> {
        let mut next = match last {
            Some((number, depth, row)) => (number + 1, depth, row),
            None => (usize::MAX, 0, Vec::new()),
        };
        if next.0 >= self.plan.steps.len() {
            let Some((depth, row)) = self.stack.pop() else {
                return Ok(false);
            };
            self.grant.give_back(row_bytes(&row));
            next = (0, depth + 1, row);
        }
        let (number, depth, row) = next;
        let Some(step) = self.plan.steps.get(number) else {
            return Ok(false);
        };
        cx.check_cancel()?;
        place(cx, self.plan.slot, &row);
        let cursor = step.open(cx)?;
        self.step = Some(Step {
            cursor,
            number,
            row,
            depth,
        });
        Ok(true)
    }
}

fn place(cx: &mut Context, slot: usize, row: &[Value]) {
    if cx.work.len() <= slot {
        cx.work.resize(slot + 1, Vec::new());
    }
    cx.work[slot] = row.to_vec();
}

impl Operator for Recursion<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if let Some(anchor) = &mut self.anchor {
            if anchor.next(cx, out)? {
                self.grant.row(out)?;
                self.stack.push((0, out.clone()));
                return Ok(true);
            }
            anchor.close(cx);
            self.anchor = None;
        }
        loop {
            let Some(step) = &mut self.step else {
                if !self.begin(cx, None)? {
                    return Ok(false);
                }
                continue;
            };
            if step.cursor.next(cx, out)? {
                if self.plan.limit > 0 && step.depth > self.plan.limit {
                    return refuse(530, &[self.plan.limit.into()]);
                }
                self.grant.row(out)?;
                self.stack.push((step.depth, out.clone()));
                return Ok(true);
            }
            step.cursor.close(cx);
            if let Some(step) = self.step.take() {
                let last = (step.number, step.depth, step.row);
                if !self.begin(cx, Some(last))? {
                    return Ok(false);
                }
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Some(mut anchor) = self.anchor.take() {
            anchor.close(cx);
        }
        if let Some(mut step) = self.step.take() {
            step.cursor.close(cx);
        }
    }
}

/// The row that a recursive part works on.
pub(crate) fn work_row<'p>(slot: usize, cx: &Context) -> Cursor<'p> {
    let row = cx.work.get(slot).cloned().unwrap_or_default();
    Cursor::new(super::operator::Ready::new(vec![row]))
}
