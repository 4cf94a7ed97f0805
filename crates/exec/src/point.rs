//! Look-ups of one row by the whole key of a unique clustered index, without a scan.
//!
//! A statement that changes the row need not look it up if its key is all that the statement depends on
//! ([`ScanPlan::is_named_by_key`]): the change finds the row by the same key, and locks it X at once.

use super::expr::{Cond, Expr};
use super::operator::{Cursor, Operator};
use super::scan::{Equal, Fit, ScanPlan};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_engine::{LockHints, ReadLock, RowKey};
use furrow_types::Value;
use smallvec::SmallVec;

/// The values of a whole key.
type PointKey = SmallVec<[Value; 4]>;

impl ScanPlan {
    /// Whether it returns at most one row, which is looked up by its clustered key.
    pub(crate) fn is_point(&self) -> bool {
        let is_value = |equal: &Equal| matches!(equal, Equal::Value(_));
        self.table.is_point(self.index, self.equal.len())
            && !self.hints.read_past
            && self.equal.iter().all(is_value)
    }

    /// Whether its filter is nothing but its key, which is the value of variables and constants, and its row
    /// is locked as usual. A statement that uses no column of the row then has nothing to read.
    pub fn is_named_by_key(&self) -> bool {
        // Each column of the key has a condition of its own, so as many conditions have no other part.
        let conds = match &self.filter {
            None => 0,
            Some(Cond::And(conds)) => conds.len(),
            Some(_) => 1,
        };
        let usual = LockHints {
            lock: ReadLock::Candidate,
            ..LockHints::default()
        };
        let of_given = |equal: &Equal| match equal {
            Equal::Value(Expr::Convert(of)) => is_given(&of.1),
            Equal::Value(expr) => is_given(expr),
            Equal::Null | Equal::Any(_) => false,
        };
        self.is_point()
            && conds == self.equal.len()
            && self.hints == usual
            && self.equal.iter().all(of_given)
    }

    /// The name of its row, if [`ScanPlan::is_named_by_key`]. `None` if the row has to be looked up: values
    /// that are not integers may be equal to a key that is written otherwise.
    pub fn named_row(&self, cx: &mut Context) -> Result<Option<RowKey>> {
        debug_assert!(self.is_named_by_key(), "the key says which row it is");
        let key = self.point_key(cx)?;
        let Some(key) = key.filter(|key| key.iter().all(is_integer)) else {
            return Ok(None);
        };
        self.count(cx);
        Ok(Some(self.table.row_key(&key)?))
    }

    pub(crate) fn open_point<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        debug_assert!(
            self.low.is_none() && self.high.is_none(),
            "no key column is left for a range"
        );
        self.count(cx);
        let key = self.point_key(cx)?;
        Ok(Cursor::new(PointLookup { plan: self, key }))
    }

    /// The key; `None` if no row has it. All values are evaluated: an error is one whatever the others are.
    fn point_key(&self, cx: &mut Context) -> Result<Option<PointKey>> {
        let (mut key, mut exists) = (PointKey::new(), true);
        for (place, equal) in self.equal.iter().enumerate() {
            let Equal::Value(expr) = equal else {
                return Ok(None);
            };
            let value = expr.eval(&[], cx)?;
            match self.fit(place, &value, cx) {
                Fit::Exact(value) => key.push(value),
                Fit::Between | Fit::Null => exists = false,
            }
        }
        Ok(exists.then_some(key))
    }
}

/// Whether a value is there before the statement begins.
fn is_given(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Variable(_))
}

fn is_integer(value: &Value) -> bool {
    matches!(
        value,
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_)
    )
}

struct PointLookup<'p> {
    plan: &'p ScanPlan,
    /// The key of the row that has not been looked up yet.
    key: Option<PointKey>,
}

impl Operator for PointLookup<'_> {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let plan = self.plan;
        plan.fit_row(out);
        let Some(key) = self.key.take() else {
            return Ok(false);
        };
        let session = cx.sessions.by_table(plan.db, &plan.table)?;
        let found = session.look_up(&plan.table, &key, plan.hints, |row| {
            for &column in &plan.columns {
                if let Some(place) = out.get_mut(column) {
                    *place = row.value(column)?;
                }
            }
            Ok(())
        })?;
        let Some(found) = found else {
            return Ok(false);
        };
        if let Some(filter) = &plan.filter
            && !filter.holds(out, cx)?
        {
            let session = cx.sessions.by_table(plan.db, &plan.table)?;
            session.pass_over_row(found);
            return Ok(false);
        }
        if plan.named
            && let Some(place) = out.last_mut()
        {
            *place = Value::Binary(found.key.to_bytes());
        }
        Ok(true)
    }

    fn close(&mut self, _: &mut Context) {}
}
