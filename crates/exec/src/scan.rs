//! Scans and seeks of tables.

use super::batch::Batches;
use super::expr::{Cond, Expr};
use super::operator::{Cursor, Operator};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::usage::{Use, name_of};
use furrow_engine::{Claim, Division, IndexKind, LockHints, OpenScan, ScanSpec, Table};
use furrow_format::DatabaseId;
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::order;
use furrow_types::{DataType, Value, prefix_range};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// One end of a range of keys.
#[derive(Debug, Clone)]
pub struct ScanBound {
    /// The value of the key column behind the equal ones.
    pub value: Expr,
    /// Whether keys equal to it belong to the range.
    pub inclusive: bool,
    /// Whether the value is a pattern of LIKE, and the end that of the texts that begin as it does.
    pub pattern: bool,
}

/// What a key column is equal to.
#[derive(Debug, Clone)]
pub enum Equal {
    /// The value of an expression.
    Value(Expr),
    /// One of several values.
    Any(Arc<[Expr]>),
    /// NULL.
    Null,
}

/// A scan of a table, or of ranges of one of its indexes.
#[derive(Debug, Clone)]
pub struct ScanPlan {
    /// The database of the table.
    pub db: DatabaseId,
    /// The table.
    pub table: Arc<Table>,
    /// Place of the index.
    pub index: usize,
    /// What the first key columns are equal to.
    pub equal: Vec<Equal>,
    /// Ends of a range of the key column behind them.
    pub low: Option<ScanBound>,
    /// Where the range behind the equal columns ends.
    pub high: Option<ScanBound>,
    /// Whether rows come in the opposite order of the index.
    pub backward: bool,
    /// Whether the index has all that is wanted.
    pub covered: bool,
    /// Columns that are wanted; the others stay NULL.
    pub columns: Vec<usize>,
    /// The condition that rows must meet.
    pub filter: Option<Cond>,
    /// Lock hints.
    pub hints: LockHints,
    /// Whether a row ends in its own name, as bytes: for statements that change it.
    pub named: bool,
    /// Whether the order of the rows is relied upon.
    pub ordered: bool,
}

/// Where a scan gets its ranges from.
enum Ranges {
    /// They are its own.
    Specs(smallvec::IntoIter<[ScanSpec; 1]>),
    /// It does parts of a range together with other threads.
    Parts(Arc<Division>),
}

/// How a value relates to the type of a key column.
pub(crate) enum Fit {
    /// It is this value of the type.
    Exact(Value),
    /// No value of the type is equal to it.
    Between,
    /// It is NULL: nothing compares with it.
    Null,
}

/// More ranges than these are not looked up one by one.
const MOST_RANGES: usize = 1 << 16;
/// So many ranges are, however few rows the table has.
const FEW_RANGES: usize = 64;
/// Rows that can be read in the time that a look-up of one range takes.
const ROWS_PER_RANGE: usize = 12;

impl ScanPlan {
    fn key_column(&self, place: usize) -> Option<(DataType, bool)> {
        let key = self.table.indexes().get(self.index)?.key().get(place)?;
        let column = self.table.columns().get(key.column)?;
        Some((column.data_type, key.descending))
    }

    /// A value as one of a key column's type.
    pub(crate) fn fit(&self, place: usize, value: &Value, cx: &Context) -> Fit {
        let Some((to, _)) = self.key_column(place) else {
            return Fit::Between;
        };
        if value.is_null() {
            return Fit::Null;
        }
        let from = value.type_id().map_or(to, DataType::simple);
        if from.id == to.id && matches!(value, Value::Int(_) | Value::BigInt(_)) {
            return Fit::Exact(value.clone());
        }
        let cast = Conversion::explicit(from, to, None)
            .and_then(|conversion| conversion.apply(value, &cx.settings()));
        match cast {
            Ok(cast) if same(value, &cast, &to) => Fit::Exact(cast),
            _ => Fit::Between,
        }
    }

    /// The values of the first key columns: several where one of them may be one of several.
    fn prefixes(&self, cx: &mut Context) -> Result<Vec<Vec<Value>>> {
        let mut prefixes = vec![Vec::with_capacity(self.equal.len() + 1)];
        for (place, equal) in self.equal.iter().enumerate() {
            let mut values: SmallVec<[Value; 1]> = SmallVec::new();
            let options = match equal {
                Equal::Null => {
                    values.push(Value::Null);
                    &[]
                }
                Equal::Value(expr) => std::slice::from_ref(expr),
                Equal::Any(exprs) => &exprs[..],
            };
            for expr in options {
                let value = expr.eval(&[], cx)?;
                if let Fit::Exact(value) = self.fit(place, &value, cx) {
                    values.push(value);
                }
            }
            if let (Equal::Any(_), Some((of, descending))) = (equal, self.key_column(place)) {
                values.sort_by(|a, b| match descending {
                    false => order(a, b, &of),
                    true => order(b, a, &of),
                });
                values.dedup_by(|a, b| order(a, b, &of) == Ordering::Equal);
            }
            if let [one] = &values[..] {
                prefixes
                    .iter_mut()
                    .for_each(|prefix| prefix.push(one.clone()));
                continue;
            }
            if prefixes.len() * values.len() > MOST_RANGES {
                // The ranges of the columns before have these rows too: the filter decides.
                break;
            }
            let all = prefixes.iter().flat_map(|prefix| {
                values.iter().map(move |value| {
                    let mut longer = prefix.clone();
                    longer.push(value.clone());
                    longer
                })
            });
            prefixes = all.collect();
        }
        Ok(prefixes)
    }

    /// The ranges, in the order in which they are read; none where there is nothing to be found.
    pub fn specs(&self, cx: &mut Context) -> Result<SmallVec<[ScanSpec; 1]>> {
        let mut specs = SmallVec::new();
        let mut prefixes = self.prefixes(cx)?;
        if self.are_many(&prefixes) {
            specs.extend(self.around(prefixes));
            return Ok(specs);
        }
        if self.backward {
            prefixes.reverse();
        }
        let descending = self.key_column(self.equal.len()).is_some_and(|k| k.1);
        for prefix in prefixes {
            let whole = prefix.len() == self.equal.len();
            let (first, last) = match descending {
                _ if !whole => (&None, &None),
                false => (&self.low, &self.high),
                true => (&self.high, &self.low),
            };
            let low = self.bound(first.as_ref(), !descending, &prefix, cx)?;
            let high = self.bound(last.as_ref(), descending, &prefix, cx)?;
            let (Some(low), Some(high)) = (low, high) else {
                return Ok(SmallVec::new());
            };
            let all = (&low, &high) == (&Bound::Unbounded, &Bound::Unbounded);
            let point = !prefix.is_empty() && self.low.is_none() && self.high.is_none();
            specs.push(self.spec(self.index, low, high, all || !point));
        }
        Ok(specs)
    }

    /// Whether reading rows that may not belong costs less than looking up so many ranges.
    fn are_many(&self, ranges: &[Vec<Value>]) -> bool {
        if ranges.len() <= FEW_RANGES {
            return false;
        }
        let rows = u64::try_from(self.table.row_count()).unwrap_or(0);
        let between = self.rows_between(ranges).unwrap_or(rows);
        (ranges.len() * ROWS_PER_RANGE) as u64 > rows.min(between)
    }

    /// How many rows can be between the first and the last of several whole numbers that are a unique key.
    fn rows_between(&self, ranges: &[Vec<Value>]) -> Option<u64> {
        let index = self.table.indexes().get(self.index)?;
        let ([first], [last]) = (&ranges.first()?[..], &ranges.last()?[..]) else {
            return None;
        };
        let between = first.as_i64()?.abs_diff(last.as_i64()?);
        (index.is_unique() && index.key().len() == 1).then(|| between.saturating_add(1))
    }

    /// One range instead of many, which come in the order of the index: the filter decides which rows belong.
    /// Where each row of the index would be looked up in the table, that is the table itself.
    fn around(&self, mut prefixes: Vec<Vec<Value>>) -> Option<ScanSpec> {
        let high = Bound::Included(prefixes.pop()?);
        let low = Bound::Included(prefixes.into_iter().next()?);
        let of_index = self.table.indexes().get(self.index)?.kind();
        let looks_up = of_index == IndexKind::Nonclustered && !self.covered;
        let whole = looks_up && !self.ordered && !self.named;
        let (index, low, high) = match whole {
            true => (0, Bound::Unbounded, Bound::Unbounded),
            false => (self.index, low, high),
        };
        Some(self.spec(index, low, high, true))
    }

    /// A range of an index, read as this plan reads.
    fn spec(
        &self,
        index: usize,
        low: Bound<Vec<Value>>,
        high: Bound<Vec<Value>>,
        read_ahead: bool,
    ) -> ScanSpec {
        ScanSpec {
            index,
            low,
            high,
            backward: self.backward,
            hints: self.hints,
            lock: self.hints.lock,
            covered: self.covered,
            read_ahead,
        }
    }

    /// One end of a range. `least`: the end of the smaller values.
    fn bound(
        &self,
        bound: Option<&ScanBound>,
        least: bool,
        prefix: &[Value],
        cx: &mut Context,
    ) -> Result<Option<Bound<Vec<Value>>>> {
        let of_prefix = || match prefix.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Included(prefix.to_vec()),
        };
        let Some(bound) = bound else {
            return Ok(Some(of_prefix()));
        };
        let mut value = bound.value.eval(&[], cx)?;
        if bound.pattern && !value.is_null() {
            match self.end_of_pattern(prefix.len(), &value, least) {
                Some(end) => value = Cow::Owned(end),
                None => return Ok(Some(of_prefix())),
            }
        }
        Ok(match self.fit(prefix.len(), &value, cx) {
            Fit::Null => None,
            // Rows are looked at once more by the filter: a wider range does no harm.
            Fit::Between => Some(of_prefix()),
            Fit::Exact(value) => {
                let mut key = prefix.to_vec();
                key.push(value);
                Some(match bound.inclusive {
                    true => Bound::Included(key),
                    false => Bound::Excluded(key),
                })
            }
        })
    }

    /// The least or the most that texts can be which begin as a pattern does: no longer than the column takes
    /// them, for what is cut off the least is still less.
    fn end_of_pattern(&self, place: usize, pattern: &Value, least: bool) -> Option<Value> {
        let (of, _) = self.key_column(place)?;
        let text = pattern.as_str()?;
        let prefix = text.split(['%', '_', '[']).next().unwrap_or_default();
        let unicode = of.id.is_unicode();
        let (low, high) = prefix_range(prefix, of.collation, unicode);
        let end = if least { low } else { high }?;
        let room = usize::try_from(of.length).ok()? / if unicode { 2 } else { 1 };
        let cut: String = end.chars().take(room).collect();
        if prefix.chars().count() > room {
            return None;
        }
        Some(match unicode {
            true => Value::NVarChar(cut),
            false => Value::VarChar(cut),
        })
    }

    /// Gives a row the width of the scan's rows.
    #[inline]
    pub(crate) fn fit_row(&self, out: &mut Vec<Value>) {
        let width = self.table.columns().len() + usize::from(self.named);
        if out.len() != width {
            out.clear();
            out.resize(width, Value::Null);
        }
    }

    fn open_spec(&self, spec: &ScanSpec, cx: &mut Context) -> Result<OpenScan> {
        let session = cx.sessions.by_table(self.db, &self.table)?;
        let scan = session.open_scan(&self.table, spec)?;
        if let Some(reads) = cx.sessions.reads.as_mut().filter(|_| spec.read_ahead) {
            reads.scan();
        }
        Ok(scan)
    }

    /// Counts the use of its index, once a statement.
    pub(crate) fn count(&self, cx: &mut Context) {
        let place = std::ptr::from_ref(self).addr();
        if cx.counted.last() == Some(&place) || cx.counted.contains(&place) {
            return;
        }
        cx.counted.push(place);
        let Some(index) = self.table.indexes().get(self.index) else {
            return;
        };
        let in_range = self.low.is_some() || self.high.is_some();
        let what = match in_range || !self.equal.is_empty() {
            true => Use::Seek,
            false => Use::Scan,
        };
        let name = name_of(self.db.0, &self.table, index);
        cx.count_use(self.db, name, what);
        let base = self.table.indexes().first().filter(|_| {
            let leads_on = index.kind() == IndexKind::Nonclustered;
            leads_on && !self.covered
        });
        if let Some(base) = base {
            let name = name_of(self.db.0, &self.table, base);
            cx.count_use(self.db, name, Use::Lookup);
        }
    }

    fn ranges(&self, cx: &mut Context) -> Result<Ranges> {
        if let Some(division) = &cx.division {
            return Ok(Ranges::Parts(Arc::clone(division)));
        }
        self.count(cx);
        Ok(Ranges::Specs(self.specs(cx)?.into_iter()))
    }

    /// Begins the scan of the next range.
    fn open_next(&self, ranges: &mut Ranges, cx: &mut Context) -> Result<Option<OpenScan>> {
        match ranges {
            Ranges::Specs(specs) => match specs.next() {
                Some(spec) => Ok(Some(self.open_spec(&spec, cx)?)),
                None => Ok(None),
            },
            Ranges::Parts(division) => {
                let session = cx.sessions.by_table(self.db, &self.table)?;
                Ok(session.open_part(&self.table, division)?)
            }
        }
    }

    /// Begins the scan of its only range, for threads that do parts of it: it holds the lock of the table.
    pub(crate) fn open_whole(&self, cx: &mut Context) -> Result<Option<OpenScan>> {
        let mut ranges = self.ranges(cx)?;
        self.open_next(&mut ranges, cx)
    }

    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        if cx.division.is_none() && self.is_point() {
            return self.open_point(cx);
        }
        let mut ranges = self.ranges(cx)?;
        let scan = self.open_next(&mut ranges, cx)?;
        let by_page = !self.named && scan.as_ref().is_some_and(OpenScan::hands_over);
        Ok(Cursor::new(TableScan {
            plan: self,
            scan,
            ranges,
            batches: by_page.then(|| Batches::new(self, self.columns.clone(), cx)),
        }))
    }

    /// Runs it by pages, if the rest of the filter can be tested there. `None` if it cannot, or if rows are
    /// not available in this way.
    pub(crate) fn by_page(
        &self,
        wanted: Vec<usize>,
        cx: &mut Context,
        each: &mut dyn FnMut(&Batches<'_>) -> Result<()>,
    ) -> Result<Option<()>> {
        let mut batches = Batches::new(self, wanted, cx);
        if self.named || !batches.rest.is_empty() {
            return Ok(None);
        }
        let mut ranges = self.ranges(cx)?;
        while let Some(mut scan) = self.open_next(&mut ranges, cx)? {
            let mut done = Ok(scan.hands_over());
            while let Ok(true) = done {
                done = batches.fill(&mut scan, cx);
                if let Ok(true) = done
                    && let Err(error) = each(&batches)
                {
                    done = Err(error);
                }
            }
            let hands_over = scan.hands_over();
            cx.sessions.by_table(self.db, &self.table)?.close_scan(scan);
            done?;
            if !hands_over {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }
}

/// Whether a value and what it was cast to are the same. Texts are, whatever their types, if nothing was cut
/// off or replaced.
fn same(value: &Value, cast: &Value, to: &DataType) -> bool {
    match (value.as_str(), cast.as_str()) {
        (Some(value), Some(cast)) => value.trim_end_matches(' ') == cast.trim_end_matches(' '),
        // For a column of another type, text is converted before it comes here.
        (Some(_), None) => false,
        (None, _) => order(value, cast, to) == Ordering::Equal,
    }
}

/// A scan that runs.
struct TableScan<'p> {
    plan: &'p ScanPlan,
    scan: Option<OpenScan>,
    /// Ranges to come.
    ranges: Ranges,
    /// Rows by pages, where they are available so.
    batches: Option<Batches<'p>>,
}

impl Operator for TableScan<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        self.plan.fit_row(out);
        while self.scan.is_some() {
            let found = match self.batches {
                Some(_) => self.next_of_batch(cx, out)?,
                None => self.next_row(cx, out)?,
            };
            if found {
                return Ok(true);
            }
            self.close(cx);
            self.scan = self.plan.open_next(&mut self.ranges, cx)?;
        }
        Ok(false)
    }

    fn close(&mut self, cx: &mut Context) {
        if let Some(scan) = self.scan.take()
            && let Ok(session) = cx.sessions.by_table(self.plan.db, &self.plan.table)
        {
            session.close_scan(scan);
        }
    }
}

impl TableScan<'_> {
    /// The next row of those that are taken by pages.
    fn next_of_batch(&mut self, cx: &mut Context, out: &mut [Value]) -> Result<bool> {
        let (Some(scan), Some(batches)) = (&mut self.scan, &mut self.batches) else {
            return Ok(false);
        };
        loop {
            'rows: while batches.give(out) {
                for cond in batches.rest {
                    if !cond.holds(out, cx)? {
                        continue 'rows;
                    }
                }
                return Ok(true);
            }
            if !batches.fill(scan, cx)? {
                return Ok(false);
            }
        }
    }

    /// The next row, by itself.
    fn next_row(&mut self, cx: &mut Context, out: &mut [Value]) -> Result<bool> {
        let Some(scan) = &mut self.scan else {
            return Ok(false);
        };
        loop {
            cx.check_cancel()?;
            let session = cx.sessions.by_table(self.plan.db, &self.plan.table)?;
            if !session.step_scan(scan)? {
                return Ok(false);
            }
            if !take(self.plan, scan, cx, out)? {
                continue;
            }
            if self.plan.named {
                let session = cx.sessions.by_table(self.plan.db, &self.plan.table)?;
                let qualifies = match session.claim(scan)? {
                    Claim::Held => true,
                    Claim::Again => take(self.plan, scan, cx, out)?,
                    Claim::Gone => false,
                };
                if !qualifies {
                    continue;
                }
                if let (Some(key), Some(place)) = (scan.row_key(), out.last_mut()) {
                    *place = Value::Binary(key.to_bytes());
                }
            }
            return Ok(true);
        }
    }
}

/// Takes the columns of a row that are wanted; `false` where it does not qualify.
fn take(plan: &ScanPlan, scan: &mut OpenScan, cx: &mut Context, out: &mut [Value]) -> Result<bool> {
    let row = scan.row()?;
    for &column in &plan.columns {
        if let Some(place) = out.get_mut(column) {
            *place = row.value(column)?;
        }
    }
    if let Some(filter) = &plan.filter
        && !filter.holds(out, cx)?
    {
        if plan.named {
            let session = cx.sessions.by_table(plan.db, &plan.table)?;
            session.pass_over(scan);
        }
        return Ok(false);
    }
    Ok(true)
}
