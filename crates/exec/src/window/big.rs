//! Windows over rows for which there is no memory. For each window the rows are sorted through files and
//! written again with the columns of its calls. Ranks depend on the row before; all other calls read only
//! their partition. A partition that does not fit in memory either stays in a file of its own: the values of
//! each call are written beside it, and all are put together at its end.

use super::frames::CHECK_ROWS;
use super::rows::{Rows, Writing};
use super::{KeyedRow, WindowCall, WindowFunction, WindowPlan, fill, fill_in};
use crate::operator::Operator;
use crate::sort::{SortKey, compare_keys};
use crate::spill::{Reader, Run, Sorter, SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_types::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows read from a file.
pub(super) struct Written(Reader);

impl Operator for Written {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        match self.0.next()? {
            Some(row) => {
                *out = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn close(&mut self, _: &mut Context) {}
}

/// Where ranks have come to in a partition.
#[derive(Default)]
pub(super) struct Ranks {
    /// Keys of the row before.
    before: Option<Vec<Value>>,
    rows: i64,
    rank: i64,
    dense: i64,
}

impl Ranks {
    /// The next row comes; gives whether it begins a partition.
    pub(super) fn step(&mut self, call: &WindowCall, keys: Vec<Value>) -> bool {
        let (partition, order) = keys.split_at(call.partition.len().min(keys.len()));
        let same = |by: &[SortKey], from: usize, now: &[Value]| {
            let before = self.before.as_ref().and_then(|before| before.get(from..));
            before.is_some_and(|before| compare_keys(by, before, now) == Ordering::Equal)
        };
        let same_partition = same(&call.partition, 0, partition);
        let same_peers = same_partition && same(&call.order, partition.len(), order);
        if !same_partition {
            (self.rows, self.rank, self.dense) = (0, 0, 0);
        }
        self.rows += 1;
        if !same_peers {
            self.rank = self.rows;
            self.dense += 1;
        }
        self.before = Some(keys);
        !same_partition
    }

    /// The value of a call that is a rank.
    pub(super) fn value(&self, call: &WindowCall) -> Option<Value> {
        Some(Value::BigInt(match call.function {
            WindowFunction::RowNumber => self.rows,
            WindowFunction::Rank => self.rank,
            WindowFunction::DenseRank => self.dense,
            _ => return None,
        }))
    }
}

impl WindowPlan {
    pub(super) fn through_files(&self, rows: Arc<Run>, cx: &mut Context) -> Result<Written> {
        let mut rows = rows;
        for calls in self.calls.chunk_by(WindowCall::shares_sort) {
            rows = of_window(calls, &rows, cx)?;
        }
        Ok(Written(Reader::new(&rows)))
    }
}

/// The rows again, in the order of a window, with the columns of its calls.
fn of_window(calls: &[WindowCall], rows: &Arc<Run>, cx: &mut Context) -> Result<Arc<Run>> {
    let Some(first) = calls.first() else {
        return Ok(Arc::clone(rows));
    };
    let keys: Vec<SortKey> = first
        .partition
        .iter()
        .chain(&first.order)
        .cloned()
        .collect();
    let mut sorter = Sorter::new(&keys, usize::MAX, cx);
    let mut reader = Reader::new(rows);
    while let Some(row) = reader.next()? {
        sorter.push(&row, &row, cx)?;
    }
    let mut sorted = sorter.finish(cx)?;
    let mut out = Stream::new(&SpillFile::create(cx)?);
    let mut part = Part::new(calls, cx);
    let mut ranks = Ranks::default();
    let only_ranks = calls.iter().all(|call| ranks.value(call).is_some());
    let mut taken = 0_usize;
    while let Some((keys, row)) = sorted.next_keyed()? {
        taken += 1;
        if taken.is_multiple_of(CHECK_ROWS) {
            cx.check_cancel()?;
        }
        if only_ranks {
            ranks.step(first, keys);
            let values: Vec<Value> = calls.iter().filter_map(|call| ranks.value(call)).collect();
            out.push_parts(&row, &values)?;
            continue;
        }
        if part.ends_before(&keys) {
            part.give(&mut out, cx)?;
        }
        part.push(KeyedRow { row, keys }, cx)?;
    }
    part.give(&mut out, cx)?;
    out.finish()
}

/// The rows of a partition.
struct Part<'c> {
    calls: &'c [WindowCall],
    /// All rows that came; with a file only the first of them, whose keys identify the partition.
    rows: Vec<KeyedRow>,
    grant: Grant,
    /// The file for rows once there is no memory.
    file: Option<Writing>,
}

impl<'c> Part<'c> {
    fn new(calls: &'c [WindowCall], cx: &Context) -> Part<'c> {
        Part {
            calls,
            rows: Vec::new(),
            grant: Grant::new(&cx.memory),
            file: None,
        }
    }

    fn push(&mut self, kept: KeyedRow, cx: &Context) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.push(&kept);
        }
        let fits = self.grant.fits(2 * row_bytes(&kept.row), LEAST_BYTES);
        self.rows.push(kept);
        match fits {
            true => Ok(()),
            false => self.go_to_file(cx),
        }
    }

    fn go_to_file(&mut self, cx: &Context) -> Result<()> {
        let file = self.file.insert(Writing::new(cx)?);
        for kept in &self.rows {
            file.push(kept)?;
        }
        self.rows.truncate(1);
        self.grant.give_all_back();
        Ok(())
    }

    fn ends_before(&self, keys: &[Value]) -> bool {
        let by = self.calls.first().map_or(&[][..], |call| &call.partition);
        let same = |kept: &KeyedRow| compare_keys(by, &kept.keys, keys) == Ordering::Equal;
        !self.rows.first().is_none_or(same)
    }

    /// Fills the columns in and writes the rows.
    fn give(&mut self, out: &mut Stream, cx: &mut Context) -> Result<()> {
        if self.file.is_none() && !self.fill_all(cx)? {
            self.go_to_file(cx)?;
        }
        if let Some(file) = self.file.take() {
            self.rows.clear();
            return give_file(self.calls, file, out, cx);
        }
        for kept in self.rows.drain(..) {
            out.push(&kept.row)?;
        }
        self.grant.give_all_back();
        cx.check_cancel()
    }

    /// Fills the columns in; `false` where there is no memory for them: then the rows are unchanged.
    fn fill_all(&mut self, cx: &mut Context) -> Result<bool> {
        let width = self.rows.first().map_or(0, |kept| kept.row.len());
        for call in self.calls {
            let all = 0..self.rows.len();
            if !fill_in(&mut self.rows, all, call, &mut self.grant, cx)? {
                let rows = self.rows.iter_mut();
                rows.for_each(|kept| kept.row.truncate(width));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The same of a partition in a file.
fn give_file(
    calls: &[WindowCall],
    file: Writing,
    out: &mut Stream,
    cx: &mut Context,
) -> Result<()> {
    let (rows, all) = file.finish()?;
    let mut columns = Vec::new();
    for call in calls {
        let mut column = Stream::new(&SpillFile::create(cx)?);
        fill::values(&rows, &(0..all), call, cx, &mut |_, value| {
            column.push(&[value])
        })?;
        columns.push(Reader::new(&column.finish()?));
    }
    let mut rows = rows;
    for at in 0..all {
        let mut values = Vec::with_capacity(columns.len());
        for column in &mut columns {
            values.extend(column.next()?.into_iter().flatten());
        }
        out.push_parts(rows.row(at)?, &values)?;
        if at.is_multiple_of(CHECK_ROWS) {
            cx.check_cancel()?;
        }
    }
    Ok(())
}
