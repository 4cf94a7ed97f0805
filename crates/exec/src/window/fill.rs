//! What the calls give for the rows of a partition, one after the other.

use super::frames::{CHECK_ROWS, Running};
use super::rows::Rows;
use super::{FrameEnd, WindowCall, WindowFrame, WindowFunction};
use crate::expr::{Expr, as_count};
use crate::sort::{SortKey, compare_keys};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_types::Value;
use std::cmp::Ordering;
use std::ops::Range;

/// Takes the values of a call, in the order of the rows.
pub(super) type Give<'g> = &'g mut dyn FnMut(&mut Context, Value) -> Result<()>;

/// Where the rows end that have the keys of the first row of a range. The keys begin at `from` among all.
pub(super) fn run_of<R: Rows>(
    rows: &mut R,
    range: Range<usize>,
    (keys, from): (&[SortKey], usize),
    cx: &Context,
) -> Result<usize> {
    if keys.is_empty() || range.is_empty() {
        return Ok(range.end);
    }
    let first = rows.keys(range.start)?.get(from..).unwrap_or(&[]).to_vec();
    let mut at = range.start + 1;
    while at < range.end {
        let other = rows.keys(at)?.get(from..).unwrap_or(&[]);
        if compare_keys(keys, other, &first) != Ordering::Equal {
            break;
        }
        at += 1;
        if at.is_multiple_of(CHECK_ROWS) {
            cx.check_cancel()?;
        }
    }
    Ok(at)
}

/// The runs of peers in a partition, as the rows are gone through.
struct Peers<'c, R> {
    /// Looks ahead.
    rows: R,
    call: &'c WindowCall,
    /// Rows that are not in a run yet.
    rest: Range<usize>,
    run: Range<usize>,
}

impl<'c, R: Rows> Peers<'c, R> {
    fn new(rows: &R, part: &Range<usize>, call: &'c WindowCall) -> Peers<'c, R> {
        Peers {
            rows: rows.again(),
            call,
            rest: part.clone(),
            run: part.start..part.start,
        }
    }

    /// The run that a row is in; rows come in their order.
    fn of(&mut self, at: usize, cx: &Context) -> Result<&Range<usize>> {
        while at >= self.run.end && !self.rest.is_empty() {
            let from = self.call.partition.len();
            let by = (self.call.order.as_slice(), from);
            let end = run_of(&mut self.rows, self.rest.clone(), by, cx)?;
            self.run = self.rest.start..end;
            self.rest.start = end;
        }
        Ok(&self.run)
    }
}

fn eval<R: Rows>(expr: &Expr, rows: &mut R, at: usize, cx: &mut Context) -> Result<Value> {
    Ok(expr.eval(rows.row(at)?, cx)?.into_owned())
}

/// Returns the value of a call for each row of a partition.
pub(super) fn values<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    call: &WindowCall,
    cx: &mut Context,
    give: Give<'_>,
) -> Result<()> {
    let mut given = 0_usize;
    let give: Give<'_> = &mut |cx, value| {
        given += 1;
        if given.is_multiple_of(CHECK_ROWS) {
            cx.check_cancel()?;
        }
        give(cx, value)
    };
    match &call.function {
        WindowFunction::Ntile(count) => ntile(rows, part, count, cx, give),
        WindowFunction::Neighbour {
            back,
            value,
            offset,
            default,
        } => {
            let ask = (value, offset.as_ref(), default.as_ref());
            neighbours(rows, part, *back, ask, cx, give)
        }
        WindowFunction::First(_) | WindowFunction::Last(_) | WindowFunction::Aggregate(..) => {
            framed(rows, part, call, cx, give)
        }
        _ => ranks(rows, part, call, cx, give),
    }
}

fn ranks<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    call: &WindowCall,
    cx: &mut Context,
    give: Give<'_>,
) -> Result<()> {
    let all = part.len();
    let mut peers = Peers::new(rows, part, call);
    let mut dense = 0;
    let mut last = None;
    for at in part.clone() {
        let run = match call.function {
            WindowFunction::RowNumber => at..at + 1,
            _ => peers.of(at, cx)?.clone(),
        };
        if last != Some(run.start) {
            dense += 1;
            last = Some(run.start);
        }
        let before = run.start - part.start;
        let value = match call.function {
            WindowFunction::Rank => Value::BigInt(before as i64 + 1),
            WindowFunction::DenseRank => Value::BigInt(dense),
            WindowFunction::PercentRank => {
                let others = all.saturating_sub(1).max(1);
                Value::Float(before as f64 / others as f64)
            }
            WindowFunction::CumeDist => {
                Value::Float((run.end - part.start) as f64 / all.max(1) as f64)
            }
            _ => Value::BigInt((at - part.start) as i64 + 1),
        };
        give(cx, value)?;
    }
    Ok(())
}

fn ntile<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    count: &Expr,
    cx: &mut Context,
    give: Give<'_>,
) -> Result<()> {
    let value = eval(count, &mut rows.again(), part.start, cx)?;
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
    for n in 0..part.len() {
        give(cx, Value::BigInt(tile(n) as i64 + 1))?;
    }
    Ok(())
}

fn neighbours<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    back: bool,
    (value, offset, default): (&Expr, Option<&Expr>, Option<&Expr>),
    cx: &mut Context,
    give: Give<'_>,
) -> Result<()> {
    let (mut here, mut there) = (rows.again(), rows.again());
    for at in part.clone() {
        let away = match offset {
            Some(offset) => {
                let away = eval(offset, &mut here, at, cx)?;
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
        let value = match (other.filter(|o| part.contains(o)), default) {
            (Some(other), _) => eval(value, &mut there, other, cx)?,
            (None, Some(default)) => eval(default, &mut here, at, cx)?,
            (None, None) => Value::Null,
        };
        give(cx, value)?;
    }
    Ok(())
}

fn steps<R: Rows>(expr: &Expr, rows: &mut R, at: usize, cx: &mut Context) -> Result<usize> {
    let value = eval(expr, rows, at, cx)?;
    let steps = as_count(&value, cx)?.unwrap_or(0);
    Ok(usize::try_from(steps).unwrap_or(0))
}

/// The frame of a row, within its partition.
fn frame_of<R: Rows>(
    rows: &mut R,
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

fn framed<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    call: &WindowCall,
    cx: &mut Context,
    give: Give<'_>,
) -> Result<()> {
    let (mut here, mut there) = (rows.again(), rows.again());
    let mut peers = Peers::new(rows, part, call);
    let mut running = match &call.function {
        WindowFunction::Aggregate(bound, argument) => {
            Some(Running::new(rows, part, (bound, argument.as_ref()), cx))
        }
        _ => None,
    };
    for at in part.clone() {
        // Frames counted in rows need no peers, and may have no order, which would make peers expensive.
        let run = match call.frame.rows {
            true => at..at + 1,
            false => peers.of(at, cx)?.clone(),
        };
        let frame = frame_of(&mut here, part, &call.frame, (at, &run), cx)?;
        let value = match (&call.function, &mut running) {
            (WindowFunction::First(value), _) if !frame.is_empty() => {
                eval(value, &mut there, frame.start, cx)?
            }
            (WindowFunction::Last(value), _) if !frame.is_empty() => {
                eval(value, &mut there, frame.end - 1, cx)?
            }
            (_, Some(running)) => running.over(frame, cx)?,
            _ => Value::Null,
        };
        give(cx, value)?;
    }
    Ok(())
}
