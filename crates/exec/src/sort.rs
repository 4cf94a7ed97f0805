//! Sorting, TOP, OFFSET and FETCH.

use super::expr::{Expr, as_count};
use super::operator::{Cursor, Operator, Plan};
use super::spill::{Sorter, Store};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_scalar::ops::order;
use furrow_types::{DataType, Value};
use std::cmp::Ordering;

/// A key to sort by.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// What rows are sorted by.
    pub expr: Expr,
    /// Its type.
    pub data_type: DataType,
    /// DESC.
    pub descending: bool,
}

/// Rows in order. Rows with the same keys keep the order in which they came.
#[derive(Debug, Clone)]
pub struct SortPlan {
    /// What gives the rows.
    pub input: Plan,
    /// The keys, most significant first.
    pub keys: Vec<SortKey>,
    /// How many of the row's first columns are given on.
    pub width: usize,
}

/// The order of two rows' keys.
pub(crate) fn compare_keys(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for (key, (a, b)) in keys.iter().zip(a.iter().zip(b)) {
        let order = order(a, b, &key.data_type);
        let order = match key.descending {
            true => order.reverse(),
            false => order,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Rows that are sorted between two looks whether the statement is to end.
const SORTED_ROWS: usize = 16 << 10;

/// Sorts by `compare`; rows that compare equal keep their order. Sorts parts and merges neighbours, so that
/// the statement can be cancelled between them.
pub(crate) fn sort_rows<T>(
    rows: &mut Vec<T>,
    cx: &Context,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    if rows.len() <= SORTED_ROWS {
        rows.sort_by(compare);
        return Ok(());
    }
    let mut all = std::mem::take(rows).into_iter();
    let mut runs: Vec<Vec<T>> = Vec::new();
    loop {
        cx.check_cancel()?;
        let mut run: Vec<T> = all.by_ref().take(SORTED_ROWS).collect();
        if run.is_empty() {
            break;
        }
        run.sort_by(&compare);
        runs.push(run);
    }
    drop(all);
    while runs.len() > 1 {
        let mut longer = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            longer.push(match pairs.next() {
                Some(second) => merged(first, second, cx, &compare)?,
                None => first,
            });
        }
        runs = longer;
    }
    *rows = runs.pop().unwrap_or_default();
    Ok(())
}

/// Two sorted runs as one; of equal rows those of the first come first.
fn merged<T>(
    mut first: Vec<T>,
    second: Vec<T>,
    cx: &Context,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<Vec<T>> {
    let in_order = |(a, b): (&T, &T)| compare(a, b) != Ordering::Greater;
    if first.last().zip(second.first()).is_none_or(in_order) {
        first.extend(second);
        return Ok(first);
    }
    let mut out = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    while let Some(pair) = first.as_slice().first().zip(second.as_slice().first()) {
        cx.check_cancel()?;
        out.extend(match in_order(pair) {
            true => first.next(),
            false => second.next(),
        });
    }
    out.extend(first);
    out.extend(second);
    Ok(out)
}

impl SortPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        self.open_first(usize::MAX, cx)
    }

    /// Gives the first `most` rows, and keeps hardly more.
    fn open_first<'p>(&'p self, most: usize, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut sorter = Sorter::new(&self.keys, most, cx);
        self.input.for_each(cx, &mut |cx, row| {
            let kept = row.get(..self.width).unwrap_or(row);
            sorter.push(row, kept, cx)
        })?;
        Ok(Cursor::new(sorter.finish(cx)?))
    }
}

/// TOP, or OFFSET and FETCH.
#[derive(Debug, Clone)]
pub struct TopPlan {
    /// What gives the rows.
    pub input: Plan,
    /// TOP or FETCH.
    pub count: Option<Expr>,
    /// Whether the count is a percentage of the rows.
    pub percent: bool,
    /// WITH TIES: rows whose keys are those of the last one come as well.
    pub ties: Option<Vec<SortKey>>,
    /// OFFSET: how many rows are skipped.
    pub offset: Option<Expr>,
    /// Whether the count is FETCH's, with messages of its own.
    pub is_fetch: bool,
}

struct Top<'p> {
    input: Cursor<'p>,
    left: u64,
    ties: Option<&'p [SortKey]>,
    /// Keys of the last row within the count.
    last: Option<Vec<Value>>,
    over: bool,
}

/// So many percent of the rows. 1031 for what is no percentage.
fn percent_of(value: &Value, rows: u64) -> Result<u64> {
    let text = value.to_string();
    let percent: f64 = text.parse().unwrap_or(0.0);
    if !(0.0..=100.0).contains(&percent) {
        return refuse(1031, &[]);
    }
    Ok((rows as f64 * percent / 100.0).ceil() as u64)
}

impl TopPlan {
    /// The input, of which only so many rows are taken: a sort below keeps no more.
    fn first_of_input<'p>(&'p self, most: u64, cx: &mut Context) -> Result<Cursor<'p>> {
        match &self.input {
            Plan::Sort(sort) if self.ties.is_none() => {
                sort.open_first(usize::try_from(most).unwrap_or(usize::MAX), cx)
            }
            input => input.open(cx),
        }
    }

    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let skip = match &self.offset {
            Some(offset) => {
                let value = offset.eval(&[], cx)?.into_owned();
                match as_count(&value, cx)? {
                    Some(n) if n >= 0 => n as u64,
                    _ => return refuse(10742, &[]),
                }
            }
            None => 0,
        };
        let count = match &self.count {
            Some(count) => Some(count.eval(&[], cx)?.into_owned()),
            None => None,
        };
        let (input, left): (Cursor<'p>, u64) = match (&count, self.percent) {
            (Some(percent), true) => {
                let rows = Store::collect(&self.input, cx)?;
                let left = percent_of(percent, rows.row_count())?;
                (Cursor::new(rows), left)
            }
            (Some(value), false) => {
                let left = match as_count(value, cx)? {
                    Some(n) if n > 0 || (n == 0 && !self.is_fetch) => n as u64,
                    Some(_) if self.is_fetch => return refuse(10744, &[]),
                    Some(_) => return refuse(127, &[]),
                    None => return refuse(1060, &[]),
                };
                (self.first_of_input(skip.saturating_add(left), cx)?, left)
            }
            (None, _) => (self.input.open(cx)?, u64::MAX),
        };
        let mut top = Top {
            input,
            left,
            ties: self.ties.as_deref(),
            last: None,
            over: false,
        };
        let mut passed = Vec::new();
        for _ in 0..skip {
            match top.input.next(cx, &mut passed) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    top.input.close(cx);
                    return Err(error);
                }
            }
        }
        Ok(Cursor::new(top))
    }
}

impl Operator for Top<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        if self.over || (self.left == 0 && self.last.is_none()) {
            return Ok(false);
        }
        if !self.input.next(cx, out)? {
            self.over = true;
            return Ok(false);
        }
        let keys = match self.ties {
            Some(keys) if self.left <= 1 => {
                let mut values = Vec::with_capacity(keys.len());
                for key in keys {
                    values.push(key.expr.eval(out, cx)?.into_owned());
                }
                Some((keys, values))
            }
            _ => None,
        };
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.last = keys.map(|k| k.1);
            }
            return Ok(true);
        }
        let tied = match (keys, &self.last) {
            (Some((keys, values)), Some(last)) => {
                compare_keys(keys, &values, last) == Ordering::Equal
            }
            _ => false,
        };
        self.over = !tied;
        Ok(tied)
    }

    fn close(&mut self, cx: &mut Context) {
        self.input.close(cx);
    }
}
