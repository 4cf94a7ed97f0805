//! Long IN lists: a value is looked up among many values that are the same for all rows.
//!
//! The values are evaluated once in a statement and stored by what they are compared as, so that a row costs
//! one look-up. Where there is no memory for them, or one of them cannot be evaluated, they are compared one
//! by one: then an error is one only for a row that comes to it.

use super::expr::{Expr, InGroup, InList};
use super::once::{List, SubqueryResult, fresh};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, LEAST_BYTES, row_bytes};
use furrow_scalar::ops::{self, BoundCompare, Truth};
use furrow_types::{DataType, Family, Value};
use std::sync::Arc;

/// The type as which values of both types are looked up; `None` where they have to be looked up apart.
fn lookup_type(a: &DataType, b: &DataType) -> Option<DataType> {
    let exact = |of: &DataType| matches!(of.id.family(), Family::Integer | Family::Exact);
    if exact(a) && exact(b) {
        return Some(match a.id.family() {
            Family::Exact => *a,
            _ => *b,
        });
    }
    let same = match a.id.has_collation() && b.id.has_collation() {
        true => a.id.is_unicode() == b.id.is_unicode() && a.collation == b.collation,
        false => a.id == b.id,
    };
    same.then_some(*a)
}

/// A list that is being bound.
#[derive(Debug, Default)]
pub struct InListBuilder {
    groups: Vec<(BoundCompare, Vec<Expr>)>,
    computed: Vec<Expr>,
}

impl InListBuilder {
    /// Adds a value and how it is compared.
    pub fn add(&mut self, mut compare: BoundCompare, mut value: Expr) {
        if !matches!(value, Expr::Const(_) | Expr::Variable(_)) {
            self.computed.push(value.clone());
        }
        if let Some(conversion) = compare.right.take() {
            value = Expr::Convert(Box::new((conversion, value)));
        }
        for (with, values) in &mut self.groups {
            if with.left == compare.left
                && let Some(common) = lookup_type(&with.common, &compare.common)
            {
                with.common = common;
                values.push(value);
                return;
            }
        }
        self.groups.push((compare, vec![value]));
    }

    /// The list; `None` if it has no value.
    pub fn finish(self, expr: Expr) -> Option<InList> {
        let of = |(compare, values): (BoundCompare, Vec<Expr>)| InGroup {
            compare,
            values: values.into(),
            number: fresh(),
        };
        let groups: Vec<InGroup> = self.groups.into_iter().map(of).collect();
        (!groups.is_empty()).then_some(InList {
            expr,
            groups,
            computed: self.computed,
        })
    }
}

impl InList {
    /// Whether the value of a row is among the list's.
    pub(crate) fn eval(&self, row: &[Value], cx: &mut Context) -> Result<Truth> {
        let value = self.expr.eval(row, cx)?;
        if value.is_null() {
            return self.eval_null(cx);
        }
        let mut any = Some(false);
        for group in &self.groups {
            any = ops::or(any, group.eval(&value, cx)?);
            if any == Some(true) {
                break;
            }
        }
        Ok(any)
    }

    /// What NULL gives. A value that cannot be computed is an error here too, as it is in a comparison.
    fn eval_null(&self, cx: &mut Context) -> Result<Truth> {
        if self.computed.is_empty() {
            return Ok(None);
        }
        let mut stored = true;
        for group in &self.groups {
            stored &= group.list(cx)?.is_some();
        }
        // Stored values have been computed.
        for value in self.computed.iter().filter(|_| !stored) {
            cx.check_cancel()?;
            value.eval(&[], cx)?;
        }
        Ok(None)
    }
}

impl InGroup {
    fn eval(&self, value: &Value, cx: &mut Context) -> Result<Truth> {
        if let Some(list) = self.list(cx)?
            && let Some(truth) = list.among(value, &self.compare, cx)?
        {
            return Ok(truth);
        }
        let mut any = Some(false);
        for other in self.values.iter() {
            cx.check_cancel()?;
            let other = other.eval(&[], cx)?;
            any = ops::or(any, self.compare.eval(value, &other, &cx.settings())?);
            if any == Some(true) {
                break;
            }
        }
        Ok(any)
    }

    /// The stored values; `None` where they have to be compared one by one.
    fn list(&self, cx: &mut Context) -> Result<Option<Arc<List>>> {
        match cx.subqueries.get::<SubqueryResult>(&self.number) {
            Some(SubqueryResult::List(list)) => return Ok(Some(Arc::clone(list))),
            Some(SubqueryResult::NoRoom) => return Ok(None),
            _ => {}
        }
        let list = self.make_list(cx)?.map(Arc::new);
        let result = list.clone();
        let result = result.map_or(SubqueryResult::NoRoom, SubqueryResult::List);
        cx.subqueries.insert(self.number, result);
        Ok(list)
    }

    fn make_list(&self, cx: &mut Context) -> Result<Option<List>> {
        let mut grant = Grant::new(&cx.memory);
        let mut values = Vec::with_capacity(self.values.len());
        for value in self.values.iter() {
            cx.check_cancel()?;
            let Ok(value) = value.eval(&[], cx) else {
                return Ok(None);
            };
            let value = value.into_owned();
            if !grant.fits(row_bytes(std::slice::from_ref(&value)), LEAST_BYTES) {
                return Ok(None);
            }
            values.push(value);
        }
        List::of_values(values, Some(&self.compare), grant, cx)
    }
}
