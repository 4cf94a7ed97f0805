//! Scans and seeks of tables.

use super::expr::{Cond, Expr};
use super::operator::{Cursor, Operator};
use crate::context::Context;
use crate::error::Result;
use furrow_engine::{LockHints, OpenScan, ScanSpec, Table};
use furrow_format::DatabaseId;
use furrow_format::types::{DataType, Value};
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::order;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// How many rows are read between two looks at whether the client wants an end.
const CANCEL_EVERY: u32 = 256;

/// One end of a range of keys.
#[derive(Debug, Clone)]
pub(crate) struct ScanBound {
    /// Values of the first key columns.
    pub(crate) key: Vec<Expr>,
    /// Whether keys equal to it belong to the range.
    pub(crate) inclusive: bool,
}

/// A scan of a table, or of a range of one of its indexes.
#[derive(Debug, Clone)]
pub(crate) struct ScanPlan {
    pub(crate) db: DatabaseId,
    pub(crate) table: Arc<Table>,
    /// Place of the index.
    pub(crate) index: usize,
    /// Values that the first key columns are equal to.
    pub(crate) equal: Vec<Expr>,
    /// Ends of a range of the key column behind them.
    pub(crate) low: Option<ScanBound>,
    pub(crate) high: Option<ScanBound>,
    pub(crate) backward: bool,
    /// Whether the index has all that is wanted.
    pub(crate) covered: bool,
    /// Columns that are wanted; the others stay NULL.
    pub(crate) columns: Vec<usize>,
    pub(crate) filter: Option<Cond>,
    pub(crate) hints: LockHints,
    /// Whether a row ends in its own name, as bytes: for statements that change it.
    pub(crate) named: bool,
}

/// How a value relates to the type of a key column.
enum Fit {
    /// It is this value of the type.
    Exact(Value),
    /// No value of the type is equal to it.
    Between,
    /// It is NULL: nothing compares with it.
    Null,
}

impl ScanPlan {
    /// A value as one of a key column's type.
    fn fit(&self, place: usize, value: &Value, cx: &Context) -> Fit {
        let column = self.table.indexes().get(self.index).and_then(|index| {
            let key = index.key().get(place)?;
            self.table.columns().get(key.column)
        });
        let Some(column) = column else {
            return Fit::Between;
        };
        if value.is_null() {
            return Fit::Null;
        }
        let to = column.data_type;
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

    /// The range, or `None` where it is empty.
    pub(crate) fn spec(&self, row: &[Value], cx: &mut Context) -> Result<Option<ScanSpec>> {
        let mut prefix = Vec::with_capacity(self.equal.len() + 1);
        for (place, expr) in self.equal.iter().enumerate() {
            let value = expr.eval(row, cx)?;
            match self.fit(place, &value, cx) {
                Fit::Exact(value) => prefix.push(value),
                Fit::Between | Fit::Null => return Ok(None),
            }
        }
        let descending = self
            .table
            .indexes()
            .get(self.index)
            .and_then(|i| i.key().get(self.equal.len()))
            .is_some_and(|k| k.descending);
        let (first, last) = match descending {
            false => (&self.low, &self.high),
            true => (&self.high, &self.low),
        };
        let Some(low) = self.bound(first.as_ref(), &prefix, row, cx)? else {
            return Ok(None);
        };
        let Some(high) = self.bound(last.as_ref(), &prefix, row, cx)? else {
            return Ok(None);
        };
        let whole = (&low, &high) == (&Bound::Unbounded, &Bound::Unbounded);
        let point = !prefix.is_empty() && self.low.is_none() && self.high.is_none();
        Ok(Some(ScanSpec {
            index: self.index,
            low,
            high,
            backward: self.backward,
            hints: self.hints,
            lock: self.hints.lock,
            covered: self.covered,
            read_ahead: whole || !point,
        }))
    }

    fn bound(
        &self,
        bound: Option<&ScanBound>,
        prefix: &[Value],
        row: &[Value],
        cx: &mut Context,
    ) -> Result<Option<Bound<Vec<Value>>>> {
        let of_prefix = || match prefix.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Included(prefix.to_vec()),
        };
        let Some(bound) = bound else {
            return Ok(Some(of_prefix()));
        };
        let Some(expr) = bound.key.first() else {
            return Ok(Some(of_prefix()));
        };
        let value = expr.eval(row, cx)?;
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

    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        Ok(Box::new(self.start(cx)?))
    }

    fn start(&self, cx: &mut Context) -> Result<TableScan<'_>> {
        let spec = self.spec(&[], cx)?;
        let scan = match &spec {
            Some(spec) => Some(cx.sessions.by_id(self.db)?.open_scan(&self.table, spec)?),
            None => None,
        };
        Ok(TableScan {
            plan: self,
            scan,
            since: 0,
        })
    }
}

/// Whether a value and what it was cast to are the same.
fn same(value: &Value, cast: &Value, to: &DataType) -> bool {
    let comparable = match (value, cast) {
        (Value::VarChar(a), Value::VarChar(b)) | (Value::NVarChar(a), Value::NVarChar(b)) => {
            return a.trim_end_matches(' ') == b.trim_end_matches(' ');
        }
        (Value::VarChar(_) | Value::NVarChar(_), _) => return true,
        _ => (value, cast),
    };
    order(comparable.0, comparable.1, to) == Ordering::Equal
}

/// A scan that runs.
struct TableScan<'p> {
    plan: &'p ScanPlan,
    scan: Option<OpenScan>,
    since: u32,
}

impl Operator for TableScan<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let Some(scan) = &mut self.scan else {
            return Ok(false);
        };
        let width = self.plan.table.columns().len() + usize::from(self.plan.named);
        if out.len() != width {
            out.clear();
            out.resize(width, Value::Null);
        }
        loop {
            self.since += 1;
            if self.since >= CANCEL_EVERY {
                self.since = 0;
                cx.check_cancel()?;
            }
            let session = cx.sessions.by_id(self.plan.db)?;
            if !session.step_scan(scan)? {
                return Ok(false);
            }
            let row = scan.row()?;
            for &column in &self.plan.columns {
                if let Some(place) = out.get_mut(column) {
                    *place = row.value(column)?;
                }
            }
            if let Some(filter) = &self.plan.filter
                && !filter.holds(out, cx)?
            {
                continue;
            }
            if self.plan.named
                && let (Some(key), Some(place)) = (scan.row_key(), out.last_mut())
            {
                *place = Value::Binary(key.to_bytes());
            }
            return Ok(true);
        }
    }

    fn close(&mut self, cx: &mut Context) {
        if let Some(scan) = self.scan.take()
            && let Ok(session) = cx.sessions.by_id(self.plan.db)
        {
            session.close_scan(scan);
        }
    }
}
