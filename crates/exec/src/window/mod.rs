//! Window functions: ranks, neighbours, aggregates over frames.
//!
//! The rows of the input are stored, sorted by the partition and order of each call in turn (calls with the
//! same window share a sort), and each call adds a column. The rows are given in the order of the last sort.
//!
//! A frame that begins with its partition grows by a row at a time, so its aggregate is continued; any other
//! is put together from the aggregates of parts (`frames`).
//!
//! Where the input's rows come in the order of all windows, and the calls read no row to come, nothing is
//! stored (`stream`): an operator that wants only the first rows ends the input with them.
//!
//! Rows for which there is no memory go through files (`big`); the values of a call in a partition (`fill`)
//! are the same wherever its rows are (`rows`).
//! same wherever its rows are (`rows`).

mod big;
mod fill;
mod frames;
mod rows;
mod stream;
#[cfg(test)]
mod tests;

use super::expr::Expr;
use super::operator::{Cursor, Plan, Ready};
use super::sort::{SortKey, compare_keys, sort_rows};
use super::spill::{Run, SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, refused, row_bytes};
use furrow_scalar::aggregate::BoundAggregate;
use furrow_types::Value;
use rows::InMemory;
use std::sync::Arc;
use stream::Streaming;

/// What a call gives.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// ROW_NUMBER.
    RowNumber,
    /// RANK.
    Rank,
    /// DENSE_RANK.
    DenseRank,
    /// PERCENT_RANK.
    PercentRank,
    /// CUME_DIST.
    CumeDist,
    /// NTILE.
    Ntile(Expr),
    /// LAG (`true`) or LEAD: value, offset, default.
    Neighbour {
        /// LAG, not LEAD.
        back: bool,
        /// What is taken of the other row.
        value: Expr,
        /// How many rows away; 1 where none is given.
        offset: Option<Expr>,
        /// The value where there is no such row.
        default: Option<Expr>,
    },
    /// FIRST_VALUE.
    First(Expr),
    /// LAST_VALUE.
    Last(Expr),
    /// `None` as the argument is COUNT(*).
    Aggregate(BoundAggregate, Option<Expr>),
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameEnd {
    /// UNBOUNDED PRECEDING or FOLLOWING.
    Unbounded,
    /// CURRENT ROW.
    Current,
    /// This many rows before the current one.
    Preceding(Expr),
    /// This many rows behind the current one.
    Following(Expr),
}

/// A frame: rows counted, or rows that are peers of the current one.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    /// ROWS, not RANGE.
    pub rows: bool,
    /// Where it begins.
    pub start: FrameEnd,
    /// Where it ends.
    pub end: FrameEnd,
}

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// PARTITION BY.
    pub partition: Vec<SortKey>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// The frame.
    pub frame: WindowFrame,
}

impl WindowCall {
    /// Whether rows in the order of the one are in that of the other: such calls share a sort.
    fn shares_sort(&self, other: &WindowCall) -> bool {
        self.partition == other.partition && self.order == other.order
    }
}

/// Rows with a column for each call behind the input's `width`.
#[derive(Debug, Clone)]
pub struct WindowPlan {
    /// What gives the rows.
    pub input: Plan,
    /// The number of columns of a row of the input.
    pub width: usize,
    /// The functions.
    pub calls: Vec<WindowCall>,
    /// Whether the input's rows come in the order of all calls, which look back only.
    pub streams: bool,
}

/// A row and its keys under the window at hand: partition, then order.
struct KeyedRow {
    row: Vec<Value>,
    keys: Vec<Value>,
}

impl WindowPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if self.streams {
            let input = self.input.open(cx)?;
            return Ok(Cursor::new(Streaming::new(input, self.width, &self.calls)));
        }
        let mut rows = Vec::new();
        let mut grant = Grant::new(&cx.memory);
        let mut written: Option<Stream> = None;
        self.input.for_each(cx, &mut |cx, row| {
            let mut row = row.to_vec();
            row.resize(self.width, Value::Null);
            if let Some(written) = &mut written {
                return written.push(&row);
            }
            // Once for itself and once for its keys.
            let fits = grant.fits(2 * row_bytes(&row), LEAST_BYTES);
            rows.push(KeyedRow {
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
            return Ok(Cursor::new(self.through_files(written.finish()?, cx)?));
        }
        let mut sorted: Option<&WindowCall> = None;
        for call in &self.calls {
            if !sorted.is_some_and(|last| last.shares_sort(call)) {
                sort(&mut rows, call, cx)?;
                sorted = Some(call);
            }
            let mut start = 0;
            while start < rows.len() {
                let all = rows.len();
                let end = fill::run_of(&mut InMemory(&rows), start..all, (&call.partition, 0), cx)?;
                if !fill_in(&mut rows, start..end, call, &mut grant, cx)? {
                    let written = self.written_without_calls(rows, cx)?;
                    drop(grant);
                    return Ok(Cursor::new(self.through_files(written, cx)?));
                }
                start = end;
            }
        }
        let rows = rows.into_iter().map(|kept| kept.row).collect();
        Ok(Cursor::new(Ready::kept(rows, grant)))
    }

    /// The rows in a file, as the input gave them.
    fn written_without_calls(&self, rows: Vec<KeyedRow>, cx: &Context) -> Result<Arc<Run>> {
        let mut written = Stream::new(&SpillFile::create(cx)?);
        for mut kept in rows {
            kept.row.truncate(self.width);
            written.push(&kept.row)?;
        }
        written.finish()
    }
}

fn sort(rows: &mut Vec<KeyedRow>, call: &WindowCall, cx: &mut Context) -> Result<()> {
    for kept in rows.iter_mut() {
        cx.check_cancel()?;
        kept.keys.clear();
        for key in call.partition.iter().chain(&call.order) {
            kept.keys.push(key.expr.eval(&kept.row, cx)?.into_owned());
        }
    }
    let keys: Vec<SortKey> = call.partition.iter().chain(&call.order).cloned().collect();
    if !keys.is_empty() {
        sort_rows(rows, cx, |a, b| compare_keys(&keys, &a.keys, &b.keys))?;
    }
    Ok(())
}

/// Adds the column of a call to the rows of a partition; `false` where there is no memory for its values:
/// none is added then.
fn fill_in(
    rows: &mut [KeyedRow],
    part: std::ops::Range<usize>,
    call: &WindowCall,
    grant: &mut Grant,
    cx: &mut Context,
) -> Result<bool> {
    let mut values = Vec::with_capacity(part.len());
    let mut fits = true;
    let filled = fill::values(&InMemory(rows), &part, call, cx, &mut |_, value| {
        fits = grant.fits(row_bytes(std::slice::from_ref(&value)), LEAST_BYTES);
        values.push(value);
        match fits {
            true => Ok(()),
            false => Err(refused()),
        }
    });
    if !fits {
        return Ok(false);
    }
    filled?;
    for (kept, value) in rows.iter_mut().skip(part.start).zip(values) {
        kept.row.push(value);
    }
    Ok(true)
}
