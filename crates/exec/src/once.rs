//! Subqueries without outer columns and without variables that the statement assigns: they are run once in a
//! statement, and their result is stored. Long IN lists (`in_list`) are stored in the same way.
//!
//! A binder gives such a subquery a number of its own ([`fresh`]); the context keeps results by number
//! until the next statement begins.

use super::expr::Quantified;
use super::key::{KeyTable, Place};
use super::operator::Cursor;
use super::spool::Spool;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_scalar::ops::{BoundCompare, CompareOp, Truth};
use furrow_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a subquery gave.
#[derive(Debug, Clone)]
pub enum SubqueryResult {
    /// Of a subquery of one value.
    Value(Value),
    /// Of EXISTS.
    Exists(bool),
    /// Of IN, ANY, ALL.
    List(Arc<List>),
    /// Rows that have been read once, to be stored if they are wanted again.
    Begun,
    /// Rows that are stored.
    Spool(Arc<Spool>),
    /// There is no memory for the result, or no result without an error: it is run each time.
    NoRoom,
}

/// The first column of a subquery's rows, or the values of an IN list.
#[derive(Debug)]
pub struct List {
    pub(crate) values: Vec<Value>,
    has_null: bool,
    /// For equality: the values as they are compared.
    keys: Option<KeyTable>,
    /// What they take.
    _grant: Grant,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A number for a subquery, given to no other.
pub fn fresh() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// Takes the first column of all rows; `false` where there is no memory for them.
fn fill(
    values: &mut Vec<Value>,
    grant: &mut Grant,
    rows: &mut Cursor<'_>,
    cx: &mut Context,
) -> Result<bool> {
    let mut row = Vec::new();
    while rows.next(cx, &mut row)? {
        if !grant.fits(row_bytes(&row), LEAST_BYTES) {
            return Ok(false);
        }
        values.push(row.first().cloned().unwrap_or(Value::Null));
    }
    Ok(true)
}

/// The values as they are looked up; `None` where there is no memory for them.
fn keys(values: &[Value], compare: &BoundCompare, cx: &Context) -> Result<Option<KeyTable>> {
    let mut keys = KeyTable::new(vec![compare.common], Grant::new(&cx.memory));
    for value in values.iter().filter(|v| !v.is_null()) {
        cx.check_cancel()?;
        let place = match &compare.right {
            Some(conversion) => keys.place(&[conversion.apply(value, &cx.settings())?]),
            None => keys.place(std::slice::from_ref(value)),
        };
        if let Place::Full(_) = place {
            return Ok(None);
        }
    }
    Ok(Some(keys))
}

impl Quantified {
    /// The values of the query, run now or before in this statement; `None` where there is no memory for
    /// them.
    pub fn list(&self, number: u64, cx: &mut Context) -> Result<Option<Arc<List>>> {
        match cx.subqueries.get::<SubqueryResult>(&number) {
            Some(SubqueryResult::List(list)) => return Ok(Some(Arc::clone(list))),
            Some(SubqueryResult::NoRoom) => return Ok(None),
            _ => {}
        }
        let list = self.make_list(cx)?.map(Arc::new);
        let kept = list.as_ref().map(Arc::clone);
        cx.subqueries.insert(
            number,
            kept.map_or(SubqueryResult::NoRoom, SubqueryResult::List),
        );
        Ok(list)
    }

    fn make_list(&self, cx: &mut Context) -> Result<Option<List>> {
        let mut values = Vec::new();
        let mut grant = Grant::new(&cx.memory);
        let mut rows = self.query.plan.open(cx)?;
        let filled = fill(&mut values, &mut grant, &mut rows, cx);
        rows.close(cx);
        if !filled? {
            return Ok(None);
        }
        let is_in = self.compare.op == CompareOp::Equal && !self.all;
        List::of_values(values, is_in.then_some(&self.compare), grant, cx)
    }
}

impl List {
    /// A list of these values. `compare`: how a value is looked up among them. `None` where there is no
    /// memory for that.
    pub(crate) fn of_values(
        values: Vec<Value>,
        compare: Option<&BoundCompare>,
        grant: Grant,
        cx: &Context,
    ) -> Result<Option<List>> {
        let has_null = values.iter().any(Value::is_null);
        let keys = match compare {
            Some(compare) => match keys(&values, compare, cx)? {
                Some(keys) => Some(keys),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(List {
            values,
            has_null,
            keys,
            _grant: grant,
        }))
    }

    /// Whether a value is among the list's, as IN has it; `None` where the list is no such one.
    pub(crate) fn among(
        &self,
        value: &Value,
        compare: &BoundCompare,
        cx: &Context,
    ) -> Result<Option<Truth>> {
        let Some(keys) = &self.keys else {
            return Ok(None);
        };
        if self.values.is_empty() {
            return Ok(Some(Some(false)));
        }
        if value.is_null() {
            return Ok(Some(None));
        }
        let found = match &compare.left {
            Some(conversion) => keys.find(&[conversion.apply(value, &cx.settings())?]),
            None => keys.find(std::slice::from_ref(value)),
        };
        Ok(Some(match (found, self.has_null) {
            (Some(_), _) => Some(true),
            (None, true) => None,
            (None, false) => Some(false),
        }))
    }
}
