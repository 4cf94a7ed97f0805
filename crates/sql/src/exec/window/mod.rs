//! Window functions: ranks, neighbours, aggregates over frames.
//!
//! The rows of the input are kept, sorted by the partition and order of each call in turn (calls with the
//! same window share a sort), and each call adds a column. The rows are given in the order of the last
//! sort.
//!
//! A frame that begins with its partition grows by a row at a time, so its aggregate is carried on; any other
//! frame is summed up anew for each row that has another one than the row before.
//!
//! Rows for which there is no room go through files ([`big`]).

mod big;

use super::expr::{Expr, as_count};
use super::memory::{Grant, LEAST_BYTES, row_bytes};
use super::operator::{Cursor, Plan, Ready};
use super::sort::{SortKey, compare_keys};
use super::spill::{SpillFile, Stream};
use crate::context::Context;
use crate::error::{Result, refuse};
use furrow_format::types::Value;
use furrow_scalar::aggregate::{Accumulator, BoundAggregate};
use std::cmp::Ordering;
use std::ops::Range;

/// What a call gives.
#[derive(Debug, Clone)]
pub(crate) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(Expr),
    /// LAG (`true`) or LEAD: value, offset, default.
    Neighbour {
        back: bool,
        value: Expr,
        offset: Option<Expr>,
        default: Option<Expr>,
    },
    First(Expr),
    Last(Expr),
    /// `None` as the argument is COUNT(*).
    Aggregate(BoundAggregate, Option<Expr>),
}

/// One end of a frame.
#[derive(Debug, Clone)]
pub(crate) enum FrameEnd {
    Unbounded,
    Current,
    Preceding(Expr),
    Following(Expr),
}

/// A frame: rows counted, or rows that are peers of the current one.
#[derive(Debug, Clone)]
pub(crate) struct WindowFrame {
    pub(crate) rows: bool,
    pub(crate) start: FrameEnd,
    pub(crate) end: FrameEnd,
}

/// A call of a window function.
#[derive(Debug, Clone)]
pub(crate) struct WindowCall {
    pub(crate) function: WindowFunction,
    pub(crate) partition: Vec<SortKey>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: WindowFrame,
    /// The window in words: calls with the same words share a sort.
    pub(crate) window: String,
}

/// Rows with a column for each call behind the input's `width`.
#[derive(Debug, Clone)]
pub(crate) struct WindowPlan {
    pub(crate) input: Plan,
    pub(crate) width: usize,
    pub(crate) calls: Vec<WindowCall>,
}

/// A row and its keys under the window at hand: partition, then order.
struct Kept {
    row: Vec<Value>,
    keys: Vec<Value>,
}

impl WindowPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut rows = Vec::new();
        let mut grant = Grant::new(cx);
        let mut written: Option<Stream> = None;
        self.input.for_each(cx, &mut |cx, row| {
            let mut row = row.to_vec();
            row.resize(self.width, Value::Null);
            if let Some(written) = &mut written {
                return written.push(&row);
            }
            // Once for itself and once for its keys.
            let fits = grant.fits(2 * row_bytes(&row), LEAST_BYTES);
            rows.push(Kept {
                row,
                keys: Vec::new(),
            });
            if !fits {
                let file = SpillFile::create(cx)?;
                let written = written.insert(Stream::new(&file));
                for kept in rows.drain(..) {
                    written.push(&kept.row)?;
                }
                grant.give_all_back();
            }
            Ok(())
        })?;
        if let Some(written) = written {
            return Ok(Box::new(self.through_files(written.finish()?, cx)?));
        }
        let mut sorted: Option<&str> = None;
        for call in &self.calls {
            if sorted != Some(&call.window) {
                sort(&mut rows, call, cx)?;
                sorted = Some(&call.window);
            }
            let mut start = 0;
            while start < rows.len() {
                let end = run_of(&rows, start, &call.partition, 0);
                fill(&mut rows, start..end, call, cx)?;
                start = end;
            }
        }
        let rows = rows.into_iter().map(|kept| kept.row).collect();
        Ok(Box::new(Ready::kept(rows, grant)))
    }
}

fn sort(rows: &mut [Kept], call: &WindowCall, cx: &mut Context) -> Result<()> {
    for kept in rows.iter_mut() {
        kept.keys.clear();
        for key in call.partition.iter().chain(&call.order) {
            kept.keys.push(key.expr.eval(&kept.row, cx)?.into_owned());
        }
    }
    let keys: Vec<SortKey> = call.partition.iter().chain(&call.order).cloned().collect();
    if !keys.is_empty() {
        rows.sort_by(|a, b| compare_keys(&keys, &a.keys, &b.keys));
    }
    Ok(())
}

/// Where the rows end that have the keys of the row at `start`. The keys begin at `from` among all.
fn run_of(rows: &[Kept], start: usize, keys: &[SortKey], from: usize) -> usize {
    if keys.is_empty() {
        return rows.len();
    }
    let of = |kept: &Kept| kept.keys.get(from..).unwrap_or_default().to_vec();
    let Some(first) = rows.get(start).map(of) else {
        return rows.len();
    };
    let rest = rows.iter().skip(start);
    let same = rest.take_while(|k| {
        let other = k.keys.get(from..).unwrap_or_default();
        compare_keys(keys, other, &first) == Ordering::Equal
    });
    start + same.count()
}

/// The ends of the runs of peers in a partition.
fn peers(rows: &[Kept], part: &Range<usize>, call: &WindowCall) -> Vec<usize> {
    let within = rows.get(..part.end).unwrap_or_default();
    let mut ends = Vec::new();
    let mut at = part.start;
    while at < part.end {
        at = run_of(within, at, &call.order, call.partition.len());
        ends.push(at);
    }
    ends
}

fn eval(expr: &Expr, rows: &[Kept], at: usize, cx: &mut Context) -> Result<Value> {
    let row = rows.get(at).map_or(&[][..], |k| k.row.as_slice());
    Ok(expr.eval(row, cx)?.into_owned())
}

/// Adds the column of a call to the rows of a partition.
fn fill(rows: &mut [Kept], part: Range<usize>, call: &WindowCall, cx: &mut Context) -> Result<()> {
    let values = match &call.function {
        WindowFunction::Ntile(count) => ntile(rows, &part, count, cx)?,
        WindowFunction::Neighbour {
            back,
            value,
            offset,
            default,
        } => {
            let ask = (value, offset.as_ref(), default.as_ref());
            neighbours(rows, &part, *back, ask, cx)?
        }
        WindowFunction::First(_) | WindowFunction::Last(_) | WindowFunction::Aggregate(..) => {
            framed(rows, &part, call, cx)?
        }
        _ => ranks(rows, &part, call),
    };
    for (kept, value) in rows.iter_mut().skip(part.start).zip(values) {
        kept.row.push(value);
    }
    Ok(())
}

fn ranks(rows: &[Kept], part: &Range<usize>, call: &WindowCall) -> Vec<Value> {
    let all = part.len();
    let mut values = Vec::with_capacity(all);
    let mut start = part.start;
    for (group, end) in peers(rows, part, call).into_iter().enumerate() {
        for at in start..end {
            let before = start - part.start;
            values.push(match call.function {
                WindowFunction::Rank => Value::BigInt(before as i64 + 1),
                WindowFunction::DenseRank => Value::BigInt(group as i64 + 1),
                WindowFunction::PercentRank => {
                    let others = all.saturating_sub(1).max(1);
                    Value::Float(before as f64 / others as f64)
                }
                WindowFunction::CumeDist => {
                    Value::Float((end - part.start) as f64 / all.max(1) as f64)
                }
                _ => Value::BigInt((at - part.start) as i64 + 1),
            });
        }
        start = end;
    }
    values
}

fn ntile(rows: &[Kept], part: &Range<usize>, count: &Expr, cx: &mut Context) -> Result<Vec<Value>> {
    let value = eval(count, rows, part.start, cx)?;
    let tiles = match as_count(&value, cx)? {
        Some(n) if n > 0 => n as usize,
        _ => return refuse(4116, &["ntile".into()]),
    };
    let (each, more) = (part.len() / tiles, part.len() % tiles);
    let tile = |n: usize| {
        let wide = more * (each + 1);
        match n < wide {
            true => n / (each + 1),
            false => more + (n - wide) / each.max(1),
        }
    };
    Ok((0..part.len())
        .map(|n| Value::BigInt(tile(n) as i64 + 1))
        .collect())
}

fn neighbours(
    rows: &[Kept],
    part: &Range<usize>,
    back: bool,
    (value, offset, default): (&Expr, Option<&Expr>, Option<&Expr>),
    cx: &mut Context,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(part.len());
    for at in part.clone() {
        let away = match offset {
            Some(offset) => {
                let away = eval(offset, rows, at, cx)?;
                match as_count(&away, cx)? {
                    Some(n) if n >= 0 => usize::try_from(n).unwrap_or(usize::MAX),
                    _ => return refuse(8730, &[]),
                }
            }
            None => 1,
        };
        let other = match back {
            true => at.checked_sub(away),
            false => at.checked_add(away),
        };
        values.push(match (other.filter(|o| part.contains(o)), default) {
            (Some(other), _) => eval(value, rows, other, cx)?,
            (None, Some(default)) => eval(default, rows, at, cx)?,
            (None, None) => Value::Null,
        });
    }
    Ok(values)
}

fn steps(expr: &Expr, rows: &[Kept], at: usize, cx: &mut Context) -> Result<usize> {
    let value = eval(expr, rows, at, cx)?;
    let steps = as_count(&value, cx)?.unwrap_or(0);
    Ok(usize::try_from(steps).unwrap_or(0))
}

/// The frame of a row, within its partition.
fn frame_of(
    rows: &[Kept],
    part: &Range<usize>,
    frame: &WindowFrame,
    (at, peers): (usize, &Range<usize>),
    cx: &mut Context,
) -> Result<Range<usize>> {
    let start = match &frame.start {
        FrameEnd::Unbounded => part.start,
        FrameEnd::Current if frame.rows => at,
        FrameEnd::Current => peers.start,
        FrameEnd::Preceding(n) => at.saturating_sub(steps(n, rows, at, cx)?),
        FrameEnd::Following(n) => at.saturating_add(steps(n, rows, at, cx)?),
    };
    let end = match &frame.end {
        FrameEnd::Unbounded => part.end,
        FrameEnd::Current if frame.rows => at + 1,
        FrameEnd::Current => peers.end,
        FrameEnd::Preceding(n) => (at + 1).saturating_sub(steps(n, rows, at, cx)?),
        FrameEnd::Following(n) => (at + 1).saturating_add(steps(n, rows, at, cx)?),
    };
    let (start, end) = (start.max(part.start), end.min(part.end));
    Ok(start..end.max(start))
}

fn framed(
    rows: &[Kept],
    part: &Range<usize>,
    call: &WindowCall,
    cx: &mut Context,
) -> Result<Vec<Value>> {
    let ends = peers(rows, part, call);
    let mut group = part.start..ends.first().copied().unwrap_or(part.end);
    let mut ends = ends.into_iter().skip(1);
    let mut values = Vec::with_capacity(part.len());
    let mut running = Running {
        over: 0..0,
        state: None,
        result: Value::Null,
    };
    for at in part.clone() {
        if at >= group.end {
            group = group.end..ends.next().unwrap_or(part.end);
        }
        let frame = frame_of(rows, part, &call.frame, (at, &group), cx)?;
        values.push(match &call.function {
            WindowFunction::First(value) if !frame.is_empty() => {
                eval(value, rows, frame.start, cx)?
            }
            WindowFunction::Last(value) if !frame.is_empty() => {
                eval(value, rows, frame.end - 1, cx)?
            }
            WindowFunction::Aggregate(bound, argument) => {
                running.over(rows, frame, (bound, argument.as_ref()), cx)?
            }
            _ => Value::Null,
        });
    }
    Ok(values)
}

/// An aggregate of a frame, carried on where the next frame only goes further.
struct Running {
    over: Range<usize>,
    state: Option<Accumulator>,
    result: Value,
}

impl Running {
    fn over(
        &mut self,
        rows: &[Kept],
        frame: Range<usize>,
        (bound, argument): (&BoundAggregate, Option<&Expr>),
        cx: &mut Context,
    ) -> Result<Value> {
        let same = self.state.is_some() && self.over == frame;
        if same {
            return Ok(self.result.clone());
        }
        let goes_on = self.over.start == frame.start && self.over.end <= frame.end;
        let mut state = match self.state.take() {
            Some(state) if goes_on => state,
            _ => {
                self.over = frame.start..frame.start;
                bound.start()
            }
        };
        for at in self.over.end..frame.end {
            let Some(argument) = argument else {
                state.add_row();
                continue;
            };
            let value = eval(argument, rows, at, cx)?;
            match &bound.conversion {
                Some(conversion) if !value.is_null() => {
                    state.add(bound, &conversion.apply(&value, &cx.settings())?)?;
                }
                _ => state.add(bound, &value)?,
            }
        }
        self.result = state.finish(bound)?;
        self.state = Some(state);
        self.over = frame;
        Ok(self.result.clone())
    }
}
