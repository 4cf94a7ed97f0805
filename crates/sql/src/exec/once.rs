//! Subqueries that look at nothing around them: they are run once in a statement, and what they gave is kept.
//!
//! A binder gives such a subquery a number of its own ([`fresh`]); the context keeps results by number
//! until the next statement begins.

use super::expr::Quantified;
use super::key::KeyTable;
use super::memory::Grant;
use super::spool::Spool;
use crate::context::Context;
use crate::error::Result;
use furrow_format::types::Value;
use furrow_scalar::ops::{CompareOp, Truth};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a subquery gave.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// Of a subquery of one value.
    Value(Value),
    /// Of EXISTS.
    Exists(bool),
    /// Of IN, ANY, ALL.
    List(Arc<List>),
    /// Rows that have been read once, to be kept if they are asked for again.
    Begun,
    /// Rows that are kept; none where there is no room for them.
    Spool(Option<Arc<Spool>>),
}

/// The first column of a subquery's rows.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) values: Vec<Value>,
    has_null: bool,
    /// For equality: the values as they are compared.
    keys: Option<KeyTable>,
    /// What they take.
    _grant: Grant,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A number for a subquery, given to no other.
pub(crate) fn fresh() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Quantified {
    /// The values of the query, run now or before in this statement.
    pub(crate) fn list(&self, number: u64, cx: &mut Context) -> Result<Arc<List>> {
        if let Some(Kept::List(list)) = cx.kept.get(&number) {
            return Ok(Arc::clone(list));
        }
        let mut values = Vec::new();
        let mut grant = Grant::new(cx);
        self.query.plan.for_each(cx, &mut |_, row| {
            grant.row(row)?;
            values.push(row.first().cloned().unwrap_or(Value::Null));
            Ok(())
        })?;
        let has_null = values.iter().any(Value::is_null);
        let keys = match self.compare.op == CompareOp::Equal && !self.all {
            true => Some(self.keys(&values, cx)?),
            false => None,
        };
        let list = Arc::new(List {
            values,
            has_null,
            keys,
            _grant: grant,
        });
        cx.kept.insert(number, Kept::List(Arc::clone(&list)));
        Ok(list)
    }

    fn keys(&self, values: &[Value], cx: &Context) -> Result<KeyTable> {
        let mut keys = KeyTable::new(vec![self.compare.common], Grant::new(cx));
        for value in values.iter().filter(|v| !v.is_null()) {
            match &self.compare.right {
                Some(conversion) => {
                    keys.insert(&[conversion.apply(value, &cx.settings())?])?;
                }
                None => {
                    keys.insert(std::slice::from_ref(value))?;
                }
            }
        }
        Ok(keys)
    }

    /// Whether a value is among the list's, as IN has it; `None` where the list is no such one.
    pub(crate) fn among(&self, value: &Value, list: &List, cx: &Context) -> Result<Option<Truth>> {
        let Some(keys) = &list.keys else {
            return Ok(None);
        };
        if list.values.is_empty() {
            return Ok(Some(Some(false)));
        }
        if value.is_null() {
            return Ok(Some(None));
        }
        let found = match &self.compare.left {
            Some(conversion) => keys.find(&[conversion.apply(value, &cx.settings())?]),
            None => keys.find(std::slice::from_ref(value)),
        };
        Ok(Some(match (found, list.has_null) {
            (Some(_), _) => Some(true),
            (None, true) => None,
            (None, false) => Some(false),
        }))
    }
}
