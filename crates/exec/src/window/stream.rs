//! Windows whose rows come in their order already: each row is given as it comes; only the state of the calls
//! is stored. The binder decides where that is so ([`WindowPlan::streams`](super::WindowPlan)).

use super::big::Ranks;
use super::{FrameEnd, WindowCall, WindowFunction};
use crate::expr::Expr;
use crate::operator::{Cursor, Operator};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_scalar::aggregate::{Accumulator, BoundAggregate};
use furrow_types::Value;
use std::collections::VecDeque;

/// LAG looks back at most so many rows here.
const MOST_BACK: i64 = 1024;

/// How many rows LAG looks back, where that is one number for all rows.
fn rows_back(offset: Option<&Expr>) -> Option<usize> {
    let rows = match offset {
        None => 1,
        Some(Expr::Const(value)) => value.as_i64()?,
        Some(_) => return None,
    };
    usize::try_from(rows).ok().filter(|_| rows <= MOST_BACK)
}

impl WindowCall {
    /// Whether the call gives a row its value when it has seen the rows up to it, and keeps little of them.
    pub fn looks_back_only(&self) -> bool {
        let from_first = matches!(self.frame.start, FrameEnd::Unbounded);
        let to_current = matches!(self.frame.end, FrameEnd::Current);
        match &self.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => true,
            WindowFunction::Aggregate(..) => self.frame.rows && from_first && to_current,
            WindowFunction::First(_) => from_first && to_current,
            WindowFunction::Last(_) => self.frame.rows && to_current,
            WindowFunction::Neighbour { back, offset, .. } => {
                *back && rows_back(offset.as_ref()).is_some()
            }
            _ => false,
        }
    }
}

/// What a call has come to in its partition.
#[derive(Default)]
struct State {
    ranks: Ranks,
    running: Option<Accumulator>,
    first: Option<Value>,
    /// Values of the rows before, the last one at the end.
    back: VecDeque<Value>,
}

impl State {
    /// The value of the next row.
    fn value(&mut self, call: &WindowCall, row: &[Value], cx: &mut Context) -> Result<Value> {
        let mut keys = Vec::with_capacity(call.partition.len() + call.order.len());
        for key in call.partition.iter().chain(&call.order) {
            keys.push(key.expr.eval(row, cx)?.into_owned());
        }
        if self.ranks.step(call, keys) {
            (self.running, self.first) = (None, None);
            self.back.clear();
        }
        if let Some(rank) = self.ranks.value(call) {
            return Ok(rank);
        }
        match &call.function {
            WindowFunction::Aggregate(bound, argument) => {
                let running = self.running.get_or_insert_with(|| bound.start());
                add(running, (bound, argument.as_ref()), row, cx)?;
                Ok(running.finish(bound)?)
            }
            WindowFunction::First(value) => {
                let first = match self.first.take() {
                    Some(first) => first,
                    None => value.eval(row, cx)?.into_owned(),
                };
                self.first = Some(first.clone());
                Ok(first)
            }
            WindowFunction::Last(value) => Ok(value.eval(row, cx)?.into_owned()),
            WindowFunction::Neighbour {
                value,
                offset,
                default,
                ..
            } => {
                let rows = rows_back(offset.as_ref()).unwrap_or(1);
                self.back.push_back(value.eval(row, cx)?.into_owned());
                if self.back.len() > rows + 1 {
                    self.back.pop_front();
                }
                match (self.back.front(), default) {
                    (Some(found), _) if self.back.len() > rows => Ok(found.clone()),
                    (_, Some(default)) => Ok(default.eval(row, cx)?.into_owned()),
                    _ => Ok(Value::Null),
                }
            }
            _ => Ok(Value::Null),
        }
    }
}

/// Takes a row's value into an aggregate.
fn add(
    state: &mut Accumulator,
    (bound, argument): (&BoundAggregate, Option<&Expr>),
    row: &[Value],
    cx: &mut Context,
) -> Result<()> {
    let Some(argument) = argument else {
        state.add_row();
        return Ok(());
    };
    let value = argument.eval(row, cx)?;
    cx.null_eliminated |= value.is_null() && bound.warns();
    match &bound.conversion {
        Some(conversion) if !value.is_null() => {
            state.add(bound, &conversion.apply(&value, &cx.settings())?)?;
        }
        _ => state.add(bound, &value)?,
    }
    Ok(())
}

/// Such a window that runs.
pub(super) struct Streaming<'p> {
    input: Cursor<'p>,
    width: usize,
    calls: Vec<(&'p WindowCall, State)>,
    row: Vec<Value>,
}

impl<'p> Streaming<'p> {
    pub(crate) fn new(input: Cursor<'p>, width: usize, calls: &'p [WindowCall]) -> Streaming<'p> {
        debug_assert!(calls.iter().all(WindowCall::looks_back_only));
        Streaming {
            input,
            width,
            calls: calls.iter().map(|call| (call, State::default())).collect(),
            row: Vec::new(),
        }
    }
}

impl Operator for Streaming<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if !self.input.next(cx, &mut self.row)? {
            return Ok(false);
        }
        out.clear();
        out.extend_from_slice(&self.row);
        out.resize(self.width, Value::Null);
        for (call, state) in &mut self.calls {
            // A call reads only columns of the input; the columns of earlier calls follow these.
            let value = state.value(call, out, cx)?;
            out.push(value);
        }
        Ok(true)
    }

    fn close(&mut self, cx: &mut Context) {
        self.input.close(cx);
    }
}
