//! Look-ups of one row by the whole key of a unique clustered index, without a scan.

use super::operator::{Cursor, Operator};
use super::scan::{Equal, Fit, ScanPlan};
use furrow_context::context::Context;
use furrow_context::error::Result;
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
